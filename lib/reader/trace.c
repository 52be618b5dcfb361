// SPDX-License-Identifier: GPL-2.0
/*
 * A trace opened for reading: either a directory or pack, whose streams a heap merges, or a BER
 * file, which is already in order and whose reader does all the work.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <kernlens/address_store.h>
#include <kernlens/ber_reader.h>
#include <kernlens/cgroup_store.h>
#include <kernlens/compress.h>
#include <kernlens/error.h>
#include <kernlens/stack_store.h>
#include <kernlens/trace.h>
#include "../base/base.h"
#include "trace.h"

#define METADATA_BYTES_MAX (16u << 20)
#define MANIFEST_BYTES_MAX (1u << 30) /* 16 million blocks */
#define NAMES_BYTES_MAX (1u << 30)

static int read_metadata(struct kl_trace *trace)
{
	uint8_t *text;
	size_t size;
	int ret = kl_files_read(&trace->files, "metadata", METADATA_BYTES_MAX, &text, &size);

	if (ret)
		return ret;
	if (!text)
		return kl_fail(EINVAL, "metadata: the file is empty");
	trace->schema = kl_metadata_parse((const char *)text, size, &trace->info);
	if (!trace->schema)
		ret = -errno;
	free(text);
	return ret;
}

/* @file: NULL: the file is missing */
static int add_stream(struct kl_trace *trace, const struct kl_stream_file *file, uint32_t cpu)
{
	struct kl_stream *streams, *stream;
	int ret = 0;

	streams = kl_array_grow(trace->streams, trace->n_streams, &trace->streams_capacity,
				sizeof(*streams));
	if (!streams)
		return -ENOMEM;
	trace->streams = streams;
	stream = &streams[trace->n_streams];
	*stream = (struct kl_stream){ .file.fd = -1, .cpu = cpu };
	if (file)
		ret = kl_files_stream(&trace->files, file, &stream->file);
	else
		trace->state.streams_missing++;
	if (!ret)
		trace->n_streams++;
	return ret;
}

/* Add CPUs that, by the manifest, have stored blocks or counted losses. */
static int add_missing_streams(struct kl_trace *trace)
{
	const struct kl_manifest *manifest = &trace->manifest;
	int ret = 0;

	for (size_t i = 0; i < manifest->n_cpus && !ret; i++) {
		const struct kl_manifest_cpu *cpu = &manifest->cpus[i];
		bool there = false;

		for (size_t k = 0; k < trace->n_files && !there; k++)
			there = trace->streams[k].cpu == cpu->cpu;
		if (!there)
			ret = add_stream(trace, NULL, cpu->cpu);
		/* It lost records, but no block was stored, so no stream is missing. */
		if (!there && !cpu->n_blocks)
			trace->state.streams_missing--;
	}
	return ret;
}

/* Read the list of what was recorded. Traces of other writers have none. */
static int open_manifest(struct kl_trace *trace)
{
	struct kl_manifest *manifest = &trace->manifest;
	int ret = kl_files_read(&trace->files, KL_MANIFEST_FILE, MANIFEST_BYTES_MAX,
				&trace->manifest_file, &trace->manifest_bytes);

	if (ret == -ENOENT || ret == -ENOTDIR) {
		kl_error_clear();
		return 0;
	}
	if (!ret)
		ret = kl_manifest_read(manifest, trace->manifest_file, trace->manifest_bytes,
				       trace->info.uuid);
	/* The streams can be read without it. */
	if (ret == -EINVAL) {
		kl_error_clear();
		trace->state.manifest_damaged = 1;
		return 0;
	}
	if (ret)
		return ret;
	trace->state.manifest = true;
	trace->state.finished = manifest->finished;
	trace->state.manifest_damaged = manifest->damaged;
	return 0;
}

/* The session's start, if the manifest has it. */
static uint64_t began_at(const struct kl_manifest *manifest)
{
	if (manifest->begin)
		return manifest->begin->begin;
	return manifest->end ? manifest->end->begin : 0;
}

static int compare_streams(const void *a, const void *b)
{
	const struct kl_stream *first = a, *second = b;

	return first->cpu < second->cpu ? -1 : first->cpu > second->cpu;
}

static int open_streams(struct kl_trace *trace)
{
	struct kl_stream_file *files;
	size_t n;
	int ret = kl_files_streams(&trace->files, &files, &n);

	for (size_t i = 0; i < n && !ret; i++)
		ret = add_stream(trace, &files[i], files[i].cpu);
	free(files);
	trace->n_files = trace->n_streams;
	if (!ret)
		ret = add_missing_streams(trace);
	trace->state.streams = trace->n_streams;
	if (trace->n_streams)
		qsort(trace->streams, trace->n_streams, sizeof(*trace->streams), compare_streams);
	trace->heap = calloc(trace->n_streams + 1, sizeof(*trace->heap));
	if (!trace->heap)
		return kl_fail(ENOMEM, "out of memory");
	return ret;
}

