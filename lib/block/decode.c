// SPDX-License-Identifier: GPL-2.0
/*
 * Decodes one instruction: its length, where it goes, what it reads and writes, and whether it can
 * be relocated. Zydis decodes; this file interprets the result for splicing.
 */
#include <string.h>

#include "../base/base.h"
#include "block.h"

/* Flags that an increment changes; it preserves the carry flag. */
#define COUNTED_FLAGS                                                                \
	(ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | \
	 ZYDIS_CPUFLAG_OF)

static bool is_return_thunk(const struct kl_blocks *b, uint64_t target)
{
	for (size_t i = 0; i < b->return_thunks; i++)
		if (b->return_thunk[i] == target)
			return true;
	return false;
}

static void set_target(const ZydisDecodedInstruction *in, uint64_t address,
		       struct kl_block_instruction *to)
{
	if (in->raw.imm[0].is_relative)
		to->target = address + in->length + in->raw.imm[0].value.s;
}

/*
 * Does an indirect jump leave its function, as it cannot go to anything but a landing pad? Far
 * jumps may, and so may those with a prefix for it, if the kernel allows it.
 */
static bool leaves_function(const struct kl_blocks *b, const ZydisDecodedInstruction *in)
{
	return b->tracked && in->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR &&
	       !(in->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_DS) &&
	       !(in->attributes & ZYDIS_ATTRIB_HAS_NOTRACK);
}

/* Set how it ends a block, where it goes, and whether it can be relocated at all. */
static void set_end(const struct kl_blocks *b, const ZydisDecodedInstruction *in, uint64_t address,
		    struct kl_block_instruction *to)
{
	set_target(in, address, to);
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		to->end = KL_END_CALL;
		if (!to->target)
			to->reason = KL_BLOCK_cannot_move;
		break;
	case ZYDIS_CATEGORY_COND_BR:
		to->end = KL_END_BRANCH;
		/* loop and jrcxz have no wider form; xbegin's target is an abort handler. */
		if (in->mnemonic == ZYDIS_MNEMONIC_LOOP || in->mnemonic == ZYDIS_MNEMONIC_LOOPE ||
		    in->mnemonic == ZYDIS_MNEMONIC_LOOPNE || in->mnemonic == ZYDIS_MNEMONIC_JCXZ ||
		    in->mnemonic == ZYDIS_MNEMONIC_JECXZ || in->mnemonic == ZYDIS_MNEMONIC_JRCXZ ||
		    in->mnemonic == ZYDIS_MNEMONIC_XBEGIN)
			to->reason = KL_BLOCK_cannot_move;
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		to->end = to->target && is_return_thunk(b, to->target) ? KL_END_RETURN :
									 KL_END_JUMP;
		if (!to->target && !leaves_function(b, in))
			to->reason = KL_BLOCK_cannot_move;
		break;
	case ZYDIS_CATEGORY_RET:
		to->end = in->mnemonic == ZYDIS_MNEMONIC_RET &&
					  in->meta.branch_type != ZYDIS_BRANCH_TYPE_FAR ?
				  KL_END_RETURN :
				  KL_END_STOP;
		if (to->end == KL_END_STOP)
			to->reason = KL_BLOCK_cannot_move;
		break;
	case ZYDIS_CATEGORY_SYSRET:
		to->end = KL_END_STOP;
		to->reason = KL_BLOCK_cannot_move;
		break;
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
		to->reason = KL_BLOCK_cannot_move;
		break;
	default:
		break;
	}
	if (in->mnemonic == ZYDIS_MNEMONIC_UD0 || in->mnemonic == ZYDIS_MNEMONIC_UD1 ||
	    in->mnemonic == ZYDIS_MNEMONIC_UD2) {
		/*
		 * Execution continues after the ud2 of a WARN(); the tables list it like that of a
		 * BUG().
		 */
		to->reason = KL_BLOCK_bug;
	} else if (in->mnemonic == ZYDIS_MNEMONIC_INT3) {
		to->end = KL_END_STOP;
		to->reason = KL_BLOCK_cannot_move;
	} else if (in->mnemonic == ZYDIS_MNEMONIC_ENDBR64) {
		to->reason = KL_BLOCK_function_entry;
	}
}

static bool decode(const struct kl_blocks *b, uint64_t address, size_t room,
		   struct kl_block_instruction *to, ZydisDecodedInstruction *in,
		   ZydisDecoderContext *context)
{
	memset(to, 0, sizeof(*to));
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&b->decoder, context,
							kl_text_of(b, address), room, in)))
		return false;
	to->bytes = in->length;
	to->block = KL_NO_BLOCK;
	to->nop = in->meta.category == ZYDIS_CATEGORY_NOP ||
		  in->meta.category == ZYDIS_CATEGORY_WIDENOP;
	set_end(b, in, address, to);
	return true;
}

