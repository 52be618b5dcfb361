// SPDX-License-Identifier: GPL-2.0
/* Which code makes processes grow: page faults, calls and stack traces that are made here. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <kernlens/internal.h>
#include "feed.h"
#include "unit.h"

#define PAGE 4096ull
#define BLOCK (512 * PAGE)
#define HEAP 0x100000000ull
#define OTHER 0x700000000000ull

/* IDs of the stack traces below. */
enum {
	BY_MALLOC = 1,
	BY_OPERATOR_NEW,
	BY_MALLOC_TOO, /* the same function as BY_MALLOC, from elsewhere */
	ONLY_LIBC,
	FREEING,
};

static const char traces[] = "kernlens-stacks 3\nno-room 0\n"
			     "stack 1 1 0 5 3\n"
			     "7f00 sysmalloc 5 /lib/x/libc.so.6 - 0 - 0 0 0\n"
			     "7f10 malloc 5 /lib/x/libc.so.6 - 0 - 0 0 0\n"
			     "5500 fill_cache 5 /bin/a - 0 - 0 0 0\n"
			     "stack 2 1 0 5 3\n"
			     "7f20 - 0 /lib/x/libstdc++.so.6 - 0 - 0 0 0\n"
			     "5510 alloc::alloc::alloc 5 /bin/a - 0 - 0 0 0\n"
			     "5520 build_index 5 /bin/a - 0 - 0 0 0\n"
			     "stack 3 1 0 5 3\n"
			     "7f10 malloc 5 /lib/x/libc.so.6 - 0 - 0 0 0\n"
			     "5504 fill_cache 9 /bin/a - 0 - 0 0 0\n"
			     "5600 main 5 /bin/a - 0 - 0 0 0\n"
			     "stack 4 1 0 5 1\n"
			     "7f30 - 0 /lib/x/libc.so.6 - 0 - 0 0 0\n"
			     "stack 5 1 0 5 2\n"
			     "7f40 munmap 5 /lib/x/libc.so.6 - 0 - 0 0 0\n"
			     "5700 drop_cache 5 /bin/a - 0 - 0 0 0\n";

/* Bits of a page fault's error code. */
enum {
	READ = 4,
	WRITE = 6,
	PROTECTION = 7,
};

static struct kl_stacks *stacks;
static struct kl_growth *growth;
static struct kl_task task = { .tid = 7, .pid = 7, .comm = "me" };
static uint8_t values[KL_VARIABLES_BYTES_MAX];
static uint64_t rss;
static uint64_t now;

static int take(void *to, const struct kl_item *item)
{
	return kl_growth_add(to, item);
}

static void make(void)
{
	feed_schema = kl_schema_create();
	stacks = kl_stacks_parse(traces, strlen(traces));
	feed_take = take;
	feed_variables = values;
	if (!feed_schema || !stacks ||
	    kl_schema_add_variable(feed_schema, kl_variable_find("ustack")) < 0 ||
	    kl_schema_add_variable(feed_schema, kl_variable_find("rss")) < 0)
		abort();
	kl_schema_set_stacks(feed_schema, stacks);
}

static void restart(void)
{
	kl_growth_destroy(growth);
	growth = kl_growth_create(feed_schema);
	if (!growth)
		abort();
	feed_to = growth;
	rss = 100 * PAGE;
	now = BEGIN;
}

static void add(const char *name, uint32_t stack, const uint64_t *number)
{
	memcpy(values + kl_schema_variable(feed_schema, 0)->field.offset, &stack, sizeof(stack));
	memcpy(values + kl_schema_variable(feed_schema, 1)->field.offset, &rss, sizeof(rss));
	now += 10 * MS;
	feed_event_of(name, 0, now, &task, "text", number);
}

/* A page fault with an error code that brings pages, of which the RSS is up to date. */
static void fault_of(uint32_t stack, uint64_t address, uint64_t code, uint64_t pages)
{
	add("x86_exceptions_page_fault_user", stack, NUMBERS(address, 0x400000, code));
	rss += pages * PAGE;
}

