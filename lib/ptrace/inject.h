/* SPDX-License-Identifier: GPL-2.0 */
/* What inject.c (text) and map.c (memory) share: the state of a splice in progress. */
#ifndef KL_LIB_PTRACE_INJECT_H
#define KL_LIB_PTRACE_INJECT_H

#include <unistd.h>

#include "tracer.h"

/* State of a splice in progress. */
struct kl_placing {
	struct kl_tracer *k;
	struct kl_space *space;
	struct kl_tracer_file *file;
	struct kl_injection injection;
	pid_t tid;
	int memory;
	uint64_t call; /* address of a system call instruction */
};

static inline uint64_t kl_whole_pages(uint64_t bytes)
{
	return (bytes + KL_PAGE_BYTES - 1) & ~(KL_PAGE_BYTES - 1);
}

static inline bool kl_memory_read(int memory, uint64_t at, void *to, size_t bytes)
{
	return pread(memory, to, bytes, (off_t)at) == (ssize_t)bytes;
}

static inline bool kl_memory_write(int memory, uint64_t at, const void *from, size_t bytes)
{
	return pwrite(memory, from, bytes, (off_t)at) == (ssize_t)bytes;
}

/* map.c: for an address space that is held; its worker makes the calls. */
int kl_injection_map(struct kl_placing *p, const struct kl_maps *maps, struct kl_tracee *t);
int kl_injection_unmap(struct kl_remote *r, const struct kl_injection *injection);

#endif /* KL_LIB_PTRACE_INJECT_H */
