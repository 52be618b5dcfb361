/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by account.c and tokens.c: an account, and the lock of all accounts. */
#ifndef KL_CORE_ACCOUNT_INTERNAL_H
#define KL_CORE_ACCOUNT_INTERNAL_H

#include <linux/list.h>
#include <linux/spinlock.h>

#include "account.h"

#define KL_PARAMETERS "/sys/module/kernlens/parameters/"

/* A token bucket, as the tokens that have been taken and not yet refilled. */
struct kl_bucket {
	u64 debt;
	u64 at; /* nanoseconds; when @debt was last updated */
};

/**
 * struct kl_account - what one user, or a group of them, uses
 * @node: entry in the hash table of accounts of one user
 * @idle: entry in the list of accounts without payers
 * @kind: enum kl_account_kind
 * @payers: number of payers that charge it
 * @used: amounts in use, by enum kl_limit
 */
struct kl_account {
	struct hlist_node node;
	struct list_head idle;
	kuid_t uid;
	u32 kind;
	u32 payers;
	u64 used[KL_LIMITS];
	u64 refused;
	u64 patches;
	u64 waits;
	u64 work_us;
	struct kl_bucket bucket[KL_BUCKETS];
};

extern spinlock_t kl_accounts_lock;

bool kl_bucket_is_full(struct kl_account *a, enum kl_bucket_kind kind, u64 now);
void kl_bucket_read(struct kl_account *a, enum kl_bucket_kind kind, u64 now,
		    struct kl_abi_limits *limits);

#endif /* KL_CORE_ACCOUNT_INTERNAL_H */
