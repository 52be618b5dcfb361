/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One instruction of the kernel's text as far as a splice has to know it: see instruction.c. Also
 * compiled in user space, where it is compared with another decoder over whole kernels.
 */
#ifndef KL_SOURCE_BLOCK_INSTRUCTION_H
#define KL_SOURCE_BLOCK_INSTRUCTION_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef int32_t s32;
#endif

#define KL_INSTRUCTION_BYTES_MAX 15

/* What an instruction does to the flow, and with it how it is moved. */
enum kl_flow {
	KL_FLOW_ON, /* goes on; may have an operand relative to its address */
	KL_FLOW_BRANCH, /* jumps if a condition holds */
	KL_FLOW_JUMP,
	KL_FLOW_CALL,
	KL_FLOW_RETURN,
	KL_FLOW_FIXED, /* cannot be moved: what it is makes no difference */
};

/**
 * struct kl_instruction - an instruction
 * @bytes: length
 * @flow: enum kl_flow
 * @condition: of a branch, as in its opcode
 * @at: of the relative number, in bytes from the start; 0: it has none
 * @wide: size of that number: 1 or 4
 * @by: the relative number: counts from behind the instruction
 */
struct kl_instruction {
	u8 bytes;
	u8 flow;
	u8 condition;
	u8 at;
	u8 wide;
	s32 by;
};

bool kl_instruction_decode(const u8 *text, size_t room, struct kl_instruction *to);

#endif /* KL_SOURCE_BLOCK_INSTRUCTION_H */
