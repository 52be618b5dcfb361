// SPDX-License-Identifier: GPL-2.0
/*
 * Writes a trace directory. At any time its files are readable up to the last whole block: each
 * block is extended to its full size when it is written, and removed if it could not be written
 * completely. The manifest has an entry for each block, written after the block.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <kernlens/compress.h>
#include <kernlens/cursor.h>
#include <kernlens/trace.h>
#include <kernlens/trace_folder.h>
#include "../base/base.h"
#include "../base/crc.h"
#include "../base/folder.h"
#include "files.h"
#include "writer.h"

int kl_writer_write(int fd, struct iovec *parts, int n, uint64_t at)
{
	while (n) {
		ssize_t done = pwritev(fd, parts, n, at);

		if (done < 0) {
			if (errno == EINTR)
				continue;
			return kl_fail_system(errno, "write");
		}
		at += done;
		while (n && (size_t)done >= parts->iov_len) {
			done -= parts->iov_len;
			parts++;
			n--;
		}
		if (n) {
			parts->iov_base = (char *)parts->iov_base + done;
			parts->iov_len -= done;
		}
	}
	return 0;
}

static int write_metadata(struct kl_trace_writer *writer)
{
	struct kl_buffer buffer = { 0 };
	struct iovec part;
	int fd, ret;

	ret = kl_metadata_write(&buffer, writer->schema, &writer->info);
	if (ret)
		goto out;
	fd = kl_folder_create(writer->dir, ".metadata.new");
	if (fd < 0) {
		ret = kl_fail_system(-fd, ".metadata.new");
		goto out;
	}
	part = (struct iovec){ buffer.data, buffer.length };
	ret = kl_writer_write(fd, &part, 1, 0);
	if (close(fd) && !ret)
		ret = kl_fail_system(errno, ".metadata.new");
	if (!ret && renameat(writer->dir, ".metadata.new", writer->dir, "metadata"))
		ret = kl_fail_system(errno, "metadata");
	/* Readers might take it for a stream. */
	if (ret)
		unlinkat(writer->dir, ".metadata.new", 0);
out:
	kl_buffer_deinit(&buffer);
	return ret;
}

int kl_trace_folder(int dir, const char *name)
{
	return kl_folder_open(dir, name, false);
}

