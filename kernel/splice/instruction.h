/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One instruction of the kernel's text, as far as splicing needs to know it: see instruction.c.
 * Also compiled in user space, where it is compared with another decoder over whole kernels.
 */
#ifndef KL_SPLICE_INSTRUCTION_H
#define KL_SPLICE_INSTRUCTION_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __s32 s32;
#endif

#define KL_INSTRUCTION_BYTES_MAX 15

/* How an instruction affects control flow, and thus how it is moved. */
enum kl_flow {
	KL_FLOW_ON, /* continues with the next; may have an operand relative to its address */
	KL_FLOW_BRANCH, /* jumps if a condition holds */
	KL_FLOW_JUMP,
	KL_FLOW_CALL,
	KL_FLOW_RETURN,
	KL_FLOW_FIXED, /* cannot be moved, for whatever reason */
};

/* How it affects the flags that an increment changes: all but the carry. */
enum kl_flags {
	KL_FLAGS_READ, /* may read them; assumed if unknown */
	KL_FLAGS_KEPT, /* does not read them; may change some */
	KL_FLAGS_SET, /* does not read them; sets all, or leaves them undefined */
};

/* Does it go where a register or memory says? */
enum kl_indirect {
	KL_INDIRECT_NOT,
	KL_INDIRECT_CALL,
	KL_INDIRECT_JUMP,
	KL_INDIRECT_ANYWHERE, /* a far jump, or one that need not go to a landing pad (IBT) */
};

/**
 * struct kl_instruction - an instruction
 * @bytes: length
 * @flow: enum kl_flow
 * @indirect: enum kl_indirect; the flow is KL_FLOW_FIXED then
 * @flags: enum kl_flags
 * @condition: of a branch, as in its opcode
 * @at: offset of the relative number in the instruction; 0 if it has none
 * @wide: size of that number: 1 or 4
 * @by: the relative number, which counts from the end of the instruction
 */
struct kl_instruction {
	u8 bytes;
	u8 flow;
	u8 indirect;
	u8 flags;
	u8 condition;
	u8 at;
	u8 wide;
	s32 by;
};

#define KL_ENDBR_BYTES 4

/* A landing pad of indirect branches. */
static inline bool kl_text_is_endbr(const u8 *text)
{
	return text[0] == 0xf3 && text[1] == 0x0f && text[2] == 0x1e && text[3] == 0xfa;
}

/* The 5-byte nop where ftrace hooks a function; other nops may look the same. */
static inline bool kl_text_is_hook(const u8 *text)
{
	return text[0] == 0x0f && text[1] == 0x1f && text[2] == 0x44 && !text[3] && !text[4];
}

/* Does it go elsewhere, always or conditionally? Not calls and returns. */
static inline bool kl_instruction_jumps(const struct kl_instruction *in)
{
	return in->flow == KL_FLOW_JUMP || in->flow == KL_FLOW_BRANCH;
}

/* May the following instruction come next, with nothing executed in between? */
static inline bool kl_instruction_goes_on(const struct kl_instruction *in)
{
	return in->flow == KL_FLOW_ON || in->flow == KL_FLOW_BRANCH;
}

bool kl_instruction_decode(const u8 *text, size_t room, struct kl_instruction *to);

#endif /* KL_SPLICE_INSTRUCTION_H */
