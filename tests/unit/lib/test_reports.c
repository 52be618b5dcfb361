// SPDX-License-Identifier: GPL-2.0
/* Waits for CPUs and states of tasks from events made here; histograms. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "unit.h"

/* From one task to another; the names are those of the running task, and of nobody. */
static void switch_as(unsigned int cpu, uint64_t us, int prev, uint64_t state, int next)
{
	const struct kl_task task = { .tid = prev, .pid = prev & ~1, .comm = "prev" };

	feed_event_of("sched_switch", cpu, BEGIN + us * US, &task, "comm",
		      NUMBERS((uint64_t)prev, 20, state, (uint64_t)next, 20));
}

static void wake(const char *name, unsigned int cpu, uint64_t us, int waker, int tid)
{
	const struct kl_task task = { .tid = waker, .pid = waker, .comm = "waker" };

	feed_event_of(name, cpu, BEGIN + us * US, &task, "woken", NUMBERS((uint64_t)tid, 20, cpu));
}

/* ----------------------------------------------------------------- histogram */

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void test_histogram(void)
{
	enum {
		N = 20000
	};
	static uint64_t value[N];
	struct kl_histogram all, half[2];
	bool within = true, same = true, powers = true;
	uint64_t sum = 0;

	kl_histogram_init(&all, 1000);
	kl_histogram_init(&half[0], 1000);
	kl_histogram_init(&half[1], 1000);
	srand(11);
	for (int i = 0; i < N; i++) {
		value[i] = ((uint64_t)rand() << 31 | (uint64_t)rand()) >> (16 + rand() % 46);
		sum += value[i];
		if (kl_histogram_add(&all, value[i]) || kl_histogram_add(&half[i & 1], value[i]))
			abort();
	}
	qsort(value, N, sizeof(*value), compare);
	if (kl_histogram_merge(&half[0], &half[1]))
		abort();
	for (unsigned int share = 0; share <= 1000; share++) {
		const size_t rank = share ? ((size_t)share * N + 999) / 1000 - 1 : 0;
		const uint64_t found = kl_histogram_percentile(&all, share);

		within &= found >= value[rank] && found - value[rank] <= value[rank] / 32;
		same &= found == kl_histogram_percentile(&half[0], share);
	}
	for (unsigned int i = 0; i < KL_HISTOGRAM_POWERS; i++) {
		uint64_t n = 0;

		for (int j = 0; j < N; j++)
			n += i == KL_HISTOGRAM_POWERS - 1 ?
				     value[j] / 1000 >= 1ull << (i - 1) :
				     value[j] / 1000 < 1ull << i &&
					     (!i || value[j] / 1000 >= 1ull << (i - 1));
		powers &= n == all.power[i];
	}
	unit_check(within, "percentiles are at most 1/32 more than the exact ones");
	unit_check(same, "two histograms merged are as the whole");
	unit_check(powers, "powers of two");
	unit_check(all.n == N && all.sum == sum && all.least == value[0] &&
			   all.most == value[N - 1] && kl_histogram_mean(&all) == sum / N,
		   "number, sum, least, most and mean");
	unit_check(all.parts <= 60 * KL_HISTOGRAM_PARTS, "the memory is bounded");
	kl_histogram_deinit(&all);
	kl_histogram_deinit(&half[0]);
	kl_histogram_deinit(&half[1]);
}

static void test_histogram_ends(void)
{
	static const uint64_t values[] = { 0, 1, 31, 32, 63, 64, 65, UINT64_MAX, UINT64_MAX - 1 };
	struct kl_histogram h;
	bool exact = true;

	kl_histogram_init(&h, 1);
	unit_check(!kl_histogram_percentile(&h, 500) && !kl_histogram_mean(&h),
		   "nothing of no values");
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct kl_histogram one = { .unit = 0 };

		if (kl_histogram_add(&one, values[i]) || kl_histogram_add(&h, values[i]))
			abort();
		exact &= kl_histogram_percentile(&one, 1) == values[i] &&
			 kl_histogram_percentile(&one, 1000) == values[i];
		kl_histogram_deinit(&one);
	}
	unit_check(exact, "a single value is itself, from 0 to the largest");
	unit_check(h.sum == UINT64_MAX && h.most == UINT64_MAX, "the sum does not overflow");
	kl_histogram_deinit(&h);
}

