// SPDX-License-Identifier: GPL-2.0
/*
 * A trace opened for reading: a directory, its streams merged by a heap, or a
 * file in BER, which is in order already and whose reader does all the work.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/addresses.h>
#include <kernlens/ber.h>
#include <kernlens/error.h>
#include <kernlens/stack.h>
#include <kernlens/trace.h>
#include "../base/base.h"
#include "stream.h"

#define METADATA_BYTES_MAX (16u << 20)

struct kl_trace {
	struct kl_schema *schema;
	struct kl_stacks *stacks; /* NULL: it has none */
	struct kl_addresses *addresses; /* the same */
	struct kl_trace_info info;
	struct kl_trace_counts counts;
	struct kl_stream *streams;
	size_t n_streams;
	size_t streams_capacity;
	struct kl_stream **heap; /* the first has the oldest item */
	size_t n_heap;
	bool started;
	uint64_t begin_ns;

	struct kl_ber_reader *ber; /* NULL: a directory */
	const uint8_t *file;
	size_t file_bytes;
};

/* Map a file for reading; an empty one is no error: *@map is NULL then. */
static int map_file(int dir, const char *name, const uint8_t **map, size_t *size)
{
	/* Whoever made the folder may have put a pipe there: it is not waited for. */
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat about;
	void *memory;
	int error;

	*map = NULL;
	*size = 0;
	if (fd < 0)
		return kl_fail_system(errno, "%s", name);
	if (fstat(fd, &about))
		goto fail;
	if (!S_ISREG(about.st_mode)) {
		close(fd);
		return kl_fail(EINVAL, "%s is not a file", name);
	}
	if (about.st_size) {
		memory = mmap(NULL, about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (memory == MAP_FAILED)
			goto fail;
		*map = memory;
		*size = about.st_size;
	}
	close(fd);
	return 0;
fail:
	error = errno;
	close(fd);
	return kl_fail_system(error, "%s", name);
}

static int read_metadata(struct kl_trace *trace, int dir)
{
	const uint8_t *map;
	size_t size;
	int ret = map_file(dir, "metadata", &map, &size);

	if (ret)
		return ret;
	if (!map || size > METADATA_BYTES_MAX)
		ret = kl_fail(EINVAL, "metadata: %zu bytes cannot be", size);
	else
		trace->schema = kl_metadata_parse((const char *)map, size, &trace->info);
	if (!ret && !trace->schema)
		ret = -errno;
	if (map)
		munmap((void *)map, size);
	return ret;
}

static int add_stream(struct kl_trace *trace, int dir, const char *name, uint32_t cpu)
{
	struct kl_stream *streams, *stream;
	int ret;

	streams = kl_array_grow(trace->streams, trace->n_streams, &trace->streams_capacity,
				sizeof(*streams));
	if (!streams)
		return -ENOMEM;
	trace->streams = streams;
	stream = &streams[trace->n_streams];
	memset(stream, 0, sizeof(*stream));
	stream->cpu = cpu;
	ret = map_file(dir, name, &stream->map, &stream->size);
	if (!ret)
		trace->n_streams++;
	return ret;
}

static int compare_streams(const void *a, const void *b)
{
	const struct kl_stream *first = a, *second = b;

	return first->cpu < second->cpu ? -1 : first->cpu > second->cpu;
}

/* Takes @dir over. */
static int open_streams(struct kl_trace *trace, int dir)
{
	DIR *list = fdopendir(dir);
	struct dirent *entry;
	int ret = 0;

	if (!list) {
		ret = -errno;
		close(dir);
		return kl_fail_system(-ret, "directory");
	}
	while (!ret && (entry = readdir(list))) {
		unsigned int cpu;
		char rest;

		if (sscanf(entry->d_name, "cpu%u%c", &cpu, &rest) == 1)
			ret = add_stream(trace, dir, entry->d_name, cpu);
	}
	closedir(list);
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

/* Most traces have none. */
static int open_stacks(struct kl_trace *trace, const char *path)
{
	trace->stacks = kl_stacks_load(path);
	if (!trace->stacks && errno != ENOENT)
		return -errno;
	if (!trace->stacks)
		kl_error_clear();
	kl_schema_set_stacks(trace->schema, trace->stacks);
	return 0;
}

static int open_addresses(struct kl_trace *trace, const char *path)
{
	trace->addresses = kl_addresses_load(path);
	if (!trace->addresses && errno != ENOENT)
		return -errno;
	if (!trace->addresses)
		kl_error_clear();
	kl_schema_set_addresses(trace->schema, trace->addresses);
	return 0;
}

/* In the error text @path is told already. */
static int open_directory(struct kl_trace *trace, const char *path)
{
	int ret, dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return kl_fail_system(errno, "%s", path);
	ret = read_metadata(trace, dir);
	if (ret)
		close(dir);
	else
		ret = open_streams(trace, dir);
	if (!ret)
		ret = open_stacks(trace, path);
	if (!ret)
		ret = open_addresses(trace, path);
	if (ret)
		return kl_fail(-ret, "%s: %s", path, kl_error_text());
	return 0;
}

static int open_file(struct kl_trace *trace, const char *path)
{
	int ret = map_file(AT_FDCWD, path, &trace->file, &trace->file_bytes);

	if (ret)
		return ret;
	trace->ber = kl_ber_reader_create(trace->file, trace->file_bytes);
	return trace->ber ? 0 : kl_fail(errno, "%s: %s", path, kl_error_text());
}

struct kl_trace *kl_trace_open(const char *path)
{
	struct kl_trace *trace = calloc(1, sizeof(*trace));
	struct stat about;
	int ret;

	if (!trace) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	if (!stat(path, &about) && S_ISREG(about.st_mode))
		ret = open_file(trace, path);
	else
		ret = open_directory(trace, path);
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
		if (trace->streams[i].map)
			munmap((void *)trace->streams[i].map, trace->streams[i].size);
	free(trace->streams);
	free(trace->heap);
	kl_ber_reader_destroy(trace->ber);
	if (trace->file)
		munmap((void *)trace->file, trace->file_bytes);
	kl_schema_destroy(trace->schema);
	kl_stacks_destroy(trace->stacks);
	kl_addresses_destroy(trace->addresses);
	free(trace);
}

/* Put the heap's first into its place. */
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

void kl_trace_rewind(struct kl_trace *trace)
{
	uint64_t begin = ~0ull;

	if (trace->ber) {
		kl_ber_reader_rewind(trace->ber);
		return;
	}
	trace->counts = (struct kl_trace_counts){ 0 };
	trace->n_heap = 0;
	trace->started = false;
	for (size_t i = 0; i < trace->n_streams; i++) {
		struct kl_stream *s = &trace->streams[i];

		*s = (struct kl_stream){
			.map = s->map,
			.size = s->size,
			.uuid = trace->info.uuid,
			.counts = &trace->counts,
			.timebase = &trace->info.timebase,
			.cpu = s->cpu,
		};
		kl_cursor_init(&s->cursor, trace->schema, &trace->info.timebase, 0);
		if (kl_stream_start(s) && s->block->timestamp_begin < begin)
			begin = s->block->timestamp_begin;
	}
	if (begin != ~0ull)
		trace->begin_ns = kl_timebase_ns(&trace->info.timebase, begin);
	for (size_t i = 0; i < trace->n_streams; i++) {
		struct kl_stream *s = &trace->streams[i];

		s->cursor.begin_ns = trace->begin_ns;
		if (kl_stream_next(s))
			heap_add(trace, s);
	}
}

int kl_trace_next(struct kl_trace *trace, struct kl_item *item)
{
	struct kl_stream *stream;

	if (trace->ber)
		return kl_ber_reader_next(trace->ber, item);
	/* The last item's stream goes on only now, so that the item stayed. */
	if (trace->started && trace->n_heap) {
		if (!kl_stream_next(trace->heap[0]))
			trace->heap[0] = trace->heap[--trace->n_heap];
		sift_down(trace);
	}
	trace->started = true;
	if (!trace->n_heap)
		return 0;
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

unsigned int kl_trace_cpus(const struct kl_trace *trace)
{
	return trace->n_streams;
}

uint64_t kl_trace_begin(const struct kl_trace *trace)
{
	return trace->ber ? kl_ber_reader_begin(trace->ber) : trace->begin_ns;
}
