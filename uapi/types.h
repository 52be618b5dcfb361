/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Types and sizes that all parts of the contract use. Each of its headers includes this one, so
 * each can be included alone, in the kernel, in C and in C++.
 */
#ifndef KL_UAPI_TYPES_H
#define KL_UAPI_TYPES_H

#ifdef __KERNEL__
#include <linux/ioctl.h>
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include <linux/types.h>
#include <stddef.h>
#include <sys/ioctl.h>
#endif

#define KL_IOC_TYPE 0xB7

#define KL_NAME_MAX 32 /* of a session or a maskset, including the NUL */
#define KL_COMM_LEN 16 /* the kernel's TASK_COMM_LEN */
#define KL_STRING_MAX 256 /* of a string in a record, including the NUL */
#define KL_ERROR_TEXT_MAX 160

/* Compile-time check of a layout; C++ spells it differently. */
#ifdef __cplusplus
#define KL_ABI_ASSERT(condition, what) static_assert(condition, what)
#else
#define KL_ABI_ASSERT(condition, what) _Static_assert(condition, what)
#endif

#endif /* KL_UAPI_TYPES_H */