void kl_trace_demangle(struct kl_trace *trace, bool wanted)
{
	if (trace->ber)
		kl_ber_reader_demangle(trace->ber, wanted);
	else if (trace->stacks)
		kl_stacks_demangle(trace->stacks, wanted);
}

/* Read a file of names. Returns 1, 0 if the trace has none, or a negative errno. */
static int read_names(const struct kl_trace *trace, const char *name, uint8_t **text, size_t *size)
{
	int ret = kl_files_read(&trace->files, name, NAMES_BYTES_MAX, text, size);

	if (ret != -ENOENT && ret != -ENOTDIR)
		return ret ? ret : 1;
	kl_error_clear();
	return 0;
}

/* Most traces have no stacks. */
static int open_stacks(struct kl_trace *trace)
{
	uint8_t *text;
	size_t size;
	int ret = read_names(trace, KL_STACKS_FILE, &text, &size);

	if (ret > 0)
		trace->stacks = kl_stacks_parse(text ? (char *)text : "", size);
	ret = ret > 0 && !trace->stacks ? -errno : ret;
	free(text);
	kl_schema_set_stacks(trace->schema, trace->stacks);
	return ret;
}

static int open_addresses(struct kl_trace *trace)
{
	uint8_t *text;
	size_t size;
	int ret = read_names(trace, KL_ADDRESSES_FILE, &text, &size);

	if (ret > 0)
		trace->addresses = kl_addresses_parse(text ? (char *)text : "", size);
	ret = ret > 0 && !trace->addresses ? -errno : ret;
	free(text);
	kl_schema_set_addresses(trace->schema, trace->addresses);
	return ret;
}

static int open_cgroups(struct kl_trace *trace)
{
	uint8_t *text;
	size_t size;
	int ret = read_names(trace, KL_CGROUPS_FILE, &text, &size);

	if (ret > 0)
		trace->cgroups = kl_cgroups_parse(text ? (char *)text : "", size);
	ret = ret > 0 && !trace->cgroups ? -errno : ret;
	free(text);
	kl_schema_set_cgroups(trace->schema, trace->cgroups);
	return ret;
}

/* The error text includes @path. */
static int open_files(struct kl_trace *trace, const char *path)
{
	int ret = kl_files_open(&trace->files, path);

	if (ret)
		return ret;
	ret = read_metadata(trace);
	if (!ret)
		ret = open_manifest(trace);
	if (!ret)
		ret = open_streams(trace);
	if (!ret)
		ret = open_stacks(trace);
	if (ret >= 0)
		ret = open_addresses(trace);
	if (ret >= 0)
		ret = open_cgroups(trace);
	return ret < 0 ? kl_fail_about(ret, path) : 0;
}

static bool is_ber(const char *path)
{
	struct stat about;

	return !stat(path, &about) && S_ISREG(about.st_mode) && !kl_pack_is(path);
}

struct kl_trace *kl_trace_open(const char *path)
{
	struct kl_trace *trace = calloc(1, sizeof(*trace));
	int ret;

	if (!trace) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	trace->files = (struct kl_files){ .dir = -1, .pack.fd = -1 };
	if (is_ber(path)) {
		trace->ber = kl_ber_reader_open(path);
		ret = trace->ber ? 0 : -errno;
	} else {
		ret = open_files(trace, path);
	}
	if (ret) {
		kl_trace_close(trace);
		errno = -ret;
		return NULL;
	}
	kl_trace_rewind(trace);
	return trace;
}

void kl_trace_close(struct kl_trace *trace)
{
	if (!trace)
		return;
	for (size_t i = 0; i < trace->n_streams; i++)
		kl_window_close(&trace->streams[i].file);
	free(trace->streams);
	free(trace->heap);
	kl_manifest_deinit(&trace->manifest);
	free(trace->manifest_file);
	kl_ber_reader_destroy(trace->ber);
	kl_schema_destroy(trace->schema);
	kl_stacks_destroy(trace->stacks);
	kl_addresses_destroy(trace->addresses);
	kl_cgroups_destroy(trace->cgroups);
	kl_files_close(&trace->files);
	free(trace);
}

/* Restore the heap order after its first element has changed. */
static void sift_down(struct kl_trace *trace)
{
	struct kl_stream **heap = trace->heap;
	struct kl_stream *moving = heap[0];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= trace->n_heap)
			break;
		if (child + 1 < trace->n_heap && heap[child + 1]->key < heap[child]->key)
			child++;
		if (heap[child]->key >= moving->key)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

