// SPDX-License-Identifier: GPL-2.0
/*
 * A trace directory being written. The files are readable to the last whole
 * block at any time: each block is extended to its full size when it is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <kernlens/trace.h>
#include "../base/base.h"

#define CPUS_MAX 8192 /* the kernel's NR_CPUS limit on x86 */

struct out {
	int fd;
	uint64_t bytes;
	uint64_t discarded; /* as of the last block */
};

struct kl_trace_writer {
	int dir;
	const struct kl_schema *schema;
	struct kl_trace_info info;
	struct out *outs; /* by CPU */
	size_t n_outs;
	uint64_t bytes;
};

static int write_all(int fd, struct iovec *parts, int n, uint64_t at)
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
	fd = openat(writer->dir, ".metadata.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		ret = kl_fail_system(errno, ".metadata.new");
		goto out;
	}
	part = (struct iovec){ buffer.data, buffer.length };
	ret = write_all(fd, &part, 1, 0);
	if (close(fd) && !ret)
		ret = kl_fail_system(errno, ".metadata.new");
	if (!ret && renameat(writer->dir, ".metadata.new", writer->dir, "metadata"))
		ret = kl_fail_system(errno, "metadata");
out:
	kl_buffer_deinit(&buffer);
	return ret;
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
	if (mkdir(path, 0777) && errno != EEXIST) {
		ret = kl_fail_system(errno, "%s", path);
		goto free_writer;
	}
	writer->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (writer->dir < 0) {
		ret = kl_fail_system(errno, "%s", path);
		goto free_writer;
	}
	if (!faccessat(writer->dir, "metadata", F_OK, 0)) {
		ret = kl_fail(EEXIST, "%s has a trace already", path);
		goto close_dir;
	}
	ret = write_metadata(writer);
	if (ret)
		goto close_dir;
	return writer;

close_dir:
	close(writer->dir);
free_writer:
	free(writer);
	errno = -ret;
	return NULL;
}

static struct out *get_out(struct kl_trace_writer *writer, uint32_t cpu)
{
	char name[16];

	if (cpu >= CPUS_MAX) {
		kl_fail(EINVAL, "a block says that it is of CPU %u", cpu);
		return NULL;
	}
	if (cpu >= writer->n_outs) {
		struct out *outs = reallocarray(writer->outs, cpu + 1, sizeof(*outs));

		if (!outs) {
			kl_fail(ENOMEM, "out of memory");
			return NULL;
		}
		for (size_t i = writer->n_outs; i <= cpu; i++)
			outs[i] = (struct out){ .fd = -1 };
		writer->outs = outs;
		writer->n_outs = cpu + 1;
	}
	if (writer->outs[cpu].fd < 0) {
		snprintf(name, sizeof(name), "cpu%u", cpu);
		writer->outs[cpu].fd =
			openat(writer->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (writer->outs[cpu].fd < 0) {
			kl_fail_system(errno, "%s", name);
			return NULL;
		}
	}
	return &writer->outs[cpu];
}

/* What the kernel would have written when it completed the block. */
static void complete_header(const struct kl_trace_writer *writer, const struct out *out,
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

int kl_trace_append(struct kl_trace_writer *writer, const struct kl_abi_block *block, size_t bytes)
{
	struct kl_abi_block header;
	struct iovec parts[2];
	struct out *out;
	uint64_t size;
	int ret;

	if (bytes < sizeof(header))
		return kl_fail(EINVAL, "%zu bytes are no block", bytes);
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
		return kl_fail(EINVAL, "the block has %zu bytes, but says %llu", bytes,
			       (unsigned long long)header.committed);
	parts[0] = (struct iovec){ &header, sizeof(header) };
	parts[1] = (struct iovec){ (void *)(block + 1), header.committed - sizeof(header) };
	ret = write_all(out->fd, parts, 2, out->bytes);
	if (ret)
		return ret;
	if (ftruncate(out->fd, out->bytes + size))
		return kl_fail_system(errno, "cpu%u", header.cpu_id);
	out->bytes += size;
	out->discarded = header.events_discarded;
	writer->bytes += size;
	return 0;
}

uint64_t kl_trace_written(const struct kl_trace_writer *writer)
{
	return writer->bytes;
}

int kl_trace_finish(struct kl_trace_writer *writer, const struct kl_timebase *timebase)
{
	int ret = 0;

	if (!writer)
		return 0;
	for (size_t i = 0; i < writer->n_outs; i++)
		if (writer->outs[i].fd >= 0 && close(writer->outs[i].fd) && !ret)
			ret = kl_fail_system(errno, "cpu%zu", i);
	if (timebase) {
		writer->info.timebase = *timebase;
		if (!ret)
			ret = write_metadata(writer);
	}
	close(writer->dir);
	free(writer->outs);
	free(writer);
	return ret;
}
