// SPDX-License-Identifier: GPL-2.0
/* Reports of events: waits for CPUs, states of tasks, disks, interrupts, from events made here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "unit.h"

#define US 1000ull
#define MS 1000000ull
#define BEGIN (1700000000ull * 1000000000ull)

static struct kl_schema *schema;

typedef int (*take_fn)(void *report, const struct kl_item *item);

/* To whom events are passed, and how. */
static take_fn take;
static void *to;

/* ----------------------------------------------------------------- the events */

/* An event with numbers in its fields, in their order; texts are @text. Strings come last. */
static void add_as(const char *name, unsigned int cpu, uint64_t ns, const struct kl_task *task,
		   const char *text, const uint64_t *number)
{
	const struct kl_class *class = kl_schema_find(schema, name);
	uint8_t payload[512] = { 0 };
	struct kl_event event = {
		.ns = ns,
		.cpu = cpu,
		.id = class->id,
		.event_class = class,
		.task = *task,
		.schema = schema,
		.payload = payload,
		.payload_bytes = sizeof(payload),
	};
	const struct kl_item item = { .kind = KL_ITEM_EVENT, .event = &event };

	for (unsigned int i = 0; i < class->n_fields; i++) {
		const struct kl_field *field = &class->fields[i];
		uint8_t *at = payload + field->offset;

		if (field->anchor)
			break;
		if (field->count > 1 && field->type != KL_TYPE_TEXT)
			continue;
		if (field->type == KL_TYPE_STRING)
			strcpy((char *)at, text);
		else if (field->type == KL_TYPE_TEXT)
			strncpy((char *)at, text, field->count);
		else
			memcpy(at, number++, field->bytes);
	}
	if (take(to, &item))
		abort();
}

static void add(const char *name, unsigned int cpu, uint64_t ns, const uint64_t *number)
{
	add_as(name, cpu, ns, &(struct kl_task){ .tid = 7, .pid = 7, .comm = "me" }, "text",
	       number);
}

#define NUMBERS(...) ((const uint64_t[]){ __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0 })

static void lose(enum kl_loss_kind kind, uint32_t cpu)
{
	const struct kl_loss loss = { .kind = kind, .cpu = cpu, .records = 3 };
	const struct kl_item item = { .kind = KL_ITEM_LOSS, .loss = &loss };

	if (take(to, &item))
		abort();
}

/* From one task to another; the names are those of the running task, and of nobody. */
static void switch_as(unsigned int cpu, uint64_t us, int prev, uint64_t state, int next)
{
	const struct kl_task task = { .tid = prev, .pid = prev & ~1, .comm = "prev" };

	add_as("sched_switch", cpu, BEGIN + us * US, &task, "comm",
	       NUMBERS((uint64_t)prev, 20, state, (uint64_t)next, 20));
}

static void wake(const char *name, unsigned int cpu, uint64_t us, int waker, int tid)
{
	const struct kl_task task = { .tid = waker, .pid = waker, .comm = "waker" };

	add_as(name, cpu, BEGIN + us * US, &task, "woken", NUMBERS((uint64_t)tid, 20, cpu));
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
	struct kl_sched_report *report = kl_sched_report_create(schema, partial, BEGIN);

	if (!report)
		abort();
	to = report;
	take = take_sched;
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
	lose(KL_LOSS_UNSEEN, 0); /* of ticks */
	switch_as(1, 220, 0, 0, 2);
	switch_as(1, 230, 2, 1, 0);
	wake("sched_wakeup", 0, 240, 9, 2);
	lose(KL_LOSS_DISCARDED, 0);
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
	struct kl_states_report *report = kl_states_report_create(schema, false, BEGIN);
	const struct kl_states_counts *counts;
	const struct kl_states_row *row;
	struct kl_buffer svg = { 0 };
	uint64_t sum[KL_RUN_STATES] = { 0 }, longest = 0;
	size_t n;

	if (!report)
		abort();
	to = report;
	take = take_states;
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
	struct kl_states_report *report = kl_states_report_create(schema, false, 0);
	size_t n;

	if (!report)
		abort();
	to = report;
	take = take_states;
	add("sched_switch", 0, 1, NUMBERS(2, 20, 1, 4, 20));
	add("sched_switch", 0, UINT64_MAX, NUMBERS(4, 20, 1, 2, 20));
	add("sched_switch", 0, 5, NUMBERS(2, 20, UINT64_MAX, 4, 20));
	add("sched_switch", 70000, UINT64_MAX - 1, NUMBERS(4, 20, 8, UINT32_MAX, 20));
	kl_states_report_finish(report, 3);
	unit_check(kl_states_report_rows(report, &n) && n == 3, "any times and numbers are taken");
	kl_states_report_destroy(report);
}

