// SPDX-License-Identifier: GPL-2.0
/*
 * A session's life: from a call on an open device until the last descriptor that uses it goes.
 *
 * Order of locks: the kernel's CPU hotplug lock, `sessions_lock` (the list of
 * all), a session's blocks_lock. A session's `lock` is held while probes are
 * attached, which takes the hotplug lock: so never take it inside any of these.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uuid.h>

#include "../compat/clock.h"
#include "../source/block/splice.h"
#include "../source/defined.h"
#include "../source/source.h"
#include "budget.h"
#include "session.h"
#include "stack.h"

static unsigned int sessions_per_user = 16;
module_param(sessions_per_user, uint, 0644);
MODULE_PARM_DESC(sessions_per_user, "sessions that a user without privilege may have");

static unsigned int buffer_mb_per_user = 256;
module_param(buffer_mb_per_user, uint, 0644);
MODULE_PARM_DESC(buffer_mb_per_user, "MiB of buffers that a user without privilege may have");

static DEFINE_MUTEX(sessions_lock);
static LIST_HEAD(sessions);
static DEFINE_XARRAY_ALLOC1(ids);
static u32 next_id;
static int hotplug_state;

static int check_wish(struct kl_abi_session *wish, struct kl_error *why)
{
	if (wish->mode > KL_MODE_OVERWRITE)
		return kl_fail(why, -EINVAL, "there is no buffer mode %u", wish->mode);
	if (!wish->block_bytes)
		wish->block_bytes = KL_BLOCK_BYTES_DEFAULT;
	if (!wish->blocks)
		wish->blocks = 16;
	if (!is_power_of_2(wish->block_bytes) || wish->block_bytes < KL_BLOCK_BYTES_MIN ||
	    wish->block_bytes > KL_BLOCK_BYTES_MAX)
		return kl_fail(why, -EINVAL, "blocks of %u bytes: a power of two from %u to %u",
			       wish->block_bytes, KL_BLOCK_BYTES_MIN, KL_BLOCK_BYTES_MAX);
	if (!wish->blocks_max)
		wish->blocks_max =
			min(wish->blocks > KL_BLOCKS_MAX / 4 ? KL_BLOCKS_MAX : 4 * wish->blocks,
			    KL_BLOCKS_MAX);
	if (wish->blocks < KL_BLOCKS_MIN || wish->blocks > wish->blocks_max ||
	    wish->blocks_max > KL_BLOCKS_MAX)
		return kl_fail(why, -EINVAL, "%u blocks (at most %u later): from %u to %u",
			       wish->blocks, wish->blocks_max, KL_BLOCKS_MIN, KL_BLOCKS_MAX);
	if (strnlen(wish->name, KL_NAME_MAX) == KL_NAME_MAX)
		return kl_fail(why, -EINVAL, "the session's name is not ended by NUL");
	return 0;
}

/* May an owner without privilege have one more session? */
static int check_number(const struct cred *cred, struct kl_error *why)
{
	unsigned int number = 0;
	struct kl_session *s;

	lockdep_assert_held(&sessions_lock);
	list_for_each_entry(s, &sessions, list)
		number += uid_eq(s->owner->fsuid, cred->fsuid);
	if (number >= sessions_per_user)
		return kl_fail(why, -EMFILE, "a user may have %u sessions", sessions_per_user);
	return 0;
}

/* And @bytes more of buffers? */
static int check_bytes(const struct cred *cred, u64 bytes, struct kl_error *why)
{
	u64 limit = (u64)buffer_mb_per_user << 20;
	struct kl_session *s;

	lockdep_assert_held(&sessions_lock);
	list_for_each_entry(s, &sessions, list)
		if (uid_eq(s->owner->fsuid, cred->fsuid))
			bytes += kl_buffer_bytes(s);
	if (bytes > limit)
		return kl_fail(why, -ENOBUFS, "a user may have %u MiB of buffers, not %llu",
			       buffer_mb_per_user, (bytes >> 20) + 1);
	return 0;
}

