/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs programs in the plainest way, written from uapi/kernlens.h alone: connects what the compiler
 * means with what the module does.
 */
#ifndef KL_TESTS_SYMBOL_EVALUATE_H
#define KL_TESTS_SYMBOL_EVALUATE_H

#include <stdbool.h>
#include <kernlens/expression.h>

#define KERNEL_BASE 0xffff888000000000ull
#define KERNEL_BYTES 65536
#define USER_BASE 0x7f0000000000ull
#define USER_BYTES 4096
#define PERCPU_OFFSET 0x8000ull
#define SINCE 1000ull /* nanoseconds since a flag was set, plus the flag's number */

/* The memory that programs read. */
struct machine {
	uint8_t kernel[KERNEL_BYTES]; /* from KERNEL_BASE on */
	uint8_t user[USER_BYTES];
	const uint8_t *fields;
	size_t fields_bytes;
	uint64_t argument[KL_BLOCK_ARGUMENTS];
	uint64_t current;
	uint64_t variable[512];
	const char *variable_text;
	uint64_t flags;
	bool fault;
	uint8_t out[KL_PROGRAM_OUT_MAX];
	size_t out_bytes;
};

/* What is wrong with @code by the rules of the contract; NULL: nothing. */
const char *check_code(const struct kl_code *code);

/* Returns the result; sets @m->out, out_bytes and fault. */
uint64_t evaluate(const struct kl_code *code, struct machine *m);

#endif /* KL_TESTS_SYMBOL_EVALUATE_H */