/* One that writes. */
static void fault(uint32_t stack, uint64_t address, uint64_t pages)
{
	fault_of(stack, address, WRITE, pages);
}

static void call(const char *name, uint32_t stack, const uint64_t *arguments, uint64_t ret)
{
	char event[64];

	snprintf(event, sizeof(event), "syscall_entry_%s", name);
	add(event, stack, arguments);
	snprintf(event, sizeof(event), "syscall_exit_%s", name);
	add(event, 0, NUMBERS(ret));
}

static void finish(void)
{
	add("syscall_entry_exit_group", 0, NUMBERS(0));
	if (kl_growth_finish(growth))
		abort();
}

/* Are the pages touched, kept and given back these, and the sums of all rows as well? */
static bool pages_are(uint64_t touched, uint64_t kept, uint64_t freed)
{
	const struct kl_growth_totals *t = kl_growth_totals(growth);

	for (unsigned int key = 0; key < KL_GROWTH_KEYS; key++) {
		struct kl_growth_row sum = {};
		size_t n;
		struct kl_growth_row *row = kl_growth_rows(growth, key, false, &n);

		for (size_t i = 0; i < n; i++) {
			sum.touched += row[i].touched;
			sum.kept += row[i].kept;
			sum.freed += row[i].freed;
		}
		free(row);
		if (sum.touched != t->touched || sum.kept != t->kept || sum.freed != t->freed)
			return false;
	}
	return t->touched == touched * PAGE && t->kept == kept * PAGE && t->freed == freed * PAGE;
}

static void faults(void)
{
	struct kl_growth_row *row;
	size_t n;

	restart();
	fault(BY_MALLOC, HEAP, 1);
	fault_of(BY_MALLOC, HEAP + 1, PROTECTION, 0);
	fault(BY_OPERATOR_NEW, HEAP + PAGE, 1);
	fault(BY_MALLOC_TOO, HEAP + 2 * PAGE, 1);
	fault(ONLY_LIBC, HEAP + 5 * PAGE, 1);
	finish();
	unit_check(pages_are(4, 4, 0), "a fault that writes brings a page");
	unit_check(kl_growth_totals(growth)->faults == 5, "all page faults are counted");
	row = kl_growth_rows(growth, KL_GROWTH_BY_FUNCTION, false, &n);
	unit_check(n == 3 && !strcmp(row[0].function, "fill_cache") && row[0].kept == 2 * PAGE &&
			   row[0].events == 3,
		   "the function is the one that calls the allocator");
	unit_check(row[0].pid == 7 && !strcmp(row[0].comm, "me") && !row[0].stack &&
			   !strcmp(row[0].object, "/bin/a"),
		   "its process and program; it has more than one stack trace");
	unit_check(row[0].oldest_ns == 50 * MS && row[0].age_ns == 35 * MS, "ages");
	free(row);
	row = kl_growth_rows(growth, KL_GROWTH_BY_STACK, false, &n);
	unit_check(n == 4 && row[0].stack == BY_MALLOC && row[0].events == 2, "by stack trace");
	unit_check(!strcmp(row[3].function, "unknown") && row[3].stack == ONLY_LIBC,
		   "a function without a name");
	free(row);

	restart();
	fault(BY_MALLOC, HEAP, 1);
	call("brk", FREEING, NUMBERS(0), HEAP);
	rss -= PAGE;
	fault(BY_OPERATOR_NEW, HEAP, 1);
	finish();
	unit_check(pages_are(2, 1, 1) && kl_growth_totals(growth)->again == PAGE,
		   "a page that had been reclaimed");
}

static void guesses(void)
{
	struct kl_growth_row *row;
	size_t n;

	restart();
	fault_of(BY_MALLOC, HEAP, READ, 16);
	fault(BY_OPERATOR_NEW, HEAP + 2 * PAGE, 1);
	fault_of(BY_OPERATOR_NEW, HEAP + 3 * PAGE, PROTECTION, 0);
	fault_of(BY_MALLOC_TOO, HEAP + 9 * PAGE, READ, 4);
	finish();
	unit_check(pages_are(21, 21, 0) && !kl_growth_totals(growth)->again,
		   "pages that were somewhere else have not been given back");
	row = kl_growth_rows(growth, KL_GROWTH_BY_STACK, false, &n);
	unit_check(n == 3 && row[0].stack == BY_MALLOC && row[0].kept == 16 * PAGE &&
			   row[0].age_ns == 40 * MS && row[1].kept == 4 * PAGE &&
			   row[2].kept == PAGE,
		   "but belong to the fault that brought them");
	free(row);
}

