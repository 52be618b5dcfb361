// SPDX-License-Identifier: GPL-2.0
/*
 * Explains waits of threads, as kl_why_explain() does: those that a served page requests, and for a
 * page in a file the longest ones of each thread.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "index.h"

#define RECORDS_MAX 1000000 /* of a trace whose waits are explained in a file */
#define WAITS_MAX 4000 /* that are */
#define WAITS_OF_THREAD 20
#define BYTES_MAX (6u << 20) /* of explanations, before they are compressed */
#define NODES_MAX 400 /* of an explanation */
#define LEAST_PART 500 /* smaller parts of the whole are left out */

#define READ_MAX 1500000 /* records for one that is requested */
#define READ_AFTER 50000 /* of them after the wait */

/* ------------------------------------------------------------------ as JSON */

struct output {
	struct kl_buffer *to;
	uint64_t first_ns;
	uint64_t least_ns;
	unsigned int left;
};

static void write_node(struct output *o, const struct kl_why_node *node)
{
	const uint64_t at = node->at_ns > o->first_ns ? node->at_ns - o->first_ns : 0;
	bool any = false;

	kl_buffer_printf(o->to, "{\"kind\":\"%s\",\"ns\":%llu,\"at\":%llu,\"n\":%llu,\"text\":",
			 kl_why_kind_name(node->kind), (unsigned long long)node->ns,
			 (unsigned long long)at, (unsigned long long)node->count);
	kl_timeline_add_string(o->to, node->text);
	if (node->at_tid)
		kl_buffer_printf(o->to, ",\"tid\":%d", node->at_tid);
	if (node->uncertain_ns)
		kl_buffer_printf(o->to, ",\"uncertain\":%llu",
				 (unsigned long long)node->uncertain_ns);
	kl_buffer_add_string(o->to, ",\"parts\":[");
	for (size_t i = 0; i < node->n && o->left; i++) {
		if (node->child[i]->ns < o->least_ns)
			continue;
		o->left--;
		kl_buffer_add_string(o->to, any ? "," : "");
		any = true;
		write_node(o, node->child[i]);
	}
	kl_buffer_add_string(o->to, "]}");
}

void kl_chain_write(const struct kl_why_node *node, uint64_t first_ns, struct kl_buffer *to)
{
	struct output output = {
		.to = to, .first_ns = first_ns, .least_ns = node->ns / LEAST_PART, .left = NODES_MAX
	};

	write_node(&output, node);
}

int64_t kl_chain_task(struct kl_why *why, int32_t tid, uint64_t ns)
{
	size_t n;
	const struct kl_why_task *task = kl_why_tasks(why, &n);
	int64_t found = -1;

	/* An ID may be used again. */
	for (size_t i = 0; i < n; i++)
		if (task[i].tid == tid && (found < 0 || task[i].begin_ns <= ns))
			found = (int64_t)i;
	return found;
}

/* ---------------------------------------------------------------- of a file */

int kl_chains_add(struct kl_timeline *t, const struct kl_event *event)
{
	if (t->counts.records <= RECORDS_MAX)
		return kl_why_add(t->why, event);
	kl_why_destroy(t->why);
	t->why = NULL;
	return 0;
}

struct wait {
	uint64_t begin;
	uint64_t end;
	int32_t tid;
};