static void test_worst(void)
{
	struct kl_worst worst = { .n = 0 };
	bool sorted = true;

	for (uint64_t i = 0; i < 1000; i++) {
		struct kl_worst_case *place = kl_worst_place(&worst, i * 37 % 100);

		if (place)
			place->detail[0] = i;
	}
	for (size_t i = 1; i < worst.n; i++)
		sorted &= worst.one[i - 1].ns >= worst.one[i].ns;
	unit_check(worst.n == KL_WORST_CASES && sorted && worst.one[0].ns == 99,
		   "the longest cases, longest first");
	unit_check(worst.one[0].detail[0] < worst.one[1].detail[0], "of equal ones, the first");
}

/* --------------------------------------------------------------------- sched */

static int take_sched(void *report, const struct kl_item *item)
{
	return kl_sched_report_add(report, item);
}

static const struct kl_sched_row *sched_of(struct kl_sched_report *report, int tid)
{
	size_t n;
	const struct kl_sched_row *row = kl_sched_report_rows(report, &n);

	for (size_t i = 0; row && i < n; i++)
		if (row[i].task.tid == tid)
			return &row[i];
	return NULL;
}

static struct kl_sched_report *new_sched(bool partial)
{
	struct kl_sched_report *report = kl_sched_report_create(feed_schema, partial, BEGIN);

	if (!report)
		abort();
	feed_to = report;
	feed_take = take_sched;
	return report;
}

static void test_sched(void)
{
	struct kl_sched_report *report = new_sched(false);
	const struct kl_sched_totals *totals = kl_sched_report_totals(report);
	const struct kl_sched_row *row;
	struct kl_buffer names = { 0 };

	kl_sched_report_missing(report, &names);
	kl_buffer_add_char(&names, 0);
	unit_check(!strcmp(names.data, "sched_switch,sched_wakeup"), "the needed events are named");
	kl_buffer_deinit(&names);
	switch_as(0, 100, 2, 1, 0); /* 2 has run since the begin, and sleeps */
	wake("sched_waking", 1, 190, 8, 2);
	wake("sched_wakeup", 0, 200, 0, 2);
	wake("sched_wakeup", 0, 210, 0, 2); /* it is awake already */
	switch_as(0, 250, 0, 0, 2); /* 50 us */
	switch_as(0, 300, 2, 0x100, 4); /* preempted by 4, whose begin is not known */
	wake("sched_wakeup", 1, 310, 0, 4); /* no effect: it runs */
	switch_as(1, 400, 0, 0, 2); /* 100 us later, on another CPU */
	switch_as(0, 450, 4, 0x20, 0); /* 4 has exited */
	switch_as(1, 500, 2, 2, 0);
	wake("sched_wakeup", 1, 600, 9, 2); /* and waits until the end */
	kl_sched_report_finish(report, BEGIN + 1000 * US);
	row = sched_of(report, 2);
	unit_check(row && row->runs == 2 && row->run_ns == 250 * US && row->migrations == 1,
		   "runs, time and migrations");
	unit_check(row && row->wakeups.n == 1 && row->wakeups.sum == 50 * US,
		   "a wait begins with the first wakeup");
	unit_check(row && row->preempted.n == 1 && row->preempted.sum == 100 * US,
		   "and with a preemption");
	unit_check(row && row->waiting && row->waiting_ns == 400 * US, "one has no end");
	unit_check(row && row->worst.ns == 100 * US && row->worst.end_ns == BEGIN + 400 * US &&
			   row->worst.cpu == 1 && row->worst.what == KL_RUN_PREEMPTED,
		   "the longest, with its place");
	row = sched_of(report, 4);
	unit_check(row && !row->wakeups.n && row->run_ns == 150 * US,
		   "a wait without a begin is not counted");
	unit_check(totals->worst.n == 2 && totals->worst.one[1].ns == 50 * US &&
			   totals->worst.one[1].by.tid == 8 && !totals->worst.one[1].other.tid,
		   "by whom it was woken, and what ran before");
	unit_check(totals->wakeups.n == 1 && totals->preempted.n == 1 && !totals->gaps, "totals");
	kl_sched_report_destroy(report);
}