static int check_limits(const struct cred *cred, const struct kl_abi_session *wish,
			struct kl_error *why)
{
	u64 bytes = (u64)wish->blocks * wish->block_bytes * num_online_cpus();
	int error = check_number(cred, why);

	return error ? error : check_bytes(cred, bytes, why);
}

static struct kl_session *alloc_session(const struct kl_abi_session *wish, const struct cred *cred,
					u32 may)
{
	struct kl_session *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	struct kl_actions *nothing = kl_actions_create(0);

	if (!s || !nothing) {
		kfree(s);
		kvfree(nothing);
		return NULL;
	}
	RCU_INIT_POINTER(s->actions, nothing);
	mutex_init(&s->lock);
	init_rwsem(&s->blocks_lock);
	init_waitqueue_head(&s->wait);
	INIT_LIST_HEAD(&s->list);
	xa_init(&s->masksets);
	kl_custom_init(&s->custom);
	kl_later_init(&s->later);
	kl_news_init(&s->news);
	kref_init(&s->ref);
	s->single.session = s;
	s->owner = get_cred(cred);
	s->may = may;
	kl_watchdog_init_session(s);
	s->see_addresses = may & KL_MAY_SEE_ADDRESSES;
	s->sealed = kl_access_is_sealed();
	s->gate = may & KL_MAY_SEE_ALL ? 0 : KL_GATE_OWN;
	s->creator = task_tgid_nr(current);
	s->mode = wish->mode;
	s->block_bytes = wish->block_bytes;
	s->blocks = wish->blocks;
	s->blocks_max = wish->blocks_max;
	generate_random_uuid(s->uuid);
	memcpy(s->name, wish->name, sizeof(s->name));
	return s;
}

static void free_session(struct kref *ref)
{
	struct kl_session *s = container_of(ref, struct kl_session, ref);

	mutex_lock(&sessions_lock);
	list_del_init(&s->list);
	mutex_unlock(&sessions_lock);
	kl_watchdog_forget(s);
	kl_later_deinit(&s->later);
	kl_news_deinit(&s->news);
	kl_defined_destroy(s);
	kl_splices_destroy(s);
	kl_buffer_destroy(s);
	kl_masksets_destroy(s);
	kl_variables_deinit(s);
	kl_latency_destroy(s->latency);
	kl_stacks_destroy(s->stacks);
	kl_taskset_destroy(s->tasks);
	kl_taskset_destroy(s->heirs);
	kl_taskset_destroy(s->unread);
	kl_custom_deinit(s);
	kvfree(rcu_dereference_protected(s->actions, true));
	put_cred(s->owner);
	mutex_destroy(&s->lock);
	if (s->id)
		xa_erase(&ids, s->id);
	kfree(s);
}

/**
 * kl_session_create - a session with its buffers, doing nothing
 * @given: what the caller wishes; zero members get defaults
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 * @why: set on failure
 *
 * Returns the session with one reference, or an error pointer. May sleep.
 */
struct kl_session *kl_session_create(const struct kl_abi_session *given, const struct cred *cred,
				     u32 may, struct kl_error *why)
{
	struct kl_abi_session wish = *given;
	struct kl_session *s;
	int error = check_wish(&wish, why);

	if (error)
		return ERR_PTR(error);
	s = alloc_session(&wish, cred, may);
	if (!s)
		return ERR_PTR(kl_fail(why, -ENOMEM, "no memory for a session"));
	cpus_read_lock();
	mutex_lock(&sessions_lock);
	if (!(may & KL_MAY_SEE_ALL))
		error = check_limits(cred, &wish, why);
	/* Not soon again: what a process still fires was for who had it before. */
	if (!error && xa_alloc_cyclic(&ids, &s->id, s, xa_limit_32b, &next_id, GFP_KERNEL) < 0)
		error = kl_fail(why, -ENOMEM, "no memory for a session");
	if (!error)
		error = kl_buffer_create(s, why);
	if (!error)
		list_add_tail(&s->list, &sessions);
	mutex_unlock(&sessions_lock);
	cpus_read_unlock();
	if (!error)
		return s;
	kl_session_put(s);
	return ERR_PTR(error);
}

