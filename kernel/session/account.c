// SPDX-License-Identifier: GPL-2.0
/*
 * Accounts: what each user, all users, and the machine have of memory, sessions, events,
 * probes and readers, with the limits on them; and token buckets for what disturbs
 * others as it happens: patches of the kernel's text, and deferred work. Charged by
 * everything that allocates for a session or a descriptor. `accounts_lock` guards
 * all of it; it is a leaf lock. docs/design/limits.md has the rules.
 */
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/user_namespace.h>

#include "account.h"
#include "session.h"

#define BURST_SECONDS 10 /* of a bucket's rate */
#define PARAMETERS "/sys/module/kernlens/parameters/"

static unsigned int sessions_per_user = 16;
module_param(sessions_per_user, uint, 0644);
MODULE_PARM_DESC(sessions_per_user, "sessions of a user without privilege");

static unsigned int sessions_all_users = 256;
module_param(sessions_all_users, uint, 0644);
MODULE_PARM_DESC(sessions_all_users, "sessions of all users without privilege");

static unsigned int memory_mb_per_user = 256;
module_param(memory_mb_per_user, uint, 0644);
MODULE_PARM_DESC(memory_mb_per_user, "MiB of memory of every kind of a user without privilege");
/* Its name while only buffers were counted. */
module_param_named(buffer_mb_per_user, memory_mb_per_user, uint, 0644);
MODULE_PARM_DESC(buffer_mb_per_user, "another name of memory_mb_per_user");

static unsigned int memory_mb_all_users;
module_param(memory_mb_all_users, uint, 0644);
MODULE_PARM_DESC(memory_mb_all_users,
		 "the same of all users without privilege; default: an eighth of the RAM, up to 1024");

static unsigned int memory_mb_machine;
module_param(memory_mb_machine, uint, 0644);
MODULE_PARM_DESC(memory_mb_machine, "the same of everybody; default: half of the RAM");

static unsigned int events_per_user = 1024;
module_param(events_per_user, uint, 0644);
MODULE_PARM_DESC(events_per_user, "events that a user without privilege may define");

static unsigned int events_all_users = 4096;
module_param(events_all_users, uint, 0644);
MODULE_PARM_DESC(events_all_users, "events that all users without privilege may define");

static unsigned int probes_per_user = 4096;
module_param(probes_per_user, uint, 0644);
MODULE_PARM_DESC(probes_per_user, "attached probes of a user without privilege");

static unsigned int probes_all_users = 16384;
module_param(probes_all_users, uint, 0644);
MODULE_PARM_DESC(probes_all_users, "attached probes of all users without privilege");

static unsigned int readers_per_user = 256;
module_param(readers_per_user, uint, 0644);
MODULE_PARM_DESC(readers_per_user, "open readers of a user without privilege");

static unsigned int readers_all_users = 2048;
module_param(readers_all_users, uint, 0644);
MODULE_PARM_DESC(readers_all_users, "open readers of all users without privilege");

static unsigned int patches_per_second_per_user = 200;
module_param(patches_per_second_per_user, uint, 0644);
MODULE_PARM_DESC(patches_per_second_per_user,
		 "changes of the kernel's text by a user without privilege, on average; 0: unlimited");

static unsigned int patches_per_second_all_users = 1000;
module_param(patches_per_second_all_users, uint, 0644);
MODULE_PARM_DESC(patches_per_second_all_users,
		 "changes of the kernel's text by all users without privilege; 0: unlimited");

static unsigned int work_percent_per_user = 10;
module_param(work_percent_per_user, uint, 0644);
MODULE_PARM_DESC(work_percent_per_user,
		 "of a CPU for deferred work of a user without privilege; 0: unlimited");

static unsigned int work_percent_all_users = 25;
module_param(work_percent_all_users, uint, 0644);
MODULE_PARM_DESC(work_percent_all_users,
		 "of a CPU for deferred work of all users without privilege; 0: unlimited");

/**
 * struct rule - a limit
 * @parameter: of a user, of all users, and of the machine; NULL: none
 * @name: of these parameters
 * @things: what is counted
 * @shift: from the parameter to the unit
 */
struct rule {
	const unsigned int *parameter[3];
	const char *name[3];
	const char *things;
	u32 shift;
};

