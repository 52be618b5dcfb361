// SPDX-License-Identifier: GPL-2.0
/*
 * A small decoder of x86-64: an instruction's length, whether it has an operand relative to its
 * own address, where it continues, and whether it needs the flags. It knows nothing else about
 * instructions, so it needs only two tables and decodes no operands. It rejects what it does not
 * know, so that such a block is not spliced. User space decodes with a full decoder; this one
 * checks it.
 *
 * The shapes are those of the opcode maps in the processors' manuals (Intel SDM volume 2, appendix
 * A).
 */
#include "instruction.h"

#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

/* What follows an opcode. */
enum shape {
	X, /* not an instruction, or not in 64-bit mode, or not in a kernel */
	N, /* nothing */
	M, /* ModRM with SIB and displacement */
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
	T, /* M, and B or Z for a test: group 3 */
	P, /* prefix or escape: never looked up */
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

/* After 0x0f. */
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
	N, N, N, M, C, M, M, M, N, N, N, M, C, M, M, M, /* a */
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

/* The state of decoding. */
struct reading {
	const u8 *text;
	size_t room;
	size_t n;
	bool operand_size;
	bool address_size;
	bool untracked; /* a jump with this prefix could be exempt from tracking (IBT) */
	bool wide; /* REX.W */
	bool vector; /* VEX or EVEX: a few shapes differ */
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

/* Skip all prefixes but REX. Returns the first byte that is not a prefix in @byte. */
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
		case 0x3e:
			r->untracked = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
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

/* Read ModRM, SIB and displacement. */
static bool read_operand(struct reading *r, u8 *modrm, struct kl_instruction *to)
{
	u8 mod, rm, sib = 0;
	size_t more;

	if (!next(r, modrm))
		return false;
	mod = *modrm >> 6;
	rm = *modrm & 7;
	/* Control and debug registers have no memory form, whatever the mod field is. */
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

/* How an instruction of group 5 goes where a register or memory says. */
static u8 indirect_of(const struct reading *r, u8 modrm)
{
	if (r->opcode != 0xff)
		return KL_INDIRECT_NOT;
	switch (modrm >> 3 & 7) {
	case 2:
		return KL_INDIRECT_CALL;
	case 4:
		return r->untracked ? KL_INDIRECT_ANYWHERE : KL_INDIRECT_JUMP;
	case 5:
		return KL_INDIRECT_ANYWHERE;
	default:
		return KL_INDIRECT_NOT;
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

/* Effect of a one-byte opcode on the flags that an increment changes. */
static u8 flags_of_one(const struct reading *r, u8 modrm)
{
	u8 reg = modrm >> 3 & 7;

	switch (r->opcode) {
	case 0x00 ... 0x3f: /* add, or, adc, sbb, and, sub, xor, cmp */
		return (r->opcode & 0x30) == 0x10 ? KL_FLAGS_READ : KL_FLAGS_SET;
	case 0x80 ... 0x83:
		return reg == 2 || reg == 3 ? KL_FLAGS_READ : KL_FLAGS_SET;
	case 0x84: /* test */
	case 0x85:
	case 0xa8:
	case 0xa9:
	case 0x69: /* imul */
	case 0x6b:
		return KL_FLAGS_SET;
	case 0x50 ... 0x5f: /* push, pop */
	case 0x63:
	case 0x68:
	case 0x6a:
	case 0x86 ... 0x8b: /* xchg, mov */
	case 0x8d:
	case 0x8f:
	case 0x90 ... 0x99: /* xchg, cwde, cdq */
	case 0xa4: /* movs */
	case 0xa5:
	case 0xaa: /* stos */
	case 0xab:
	case 0xb0 ... 0xbf:
	case 0xc2: /* ret */
	case 0xc3:
	case 0xc6:
	case 0xc7:
	case 0xc9:
	case 0xe8:
	case 0xe9:
	case 0xeb:
	case 0xfa ... 0xfd: /* cli, sti, cld, std */
		return KL_FLAGS_KEPT;
	case 0xc0: /* shifts, possibly by 0; rotations through the carry */
	case 0xc1:
	case 0xd0 ... 0xd3:
		return reg == 2 || reg == 3 ? KL_FLAGS_READ : KL_FLAGS_KEPT;
	case 0xf6: /* test, not, neg, mul, div */
	case 0xf7:
		return reg == 2 || reg > 5 ? KL_FLAGS_KEPT : KL_FLAGS_SET;
	case 0xfe: /* inc, dec */
		return reg < 2 ? KL_FLAGS_SET : KL_FLAGS_READ;
	case 0xff:
		return reg < 2 ? KL_FLAGS_SET : reg == 6 ? KL_FLAGS_KEPT : KL_FLAGS_READ;
	default:
		return KL_FLAGS_READ;
	}
}

/* The same for opcodes after 0x0f. */
static u8 flags_of_two(const struct reading *r, u8 modrm)
{
	switch (r->opcode) {
	case 0xaf: /* imul */
	case 0xb0: /* cmpxchg */
	case 0xb1:
	case 0xc0: /* xadd */
	case 0xc1:
		return KL_FLAGS_SET;
	case 0x01: /* clac, stac */
		return modrm == 0xca || modrm == 0xcb ? KL_FLAGS_KEPT : KL_FLAGS_READ;
	case 0x0d: /* prefetch, nops */
	case 0x10 ... 0x29: /* moves of vectors, control and debug registers */
	case 0x30 ... 0x32: /* wrmsr, rdtsc, rdmsr */
	case 0x6e:
	case 0x6f:
	case 0x7e:
	case 0x7f:
	case 0xa2: /* cpuid */
	case 0xa3: /* bt and the like: the carry only */
	case 0xa4: /* shld */
	case 0xa5:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xae: /* fences */
	case 0xb3:
	case 0xb6: /* movzx, popcnt, movsx, bsf */
	case 0xb7:
	case 0xb8:
	case 0xba ... 0xbf:
	case 0xc8 ... 0xcf: /* bswap */
	case 0xd6:
	case 0xef:
		return KL_FLAGS_KEPT;
	default:
		return KL_FLAGS_READ;
	}
}

/**
 * kl_instruction_decode - decode the instruction at the start of some text
 * @text: of the kernel
 * @room: bytes that may be read
 * @to: filled in
 *
 * Returns false if it is not an instruction, or not one known here. Context: any.
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
	/* Other than pop, this is a prefix of one vendor's vector instructions. */
	if (!r.vector && r.map == MAP_ONE && r.opcode == 0x8f && modrm >> 3 & 7)
		return false;
	/* The hashes and ciphers of one vendor name no other register. */
	if (r.map == MAP_TWO && (r.opcode | 1) == 0xa7 && (r.vector || (modrm & 0xc7) != 0xc0))
		return false;
	immediate = immediate_bytes(&r, shape, modrm);
	if (shape == J || shape == L) {
		/* Processors differ in what this prefix does to a jump. */
		if (r.operand_size)
			return false;
		to->at = r.n;
		to->wide = immediate;
	}
	r.n += immediate;
	if (r.n > r.room || r.n > KL_INSTRUCTION_BYTES_MAX)
		return false;
	to->bytes = r.n;
	if (!r.vector && r.map == MAP_ONE) {
		to->flow = flow_of_one(&r, modrm);
		to->indirect = indirect_of(&r, modrm);
		to->flags = flags_of_one(&r, modrm);
	} else if (!r.vector && r.map == MAP_TWO) {
		to->flow = flow_of_two(&r);
		to->flags = flags_of_two(&r, modrm);
	}
	if (to->flow == KL_FLOW_BRANCH)
		to->condition = r.opcode & 0xf;
	if (to->wide == 1)
		to->by = (signed char)text[to->at];
	else if (to->wide == 4)
		memcpy(&to->by, text + to->at, sizeof(to->by));
	return true;
}
