/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of the kernel that are not exported to modules: found by name (function.c), called by
 * static calls, which the kernel patches into direct calls. A call through a pointer would trap on
 * a processor that tracks indirect branches (IBT): the kernel removes the landing pads of the
 * functions to which it has no pointer itself.
 */
#ifndef KL_BASE_FUNCTION_H
#define KL_BASE_FUNCTION_H

#include <linux/static_call.h>

/* KL_FUNCTION_DEFINE(NAME, TYPE) in one file; @type is a function type, such as int(long a). */
#define KL_FUNCTION_DECLARE(name, type) DECLARE_STATIC_CALL(kl_function_##name, type)
#define KL_FUNCTION_DEFINE(name, type) DEFINE_STATIC_CALL_NULL(kl_function_##name, type)

/* Once per function, before its first call. Context: may sleep. */
#define KL_FUNCTION_SET(name, address) static_call_update(kl_function_##name, address)

/* Has it been found? */
#define KL_FUNCTION_IS_SET(name) (!!static_call_query(kl_function_##name))

/* KL_CALL(NAME)(ARGUMENTS) calls a function that has been found. */
#define KL_CALL(name) static_call(kl_function_##name)

/* Find a function, and set it if there is one. Context: may sleep. */
#define KL_FUNCTION_FIND(name) KL_FUNCTION_SET(name, kl_function_find(#name))

void *kl_function_find(const char *name);

#endif /* KL_BASE_FUNCTION_H */
