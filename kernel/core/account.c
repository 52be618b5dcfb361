// SPDX-License-Identifier: GPL-2.0
/*
 * Accounts: the memory, sessions, events, probes, readers and ticks that each user, all
 * unprivileged users together, and the machine use, with their limits. Charged by everything that
 * allocates for a session or a descriptor. `kl_accounts_lock`, a leaf lock, protects all of it.
 * docs/design/limits.md has the rules.
 */
#include <linux/audit.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/user_namespace.h>

#include "account_internal.h"
#include "session.h"

static unsigned int sessions_per_user = 16;
module_param(sessions_per_user, uint, 0644);
MODULE_PARM_DESC(sessions_per_user, "maximum sessions of an unprivileged user");

static unsigned int sessions_all_users = 256;
module_param(sessions_all_users, uint, 0644);
MODULE_PARM_DESC(sessions_all_users, "maximum sessions of all unprivileged users together");

static unsigned int memory_mb_per_user = 256;
module_param(memory_mb_per_user, uint, 0644);
MODULE_PARM_DESC(memory_mb_per_user, "maximum memory of an unprivileged user, in MiB");
/* Another name for the same parameter. */
module_param_named(buffer_mb_per_user, memory_mb_per_user, uint, 0644);
MODULE_PARM_DESC(buffer_mb_per_user, "another name for memory_mb_per_user");

static unsigned int memory_mb_all_users;
module_param(memory_mb_all_users, uint, 0644);
MODULE_PARM_DESC(
	memory_mb_all_users,
	"maximum memory of all unprivileged users, in MiB; default: 1/8 of RAM, up to 1024");

static unsigned int memory_mb_machine;
module_param(memory_mb_machine, uint, 0644);
MODULE_PARM_DESC(memory_mb_machine, "maximum memory of all users, in MiB; default: half of RAM");

static unsigned int events_per_user = 1024;
module_param(events_per_user, uint, 0644);
MODULE_PARM_DESC(events_per_user, "maximum events defined by an unprivileged user");

static unsigned int events_all_users = 4096;
module_param(events_all_users, uint, 0644);
MODULE_PARM_DESC(events_all_users, "maximum events defined by all unprivileged users together");

static unsigned int probes_per_user = 4096;
module_param(probes_per_user, uint, 0644);
MODULE_PARM_DESC(probes_per_user, "maximum attached probes of an unprivileged user");

static unsigned int probes_all_users = 16384;
module_param(probes_all_users, uint, 0644);
MODULE_PARM_DESC(probes_all_users, "maximum attached probes of all unprivileged users together");

static unsigned int readers_per_user = 256;
module_param(readers_per_user, uint, 0644);
MODULE_PARM_DESC(readers_per_user, "maximum open readers of an unprivileged user");

static unsigned int readers_all_users = 2048;
module_param(readers_all_users, uint, 0644);
MODULE_PARM_DESC(readers_all_users, "maximum open readers of all unprivileged users together");

static unsigned int ticks_per_user = 1000;
module_param(ticks_per_user, uint, 0644);
MODULE_PARM_DESC(ticks_per_user, "maximum ticks per second on each CPU of an unprivileged user");

static unsigned int ticks_all_users = 4000;
module_param(ticks_all_users, uint, 0644);
MODULE_PARM_DESC(ticks_all_users,
		 "maximum ticks per second on each CPU of all unprivileged users together");

/**
 * struct rule - a limit
 * @parameter: parameters for a user, for all users, and for the machine; NULL: no limit
 * @name: names of these parameters
 * @things: what is counted
 * @shift: shifts a parameter to the counted unit
 */
struct rule {
	const unsigned int *parameter[3];
	const char *name[3];
	const char *things;
	u32 shift;
};

