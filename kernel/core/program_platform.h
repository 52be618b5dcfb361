/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The platform that programs need, for the kernel and for user space, where the unit and fuzz tests
 * simulate it: memory that can be read or not, a running task, a CPU's offset.
 *
 *   kl_kernel_word(from, log2, &word)   1 << log2 bytes at a kernel address
 *   kl_kernel_copy(to, from, bytes)     any number of bytes there
 *   kl_user_copy(to, from, bytes)       bytes of the running task's memory
 *   kl_running_task()                   its first KL_TASK_BYTES can be read without a check
 *   kl_percpu_offset()                  offset of this CPU's variables
 *   kl_index_nospec(index, size)        index; 0 if the CPU only speculates that it is below size
 *
 * Loads return false if not all bytes could be read. They never sleep and leave nothing in the
 * kernel's log.
 */
#ifndef KL_CORE_PROGRAM_PLATFORM_H
#define KL_CORE_PROGRAM_PLATFORM_H

#ifdef __KERNEL__

#include <linux/err.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <asm/vsyscall.h>

#include "../compat/nofault.h"

/*
 * Addresses that may be passed to a load with an exception table entry: canonical addresses of the
 * kernel's half. A fault there never searches the mappings of the running task, and cannot be a
 * general protection fault, of which the kernel would warn. The vsyscall page lies in this half but
 * is a user page, on which a fault would be an oops; above it are devices. The same check as in
 * copy_from_kernel_nofault of v6.8, but for the paging mode that the CPU is in.
 */
static __always_inline bool kl_kernel_has(u64 from, u64 bytes)
{
	return likely(from >= ~0ull << __VIRTUAL_MASK_SHIFT && from <= VSYSCALL_ADDR - bytes);
}

/*
 * The load that copy_from_kernel_nofault() makes, without the call. That function also disables
 * page faults, which only user addresses need.
 */
static __always_inline bool kl_kernel_word(u64 from, u32 log2, u64 *word)
{
	const void *at = (const void *)from;
	u64 all;
	u32 half;
	u16 two;
	u8 one;

	if (!kl_kernel_has(from, sizeof(all)))
		return false;
	if (log2 == 3) {
		__get_kernel_nofault(&all, at, u64, bad);
		*word = all;
	} else if (log2 == 2) {
		__get_kernel_nofault(&half, at, u32, bad);
		*word = half;
	} else if (log2 == 1) {
		__get_kernel_nofault(&two, at, u16, bad);
		*word = two;
	} else {
		__get_kernel_nofault(&one, at, u8, bad);
		*word = one;
	}
	return true;
bad:
	return false;
}

static inline bool kl_kernel_copy(void *to, u64 from, u32 bytes)
{
	return kl_kernel_has(from, bytes) &&
	       !kl_nofault(copy_from_kernel_nofault(to, (const void *)from, bytes));
}

/* A kernel thread has no mm of its own; the one that it has borrowed is another task's. */
static inline bool kl_user_copy(void *to, u64 from, u32 bytes)
{
	return current->mm &&
	       !kl_nofault(copy_from_user_nofault(to, (const void __user *)from, bytes));
}

/* What follows `thread` may be shorter than the struct declares. */
#define KL_TASK_BYTES offsetof(struct task_struct, thread)

static __always_inline const u8 *kl_running_task(void)
{
	return (const u8 *)current;
}

static __always_inline u64 kl_percpu_offset(void)
{
	return __my_cpu_offset;
}

static inline void *kl_program_alloc(size_t bytes)
{
	return kvzalloc(bytes, GFP_KERNEL_ACCOUNT);
}

static inline void kl_program_free(void *memory)
{
	kvfree(memory);
}

#define kl_index_nospec(index, size) array_index_nospec((unsigned long)(index), size)

#else

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/types.h>
#include <sys/cdefs.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif
#ifndef noinline
#define noinline
#define __printf(format, first)
#endif
#define U16_MAX UINT16_MAX
#define S32_MIN INT32_MIN
#define S32_MAX INT32_MAX
#define S64_MIN INT64_MIN
#define U64_MAX UINT64_MAX

#define kl_index_nospec(index, size) (index)

/* Implemented by the tests. */
#define KL_TASK_BYTES 256
bool kl_kernel_copy(void *to, u64 from, u32 bytes);
bool kl_user_copy(void *to, u64 from, u32 bytes);
const u8 *kl_running_task(void);
u64 kl_percpu_offset(void);
void *kl_program_alloc(size_t bytes);
void kl_program_free(void *memory);

static inline bool kl_kernel_word(u64 from, u32 log2, u64 *word)
{
	*word = 0; /* little endian */
	return kl_kernel_copy(word, from, 1u << log2);
}

static inline void *ERR_PTR(long error)
{
	return (void *)error;
}

static inline bool IS_ERR(const void *pointer)
{
	return (unsigned long)pointer >= -4095ul;
}

#endif /* __KERNEL__ */

struct kl_error;
struct kl_session;

__printf(3, 4) int kl_fail(struct kl_error *why, int error, const char *format, ...);

#endif /* KL_CORE_PROGRAM_PLATFORM_H */
