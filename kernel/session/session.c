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
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uuid.h>

#include "../compat/clock.h"
#include "../source/block/splice.h"
#include "../source/defined.h"
#include "../source/source.h"
#include "gate.h"
#include "session.h"
#include "stack.h"

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

static struct kl_session *alloc_session(const struct kl_abi_session *wish, const struct cred *cred,
					u32 may)
{
	struct kl_session *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);

	if (!s)
		return NULL;
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
	s->memcg = get_mem_cgroup_from_mm(current->mm);
	s->may = may;
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
	kl_taskset_destroy(s->watched);
	kl_custom_deinit(s);
	kvfree(rcu_dereference_protected(s->actions, true));
	put_cred(s->owner);
	mem_cgroup_put(s->memcg);
	mutex_destroy(&s->lock);
	if (s->id)
		xa_erase(&ids, s->id);
	/* All that it was charged for has been freed. */
	kl_payer_deinit(&s->payer);
	kfree(s);
}

/* Whose session it is, that there may be one more, and what it does at first: nothing. */
static int init_session(struct kl_session *s, struct kl_error *why)
{
	struct kl_actions *nothing;
	int error = kl_payer_init(&s->payer, s->owner, s->may);

	if (error)
		return kl_fail(why, error, "no memory for a session");
	error = kl_payer_charge(&s->payer, KL_LIMIT_sessions, 1, why);
	if (!error)
		error = kl_memory_charge(&s->payer, kl_memory_size(sizeof(*s)), why);
	if (error)
		return error;
	nothing = kl_actions_create(s, 0, why);
	if (IS_ERR(nothing))
		return PTR_ERR(nothing);
	RCU_INIT_POINTER(s->actions, nothing);
	return 0;
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
	error = init_session(s, why);
	cpus_read_lock();
	mutex_lock(&sessions_lock);
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
		error = kl_probe_attach(s, id, why);
	} else if (!s->syscalls_attached[exit]) {
		error = kl_probe_attach_syscalls(s, exit, why);
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
		if (!by_syscalls) {
			kl_source_detach(s, id);
			kl_payer_uncharge(&s->payer, KL_LIMIT_probes, 1);
		}
		__clear_bit(id, s->attached);
	}
	for (int i = 0; i < 2; i++) {
		if (needed[i] || !s->syscalls_attached[i])
			continue;
		kl_syscalls_detach(s, i);
		kl_payer_uncharge(&s->payer, KL_LIMIT_probes, 1);
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

/**
 * kl_session_try_use - another maskset from now on, if its text patches are allowed
 * @s: the session
 * @maskset: its id
 * @extra: tokens that it takes beside those of patches
 * @delay: set to 0, or if nothing was done to the milliseconds until it may be
 * @why: set on failure; then everything is as it was
 *
 * While the session runs, each event is handled by the old or by the new
 * maskset, never by neither or both: probes for both are there while the
 * pointer changes. Context: may sleep.
 */
int kl_session_try_use(struct kl_session *s, u32 maskset, u32 extra, u32 *delay,
		       struct kl_error *why)
{
	struct kl_actions *new, *old;
	int error = 0;

	*delay = 0;
	mutex_lock(&s->lock);
	old = rcu_dereference_protected(s->actions, lockdep_is_held(&s->lock));
	new = kl_maskset_compile(s, maskset, why);
	if (IS_ERR(new)) {
		mutex_unlock(&s->lock);
		return PTR_ERR(new);
	}
	if (s->running)
		extra += kl_patches_count(s, new);
	*delay = kl_payer_take(&s->payer, KL_BUCKET_PATCHES, extra);
	if (*delay) {
		kl_actions_destroy(s, new);
		mutex_unlock(&s->lock);
		return 0;
	}
	if (s->running)
		error = attach_wanted(s, new, why);
	if (error) {
		detach_unused(s, old);
		kl_actions_destroy(s, new);
	} else {
		rcu_assign_pointer(s->actions, new);
		kl_actions_destroy(s, old);
		if (s->running)
			detach_unused(s, new);
	}
	mutex_unlock(&s->lock);
	return error;
}

static void stop_running(struct kl_session *s)
{
	lockdep_assert_held(&s->lock);
	kl_latency_stop(s);
	detach_unused(s, NULL);
	kl_follow_detach(s);
	kl_gate_leave(s);
	kl_source_synchronize();
	kl_buffer_finish(s);
	/* The last blocks are complete. Pairs with reader_poll. */
	smp_store_release(&s->running, false);
	wake_up_interruptible_all(&s->wait);
}

/**
 * kl_session_try_start - attach the probes, if the text patches are allowed
 * @s: the session
 * @delay: set to 0, or if nothing was done to the milliseconds until it may be
 * @why: set on failure; then nothing is attached
 *
 * Context: may sleep.
 */
int kl_session_try_start(struct kl_session *s, u32 *delay, struct kl_error *why)
{
	const struct kl_actions *actions;
	int error = 0;

	*delay = 0;
	mutex_lock(&s->lock);
	if (s->closed)
		error = kl_fail(why, -ESHUTDOWN, "the session's creator has closed it");
	else if (s->running)
		error = kl_fail(why, -EALREADY, "the session is running");
	if (error)
		goto unlock;
	actions = rcu_dereference_protected(s->actions, lockdep_is_held(&s->lock));
	*delay = kl_payer_take(&s->payer, KL_BUCKET_PATCHES, kl_patches_to_start(s, actions));
	if (*delay)
		goto unlock;
	s->running = true;
	error = kl_gate_enter(s, why);
	if (!error && (s->gate & KL_GATE_TASKS || kl_session_has_flags(s)))
		error = kl_follow_attach(s, why);
	WRITE_ONCE(s->custom.began, kl_clock());
	if (!error)
		error = attach_wanted(s, actions, why) ?: kl_latency_start(s, why);
	if (error)
		stop_running(s);
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
		stop_running(s);
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
	int error;

	cpus_read_lock();
	mutex_lock(&sessions_lock);
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
	struct kl_abi_stats stats = { .cpu = -1 };
	u32 index = status->index;
	struct kl_session *s;
	int error = -ENOENT;

	mutex_lock(&sessions_lock);
	list_for_each_entry(s, &sessions, list) {
		if (!is_known_to(s, cred, may))
			continue;
		if (index--)
			continue;
		kl_session_stats(s, &stats);
		status->id = s->id;
		status->uid = from_kuid_munged(cred->user_ns, s->owner->fsuid);
		status->pid = s->creator;
		status->mode = s->mode;
		status->running = stats.running;
		status->readers = stats.readers;
		status->block_bytes = s->block_bytes;
		status->blocks = s->blocks;
		status->maskset = stats.maskset;
		status->events = bitmap_weight(s->attached, KL_EV_MAX);
		status->written = stats.written;
		status->lost = stats.lost;
		memcpy(status->name, s->name, sizeof(status->name));
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

/* A CPU has come: give it buffers. Without them its records count as lost. */
static int on_cpu_online(unsigned int cpu)
{
	struct kl_session *s;
	struct kl_error why;

	mutex_lock(&sessions_lock);
	list_for_each_entry(s, &sessions, list) {
		struct mem_cgroup *before = set_active_memcg(s->memcg);
		int error = kl_buffer_add_cpu(s, cpu, &why);

		set_active_memcg(before);
		if (error)
			pr_warn("session %u has no buffers on CPU %u: %s\n", s->id, cpu, why.text);
	}
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
	int error = kl_workers_init();

	if (error)
		return error;
	hotplug_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "kernlens:online",
						  on_cpu_online, NULL);
	if (hotplug_state < 0) {
		kl_workers_deinit();
		return hotplug_state;
	}
	kl_gate_init();
	return 0;
}

/**
 * kl_sessions_deinit - after the last session
 */
void kl_sessions_deinit(void)
{
	cpuhp_remove_state_nocalls(hotplug_state);
	kl_gate_deinit();
	kl_workers_deinit();
}
