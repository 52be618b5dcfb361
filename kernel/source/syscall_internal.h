/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by syscall.c, syscall_string.c and syscall_memory.c: the arguments of a system call,
 * as saved by the kernel, its strings, and the memory that its arguments point to.
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
void kl_syscall_note_unread(struct kl_session *s, bool is);
int kl_syscall_text(char *to, unsigned long from, u32 most);
int kl_syscall_strings_init(void);
void kl_syscall_strings_deinit(void);

/* Has the memory of arguments been requested? */
static __always_inline bool kl_syscall_wants_memory(const struct kl_session *s)
{
	/* Probes run with preemption off, which is an RCU read-side critical section. */
	return rcu_dereference_sched(s->actions)->memory;
}

void kl_syscall_memory_entry(struct kl_session *s, const struct pt_regs *regs, u32 number);
void kl_syscall_memory_exit(struct kl_session *s, const struct pt_regs *regs, u32 number,
			    bool unread);
int kl_syscall_memory_init(void);
void kl_syscall_memory_deinit(void);

#endif /* KL_SOURCE_SYSCALL_INTERNAL_H */
