/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by stack.c and stack_kernel.c, which take stack traces, and stack_copy.c, which copies
 * them to user space.
 */
#ifndef KL_CORE_STACK_INTERNAL_H
#define KL_CORE_STACK_INTERNAL_H

#include "stack.h"
#include "stack_table.h"

/**
 * struct kl_stack_object - a file that frames are in
 * @inode: identifies the file; set first
 * @file: reference to the file, until the session ends
 */
struct kl_stack_object {
	struct inode *inode;
	struct file *file;
};

/**
 * struct kl_stacks - the traces of a session
 * @kernel_frames, @user_frames: limits on the frames of a trace
 * @object: files, by object number minus one
 */
struct kl_stacks {
	struct kl_stack_table table;
	u32 kernel_frames;
	u32 user_frames;
	struct kl_stack_object object[KL_STACK_OBJECTS_MAX];
};

u32 kl_stack_walk_kernel(u64 *frame, u32 most, struct pt_regs *regs, u8 *flags);
void kl_stack_kernel_init(void);

#endif /* KL_CORE_STACK_INTERNAL_H */
