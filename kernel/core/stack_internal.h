/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stack.c and stack_kernel.c, which make traces, share with stack_copy.c, which gives
 * them away.
 */
#ifndef KL_CORE_STACK_INTERNAL_H
#define KL_CORE_STACK_INTERNAL_H

#include "stack.h"
#include "stack_table.h"

/**
 * struct kl_stack_object - a file that frames are in
 * @inode: tells it apart; set first
 * @file: held until the session ends
 */
struct kl_stack_object {
	struct inode *inode;
	struct file *file;
};

/**
 * struct kl_stacks - the traces of a session
 * @kernel_frames, @user_frames: of a trace at most
 * @object: by number less one
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