#define RULE(things, user, all)                                             \
	{                                                                   \
		{ &(user), &(all), NULL }, { #user, #all, NULL }, things, 0 \
	}

static const struct rule rules[KL_LIMITS] = {
	[KL_LIMIT_memory] = { { &memory_mb_per_user, &memory_mb_all_users, &memory_mb_machine },
			      { "memory_mb_per_user", "memory_mb_all_users", "memory_mb_machine" },
			      "memory",
			      20 },
	[KL_LIMIT_sessions] = RULE("sessions", sessions_per_user, sessions_all_users),
	[KL_LIMIT_events] = RULE("events", events_per_user, events_all_users),
	[KL_LIMIT_probes] = RULE("probes", probes_per_user, probes_all_users),
	[KL_LIMIT_readers] = RULE("readers", readers_per_user, readers_all_users),
	[KL_LIMIT_ticks] = RULE("ticks per second", ticks_per_user, ticks_all_users),
};

/* Memory beyond a user's limit that open descriptors can use: 64 of them. */
#define BASE_MORE SZ_2M

DEFINE_SPINLOCK(kl_accounts_lock);
static DEFINE_HASHTABLE(accounts, 8);
static LIST_HEAD(idle);
static struct kl_account all_users = { .kind = KL_ACCOUNT_ALL_USERS };
static struct kl_account machine = { .kind = KL_ACCOUNT_MACHINE };

static_assert(KL_LIMITS <= KL_LIMITS_MAX);

/* ------------------------------------------------------------------- limits */

/* Index into the arrays of struct rule, or -1: no limits. */
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

/* ------------------------------------------------------------------ charges */

/* Formats an amount for messages: bytes in MiB, or in KiB if there are few. */
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

	return kl_fail(
		why, column ? -ENOSPC : -EDQUOT,
		"limit of %s%s%s of %s reached: %s in use, %s wanted; root can raise " KL_PARAMETERS
		"%s",
		print_amount(limit, what, limit_of(a, what)),
		what == KL_LIMIT_memory ? " of " : " ", rule->things, whose[column],
		print_amount(now, what, used), print_amount(more, what, n), rule->name[column]);
}

static void add(struct kl_payer *p, enum kl_limit what, u64 n)
{
	lockdep_assert_held(&kl_accounts_lock);
	p->used[what] += n;
	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && p->account[i]; i++)
		p->account[i]->used[what] += n;
}

static void subtract(struct kl_payer *p, enum kl_limit what, u64 n)
{
	lockdep_assert_held(&kl_accounts_lock);
	if (WARN_ON_ONCE(n > p->used[what]))
		n = p->used[what];
	p->used[what] -= n;
	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && p->account[i]; i++)
		p->account[i]->used[what] -= n;
}

/**
 * kl_memory_size - memory that an allocation takes
 * @bytes: as passed to kmalloc or kvmalloc
 *
 * Returns bytes. Context: any.
 */
u64 kl_memory_size(u64 bytes)
{
	return bytes > 2 * PAGE_SIZE ? PAGE_ALIGN(bytes) : roundup_pow_of_two(max(bytes, 8ull));
}

/**
 * kl_memory_percpu - memory that a per-CPU allocation takes
 * @bytes: as passed to alloc_percpu
 *
 * Returns bytes. Context: any.
 */
u64 kl_memory_percpu(u64 bytes)
{
	return ALIGN(bytes, 8) * num_possible_cpus();
}

/**
 * kl_payer_charge - charge an amount, unless a limit forbids it
 * @p: payer
 * @what: which limit
 * @n: how much
 * @why: set on failure
 *
 * Returns 0, -EDQUOT if a limit of the user is reached, or -ENOSPC if one of all users or of the
 * machine is. Context: process.
 */
int kl_payer_charge(struct kl_payer *p, enum kl_limit what, u64 n, struct kl_error *why)
{
	struct kl_account *full = NULL;
	u64 used = 0;

	spin_lock(&kl_accounts_lock);
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
	spin_unlock(&kl_accounts_lock);
	return full ? refuse(full, what, used, n, why) : 0;
}

/* Is it an account of one user, which takes nothing from other users? */
static bool is_own(const struct kl_account *a)
{
	return a->kind == KL_ACCOUNT_USER || a->kind == KL_ACCOUNT_PRIVILEGED;
}

/**
 * kl_payer_charge_base - charge the memory that an open descriptor takes
 * @p: payer, which has not been charged for a descriptor yet
 * @bytes: how much
 *
 * A user at the limit can still open some descriptors, up to BASE_MORE beyond the limit, to query
 * it. Accounts shared with other users are not charged, since those users could not prevent it.
 * Returns 0 or -EDQUOT. Context: process.
 */
int kl_payer_charge_base(struct kl_payer *p, u64 bytes)
{
	bool full = false;

	spin_lock(&kl_accounts_lock);
	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && p->account[i]; i++) {
		u64 limit = limit_of(p->account[i], KL_LIMIT_memory);

		if (is_own(p->account[i]) && limit != KL_LIMIT_NONE &&
		    p->account[i]->used[KL_LIMIT_memory] + bytes > limit + BASE_MORE)
			full = true;
	}
	for (u32 i = 0; !full && i < KL_PAYER_ACCOUNTS && p->account[i]; i++)
		if (is_own(p->account[i]))
			p->account[i]->used[KL_LIMIT_memory] += bytes;
	p->base = full ? 0 : bytes;
	spin_unlock(&kl_accounts_lock);
	return full ? -EDQUOT : 0;
}

