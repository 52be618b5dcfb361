// SPDX-License-Identifier: GPL-2.0
/*
 * Arguments of USDT markers. The macros have the compiler write each as an operand of its
 * assembler, after its size, so what is parsed here is the AT&T syntax of x86 operands:
 *
 *   [[-]BYTES[f]@]OPERAND, where OPERAND is one of
 *   $NUMBER  $SYMBOL  %REGISTER  [DISPLACEMENT]([%BASE][,%INDEX[,SCALE]])  DISPLACEMENT
 *
 * A displacement is a sum of numbers and at most one symbol.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/abi.h>
#include "../base/base.h"
#include "usdt_argument.h"

#define OPERAND_MAX 256

static const char damaged[] = "has a damaged description";
static const char segment[] = "is thread-local data";
static const char no_symbol[] = "is at a symbol that the file's symbol table does not have";

/* ---------------------------------------------------------------- registers */

/* Names of the first eight registers by width in bytes; those of 1 byte end with ah to bh. */
static const char *const names64[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi" };
static const char *const names32[] = { "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi" };
static const char *const names16[] = { "ax", "cx", "dx", "bx", "sp", "bp", "si", "di" };
static const char *const names8[] = { "al",  "cl",  "dl", "bl", "spl", "bpl",
				      "sil", "dil", "ah", "ch", "dh",  "bh" };

struct reg {
	int8_t number;
	uint8_t bytes;
	uint8_t shift;
};

static int find_name(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}

/* Width of one of r8 to r15 by its suffix; 0: there is no such suffix. */
static uint8_t suffix_bytes(const char *suffix)
{
	static const struct {
		const char *suffix;
		uint8_t bytes;
	} widths[] = { { "", 8 }, { "d", 4 }, { "w", 2 }, { "b", 1 }, { "l", 1 } };

	for (size_t i = 0; i < KL_ARRAY_SIZE(widths); i++)
		if (!strcmp(suffix, widths[i].suffix))
			return widths[i].bytes;
	return 0;
}

/* r8 to r15, with the suffix of their width. */
static bool find_numbered(const char *name, struct reg *reg)
{
	unsigned int number;
	int end = 0;

	if (name[0] != 'r' || !isdigit((unsigned char)name[1]) ||
	    sscanf(name, "r%2u%n", &number, &end) != 1 || number < 8 || number > 15)
		return false;
	*reg = (struct reg){ .number = (int8_t)number, .bytes = suffix_bytes(name + end) };
	return reg->bytes;
}

static bool find_register(const char *name, struct reg *reg)
{
	static const struct {
		const char *const *names;
		uint8_t n, bytes;
	} widths[] = {
		{ names64, 8, 8 },
		{ names32, 8, 4 },
		{ names16, 8, 2 },
		{ names8, KL_ARRAY_SIZE(names8), 1 },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(widths); i++) {
		int number = find_name(widths[i].names, widths[i].n, name);

		if (number < 0)
			continue;
		*reg = (struct reg){ .number = (int8_t)number, .bytes = widths[i].bytes };
		if (number >= 8) {
			reg->number = (int8_t)(number - 8);
			reg->shift = 8;
		}
		return true;
	}
	if (!strcmp(name, "rip")) {
		*reg = (struct reg){ .number = KL_BLOCK_IP, .bytes = 8 };
		return true;
	}
	return find_numbered(name, reg);
}

/* Why a register that is not a general one cannot be read. */
static const char *why_register(const char *name)
{
	static const char *const segments[] = { "cs", "ds", "es", "fs", "gs", "ss" };

	if (find_name(segments, KL_ARRAY_SIZE(segments), name) >= 0)
		return segment;
	if (!strncmp(name, "xmm", 3) || !strncmp(name, "ymm", 3) || !strncmp(name, "zmm", 3) ||
	    !strncmp(name, "st", 2) || !strncmp(name, "mm", 2))
		return "is in a floating-point or vector register";
	return "is in an unknown register";
}

/* ------------------------------------------------------------------ operands */

struct parser {
	const struct kl_usdt_file *file;
	const char *at;
	struct kl_usdt_argument *to;
};

static bool fail(struct parser *p, const char *why)
{
	p->to->kind = KL_USDT_NONE;
	p->to->why = why;
	return false;
}

static bool take(struct parser *p, char c)
{
	if (*p->at != c)
		return false;
	p->at++;
	return true;
}

/* Parse a register's name after its %. */
static bool take_register(struct parser *p, struct reg *reg)
{
	size_t length = 0;
	char name[16];

	while (isalnum((unsigned char)p->at[length]))
		length++;
	if (!length || length >= sizeof(name))
		return fail(p, damaged);
	memcpy(name, p->at, length);
	name[length] = 0;
	p->at += length;
	return find_register(name, reg) || fail(p, why_register(name));
}

static bool is_symbol(char c, bool first)
{
	return isalpha((unsigned char)c) || c == '_' || c == '.' ||
	       (!first && (isdigit((unsigned char)c) || c == '$'));
}

static bool take_symbol(struct parser *p, uint64_t *address)
{
	char name[OPERAND_MAX];
	size_t length = 0;

	while (length < sizeof(name) - 1 && is_symbol(p->at[length], !length))
		length++;
	memcpy(name, p->at, length);
	name[length] = 0;
	p->at += length;
	if (*p->at == '@')
		return fail(p, "is found through the global offset table");
	return p->file->find(p->file->data, name, address) || fail(p, no_symbol);
}

/* Parse a sum of numbers and a symbol. @symbols: set to the number of symbols. */
static bool take_sum(struct parser *p, int64_t *sum, unsigned int *symbols)
{
	uint64_t total = 0, part;
	bool negative;
	char *end;

	*symbols = 0;
	do {
		negative = take(p, '-');
		if (!negative)
			take(p, '+');
		if (isdigit((unsigned char)*p->at)) {
			part = strtoull(p->at, &end, 0);
			p->at = end;
		} else if (is_symbol(*p->at, true) && !negative && !*symbols) {
			if (!take_symbol(p, &part))
				return false;
			(*symbols)++;
		} else {
			return fail(p, damaged);
		}
		total += negative ? -part : part;
	} while (*p->at == '+' || *p->at == '-');
	*sum = (int64_t)total;
	return true;
}

/*
 * The displacement contains a symbol, which is an address in the file: make it relative to the
 * marker's own address, which is known when it is hit.
 */
static void make_relative(struct parser *p)
{
	if (p->file->is_fixed)
		return;
	p->to->base = KL_BLOCK_IP;
	p->to->number -= (int64_t)p->file->address;
	/* The sum wraps at the width of the program's addresses. */
	p->to->is_32 = p->file->is_32;
}

static bool take_scale(struct parser *p)
{
	char digit = *p->at;

	if (digit != '1' && digit != '2' && digit != '4' && digit != '8')
		return fail(p, damaged);
	p->to->scale = (uint8_t)(digit - '0');
	p->at++;
	return true;
}

/* Parse what is in the parentheses: a base, an index and a scale, of which some may be missing. */
static bool take_registers(struct parser *p)
{
	struct reg base = { .number = -1 }, index = { .number = -1 };

	if (take(p, '%') && !take_register(p, &base))
		return false;
	if (take(p, ',')) {
		if (!take(p, '%') || !take_register(p, &index))
			return p->to->why ? false : fail(p, damaged);
		if (take(p, ',') && !take_scale(p))
			return false;
	}
	if (!take(p, ')') || (base.number < 0 && index.number < 0))
		return fail(p, damaged);
	p->to->base = base.number;
	p->to->index = index.number;
	p->to->is_32 = (base.number < 0 ? index : base).bytes == 4;
	return true;
}

static bool take_memory(struct parser *p)
{
	unsigned int symbols = 0;

	p->to->kind = KL_USDT_MEMORY;
	if (*p->at != '(' && !take_sum(p, &p->to->number, &symbols))
		return false;
	if (!take(p, '(')) {
		if (symbols)
			make_relative(p);
		return true;
	}
	if (!take_registers(p))
		return false;
	if (p->to->base == KL_BLOCK_IP) {
		/* The assembler resolves SYMBOL(%rip) to the symbol, whatever the instruction. */
		if (!symbols || p->to->index >= 0)
			return fail(p, "is relative to an unknown instruction");
		p->to->base = -1;
		make_relative(p);
	} else if (symbols && !p->file->is_fixed) {
		return fail(p, "is at an address that depends on where the file is loaded");
	}
	return true;
}

static int64_t narrow(int64_t number, unsigned int bytes, bool is_signed)
{
	unsigned int unused = 64 - 8 * bytes;
	uint64_t high = (uint64_t)number << unused;

	return is_signed ? (int64_t)high >> unused : (int64_t)(high >> unused);
}

static bool take_constant(struct parser *p)
{
	unsigned int symbols;

	p->to->kind = KL_USDT_CONSTANT;
	if (!take_sum(p, &p->to->number, &symbols))
		return false;
	if (symbols) {
		p->to->kind = KL_USDT_ADDRESS;
		make_relative(p);
	} else {
		p->to->number = narrow(p->to->number, p->to->bytes, p->to->is_signed);
	}
	return true;
}

static bool take_plain_register(struct parser *p)
{
	struct reg reg;

	p->to->kind = KL_USDT_REGISTER;
	if (!take_register(p, &reg))
		return false;
	if (*p->at == ':')
		return fail(p, segment);
	p->to->base = reg.number;
	p->to->shift = reg.shift;
	if (reg.bytes < p->to->bytes)
		p->to->bytes = reg.bytes;
	return true;
}

static void take_operand(struct parser *p)
{
	bool good = take(p, '%') ? take_plain_register(p) :
		    take(p, '$') ? take_constant(p) :
				   take_memory(p);

	if (good && *p->at)
		fail(p, damaged);
}

/* Parse the size before @. */
static bool take_size(struct parser *p)
{
	unsigned long bytes;
	char *end;

	p->to->is_signed = take(p, '-');
	bytes = strtoul(p->at, &end, 10);
	if (*end == 'f')
		return fail(p, "is a floating-point number");
	if (*end != '@' || end == p->at)
		return fail(p, damaged);
	p->at = end + 1;
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		return fail(p, "is not a number of 1, 2, 4 or 8 bytes");
	p->to->bytes = (uint8_t)bytes;
	return true;
}

/* Does the operand begin with a size? A symbol can contain an @, too, but after other letters. */
static bool has_size(const char *text)
{
	text += *text == '-';
	text += strspn(text, "0123456789");
	text += *text == 'f';
	return *text == '@';
}

static void parse_one(const struct kl_usdt_file *file, const char *text,
		      struct kl_usdt_argument *to)
{
	struct parser p = { .file = file, .at = text, .to = to };

	*to = (struct kl_usdt_argument){
		.bytes = file->is_32 ? 4 : 8, .scale = 1, .base = -1, .index = -1
	};
	if (!has_size(text) || take_size(&p))
		take_operand(&p);
}

unsigned int kl_usdt_parse(const struct kl_usdt_file *file, const char *text,
			   struct kl_usdt_argument argument[KL_USDT_ARGUMENTS_MAX])
{
	unsigned int n = 0;

	for (text += strspn(text, " "); *text && n < KL_USDT_ARGUMENTS_MAX; n++) {
		size_t length = strcspn(text, " ");
		char one[OPERAND_MAX] = "";

		/* One that is too long is damaged, as is one that is empty. */
		if (length < sizeof(one))
			memcpy(one, text, length);
		parse_one(file, one, &argument[n]);
		text += length;
		text += strspn(text, " ");
	}
	return n;
}
