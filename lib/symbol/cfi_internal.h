/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by cfi.c, which interprets call frame information, cfi_bytes.c and cfi_rule.c. */
#ifndef KL_LIB_SYMBOL_CFI_INTERNAL_H
#define KL_LIB_SYMBOL_CFI_INTERNAL_H

#include "cfi.h"

#define KL_CFI_DI 5 /* numbers of registers */
#define KL_CFI_BP 6
#define KL_CFI_SP 7
#define KL_CFI_RA 16

/* Of expressions. */
enum {
	OP_breg0 = 0x70,
};

/* Encodings of pointers. */
enum {
	PE_absptr = 0x00,
	PE_uleb = 0x01,
	PE_udata2 = 0x02,
	PE_udata4 = 0x03,
	PE_udata8 = 0x04,
	PE_sleb = 0x09,
	PE_sdata2 = 0x0a,
	PE_sdata4 = 0x0b,
	PE_sdata8 = 0x0c,
	PE_pcrel = 0x10,
	PE_omit = 0xff,
};

struct kl_cfi_bytes {
	const uint8_t *at, *end;
	bool bad; /* read beyond the end, or not understood */
};

struct kl_cfi_expression {
	const uint8_t *data;
	size_t bytes;
};

/* Where the caller's value of a register is. */
enum kl_cfi_saved_kind {
	SAVED_SAME,
	SAVED_AT_CFA, /* at CFA + offset */
	SAVED_AT_BP, /* at the frame pointer + offset */
	SAVED_IN_REGISTER, /* of this number */
	SAVED_NOWHERE, /* it has no value */
	SAVED_LOST, /* elsewhere */
};

struct kl_cfi_saved {
	enum kl_cfi_saved_kind kind;
	int64_t offset; /* or number */
};

/* The rules at one instruction. */
struct kl_cfi_state {
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct kl_cfi_expression cfa; /* if not empty, instead of the two above */
	struct kl_cfi_saved bp, ra;
};

struct kl_cfi_cie {
	bool valid, signal, sized;
	uint8_t pointer; /* encoding of the addresses in its FDEs */
	uint64_t code_align;
	int64_t data_align;
	struct kl_cfi_bytes initial;
};

/* Read from the data; @bad is set at its end, and by what is not understood. */
uint64_t kl_cfi_take_fixed(struct kl_cfi_bytes *b, size_t n);
uint64_t kl_cfi_take_uleb(struct kl_cfi_bytes *b);
int64_t kl_cfi_take_sleb(struct kl_cfi_bytes *b);
struct kl_cfi_bytes kl_cfi_take_block(struct kl_cfi_bytes *b, uint64_t n);
struct kl_cfi_expression kl_cfi_take_expression(struct kl_cfi_bytes *b);

/* @encoding: without PE_pcrel, the number as it is. */
uint64_t kl_cfi_take_pointer(struct kl_cfi_bytes *b, uint8_t encoding,
			     const struct kl_cfi_section *section);

/* `breg REGISTER offset`: returns whether the expression begins so. */
bool kl_cfi_take_breg(struct kl_cfi_bytes *b, uint64_t *number, int64_t *offset);

/* The rule of a row. @signal: of a function that returns from signal handlers. */
uint32_t kl_cfi_rule(const struct kl_cfi_state *state, bool signal);

#endif /* KL_LIB_SYMBOL_CFI_INTERNAL_H */
