// SPDX-License-Identifier: GPL-2.0
/* The rows of the report on growth: sources of pages with the same stack, function or process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "growth.h"

/* Libraries and functions that allocate for others. */
static bool is_allocator(const struct kl_frame *frame)
{
	static const char *const objects[] = { "libc.so.6",  "libc-2.",	    "ld-linux",
					       "libstdc++",  "libjemalloc", "libtcmalloc",
					       "libmimalloc" };
	static const char *const names[] = { "runtime.", "__rust_", "__rdl_",	    "alloc::",
					     "malloc",	 "calloc",  "operator new", "realloc" };
	const char *object = frame->object ? kl_file_of(frame->object) : "";
	const char *name = frame->name ? frame->name : frame->symbol;

	for (size_t i = 0; i < KL_ARRAY_SIZE(objects); i++)
		if (!strncmp(object, objects[i], strlen(objects[i])))
			return true;
	for (size_t i = 0; name && i < KL_ARRAY_SIZE(names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static const struct kl_frame *caller_of_allocator(const struct kl_growth *g, uint32_t id)
{
	const struct kl_stack *stack = kl_stacks_get(kl_schema_stacks(g->schema), id);

	for (unsigned int i = 0; stack && i < stack->n; i++)
		if (!is_allocator(&stack->frame[i]))
			return &stack->frame[i];
	return stack && stack->n ? &stack->frame[0] : NULL;
}

static void name_row(const struct kl_growth *g, struct kl_growth_row *to,
		     const struct kl_growth_source *row)
{
	const struct kl_frame *frame = caller_of_allocator(g, row->stack);

	to->stack = row->stack;
	to->function = frame && frame->name   ? frame->name :
		       frame && frame->symbol ? frame->symbol :
						"unknown";
	to->object = frame ? frame->object : NULL;
	to->pid = row->task.pid;
	memcpy(to->comm, row->task.comm, sizeof(to->comm));
}

/* Rows with the same key are neighbors after sorting. */
static int compare_keys(const struct kl_growth_row *x, const struct kl_growth_row *y,
			enum kl_growth_key key)
{
	int order;

	if (key == KL_GROWTH_BY_STACK)
		return x->stack < y->stack ? -1 : x->stack > y->stack;
	if (key == KL_GROWTH_BY_PROCESS)
		return x->pid < y->pid ? -1 : x->pid > y->pid;
	order = strcmp(x->function, y->function);
	return order ? order : strcmp(x->object ? x->object : "", y->object ? y->object : "");
}

static int by_stack(const void *x, const void *y)
{
	return compare_keys(x, y, KL_GROWTH_BY_STACK);
}

static int by_function(const void *x, const void *y)
{
	return compare_keys(x, y, KL_GROWTH_BY_FUNCTION);
}

static int by_process(const void *x, const void *y)
{
	return compare_keys(x, y, KL_GROWTH_BY_PROCESS);
}

static int by_bytes(const void *a, const void *b)
{
	const struct kl_growth_row *x = a, *y = b;

	if (x->kept != y->kept)
		return x->kept < y->kept ? 1 : -1;
	if (x->freed != y->freed)
		return x->freed < y->freed ? 1 : -1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void merge(struct kl_growth_row *to, const struct kl_growth_row *row, enum kl_growth_key key)
{
	const uint64_t kept = to->kept + row->kept;

	if (kept)
		to->age_ns = (uint64_t)(((double)to->age_ns * (double)to->kept +
					 (double)row->age_ns * (double)row->kept) /
					(double)kept);
	to->events += row->events;
	to->touched += row->touched;
	to->freed += row->freed;
	to->kept = kept;
	to->new_events += row->new_events;
	to->new_touched += row->new_touched;
	to->new_freed += row->new_freed;
	kl_growth_times_add(&to->times, &row->times);
	if (row->oldest_ns > to->oldest_ns)
		to->oldest_ns = row->oldest_ns;
	if (key != KL_GROWTH_BY_STACK && row->stack != to->stack)
		to->stack = 0;
	if (row->pid != to->pid) {
		to->pid = 0;
		to->comm[0] = 0;
	}
}

struct kl_growth_row *kl_growth_rows(const struct kl_growth *g, enum kl_growth_key key, bool calls,
				     size_t *n)
{
	static int (*const orders[KL_GROWTH_KEYS])(const void *, const void *) = {
		[KL_GROWTH_BY_STACK] = by_stack,
		[KL_GROWTH_BY_FUNCTION] = by_function,
		[KL_GROWTH_BY_PROCESS] = by_process,
	};
	struct kl_growth_row *to = calloc(g->n + 1, sizeof(*to));
	size_t all = 0;

	*n = 0;
	if (!to) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < g->n; i++) {
		const struct kl_growth_source *row = &g->row[i];

		if (row->calls != calls || !(row->touched || row->freed))
			continue;
		name_row(g, &to[all], row);
		to[all].events = row->events;
		to[all].touched = row->touched;
		to[all].freed = row->freed;
		to[all].kept = row->kept_pages << KL_GROWTH_PAGE_SHIFT;
		to[all].oldest_ns = row->oldest_ms * KL_GROWTH_NS_PER_MS;
		to[all].age_ns =
			row->kept_pages ? row->kept_ms * KL_GROWTH_NS_PER_MS / row->kept_pages : 0;
		to[all].new_events = row->events - row->marked_events;
		to[all].new_touched = row->touched - row->marked_touched;
		to[all].new_freed = row->freed - row->marked_freed;
		to[all].times = row->times;
		all++;
	}
	qsort(to, all, sizeof(*to), orders[key]);
	for (size_t i = 0; i < all; i++) {
		if (*n && !compare_keys(&to[*n - 1], &to[i], key))
			merge(&to[*n - 1], &to[i], key);
		else
			to[(*n)++] = to[i];
	}
	qsort(to, *n, sizeof(*to), by_bytes);
	return to;
}
