/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of the test of expressions. */
#ifndef KL_TESTS_SYMBOL_EXPRESSIONS_H
#define KL_TESTS_SYMBOL_EXPRESSIONS_H

#include "evaluate.h"
#include "unit.h"

/* An event with fields of all types, and the record that all tests use. */
struct record {
	int64_t a, b;
	uint64_t u;
	int32_t i;
	uint32_t w;
	int16_t h;
	uint8_t c;
	char comm[16];
	uint16_t list[4];
	char first[6]; /* "hello" */
	int32_t between;
	char second[1]; /* "" */
	int64_t behind;
} __attribute__((packed));

extern const struct kl_class test_class;
extern const struct record test_record;
extern struct machine machine;
extern struct kl_code code;

/* Does @text compile to a valid program that gives @value? */
bool gives(struct kl_scope *scope, const char *text, uint64_t value);
/* Is it refused with an error text that begins with "filter:" and @message? */
bool refused(struct kl_scope *scope, const char *text, const char *message);

void test_arithmetic(struct kl_scope *scope);
void test_random(struct kl_scope *scope);
void test_fuzz(struct kl_scope *scope);
void test_source(const struct kl_btf *btf, const struct kl_symbols *symbols);

#endif /* KL_TESTS_SYMBOL_EXPRESSIONS_H */