/* ------------------------------------------------------------------------ io */

static int take_io(void *report, const struct kl_item *item)
{
	return kl_io_report_add(report, item);
}

static struct kl_io_report *new_io(int32_t pid)
{
	struct kl_io_report *report = kl_io_report_create(schema, pid);

	if (!report)
		abort();
	to = report;
	take = take_io;
	return report;
}

enum {
	READ = 4,
	WRITE = 1,
	FLUSH = 0x100,
	DISK = 8 << 20,
};

static void request(const char *what, uint64_t us, int pid, uint64_t sector, uint64_t sectors,
		    uint64_t rwbs)
{
	const struct kl_task task = { .tid = pid, .pid = pid, .comm = "asks" };

	add_as(what, 1, BEGIN + us * US, &task, "asks",
	       NUMBERS(DISK, sector, sectors, sectors * 512, (uint64_t)pid, rwbs));
}

static void completed(uint64_t us, uint64_t sector, uint64_t sectors, int error)
{
	add_as("block_rq_complete", 0, BEGIN + us * US, &(struct kl_task){ .tid = 0 }, "",
	       NUMBERS(DISK, sector, sectors, (uint64_t)error, 0));
}

static void test_io(void)
{
	struct kl_io_report *report = new_io(0);
	const struct kl_io_totals *totals;
	const struct kl_io_row *row;
	size_t n;

	request("block_rq_insert", 0, 5, 100, 8, READ);
	request("block_rq_issue", 50, 9, 100, 8, READ); /* by a worker */
	request("block_rq_issue", 60, 6, 200, 16, WRITE);
	completed(80, 200, 4, 0); /* a part */
	completed(150, 100, 8, 0);
	completed(160, 204, 12, -5); /* the rest fails */
	request("block_rq_issue", 200, 6, UINT64_MAX, 0, FLUSH);
	completed(300, 0, 0, 0);
	completed(310, UINT64_MAX, 0, 0); /* of the write that wanted the flush */
	completed(320, 777, 8, 0); /* issued before the trace */
	request("block_rq_issue", 330, 6, 400, 8, READ);
	request("block_rq_requeue", 340, 6, 400, 8, READ);
	request("block_rq_issue", 350, 6, 400, 8, READ);
	request("block_rq_issue", 360, 6, 500, 8, READ); /* and does not complete */
	completed(400, 400, 8, 0);
	row = kl_io_report_devices(report, &n);
	unit_check(n == 3 && row[0].op == KL_IO_READ && row[0].dev == DISK &&
			   row[0].latency.n == 2 && row[0].latency.sum == 150 * US &&
			   row[0].bytes == 8192 && row[0].most == 2 && !row[0].errors,
		   "reads of a device");
	unit_check(n == 3 && row[0].queue.n == 1 && row[0].queue.sum == 50 * US,
		   "and how long they were queued");
	unit_check(n == 3 && row[1].op == KL_IO_WRITE && row[1].latency.n == 1 &&
			   row[1].latency.sum == 100 * US && row[1].errors == 1 &&
			   row[1].sizes.most == 8192,
		   "a write that completes in parts lasts until the last");
	unit_check(n == 3 && row[2].op == KL_IO_FLUSH && row[2].latency.sum == 100 * US &&
			   !row[2].sizes.n,
		   "a flush has no sector");
	row = kl_io_report_processes(report, &n);
	unit_check(n == 2 && row[0].task.pid == 6 && row[0].latency.n == 3 &&
			   row[1].task.pid == 5 && row[1].latency.sum == 100 * US,
		   "a request belongs to the process that queued it");
	totals = kl_io_report_totals(report);
	unit_check(totals->unfinished == 1 && totals->unpaired == 1 && totals->requeued == 1 &&
			   totals->latency.n == 4 && totals->sizes.n == 3,
		   "what has no end or no begin is counted");
	unit_check(totals->worst.n == 4 && totals->worst.one[0].ns == 100 * US &&
			   totals->worst.one[0].task.pid == 5 &&
			   totals->worst.one[0].detail[1] == 100 && !totals->worst.one[0].cpu,
		   "the longest, with its place");
	kl_io_report_destroy(report);
}

