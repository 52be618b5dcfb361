/* SPDX-License-Identifier: GPL-2.0 */
/* Names of the variables of programs, by address. */
#ifndef KL_LIB_SYMBOLIZE_VARIABLES_H
#define KL_LIB_SYMBOLIZE_VARIABLES_H

#include <kernlens/buffer.h>
#include <kernlens/stack.h>

struct kl_program_variables;

/* NULL: out of memory. */
struct kl_program_variables *kl_program_variables_create(void);
void kl_program_variables_destroy(struct kl_program_variables *variables);

/*
 * Append "variable" or "variable+0x10" for an address of the process whose stack trace this is: it
 * is known where the files of the trace's frames are loaded. Files that have changed since have no
 * variables. Returns false, and appends nothing, if there is no name.
 */
bool kl_program_variables_name(struct kl_program_variables *variables, const struct kl_stack *stack,
			       uint64_t address, struct kl_buffer *name);

#endif /* KL_LIB_SYMBOLIZE_VARIABLES_H */
