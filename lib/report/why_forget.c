// SPDX-License-Identifier: GPL-2.0
/*
 * Drops the beginnings of timelines, so that those of a running session stay small: what
 * happened before a time, and the tasks that had exited by then and are named by nothing later.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../base/base.h"
#include "why.h"

/* A task that has reported its exit runs a little longer. */
#define EXITS_NS 1000000000ull

/* Drop the elements of an array that had ended at @ns; the one of that time stays. */
static void cut(void *array, size_t *n, size_t size, uint64_t ns)
{
	size_t gone = kl_why_count_until(array, *n, size, ns);

	if (gone < 2)
		return;
	gone--;
	*n -= gone;
	memmove(array, (char *)array + gone * size, *n * size);
}

static bool has_gone(const struct kl_why_thread *thread, uint64_t ns)
{
	return thread->is.end_ns && thread->is.end_ns + EXITS_NS < ns;
}

static void cut_thread(struct kl_why_thread *thread, uint64_t ns)
{
	if (thread->is.begin_ns < ns)
		thread->parent = KL_WHY_NO_TASK;
	if (has_gone(thread, ns)) {
		kl_why_free_timeline(thread);
		return;
	}
	cut(thread->segment, &thread->n, sizeof(*thread->segment), ns);
	cut(thread->work, &thread->n_works, sizeof(*thread->work), ns);
	cut(thread->sample, &thread->n_samples, sizeof(*thread->sample), ns);
}

/* Keep the requests since @ns, which are few: most have been answered. */
static int cut_requests(struct kl_hash *requests, uint64_t ns)
{
	struct kl_hash kept = { .size = requests->size };
	const struct kl_why_request *old = NULL;
	struct kl_why_request *new;

	while ((old = kl_hash_next(requests, old))) {
		if (old->by.ns < ns)
			continue;
		new = kl_hash_get(&kept, old->key);
		if (!new) {
			kl_hash_deinit(&kept);
			return -ENOMEM;
		}
		*new = *old;
	}
	kl_hash_deinit(requests);
	*requests = kept;
	return 0;
}

/* ------------------------------------------------------------------- indices */

/*
 * Visit the index of each thread that something names: first to mark these threads, then to
 * replace the indices.
 */
typedef void (*visit_fn)(uint32_t *thread, uint32_t *map);

static void mark(uint32_t *thread, uint32_t *map)
{
	if (*thread != KL_WHY_NO_TASK)
		map[*thread] = 1;
}

static void replace(uint32_t *thread, uint32_t *map)
{
	if (*thread != KL_WHY_NO_TASK)
		*thread = map[*thread];
}

static void visit_cause(struct kl_why_cause *by, visit_fn visit, uint32_t *map)
{
	if (by->ns)
		visit(&by->thread, map);
}

static void visit_requests(const struct kl_hash *requests, visit_fn visit, uint32_t *map)
{
	struct kl_why_request *request = NULL;

	while ((request = kl_hash_next(requests, request)))
		visit_cause(&request->by, visit, map);
}

static void visit_all(struct kl_why *why, visit_fn visit, uint32_t *map)
{
	for (size_t i = 0; i < why->n; i++) {
		struct kl_why_thread *thread = &why->thread[i];

		visit(&thread->parent, map);
		for (size_t at = 0; at < thread->n; at++)
			visit_cause(&thread->segment[at].by, visit, map);
		for (size_t at = 0; at < thread->n_works; at++)
			visit_cause(&thread->work[at].by, visit, map);
	}
	for (uint32_t i = 0; i < why->n_cpus; i++) {
		for (size_t at = 0; at < why->cpu[i].n; at++)
			visit(&why->cpu[i].turn[at].thread, map);
		visit_cause(&why->cpu[i].sender, visit, map);
	}
	visit_requests(&why->packets, visit, map);
	visit_requests(&why->works, visit, map);
}

/* The ID may be that of a later thread already. */
static void drop_number(struct kl_why *why, size_t index)
{
	const uint64_t key = (uint64_t)(uint32_t)why->thread[index].is.tid + 1;
	const struct kl_why_number *entry = kl_hash_find(&why->by_tid, key);

	if (entry && entry->number == index + 1)
		kl_hash_remove(&why->by_tid, key);
}

/* Drop the threads that are marked with 0, and put the others' new indices into @map. */
static void drop_threads(struct kl_why *why, uint32_t *map)
{
	struct kl_why_number *entry = NULL;
	uint32_t n = 0;

	for (size_t i = 0; i < why->n; i++) {
		if (map[i]) {
			map[i] = n++;
			continue;
		}
		drop_number(why, i);
		map[i] = KL_WHY_NO_TASK;
	}
	while ((entry = kl_hash_next(&why->by_tid, entry)))
		if (entry->number)
			entry->number = map[entry->number - 1] + 1;
	for (size_t i = 0; i < why->n; i++)
		if (map[i] != KL_WHY_NO_TASK)
			why->thread[map[i]] = why->thread[i];
	why->n = n;
}

int kl_why_forget(struct kl_why *why, uint64_t ns)
{
	uint32_t *map;
	int error = cut_requests(&why->packets, ns);

	if (!error)
		error = cut_requests(&why->works, ns);
	if (error || !why->n)
		return error;
	map = calloc(why->n, sizeof(*map));
	if (!map)
		return kl_fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; i < why->n_cpus; i++)
		cut(why->cpu[i].turn, &why->cpu[i].n, sizeof(*why->cpu[i].turn), ns);
	for (size_t i = 0; i < why->n; i++) {
		cut_thread(&why->thread[i], ns);
		map[i] = !has_gone(&why->thread[i], ns);
	}
	visit_all(why, mark, map);
	drop_threads(why, map);
	visit_all(why, replace, map);
	free(map);
	return 0;
}