static void test_io_damage(void)
{
	struct kl_io_report *report = new_io(0);
	const struct kl_io_totals *totals;
	size_t n;

	request("block_rq_issue", 100, 5, 8, 8, READ);
	completed(50, 8, 8, 0); /* the clocks differ */
	request("block_rq_issue", 200, 5, 8, 8, READ);
	request("block_rq_issue", 300, 5, 8, 8, READ); /* at the same place */
	lose(KL_LOSS_UNSEEN, 0);
	completed(310, 8, 8, 0);
	request("block_rq_issue", 400, 5, 8, 8, READ);
	lose(KL_LOSS_OVERWRITTEN, 0);
	completed(900, 8, 8, 0);
	request("block_rq_issue", 1000, 5, UINT64_MAX - 4, UINT32_MAX, READ);
	completed(1010, UINT64_MAX - 4, 8, 0); /* beyond the last sector */
	completed(1020, 3, UINT32_MAX, 0);
	totals = kl_io_report_totals(report);
	unit_check(totals->latency.n == 3 && totals->latency.least == 0 &&
			   totals->latency.most == 20 * US,
		   "no time is negative, and none crosses a gap");
	unit_check(totals->gaps == 1 && totals->unfinished == 1 && totals->unpaired == 1,
		   "what is missing is counted");
	kl_io_report_destroy(report);
	report = new_io(6);
	request("block_rq_issue", 0, 5, 8, 8, READ);
	request("block_rq_issue", 0, 6, 16, 8, READ);
	completed(10, 8, 8, 0);
	completed(20, 16, 8, 0);
	kl_io_report_processes(report, &n);
	unit_check(n == 1 && kl_io_report_totals(report)->latency.sum == 20 * US, "one process");
	kl_io_report_destroy(report);
}

static void test_io_bound(void)
{
	struct kl_io_report *report = new_io(0);
	const uint64_t most = 65536;

	for (uint64_t i = 0; i < most; i++)
		request("block_rq_insert", i, 5, i * 8, 8, READ);
	request("block_rq_issue", most, 5, 8 * most, 8, READ);
	completed(most + 1, 8 * most, 8, 0);
	unit_check(kl_io_report_totals(report)->latency.n == 1 &&
			   !kl_io_report_totals(report)->dropped,
		   "requests that are never issued are forgotten when there are too many");
	for (uint64_t i = 0; i < most + 7; i++)
		request("block_rq_issue", 2 * most + i, 5, i * 8, 8, READ);
	unit_check(kl_io_report_totals(report)->dropped == 7, "a full table is reported");
	kl_io_report_destroy(report);
}

/* ----------------------------------------------------------------------- irq */

static int take_irq(void *report, const struct kl_item *item)
{
	return kl_irq_report_add(report, item);
}

static const struct kl_irq_row *irq_of(struct kl_irq_report *report, enum kl_irq_kind kind,
				       int number)
{
	size_t n;
	const struct kl_irq_row *row = kl_irq_report_rows(report, &n);

	for (size_t i = 0; i < n; i++)
		if (row[i].kind == kind && row[i].number == number)
			return &row[i];
	return NULL;
}

static void interrupt(const char *event, unsigned int cpu, uint64_t us, uint64_t number,
		      uint64_t ret)
{
	add(event, cpu, BEGIN + us * US, NUMBERS(number, ret));
}