static void heap_add(struct kl_trace *trace, struct kl_stream *stream)
{
	size_t at = trace->n_heap++;

	while (at && trace->heap[(at - 1) / 2]->key > stream->key) {
		trace->heap[at] = trace->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	trace->heap[at] = stream;
}

static void rewind_stream(struct kl_trace *trace, struct kl_stream *s, uint64_t *begin)
{
	const struct kl_manifest *manifest = trace->state.manifest ? &trace->manifest : NULL;

	*s = (struct kl_stream){
		.file = s->file,
		.uuid = trace->info.uuid,
		.counts = &trace->counts,
		.timebase = &trace->info.timebase,
		.cpu = s->cpu,
		.manifest = manifest,
		.known = manifest ? kl_manifest_cpu(manifest, s->cpu) : NULL,
		.end = manifest ? began_at(manifest) : 0,
	};
	kl_cursor_init(&s->cursor, trace->schema, &trace->info.timebase, 0);
	s->cursor.event.cpu = s->cpu;
	if (s->known && s->known->n_blocks && s->known->blocks[0]->begin < *begin)
		*begin = s->known->blocks[0]->begin;
}

static void set_times(struct kl_trace *trace, uint64_t begin)
{
	const struct kl_timebase *timebase = &trace->info.timebase;
	const struct kl_manifest *manifest = &trace->manifest;

	if (begin != ~0ull)
		trace->begin_ns = kl_timebase_ns(timebase, begin);
	if (began_at(manifest))
		trace->state.begin_ns = kl_timebase_ns(timebase, began_at(manifest));
	if (manifest->end && manifest->end->end)
		trace->state.end_ns = kl_timebase_ns(timebase, manifest->end->end);
}

void kl_trace_rewind(struct kl_trace *trace)
{
	uint64_t begin = ~0ull;

	trace->items = 0;
	if (trace->ber) {
		kl_ber_reader_rewind(trace->ber);
		return;
	}
	trace->counts = (struct kl_trace_counts){ 0 };
	trace->n_heap = 0;
	trace->started = false;
	trace->unseen.records = 0;
	for (size_t i = 0; i < trace->n_streams; i++) {
		struct kl_stream *s = &trace->streams[i];

		rewind_stream(trace, s, &begin);
		if (kl_stream_start(s) && s->block->timestamp_begin < begin)
			begin = s->block->timestamp_begin;
	}
	set_times(trace, begin);
	for (size_t i = 0; i < trace->n_streams; i++) {
		struct kl_stream *s = &trace->streams[i];

		s->cursor.begin_ns = trace->begin_ns;
		s->from_ns = trace->skip_ns ? trace->begin_ns + trace->skip_ns : 0;
		if (kl_stream_next(s))
			heap_add(trace, s);
	}
}

void kl_trace_skip(struct kl_trace *trace, uint64_t since_ns)
{
	trace->skip_ns = since_ns;
	kl_trace_rewind(trace);
}

/* Report the unseen records last, since they belong to no CPU. */
static int give_unseen(struct kl_trace *trace, struct kl_item *item)
{
	const struct kl_manifest_entry *end = trace->manifest.end;

	if (!end || !end->discarded || trace->unseen.records)
		return 0;
	trace->unseen = (struct kl_loss){
		.kind = KL_LOSS_UNSEEN,
		.records = end->discarded,
		.begin_ns = trace->state.begin_ns,
		.end_ns = trace->state.end_ns,
		.origin_ns = trace->begin_ns,
	};
	trace->counts.unseen = end->discarded;
	*item = (struct kl_item){ .kind = KL_ITEM_LOSS, .loss = &trace->unseen };
	return 1;
}

int kl_trace_next(struct kl_trace *trace, struct kl_item *item)
{
	struct kl_stream *stream;

	trace->items++;
	if (trace->ber)
		return kl_ber_reader_next(trace->ber, item);
	/*
	 * Advance the last item's stream only now, so that the item stayed valid until this call.
	 */
	if (trace->started && trace->n_heap) {
		if (!kl_stream_next(trace->heap[0]))
			trace->heap[0] = trace->heap[--trace->n_heap];
		sift_down(trace);
	}
	trace->started = true;
	if (!trace->n_heap)
		return give_unseen(trace, item);
	stream = trace->heap[0];
	if (stream->is_loss) {
		*item = (struct kl_item){ .kind = KL_ITEM_LOSS, .loss = &stream->loss };
	} else {
		*item = (struct kl_item){ .kind = KL_ITEM_EVENT, .event = &stream->cursor.event };
		trace->counts.events++;
	}
	return 1;
}

const struct kl_schema *kl_trace_schema(const struct kl_trace *trace)
{
	return trace->ber ? kl_ber_reader_schema(trace->ber) : trace->schema;
}

const struct kl_trace_info *kl_trace_about(const struct kl_trace *trace)
{
	return trace->ber ? kl_ber_reader_about(trace->ber) : &trace->info;
}

const struct kl_trace_counts *kl_trace_counted(const struct kl_trace *trace)
{
	return trace->ber ? kl_ber_reader_counted(trace->ber) : &trace->counts;
}

const struct kl_trace_state *kl_trace_state(const struct kl_trace *trace)
{
	return &trace->state;
}

uint64_t kl_trace_begin(const struct kl_trace *trace)
{
	return trace->ber ? kl_ber_reader_begin(trace->ber) : trace->begin_ns;
}
