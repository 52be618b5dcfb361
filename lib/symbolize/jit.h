/* SPDX-License-Identifier: GPL-2.0 */
/* Names of code that processes have compiled themselves, from the maps that they write for perf. */
#ifndef KL_LIB_SYMBOLIZE_JIT_H
#define KL_LIB_SYMBOLIZE_JIT_H

#include <stdint.h>
#include <sys/types.h>
#include <kernlens/stack.h>

struct kl_jit;

/* NULL: out of memory. */
struct kl_jit *kl_jit_create(void);
void kl_jit_destroy(struct kl_jit *jit);

/* Processes may have compiled more since: look at their maps again. */
void kl_jit_update(struct kl_jit *jit);

/*
 * Set a frame's symbol, offset and object if its address is in code of @pid that has a name.
 * @exact: the address is not a return address. Texts live as long as @jit.
 */
void kl_jit_name(struct kl_jit *jit, pid_t pid, struct kl_frame *frame, bool exact);

#endif /* KL_LIB_SYMBOLIZE_JIT_H */
