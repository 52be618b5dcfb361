// SPDX-License-Identifier: GPL-2.0
/*
 * A small decoder of x86-64: how long an instruction is, whether it has an operand that
 * counts from its own address, and where it goes. It knows nothing else of it, so it has
 * two tables and no operands. What it does not know it refuses, which only leaves a block
 * without a splice. User space decodes with a full decoder; this one checks it.
 *
 * The shapes are those of the opcode maps in the processors' manuals (Intel SDM volume 2,
 * appendix A).
 */
#include "instruction.h"

#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

/* What follows an opcode. */
enum shape {
	X, /* it is none, or not in 64-bit mode, or not in a kernel */
	N, /* nothing */
	M, /* ModRM and what that brings */
	B, /* a byte */
	Z, /* 4 bytes, 2 with an operand size prefix */
	V, /* the same, or 8 with REX.W */
	W, /* 2 bytes */
	E, /* 3 bytes */
	O, /* an address of 8 bytes */
	C, /* M, B */
	D, /* M, Z */
	J, /* a relative byte */
	L, /* 4 relative bytes */
	T, /* M, and B or Z if it is a test: group 3 */
	P, /* prefix or escape: never asked */
};

static const u8 one_byte[256] = {
	/* 0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f */
	M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, P, /* 0 */
	M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X, /* 1 */
	M, M, M, M, B, Z, P, X, M, M, M, M, B, Z, P, X, /* 2 */
	M, M, M, M, B, Z, P, X, M, M, M, M, B, Z, P, X, /* 3 */
	P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, /* 4 */
	N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, /* 5 */
	X, X, P, M, P, P, P, P, Z, D, B, C, N, N, N, N, /* 6 */
	J, J, J, J, J, J, J, J, J, J, J, J, J, J, J, J, /* 7 */
	C, D, X, C, M, M, M, M, M, M, M, M, M, M, M, M, /* 8 */
	N, N, N, N, N, N, N, N, N, N, X, N, N, N, N, N, /* 9 */
	O, O, O, O, N, N, N, N, B, Z, N, N, N, N, N, N, /* a */
	B, B, B, B, B, B, B, B, V, V, V, V, V, V, V, V, /* b */
	C, C, W, N, P, P, C, D, E, N, W, N, N, B, X, N, /* c */
	M, M, M, M, X, X, X, N, M, M, M, M, M, M, M, M, /* d */
	J, J, J, J, B, B, B, B, L, L, X, J, N, N, N, N, /* e */
	P, N, P, P, N, N, T, T, N, N, N, N, N, N, M, M, /* f */
};

/* Behind 0x0f. */
static const u8 two_bytes[256] = {
	M, M, M, M, X, N, N, N, N, N, X, N, X, M, N, C, /* 0 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* 1 */
	M, M, M, M, X, X, X, X, M, M, M, M, M, M, M, M, /* 2 */
	N, N, N, N, N, N, X, N, P, X, P, X, X, X, X, X, /* 3 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* 4 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* 5 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* 6 */
	C, C, C, C, M, M, M, N, M, M, X, X, M, M, M, M, /* 7 */
	L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, /* 8 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* 9 */
	N, N, N, M, C, M, X, X, N, N, N, M, C, M, M, M, /* a */
	M, M, M, M, M, M, M, M, M, M, C, M, M, M, M, M, /* b */
	M, M, C, M, C, C, C, M, N, N, N, N, N, N, N, N, /* c */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* d */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* e */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* f */
};

/* Maps of opcodes. */
enum {
	MAP_ONE,
	MAP_TWO,
	MAP_38,
	MAP_3A,
};

/* What has been read so far. */
struct reading {
	const u8 *text;
	size_t room;
	size_t n;
	bool operand_size;
	bool address_size;
	bool wide; /* REX.W */
	bool vector; /* VEX or EVEX: other shapes for a few */
	u8 map;
	u8 opcode;
};

static bool next(struct reading *r, u8 *byte)
{
	if (r->n >= r->room || r->n >= KL_INSTRUCTION_BYTES_MAX)
		return false;
	*byte = r->text[r->n++];
	return true;
}

/* Prefixes but REX. Returns the first byte that is none in @byte. */
static bool read_prefixes(struct reading *r, u8 *byte)
{
	while (next(r, byte)) {
		switch (*byte) {
		case 0x66:
			r->operand_size = true;
			break;
		case 0x67:
			r->address_size = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0xf0:
		case 0xf2:
		case 0xf3:
			break;
		default:
			return true;
		}
	}
	return false;
}

static bool read_vector(struct reading *r, u8 byte)
{
	u8 maps, rest;

	r->vector = true;
	if (byte == 0xc5) {
		maps = MAP_TWO;
		if (!next(r, &rest))
			return false;
	} else {
		if (!next(r, &maps))
			return false;
		maps &= byte == 0x62 ? 0x07 : 0x1f;
		for (int i = byte == 0x62 ? 2 : 1; i; i--)
			if (!next(r, &rest))
				return false;
	}
	if (maps < MAP_TWO || maps > MAP_3A)
		return false;
	r->map = maps;
	return next(r, &r->opcode);
}

static bool read_opcode(struct reading *r)
{
	u8 byte;

	if (!read_prefixes(r, &byte))
		return false;
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
		return read_vector(r, byte);
	if ((byte & 0xf0) == 0x40) {
		r->wide = byte & 8;
		if (!next(r, &byte))
			return false;
	}
	if (byte == 0x0f) {
		r->map = MAP_TWO;
		if (!next(r, &byte))
			return false;
		if (byte == 0x38 || byte == 0x3a) {
			r->map = byte == 0x38 ? MAP_38 : MAP_3A;
			if (!next(r, &byte))
				return false;
		}
	}
	r->opcode = byte;
	return true;
}

