/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stack traces of a session: the calls that lead to an event, in the kernel and in the program.
 * Requested by the variables `kstack` and `ustack` and the handler `stack`; read by KL_IOC_STACKS.
 * docs/design/stack.md has the rules.
 */
#ifndef KL_CORE_STACK_H
#define KL_CORE_STACK_H

#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/types.h>

#include "../../uapi/kernlens.h"

struct kl_error;
struct kl_session;
struct kl_stacks;
struct kl_variable_slot;
struct pt_regs;

/*
 * Registers that a tick interrupted, while its event is handled; valid only in the hard interrupt.
 */
DECLARE_PER_CPU(struct pt_regs *, kl_stack_origin);

/*
 * Address of ftrace's call in the function that is hit, 0: another event. Its frame is the first.
 */
DECLARE_PER_CPU(unsigned long, kl_stack_function);

/**
 * struct kl_stack_start - where stack traces start, if not at the module's caller
 * @regs: registers at the probe point
 * @level: level of the context that hit the probe point, plus 1; 0: none
 * @text: for a probe point in a program, its first original bytes; 0: read them from memory
 */
struct kl_stack_start {
	struct pt_regs *regs;
	u32 level;
	u32 text;
};

struct kl_stack_start kl_stack_begin(struct pt_regs *regs, u32 text);
void kl_stack_end(struct kl_stack_start before);

static __always_inline struct pt_regs *kl_tick_registers(void)
{
	return in_hardirq() && !in_nmi() ? this_cpu_read(kl_stack_origin) : NULL;
}

u64 kl_stack_kernel(struct kl_session *s);
u64 kl_stack_kernel_until(struct kl_session *s, unsigned long until);
u64 kl_stack_user(struct kl_session *s, bool of_record);
u64 kl_stack_user_variable(const struct kl_variable_slot *slot);
u64 kl_stack_wait_channel(void);
bool kl_stack_request(struct kl_session *s, u32 kinds);
void kl_stack_forget(void);
u64 kl_stack_requested(struct kl_session *s, enum kl_stack_kind kind);
bool kl_stack_is_variable(u32 id);
int kl_stacks_prepare(struct kl_session *s, struct kl_error *why);
void kl_stacks_destroy(struct kl_stacks *stacks);
int kl_stacks_call(struct kl_session *s, struct kl_abi_stacks *call, bool creator, u32 may,
		   struct kl_error *why);
int kl_stacks_init(void);
void kl_stacks_deinit(void);

#endif /* KL_CORE_STACK_H */
