/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Defined events at points of the kernel's text: a patch calls kl_block_fire through
 * splice/enter.S. KL_IOC_EVENTS defines these events; KL_IOC_SPLICE sets their points.
 */
#ifndef KL_DYNAMIC_BLOCK_H
#define KL_DYNAMIC_BLOCK_H

#include <linux/types.h>

struct kl_dynevent;
struct kl_session;

/**
 * struct kl_block_place - a point that fires
 * @defined: the event; lives as long as the session's splices
 * @address: of the instruction that comes next
 */
struct kl_block_place {
	const struct kl_dynevent *defined;
	unsigned long address;
};

/* On the stack, as written by the patch and splice/enter.S. The original stack follows it. */
struct kl_block_registers {
	/* by kl_block_enter_all only */
	unsigned long r15;
	unsigned long r14;
	unsigned long r13;
	unsigned long r12;
	unsigned long bx;
	/* always */
	unsigned long bp;
	unsigned long r11;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long ax;
	unsigned long back; /* return address in the patch */
	unsigned long di;
	unsigned long flags;
};

const struct kl_dynevent *kl_dynevent_block(struct kl_session *s, u32 id);
bool kl_dynevent_block_reads(const struct kl_dynevent *d);
void kl_block_fire(const struct kl_block_place *place, const struct kl_block_registers *regs);

/* splice/enter.S: for patches only. */
void kl_block_enter(void);
void kl_block_enter_all(void);

#endif /* KL_DYNAMIC_BLOCK_H */
