// SPDX-License-Identifier: GPL-2.0
/* The module's ring in a memory file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../kernel/ring/ring.h"
#include "ring_writer.h"

#define MAP_SIZE 64u
#define POOL 64

struct ring_writer {
	struct kl_ring ring;
	struct kl_ring_block *window[MAP_SIZE];
	struct kl_ring_block pool[POOL];
	u32 pool_used;
	int device;
};

int ring_device(void)
{
	int fd = memfd_create("kernlens", MFD_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, KL_MMAP_BLOCK(8, 0, 0)))
		abort();
	return fd;
}

static void *map(int device, u64 offset, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, device, offset);

	if (memory == MAP_FAILED) {
		perror("mmap");
		abort();
	}
	return memory;
}

void ring_writer_add(struct ring_writer *writer, uint32_t blocks)
{
	while (blocks--) {
		struct kl_ring_block *block = &writer->pool[writer->pool_used];

		if (writer->pool_used == POOL)
			abort();
		block->index = writer->pool_used++;
		block->memory = map(writer->device,
				    KL_MMAP_BLOCK(writer->ring.cpu, block->index, RING_BLOCK_BYTES),
				    RING_BLOCK_BYTES);
		kl_ring_add(&writer->ring, block);
	}
}

struct ring_writer *ring_writer_new(int device, uint32_t cpu, uint32_t blocks, bool overwrite,
				    const uint8_t uuid[16])
{
	struct ring_writer *writer = calloc(1, sizeof(*writer));
	struct kl_abi_block header = { .magic = KL_CTF_MAGIC, .session_id = 7 };

	memcpy(header.uuid, uuid, 16);
	writer->device = device;
	kl_ring_init(&writer->ring, map(device, KL_MMAP_RING(cpu), 4096), writer->window, MAP_SIZE,
		     RING_BLOCK_BYTES, cpu, overwrite, &header);
	ring_writer_add(writer, blocks);
	return writer;
}

void ring_writer_free(struct ring_writer *writer)
{
	for (u32 i = 0; i < writer->pool_used; i++)
		munmap(writer->pool[i].memory, RING_BLOCK_BYTES);
	munmap(writer->ring.shared, 4096);
	free(writer);
}

void ring_writer_fire(struct ring_writer *writer, uint32_t id, uint64_t time,
		      const struct kl_abi_task *task, const void *payload, uint32_t bytes)
{
	struct kl_ring *ring = &writer->ring;
	u32 all = KL_RECORD_PREFIX_BYTES + sizeof(*task) + bytes;
	enum kl_ring_result result;
	struct kl_slot slot;
	u64 head;

	do {
		result = kl_ring_reserve(ring, kl_load(ring->shared->position), time, all, all,
					 &slot);
	} while (result == KL_RING_RETRY);
	if (result == KL_RING_LOST)
		return;
	head = id | slot.time << KL_RECORD_ID_BITS;
	memcpy(slot.at, &head, sizeof(head));
	slot.at[8] = KL_CHANGED_TASK;
	memcpy(slot.at + KL_RECORD_PREFIX_BYTES, task, sizeof(*task));
	memcpy(slot.at + KL_RECORD_PREFIX_BYTES + sizeof(*task), payload, bytes);
	kl_ring_commit(&slot);
}

void ring_writer_finish(struct ring_writer *writer, uint64_t time)
{
	kl_ring_finish(&writer->ring, time);
}

void ring_writer_hold(struct ring_writer *writer, const uint64_t *next)
{
	kl_store(writer->ring.holders[0], (const u64 *)next);
}

const struct kl_abi_ring *ring_writer_shared(const struct ring_writer *writer)
{
	return writer->ring.shared;
}