/* Times that go back, ends without begins, records that are missing. */
static void test_sched_damage(void)
{
	struct kl_sched_report *report = new_sched(false);
	const struct kl_sched_totals *totals = kl_sched_report_totals(report);
	const struct kl_sched_row *row;

	wake("sched_wakeup", 0, 100, 9, 2);
	switch_as(1, 90, 0, 0, 2); /* the clock of this CPU is behind */
	switch_as(1, 200, 2, 1, 0);
	wake("sched_wakeup", 0, 210, 9, 2);
	feed_loss(KL_LOSS_UNSEEN, 0); /* of ticks */
	switch_as(1, 220, 0, 0, 2);
	switch_as(1, 230, 2, 1, 0);
	wake("sched_wakeup", 0, 240, 9, 2);
	feed_loss(KL_LOSS_DISCARDED, 0);
	switch_as(1, 900, 0, 0, 2);
	switch_as(1, 910, 4, 1, 0); /* 4 did not run, but 2 */
	wake("sched_wakeup", 0, 920, 9, -5);
	switch_as(1, 930, 0, 0, -5);
	kl_sched_report_finish(report, 0);
	row = sched_of(report, 2);
	unit_check(row && row->wakeups.n == 2 && row->wakeups.sum == 10 * US &&
			   row->wakeups.least == 0,
		   "a wait is never negative, and none crosses a gap");
	unit_check(totals->gaps == 1, "gaps are counted");
	row = sched_of(report, 4);
	unit_check(!row || !row->run_ns, "nothing is known of a task before a gap");
	unit_check(sched_of(report, -5), "any number is a thread ID");
	kl_sched_report_destroy(report);
}

/* Without sched_wakeup. */
static void test_sched_waking(void)
{
	struct kl_sched_report *report = new_sched(false);
	struct kl_buffer names = { 0 };
	const struct kl_sched_row *row;

	switch_as(0, 100, 2, 1, 0);
	wake("sched_waking", 1, 200, 8, 2);
	switch_as(0, 270, 0, 0, 2);
	kl_sched_report_finish(report, 0);
	kl_sched_report_missing(report, &names);
	row = sched_of(report, 2);
	unit_check(!names.length && row && row->wakeups.n == 1 && row->wakeups.sum == 70 * US &&
			   row->worst.by.tid == 8,
		   "a wait begins with sched_waking if there is nothing else");
	kl_buffer_deinit(&names);
	kl_sched_report_destroy(report);
}

/* The session follows task 2; it wakes 4, which comes after it. */
static void test_sched_partial(void)
{
	struct kl_sched_report *report = new_sched(true);
	const struct kl_sched_totals *totals = kl_sched_report_totals(report);

	switch_as(0, 0, 0, 0, 2);
	wake("sched_wakeup", 0, 50, 2, 4);
	switch_as(0, 100, 2, 0x100, 4);
	switch_as(0, 900, 6, 1, 2);
	kl_sched_report_finish(report, 0);
	unit_check(totals->omitted == 2 && sched_of(report, 2) && !sched_of(report, 4),
		   "tasks that the session did not follow are omitted");
	unit_check(!totals->wakeups.n && totals->preempted.n == 1 && totals->worst.n == 1,
		   "from the totals, too");
	kl_sched_report_destroy(report);
	report = new_sched(false);
	kl_sched_report_select(report, 2);
	switch_as(0, 0, 0, 0, 2);
	switch_as(0, 100, 2, 0x100, 4);
	switch_as(0, 200, 4, 0x100, 2);
	switch_as(0, 300, 2, 0x100, 4);
	kl_sched_report_finish(report, 0);
	unit_check(sched_of(report, 2) && !sched_of(report, 4) &&
			   kl_sched_report_totals(report)->preempted.n == 1,
		   "one task only");
	kl_sched_report_destroy(report);
}

static void test_sched_bound(void)
{
	struct kl_sched_report *report = new_sched(false);
	size_t n;

	for (int tid = 1; tid <= KL_TASKS_MAX + 100; tid++) {
		wake("sched_wakeup_new", 0, (uint64_t)tid, 9, tid);
		switch_as(0, (uint64_t)tid + 1, 0, 0, tid);
		switch_as(0, (uint64_t)tid + 2, tid, 0x10, 0);
	}
	kl_sched_report_finish(report, 0);
	kl_sched_report_rows(report, &n);
	unit_check(n == KL_TASKS_MAX && kl_sched_report_totals(report)->dropped == 300,
		   "a full table is reported");
	kl_sched_report_destroy(report);
}