static void sizes(void)
{
	struct kl_growth_row *row;
	size_t n;

	restart();
	fault(BY_MALLOC, OTHER + 3 * PAGE, 512);
	fault_of(BY_MALLOC_TOO, OTHER + BLOCK + 20 * PAGE, READ, 16);
	fault_of(BY_OPERATOR_NEW, OTHER + BLOCK + 15 * PAGE, READ, 16);
	call("munmap", FREEING, NUMBERS(OTHER + BLOCK + 16 * PAGE, 16 * PAGE), 0);
	finish();
	unit_check(pages_are(544, 528, 16), "a huge page, and pages around a fault that reads");
	row = kl_growth_rows(growth, KL_GROWTH_BY_STACK, false, &n);
	unit_check(n == 3 && row[0].kept == BLOCK && row[1].stack == BY_OPERATOR_NEW &&
			   row[1].kept == 16 * PAGE && row[2].freed == 16 * PAGE,
		   "in the aligned range around the address");
	free(row);

	restart();
	fault(BY_MALLOC, HEAP, 1);
	call("brk", FREEING, NUMBERS(0), HEAP + PAGE);
	rss += 512 * PAGE;
	call("brk", FREEING, NUMBERS(0), HEAP + PAGE);
	finish();
	unit_check(pages_are(1, 1, 0), "what no fault in the trace brought belongs to none");
}

/* The kernel adds up 32 pages first. */
static void lags(void)
{
	struct kl_growth_row *row;
	size_t n;

	restart();
	for (unsigned int i = 0; i < 31; i++)
		fault(BY_MALLOC, HEAP + i * PAGE, 0);
	fault(BY_MALLOC, HEAP + 31 * PAGE, 32);
	fault_of(BY_MALLOC_TOO, OTHER + 5 * PAGE, READ, 0);
	fault_of(BY_OPERATOR_NEW, OTHER + BLOCK + 7 * PAGE, READ, 0);
	fault(BY_MALLOC, HEAP + 32 * PAGE, 33);
	fault(BY_MALLOC, OTHER + 2 * BLOCK, 0);
	finish();
	unit_check(pages_are(66, 66, 0), "pages that the RSS has late");
	row = kl_growth_rows(growth, KL_GROWTH_BY_STACK, false, &n);
	unit_check(n == 3 && row[0].stack == BY_MALLOC && row[0].kept == 34 * PAGE &&
			   row[1].kept == 16 * PAGE && row[2].kept == 16 * PAGE,
		   "belong to the faults that read");
	free(row);

	/* Only large units are added at once. */
	restart();
	for (unsigned int i = 0; i < 20; i++)
		fault(BY_MALLOC, HEAP + i * PAGE, 0);
	fault(BY_OPERATOR_NEW, OTHER, 512);
	for (unsigned int i = 20; i < 31; i++)
		fault(BY_MALLOC, HEAP + i * PAGE, 0);
	fault(BY_MALLOC, HEAP + 31 * PAGE, 32);
	fault(BY_MALLOC_TOO, OTHER + BLOCK + 5 * PAGE, 4);
	finish();
	unit_check(pages_are(512 + 32 + 4, 512 + 32 + 4, 0), "huge pages among them");

	/* Or it does so after 64 page faults, of which the first may have come before. */
	restart();
	for (unsigned int i = 1; i <= 256; i++)
		fault_of(BY_MALLOC, OTHER + i * PAGE, READ, i % 64 == 40 ? i == 40 ? 40 : 64 : 0);
	rss += 24 * PAGE;
	finish();
	unit_check(pages_are(256, 256, 0), "pages of faults that read");

	restart();
	for (unsigned int i = 0; i < 1000; i++)
		fault_of(BY_MALLOC, OTHER + i * PAGE, READ, 0);
	fault(BY_MALLOC, HEAP, 1);
	fault(BY_MALLOC, HEAP + PAGE, 1);
	finish();
	unit_check(kl_growth_totals(growth)->touched < 130 * PAGE,
		   "reads of the page of zeros bring nothing");
}

