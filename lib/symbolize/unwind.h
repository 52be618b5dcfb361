/* SPDX-License-Identifier: GPL-2.0 */
/* Gives a session the unwind tables of the files that its traces are in. */
#ifndef KL_LIB_SYMBOLIZE_UNWIND_H
#define KL_LIB_SYMBOLIZE_UNWIND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../symbol/cfi.h"
#include "stack_object.h"

struct kl_unwinder;

/* NULL: out of memory. @session and @objects must outlive the result. */
struct kl_unwinder *kl_unwinder_create(struct kl_session *session, struct kl_objects *objects);
void kl_unwinder_destroy(struct kl_unwinder *unwinder);

/*
 * Load the table of a file, by its number, of the vDSO, of an open file, of a program and the
 * libraries that it needs, or of all files with code that a process has mapped. What cannot be read
 * has no table, and its frames are uncertain. Files that have been tried are not tried again.
 */
void kl_unwinder_number(struct kl_unwinder *unwinder, uint32_t number);
void kl_unwinder_vdso(struct kl_unwinder *unwinder);
void kl_unwinder_program(struct kl_unwinder *unwinder, const char *path);
void kl_unwinder_process(struct kl_unwinder *unwinder, pid_t pid);

/*
 * The table of a file, by its number, compiled when first needed; NULL: there is none. Valid until
 * kl_unwinder_release(), which frees all of them.
 */
const struct kl_cfi_table *kl_unwinder_table(struct kl_unwinder *unwinder, uint32_t number);
void kl_unwinder_release(struct kl_unwinder *unwinder);

/* Load the tables of all files that turned up in traces. Returns whether there were new ones. */
bool kl_unwinder_wanted(struct kl_unwinder *unwinder);

#endif /* KL_LIB_SYMBOLIZE_UNWIND_H */