#define RULE(things, user, all) { { &user, &all, NULL }, { #user, #all, NULL }, things, 0 }

static const struct rule rules[KL_LIMITS] = {
	[KL_LIMIT_memory] = { { &memory_mb_per_user, &memory_mb_all_users, &memory_mb_machine },
			      { "memory_mb_per_user", "memory_mb_all_users", "memory_mb_machine" },
			      "memory",
			      20 },
	[KL_LIMIT_sessions] = RULE("sessions", sessions_per_user, sessions_all_users),
	[KL_LIMIT_events] = RULE("events", events_per_user, events_all_users),
	[KL_LIMIT_probes] = RULE("probes", probes_per_user, probes_all_users),
	[KL_LIMIT_readers] = RULE("readers", readers_per_user, readers_all_users),
};

/* What has been taken and not yet refilled. */
struct bucket {
	u64 debt;
	u64 at; /* nanoseconds; when @debt was right */
};

/**
 * struct kl_account - what one user, or a group of them, uses
 * @list: of all but the last two kinds
 * @kind: enum kl_account_kind
 * @payers: that charge it
 * @used: by enum kl_limit
 */
struct kl_account {
	struct list_head list;
	kuid_t uid;
	u32 kind;
	u32 payers;
	u64 used[KL_LIMITS];
	u64 refused;
	u64 patches;
	u64 waits;
	u64 work_us;
	struct bucket bucket[KL_BUCKETS];
};

static DEFINE_SPINLOCK(accounts_lock);
static LIST_HEAD(accounts);
static struct kl_account all_users = { .kind = KL_ACCOUNT_ALL_USERS };
static struct kl_account machine = { .kind = KL_ACCOUNT_MACHINE };

static_assert(KL_LIMITS <= KL_LIMITS_MAX);

/* ------------------------------------------------------------------- limits */

/* Column of struct rule, or -1: no limits. */
static int column_of(const struct kl_account *a)
{
	switch (a->kind) {
	case KL_ACCOUNT_USER:
		return 0;
	case KL_ACCOUNT_ALL_USERS:
		return 1;
	case KL_ACCOUNT_MACHINE:
		return 2;
	default:
		return -1;
	}
}

static u64 limit_of(const struct kl_account *a, enum kl_limit what)
{
	int column = column_of(a);
	const unsigned int *parameter = column < 0 ? NULL : rules[what].parameter[column];

	return parameter ? (u64)READ_ONCE(*parameter) << rules[what].shift : KL_LIMIT_NONE;
}

/* Tokens a second; 0: unlimited. */
static u64 rate_of(const struct kl_account *a, enum kl_bucket_kind kind)
{
	bool user = a->kind == KL_ACCOUNT_USER;

	if (!user && a->kind != KL_ACCOUNT_ALL_USERS)
		return 0;
	if (kind == KL_BUCKET_PATCHES)
		return user ? READ_ONCE(patches_per_second_per_user) :
			      READ_ONCE(patches_per_second_all_users);
	return (u64)(user ? READ_ONCE(work_percent_per_user) : READ_ONCE(work_percent_all_users)) *
	       (USEC_PER_SEC / 100);
}

/* ------------------------------------------------------------------ buckets */

static void refill(struct kl_account *a, enum kl_bucket_kind kind, u64 now)
{
	struct bucket *b = &a->bucket[kind];
	u64 rate = rate_of(a, kind), back;

	lockdep_assert_held(&accounts_lock);
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
	return rate_of(a, kind) * BURST_SECONDS;
}

/* Milliseconds until there is a token. */
static u32 delay_of(struct kl_account *a, enum kl_bucket_kind kind, u64 now)
{
	u64 rate = rate_of(a, kind), burst = burst_of(a, kind);

	refill(a, kind, now);
	if (!rate || a->bucket[kind].debt < burst)
		return 0;
	return div64_u64((a->bucket[kind].debt - burst) * MSEC_PER_SEC, rate) + 1;
}

static u32 delay_of_all(struct kl_payer *p, enum kl_bucket_kind kind, u64 now)
{
	u32 delay = 0;

	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && p->account[i]; i++)
		delay = max(delay, delay_of(p->account[i], kind, now));
	return delay;
}

