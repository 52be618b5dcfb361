// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the paths that were taken: executions of blocks are assigned to calls of the function, on
 * a stack of calls for each thread, and become paths. Executions that fit no call are counted
 * separately, never guessed.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "path.h"

/* A call in progress. */
struct call {
	uint64_t number; /* of its path so far */
	uint32_t last; /* most recent block */
};

struct thread {
	uint64_t key;
	struct call *call; /* the innermost is last */
	size_t depth;
	size_t room;
	bool used;
};

struct kl_path_profile {
	const struct kl_paths *paths;
	struct thread *thread; /* hash table by key */
	size_t threads;
	size_t thread_room; /* a power of two, or 0 */
	struct kl_path_row *row; /* hash table; a slot with @count 0 is free */
	size_t rows;
	size_t row_room; /* a power of two, or 0 */
	struct kl_path_row *sorted;
	uint64_t *block; /* executions by block, followed by those that are unexplained */
	uint64_t *edge;
	struct kl_path_sum sum;
};

struct kl_path_profile *kl_path_profile_create(const struct kl_paths *paths)
{
	struct kl_path_profile *p = calloc(1, sizeof(*p));

	if (p) {
		p->paths = paths;
		p->block = calloc(2 * (size_t)paths->n, sizeof(*p->block));
		p->edge = calloc(paths->edges, sizeof(*p->edge));
	}
	if (p && p->block && p->edge)
		return p;
	kl_path_profile_destroy(p);
	kl_fail(ENOMEM, "out of memory");
	return NULL;
}

void kl_path_profile_destroy(struct kl_path_profile *profile)
{
	if (!profile)
		return;
	for (size_t i = 0; i < profile->thread_room; i++)
		free(profile->thread[i].call);
	free(profile->thread);
	free(profile->row);
	free(profile->sorted);
	free(profile->block);
	free(profile->edge);
	free(profile);
}

/* ------------------------------------------------------------------------ tables */

static struct thread *thread_at(struct thread *thread, size_t room, uint64_t key)
{
	size_t i = kl_hash_bytes(KL_HASH_START, &key, sizeof(key)) & (room - 1);

	while (thread[i].used && thread[i].key != key)
		i = (i + 1) & (room - 1);
	return &thread[i];
}

static struct thread *find_thread(struct kl_path_profile *p, uint64_t key)
{
	struct thread *thread;

	if (2 * p->threads >= p->thread_room) {
		size_t room = p->thread_room ? 2 * p->thread_room : 64;
		struct thread *grown = calloc(room, sizeof(*grown));

		if (!grown) {
			kl_fail(ENOMEM, "out of memory");
			return NULL;
		}
		for (size_t i = 0; i < p->thread_room; i++)
			if (p->thread[i].used)
				*thread_at(grown, room, p->thread[i].key) = p->thread[i];
		free(p->thread);
		p->thread = grown;
		p->thread_room = room;
	}
	thread = thread_at(p->thread, p->thread_room, key);
	p->threads += !thread->used;
	thread->used = true;
	thread->key = key;
	return thread;
}

static struct kl_path_row *row_at(struct kl_path_row *row, size_t room,
				  const struct kl_path_row *key)
{
	uint64_t hash = kl_hash_bytes(KL_HASH_START, &key->number, sizeof(key->number));
	size_t i;

	hash = kl_hash_bytes(hash, &key->last, sizeof(key->last));
	i = (hash ^ key->end) & (room - 1);
	while (row[i].count &&
	       (row[i].number != key->number || row[i].last != key->last || row[i].end != key->end))
		i = (i + 1) & (room - 1);
	return &row[i];
}

/* Count a path that has ended. */
static int note_path(struct kl_path_profile *p, const struct call *call, enum kl_path_end end)
{
	struct kl_path_row key = { .number = call->number, .last = call->last, .end = end }, *row;

	if (2 * p->rows >= p->row_room) {
		size_t room = p->row_room ? 2 * p->row_room : 256;
		struct kl_path_row *grown = calloc(room, sizeof(*grown));

		if (!grown)
			return kl_fail(ENOMEM, "out of memory");
		for (size_t i = 0; i < p->row_room; i++)
			if (p->row[i].count)
				*row_at(grown, room, &p->row[i]) = p->row[i];
		free(p->row);
		p->row = grown;
		p->row_room = room;
	}
	row = row_at(p->row, p->row_room, &key);
	p->rows += !row->count;
	key.count = row->count + 1;
	*row = key;
	p->sum.paths++;
	return 0;
}

