// SPDX-License-Identifier: GPL-2.0
/* What a page requests of an index, as JSON. */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/internal.h>
#include "../../format/print.h"
#include "index.h"

#define INTERVALS 512
#define CPUS_MAX 4096

/* ------------------------------------------------------------------- the trace */

static void add_state(const struct kl_timeline_index *index, struct kl_buffer *to)
{
	const struct kl_timeline_progress state = kl_timeline_index_progress(index);

	kl_buffer_printf(to,
			 "\"records\":%llu,\"total\":%llu,\"done\":%llu,\"ns\":%llu,"
			 "\"begin\":\"%llu\",\"complete\":%s",
			 (unsigned long long)state.records, (unsigned long long)state.total,
			 (unsigned long long)state.done_ns, (unsigned long long)state.end_ns,
			 (unsigned long long)state.begin_ns, state.complete ? "true" : "false");
}

int kl_timeline_index_state(const struct kl_timeline_index *index, struct kl_buffer *to)
{
	kl_buffer_add_string(to, "{");
	add_state(index, to);
	kl_buffer_add_string(to, "}");
	return to->error ? -ENOMEM : 0;
}

/**
 * struct density - records of each CPU in each interval
 * @begin_ns, @ns: wall time and length of all
 */
struct density {
	uint64_t begin_ns;
	uint64_t ns;
	uint32_t n_cpus;
	double (*count)[INTERVALS];
	bool failed;
};

/* A time as a number of intervals. */
static double place_of(const struct density *d, uint64_t ns)
{
	const uint64_t since = ns > d->begin_ns ? ns - d->begin_ns : 0;
	const double at = (double)since / (double)d->ns * INTERVALS;

	return at < INTERVALS ? at : INTERVALS;
}

static bool make_room(struct density *d, uint32_t cpu)
{
	double(*grown)[INTERVALS];

	if (cpu < d->n_cpus)
		return true;
	grown = reallocarray(d->count, cpu + 1, sizeof(*grown));
	d->failed |= !grown;
	if (!grown)
		return false;
	d->count = grown;
	for (; d->n_cpus <= cpu; d->n_cpus++)
		for (size_t i = 0; i < INTERVALS; i++)
			grown[d->n_cpus][i] = 0;
	return true;
}

/* The records of a block are shared out evenly over its time. */
static void add_block(void *context, const struct kl_trace_block *block)
{
	struct density *d = context;
	const double from = place_of(d, block->begin_ns), to = place_of(d, block->end_ns);

	if (block->cpu >= CPUS_MAX || !make_room(d, block->cpu))
		return;
	for (size_t i = (size_t)from; i < INTERVALS && (double)i < to; i++) {
		const double begin = (double)i > from ? (double)i : from;
		const double end = (double)i + 1 < to ? (double)i + 1 : to;

		d->count[block->cpu][i] += (double)block->records * (end - begin) / (to - from);
	}
}

static void add_density(const struct kl_timeline_index *index, struct kl_buffer *to)
{
	const struct kl_timeline_progress state = kl_timeline_index_progress(index);
	struct density d = { .begin_ns = state.begin_ns, .ns = state.end_ns };

	if (d.ns && kl_trace_blocks(index->trace, add_block, &d))
		d.n_cpus = 0;
	if (d.failed)
		to->error = -ENOMEM;
	kl_buffer_add_string(to, ",\"density\":[");
	for (uint32_t cpu = 0; cpu < d.n_cpus; cpu++) {
		kl_buffer_add_string(to, cpu ? ",[" : "[");
		for (size_t i = 0; i < INTERVALS; i++)
			kl_buffer_printf(to, "%s%.0f", i ? "," : "", d.count[cpu][i]);
		kl_buffer_add_string(to, "]");
	}
	kl_buffer_add_string(to, "]");
	free(d.count);
}

int kl_timeline_index_about(const struct kl_timeline_index *index, const char *title,
			    struct kl_buffer *to)
{
	kl_buffer_add_string(to, "{\"served\":true,");
	kl_timeline_add_trace(to, kl_trace_about(index->trace), title);
	kl_buffer_add_string(to, ",");
	add_state(index, to);
	add_density(index, to);
	kl_buffer_add_string(to, "}");
	return to->error ? -ENOMEM : 0;
}

/* --------------------------------------------------------------------- records */

struct records {
	const struct kl_timeline_index *index;
	struct kl_buffer *to;
	struct kl_buffer text; /* scratch */
	uint64_t left;
	bool any;
};

int kl_index_add_record(const struct kl_timeline_index *index, const struct kl_event *event,
			struct kl_buffer *to, struct kl_buffer *scratch)
{
	kl_buffer_printf(to, "%llu,%u,%d,%d,",
			 (unsigned long long)kl_timeline_time(index->overview, event->ns),
			 event->cpu, event->task.tid, event->task.pid);
	kl_timeline_add_string(to, event->task.comm);
	kl_buffer_add_string(to, ",");
	kl_timeline_add_string(to, event->event_class->name);
	kl_buffer_add_string(to, ",");
	kl_buffer_reset(scratch);
	kl_print_event_fields(scratch, event);
	kl_buffer_add_char(scratch, 0);
	if (scratch->error)
		return -ENOMEM;
	kl_timeline_add_string(to, scratch->data);
	kl_buffer_add_string(to, "]");
	return to->error ? -ENOMEM : 0;
}

static int add_record(void *context, const struct kl_event *event, uint64_t number)
{
	struct records *r = context;

	int error;

	(void)number;
	kl_buffer_add_string(r->to, r->any ? ",\n[" : "[");
	r->any = true;
	error = kl_index_add_record(r->index, event, r->to, &r->text);
	return error ? error : !--r->left;
}

int kl_timeline_index_records(struct kl_timeline_index *index, uint64_t number, uint64_t n,
			      struct kl_buffer *to)
{
	struct records r = { .index = index, .to = to, .left = n };
	int ret = 0;

	kl_buffer_add_string(to, "[");
	if (n)
		ret = kl_timeline_index_read(index, number, add_record, &r);
	kl_buffer_add_string(to, "]");
	kl_buffer_deinit(&r.text);
	return ret < 0 ? ret : to->error ? -ENOMEM : 0;
}