/* -------------------------------------------------------------------- states */

static int take_states(void *report, const struct kl_item *item)
{
	return kl_states_report_add(report, item);
}

static void test_states(uint64_t end_us)
{
	struct kl_states_report *report = kl_states_report_create(feed_schema, false, BEGIN);
	const struct kl_states_counts *counts;
	const struct kl_states_row *row;
	struct kl_buffer svg = { 0 };
	uint64_t sum[KL_RUN_STATES] = { 0 }, longest = 0;
	size_t n;

	if (!report)
		abort();
	feed_to = report;
	feed_take = take_states;
	switch_as(0, 100, 2, 1, 0);
	wake("sched_wakeup", 0, 300, 0, 2);
	switch_as(0, 350, 0, 0, 2);
	switch_as(0, 400, 2, 0x100, 0);
	switch_as(0, 500, 0, 0, 2);
	switch_as(0, 600, 2, 2, 0);
	wake("sched_wakeup", 0, 1600, 0, 2);
	switch_as(0, 1600, 0, 0, 2);
	switch_as(0, 1700, 2, 4, 0); /* stopped until the end */
	kl_states_report_finish(report, BEGIN + end_us * US);
	counts = kl_states_report_counts(report);
	row = kl_states_report_rows(report, &n);
	unit_check(n == 1 && row->ns[KL_RUN_RUNNING] == 350 * US &&
			   row->ns[KL_RUN_WOKEN] == 50 * US &&
			   row->ns[KL_RUN_PREEMPTED] == 100 * US &&
			   row->ns[KL_RUN_SLEEPING] == 200 * US &&
			   row->ns[KL_RUN_BLOCKED] == 1000 * US &&
			   row->ns[KL_RUN_STOPPED] == (end_us - 1700) * US,
		   "time by state, from the begin to the end");
	for (unsigned int i = 0; i < counts->slices; i++) {
		uint64_t all = 0;

		for (unsigned int j = 0; j < KL_RUN_STATES; j++) {
			sum[j] += row->slice[i][j];
			all += row->slice[i][j];
		}
		longest = all > longest ? all : longest;
	}
	unit_check(!memcmp(sum, row->ns, sizeof(sum)), "slices add up to the sums");
	unit_check(longest <= counts->slice_ns && counts->slices <= KL_STATES_SLICES &&
			   counts->slices * counts->slice_ns >= end_us * US,
		   "slices cover the trace");
	unit_check(!kl_states_svg(&svg, counts, row, n, "a <trace>"), "is drawn");
	kl_buffer_add_char(&svg, 0);
	unit_check(strstr(svg.data, "a &lt;trace&gt;") && strstr(svg.data, "running 0.000350 s") &&
			   strstr(svg.data, "</svg>"),
		   "with its sums");
	kl_buffer_deinit(&svg);
	kl_states_report_destroy(report);
}

static void test_states_hostile(void)
{
	struct kl_states_report *report = kl_states_report_create(feed_schema, false, 0);
	size_t n;

	if (!report)
		abort();
	feed_to = report;
	feed_take = take_states;
	feed_event("sched_switch", 0, 1, NUMBERS(2, 20, 1, 4, 20));
	feed_event("sched_switch", 0, UINT64_MAX, NUMBERS(4, 20, 1, 2, 20));
	feed_event("sched_switch", 0, 5, NUMBERS(2, 20, UINT64_MAX, 4, 20));
	feed_event("sched_switch", 70000, UINT64_MAX - 1, NUMBERS(4, 20, 8, UINT32_MAX, 20));
	kl_states_report_finish(report, 3);
	unit_check(kl_states_report_rows(report, &n) && n == 3, "any times and numbers are taken");
	kl_states_report_destroy(report);
}

int main(void)
{
	feed_schema = kl_schema_create();
	if (!feed_schema)
		abort();
	test_histogram();
	test_histogram_ends();
	test_worst();
	test_sched();
	test_sched_waking();
	test_sched_damage();
	test_sched_partial();
	test_sched_bound();
	test_states(2000);
	test_states(123456789);
	test_states_hostile();
	kl_schema_destroy(feed_schema);
	return unit_end();
}
