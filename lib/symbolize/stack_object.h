/* SPDX-License-Identifier: GPL-2.0 */
/* The files that contain frames of programs, as a session's collector learns of them. */
#ifndef KL_LIB_SYMBOLIZE_STACK_OBJECT_H
#define KL_LIB_SYMBOLIZE_STACK_OBJECT_H

#include <kernlens/stack.h>

struct kl_elf_process;
struct kl_objects;

/* NULL: out of memory. @session must outlive the result. */
struct kl_objects *kl_objects_create(struct kl_session *session);
void kl_objects_destroy(struct kl_objects *objects);

/* The process that reads the files; 0: none. */
pid_t kl_objects_pid(const struct kl_objects *objects);

/*
 * Fill in what is known about a frame, by its @place as KL_IOC_STACKS reports it. @frame has the
 * address. Up to @room frames are filled in, inlined functions first. @exact: the address is not a
 * return address. Texts live as long as @objects. Returns the number of frames, at least 1.
 */
unsigned int kl_objects_name(struct kl_objects *objects, struct kl_frame *frame, unsigned int room,
			     uint64_t place, bool exact, bool lines);

/* The process that has a file open, or NULL: the file cannot be read. */
struct kl_elf_process *kl_objects_open(struct kl_objects *objects, uint32_t number);

#endif /* KL_LIB_SYMBOLIZE_STACK_OBJECT_H */