static void calls(void)
{
	struct kl_growth_row *row;
	size_t n;

	restart();
	for (unsigned int i = 0; i < 16; i++)
		fault(BY_MALLOC, OTHER + i * PAGE, 1);
	call("munmap", FREEING, NUMBERS(OTHER + PAGE, 2 * PAGE - 1), 0);
	call("munmap", FREEING, NUMBERS(OTHER + 4 * PAGE, PAGE), (uint64_t)-22);
	call("madvise", FREEING, NUMBERS(OTHER + 5 * PAGE, PAGE, MADV_DONTNEED), 0);
	call("madvise", FREEING, NUMBERS(OTHER + 6 * PAGE, PAGE, MADV_WILLNEED), 0);
	/* 4 pages from the 8th become 3, elsewhere, where one was. */
	fault(BY_OPERATOR_NEW, HEAP + PAGE, 1);
	call("mremap", FREEING, NUMBERS(OTHER + 8 * PAGE, 4 * PAGE, 3 * PAGE), HEAP);
	call("mmap", FREEING, NUMBERS(0, PAGE, 0, MAP_FIXED), OTHER + 15 * PAGE);
	finish();
	unit_check(pages_are(17, 11, 6), "munmap, madvise, mremap and mmap");
	row = kl_growth_rows(growth, KL_GROWTH_BY_FUNCTION, true, &n);
	unit_check(n == 1 && !strcmp(row[0].function, "drop_cache") && row[0].freed == 6 * PAGE &&
			   row[0].events == 4,
		   "who gave them back, by calls that did");
	free(row);
	unit_check(kl_growth_totals(growth)->calls == 4, "their number");

	restart();
	call("brk", FREEING, NUMBERS(0), HEAP + 8 * PAGE);
	for (unsigned int i = 0; i < 8; i++)
		fault(BY_MALLOC, HEAP + i * PAGE, 1);
	call("mremap", FREEING, NUMBERS(HEAP, 8 * PAGE, 8 * PAGE), OTHER);
	call("mremap", FREEING, NUMBERS(OTHER, 8 * PAGE, 8 * PAGE), HEAP);
	call("brk", FREEING, NUMBERS(0), HEAP + 2 * PAGE);
	finish();
	unit_check(pages_are(8, 2, 6), "pages that were moved twice, and the break");

	restart();
	for (unsigned int i = 0; i < 4; i++)
		fault(BY_MALLOC, OTHER + i * BLOCK, 1);
	call("mremap", FREEING, NUMBERS(0, UINT64_MAX, UINT64_MAX), 1);
	call("munmap", FREEING, NUMBERS(PAGE, UINT64_MAX), 0);
	call("munmap", FREEING, NUMBERS(UINT64_MAX - PAGE, PAGE), 0);
	call("munmap", FREEING, NUMBERS(UINT64_MAX - 1, UINT64_MAX), 0);
	finish();
	unit_check(kl_growth_totals(growth)->touched ==
			   kl_growth_totals(growth)->kept + kl_growth_totals(growth)->freed,
		   "ranges of any size");
}