static void spend(struct kl_payer *p, enum kl_bucket_kind kind, u32 n)
{
	lockdep_assert_held(&accounts_lock);
	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && p->account[i]; i++) {
		struct kl_account *a = p->account[i];

		a->bucket[kind].debt += n;
		if (kind == KL_BUCKET_PATCHES)
			a->patches += n;
		else
			a->work_us += n;
	}
}

/**
 * kl_payer_take - take tokens, all or none
 * @p: payer
 * @kind: of which bucket
 * @n: how many; more than there are is fine if there is any
 *
 * Returns 0, or in how many milliseconds it is worth trying again. Context: process.
 */
u32 kl_payer_take(struct kl_payer *p, enum kl_bucket_kind kind, u32 n)
{
	u32 delay;

	if (!n)
		return 0;
	spin_lock(&accounts_lock);
	delay = delay_of_all(p, kind, ktime_get_ns());
	if (!delay)
		spend(p, kind, n);
	for (u32 i = 0; delay && i < KL_PAYER_ACCOUNTS && p->account[i]; i++)
		p->account[i]->waits++;
	spin_unlock(&accounts_lock);
	return delay;
}

/**
 * kl_payer_spend - take tokens for what has happened already
 * @p: payer
 * @kind: of which bucket
 * @n: how many
 *
 * Context: process.
 */
void kl_payer_spend(struct kl_payer *p, enum kl_bucket_kind kind, u32 n)
{
	spin_lock(&accounts_lock);
	delay_of_all(p, kind, ktime_get_ns());
	spend(p, kind, n);
	spin_unlock(&accounts_lock);
}

/**
 * kl_payer_delay - in how many milliseconds there will be a token
 * @p: payer
 * @kind: of which bucket
 *
 * Returns 0 if there is one. Context: process.
 */
u32 kl_payer_delay(struct kl_payer *p, enum kl_bucket_kind kind)
{
	u32 delay;

	spin_lock(&accounts_lock);
	delay = delay_of_all(p, kind, ktime_get_ns());
	spin_unlock(&accounts_lock);
	return delay;
}

/**
 * kl_payer_refuse_patches - say that tokens were waited for in vain
 * @p: payer
 * @why: set
 *
 * Returns -EDQUOT.
 */
int kl_payer_refuse_patches(struct kl_payer *p, struct kl_error *why)
{
	u32 seconds = kl_payer_delay(p, KL_BUCKET_PATCHES) / MSEC_PER_SEC + 1;

	return kl_fail(why, -EDQUOT,
		       "limit of %u text patches a second reached, wait %u s; root can raise " PARAMETERS
		       "patches_per_second_per_user",
		       READ_ONCE(patches_per_second_per_user), seconds);
}

/* ------------------------------------------------------------------ charges */

/* As the messages have it: bytes in MiB, or in KiB if there are few. */
static const char *print_amount(char text[24], enum kl_limit what, u64 n)
{
	if (what != KL_LIMIT_memory)
		snprintf(text, 24, "%llu", n);
	else if (n >> 20)
		snprintf(text, 24, "%llu MiB", n >> 20);
	else
		snprintf(text, 24, "%llu KiB", DIV_ROUND_UP_ULL(n, 1024));
	return text;
}

static int refuse(struct kl_account *a, enum kl_limit what, u64 used, u64 n, struct kl_error *why)
{
	static const char *const whose[] = { "a user", "all users", "the machine" };
	const struct rule *rule = &rules[what];
	int column = column_of(a);
	char limit[24], now[24], more[24];

	return kl_fail(why, column ? -ENOSPC : -EDQUOT,
		       "limit of %s%s%s of %s reached: %s in use, %s wanted; root can raise " PARAMETERS
		       "%s",
		       print_amount(limit, what, limit_of(a, what)),
		       what == KL_LIMIT_memory ? " of " : " ", rule->things, whose[column],
		       print_amount(now, what, used), print_amount(more, what, n),
		       rule->name[column]);
}

static void add(struct kl_payer *p, enum kl_limit what, u64 n)
{
	lockdep_assert_held(&accounts_lock);
	p->used[what] += n;
	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && p->account[i]; i++)
		p->account[i]->used[what] += n;
}

