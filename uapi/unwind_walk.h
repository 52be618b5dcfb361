/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * One step of a walk with unwind tables, from a frame to its caller's. The module takes it on the
 * stack of the running task, the library on a copy of a stack (struct kl_abi_stack_copy).
 */
#ifndef KL_UAPI_UNWIND_WALK_H
#define KL_UAPI_UNWIND_WALK_H

#include "define.h"
#include "unwind.h"

/* Of the registers in a signal frame, from its stack pointer. */
#define KL_SIGNAL_BP 120
#define KL_SIGNAL_SP 160
#define KL_SIGNAL_IP 168

#define KL_CODE_LOWEST 4096ull
#define KL_CODE_END ((1ull << 56) - 4096) /* with five levels of page tables */

/* The registers of a frame that a walk follows. */
struct kl_unwind_frame {
	__u64 ip;
	__u64 sp;
	__u64 bp;
	bool bp_known; /* bp is that of this frame */
};

/* Reads a word of the stack. Returns whether that was possible. */
typedef bool kl_unwind_read(const void *stack, __u64 at, __u64 *word);

static inline bool kl_is_code(__u64 address)
{
	return address >= KL_CODE_LOWEST && address < KL_CODE_END;
}

static inline enum kl_stack_doubt kl_unwind_leave_signal(struct kl_unwind_frame *frame,
							 kl_unwind_read *read, const void *stack)
{
	__u64 sp = frame->sp;

	if (!read(stack, sp + KL_SIGNAL_IP, &frame->ip) ||
	    !read(stack, sp + KL_SIGNAL_SP, &frame->sp) ||
	    !read(stack, sp + KL_SIGNAL_BP, &frame->bp))
		return KL_STACK_NOT_READABLE;
	frame->bp_known = true;
	return kl_is_code(frame->ip) ? KL_STACK_SURE : KL_STACK_INCONSISTENT;
}

/* The canonical frame address. */
static __always_inline enum kl_stack_doubt kl_unwind_cfa(const struct kl_unwind_frame *frame,
							 __u32 rule, kl_unwind_read *read,
							 const void *stack, __u64 *cfa)
{
	__u32 kind = kl_unwind_kind_of(rule);

	if (kind == KL_UNWIND_SP) {
		*cfa = frame->sp + 8ull * kl_unwind_a(rule);
		return KL_STACK_SURE;
	}
	if (kind == KL_UNWIND_PLT) {
		*cfa = frame->sp + ((frame->ip & 15) >= kl_unwind_a(rule) ? 16 : 8);
		return KL_STACK_SURE;
	}
	if (kind != KL_UNWIND_AT_SP && !frame->bp_known)
		return KL_STACK_NO_RULE;
	if (kind == KL_UNWIND_BP) {
		*cfa = frame->bp + 8ull * kl_unwind_a(rule);
		return KL_STACK_SURE;
	}
	if (!read(stack,
		  (kind == KL_UNWIND_AT_SP ? frame->sp : frame->bp) + 8ll * kl_unwind_d(rule), cfa))
		return KL_STACK_NOT_READABLE;
	*cfa += 8ull * kl_unwind_e(rule);
	return KL_STACK_SURE;
}

/*
 * Go to the caller's frame by a rule other than KL_UNWIND_END and those of innermost frames. On
 * failure, the frame stays, unless it is that of a signal.
 */
static __always_inline enum kl_stack_doubt kl_unwind_step(struct kl_unwind_frame *frame, __u32 rule,
							  kl_unwind_read *read, const void *stack)
{
	__u32 kind = kl_unwind_kind_of(rule), b = kl_unwind_b(rule);
	__u64 cfa, ip, bp = frame->bp;
	enum kl_stack_doubt doubt;

	if (kind == KL_UNWIND_NONE)
		return (enum kl_stack_doubt)kl_unwind_a(rule);
	if (kind == KL_UNWIND_OTHER)
		return kl_unwind_is_signal(rule) ? kl_unwind_leave_signal(frame, read, stack) :
						   KL_STACK_NO_RULE;
	doubt = kl_unwind_cfa(frame, rule, read, stack, &cfa);
	if (doubt)
		return doubt;
	if (cfa <= frame->sp || cfa & 7)
		return KL_STACK_INCONSISTENT;
	if (!read(stack, cfa - 8, &ip))
		return KL_STACK_NOT_READABLE;
	if (!kl_is_code(ip))
		return KL_STACK_INCONSISTENT;
	if (b == KL_UNWIND_B_LOST)
		frame->bp_known = false;
	else if (b && !read(stack,
			    b <= KL_UNWIND_B_CFA_MAX ?
				    cfa - 8ull * b :
				    frame->bp + 8ll * ((__s32)b - (__s32)KL_UNWIND_B_BP_ZERO),
			    &bp))
		return KL_STACK_NOT_READABLE;
	else if (b)
		frame->bp_known = true;
	frame->ip = ip;
	frame->sp = cfa;
	frame->bp = bp;
	return KL_STACK_SURE;
}

#endif /* KL_UAPI_UNWIND_WALK_H */