struct kl_trace_writer *kl_trace_create(const char *path, const struct kl_schema *schema,
					const struct kl_trace_info *info)
{
	struct kl_trace_writer *writer = calloc(1, sizeof(*writer));
	int ret;

	if (!writer) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	writer->schema = schema;
	writer->info = *info;
	writer->cpus = (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	writer->dir = kl_folder_open(AT_FDCWD, path, true);
	if (writer->dir < 0) {
		ret = writer->dir;
		goto free_writer;
	}
	if (!faccessat(writer->dir, "metadata", F_OK, 0)) {
		ret = kl_fail(EEXIST, "%s already contains a trace", path);
		goto close_dir;
	}
	ret = kl_manifest_create(&writer->manifest, writer->dir, writer->info.uuid);
	if (ret)
		goto close_dir;
	ret = write_metadata(writer);
	if (ret)
		goto close_manifest;
	return writer;

close_manifest:
	kl_manifest_close(&writer->manifest);
	kl_manifest_remove(writer->dir);
close_dir:
	close(writer->dir);
free_writer:
	free(writer);
	errno = -ret;
	return NULL;
}

static struct kl_stream_out *get_out(struct kl_trace_writer *writer, uint32_t cpu)
{
	if (cpu >= KL_CPUS_MAX) {
		kl_fail(EINVAL, "a block has the invalid CPU number %u", cpu);
		return NULL;
	}
	if (cpu >= writer->n_outs) {
		struct kl_stream_out *outs = reallocarray(writer->outs, cpu + 1, sizeof(*outs));

		if (!outs) {
			kl_fail(ENOMEM, "out of memory");
			return NULL;
		}
		for (size_t i = writer->n_outs; i <= cpu; i++)
			outs[i] = (struct kl_stream_out){ .fd = -1 };
		writer->outs = outs;
		writer->n_outs = cpu + 1;
	}
	return &writer->outs[cpu];
}

int kl_writer_open(struct kl_trace_writer *writer, struct kl_stream_out *out)
{
	char name[KL_PACK_NAME_MAX];

	if (out->fd >= 0)
		return 0;
	snprintf(name, sizeof(name), "cpu%zu%s", (size_t)(out - writer->outs),
		 writer->frames ? KL_TRACE_COMPRESSED : "");
	out->fd = openat(writer->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			 0600);
	return out->fd < 0 ? kl_fail_system(errno, "%s", name) : 0;
}

/* Fill in what the kernel would have written when completing the block. */
static void complete_header(const struct kl_trace_writer *writer, const struct kl_stream_out *out,
			    const struct kl_abi_block *block, size_t bytes,
			    struct kl_abi_block *header)
{
	struct kl_cursor cursor;
	const uint8_t *end = (const uint8_t *)block + block->header_bytes;

	kl_cursor_init(&cursor, writer->schema, &writer->info.timebase, 0);
	kl_cursor_enter(&cursor, block, 0, bytes);
	header->record_count = 0;
	while (kl_cursor_next(&cursor) > 0) {
		header->record_count++;
		end = cursor.at;
	}
	header->timestamp_end = cursor.event.cycles;
	header->committed = end - (const uint8_t *)block;
	header->content_bits = header->committed * 8;
	if (header->events_discarded < out->discarded)
		header->events_discarded = out->discarded;
}

static struct kl_manifest_entry entry_of(const struct kl_abi_block *header)
{
	return (struct kl_manifest_entry){
		.kind = KL_MANIFEST_BLOCK,
		.cpu = header->cpu_id,
		.seq = header->seq,
		.record_first = header->record_first,
		.begin = header->timestamp_begin,
		.end = header->timestamp_end,
		.discarded = header->events_discarded,
		.bytes = header->committed,
		.block_records = header->record_count,
	};
}

int kl_writer_reserve(struct kl_trace_writer *writer, size_t blocks)
{
	unsigned int cpus = writer->n_outs > writer->cpus ? writer->n_outs : writer->cpus;

	return kl_manifest_reserve(&writer->manifest, (unsigned int)blocks + 2 * cpus + 2);
}

int kl_writer_take_back(struct kl_stream_out *out, int error)
{
	if (ftruncate(out->fd, (off_t)out->bytes))
		return kl_fail_system(errno, "cannot truncate a stream");
	return error;
}

/* Store a block and its manifest entry, or neither. */
static int store(struct kl_trace_writer *writer, struct kl_stream_out *out,
		 struct kl_abi_block *header, const struct kl_abi_block *block,
		 struct kl_manifest_entry *entry)
{
	uint64_t size = header->packet_bits / 8;
	struct iovec parts[2] = {
		{ header, sizeof(*header) },
		{ (void *)(block + 1), header->committed - sizeof(*header) },
	};
	int ret = kl_writer_reserve(writer, 1);

	if (!ret)
		ret = kl_writer_open(writer, out);
	if (ret)
		return ret;
	ret = kl_writer_write(out->fd, parts, 2, out->bytes);
	if (!ret && ftruncate(out->fd, (off_t)(out->bytes + size)))
		ret = kl_fail_system(errno, "cpu%u", header->cpu_id);
	if (!ret)
		ret = kl_manifest_add(&writer->manifest, entry);
	/* A partial block would confuse other readers. */
	if (ret)
		return kl_writer_take_back(out, ret);
	out->bytes += size;
	writer->bytes += size;
	return 0;
}

/* Update the manifest immediately, because the recorder may be killed. */
void kl_writer_count_unstored(struct kl_trace_writer *writer, struct kl_stream_out *out,
			      const struct kl_manifest_entry *block)
{
	struct kl_manifest_entry *entry = &out->unstored;
	bool first = !entry->kind;

	if (first) {
		*entry = *block;
		entry->kind = KL_MANIFEST_UNSTORED;
		entry->records = 0;
		entry->blocks = 0;
		out->unstored_at = writer->manifest.at;
	}
	entry->end = block->end;
	entry->discarded = block->discarded;
	entry->records += block->block_records;
	entry->blocks++;
	/* If this fails, the totals still reveal the missing records. */
	if (!first)
		kl_manifest_replace(&writer->manifest, out->unstored_at, entry);
	else if (kl_manifest_reserve(&writer->manifest, 1) ||
		 kl_manifest_add(&writer->manifest, entry))
		entry->kind = 0;
}

static int take_block(struct kl_trace_writer *writer, struct kl_stream_out *out,
		      struct kl_abi_block *header, const struct kl_abi_block *block)
{
	struct kl_manifest_entry entry = entry_of(header);

	entry.content_crc = kl_crc32c(0, header, sizeof(*header));
	entry.content_crc =
		kl_crc32c(entry.content_crc, block + 1, header->committed - sizeof(*header));
	if (writer->frames)
		return kl_writer_keep(writer, out, header, block, &entry);
	if (!writer->error)
		writer->error = store(writer, out, header, block, &entry);
	if (writer->error)
		kl_writer_count_unstored(writer, out, &entry);
	return writer->error;
}

int kl_trace_append(struct kl_trace_writer *writer, const struct kl_abi_block *block, size_t bytes)
{
	struct kl_abi_block header;
	struct kl_stream_out *out;
	uint64_t size;
	int ret;

	if (bytes < sizeof(header))
		return kl_fail(EINVAL, "%zu bytes are too short for a block", bytes);
	header = *block;
	size = header.packet_bits / 8;
	if (bytes > size)
		bytes = size;
	out = get_out(writer, header.cpu_id);
	if (!out)
		return -errno;
	if (!header.content_bits)
		complete_header(writer, out, block, bytes, &header);
	ret = kl_block_check(&header, size, writer->info.uuid);
	if (ret)
		return ret;
	if (header.committed > bytes)
		return kl_fail(EINVAL, "the block has %zu bytes, but its header says %llu", bytes,
			       (unsigned long long)header.committed);
	ret = take_block(writer, out, &header, block);
	out->records = header.record_first + header.record_count;
	out->discarded = header.events_discarded;
	return ret;
}

bool kl_trace_unstored(const struct kl_trace_writer *writer, uint32_t cpu, struct kl_loss *loss)
{
	const struct kl_timebase *timebase = &writer->info.timebase;
	const struct kl_manifest_entry *entry;

	if (cpu >= writer->n_outs || !writer->outs[cpu].unstored.kind)
		return false;
	entry = &writer->outs[cpu].unstored;
	*loss = (struct kl_loss){
		.kind = KL_LOSS_UNSTORED,
		.cpu = cpu,
		.records = entry->records,
		.blocks = entry->blocks,
		.first_block = entry->seq,
		.begin_ns = kl_timebase_ns(timebase, entry->begin),
		.end_ns = kl_timebase_ns(timebase, entry->end),
		.origin_ns = writer->end.begin ? kl_timebase_ns(timebase, writer->end.begin) : 0,
	};
	return true;
}

int kl_trace_set_begin(struct kl_trace_writer *writer, uint64_t cycles)
{
	struct kl_manifest_entry begin = { .kind = KL_MANIFEST_BEGIN, .begin = cycles };
	int ret = kl_manifest_reserve(&writer->manifest, 1);

	writer->end.begin = cycles;
	return ret ? ret : kl_manifest_add(&writer->manifest, &begin);
}

int kl_trace_set_total(struct kl_trace_writer *writer, uint32_t cpu, uint64_t written,
		       uint64_t lost)
{
	struct kl_stream_out *out;

	/* A CPU that recorded nothing has no entry. */
	if (!written && !lost)
		return 0;
	out = get_out(writer, cpu);
	if (!out)
		return -errno;
	out->total.kind = KL_MANIFEST_TOTAL;
	out->total.record_first = written;
	out->total.discarded = lost;
	return 0;
}

void kl_trace_set_end(struct kl_trace_writer *writer, uint64_t cycles, uint64_t unseen)
{
	writer->end.end = cycles;
	writer->end.discarded = unseen;
}

static int add_totals(struct kl_trace_writer *writer)
{
	int ret = 0;

	for (uint32_t cpu = 0; cpu < writer->n_outs && !ret; cpu++) {
		struct kl_stream_out *out = &writer->outs[cpu];

		if (!out->total.kind && (out->records || out->discarded))
			kl_trace_set_total(writer, cpu, out->records, out->discarded);
		out->total.cpu = cpu;
		if (!out->total.kind)
			continue;
		ret = kl_manifest_reserve(&writer->manifest, 1);
		if (!ret)
			ret = kl_manifest_add(&writer->manifest, &out->total);
	}
	return ret;
}

static int finish_manifest(struct kl_trace_writer *writer)
{
	int ret = add_totals(writer), closed;

	writer->end.kind = KL_MANIFEST_END;
	writer->end.records = writer->manifest.at / sizeof(writer->end);
	if (!ret)
		ret = kl_manifest_reserve(&writer->manifest, 1);
	if (!ret)
		ret = kl_manifest_add(&writer->manifest, &writer->end);
	closed = kl_manifest_close(&writer->manifest);
	return ret ? ret : closed;
}

uint64_t kl_trace_written(const struct kl_trace_writer *writer)
{
	return writer->bytes;
}

int kl_trace_finish(struct kl_trace_writer *writer, const struct kl_timebase *timebase)
{
	int ret, error;

	if (!writer)
		return 0;
	error = kl_writer_finish_frames(writer);
	ret = finish_manifest(writer);
	if (!ret)
		ret = error;
	for (size_t i = 0; i < writer->n_outs; i++)
		if (writer->outs[i].fd >= 0 && close(writer->outs[i].fd) && !ret)
			ret = kl_fail_system(errno, "cpu%zu", i);
	if (timebase) {
		writer->info.timebase = *timebase;
		error = write_metadata(writer);
		/*
		 * If the disk is full, the initial clock data stays; that error has already been
		 * reported.
		 */
		if (!ret && error != writer->error)
			ret = error;
	}
	kl_writer_deinit_frames(writer);
	close(writer->dir);
	free(writer->outs);
	free(writer);
	return ret;
}