static void test_irq(void)
{
	struct kl_irq_report *report = kl_irq_report_create(schema, 0);
	const struct kl_irq_totals *totals;
	const struct kl_irq_row *row;
	const struct kl_irq_cpu *cpu;
	size_t n;

	if (!report)
		abort();
	to = report;
	take = take_irq;
	interrupt("irq_softirq_raise", 1, 0, 3, 0);
	interrupt("irq_softirq_raise", 1, 5, 3, 0); /* it is already */
	interrupt("irq_softirq_entry", 1, 20, 3, 0);
	interrupt("x86_irq_vectors_local_timer_entry", 1, 30, 236, 0);
	interrupt("irq_handler_entry", 1, 40, 9, 0);
	interrupt("irq_handler_entry", 0, 41, 9, 0); /* on another CPU */
	interrupt("irq_handler_exit", 1, 45, 9, 1);
	interrupt("x86_irq_vectors_local_timer_exit", 1, 60, 236, 0);
	interrupt("irq_handler_exit", 0, 91, 9, 0);
	interrupt("irq_softirq_exit", 1, 100, 3, 0);
	interrupt("irq_handler_exit", 0, 110, 9, 0); /* without a begin */
	interrupt("irq_softirq_entry", 0, 120, 1, 0);
	interrupt("irq_softirq_exit", 0, 130, 2, 0); /* another one's */
	interrupt("irq_handler_entry", 0, 140, 9, 0);
	interrupt("irq_handler_entry", 0, 150, 9, 0); /* the end is missing */
	interrupt("irq_handler_exit", 0, 145, 9, 1); /* the clock goes back */
	interrupt("irq_softirq_entry", 0, 160, 200, 0);
	row = irq_of(report, KL_IRQ_DEVICE, 9);
	unit_check(row && row->time.n == 3 && row->time.sum == 55 * US && row->handled == 2 &&
			   !strcmp(row->name, "text") && row->worst.ns == 50 * US &&
			   !row->worst.cpu && row->worst.end_ns == BEGIN + 91 * US,
		   "handlers of a device");
	row = irq_of(report, KL_IRQ_VECTOR, 0);
	unit_check(row && row->time.sum == 30 * US && !strcmp(row->name, "local_timer"),
		   "a vector, with what comes within");
	row = irq_of(report, KL_IRQ_SOFTIRQ, 3);
	unit_check(row && row->time.sum == 80 * US && row->delay.n == 1 &&
			   row->delay.sum == 20 * US && !strcmp(row->name, "NET_RX"),
		   "a softirq, and since when it was raised");
	totals = kl_irq_report_totals(report);
	unit_check(totals->unpaired == 2 && totals->unfinished == 3 && totals->time[0].n == 4 &&
			   totals->time[1].n == 1 && totals->worst.one[0].ns == 80 * US &&
			   totals->worst.one[0].task.tid == 7,
		   "ends without begins, begins without ends, and what was interrupted");
	cpu = kl_irq_report_cpus(report, &n);
	unit_check(n == 2 && !cpu[0].cpu && cpu[0].n[KL_IRQ_DEVICE] == 2 &&
			   cpu[1].ns[KL_IRQ_SOFTIRQ] == 80 * US,
		   "by CPU");
	kl_irq_report_destroy(report);
}

static void test_irq_damage(void)
{
	struct kl_irq_report *report = kl_irq_report_create(schema, 0);
	const struct kl_irq_totals *totals;
	size_t n;

	if (!report)
		abort();
	to = report;
	interrupt("irq_handler_entry", 0, 10, 1, 0);
	interrupt("irq_handler_entry", 1, 10, 1, 0);
	lose(KL_LOSS_DISCARDED, 0);
	interrupt("irq_handler_exit", 0, 90, 1, 0);
	interrupt("irq_handler_exit", 1, 20, 1, 0);
	totals = kl_irq_report_totals(report);
	unit_check(totals->time[0].n == 1 && totals->time[0].sum == 10 * US &&
			   totals->unpaired == 1 && totals->gaps == 1,
		   "a gap is one of its CPU");
	for (uint64_t i = 0; i < KL_IRQ_ROWS_MAX + 50; i++) {
		interrupt("irq_handler_entry", 0, 100, i, 0);
		interrupt("irq_handler_exit", 0, 101, i, 0);
		interrupt("irq_softirq_entry", (unsigned int)(i * 64), 102, 1, 0);
	}
	totals = kl_irq_report_totals(report);
	kl_irq_report_rows(report, &n);
	/* The first handler has a row already, and one is the softirq's. */
	unit_check(n == KL_IRQ_ROWS_MAX && totals->dropped == 51 - 1 + 1,
		   "full tables are reported");
	kl_irq_report_destroy(report);
}

