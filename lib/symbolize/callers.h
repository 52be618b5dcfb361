/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the callers of a user stack trace in the copy of the stack that the module has made. */
#ifndef KL_LIB_SYMBOLIZE_CALLERS_H
#define KL_LIB_SYMBOLIZE_CALLERS_H

#include <stddef.h>
#include <stdint.h>

#include <kernlens/abi.h>
#include "../symbol/cfi.h"

/* The unwind table of a file, by its number. Valid until the next call; NULL: there is none. */
typedef const struct kl_cfi_table *kl_callers_table(void *of, uint32_t number);

/**
 * struct kl_user_trace - a user stack trace
 * @about: as KL_IOC_STACKS gives it
 * @address: the frames' addresses, innermost first
 * @place: their file positions
 */
struct kl_user_trace {
	struct kl_abi_stack about;
	uint64_t address[KL_STACK_FRAMES_MAX];
	uint64_t place[KL_STACK_FRAMES_MAX];
};

/* Size of the copy that follows a trace with KL_STACK_COPY, in bytes. */
size_t kl_copy_bytes(const uint8_t *copy);

/*
 * Replace the uncertain frames of a trace by those that the copy shows, as far as there are tables.
 * @trace: changed, and KL_STACK_COPY is cleared; @copy: as it follows the trace.
 */
void kl_callers_find(struct kl_user_trace *trace, const uint8_t *copy, kl_callers_table *table,
		     void *of);

#endif /* KL_LIB_SYMBOLIZE_CALLERS_H */
