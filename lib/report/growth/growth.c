// SPDX-License-Identifier: GPL-2.0
/*
 * Which code makes processes grow. A page belongs to the code that touched it first, until it is
 * unmapped, or brought again because it had been reclaimed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "../../base/table.h"
#include "../values.h"
#include "faults.h"
#include "growth.h"

enum {
	FAULT_USER,
	FAULT_KERNEL,
	ENTRIES, /* each is followed by its exit */
	MUNMAP = ENTRIES,
	MADVISE = ENTRIES + 2,
	BRK = ENTRIES + 4,
	MREMAP = ENTRIES + 6,
	MMAP = ENTRIES + 8,
	EXEC = ENTRIES + 10,
	EXIT,
	EVENTS,
};

static const struct kl_report_event used[EVENTS] = {
	[FAULT_USER] = { "x86_exceptions_page_fault_user", true, { "address", "error_code" } },
	[FAULT_KERNEL] = { "x86_exceptions_page_fault_kernel", false, { "address", "error_code" } },
	[MUNMAP] = { "syscall_entry_munmap", false, { "addr", "len" } },
	{ "syscall_exit_munmap", false, { "ret" } },
	[MADVISE] = { "syscall_entry_madvise", false, { "start", "len_in", "behavior" } },
	{ "syscall_exit_madvise", false, { "ret" } },
	[BRK] = { "syscall_entry_brk", false, { "brk" } },
	{ "syscall_exit_brk", false, { "ret" } },
	[MREMAP] = { "syscall_entry_mremap", false, { "addr", "old_len", "new_len", "flags" } },
	{ "syscall_exit_mremap", false, { "ret" } },
	[MMAP] = { "syscall_entry_mmap", false, { "addr", "len", "flags" } },
	{ "syscall_exit_mmap", false, { "ret" } },
	[EXEC] = { "sched_process_exec", false, { NULL } },
	/* Only says how much the last fault brought. */
	[EXIT] = { "syscall_entry_exit_group", false, { NULL } },
};

/**
 * struct process - key: its ID, plus 1
 * @heap_end: the break, 0: unknown
 */
struct process {
	uint64_t key;
	uint64_t heap_end;
	struct kl_growth_faults faults;
};

/**
 * struct call - a system call in progress. Key: thread ID, plus 1
 * @which: its entry; 0: none
 * @argument: in the order of the fields
 */
struct call {
	uint64_t key;
	int which;
	size_t row;
	uint64_t argument[4];
};

/* Key: hash of stack, process and kind; @number: of the row, plus 1. */
struct row_of {
	uint64_t key;
	size_t number;
};

/* ---------------------------------------------------------------------- rows */

