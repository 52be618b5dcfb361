/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * KL_IOC_LIMITS: the resources that users consume, and their limits. An opener without
 * KL_MAY_SEE_ALL gets the account of its own user; others get all accounts.
 */
#ifndef KL_UAPI_LIMITS_H
#define KL_UAPI_LIMITS_H

#include "types.h"

enum kl_limit {
#define KL_LIMIT_ROW(id, name, help) KL_LIMIT_##name = id,
#include "limits.def"
#undef KL_LIMIT_ROW
	KL_LIMITS, /* number of known limits */
};

#define KL_LIMITS_MAX 16 /* the struct's capacity */
#define KL_LIMIT_NONE (~0ull)

enum kl_account_kind {
	KL_ACCOUNT_USER = 0, /* a user's unprivileged sessions, in all its user namespaces */
	KL_ACCOUNT_PRIVILEGED = 1, /* a user's sessions that may see all; not limited */
	KL_ACCOUNT_ALL_USERS = 2, /* the unprivileged sessions of all users */
	KL_ACCOUNT_MACHINE = 3, /* all sessions */
};

/*
 * One account. `index` counts up until the call returns -ENOENT. Index 0 is an ordinary opener's
 * own.
 */
struct kl_abi_limits {
	__u32 size;
	__u32 index; /* in */
	__u32 kind; /* enum kl_account_kind */
	__u32 uid; /* for the first two kinds */
	__u64 used[KL_LIMITS_MAX]; /* by enum kl_limit */
	__u64 limit[KL_LIMITS_MAX]; /* KL_LIMIT_NONE: unlimited */
	__u64 refused; /* how often a request was refused because of a limit */
	__u64 patches; /* patches of the kernel's text that were charged to the account */
	__u64 patches_left; /* patches that may be made at once */
	__u64 patch_rate; /* additional patches per second; 0: unlimited */
	__u64 waits; /* how often patches had to wait */
	__u64 work_us; /* time spent in deferred work */
};

#endif /* KL_UAPI_LIMITS_H */