static int by_length(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;
	const uint64_t of_x = x->end - x->begin, of_y = y->end - y->begin;

	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool is_wait(const struct kl_span *span)
{
	return span->n == 1 && span->end > span->begin &&
	       (span->class == KL_SPAN_READY || span->class == KL_SPAN_ASLEEP ||
		span->class == KL_SPAN_BLOCKED);
}

/* Append the longest waits of a track. @all: has room for them and all of its others */
static size_t add_waits(const struct kl_track *track, struct wait *all, size_t n)
{
	size_t of_track = 0;

	for (size_t i = 0; i < track->n; i++)
		if (is_wait(&track->span[i]))
			all[n + of_track++] = (struct wait){ track->span[i].begin,
							     track->span[i].end,
							     (int32_t)track->id };
	qsort(all + n, of_track, sizeof(*all), by_length);
	return n + (of_track < WAITS_OF_THREAD ? of_track : WAITS_OF_THREAD);
}

/* The waits to explain, longest first. NULL: out of memory */
static struct wait *choose(const struct kl_timeline *t, size_t *n)
{
	size_t most = 0, tracks = 0;
	struct wait *all;

	for (size_t i = 0; i < t->counts.tracks; i++) {
		if (t->track[i]->kind != KL_TRACK_THREAD)
			continue;
		tracks++;
		most = t->track[i]->n > most ? t->track[i]->n : most;
	}
	all = calloc(tracks * WAITS_OF_THREAD + most + 1, sizeof(*all));
	*n = 0;
	for (size_t i = 0; all && i < t->counts.tracks; i++)
		if (t->track[i]->kind == KL_TRACK_THREAD)
			*n = add_waits(t->track[i], all, *n);
	if (all)
		qsort(all, *n, sizeof(*all), by_length);
	if (*n > WAITS_MAX)
		*n = WAITS_MAX;
	return all;
}

static int write_wait(struct kl_timeline *t, const struct wait *wait, struct kl_buffer *to)
{
	const int64_t task = kl_chain_task(t->why, wait->tid, t->first_ns + wait->begin);
	struct kl_why_node *node;

	if (task < 0)
		return 0;
	node = kl_why_explain(t->why, (size_t)task, t->first_ns + wait->begin,
			      t->first_ns + wait->end);
	if (!node)
		return -ENOMEM;
	kl_buffer_printf(to, "%s\"%d %llu\":", to->length > 1 ? ",\n" : "", wait->tid,
			 (unsigned long long)wait->begin);
	kl_chain_write(node, t->first_ns, to);
	kl_why_node_destroy(node);
	return 0;
}

int kl_chains_write(struct kl_timeline *t, struct kl_buffer *to)
{
	size_t n;
	struct wait *wait = choose(t, &n);
	int error = wait ? 0 : -ENOMEM;

	kl_buffer_add_string(to, "{");
	for (size_t i = 0; i < n && !error && to->length < BYTES_MAX; i++)
		error = write_wait(t, &wait[i], to);
	kl_buffer_add_string(to, "}");
	free(wait);
	return error ? error : to->error ? -ENOMEM : 0;
}

/* --------------------------------------------------------- of a served page */

struct reading {
	struct kl_why *why;
	uint64_t to_ns; /* wall time */
	uint64_t left; /* records to read after that */
};

static int add_event(void *context, const struct kl_item *item, uint64_t number)
{
	struct reading *r = context;
	int error;

	(void)number;
	if (item->kind != KL_ITEM_EVENT)
		return 0;
	error = kl_why_add(r->why, item->event);
	return error ? error : item->event->ns > r->to_ns && !r->left--;
}

static int write_answer(struct kl_timeline_index *index, struct kl_why *why, int32_t tid,
			uint64_t from_ns, uint64_t to_ns, struct kl_buffer *to)
{
	const uint64_t first_ns = index->overview->first_ns;
	const int64_t task = kl_chain_task(why, tid, from_ns);
	struct kl_why_node *node;

	if (task < 0)
		return kl_fail(EINVAL, "the trace has no switches or wakeups of %d", tid);
	node = kl_why_explain(why, (size_t)task, from_ns, to_ns);
	if (!node)
		return -ENOMEM;
	kl_chain_write(node, first_ns, to);
	kl_why_node_destroy(node);
	return 0;
}

int kl_timeline_index_why(struct kl_timeline_index *index, int32_t tid, uint64_t from_ns,
			  uint64_t to_ns, struct kl_buffer *to)
{
	const uint64_t first_ns = index->overview->first_ns;
	const int64_t last = kl_timeline_index_number(index, to_ns);
	const uint64_t before = READ_MAX - READ_AFTER;
	const struct kl_checkpoint *at;
	struct reading r = { .to_ns = first_ns + to_ns, .left = READ_AFTER };
	int ret;

	if (last < 0)
		return (int)last;
	if (!index->complete && to_ns > index->overview->last_ns)
		return kl_fail(EINVAL, "the trace has not been read up to here yet");
	at = kl_checkpoint_of(index, (uint64_t)last > before ? (uint64_t)last - before : 0);
	if (at->ns > from_ns)
		return kl_fail(EINVAL, "there are too many records in this wait");
	r.why = kl_why_create(kl_trace_schema(index->trace));
	if (!r.why)
		return -ENOMEM;
	ret = kl_index_visit(index, at->place, at->records, add_event, &r);
	kl_buffer_printf(to, "{\"complete\":%s,\"interrupts\":%s,\"node\":",
			 at->records ? "false" : "true",
			 kl_why_knows_interrupts(r.why) ? "true" : "false");
	if (ret >= 0)
		ret = write_answer(index, r.why, tid, first_ns + from_ns, first_ns + to_ns, to);
	kl_buffer_add_string(to, "}");
	kl_why_destroy(r.why);
	return ret < 0 ? ret : to->error ? -ENOMEM : 0;
}
