// SPDX-License-Identifier: GPL-2.0
/*
 * Expressions that C evaluates, too: some that the preprocessor duplicates, and many random ones,
 * evaluated while they are generated.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expressions.h"

#define RANDOM_EXPRESSIONS 3000
#define TEXT_MAX 4000

/* The compiler of this file is the reference. */
#define SAME(e) unit_check(gives(scope, #e, (uint64_t)(e)), "as C: " #e)

#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wextra"

void test_arithmetic(struct kl_scope *scope)
{
	const int64_t a = test_record.a, b = test_record.b;
	const uint64_t u = test_record.u;
	/* Numbers are promoted to 64 bits; C's int has 32. */
	const int64_t i = test_record.i, w = test_record.w, h = test_record.h, c = test_record.c;

	SAME(a + b * 3 - c);
	SAME((a + b) * (b - 5));
	SAME(a / 7 % 5);
	SAME(u / 7 % 5);
	SAME(a / (b | 1));
	SAME(-a - -b);
	SAME(b << 3 >> 1);
	SAME(a >> 2);
	SAME(u >> 60);
	SAME((a & 0xff) | (u ^ 0x0f));
	SAME(~u);
	SAME(!a + !!b);
	SAME(i + w + h + c);
	SAME(i < 0 && h < 0 && w > 0);
	SAME(a < b || u > 5);
	SAME(u > -1ll);
	SAME(a > -1);
	SAME(a >= b);
	SAME(a <= b);
	SAME(u >= (uint64_t)a);
	SAME(a == b ? 1 : c ? 2 : 3);
	SAME((a ? b : i) + 1);
	SAME(0x10 + 010 + 10 + 'A' + '\n' + '\x41');
	SAME((uint8_t)a + (int8_t)u + (uint16_t)i + (int32_t)u);
	SAME((_Bool)a + (bool)0);
	SAME(1 + 2 * 3 - 4 / 2 % 3 << 2);
	SAME(1 | 2 ^ 3 & 4 == 4);
	SAME((1 < 2) == (2 > 1) != 0);
	SAME(-7 / 2 + -7 % 2);
	SAME(0x8000000000000000 >> 63);
	SAME((a & 1) && (b & 2) && (c & 4) || i);
	SAME(a + (b + (c + (i + (w + (h + (u + (a + (b + (c + (i + w)))))))))));
}

/* Text and value of a random expression. */
struct writer {
	char text[TEXT_MAX];
	size_t length;
};

struct number {
	uint64_t value;
	bool no_sign;
};

static void add(struct writer *w, const char *text)
{
	if (w->length + strlen(text) < TEXT_MAX)
		w->length += sprintf(w->text + w->length, "%s", text);
}

static struct number leaf(struct writer *w)
{
	char text[32];
	struct number n = { 0 };

	switch (rand() % 8) {
	case 0:
		add(w, "a");
		return (struct number){ test_record.a, false };
	case 1:
		add(w, "b");
		return (struct number){ test_record.b, false };
	case 2:
		add(w, "u");
		return (struct number){ test_record.u, true };
	case 3:
		add(w, "i");
		return (struct number){ test_record.i, false };
	case 4:
		add(w, "w");
		return (struct number){ test_record.w, false };
	case 5:
		add(w, "list[2]");
		return (struct number){ test_record.list[2], false };
	default:
		n.value = rand() % 100;
		sprintf(text, "%u", (unsigned int)n.value);
		add(w, text);
		return n;
	}
}

static struct number combine(unsigned int op, struct number a, struct number b)
{
	bool no_sign = a.no_sign || b.no_sign;
	bool less = no_sign ? a.value < b.value : (int64_t)a.value < (int64_t)b.value;

	switch (op) {
	case 0:
		return (struct number){ a.value + b.value, no_sign };
	case 1:
		return (struct number){ a.value - b.value, no_sign };
	case 2:
		return (struct number){ a.value * b.value, no_sign };
	case 3:
		return (struct number){ a.value & b.value, no_sign };
	case 4:
		return (struct number){ a.value | b.value, no_sign };
	case 5:
		return (struct number){ a.value ^ b.value, no_sign };
	case 6:
		return (struct number){ less, false };
	case 7:
		return (struct number){ !less, false };
	case 8:
		return (struct number){ a.value == b.value, false };
	case 9:
		return (struct number){ a.value && b.value, false };
	default:
		return (struct number){ a.value || b.value, false };
	}
}

static struct number write_random(struct writer *w, unsigned int depth)
{
	static const char *const signs[] = { "+", "-",	"*",  "&",  "|", "^",
					     "<", ">=", "==", "&&", "||" };
	struct number a, b, c;
	unsigned int op;

	if (!depth || !(rand() % 6))
		return leaf(w);
	switch (rand() % 8) {
	case 0:
		add(w, "(~");
		a = write_random(w, depth - 1);
		add(w, ")");
		return (struct number){ ~a.value, a.no_sign };
	case 1:
		add(w, "(u32)(");
		a = write_random(w, depth - 1);
		add(w, ")");
		return (struct number){ (uint32_t)a.value, false };
	case 2:
		add(w, "(");
		a = write_random(w, depth - 1);
		add(w, "?");
		b = write_random(w, depth - 1);
		add(w, ":");
		c = write_random(w, depth - 1);
		add(w, ")");
		return (struct number){ a.value ? b.value : c.value, b.no_sign || c.no_sign };
	default:
		op = rand() % (sizeof(signs) / sizeof(signs[0]));
		add(w, "(");
		a = write_random(w, depth - 1);
		add(w, signs[op]);
		b = write_random(w, depth - 1);
		add(w, ")");
		return combine(op, a, b);
	}
}

void test_random(struct kl_scope *scope)
{
	unsigned int right = 0, too_long = 0;
	struct writer w;

	srand(2);
	for (int n = 0; n < RANDOM_EXPRESSIONS; n++) {
		struct number number;

		w.length = 0;
		number = write_random(&w, 1 + rand() % 6);
		if (kl_expression_compile(scope, "random", w.text, 0, &code) == -E2BIG) {
			too_long++;
			continue;
		}
		right += gives(scope, w.text, number.value);
	}
	printf("# %u right, %u too long\n", right, too_long);
	unit_check(right + too_long == RANDOM_EXPRESSIONS && too_long < RANDOM_EXPRESSIONS / 10,
		   "random expressions have the value that they were written for");
}
