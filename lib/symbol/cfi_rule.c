// SPDX-License-Identifier: GPL-2.0
/*
 * Rules of unwind rows, from those of call frame information: what compilers and linkers use is
 * kept exactly, all else becomes KL_UNWIND_NONE, which is never a wrong rule.
 */
#include <string.h>

#include "cfi_internal.h"

#define SIGNAL_SP 160 /* of the stack pointer in a signal frame, from its stack pointer */

enum {
	OP_deref = 0x06,
	OP_and = 0x1a,
	OP_plus = 0x22,
	OP_plus_uconst = 0x23,
	OP_shl = 0x24,
	OP_ge = 0x2a,
	OP_lit0 = 0x30,
	OP_lit31 = 0x4f,
};

/* A number of 8-byte words in 0..@most. */
static bool to_words(int64_t bytes, uint32_t most, uint32_t *words)
{
	if (bytes < 0 || bytes % 8 || bytes / 8 > (int64_t)most)
		return false;
	*words = (uint32_t)(bytes / 8);
	return true;
}

/* The member b. @cfa_bp: CFA minus the frame pointer, if @relative. */
static uint32_t bp_rule(const struct kl_cfi_saved *bp, bool relative, int64_t cfa_bp, bool at_bp)
{
	int64_t offset = bp->offset;
	uint32_t words;

	switch (bp->kind) {
	case SAVED_SAME:
		return KL_UNWIND_B_SAME;
	case SAVED_AT_BP:
		if (at_bp && offset % 8 == 0 && offset / 8 >= -2048 && offset / 8 <= 2046)
			return (uint32_t)(KL_UNWIND_B_BP_ZERO + offset / 8);
		if (!relative)
			return KL_UNWIND_B_LOST;
		offset -= cfa_bp;
		break;
	case SAVED_AT_CFA:
		break;
	default:
		return KL_UNWIND_B_LOST;
	}
	if (offset < -8 * (int64_t)KL_UNWIND_B_CFA_MAX ||
	    !to_words(-offset, KL_UNWIND_B_CFA_MAX, &words) || !words)
		return KL_UNWIND_B_LOST;
	return words;
}

/* What is added at the end of an expression; 0: nothing. */
static bool take_sum(struct kl_cfi_bytes *b, int64_t *sum)
{
	uint64_t op;

	*sum = 0;
	if (b->at == b->end)
		return true;
	op = kl_cfi_take_fixed(b, 1);
	if (op == OP_plus_uconst)
		*sum = (int64_t)kl_cfi_take_uleb(b);
	else if (op >= OP_lit0 && op <= OP_lit31 && kl_cfi_take_fixed(b, 1) == OP_plus)
		*sum = (int64_t)(op - OP_lit0);
	else
		return false;
	return !b->bad && b->at == b->end;
}

/* As linkers describe their stubs: sp + 8 + 8 * ((ip & 15) >= number). */
static uint32_t plt_rule(struct kl_cfi_bytes b)
{
	static const uint8_t rest[] = { OP_ge, OP_lit0 + 3, OP_shl, OP_plus };
	uint64_t number, op;
	int64_t offset;

	if (!kl_cfi_take_breg(&b, &number, &offset) || number != KL_CFI_SP || offset != 8 ||
	    !kl_cfi_take_breg(&b, &number, &offset) || number != KL_CFI_RA || offset ||
	    kl_cfi_take_fixed(&b, 1) != OP_lit0 + 15 || kl_cfi_take_fixed(&b, 1) != OP_and)
		return KL_UNWIND_NONE;
	op = kl_cfi_take_fixed(&b, 1);
	if (b.bad || op < OP_lit0 || op > OP_lit0 + 15 || (size_t)(b.end - b.at) != sizeof(rest) ||
	    memcmp(b.at, rest, sizeof(rest)) != 0)
		return KL_UNWIND_NONE;
	return kl_unwind_rule(KL_UNWIND_PLT, (uint32_t)(op - OP_lit0), 0);
}

static uint32_t expression_rule(const struct kl_cfi_state *state, bool signal)
{
	struct kl_cfi_bytes b = { state->cfa.data, state->cfa.data + state->cfa.bytes, false };
	uint32_t plt = plt_rule(b), words;
	uint64_t number;
	int64_t offset, sum;

	if (plt)
		return state->bp.kind == SAVED_SAME ? plt : KL_UNWIND_NONE;
	if (!kl_cfi_take_breg(&b, &number, &offset) || kl_cfi_take_fixed(&b, 1) != OP_deref ||
	    !take_sum(&b, &sum))
		return KL_UNWIND_NONE;
	if (signal)
		return number == KL_CFI_SP && offset == SIGNAL_SP && !sum ?
			       kl_unwind_rule(KL_UNWIND_OTHER, KL_UNWIND_SIGNAL, 0) :
			       KL_UNWIND_NONE;
	if ((number != KL_CFI_SP && number != KL_CFI_BP) || offset % 8 ||
	    offset / 8 > KL_UNWIND_D_MAX || offset / 8 < -KL_UNWIND_D_MAX ||
	    !to_words(sum, KL_UNWIND_E_MAX, &words))
		return KL_UNWIND_NONE;
	return kl_unwind_rule(number == KL_CFI_SP ? KL_UNWIND_AT_SP : KL_UNWIND_AT_BP,
			      kl_unwind_de((int32_t)(offset / 8), words),
			      bp_rule(&state->bp, false, 0, number == KL_CFI_BP));
}

/* In vfork(), the return address must not be on the stack, which the new process uses, too. */
static bool is_in_di(const struct kl_cfi_state *state)
{
	return state->ra.kind == SAVED_IN_REGISTER && state->ra.offset == KL_CFI_DI &&
	       !state->cfa.bytes && state->cfa_register == KL_CFI_SP && !state->cfa_offset &&
	       state->bp.kind == SAVED_SAME;
}

uint32_t kl_cfi_rule(const struct kl_cfi_state *state, bool signal)
{
	bool of_bp = state->cfa_register == KL_CFI_BP;
	uint32_t words;

	if (state->ra.kind == SAVED_NOWHERE)
		return KL_UNWIND_END;
	if (is_in_di(state) && !signal)
		return kl_unwind_rule(KL_UNWIND_OTHER, KL_UNWIND_IN_DI, 0);
	if (!signal && (state->ra.kind != SAVED_AT_CFA || state->ra.offset != -8))
		return KL_UNWIND_NONE;
	if (state->cfa.bytes)
		return expression_rule(state, signal);
	if (signal || (!of_bp && state->cfa_register != KL_CFI_SP) ||
	    !to_words(state->cfa_offset, KL_UNWIND_A_MAX, &words))
		return KL_UNWIND_NONE;
	return kl_unwind_rule(of_bp ? KL_UNWIND_BP : KL_UNWIND_SP, words,
			      bp_rule(&state->bp, of_bp, state->cfa_offset, false));
}
