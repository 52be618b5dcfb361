// SPDX-License-Identifier: GPL-2.0
/*
 * The state of a timeline at a point in time: spans, system calls and requests of disks that are in
 * progress. A timeline of a part of the trace begins with it, and so has no gaps.
 */
#include <errno.h>
#include <stdlib.h>

#include "timeline.h"

/* @by: ID of the thread, or what the span has if it is no thread */
struct seed_span {
	enum kl_track_kind kind;
	uint64_t id;
	struct kl_span span;
};

/* A thread in a system call. */
struct seed_call {
	int32_t tid;
	int32_t syscall;
};

/* Numbers of names and threads are those of the timeline that it was taken from. */
struct kl_seed {
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t records;
	struct seed_span *span;
	size_t n_spans;
	struct seed_call *call;
	size_t n_calls;
	struct kl_request *request;
	size_t n_requests;
};

static size_t count_open(const struct kl_timeline *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->counts.tracks; i++)
		n += t->track[i]->open;
	return n;
}

static size_t count_calls(const struct kl_timeline *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_threads; i++)
		n += t->thread[i]->syscall >= 0;
	return n;
}

static void copy_all(const struct kl_timeline *t, struct kl_seed *seed)
{
	const struct kl_request *request = NULL;

	for (size_t i = 0; i < t->counts.tracks; i++)
		if (t->track[i]->open)
			seed->span[seed->n_spans++] = (struct seed_span){ t->track[i]->kind,
									  t->track[i]->id,
									  t->track[i]->now };
	for (size_t i = 0; i < t->n_threads; i++)
		if (t->thread[i]->syscall >= 0)
			seed->call[seed->n_calls++] =
				(struct seed_call){ t->thread[i]->tid, t->thread[i]->syscall };
	while ((request = kl_hash_next(&t->requests.by_place, request)))
		seed->request[seed->n_requests++] = *request;
}

struct kl_seed *kl_seed_take(const struct kl_timeline *t)
{
	struct kl_seed *seed = calloc(1, sizeof(*seed));

	if (!seed)
		return NULL;
	seed->first_ns = t->first_ns;
	seed->last_ns = t->last_ns;
	seed->records = t->counts.records;
	seed->span = calloc(count_open(t) + 1, sizeof(*seed->span));
	seed->call = calloc(count_calls(t) + 1, sizeof(*seed->call));
	seed->request = calloc(t->requests.by_place.count + 1, sizeof(*seed->request));
	if (seed->span && seed->call && seed->request) {
		copy_all(t, seed);
		return seed;
	}
	kl_seed_free(seed);
	return NULL;
}

void kl_seed_free(struct kl_seed *seed)
{
	if (!seed)
		return;
	free(seed->span);
	free(seed->call);
	free(seed->request);
	free(seed);
}

/* A thread as the other timeline knows it. */
static struct kl_timeline_thread *copy_thread(struct kl_timeline *t, const struct kl_timeline *from,
					      int32_t tid)
{
	const struct kl_timeline_thread *known = kl_timeline_find_thread(from, tid);
	struct kl_timeline_thread *thread =
		kl_timeline_get_thread(t, tid, known ? known->pid : 0,
				       known ? from->name[known->name] : NULL);

	if (thread && known)
		thread->followed |= known->followed;
	return thread;
}

/* Is `by` of a span a thread's number, plus 1? Of a thread that runs it is the CPU's. */
static bool is_by_thread(enum kl_track_kind kind, const struct kl_span *span)
{
	return span->by && (kind == KL_TRACK_CPU || kind == KL_TRACK_DISK ||
			    (kind == KL_TRACK_THREAD && span->class == KL_SPAN_READY));
}

static int apply_span(const struct seed_span *open, const struct kl_timeline *from,
		      struct kl_timeline *t)
{
	const bool of_thread = open->kind == KL_TRACK_THREAD || open->kind == KL_TRACK_SYSCALL ||
			       open->kind == KL_TRACK_EVENT;
	struct kl_timeline_thread *thread = NULL, *by = NULL;
	int64_t name = kl_timeline_name(t, from->name[open->span.name]);
	struct kl_track *track;

	if (of_thread)
		thread = copy_thread(t, from, (int32_t)open->id);
	if (name < 0 || (of_thread && !thread))
		return -ENOMEM;
	track = thread ? kl_timeline_thread_track(t, thread, open->kind) :
			 kl_timeline_track(t, open->kind, open->id);
	if (!track)
		return -ENOMEM;
	track->now = open->span;
	track->now.name = (uint32_t)name;
	track->open = true;
	if (!is_by_thread(open->kind, &open->span))
		return 0;
	by = copy_thread(t, from, from->thread[open->span.by - 1]->tid);
	if (!by)
		return -ENOMEM;
	track->now.by = by->number + 1;
	return 0;
}

int kl_seed_apply(const struct kl_seed *seed, const struct kl_timeline *from, struct kl_timeline *t)
{
	struct kl_timeline_thread *thread;
	struct kl_request *request;
	int error = 0;

	t->first_ns = seed->first_ns;
	t->last_ns = seed->last_ns;
	t->counts.records = seed->records;
	for (size_t i = 0; i < seed->n_spans && !error; i++)
		error = apply_span(&seed->span[i], from, t);
	for (size_t i = 0; i < seed->n_calls && !error; i++) {
		thread = copy_thread(t, from, seed->call[i].tid);
		if (thread)
			thread->syscall = seed->call[i].syscall;
		error = thread ? 0 : -ENOMEM;
	}
	t->requests.by_place.size = sizeof(*request);
	for (size_t i = 0; i < seed->n_requests && !error; i++) {
		request = kl_hash_get(&t->requests.by_place, seed->request[i].key);
		if (request)
			*request = seed->request[i];
		error = request ? 0 : -ENOMEM;
	}
	return error;
}