static void subtract(struct kl_payer *p, enum kl_limit what, u64 n)
{
	lockdep_assert_held(&accounts_lock);
	if (WARN_ON_ONCE(n > p->used[what]))
		n = p->used[what];
	p->used[what] -= n;
	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && p->account[i]; i++)
		p->account[i]->used[what] -= n;
}

/**
 * kl_payer_charge - have more of something, if no limit forbids it
 * @p: payer
 * @what: of which limit
 * @n: how much
 * @why: set on failure
 *
 * Returns 0, -EDQUOT: a limit of the user's, or -ENOSPC: one of all users or of the
 * machine. Context: process.
 */
int kl_payer_charge(struct kl_payer *p, enum kl_limit what, u64 n, struct kl_error *why)
{
	struct kl_account *full = NULL;
	u64 used = 0;

	spin_lock(&accounts_lock);
	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && p->account[i] && !full; i++) {
		u64 limit = limit_of(p->account[i], what);

		used = p->account[i]->used[what];
		if (n > limit || used > limit - n)
			full = p->account[i];
	}
	if (full)
		full->refused++;
	else
		add(p, what, n);
	spin_unlock(&accounts_lock);
	return full ? refuse(full, what, used, n, why) : 0;
}

/**
 * kl_payer_force - have more of something, whatever the limits
 * @p: payer
 * @what: of which limit
 * @n: how much
 *
 * For what is small and bounded otherwise. Context: process.
 */
void kl_payer_force(struct kl_payer *p, enum kl_limit what, u64 n)
{
	spin_lock(&accounts_lock);
	add(p, what, n);
	spin_unlock(&accounts_lock);
}

/**
 * kl_payer_uncharge - give back some of what was charged
 * @p: payer
 * @what: of which limit
 * @n: how much
 *
 * Context: process.
 */
void kl_payer_uncharge(struct kl_payer *p, enum kl_limit what, u64 n)
{
	spin_lock(&accounts_lock);
	subtract(p, what, n);
	spin_unlock(&accounts_lock);
}

/* ----------------------------------------------------------------- accounts */

static struct kl_account *find(kuid_t uid, u32 kind)
{
	struct kl_account *a;

	lockdep_assert_held(&accounts_lock);
	list_for_each_entry(a, &accounts, list)
		if (uid_eq(a->uid, uid) && a->kind == kind)
			return a;
	return NULL;
}

/* Forget those that nobody charges, and that forgetting would give no tokens. */
static void prune(void)
{
	struct kl_account *a, *next;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&accounts_lock);
	list_for_each_entry_safe(a, next, &accounts, list) {
		bool full = true;

		if (a->payers)
			continue;
		for (u32 i = 0; i < KL_BUCKETS; i++) {
			refill(a, i, now);
			full &= !a->bucket[i].debt;
		}
		if (!full)
			continue;
		list_del(&a->list);
		kfree(a);
	}
}

static int join(struct kl_payer *p, u32 i, kuid_t uid, u32 kind)
{
	struct kl_account *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT), *a;

	if (!new)
		return -ENOMEM;
	spin_lock(&accounts_lock);
	prune();
	a = find(uid, kind);
	if (!a) {
		swap(a, new);
		a->uid = uid;
		a->kind = kind;
		list_add_tail(&a->list, &accounts);
	}
	a->payers++;
	p->account[i] = a;
	spin_unlock(&accounts_lock);
	kfree(new);
	return 0;
}

/* Who has made the outermost user namespace that an opener is in. */
static kuid_t namespace_owner(const struct cred *cred)
{
	const struct user_namespace *ns = cred->user_ns;

	if (ns == &init_user_ns)
		return cred->fsuid;
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns->owner;
}

/**
 * kl_payer_init - have the accounts of an opener charged
 * @p: zeroed
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 *
 * Returns 0 or -ENOMEM; call kl_payer_deinit then, too. Context: may sleep.
 */
