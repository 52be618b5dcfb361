/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Unwind tables of programs: for each instruction, where the caller's registers are. User space
 * compiles them from .eh_frame and loads them into a session (KL_IOC_UNWIND); the module walks user
 * stacks with them. Included by kernlens.h, whose compatibility rules apply. x86-64 only.
 *
 * A row applies to the addresses from its offset to that of the next row. Rows are sorted, no two
 * have the same offset, and the last has the rule KL_UNWIND_NONE. Offsets are in the file, as in
 * the places of frames, not in memory.
 *
 * The canonical frame address (CFA) is the stack pointer of the caller after the return, and the
 * return address is in the 8 bytes below it.
 */
#ifndef KL_UAPI_UNWIND_H
#define KL_UAPI_UNWIND_H

#include "types.h"

enum kl_unwind_kind {
	KL_UNWIND_NONE = 0, /* nothing is known about these addresses */
	KL_UNWIND_SP = 1, /* CFA = sp + 8 * a */
	KL_UNWIND_BP = 2, /* CFA = bp + 8 * a */
	KL_UNWIND_AT_SP = 3, /* CFA = the number at sp + 8 * d, + 8 * e */
	KL_UNWIND_AT_BP = 4, /* CFA = the number at bp + 8 * d, + 8 * e */
	KL_UNWIND_END = 5, /* the outermost frame: it has no caller */
	KL_UNWIND_OTHER = 6, /* by a: enum kl_unwind_other */
	KL_UNWIND_PLT = 7, /* CFA = sp + 8, or sp + 16 where the low 4 bits of ip are >= a */
};

enum kl_unwind_other {
	KL_UNWIND_SIGNAL = 0, /* the registers are in the signal frame, at sp */
	/* Only of the innermost frame, of which all registers are known: */
	KL_UNWIND_IN_DI = 1, /* the return address is in rdi, and CFA = sp: vfork() */
	KL_UNWIND_PARENT = 2, /* CFA = sp + 8 unless rax is 0, as it is in a new thread: clone() */
};

/*
 * A rule in 32 bits, from the lowest: kind, 3 bits; a, 16 bits, or d, signed 10 bits, and e, 6
 * bits; b, 13 bits. Unused bits are 0. b is where the caller's frame pointer is:
 */
#define KL_UNWIND_B_SAME 0u /* unchanged */
/* 1 to this: at CFA - 8 * b */
#define KL_UNWIND_B_CFA_MAX 4095u
/* to this, only of AT_BP: at bp + 8 * (b - KL_UNWIND_B_BP_ZERO) */
#define KL_UNWIND_B_BP_ZERO 6144u
#define KL_UNWIND_B_BP_MIN 4096u
#define KL_UNWIND_B_BP_MAX 8190u
#define KL_UNWIND_B_LOST 8191u /* somewhere else */

#define KL_UNWIND_A_SHIFT 3
#define KL_UNWIND_A_MAX 0xffffu
#define KL_UNWIND_D_MAX 511
#define KL_UNWIND_E_SHIFT 13
#define KL_UNWIND_E_MAX 63u
#define KL_UNWIND_B_SHIFT 19

#define KL_UNWIND_ROWS_MAX (8u << 20)

struct kl_unwind_row {
	__u32 offset;
	__u32 rule;
};

/*
 * KL_IOC_UNWIND: gives a session the table of a file. For the session's creator. A table that a
 * privileged user, or the same user, has loaded for the file is shared. A call without rows uses
 * it if there is one, and returns the file's number in any case. -EEXIST: the session has one.
 */
#define KL_UNWIND_VDSO 0x1u /* the table of the vDSO, not of a file; `fd` is -1 */

struct kl_abi_unwind {
	__u32 size;
	__u32 flags; /* KL_UNWIND_VDSO */
	__u32 object; /* in: number of the file, or 0: `fd` refers to it; out: its number */
	__s32 fd;
	__u64 rows; /* struct kl_unwind_row * */
	__u32 n; /* in: number of rows; out: that of the table now in use, 0: none */
	__u32 reserved;
};

KL_ABI_ASSERT(sizeof(struct kl_unwind_row) == 8, "unwind row");
KL_ABI_ASSERT(sizeof(struct kl_abi_unwind) == 32, "unwind call");

#ifndef __KERNEL__
#include <stdbool.h>
#endif

static inline __u32 kl_unwind_rule(enum kl_unwind_kind kind, __u32 a, __u32 b)
{
	return (__u32)kind | a << KL_UNWIND_A_SHIFT | b << KL_UNWIND_B_SHIFT;
}

static inline __u32 kl_unwind_kind_of(__u32 rule)
{
	return rule & 7;
}

static inline __u32 kl_unwind_a(__u32 rule)
{
	return rule >> KL_UNWIND_A_SHIFT & KL_UNWIND_A_MAX;
}

static inline __u32 kl_unwind_b(__u32 rule)
{
	return rule >> KL_UNWIND_B_SHIFT;
}

/* The members d and e in the place of a. */
static inline __u32 kl_unwind_de(__s32 d, __u32 e)
{
	return ((__u32)d & 0x3ff) | e << (KL_UNWIND_E_SHIFT - KL_UNWIND_A_SHIFT);
}

static inline __s32 kl_unwind_d(__u32 rule)
{
	return (__s32)(rule << 19) >> 22;
}

static inline __u32 kl_unwind_e(__u32 rule)
{
	return rule >> KL_UNWIND_E_SHIFT & KL_UNWIND_E_MAX;
}

static inline bool kl_unwind_is_signal(__u32 rule)
{
	return rule == kl_unwind_rule(KL_UNWIND_OTHER, KL_UNWIND_SIGNAL, 0);
}

/* Is a rule one of those above? */
static inline bool kl_unwind_rule_is_valid(__u32 rule)
{
	__u32 a = kl_unwind_a(rule), b = kl_unwind_b(rule);
	bool of_cfa = b <= KL_UNWIND_B_CFA_MAX || b == KL_UNWIND_B_LOST;

	switch (kl_unwind_kind_of(rule)) {
	case KL_UNWIND_NONE:
	case KL_UNWIND_END:
		return !a && !b;
	case KL_UNWIND_OTHER:
		return a <= KL_UNWIND_PARENT && !b;
	case KL_UNWIND_SP:
	case KL_UNWIND_BP:
		return of_cfa;
	case KL_UNWIND_AT_SP:
		return of_cfa;
	case KL_UNWIND_AT_BP:
		return true;
	default:
		return a < 16 && !b;
	}
}

#endif /* KL_UAPI_UNWIND_H */