/*
 * Immediates that may be addresses, as the module reads them: the last 4 bytes, sign-extended, and
 * the last 8, if they follow any rip-relative operand.
 */
static void find_numbers(const ZydisDecodedInstruction *in, const uint8_t *text,
			 struct kl_taken *to)
{
	unsigned int begin = 1;

	if (in->raw.imm[0].is_relative)
		begin = in->raw.imm[0].offset + in->raw.imm[0].size / 8;
	else if (in->attributes & ZYDIS_ATTRIB_IS_RELATIVE)
		begin = in->raw.disp.offset + in->raw.disp.size / 8;
	if (in->length >= begin + 4)
		to->perhaps[0] = (int64_t)(int32_t)kl_get32(text + in->length - 4);
	if (in->length >= begin + 8)
		to->perhaps[1] = kl_get64(text + in->length - 8);
}

/*
 * Decode only the length, end, target and reason, and the addresses that the instruction refers to.
 * False: not an instruction.
 */
bool kl_decode_shape(const struct kl_blocks *b, uint64_t address, size_t room,
		     struct kl_block_instruction *to, struct kl_taken *taken)
{
	ZydisDecodedInstruction in;
	uint64_t target;

	if (!decode(b, address, room, to, &in, NULL))
		return false;
	*taken = (struct kl_taken){};
	find_numbers(&in, kl_text_of(b, address), taken);
	if (!(in.attributes & ZYDIS_ATTRIB_IS_RELATIVE) || in.raw.imm[0].is_relative)
		return true;
	target = address + in.length + in.raw.disp.value;
	if (in.mnemonic == ZYDIS_MNEMONIC_LEA)
		taken->taken = target;
	else
		taken->perhaps[2] = target;
	return true;
}

int kl_register_number(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return -1;
	return whole - ZYDIS_REGISTER_RAX;
}

static uint32_t bit_of(ZydisRegister reg)
{
	int number = kl_register_number(reg);

	return number < 0 ? 0 : 1u << number;
}

static void add_operand(const ZydisDecodedOperand *operand, struct kl_block_instruction *to)
{
	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		to->reads |= bit_of(operand->mem.base) | bit_of(operand->mem.index);
		return;
	}
	if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	if (operand->actions & (ZYDIS_OPERAND_ACTION_READ | ZYDIS_OPERAND_ACTION_CONDREAD))
		to->reads |= bit_of(operand->reg.value);
	/* A write of 32 bits clears the upper half; a shorter one preserves the rest. */
	if (operand->actions & ZYDIS_OPERAND_ACTION_WRITE && operand->size >= 32)
		to->kills |= bit_of(operand->reg.value);
	else if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		to->reads |= bit_of(operand->reg.value);
}

/* Decode everything. False: not an instruction. */
bool kl_decode(const struct kl_blocks *b, uint64_t address, size_t room,
	       struct kl_block_instruction *to)
{
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	ZydisDecoderContext context;
	ZydisAccessedFlagsMask set;

	if (!decode(b, address, room, to, &in, &context))
		return false;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&b->decoder, &context, &in, operand,
						     in.operand_count)))
		return false;
	for (unsigned int i = 0; i < in.operand_count; i++)
		add_operand(&operand[i], to);
	if (in.cpu_flags) {
		set = in.cpu_flags->modified | in.cpu_flags->set_0 | in.cpu_flags->set_1 |
		      in.cpu_flags->undefined;
		if (in.cpu_flags->tested & COUNTED_FLAGS)
			to->reads |= KL_LIVE_FLAGS;
		/* A shift by a register may leave the flags unchanged. */
		if ((set & COUNTED_FLAGS) == COUNTED_FLAGS &&
		    in.meta.category != ZYDIS_CATEGORY_SHIFT &&
		    in.meta.category != ZYDIS_CATEGORY_ROTATE)
			to->kills |= KL_LIVE_FLAGS;
	}
	if (in.mnemonic == ZYDIS_MNEMONIC_PUSHFQ)
		to->reads |= KL_LIVE_FLAGS;
	if (in.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		to->kills = 0;
	return true;
}

/* Decode an instruction of a graph again, with all its operands. */
bool kl_decode_operands(const struct kl_blocks *b, const struct kl_block_graph *g, uint32_t index,
			ZydisDecodedInstruction *in, ZydisDecodedOperand *operand)
{
	const struct kl_block_instruction *at = &g->instruction[index];

	return ZYAN_SUCCESS(
		ZydisDecoderDecodeFull(&b->decoder, g->text + at->offset, at->bytes, in, operand));
}

/* Is it all padding from the compiler: breakpoints, zeros, nops? */
bool kl_is_padding(const uint8_t *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (at[i] != 0xcc && at[i] != 0x90 && at[i])
			return false;
	return true;
}
