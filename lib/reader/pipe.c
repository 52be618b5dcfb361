// SPDX-License-Identifier: GPL-2.0
/*
 * Gets blocks by read(): the kernel copies as many complete ones as fit, so one call returns many.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <kernlens/cursor.h>
#include "../base/base.h"
#include "reader.h"

#define ROOM_BYTES ((size_t)KL_BLOCK_BYTES_MAX)

int kl_pipe_open(struct kl_reader *reader)
{
	int flags = fcntl(reader->fd, F_GETFL);

	if (flags < 0 || fcntl(reader->fd, F_SETFL, flags | O_NONBLOCK))
		return kl_fail_system(errno, "the reader's descriptor");
	/* A multiple of every block size. */
	reader->copy = malloc(ROOM_BYTES);
	return reader->copy ? 0 : kl_fail(ENOMEM, "out of memory");
}

/* Returns 1 if the copy holds blocks. */
static int fill(struct kl_reader *reader)
{
	ssize_t got = read(reader->fd, reader->copy, ROOM_BYTES);

	if (got < 0)
		return errno == EAGAIN ? 0 : kl_fail_system(errno, "read");
	if (got % reader->block_bytes)
		return kl_fail(EPROTO,
			       "read() returned %zd bytes, which is not a whole number of blocks",
			       got);
	reader->copy_bytes = got;
	reader->copy_at = 0;
	return got > 0;
}

int kl_pipe_next(struct kl_reader *reader, struct kl_reader_block *block)
{
	for (;;) {
		const struct kl_abi_block *header;
		int ret = 1;

		if (reader->copy_at == reader->copy_bytes)
			ret = fill(reader);
		if (ret <= 0)
			return ret;
		header = (const struct kl_abi_block *)(reader->copy + reader->copy_at);
		reader->copy_at += reader->block_bytes;
		if (kl_block_check(header, reader->block_bytes, NULL) ||
		    header->cpu_id >= reader->n_cpus) {
			reader->counts.bad++;
			continue;
		}
		*block = (struct kl_reader_block){
			.cpu = header->cpu_id,
			.seq = header->seq,
			.block = header,
			.to = header->content_bits / 8,
			.complete = true,
		};
		kl_reader_take(reader, &reader->views[header->cpu_id], block, header->record_count);
		return 1;
	}
}