/* ------------------------------------------------------------------------ mm */

static int take_mm(void *report, const struct kl_item *item)
{
	return kl_mm_report_add(report, item);
}

static void work(const char *event, uint64_t us, int tid, uint64_t number)
{
	const struct kl_task task = { .tid = tid, .pid = tid & ~1, .comm = "works" };

	add_as(event, 0, BEGIN + us * US, &task, "killed", NUMBERS(number, 0, 0));
}

static void test_mm(void)
{
	struct kl_mm_report *report = kl_mm_report_create(schema, 0);
	struct kl_buffer names = { 0 };
	const struct kl_mm_totals *totals;
	const struct kl_mm_row *row;
	size_t n;

	if (!report)
		abort();
	to = report;
	take = take_mm;
	kl_mm_report_missing(report, &names);
	unit_check(names.length > 0, "events are missing");
	kl_buffer_deinit(&names);
	add_as("x86_exceptions_page_fault_user", 0, BEGIN,
	       &(struct kl_task){ .tid = 5, .pid = 4, .comm = "x" }, "",
	       NUMBERS(0x1000, 0x2000, 7));
	add_as("x86_exceptions_page_fault_kernel", 0, BEGIN,
	       &(struct kl_task){ .tid = 4, .pid = 4, .comm = "x" }, "",
	       NUMBERS(0x1000, 0x2000, 2));
	work("mm_vmscan_direct_reclaim_begin", 10, 4, 0);
	work("mm_vmscan_direct_reclaim_begin", 20, 8, 0);
	work("mm_compaction_begin", 25, 8, 0);
	work("mm_compaction_end", 26, 8, 0);
	work("mm_vmscan_direct_reclaim_end", 50, 4, 32);
	work("mm_vmscan_direct_reclaim_end", 90, 8, 8);
	work("mm_vmscan_memcg_reclaim_end", 95, 8, 8); /* without a begin */
	work("mm_vmscan_memcg_reclaim_begin", 96, 8, 8);
	work("mm_vmscan_kswapd_wake", 100, 60, 0);
	work("mm_vmscan_kswapd_wake", 110, 60, 0); /* it is awake */
	work("mm_vmscan_kswapd_sleep", 400, 60, 0);
	work("mm_vmscan_kswapd_sleep", 500, 60, 0);
	work("mark_victim", 600, 8, 77);
	row = kl_mm_report_rows(report, &n);
	unit_check(n == 3 && row[0].task.pid == 4 && row[0].user == 1 && row[0].kernel == 1 &&
			   row[0].protection == 1 && row[0].write == 2 && !row[0].counted,
		   "faults of the tasks of a process");
	unit_check(n == 3 && row[0].n[KL_MM_DIRECT] == 1 && row[0].pages[KL_MM_DIRECT] == 32 &&
			   row[0].ns[KL_MM_DIRECT] == 40 * US &&
			   row[1].ns[KL_MM_DIRECT] == 70 * US &&
			   row[1].ns[KL_MM_COMPACTION] == 1 * US,
		   "reclaim and compaction");
	totals = kl_mm_report_totals(report);
	unit_check(totals->time[KL_MM_DIRECT].n == 2 && totals->pages[KL_MM_DIRECT] == 40 &&
			   totals->worst.n == 3 && totals->worst.one[0].task.tid == 8,
		   "all of it, the longest first");
	unit_check(totals->time[KL_MM_KSWAPD].n == 1 && totals->time[KL_MM_KSWAPD].sum == 300 * US,
		   "kswapd is awake until it first sleeps");
	unit_check(totals->unpaired == 1 && totals->unfinished == 1, "what is missing is counted");
	unit_check(totals->victims == 1 && totals->victim[0].task.tid == 77 &&
			   totals->victim[0].by.tid == 8 &&
			   !strcmp(totals->victim[0].task.comm, "killed"),
		   "who was killed");
	kl_mm_report_destroy(report);
}