/**
 * kl_payer_uncharge - give back some of what was charged
 * @p: payer
 * @what: which limit
 * @n: how much
 *
 * Context: process.
 */
void kl_payer_uncharge(struct kl_payer *p, enum kl_limit what, u64 n)
{
	spin_lock(&kl_accounts_lock);
	subtract(p, what, n);
	spin_unlock(&kl_accounts_lock);
}

/* ----------------------------------------------------------------- accounts */

static struct kl_account *find(kuid_t uid, u32 kind)
{
	struct kl_account *a;

	lockdep_assert_held(&kl_accounts_lock);
	hash_for_each_possible(accounts, a, node, __kuid_val(uid))
		if (uid_eq(a->uid, uid) && a->kind == kind)
			return a;
	return NULL;
}

/*
 * Free accounts without payers, unless that would give back tokens. Few accounts are kept for that
 * reason, because tokens are taken from the account of all users, too.
 */
static void prune(void)
{
	struct kl_account *a, *next;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&kl_accounts_lock);
	list_for_each_entry_safe(a, next, &idle, idle) {
		bool full = true;

		for (u32 i = 0; i < KL_BUCKETS; i++)
			full &= kl_bucket_is_full(a, i, now);
		if (!full)
			continue;
		hash_del(&a->node);
		list_del(&a->idle);
		kfree(a);
	}
}

static void add_payer(struct kl_account *a)
{
	lockdep_assert_held(&kl_accounts_lock);
	if (!a->payers++)
		list_del_init(&a->idle);
}

static void remove_payer(struct kl_account *a)
{
	lockdep_assert_held(&kl_accounts_lock);
	if (--a->payers)
		return;
	list_add_tail(&a->idle, &idle);
	/* An account's usage is the sum over its payers, so it must be 0 without payers. */
	for (u32 what = 0; what < KL_LIMITS; what++)
		WARN_ON_ONCE(a->used[what]);
}

static int join(struct kl_payer *p, u32 i, kuid_t uid, u32 kind)
{
	struct kl_account *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT), *a;

	if (!new)
		return -ENOMEM;
	spin_lock(&kl_accounts_lock);
	prune();
	a = find(uid, kind);
	if (!a) {
		swap(a, new);
		a->uid = uid;
		a->kind = kind;
		INIT_LIST_HEAD(&a->idle);
		hash_add(accounts, &a->node, __kuid_val(uid));
	}
	add_payer(a);
	p->account[i] = a;
	spin_unlock(&kl_accounts_lock);
	kfree(new);
	return 0;
}

/*
 * The creator of the outermost user namespace below the initial one that an opener is in; the
 * opener itself if it is in the initial one.
 */
static kuid_t namespace_owner(const struct cred *cred)
{
	const struct user_namespace *ns = cred->user_ns;

	if (ns == &init_user_ns)
		return cred->fsuid;
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns->owner;
}

/* Also charge the account of unprivileged user @uid, unless the payer has that account already. */
static int join_also(struct kl_payer *p, u32 *n, kuid_t uid)
{
	if (!uid_valid(uid) || uid_eq(uid, GLOBAL_ROOT_UID))
		return 0;
	for (u32 i = 0; i < *n; i++)
		if (uid_eq(p->account[i]->uid, uid))
			return 0;
	return join(p, (*n)++, uid, KL_ACCOUNT_USER);
}

/**
 * kl_payer_init - set up a payer that charges an opener's accounts
 * @p: zeroed
 * @cred: credentials of the opener, which is the running task
 * @may: the opener's KL_MAY_*
 *
 * Returns 0 or -ENOMEM; then there is nothing to undo. Context: may sleep.
 */
int kl_payer_init(struct kl_payer *p, const struct cred *cred, u32 may)
{
	u32 n = 0;
	int error;

	p->limited = !(may & KL_MAY_SEE_ALL);
	error = join(p, n++, cred->fsuid, p->limited ? KL_ACCOUNT_USER : KL_ACCOUNT_PRIVILEGED);
	if (!error && p->limited)
		error = join_also(p, &n, namespace_owner(cred));
	/* The login user stays the same when a set-user-id program runs. */
	if (!error && p->limited)
		error = join_also(p, &n, audit_get_loginuid(current));
	if (error) {
		kl_payer_deinit(p);
		return error;
	}
	if (p->limited)
		p->account[n++] = &all_users;
	p->account[n] = &machine;
	return 0;
}

