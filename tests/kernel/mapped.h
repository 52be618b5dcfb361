/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reader by mmap that follows uapi/kernlens.h alone: it finds the next complete block of a CPU,
 * copies it, and checks that it was not overwritten in the meantime.
 */
#ifndef KL_TESTS_MAPPED_H
#define KL_TESTS_MAPPED_H

#include <setjmp.h>

#include "kl.h"

#define MAPPED_CPUS 16
#define MAPPED_SLOTS 512 /* blocks that stay mapped, for each CPU */

struct mapped_cpu {
	const struct kl_abi_ring *ring;
	size_t ring_bytes;
	u32 index[MAPPED_SLOTS];
	const struct kl_abi_block *block[MAPPED_SLOTS];
	u64 next;
};

struct mapped {
	int fd;
	u32 cpus;
	u32 block_bytes;
	__u64 *position;
	struct mapped_cpu cpu[MAPPED_CPUS];
	u64 vanished; /* blocks that were freed before they were accessed */
};

/* Accessing a block that was freed before its pages were touched raises SIGBUS. */
static __thread sigjmp_buf mapped_escape;

static inline void mapped_on_bus_error(int signal)
{
	siglongjmp(mapped_escape, 1);
}

static inline void mapped_init(void)
{
	struct sigaction action = { .sa_handler = mapped_on_bus_error, .sa_flags = SA_NODEFER };

	sigaction(SIGBUS, &action, NULL);
}

static inline bool mapped_open(struct mapped *m, int fd, u32 cpus, u32 block_bytes)
{
	memset(m, 0, sizeof(*m));
	m->fd = fd;
	m->cpus = cpus;
	m->block_bytes = block_bytes;
	m->position = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, KL_MMAP_POSITION);
	if (m->position == MAP_FAILED)
		return false;
	for (u32 i = 0; i < cpus; i++) {
		struct mapped_cpu *c = &m->cpu[i];
		u32 slots;

		c->ring = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, KL_MMAP_RING(i));
		if (c->ring == MAP_FAILED)
			return false;
		slots = c->ring->map_size;
		munmap((void *)c->ring, 4096);
		c->ring_bytes = (sizeof(*c->ring) + slots * 4 + 4095) & ~4095ul;
		c->ring = mmap(NULL, c->ring_bytes, PROT_READ, MAP_SHARED, fd, KL_MMAP_RING(i));
		if (c->ring == MAP_FAILED)
			return false;
		c->next = m->position[i];
	}
	return true;
}

static inline void mapped_close(struct mapped *m)
{
	for (u32 i = 0; i < m->cpus; i++) {
		munmap((void *)m->cpu[i].ring, m->cpu[i].ring_bytes);
		for (u32 slot = 0; slot < MAPPED_SLOTS; slot++)
			if (m->cpu[i].block[slot])
				munmap((void *)m->cpu[i].block[slot], m->block_bytes);
	}
	munmap(m->position, 4096);
}

__attribute__((noinline)) static const struct kl_abi_block *mapped_block(struct mapped *m, u32 cpu,
									 u32 index)
{
	struct mapped_cpu *c = &m->cpu[cpu];
	u32 slot = index % MAPPED_SLOTS;
	void *at;

	if (c->block[slot] && c->index[slot] == index)
		return c->block[slot];
	at = mmap(NULL, m->block_bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, m->fd,
		  KL_MMAP_BLOCK(cpu, index, m->block_bytes));
	if (at == MAP_FAILED)
		return NULL;
	if (c->block[slot])
		munmap((void *)c->block[slot], m->block_bytes);
	c->block[slot] = at;
	c->index[slot] = index;
	return at;
}

/* Copies the block with @seq if it is complete before the copy and still in place after it. */
static inline bool mapped_copy(struct mapped *m, u32 cpu, u64 seq, void *to)
{
	struct mapped_cpu *c = &m->cpu[cpu];
	u32 index = __atomic_load_n(&c->ring->map[seq & (c->ring->map_size - 1)], __ATOMIC_ACQUIRE);
	const struct kl_abi_block *b = mapped_block(m, cpu, index);
	u64 bits;

	if (!b)
		return false;
	if (sigsetjmp(mapped_escape, 0)) {
		m->vanished++;
		b = c->block[index % MAPPED_SLOTS];
		c->block[index % MAPPED_SLOTS] = NULL;
		munmap((void *)b, m->block_bytes);
		return false;
	}
	if (__atomic_load_n(&b->seq, __ATOMIC_ACQUIRE) != seq)
		return false;
	bits = __atomic_load_n(&b->content_bits, __ATOMIC_ACQUIRE);
	if (!bits || __atomic_load_n(&b->committed, __ATOMIC_ACQUIRE) * 8 != bits)
		return false;
	memcpy(to, b, m->block_bytes);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&b->seq, __ATOMIC_RELAXED) == seq;
}

/* Copies the next complete block of a CPU to @to. Returns false if there is none yet. */
static inline bool mapped_next(struct mapped *m, u32 cpu, void *to)
{
	struct mapped_cpu *c = &m->cpu[cpu];

	for (;;) {
		u64 tail = __atomic_load_n(&c->ring->tail, __ATOMIC_ACQUIRE);
		u64 head = __atomic_load_n(&c->ring->head, __ATOMIC_ACQUIRE);

		if (c->next < tail)
			c->next = tail;
		if (head == KL_SEQ_NONE || c->next > head)
			return false;
		if (mapped_copy(m, cpu, c->next, to)) {
			c->next++;
			__atomic_store_n(&m->position[cpu], c->next, __ATOMIC_RELEASE);
			return true;
		}
		if (__atomic_load_n(&c->ring->tail, __ATOMIC_ACQUIRE) == tail)
			return false;
	}
}

#endif /* KL_TESTS_MAPPED_H */