static void processes(void)
{
	struct kl_growth_row *row;
	size_t n;

	restart();
	fault(BY_MALLOC, HEAP, 1);
	task.tid = task.pid = 8;
	memcpy(task.comm, "it", 3);
	rss = 0;
	fault(BY_MALLOC, HEAP, 1);
	rss = PAGE;
	add("sched_process_exec", 0, NUMBERS(0));
	rss = 0;
	fault(BY_MALLOC, HEAP, 1);
	call("munmap", FREEING, NUMBERS(HEAP, BLOCK), 0);
	task.tid = task.pid = 7;
	memcpy(task.comm, "me", 3);
	rss = 101 * PAGE;
	finish();
	unit_check(pages_are(3, 1, 2),
		   "each process has its own pages, until it executes another program");
	row = kl_growth_rows(growth, KL_GROWTH_BY_PROCESS, false, &n);
	unit_check(n == 2 && row[0].pid == 7 && row[0].kept == PAGE && row[1].pid == 8 &&
			   row[1].freed == 2 * PAGE && !strcmp(row[1].comm, "it"),
		   "by process");
	free(row);
	row = kl_growth_rows(growth, KL_GROWTH_BY_FUNCTION, false, &n);
	unit_check(n == 1 && !row[0].pid && !*row[0].comm && row[0].touched == 3 * PAGE,
		   "a function of several processes");
	free(row);
	feed_loss(KL_LOSS_DISCARDED, 0);
	unit_check(kl_growth_totals(growth)->gaps == 1, "missing records");
}

static uint64_t sum_of(const uint64_t *value)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < KL_GROWTH_INTERVALS; i++)
		sum += value[i];
	return sum;
}

/* Sums over time and of each row, whose intervals have doubled several times. */
static bool times_add_up(const struct kl_growth_history *h)
{
	const struct kl_growth_totals *t = kl_growth_totals(growth);
	bool good = sum_of(h->touched) == t->touched && sum_of(h->freed) == t->freed &&
		    sum_of(h->kept) == t->kept && h->n <= KL_GROWTH_INTERVALS;
	size_t n;
	struct kl_growth_row *row = kl_growth_rows(growth, KL_GROWTH_BY_FUNCTION, false, &n);

	for (size_t i = 0; i < n; i++) {
		uint64_t sum[3] = {};

		for (unsigned int j = 0; j < KL_GROWTH_INTERVALS; j++) {
			sum[0] += row[i].times.touched[j] * PAGE;
			sum[1] += row[i].times.freed[j] * PAGE;
			sum[2] += row[i].times.kept[j] * PAGE;
		}
		good &= sum[0] == row[i].touched && sum[1] == row[i].freed && sum[2] == row[i].kept;
	}
	free(row);
	return good;
}

static void times(void)
{
	struct kl_growth_history h;
	struct kl_growth_row *row;
	size_t n;

	restart();
	fault(BY_MALLOC, HEAP, 1);
	fault_of(BY_MALLOC, OTHER + 9 * PAGE, READ, 4);
	now = BEGIN + 1000 * MS;
	fault(BY_OPERATOR_NEW, HEAP + PAGE, 1);
	call("brk", FREEING, NUMBERS(0), HEAP + 2 * PAGE);
	now = BEGIN + 3000 * MS;
	call("brk", FREEING, NUMBERS(0), HEAP + PAGE);
	rss -= PAGE;
	now = BEGIN + 4000 * MS;
	finish();
	kl_growth_history(growth, &h);
	/* The first event is at 10 ms; 64 intervals of 64 ms are 4,096 ms. */
	unit_check(h.interval_ns == 64 * MS && h.begin_ns == BEGIN + 10 * MS &&
			   h.end_ns == BEGIN + 4010 * MS && h.n == 4000 / 64 + 1,
		   "intervals as long as the trace needs");
	unit_check(h.touched[0] == 5 * PAGE && h.kept[0] == 5 * PAGE &&
			   h.touched[1000 / 64] == PAGE && !h.kept[1000 / 64] &&
			   h.freed[3010 / 64] == PAGE,
		   "what came, what went, and what stayed of what came then");
	unit_check(times_add_up(&h), "their sums are those of the trace");
	row = kl_growth_rows(growth, KL_GROWTH_BY_FUNCTION, true, &n);
	unit_check(n == 1 && row[0].times.freed[3010 / 64] == 1, "when a call gave back");
	free(row);

	restart();
	for (unsigned int i = 0; i < 2000; i++) {
		fault(BY_MALLOC + i % 3, OTHER + i * PAGE, 1);
		if (i % 5 == 0)
			call("munmap", FREEING, NUMBERS(OTHER + i / 2 * PAGE, PAGE), 0);
	}
	/* One that had been reclaimed, and pages that are not where they were thought to be. */
	fault(BY_MALLOC, OTHER + 1999 * PAGE, 1);
	fault_of(BY_MALLOC, HEAP, READ, 16);
	fault(BY_OPERATOR_NEW, HEAP + 2 * PAGE, 1);
	finish();
	kl_growth_history(growth, &h);
	unit_check(times_add_up(&h) && kl_growth_totals(growth)->again && h.n > 16, "in any case");
}