/* The row of an event's stack trace and process. Returns its number or -ENOMEM. */
static int64_t get_row(struct kl_growth *g, const struct kl_event *event, bool calls)
{
	const uint64_t id[] = { kl_variable_of(event, g->stack), (uint64_t)event->task.pid, calls };
	struct row_of *entry =
		kl_hash_get(&g->rows_by_key, kl_hash_bytes(KL_HASH_START, id, sizeof(id)) | 1);
	struct kl_growth_source *grown;

	if (!entry)
		return -ENOMEM;
	if (!entry->number) {
		grown = kl_array_grow(g->row, g->n, &g->room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		g->row = grown;
		memset(&grown[g->n], 0, sizeof(*grown));
		grown[g->n].stack = (uint32_t)id[0];
		grown[g->n].calls = calls;
		entry->number = ++g->n;
	}
	g->row[entry->number - 1].task = event->task;
	return (int64_t)entry->number - 1;
}

static uint32_t now_ms(const struct kl_growth *g)
{
	return (uint32_t)((g->last_ns - g->first_ns) / KL_GROWTH_NS_PER_MS);
}

static void add_freed(struct kl_growth_source *row, unsigned int interval)
{
	row->freed += 1 << KL_GROWTH_PAGE_SHIFT;
	row->times.freed[interval]++;
}

static void remove_page(void *context, struct kl_growth_page page)
{
	struct kl_growth *g = context;
	const unsigned int interval = kl_growth_interval_of(g, now_ms(g));

	add_freed(&g->row[page.row - 1], interval);
	g->times.freed[interval]++;
	g->totals.freed += 1 << KL_GROWTH_PAGE_SHIFT;
	if (g->freeing)
		add_freed(&g->row[g->freeing - 1], interval);
}

#define NOBODY SIZE_MAX

/* Pages up to a range's end, which need not be aligned, given back by a row or by NOBODY. */
static int free_range(struct kl_growth *g, int32_t pid, uint64_t start, uint64_t bytes, size_t row)
{
	const uint64_t end = start + bytes < start ? UINT64_MAX : start + bytes;
	int error;

	g->freeing = row == NOBODY ? 0 : row + 1;
	error = kl_growth_pages_remove(&g->pages, pid, start >> KL_GROWTH_PAGE_SHIFT,
				       (end >> KL_GROWTH_PAGE_SHIFT) +
					       (end % (1 << KL_GROWTH_PAGE_SHIFT) ? 1 : 0));
	g->freeing = 0;
	return error;
}

/* -------------------------------------------------------------------- faults */

/**
 * struct taker - who takes pages
 * @pid: the process
 */
struct taker {
	struct kl_growth *g;
	int32_t pid;
};

/* These pages are never given back, as far as is known. */
static void add_unplaced(struct kl_growth *g, struct kl_growth_source *row, uint32_t ms)
{
	row->unplaced++;
	row->unplaced_ms += ms;
	row->unplaced_times[kl_growth_interval_of(g, ms)]++;
}

static void add_touched(struct kl_growth *g, struct kl_growth_source *row, uint32_t ms)
{
	const unsigned int interval = kl_growth_interval_of(g, ms);

	row->touched += 1 << KL_GROWTH_PAGE_SHIFT;
	row->times.touched[interval]++;
	g->totals.touched += 1 << KL_GROWTH_PAGE_SHIFT;
	g->times.touched[interval]++;
}

/* A kl_growth_take_fn. */
static int take_page(void *context, const struct kl_growth_fault *fault, uint64_t number,
		     bool is_new, bool is_guess)
{
	const struct taker *taker = context;
	struct kl_growth *g = taker->g;
	struct kl_growth_source *row = &g->row[fault->row];
	struct kl_growth_page *page;

	if (number == KL_GROWTH_NOWHERE) {
		add_unplaced(g, row, fault->ms);
		add_touched(g, row, fault->ms);
		return 1;
	}
	page = kl_growth_pages_get(&g->pages, taker->pid, number);
	if (!page)
		return -ENOMEM;
	if (page->row && !is_new)
		return 0;
	if (page->row && page->is_guess) {
		add_unplaced(g, &g->row[page->row - 1], page->ms);
	} else if (page->row) {
		remove_page(g, *page);
		g->totals.again += 1 << KL_GROWTH_PAGE_SHIFT;
	}
	*page = (struct kl_growth_page){ .row = (uint32_t)fault->row + 1,
					 .is_guess = is_guess,
					 .ms = fault->ms & INT32_MAX };
	add_touched(g, row, fault->ms);
	return 1;
}

static int add_fault(struct kl_growth *g, const struct kl_event *event, struct process *process,
		     int which)
{
	const uint64_t address = kl_report_number(&g->events, event, which, 0);
	const uint64_t error_code = kl_report_number(&g->events, event, which, 1);
	struct taker taker = { g, event->task.pid };
	struct kl_growth_fault fault;
	int64_t row;

	/* A fault of the kernel at its own address has nothing to do with the process. */
	if (address >> 56 || (which == FAULT_KERNEL && !address))
		return 0;
	row = get_row(g, event, false);
	if (row < 0)
		return -ENOMEM;
	g->row[row].events++;
	g->totals.faults++;
	fault = (struct kl_growth_fault){ .row = (size_t)row,
					  .page = address >> KL_GROWTH_PAGE_SHIFT,
					  .ms = now_ms(g) };
	if (g->rss < 0)
		return take_page(&taker, &fault, fault.page, false, false) < 0 ? -ENOMEM : 0;
	return kl_growth_faults_add(&process->faults, &fault, error_code, take_page, &taker);
}

/* --------------------------------------------------------------------- calls */

static int move_range(struct kl_growth *g, int32_t pid, const uint64_t argument[], uint64_t to,
		      size_t row)
{
	const uint64_t from = argument[0], old = argument[1], new = argument[2];
	int error = new < old ? free_range(g, pid, from + new, old - new, row) : 0;

	if (error || to == from)
		return error;
	/* What was mapped there before is no longer. */
	error = free_range(g, pid, to, new, row);
	return error ? error :
		       kl_growth_pages_move(&g->pages, pid, from >> KL_GROWTH_PAGE_SHIFT,
					    to >> KL_GROWTH_PAGE_SHIFT,
					    (old < new ? old : new) >> KL_GROWTH_PAGE_SHIFT);
}

/*
 * What was mapped there before is no longer. Unless the caller chose the address, nothing was, and
 * pages there have gone in another way, or were never there.
 */
static int map_range(struct kl_growth *g, int32_t pid, const uint64_t argument[], uint64_t to,
		     size_t row)
{
	return free_range(g, pid, to, argument[1], argument[2] & MAP_FIXED ? row : NOBODY);
}

static int move_break(struct kl_growth *g, int32_t pid, struct process *process, uint64_t to,
		      size_t row)
{
	const uint64_t from = process->heap_end;

	process->heap_end = to;
	return from > to ? free_range(g, pid, to, from - to, row) : 0;
}

static int end_call(struct kl_growth *g, const struct kl_event *event, struct process *process,
		    const struct call *call)
{
	const uint64_t ret = kl_report_number(&g->events, event, call->which + 1, 0);
	const uint64_t *argument = call->argument;
	const int32_t pid = event->task.pid;

	if ((int64_t)ret < 0 && (int64_t)ret >= -4095)
		return 0;
	switch (call->which) {
	case MUNMAP:
		return free_range(g, pid, argument[0], argument[1], call->row);
	case MADVISE:
		if (argument[2] != MADV_DONTNEED && argument[2] != MADV_FREE &&
		    argument[2] != MADV_REMOVE)
			return 0;
		return free_range(g, pid, argument[0], argument[1], call->row);
	case BRK:
		return move_break(g, pid, process, ret, call->row);
	case MREMAP:
		return move_range(g, pid, argument, ret, call->row);
	case MMAP:
		return map_range(g, pid, argument, ret, call->row);
	}
	return 0;
}

static int begin_call(struct kl_growth *g, const struct kl_event *event, int which)
{
	struct call *call = kl_hash_get(&g->calls, (uint64_t)(uint32_t)event->task.tid + 1);
	int64_t row = get_row(g, event, true);

	if (!call || row < 0)
		return -ENOMEM;
	call->which = which;
	call->row = (size_t)row;
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(call->argument); i++)
		call->argument[i] =
			used[which].fields[i] ? kl_report_number(&g->events, event, which, i) : 0;
	return 0;
}

