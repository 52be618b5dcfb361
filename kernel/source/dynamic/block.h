/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Defined events that are points of the kernel's text: a patch of block/ comes through
 * splice/enter.S to kl_block_fire. Made by KL_IOC_EVENTS; KL_IOC_SPLICE says where they are.
 */
#ifndef KL_DYNAMIC_BLOCK_H
#define KL_DYNAMIC_BLOCK_H

#include <linux/types.h>

struct kl_dynevent;
struct kl_session;

/**
 * struct kl_block_place - a point that fires
 * @defined: the event; stays as long as the session's splices
 * @address: of the instruction that comes next
 */
struct kl_block_place {
	const struct kl_dynevent *defined;
	unsigned long address;
};

/* On the stack, as splice/enter.S and the patch have written it; the stack was behind it. */
struct kl_block_registers {
	/* of kl_block_enter_all only */
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
	unsigned long back; /* to the patch */
	unsigned long di;
	unsigned long flags;
};

const struct kl_dynevent *kl_dynevent_block(struct kl_session *s, u32 id);
bool kl_dynevent_block_reads(const struct kl_dynevent *d);
void kl_block_fire(const struct kl_block_place *place, const struct kl_block_registers *regs);

/* splice/enter.S: only for patches. */
void kl_block_enter(void);
void kl_block_enter_all(void);

#endif /* KL_DYNAMIC_BLOCK_H */
