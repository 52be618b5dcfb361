/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The accounts that are charged for what sessions and descriptors use, and their limits: see
 * account.c and docs/design/limits.md.
 */
#ifndef KL_CORE_ACCOUNT_H
#define KL_CORE_ACCOUNT_H

#include <linux/types.h>
#include <linux/uidgid.h>

#include "../../uapi/kernlens.h"

struct cred;
struct kl_account;
struct kl_error;
struct user_namespace;

#define KL_PAYER_ACCOUNTS 5

/* Memory charged for an open descriptor, of the device or of /proc/kernlens. */
#define KL_DESCRIPTOR_BYTES (32u << 10)

/**
 * struct kl_payer - charges what one session, descriptor or open file uses
 * @account: all accounts that are charged, NULL after the last; constant
 * @used: what it has charged and not given back, by enum kl_limit; under kl_accounts_lock
 * @base: memory that is charged only to the user's own accounts; under the same lock
 * @limited: it belongs to an unprivileged user, so it must take tokens; constant
 */
struct kl_payer {
	struct kl_account *account[KL_PAYER_ACCOUNTS];
	u64 used[KL_LIMITS];
	u64 base;
	bool limited;
};

/* Token buckets. */
enum kl_bucket_kind {
	KL_BUCKET_PATCHES,
	KL_BUCKET_WORK, /* microseconds of deferred work */
	KL_BUCKET_PROBES, /* microseconds of probes with interrupts off, divided by CPUs */
	KL_BUCKETS,
};

int kl_payer_init(struct kl_payer *p, const struct cred *cred, u32 may);
void kl_payer_copy(struct kl_payer *p, const struct kl_payer *from);
void kl_payer_deinit(struct kl_payer *p);
bool kl_payer_shares(const struct kl_payer *a, const struct kl_payer *b);
int kl_payer_charge(struct kl_payer *p, enum kl_limit what, u64 n, struct kl_error *why);
int kl_payer_charge_base(struct kl_payer *p, u64 bytes);
void kl_payer_uncharge(struct kl_payer *p, enum kl_limit what, u64 n);
u32 kl_payer_take(struct kl_payer *p, enum kl_bucket_kind kind, u32 n);
void kl_payer_spend(struct kl_payer *p, enum kl_bucket_kind kind, u32 n);
u32 kl_payer_delay(const struct kl_payer *p, enum kl_bucket_kind kind);
int kl_payer_refuse_patches(struct kl_payer *p, struct kl_error *why);

u64 kl_account_limit(enum kl_limit what);
int kl_account_read(struct kl_abi_limits *limits, const struct kl_payer *of,
		    struct user_namespace *ns);
void kl_accounts_init(void);
void kl_accounts_deinit(void);

u64 kl_memory_size(u64 bytes);
u64 kl_memory_percpu(u64 bytes);

static inline int kl_memory_charge(struct kl_payer *p, u64 bytes, struct kl_error *why)
{
	return kl_payer_charge(p, KL_LIMIT_memory, bytes, why);
}

static inline void kl_memory_uncharge(struct kl_payer *p, u64 bytes)
{
	kl_payer_uncharge(p, KL_LIMIT_memory, bytes);
}

#endif /* KL_CORE_ACCOUNT_H */