int kl_payer_init(struct kl_payer *p, const struct cred *cred, u32 may)
{
	kuid_t owner = namespace_owner(cred);
	u32 n = 0;
	int error;

	p->limited = !(may & KL_MAY_SEE_ALL);
	error = join(p, n++, cred->fsuid, p->limited ? KL_ACCOUNT_USER : KL_ACCOUNT_PRIVILEGED);
	if (!error && p->limited && !uid_eq(owner, cred->fsuid) &&
	    !uid_eq(owner, GLOBAL_ROOT_UID))
		error = join(p, n++, owner, KL_ACCOUNT_USER);
	if (error)
		return error;
	if (p->limited)
		p->account[n++] = &all_users;
	p->account[n] = &machine;
	return 0;
}

/**
 * kl_payer_deinit - give back all that a payer has
 * @p: whose charges are for nothing any more; or zeroed
 *
 * Context: process.
 */
void kl_payer_deinit(struct kl_payer *p)
{
	spin_lock(&accounts_lock);
	for (u32 what = 0; what < KL_LIMITS; what++)
		subtract(p, what, p->used[what]);
	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && p->account[i]; i++) {
		struct kl_account *a = p->account[i];

		if (a == &all_users || a == &machine)
			continue;
		a->payers--;
		/* Its sum is that of its payers. */
		for (u32 what = 0; !a->payers && what < KL_LIMITS; what++)
			WARN_ON_ONCE(a->used[what]);
	}
	memset(p, 0, sizeof(*p));
	prune();
	spin_unlock(&accounts_lock);
}

/* ------------------------------------------------------------------ reading */

/* The account at an index, of those that @of may know; NULL: there are no more. */
static struct kl_account *account_at(u32 index, const struct kl_payer *of)
{
	struct kl_account *a;

	lockdep_assert_held(&accounts_lock);
	if (of->limited)
		return index ? NULL : of->account[0];
	if (!index--)
		return &machine;
	if (!index--)
		return &all_users;
	list_for_each_entry(a, &accounts, list)
		if (a->payers && !index--)
			return a;
	return NULL;
}

/**
 * kl_account_read - what an account has, and what it may have
 * @limits: `index` in, the rest out; `uid` is 0 of the accounts of several users
 * @of: who asks: without privilege only for its own account
 * @uid: set to the account's user, if it has one
 *
 * Returns 0 or -ENOENT after the last. Context: process.
 */
int kl_account_read(struct kl_abi_limits *limits, const struct kl_payer *of, kuid_t *uid)
{
	u64 burst, now = ktime_get_ns();
	struct kl_account *a;

	spin_lock(&accounts_lock);
	a = account_at(limits->index, of);
	if (!a) {
		spin_unlock(&accounts_lock);
		return -ENOENT;
	}
	*uid = a->uid;
	limits->kind = a->kind;
	for (u32 what = 0; what < KL_LIMITS; what++) {
		limits->used[what] = a->used[what];
		limits->limit[what] = limit_of(a, what);
	}
	limits->refused = a->refused;
	limits->patches = a->patches;
	limits->waits = a->waits;
	limits->work_us = a->work_us;
	refill(a, KL_BUCKET_PATCHES, now);
	burst = burst_of(a, KL_BUCKET_PATCHES);
	limits->patch_rate = rate_of(a, KL_BUCKET_PATCHES);
	limits->patches_left = burst - min(burst, a->bucket[KL_BUCKET_PATCHES].debt);
	spin_unlock(&accounts_lock);
	return 0;
}

/**
 * kl_account_limit - the most that a user without privilege may have
 * @what: of which limit
 */
u64 kl_account_limit(enum kl_limit what)
{
	const struct kl_account user = { .kind = KL_ACCOUNT_USER };

	return min(limit_of(&user, what), limit_of(&all_users, what));
}

/**
 * kl_accounts_init - set the limits that depend on the machine, before the first payer
 */
void kl_accounts_init(void)
{
	u64 ram_mb = totalram_pages() >> (20 - PAGE_SHIFT);

	if (!memory_mb_all_users)
		memory_mb_all_users = clamp_t(u64, ram_mb / 8, 16, 1024);
	if (!memory_mb_machine)
		memory_mb_machine = max_t(u64, ram_mb / 2, 16);
}

/**
 * kl_accounts_deinit - after the last payer
 */
void kl_accounts_deinit(void)
{
	struct kl_account *a, *next;

	list_for_each_entry_safe(a, next, &accounts, list) {
		list_del(&a->list);
		kfree(a);
	}
}
