/* SPDX-License-Identifier: GPL-2.0 */
/* The files that frames of programs are in, as a session's collector gets to know them. */
#ifndef KL_LIB_SYMBOLIZE_STACK_OBJECT_H
#define KL_LIB_SYMBOLIZE_STACK_OBJECT_H

#include <kernlens/stack.h>

struct kl_objects;

/* NULL: no memory. @session: must outlive them. */
struct kl_objects *kl_objects_create(struct kl_session *session);
void kl_objects_destroy(struct kl_objects *objects);

/* The process that reads the files; 0: none. */
pid_t kl_objects_pid(const struct kl_objects *objects);

/*
 * Say what is known of a place, as KL_IOC_STACKS tells it. @frame: has the address; those behind
 * it, up to @room, are for functions that were inlined, which then come first. @exact: it is
 * no place that a call returns to. Texts live as long as @objects. Returns how many, at least 1.
 */
unsigned int kl_objects_name(struct kl_objects *objects, struct kl_frame *frame, unsigned int room,
			     uint64_t place, bool exact, bool lines);

#endif /* KL_LIB_SYMBOLIZE_STACK_OBJECT_H */