/* Others' sessions are nothing that an ordinary user is told of. */
static bool is_known_to(const struct kl_session *s, const struct cred *cred, u32 may)
{
	return !kl_rights_lack(may, kl_session_needs(0, uid_eq(s->owner->fsuid, cred->fsuid)));
}

/**
 * kl_session_find - another's session, to read it
 * @id: of the session
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 * @why: set on failure
 *
 * It must be the same user's, or the opener may see all; and it may not show more than the opener
 * could see itself (kl_access_may_read). Returns it with a reference, or an error pointer.
 */
struct kl_session *kl_session_find(u32 id, const struct cred *cred, u32 may, struct kl_error *why)
{
	struct kl_session *s, *found = NULL;
	bool shows_more = false;

	mutex_lock(&sessions_lock);
	list_for_each_entry(s, &sessions, list) {
		if (s->id != id || !is_known_to(s, cred, may))
			continue;
		shows_more = !kl_access_may_read(s, cred, may);
		if (!shows_more && kref_get_unless_zero(&s->ref))
			found = s;
	}
	mutex_unlock(&sessions_lock);
	if (found)
		return found;
	if (shows_more)
		return ERR_PTR(kl_fail(why, -EPERM, "session %u shows more than you may see", id));
	return ERR_PTR(kl_fail(why, -ENOENT, "there is no session %u of yours", id));
}

/**
 * kl_session_get - one more user
 * @s: a session that the caller has
 */
void kl_session_get(struct kl_session *s)
{
	kref_get(&s->ref);
}

/**
 * kl_session_put - one user less; the last frees it
 * @s: the session
 *
 * Context: may sleep.
 */
void kl_session_put(struct kl_session *s)
{
	kref_put(&s->ref, free_session);
}

static int attach(struct kl_session *s, u32 id, struct kl_error *why)
{
	int error = 0;
	bool exit;

	if (!kl_event_is_fired_by_syscalls(id, &exit)) {
		error = kl_source_attach(s, id, why);
	} else if (!s->syscalls_attached[exit]) {
		error = kl_syscalls_attach(s, exit, why);
		s->syscalls_attached[exit] = !error;
	}
	if (!error)
		__set_bit(id, s->attached);
	return error;
}

static u32 defined_in(const struct kl_actions *actions)
{
	return actions->n - KL_EV_MAX;
}

/* Detach what @wanted does not need; NULL: all. */
static void detach_unused(struct kl_session *s, const struct kl_actions *wanted)
{
	bool needed[2] = {};
	bool exit;
	u32 id;

	for_each_set_bit(id, s->attached, KL_EV_MAX) {
		bool by_syscalls = kl_event_is_fired_by_syscalls(id, &exit);

		if (wanted && wanted->action[id]) {
			needed[exit] |= by_syscalls;
			continue;
		}
		if (!by_syscalls)
			kl_source_detach(s, id);
		__clear_bit(id, s->attached);
	}
	for (int i = 0; i < 2; i++) {
		if (needed[i] || !s->syscalls_attached[i])
			continue;
		kl_syscalls_detach(s, i);
		s->syscalls_attached[i] = false;
	}
	kl_defined_detach(s, wanted ? wanted->action + KL_EV_MAX : NULL,
			  wanted ? defined_in(wanted) : 0);
}

static int attach_wanted(struct kl_session *s, const struct kl_actions *wanted,
			 struct kl_error *why)
{
	for (u32 id = 0; id < KL_EV_MAX; id++) {
		int error;

		if (!wanted->action[id] || test_bit(id, s->attached))
			continue;
		error = attach(s, id, why);
		if (error)
			return error;
	}
	return kl_defined_attach(s, wanted->action + KL_EV_MAX, defined_in(wanted), why);
}