static u8 shape_of(const struct reading *r)
{
	switch (r->map) {
	case MAP_ONE:
		return one_byte[r->opcode];
	case MAP_TWO:
		return two_bytes[r->opcode];
	case MAP_38:
		return M;
	default:
		return C;
	}
}

/* ModRM, SIB and displacement. */
static bool read_operand(struct reading *r, u8 *modrm, struct kl_instruction *to)
{
	u8 mod, rm, sib = 0;
	size_t more;

	if (!next(r, modrm))
		return false;
	mod = *modrm >> 6;
	rm = *modrm & 7;
	/* Control and debug registers have no memory form, whatever stands there. */
	if (mod == 3 || (!r->vector && r->map == MAP_TWO && r->opcode >= 0x20 && r->opcode <= 0x23))
		return true;
	if (rm == 4 && !next(r, &sib))
		return false;
	more = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	if (!mod && (rm == 5 || (rm == 4 && (sib & 7) == 5)))
		more = 4;
	if (!mod && rm == 5) {
		to->at = r->n;
		to->wide = 4;
	}
	r->n += more;
	return true;
}

static size_t immediate_bytes(const struct reading *r, u8 shape, u8 modrm)
{
	size_t z = r->operand_size && !r->wide ? 2 : 4;

	switch (shape) {
	case B:
	case C:
	case J:
		return 1;
	case Z:
	case D:
		return z;
	case V:
		return r->wide ? 8 : z;
	case W:
		return 2;
	case E:
		return 3;
	case O:
		return r->address_size ? 4 : 8;
	case L:
		return 4;
	case T:
		if ((modrm >> 3 & 7) > 1)
			return 0;
		return r->opcode == 0xf6 ? 1 : z;
	default:
		return 0;
	}
}

static bool has_operand(u8 shape)
{
	return shape == M || shape == C || shape == D || shape == T;
}

static u8 flow_of_one(const struct reading *r, u8 modrm)
{
	u8 reg = modrm >> 3 & 7;

	switch (r->opcode) {
	case 0x70 ... 0x7f:
		return KL_FLOW_BRANCH;
	case 0xe8:
		return KL_FLOW_CALL;
	case 0xe9:
	case 0xeb:
		return KL_FLOW_JUMP;
	case 0xc2:
	case 0xc3:
		return KL_FLOW_RETURN;
	case 0xc7: /* xbegin */
		return modrm == 0xf8 ? KL_FLOW_FIXED : KL_FLOW_ON;
	case 0xff:
		return reg >= 2 && reg <= 5 ? KL_FLOW_FIXED : KL_FLOW_ON;
	case 0xca ... 0xcf: /* far returns, traps, interrupts */
	case 0xe0 ... 0xe3: /* loop, jrcxz */
	case 0xf1:
		return KL_FLOW_FIXED;
	default:
		return KL_FLOW_ON;
	}
}

static u8 flow_of_two(const struct reading *r)
{
	switch (r->opcode) {
	case 0x80 ... 0x8f:
		return KL_FLOW_BRANCH;
	case 0x05: /* syscall, sysret, sysenter, sysexit */
	case 0x07:
	case 0x34:
	case 0x35:
	case 0x0b: /* ud2, ud1, ud0 */
	case 0xb9:
	case 0xff:
		return KL_FLOW_FIXED;
	default:
		return KL_FLOW_ON;
	}
}

/**
 * kl_instruction_decode - the instruction at the beginning of some text
 * @text: of the kernel
 * @room: how many bytes may be read
 * @to: out
 *
 * Returns false for what is none, or is not known here. Context: any.
 */
bool kl_instruction_decode(const u8 *text, size_t room, struct kl_instruction *to)
{
	struct reading r = { .text = text, .room = room };
	size_t immediate;
	u8 shape, modrm = 0;

	memset(to, 0, sizeof(*to));
	if (!read_opcode(&r))
		return false;
	shape = shape_of(&r);
	if (shape == X || shape == P || (r.vector && shape != C && r.opcode != 0x77 && shape != M))
		return false;
	if (has_operand(shape) && !read_operand(&r, &modrm, to))
		return false;
	/* Other than pop, a prefix of one maker's vectors. */
	if (!r.vector && r.map == MAP_ONE && r.opcode == 0x8f && modrm >> 3 & 7)
		return false;
	immediate = immediate_bytes(&r, shape, modrm);
	if (shape == J || shape == L) {
		/* Processors differ on what such a prefix does to a jump. */
		if (r.operand_size)
			return false;
		to->at = r.n;
		to->wide = immediate;
	}
	r.n += immediate;
	if (r.n > r.room || r.n > KL_INSTRUCTION_BYTES_MAX)
		return false;
	to->bytes = r.n;
	if (!r.vector && r.map == MAP_ONE)
		to->flow = flow_of_one(&r, modrm);
	else if (!r.vector && r.map == MAP_TWO)
		to->flow = flow_of_two(&r);
	if (to->flow == KL_FLOW_BRANCH)
		to->condition = r.opcode & 0xf;
	if (to->wide == 1)
		to->by = (signed char)text[to->at];
	else if (to->wide == 4)
		memcpy(&to->by, text + to->at, sizeof(to->by));
	return true;
}