/* ------------------------------------------------------------------------- calls */

static void begin_path(const struct kl_path_profile *p, struct call *call, uint32_t block)
{
	*call = (struct call){ .number = p->paths->node[block].base, .last = block };
}

/* Follow an edge. */
static int step(struct kl_path_profile *p, struct call *call, uint32_t to)
{
	const struct kl_path_node *node = &p->paths->node[call->last];
	unsigned int k = node->to[0] == to ? 0 : 1;
	int ret = 0;

	p->edge[node->edge + k]++;
	if (node->cut[k]) {
		ret = note_path(p, call, KL_PATH_LOOP);
		begin_path(p, call, to);
	} else {
		call->number += node->add[k];
		call->last = to;
	}
	return ret;
}

static int step_between(struct kl_path_profile *p, struct call *call, const struct kl_path_way *way)
{
	int ret = 0;

	for (uint32_t i = 0; i < way->n && !ret; i++)
		ret = step(p, call, p->paths->between[way->first + i]);
	return ret;
}

/* End the innermost call. */
static int leave(struct kl_path_profile *p, struct thread *thread, enum kl_path_end end)
{
	struct call *call = &thread->call[--thread->depth];
	const struct kl_path_way *way = kl_path_way(p->paths, call->last, KL_PATH_OUTSIDE);
	int ret;

	if (way && way->n == KL_WAY_MANY)
		return note_path(p, call, KL_PATH_UNCLEAR);
	if (!way)
		return note_path(p, call, KL_PATH_LEFT);
	ret = step_between(p, call, way);
	if (ret)
		return ret;
	p->edge[p->paths->node[call->last].edge + p->paths->node[call->last].n]++;
	return note_path(p, call, end);
}

/*
 * If all of a block's successors are unobserved until the exit, it is the last block observed of a
 * call.
 */
static int look_for_end(struct kl_path_profile *p, struct thread *thread)
{
	const struct kl_path_node *node = &p->paths->node[thread->call[thread->depth - 1].last];

	for (uint32_t i = node->way; i < node->way + node->ways; i++)
		if (p->paths->way[i].to != KL_PATH_OUTSIDE)
			return 0;
	return leave(p, thread, KL_PATH_EXIT);
}

/* The innermost call continues at a block. */
static int go_on(struct kl_path_profile *p, struct thread *thread, const struct kl_path_way *way)
{
	struct call *call = &thread->call[thread->depth - 1];
	int ret;

	if (way->n == KL_WAY_MANY) {
		ret = note_path(p, call, KL_PATH_UNCLEAR);
		begin_path(p, call, way->to);
	} else {
		ret = step_between(p, call, way);
		if (!ret)
			ret = step(p, call, way->to);
	}
	return ret ? ret : look_for_end(p, thread);
}

/* It continues in a fixup, or where a jump label now leads. */
static int jump(struct kl_path_profile *p, struct thread *thread, uint32_t block)
{
	struct call *call = &thread->call[thread->depth - 1];
	const struct kl_path_node *node = &p->paths->node[call->last];
	int ret = note_path(p, call, KL_PATH_JUMP);

	if (node->faults)
		p->edge[node->edge + node->n]++;
	p->edge[p->paths->node[block].enter]++;
	begin_path(p, call, block);
	return ret ? ret : look_for_end(p, thread);
}

/* Has a call ended, given that another begins where it could not have called anything? */
static bool has_left(const struct kl_path_profile *p, const struct call *call)
{
	return !p->paths->node[call->last].calls &&
	       kl_path_way(p->paths, call->last, KL_PATH_OUTSIDE);
}

static int enter(struct kl_path_profile *p, struct thread *thread, const struct kl_path_way *way)
{
	struct call *call;
	int ret = 0;

	if (thread->depth && has_left(p, &thread->call[thread->depth - 1]))
		ret = leave(p, thread, KL_PATH_LEFT);
	call = ret ? NULL :
		     kl_array_grow(thread->call, thread->depth, &thread->room, sizeof(*call));
	if (!call)
		return -ENOMEM;
	thread->call = call;
	call = &thread->call[thread->depth++];
	p->sum.entries++;
	p->edge[p->paths->node[0].enter]++;
	if (way->n == KL_WAY_MANY || !way->n) {
		begin_path(p, call, way->to);
		return look_for_end(p, thread);
	}
	/* The start itself is not observed. */
	begin_path(p, call, 0);
	for (uint32_t i = 1; i < way->n && !ret; i++)
		ret = step(p, call, p->paths->between[way->first + i]);
	if (!ret)
		ret = step(p, call, way->to);
	return ret ? ret : look_for_end(p, thread);
}