static void test_mm_damage(void)
{
	struct kl_mm_report *report = kl_mm_report_create(schema, 0);
	const struct kl_mm_totals *totals;
	size_t n;

	if (!report)
		abort();
	to = report;
	work("mm_vmscan_direct_reclaim_begin", 10, 4, 0);
	lose(KL_LOSS_CORRUPT, 0);
	work("mm_vmscan_direct_reclaim_end", 500, 4, 1);
	work("mm_vmscan_direct_reclaim_begin", 600, 4, 0);
	work("mm_vmscan_direct_reclaim_end", 550, 4, UINT64_MAX);
	for (int tid = 10; tid < 10 + KL_MM_TASKS_MAX; tid++)
		work("mm_compaction_begin", 700, tid, 0);
	for (int i = 0; i < 100; i++)
		work("mark_victim", 800, 4, (uint64_t)i);
	kl_mm_report_rows(report, &n);
	totals = kl_mm_report_totals(report);
	unit_check(totals->time[KL_MM_DIRECT].n == 1 && !totals->time[KL_MM_DIRECT].sum &&
			   totals->gaps == 1 && totals->unpaired == 1,
		   "nothing crosses a gap, or is negative");
	unit_check(n <= KL_MM_TASKS_MAX && totals->dropped == 1 && totals->victims == 100,
		   "full tables are reported");
	kl_mm_report_destroy(report);
}

/* ----------------------------------------------------------------------- net */

static int take_net(void *report, const struct kl_item *item)
{
	return kl_net_report_add(report, item);
}

static struct kl_net_report *new_net(void)
{
	struct kl_net_report *report = kl_net_report_create(schema, 0);

	if (!report)
		abort();
	to = report;
	take = take_net;
	return report;
}

enum {
	ESTABLISHED = 1,
	SYN_SENT,
	SYN_RECV,
	FIN_WAIT,
	CLOSE = 7,
	CLOSE_WAIT,
	LAST_ACK,
	LISTEN,
};

static void state(uint64_t us, int tid, uint64_t socket, uint64_t old, uint64_t new)
{
	const struct kl_task task = { .tid = tid, .pid = tid, .comm = "talks" };

	add_as("inet_sock_set_state", 0, BEGIN + us * US, &task, "",
	       NUMBERS(socket, old, new, 6, 2, 1000, 80, 0x0100007f, 0x0200007f));
}

static void packet(const char *event, uint64_t us, uint64_t address, uint64_t second)
{
	add_as(event, 0, BEGIN + us * US, &(struct kl_task){ .tid = 0 }, "eth0",
	       NUMBERS(address, second, 1500));
}

static void test_connections(void)
{
	struct kl_net_report *report = new_net();
	const struct kl_net_connection *is;
	const struct kl_net_totals *totals;
	size_t n;

	state(0, 5, 0x10, CLOSE, LISTEN);
	state(10, 6, 0x20, CLOSE, SYN_SENT);
	state(60, 0, 0x20, SYN_SENT, ESTABLISHED);
	state(61, 0, 0x30, SYN_RECV, ESTABLISHED);
	add("sock_send_length", 0, BEGIN + 70 * US, NUMBERS(0x30, 2, 6, 500));
	add("sock_send_length", 0, BEGIN + 70 * US, NUMBERS(0x30, 2, 6, (uint64_t)-32));
	add("tcp_retransmit_skb", 0, BEGIN + 80 * US, NUMBERS(1, 0x20));
	add("tcp_retransmit_skb", 0, BEGIN + 80 * US, NUMBERS(1, 0x99)); /* unknown */
	state(90, 6, 0x20, ESTABLISHED, FIN_WAIT);
	state(110, 0, 0x20, FIN_WAIT, CLOSE);
	state(120, 8, 0x40, ESTABLISHED, CLOSE_WAIT); /* older than the trace */
	state(130, 8, 0x40, LAST_ACK, CLOSE);
	state(140, 5, 0x10, LISTEN, CLOSE);
	kl_net_report_finish(report);
	is = kl_net_report_connections(report, &n);
	unit_check(n == 3 && is[0].active && is[0].task.tid == 6 &&
			   is[0].begin_ns == BEGIN + 10 * US &&
			   is[0].established_ns == BEGIN + 60 * US &&
			   is[0].end_ns == BEGIN + 110 * US && is[0].retransmits == 1 &&
			   is[0].local.port == 1000 && is[0].remote.port == 80 &&
			   is[0].local.address[0] == 127 && is[0].remote.address[3] == 2,
		   "a connection that was opened");
	unit_check(n == 3 && !is[1].begin_ns && is[1].end_ns, "one that is older than the trace");
	unit_check(n == 3 && !is[2].active && is[2].begin_ns && !is[2].end_ns &&
			   is[2].sent == 500 && is[2].task.tid == 7,
		   "one that was accepted, and is open");
	totals = kl_net_report_totals(report);
	unit_check(totals->connections == 3 && totals->connect.n == 1 &&
			   totals->connect.sum == 50 * US && totals->lifetime.sum == 100 * US &&
			   totals->retransmits == 2,
		   "times and counts of all");
	kl_net_report_destroy(report);
}

