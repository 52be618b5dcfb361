/* SPDX-License-Identifier: GPL-2.0 */
/* Results of the expressions in -e and -v: how they are stored, and how to print them. */
#ifndef KERNLENS_RESULT_H
#define KERNLENS_RESULT_H

#include <stdint.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>

KL_PUBLIC_BEGIN

/* How to interpret the value of an expression. */
enum kl_result_kind {
	KL_RESULT_NUMBER,
	KL_RESULT_POINTER, /* to an object of type btf_type, if that is not 0 */
	KL_RESULT_ENUM, /* a constant of the enum btf_type */
	KL_RESULT_STRING, /* recorded with the event */
};

/**
 * struct kl_result - the result of a program
 * @kind: how to interpret it
 * @type: how it is stored: a number's width and sign, or KL_TYPE_STRING
 * @format: how to print it
 * @btf_type: the enum, or the type that a pointer points to; else 0
 */
struct kl_result {
	enum kl_result_kind kind;
	enum kl_type type;
	enum kl_format format;
	uint32_t btf_type;
};

KL_PUBLIC_END

#endif /* KERNLENS_RESULT_H */