static int give_up(struct kl_path_profile *p, struct thread *thread, enum kl_path_end end)
{
	int ret = 0;

	while (thread->depth && !ret)
		ret = note_path(p, &thread->call[--thread->depth], end);
	return ret;
}

/* Count the calls, from the innermost outwards, that a block may belong to; at most two. */
static int find_call(const struct kl_path_profile *p, const struct thread *thread, uint32_t block,
		     size_t *depth)
{
	int found = 0;

	for (size_t i = thread->depth; i > 0 && found < 2; i--) {
		if (!kl_path_way(p->paths, thread->call[i - 1].last, block))
			continue;
		if (!found++)
			*depth = i;
		/* A call that cannot have been left rules out all calls outside it. */
		if (!kl_path_way(p->paths, thread->call[i - 1].last, KL_PATH_OUTSIDE))
			break;
	}
	return found;
}

int kl_path_profile_add(struct kl_path_profile *profile, uint64_t thread, uint32_t block)
{
	struct kl_path_profile *p = profile;
	const struct kl_paths *paths = p->paths;
	const struct kl_path_way *way;
	struct thread *t;
	size_t depth = 0;
	int found, ret = 0;

	if (block >= paths->n || !paths->node[block].seen)
		return kl_fail(EINVAL, "block %u is not instrumented", block);
	t = find_thread(p, thread);
	if (!t)
		return -ENOMEM;
	p->sum.passes++;
	p->block[block]++;
	way = kl_path_way(paths, paths->n, block);
	found = find_call(p, t, block, &depth);
	p->sum.ambiguous += found + !!way > 1;
	if (found) {
		while (t->depth > depth && !ret)
			ret = leave(p, t, KL_PATH_LEFT);
		way = kl_path_way(paths, t->call[depth - 1].last, block);
		return ret ? ret : go_on(p, t, way);
	}
	if (way)
		return enter(p, t, way);
	if (t->depth && paths->node[block].entered)
		return jump(p, t, block);
	p->sum.unexplained++;
	p->block[paths->n + block]++;
	return give_up(p, t, KL_PATH_LOST);
}

static int give_up_all(struct kl_path_profile *p, enum kl_path_end end)
{
	int ret = 0;

	for (size_t i = 0; i < p->thread_room && !ret; i++)
		ret = give_up(p, &p->thread[i], end);
	return ret;
}

int kl_path_profile_lose(struct kl_path_profile *profile)
{
	profile->sum.losses++;
	return give_up_all(profile, KL_PATH_LOST);
}

int kl_path_profile_end(struct kl_path_profile *profile)
{
	return give_up_all(profile, KL_PATH_OPEN);
}

/* ----------------------------------------------------------------------- queries */

static int compare_rows(const void *left, const void *right)
{
	const struct kl_path_row *a = left, *b = right;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->last != b->last)
		return a->last < b->last ? -1 : 1;
	return a->end - b->end;
}

const struct kl_path_row *kl_path_profile_rows(struct kl_path_profile *profile, size_t *n)
{
	struct kl_path_profile *p = profile;
	struct kl_path_row *sorted = reallocarray(p->sorted, p->rows + 1, sizeof(*sorted));

	*n = 0;
	if (!sorted) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	p->sorted = sorted;
	for (size_t i = 0; i < p->row_room; i++)
		if (p->row[i].count)
			sorted[(*n)++] = p->row[i];
	qsort(sorted, *n, sizeof(*sorted), compare_rows);
	return sorted;
}

struct kl_path_sum kl_path_profile_sum(const struct kl_path_profile *profile)
{
	return profile->sum;
}

const uint64_t *kl_path_profile_blocks(const struct kl_path_profile *profile, bool unexplained)
{
	return profile->block + (unexplained ? profile->paths->n : 0);
}

const uint64_t *kl_path_profile_edges(const struct kl_path_profile *profile)
{
	return profile->edge;
}