static void test_packets(void)
{
	struct kl_net_report *report = new_net();
	const struct kl_net_totals *totals;
	const struct kl_net_device *device;
	const struct kl_net_drop *drop;
	size_t n;

	packet("net_dev_queue", 0, 0x100, 1000);
	packet("net_dev_xmit", 30, 0x100, 0);
	packet("net_dev_queue", 40, 0x100, 1000);
	packet("net_dev_xmit", 50, 0x100, 16); /* refused */
	packet("netif_rx", 60, 0x100, 900);
	packet("netif_receive_skb", 65, 0x100, 900);
	packet("netif_receive_skb", 66, 0x100, 900); /* not through the backlog */
	add("kfree_skb", 0, BEGIN, NUMBERS(1, 0x5000, 8, 2));
	add("kfree_skb", 0, BEGIN + 1, NUMBERS(1, 0x6000, 8, 2));
	add("kfree_skb", 0, BEGIN + 2, NUMBERS(1, 0x6000, 8, 2));
	device = kl_net_report_devices(report, &n);
	unit_check(n == 1 && !strcmp(device->name, "eth0") && device->sent == 1 &&
			   device->sent_bytes == 1500 && device->refused == 1 &&
			   device->queue.n == 1 && device->queue.sum == 30 * US,
		   "packets that are sent");
	unit_check(n == 1 && device->received == 2 && device->received_bytes == 1800 &&
			   device->backlog.n == 1 && device->backlog.sum == 5 * US,
		   "and received");
	drop = kl_net_report_drops(report, &n);
	unit_check(n == 2 && drop[0].location == 0x6000 && drop[0].n == 2 && drop[0].reason == 2,
		   "and dropped");
	packet("net_dev_queue", 70, 0x100, 1000);
	lose(KL_LOSS_DISCARDED, 0);
	packet("net_dev_xmit", 900, 0x100, 0);
	state(1000, 6, 0x20, CLOSE, SYN_SENT);
	lose(KL_LOSS_DISCARDED, 0);
	for (uint64_t i = 0; i < KL_NET_CONNECTIONS_MAX + 5; i++)
		state(1100 + i, 6, 0x1000 + i, CLOSE, SYN_SENT);
	for (uint64_t i = 0; i < 70000; i++)
		packet("net_dev_queue", 1100, i * 64, 1);
	for (uint64_t i = 0; i < 300; i++)
		add("kfree_skb", 0, BEGIN, NUMBERS(1, 0x7000 + i, 8, 2));
	state(2000, 6, 0x1000, SYN_SENT, CLOSE);
	kl_net_report_finish(report);
	totals = kl_net_report_totals(report);
	kl_net_report_connections(report, &n);
	device = kl_net_report_devices(report, &(size_t){ 0 });
	unit_check(device->queue.n == 1 && totals->gaps == 2 && n == KL_NET_CONNECTIONS_MAX,
		   "nothing crosses a gap");
	unit_check(totals->dropped == 5 + 300 - (KL_NET_DROPS_MAX - 2), "full tables are reported");
	kl_net_report_destroy(report);
}

int main(void)
{
	schema = kl_schema_create();
	if (!schema)
		abort();
	test_histogram();
	test_histogram_ends();
	test_worst();
	test_sched();
	test_sched_damage();
	test_sched_partial();
	test_sched_bound();
	test_states(2000);
	test_states(123456789);
	test_states_hostile();
	test_io();
	test_io_damage();
	test_io_bound();
	test_irq();
	test_irq_damage();
	test_mm();
	test_mm_damage();
	test_connections();
	test_packets();
	kl_schema_destroy(schema);
	return unit_end();
}
