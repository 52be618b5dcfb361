/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's own ring (kernel/ring/ring.c, built for user space), writing to a memory file that
 * has the regions of a reader's descriptor at the KL_MMAP_* offsets: a device without a kernel.
 */
#ifndef KL_TESTS_UNIT_LIB_RING_WRITER_H
#define KL_TESTS_UNIT_LIB_RING_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include <kernlens/abi.h>

#define RING_BLOCK_BYTES 4096u

struct ring_writer;

/* A memory file that is large enough; -1 on failure. */
int ring_device(void);
struct ring_writer *ring_writer_new(int device, uint32_t cpu, uint32_t blocks, bool overwrite,
				    const uint8_t uuid[16]);
void ring_writer_free(struct ring_writer *writer);
void ring_writer_add(struct ring_writer *writer, uint32_t blocks);
/* Write a record of event @id; the task is always written. */
void ring_writer_fire(struct ring_writer *writer, uint32_t id, uint64_t time,
		      const struct kl_abi_task *task, const void *payload, uint32_t bytes);
void ring_writer_finish(struct ring_writer *writer, uint64_t time);
/* Make the writer wait for this reader's position, as KL_READER_HOLD does. */
void ring_writer_hold(struct ring_writer *writer, const uint64_t *next);
const struct kl_abi_ring *ring_writer_shared(const struct ring_writer *writer);

#endif /* KL_TESTS_UNIT_LIB_RING_WRITER_H */
