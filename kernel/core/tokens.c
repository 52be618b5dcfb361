// SPDX-License-Identifier: GPL-2.0
/*
 * Token buckets of accounts, for operations that disturb other users while they happen: patches of
 * the kernel's text, deferred work, probes with interrupts off. Protected by kl_accounts_lock.
 * docs/design/limits.md has the rules.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

#include "account_internal.h"
#include "session.h"

#define BURST_SECONDS 10 /* size of a bucket, at its rate */

static unsigned int patches_per_second_per_user = 200;
module_param(patches_per_second_per_user, uint, 0644);
MODULE_PARM_DESC(patches_per_second_per_user,
		 "maximum average text patches per second of an unprivileged user; 0: unlimited");

static unsigned int patches_per_second_all_users = 1000;
module_param(patches_per_second_all_users, uint, 0644);
MODULE_PARM_DESC(patches_per_second_all_users,
		 "maximum average text patches per second of all unprivileged users; 0: unlimited");

static unsigned int work_percent_per_user = 10;
module_param(work_percent_per_user, uint, 0644);
MODULE_PARM_DESC(
	work_percent_per_user,
	"maximum percentage of a CPU for an unprivileged user's deferred work; 0: unlimited");

static unsigned int work_percent_all_users = 25;
module_param(work_percent_all_users, uint, 0644);
MODULE_PARM_DESC(
	work_percent_all_users,
	"maximum percentage of a CPU for all unprivileged users' deferred work; 0: unlimited");

/* Tokens per second; 0: unlimited. */
static u64 rate_of(const struct kl_account *a, enum kl_bucket_kind kind)
{
	bool user = a->kind == KL_ACCOUNT_USER;

	if (!user && a->kind != KL_ACCOUNT_ALL_USERS)
		return 0;
	if (kind == KL_BUCKET_PATCHES)
		return user ? READ_ONCE(patches_per_second_per_user) :
			      READ_ONCE(patches_per_second_all_users);
	if (kind == KL_BUCKET_PROBES)
		/* The watchdog's windows limit all users together. */
		return user ? (u64)kl_meter_percent(KL_METER_UNPRIVILEGED) * (USEC_PER_SEC / 100) :
			      0;
	return (u64)(user ? READ_ONCE(work_percent_per_user) : READ_ONCE(work_percent_all_users)) *
	       (USEC_PER_SEC / 100);
}

static void refill(struct kl_account *a, enum kl_bucket_kind kind, u64 now)
{
	struct kl_bucket *b = &a->bucket[kind];
	u64 rate = rate_of(a, kind), back;

	lockdep_assert_held(&kl_accounts_lock);
	if (!rate || now - b->at > 3600ull * NSEC_PER_SEC) {
		b->debt = 0;
		b->at = now;
		return;
	}
	back = mul_u64_u64_div_u64(now - b->at, rate, NSEC_PER_SEC);
	if (!back)
		return;
	b->debt -= min(b->debt, back);
	b->at = now;
}

static u64 burst_of(const struct kl_account *a, enum kl_bucket_kind kind)
{
	/* Interrupts that are off disturb others immediately, so allow no long burst. */
	return rate_of(a, kind) * (kind == KL_BUCKET_PROBES ? 1 : BURST_SECONDS);
}

/**
 * kl_bucket_is_full - have all tokens that were taken been refilled?
 * @a: account; the lock is held
 * @kind: which bucket
 * @now: nanoseconds
 */
bool kl_bucket_is_full(struct kl_account *a, enum kl_bucket_kind kind, u64 now)
{
	refill(a, kind, now);
	return !a->bucket[kind].debt;
}

/**
 * kl_bucket_read - a bucket's rate and what is left in it
 * @a: account; the lock is held
 * @kind: which bucket
 * @now: nanoseconds
 * @limits: set
 */
void kl_bucket_read(struct kl_account *a, enum kl_bucket_kind kind, u64 now,
		    struct kl_abi_limits *limits)
{
	u64 burst = burst_of(a, kind);

	refill(a, kind, now);
	limits->patch_rate = rate_of(a, kind);
	limits->patches_left = burst - min(burst, a->bucket[kind].debt);
}

/* Milliseconds until a token is available. */
static u32 delay_of(struct kl_account *a, enum kl_bucket_kind kind, u64 now)
{
	u64 rate = rate_of(a, kind), burst = burst_of(a, kind);

	refill(a, kind, now);
	if (!rate || a->bucket[kind].debt < burst)
		return 0;
	return div64_u64((a->bucket[kind].debt - burst) * MSEC_PER_SEC, rate) + 1;
}

static u32 delay_of_all(const struct kl_payer *p, enum kl_bucket_kind kind, u64 now)
{
	u32 delay = 0;

	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && p->account[i]; i++)
		delay = max(delay, delay_of(p->account[i], kind, now));
	return delay;
}

static void spend(struct kl_payer *p, enum kl_bucket_kind kind, u32 n)
{
	lockdep_assert_held(&kl_accounts_lock);
	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && p->account[i]; i++) {
		struct kl_account *a = p->account[i];

		a->bucket[kind].debt += n;
		if (kind == KL_BUCKET_PATCHES)
			a->patches += n;
		else if (kind == KL_BUCKET_WORK)
			a->work_us += n;
	}
}

/**
 * kl_payer_take - take tokens, all or none
 * @p: payer
 * @kind: which bucket
 * @n: how many; may exceed what is available if any token is
 *
 * Returns 0, or the milliseconds after which to try again. Context: process.
 */
u32 kl_payer_take(struct kl_payer *p, enum kl_bucket_kind kind, u32 n)
{
	u32 delay;

	if (!n)
		return 0;
	spin_lock(&kl_accounts_lock);
	delay = delay_of_all(p, kind, ktime_get_ns());
	if (!delay)
		spend(p, kind, n);
	for (u32 i = 0; delay && i < KL_PAYER_ACCOUNTS && p->account[i]; i++)
		p->account[i]->waits++;
	spin_unlock(&kl_accounts_lock);
	return delay;
}

/**
 * kl_payer_spend - take tokens for something that has already happened
 * @p: payer
 * @kind: which bucket
 * @n: how many
 *
 * Context: process.
 */
void kl_payer_spend(struct kl_payer *p, enum kl_bucket_kind kind, u32 n)
{
	spin_lock(&kl_accounts_lock);
	delay_of_all(p, kind, ktime_get_ns());
	spend(p, kind, n);
	spin_unlock(&kl_accounts_lock);
}

/**
 * kl_payer_delay - milliseconds until a token is available
 * @p: payer
 * @kind: which bucket
 *
 * Returns 0 if a token is available now. Context: process.
 */
u32 kl_payer_delay(const struct kl_payer *p, enum kl_bucket_kind kind)
{
	u32 delay;

	spin_lock(&kl_accounts_lock);
	delay = delay_of_all(p, kind, ktime_get_ns());
	spin_unlock(&kl_accounts_lock);
	return delay;
}

/**
 * kl_payer_refuse_patches - report that tokens for patches have not become available
 * @p: payer
 * @why: set
 *
 * Returns -EDQUOT.
 */
int kl_payer_refuse_patches(struct kl_payer *p, struct kl_error *why)
{
	u32 seconds = kl_payer_delay(p, KL_BUCKET_PATCHES) / MSEC_PER_SEC + 1;

	return kl_fail(why, -EDQUOT,
		       "limit of %u text patches per second reached, wait %u s; "
		       "root can raise " KL_PARAMETERS "patches_per_second_per_user",
		       READ_ONCE(patches_per_second_per_user), seconds);
}