static void nothing(void)
{
	struct kl_growth_history h;
	struct kl_schema *plain = kl_schema_create();
	struct kl_buffer names = {};
	size_t n;

	restart();
	unit_check(!kl_growth_finish(growth) && pages_are(0, 0, 0), "no events, no pages");
	kl_growth_history(growth, &h);
	unit_check(!h.n && !sum_of(h.kept), "nor time");
	free(kl_growth_rows(growth, KL_GROWTH_BY_STACK, false, &n));
	kl_growth_missing(growth, &names);
	unit_check(!n && kl_growth_totals(growth)->sized && names.length &&
			   !strcmp(names.data, "x86_exceptions_page_fault_user"),
		   "nor rows; page faults are missing");
	kl_buffer_deinit(&names);
	kl_growth_destroy(growth);
	growth = plain ? kl_growth_create(plain) : NULL;
	unit_check(growth && !kl_growth_totals(growth)->sized, "a trace without the RSS");
	kl_growth_destroy(growth);
	kl_schema_destroy(plain);
}

/* What the row of a stack trace has. */
static struct kl_growth_row row_of(uint32_t stack, bool calls)
{
	struct kl_growth_row found = {};
	size_t n;
	struct kl_growth_row *row = kl_growth_rows(growth, KL_GROWTH_BY_STACK, calls, &n);

	for (size_t i = 0; i < n; i++)
		if (row[i].stack == stack)
			found = row[i];
	free(row);
	return found;
}

/* Of a trace that goes on. */
static void updates(void)
{
	struct kl_growth_row row;

	restart();
	fault(BY_MALLOC, HEAP, 1);
	fault(BY_MALLOC, HEAP + PAGE, 1);
	fault(BY_OPERATOR_NEW, HEAP + 2 * PAGE, 1);
	for (int i = 0; i < 3; i++)
		kl_growth_update(growth, now + 1000 * MS);
	unit_check(pages_are(3, 3, 0), "an update may be repeated");
	row = row_of(BY_MALLOC, false);
	unit_check(row.oldest_ns == 1020 * MS && row.age_ns == 1015 * MS, "ages count up to it");
	unit_check(row.new_touched == 2 * PAGE && row.new_events == 2, "everything is new");
	kl_growth_mark(growth);
	row = row_of(BY_MALLOC, false);
	unit_check(row.touched == 2 * PAGE && !row.new_touched && !row.new_events,
		   "nothing is, after a mark");
	now += 1000 * MS;
	fault(BY_MALLOC, HEAP + 3 * PAGE, 1);
	call("munmap", FREEING, NUMBERS(HEAP, PAGE), 0);
	kl_growth_update(growth, now);
	unit_check(pages_are(4, 3, 1), "what follows is added");
	row = row_of(BY_MALLOC, false);
	unit_check(row.new_touched == PAGE && row.new_freed == PAGE && row.kept == 2 * PAGE &&
			   row.oldest_ns == 1040 * MS,
		   "the new part of it");
	row = row_of(FREEING, true);
	unit_check(row.new_freed == PAGE && row.new_events == 1, "and of calls");
	finish();
	unit_check(pages_are(4, 3, 1), "the end changes nothing");
}

int main(void)
{
	make();
	faults();
	guesses();
	sizes();
	lags();
	calls();
	processes();
	times();
	updates();
	nothing();
	kl_schema_destroy(feed_schema);
	kl_stacks_destroy(stacks);
	return unit_end();
}