static int claim_and_attach(struct kl_session *s, const struct kl_actions *wanted,
			    struct kl_budget **budget, struct kl_error *why)
{
	*budget = kl_budget_claim(s, wanted, why);
	return PTR_ERR_OR_ZERO(*budget) ?: attach_wanted(s, wanted, why);
}

/**
 * kl_session_use - another maskset from now on
 * @s: the session
 * @maskset: its id
 * @why: set on failure; then everything is as it was
 *
 * While the session runs, each event is handled by the old or by the new
 * maskset, never by neither or both: probes for both are there while the
 * pointer changes. Context: may sleep.
 */
int kl_session_use(struct kl_session *s, u32 maskset, struct kl_error *why)
{
	struct kl_budget *budget = NULL;
	struct kl_actions *new, *old;
	int error;

	mutex_lock(&s->lock);
	old = rcu_dereference_protected(s->actions, lockdep_is_held(&s->lock));
	new = kl_maskset_compile(s, maskset, why);
	if (IS_ERR(new)) {
		mutex_unlock(&s->lock);
		return PTR_ERR(new);
	}
	error = s->running ? claim_and_attach(s, new, &budget, why) :
			     kl_budget_check(s, new, why);
	if (error) {
		kl_budget_release(budget);
		if (s->running)
			detach_unused(s, old);
		kvfree(new);
	} else {
		swap(s->budget, budget);
		kl_budget_release(budget);
		rcu_assign_pointer(s->actions, new);
		kvfree_rcu(old, rcu);
		if (s->running)
			detach_unused(s, new);
	}
	mutex_unlock(&s->lock);
	return error;
}

/**
 * kl_session_stop_locked - as kl_session_stop, of one that runs
 * @s: the session; its lock is held
 */
void kl_session_stop_locked(struct kl_session *s)
{
	lockdep_assert_held(&s->lock);
	kl_watchdog_stop(s);
	kl_latency_stop(s);
	detach_unused(s, NULL);
	kl_follow_detach(s);
	kl_source_synchronize();
	kl_budget_release(s->budget);
	s->budget = NULL;
	kl_buffer_finish(s);
	/* The last blocks are complete. Pairs with reader_poll. */
	smp_store_release(&s->running, false);
	wake_up_interruptible_all(&s->wait);
}

/**
 * kl_session_start - attach the probes
 * @s: the session
 * @why: set on failure; then nothing is attached
 *
 * Context: may sleep.
 */
int kl_session_start(struct kl_session *s, struct kl_error *why)
{
	const struct kl_actions *actions;
	int error = 0;

	mutex_lock(&s->lock);
	if (s->closed)
		error = kl_fail(why, -ESHUTDOWN, "the session's creator has closed it");
	else if (s->running)
		error = kl_fail(why, -EALREADY, "the session is running");
	if (error)
		goto unlock;
	actions = rcu_dereference_protected(s->actions, lockdep_is_held(&s->lock));
	if (s->gate & KL_GATE_TASKS || kl_session_has_flags(s)) {
		error = kl_follow_attach(s);
		if (error) {
			kl_fail(why, error, "cannot follow forks");
			goto unlock;
		}
	}
	s->running = true;
	kl_watchdog_start(s);
	WRITE_ONCE(s->custom.began, kl_clock());
	error = claim_and_attach(s, actions, &s->budget, why) ?: kl_latency_start(s, why);
	if (error)
		kl_session_stop_locked(s);
unlock:
	mutex_unlock(&s->lock);
	return error;
}

/**
 * kl_session_stop - detach the probes; what was recorded can still be read
 * @s: the session; nothing happens if it does not run
 *
 * Context: may sleep.
 */
void kl_session_stop(struct kl_session *s)
{
	mutex_lock(&s->lock);
	if (s->running)
		kl_session_stop_locked(s);
	mutex_unlock(&s->lock);
}

