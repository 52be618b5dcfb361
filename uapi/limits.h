/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * KL_IOC_LIMITS: what users consume of the machine, and their limits. An opener without
 * KL_MAY_SEE_ALL gets the account of its own user, the others get all.
 */
#ifndef KL_UAPI_LIMITS_H
#define KL_UAPI_LIMITS_H

#include "types.h"

enum kl_limit {
#define KL_LIMIT_ROW(id, name, help) KL_LIMIT_##name = id,
#include "limits.def"
#undef KL_LIMIT_ROW
	KL_LIMITS, /* so many are known */
};

#define KL_LIMITS_MAX 16 /* the struct's capacity */
#define KL_LIMIT_NONE (~0ull)

enum kl_account_kind {
	KL_ACCOUNT_USER = 0, /* a user's unprivileged sessions, and those of its user namespaces */
	KL_ACCOUNT_PRIVILEGED = 1, /* a user's sessions that may see all: no limits */
	KL_ACCOUNT_ALL_USERS = 2, /* the unprivileged sessions of all users */
	KL_ACCOUNT_MACHINE = 3, /* all sessions */
};

/* One account; `index` counts up until -ENOENT. Index 0 is an ordinary opener's own. */
struct kl_abi_limits {
	__u32 size;
	__u32 index; /* in */
	__u32 kind; /* enum kl_account_kind */
	__u32 uid; /* of the first two kinds */
	__u64 used[KL_LIMITS_MAX]; /* by enum kl_limit */
	__u64 limit[KL_LIMITS_MAX]; /* KL_LIMIT_NONE: unlimited */
	__u64 refused; /* how often a limit was reached */
	__u64 patches; /* of the kernel's text that were paid for */
	__u64 patches_left; /* that may be made at once */
	__u64 patch_rate; /* more of them a second; 0: unlimited */
	__u64 waits; /* for patches */
	__u64 work_us; /* time that deferred work has taken */
};

#endif /* KL_UAPI_LIMITS_H */
