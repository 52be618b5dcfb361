/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by syscall.c and syscall_string.c: the arguments of a system call, as saved by the
 * kernel, and its strings.
 */
#ifndef KL_SOURCE_SYSCALL_INTERNAL_H
#define KL_SOURCE_SYSCALL_INTERNAL_H

#include <linux/ptrace.h>

#include "../core/record.h"

/* How an argument is laid out in a record; the first three are units of 4 bytes. */
enum kl_syscall_width {
	WIDTH_none,
	WIDTH_4,
	WIDTH_8,
	WIDTH_string,
};

#define KL_SYSCALL_ARGUMENTS_MAX 6

/* Offsets of the arguments in the saved registers, in order. */
static const u8 kl_syscall_register_of[KL_SYSCALL_ARGUMENTS_MAX] = {
	offsetof(struct pt_regs, di),  offsetof(struct pt_regs, si), offsetof(struct pt_regs, dx),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r8), offsetof(struct pt_regs, r9),
};

static __always_inline unsigned long kl_syscall_argument(const struct pt_regs *regs, u32 n)
{
	return *(const unsigned long *)((const u8 *)regs + kl_syscall_register_of[n]);
}

/* Is the running task in a call with a string that could not be read? */
static __always_inline bool kl_syscall_is_unread(const struct kl_session *s)
{
	const struct kl_taskset *unread = READ_ONCE(s->unread);

	return unread && kl_taskset_has(unread, current->pid);
}

void kl_syscall_strings(struct kl_session *s, struct kl_strings *strings,
			const struct pt_regs *regs, u32 code);
void kl_syscall_late_strings(struct kl_session *s, const struct pt_regs *regs, u32 number,
			     u32 code);
int kl_syscall_strings_init(void);
void kl_syscall_strings_deinit(void);

#endif /* KL_SOURCE_SYSCALL_INTERNAL_H */