/**
 * kl_session_close - the creator is gone: stop for good
 * @s: the session
 */
void kl_session_close(struct kl_session *s)
{
	kl_session_stop(s);
	mutex_lock(&s->lock);
	s->closed = true;
	mutex_unlock(&s->lock);
}

/**
 * kl_session_resize - another number of blocks, while records are written
 * @s: the session
 * @blocks: per CPU
 * @why: set on failure
 */
int kl_session_resize(struct kl_session *s, u32 blocks, struct kl_error *why)
{
	int error = 0;

	cpus_read_lock();
	mutex_lock(&sessions_lock);
	if (!(s->may & KL_MAY_SEE_ALL) && blocks > s->blocks && blocks <= s->blocks_max)
		error = check_bytes(s->owner,
				    (u64)(blocks - s->blocks) * s->block_bytes * num_online_cpus(),
				    why);
	if (!error)
		error = kl_buffer_resize(s, blocks, why);
	mutex_unlock(&sessions_lock);
	cpus_read_unlock();
	return error;
}

/**
 * kl_session_status - one of the sessions that a user may know of
 * @status: `index` in, the rest out
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 *
 * Returns 0 or -ENOENT behind the last.
 */
int kl_session_status(struct kl_abi_status *status, const struct cred *cred, u32 may)
{
	u32 index = status->index;
	struct kl_session *s;
	int error = -ENOENT;

	mutex_lock(&sessions_lock);
	list_for_each_entry(s, &sessions, list) {
		if (!is_known_to(s, cred, may))
			continue;
		if (index--)
			continue;
		status->uid = from_kuid_munged(cred->user_ns, s->owner->fsuid);
		kl_session_fill_status(s, status);
		error = 0;
		break;
	}
	mutex_unlock(&sessions_lock);
	return error;
}

/**
 * kl_session_number - sessions that an opener may know of, now
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 */
u32 kl_session_number(const struct cred *cred, u32 may)
{
	struct kl_session *s;
	u32 number = 0;

	mutex_lock(&sessions_lock);
	list_for_each_entry(s, &sessions, list)
		number += is_known_to(s, cred, may);
	mutex_unlock(&sessions_lock);
	return number;
}

/**
 * kl_sessions_attached - those of them that have an event attached now
 * @id: below KL_EV_MAX
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 */
u32 kl_sessions_attached(u32 id, const struct cred *cred, u32 may)
{
	struct kl_session *s;
	u32 number = 0;

	mutex_lock(&sessions_lock);
	list_for_each_entry(s, &sessions, list)
		number += is_known_to(s, cred, may) && test_bit(id, s->attached);
	mutex_unlock(&sessions_lock);
	return number;
}

/**
 * kl_session_limits - what a user without privilege may have
 * @sessions: set
 * @buffer_bytes: set
 */
void kl_session_limits(u32 *sessions, u64 *buffer_bytes)
{
	*sessions = sessions_per_user;
	*buffer_bytes = (u64)buffer_mb_per_user << 20;
}

/* A CPU has come: give it buffers. Without them its records count as lost. */
static int on_cpu_online(unsigned int cpu)
{
	struct kl_session *s;

	mutex_lock(&sessions_lock);
	list_for_each_entry(s, &sessions, list)
		if (kl_buffer_add_cpu(s, cpu))
			pr_warn("no memory for session %u on CPU %u\n", s->id, cpu);
	mutex_unlock(&sessions_lock);
	return 0;
}

/**
 * kl_sessions_init - before the first session
 *
 * Returns 0 or a negative errno.
 */
int kl_sessions_init(void)
{
	hotplug_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "kernlens:online",
						  on_cpu_online, NULL);
	return hotplug_state < 0 ? hotplug_state : 0;
}

/**
 * kl_sessions_deinit - after the last session
 */
void kl_sessions_deinit(void)
{
	cpuhp_remove_state_nocalls(hotplug_state);
}
