// SPDX-License-Identifier: GPL-2.0
/* A live reader: its counts, waiting, and the choice between its back ends. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/base.h"
#include "reader.h"

#define CPUS_MAX 8192

struct kl_reader *kl_reader_create(int fd, unsigned int cpus, size_t block_bytes,
				   enum kl_backend backend)
{
	struct kl_reader *reader = NULL;
	int ret;

	if (!cpus || cpus > CPUS_MAX) {
		ret = kl_fail(EINVAL, "invalid CPU count %u", cpus);
		goto fail;
	}
	if (block_bytes < KL_BLOCK_BYTES_MIN || block_bytes > KL_BLOCK_BYTES_MAX ||
	    (block_bytes & (block_bytes - 1))) {
		ret = kl_fail(EINVAL, "invalid block size of %zu bytes", block_bytes);
		goto fail;
	}
	reader = calloc(1, sizeof(*reader));
	if (reader)
		reader->views = calloc(cpus, sizeof(*reader->views));
	if (!reader || !reader->views) {
		ret = kl_fail(ENOMEM, "out of memory");
		goto fail;
	}
	reader->fd = fd;
	reader->n_cpus = cpus;
	reader->block_bytes = block_bytes;
	reader->backend = backend;
	ret = backend == KL_BACKEND_MMAP ? kl_shared_open(reader) : kl_pipe_open(reader);
	if (!ret)
		return reader;
	kl_reader_destroy(reader);
	errno = -ret;
	return NULL;
fail:
	free(reader);
	close(fd);
	errno = -ret;
	return NULL;
}

void kl_reader_destroy(struct kl_reader *reader)
{
	if (!reader)
		return;
	if (reader->backend == KL_BACKEND_MMAP)
		kl_shared_close(reader);
	close(reader->fd);
	free(reader->copy);
	free(reader->views);
	free(reader);
}

void kl_reader_take(struct kl_reader *reader, struct kl_ring_view *view,
		    struct kl_reader_block *block, uint64_t records)
{
	const struct kl_abi_block *header = block->block;

	/*
	 * The writer may have moved on to the next block before kl_shared_join() read its counts.
	 */
	if (view->joined && header->record_first < view->records)
		view->records = header->record_first;
	view->joined = false;
	block->from = view->given;
	block->missed = 0;
	block->lost = 0;
	if (!view->given) {
		block->missed = header->record_first - view->records;
		view->records = header->record_first;
	}
	reader->counts.missed += block->missed;
	reader->counts.read += records - view->given_records;
	view->given = block->to;
	view->given_records = records;
	if (!block->complete)
		return;
	if (header->events_discarded > view->lost)
		block->lost = header->events_discarded - view->lost;
	reader->counts.lost += block->lost;
	reader->counts.blocks++;
	view->lost += block->lost;
	view->records = header->record_first + header->record_count;
	view->next = header->seq + 1;
	view->given = 0;
	view->given_records = 0;
}

int kl_reader_next_block(struct kl_reader *reader, bool partial, struct kl_reader_block *block)
{
	if (reader->backend == KL_BACKEND_READ)
		return kl_pipe_next(reader, block);
	for (unsigned int i = 0; i < reader->n_cpus; i++) {
		unsigned int cpu = reader->turn;
		int ret;

		reader->turn = (cpu + 1) % reader->n_cpus;
		ret = kl_shared_next(reader, cpu, partial, block);
		if (ret)
			return ret;
	}
	return 0;
}

int kl_reader_wait(struct kl_reader *reader, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = reader->fd, .events = POLLIN };
	int ret;

	if (reader->copy_at < reader->copy_bytes)
		return 1;
	if (reader->backend == KL_BACKEND_MMAP && kl_shared_ready(reader))
		return 1;
	ret = poll(&poll_fd, 1, timeout_ms);
	if (ret < 0)
		return kl_fail_system(errno, "poll");
	if (ret && !(poll_fd.revents & POLLIN))
		return 2;
	return ret;
}

int kl_reader_fd(const struct kl_reader *reader)
{
	return reader->fd;
}

void kl_reader_counts(const struct kl_reader *reader, struct kl_reader_counts *counts)
{
	*counts = reader->counts;
	if (reader->backend == KL_BACKEND_MMAP)
		counts->lost = kl_shared_lost(reader) - reader->lost_before;
}

int kl_reader_join(struct kl_reader *reader)
{
	if (reader->backend != KL_BACKEND_MMAP)
		return kl_fail(EINVAL, "joining a session requires the mmap backend");
	kl_shared_join(reader);
	return 0;
}

int kl_reader_end_here(struct kl_reader *reader)
{
	if (reader->backend != KL_BACKEND_MMAP)
		return kl_fail(EINVAL, "stopping at the current position requires the mmap "
				       "backend");
	kl_shared_end_here(reader);
	return 0;
}

bool kl_reader_at_end(const struct kl_reader *reader)
{
	for (unsigned int cpu = 0; cpu < reader->n_cpus; cpu++) {
		const struct kl_ring_view *view = &reader->views[cpu];

		if (view->shared && (!view->ends || view->next <= view->last))
			return false;
	}
	return true;
}