static int finish_call(struct kl_growth *g, const struct kl_event *event, struct process *process,
		       int which)
{
	struct call *call = kl_hash_find(&g->calls, (uint64_t)(uint32_t)event->task.tid + 1);
	const uint64_t before = g->totals.freed;
	int error = 0;

	if (!call || call->which != which - 1)
		return 0;
	error = end_call(g, event, process, call);
	call->which = 0;
	if (g->totals.freed != before) {
		g->row[call->row].events++;
		g->totals.calls++;
	}
	return error;
}

/* -------------------------------------------------------------------- events */

static int add_event(struct kl_growth *g, const struct kl_event *event, struct process *process,
		     int which)
{
	switch (which) {
	case FAULT_USER:
	case FAULT_KERNEL:
		return add_fault(g, event, process, which);
	case EXEC:
		process->heap_end = 0;
		return kl_growth_pages_remove(&g->pages, event->task.pid, 0, UINT64_MAX);
	case EXIT:
		return 0;
	default:
		return (which - ENTRIES) % 2 ? finish_call(g, event, process, which) :
					       begin_call(g, event, which);
	}
}

int kl_growth_add(struct kl_growth *g, const struct kl_item *item)
{
	const struct kl_event *event = item->event;
	struct process *process;
	int which, error = 0;

	if (item->kind == KL_ITEM_LOSS) {
		g->totals.gaps++;
		return 0;
	}
	which = kl_report_event_of(&g->events, event);
	if (which < 0 || !event->task.pid)
		return 0;
	if (!g->first_ns)
		g->first_ns = event->ns;
	if (event->ns > g->last_ns)
		g->last_ns = event->ns;
	process = kl_hash_get(&g->processes, (uint64_t)(uint32_t)event->task.pid + 1);
	if (!process)
		return -ENOMEM;
	if (g->rss >= 0)
		error = kl_growth_faults_settle(&process->faults,
						kl_variable_of(event, g->rss) >>
							KL_GROWTH_PAGE_SHIFT,
						take_page, &(struct taker){ g, event->task.pid });
	return error ? error : add_event(g, event, process, which);
}