/**
 * kl_payer_copy - set up a payer that charges the same accounts as another
 * @p: zeroed
 * @from: a payer
 *
 * Context: process.
 */
void kl_payer_copy(struct kl_payer *p, const struct kl_payer *from)
{
	p->limited = from->limited;
	spin_lock(&kl_accounts_lock);
	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && from->account[i]; i++) {
		p->account[i] = from->account[i];
		if (is_own(p->account[i]))
			add_payer(p->account[i]);
	}
	spin_unlock(&kl_accounts_lock);
}

/**
 * kl_payer_shares - do two payers charge the account of the same unprivileged user?
 * @a: one
 * @b: the other
 *
 * That user may be the owner of their user namespace, or the login user. Payers never change their
 * accounts, so no lock is needed. Context: any.
 */
bool kl_payer_shares(const struct kl_payer *a, const struct kl_payer *b)
{
	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && a->account[i]; i++)
		for (u32 k = 0; k < KL_PAYER_ACCOUNTS && b->account[k]; k++)
			if (a->account[i] == b->account[k] &&
			    a->account[i]->kind == KL_ACCOUNT_USER)
				return true;
	return false;
}

/**
 * kl_payer_deinit - give back everything that a payer has charged
 * @p: payer whose charged resources have been freed; or zeroed
 *
 * Context: process.
 */
void kl_payer_deinit(struct kl_payer *p)
{
	spin_lock(&kl_accounts_lock);
	for (u32 what = 0; what < KL_LIMITS; what++)
		subtract(p, what, p->used[what]);
	for (u32 i = 0; i < KL_PAYER_ACCOUNTS && p->account[i]; i++) {
		struct kl_account *a = p->account[i];

		if (!is_own(a))
			continue;
		a->used[KL_LIMIT_memory] -= p->base;
		remove_payer(a);
	}
	memset(p, 0, sizeof(*p));
	prune();
	spin_unlock(&kl_accounts_lock);
}

/* ------------------------------------------------------------------ reading */

/* The account at an index, among those that @of may read; NULL after the last. */
static struct kl_account *account_at(u32 index, const struct kl_payer *of)
{
	struct kl_account *a;
	u32 bucket;

	lockdep_assert_held(&kl_accounts_lock);
	if (of->limited)
		return index ? NULL : of->account[0];
	if (!index--)
		return &machine;
	if (!index--)
		return &all_users;
	hash_for_each(accounts, bucket, a, node) {
		if (a->payers && !index--)
			return a;
	}
	return NULL;
}

/**
 * kl_account_read - usage and limits of an account
 * @limits: `index` in, the rest out; `uid` is 0 for accounts of several users
 * @of: the caller; without privilege, only its own account is read
 * @ns: user namespace that `uid` is mapped to
 *
 * Returns 0 or -ENOENT after the last. Context: process.
 */
int kl_account_read(struct kl_abi_limits *limits, const struct kl_payer *of,
		    struct user_namespace *ns)
{
	u64 now = ktime_get_ns();
	struct kl_account *a;

	spin_lock(&kl_accounts_lock);
	a = account_at(limits->index, of);
	if (!a) {
		spin_unlock(&kl_accounts_lock);
		return -ENOENT;
	}
	limits->uid = from_kuid_munged(ns, a->uid);
	limits->kind = a->kind;
	for (u32 what = 0; what < KL_LIMITS; what++) {
		limits->used[what] = a->used[what];
		limits->limit[what] = limit_of(a, what);
	}
	limits->refused = a->refused;
	limits->patches = a->patches;
	limits->waits = a->waits;
	limits->work_us = a->work_us;
	kl_bucket_read(a, KL_BUCKET_PATCHES, now, limits);
	spin_unlock(&kl_accounts_lock);
	return 0;
}

/**
 * kl_account_limit - the most that an unprivileged user can use
 * @what: which limit
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
 * kl_accounts_deinit - free all accounts, after the last payer
 */
void kl_accounts_deinit(void)
{
	struct kl_account *a, *next;

	list_for_each_entry_safe(a, next, &idle, idle) {
		hash_del(&a->node);
		list_del(&a->idle);
		kfree(a);
	}
}