/* -------------------------------------------------------------------- result */

static void keep_page(void *context, struct kl_growth_page page)
{
	struct kl_growth *g = context;
	struct kl_growth_source *row = &g->row[page.row - 1];
	const uint64_t ms = now_ms(g) - page.ms;

	row->kept_pages++;
	row->kept_ms += ms;
	row->times.kept[kl_growth_interval_of(g, page.ms)]++;
	if (ms > row->oldest_ms)
		row->oldest_ms = ms;
	g->totals.kept += 1 << KL_GROWTH_PAGE_SHIFT;
}

/* What was computed of a row before is forgotten. */
static void begin_row(struct kl_growth *g, struct kl_growth_source *row)
{
	row->kept_pages = row->unplaced;
	row->kept_ms = row->unplaced * now_ms(g) - row->unplaced_ms;
	row->oldest_ms = 0;
	memcpy(row->times.kept, row->unplaced_times, sizeof(row->times.kept));
	g->totals.kept += row->unplaced << KL_GROWTH_PAGE_SHIFT;
}

void kl_growth_update(struct kl_growth *g, uint64_t now_ns)
{
	if (g->first_ns && now_ns > g->last_ns)
		g->last_ns = now_ns;
	if (g->first_ns)
		kl_growth_interval_of(g, now_ms(g));
	g->totals.processes = g->processes.count;
	g->totals.kept = 0;
	for (size_t i = 0; i < g->n; i++)
		begin_row(g, &g->row[i]);
	kl_growth_pages_visit(&g->pages, keep_page, g);
}

void kl_growth_mark(struct kl_growth *g)
{
	for (size_t i = 0; i < g->n; i++) {
		struct kl_growth_source *row = &g->row[i];

		row->marked_events = row->events;
		row->marked_touched = row->touched;
		row->marked_freed = row->freed;
	}
}

int kl_growth_finish(struct kl_growth *g)
{
	struct process *process = NULL;
	int error = 0;

	while (!error && (process = kl_hash_next(&g->processes, process)))
		error = kl_growth_faults_end(&process->faults, take_page,
					     &(struct taker){ g, (int32_t)(process->key - 1) });
	kl_growth_update(g, g->last_ns);
	return error;
}

const struct kl_growth_totals *kl_growth_totals(const struct kl_growth *g)
{
	return &g->totals;
}

void kl_growth_missing(const struct kl_growth *g, struct kl_buffer *names)
{
	kl_report_missing(&g->events, false, names);
}

/* ------------------------------------------------------------------ creation */

struct kl_growth *kl_growth_create(const struct kl_schema *schema)
{
	struct kl_growth *g = calloc(1, sizeof(*g));

	if (!g) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	g->schema = schema;
	g->stack = kl_schema_find_variable(schema, "ustack");
	g->rss = kl_schema_find_variable(schema, "rss");
	g->totals.sized = g->rss >= 0;
	g->processes.size = sizeof(struct process);
	g->calls.size = sizeof(struct call);
	g->rows_by_key.size = sizeof(struct row_of);
	kl_report_events_init(&g->events, schema, used, EVENTS);
	kl_growth_pages_init(&g->pages, remove_page, g);
	return g;
}

void kl_growth_destroy(struct kl_growth *g)
{
	struct process *process = NULL;

	if (!g)
		return;
	while ((process = kl_hash_next(&g->processes, process)))
		kl_growth_faults_deinit(&process->faults);
	kl_growth_pages_deinit(&g->pages);
	kl_hash_deinit(&g->processes);
	kl_hash_deinit(&g->calls);
	kl_hash_deinit(&g->rows_by_key);
	free(g->row);
	free(g);
}
