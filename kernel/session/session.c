// SPDX-License-Identifier: GPL-2.0
/*
 * A session's lifetime: from a call on an open device until the last descriptor that uses it is
 * closed.
 *
 * Lock order: the kernel's CPU hotplug lock, `sessions_lock` (the list of all sessions). A
 * session's `lock` is held while probes are attached, which takes the hotplug lock, so never take
 * it inside either of these. The calls of all users wait for them, so no memory is allocated under
 * them.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uuid.h>

#include "../core/gate.h"
#include "../core/reserved.h"
#include "../core/stack.h"
#include "../latency/latency.h"
#include "../source/dynamic/dynamic.h"
#include "../splice/splice.h"
#include "budget.h"
#include "session.h"
#include "watchdog.h"

/* Of the reserved memory, for metadata and stack traces. */
#define RESERVED_OTHER (6ull << 20)

static DEFINE_MUTEX(sessions_lock);
static LIST_HEAD(sessions);
static DEFINE_XARRAY_ALLOC1(ids);
static u32 next_id;
static int hotplug_state;

static void fill(struct work_struct *work)
{
	struct kl_session *s = container_of(work, struct kl_session, fill);
	struct kl_error why = {};

	if (kl_buffer_fill(s, &why) && !READ_ONCE(s->closed))
		pr_warn("kernlens: session %u has no buffers on an online CPU: %s\n", s->id,
			why.text);
}

/*
 * Blocks for each CPU that fit into the reserved memory, beside what leads to them, the metadata
 * and the stack traces.
 */
static u32 fitting_blocks(u32 block_bytes)
{
	u64 free = kl_reserved_free_bytes();
	u64 left = free - min_t(u64, free / 2, RESERVED_OTHER) - free / 64;

	return clamp_t(u64, div64_u64(left, (u64)block_bytes * num_online_cpus()), KL_BLOCKS_MIN,
		       KL_BLOCKS_MAX);
}

static int check_keep(struct kl_abi_session *params, u32 may, struct kl_error *why)
{
	int error;

	if (params->flags & ~KL_SESSION_KEEP || params->reserved)
		return kl_fail(why, -EINVAL, "unknown session flags %#x", params->flags);
	if (!(params->flags & KL_SESSION_KEEP))
		return 0;
	if (!(may & KL_MAY_SEE_ALL))
		return kl_fail(why, -EPERM, "keeping a session over a crash needs CAP_PERFMON");
	error = kl_reserved_check(why);
	if (error || params->blocks)
		return error;
	params->blocks = fitting_blocks(params->block_bytes);
	params->blocks_max = params->blocks;
	return 0;
}

static int check_params(struct kl_abi_session *params, u32 may, struct kl_error *why)
{
	int error;

	if (params->mode > KL_MODE_OVERWRITE)
		return kl_fail(why, -EINVAL, "unknown buffer mode %u", params->mode);
	if (!params->block_bytes)
		params->block_bytes = KL_BLOCK_BYTES_DEFAULT;
	if (!is_power_of_2(params->block_bytes) || params->block_bytes < KL_BLOCK_BYTES_MIN ||
	    params->block_bytes > KL_BLOCK_BYTES_MAX)
		return kl_fail(why, -EINVAL,
			       "blocks of %u bytes: the size must be a power of two from %u to %u",
			       params->block_bytes, KL_BLOCK_BYTES_MIN, KL_BLOCK_BYTES_MAX);
	error = check_keep(params, may, why);
	if (error)
		return error;
	if (!params->blocks)
		params->blocks = 16;
	if (!params->blocks_max)
		params->blocks_max =
			min(params->blocks > KL_BLOCKS_MAX / 4 ? KL_BLOCKS_MAX : 4 * params->blocks,
			    KL_BLOCKS_MAX);
	if (params->blocks < KL_BLOCKS_MIN || params->blocks > params->blocks_max ||
	    params->blocks_max > KL_BLOCKS_MAX)
		return kl_fail(why, -EINVAL,
			       "%u blocks (later up to %u) requested, the range is %u to %u",
			       params->blocks, params->blocks_max, KL_BLOCKS_MIN, KL_BLOCKS_MAX);
	if (strnlen(params->name, KL_NAME_MAX) == KL_NAME_MAX)
		return kl_fail(why, -EINVAL, "the session's name is not NUL-terminated");
	return 0;
}

static struct kl_session *alloc_session(const struct kl_abi_session *params,
					const struct cred *cred, u32 may,
					const struct kl_payer *payer)
{
	struct kl_session *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);

	if (!s)
		return NULL;
	mutex_init(&s->lock);
	mutex_init(&s->size_lock);
	INIT_WORK(&s->fill, fill);
	init_rwsem(&s->blocks_lock);
	kl_waiters_init(&s->waiters);
	INIT_LIST_HEAD(&s->list);
	xa_init(&s->masksets);
	kl_session_defs_init(&s->defs);
	kl_deferred_init(&s->deferred, kl_deferred_work);
	kl_notify_init(&s->notify);
	kref_init(&s->ref);
	s->single.session = s;
	s->owner = kl_cred_get(cred);
	kl_payer_copy(&s->payer, payer);
	s->memcg = get_mem_cgroup_from_mm(current->mm);
	s->may = may;
	kl_watchdog_init_session(s);
	s->see_addresses = may & KL_MAY_SEE_ADDRESSES;
	s->sealed = kl_access_is_sealed();
	s->gate = may & KL_MAY_SEE_ALL ? 0 : KL_GATE_OWN;
	s->awaited = KL_NOBODY;
	s->creator = task_tgid_nr(current);
	s->mode = params->mode;
	s->block_bytes = params->block_bytes;
	s->blocks = params->blocks;
	s->blocks_max = params->blocks_max;
	generate_random_uuid(s->uuid);
	memcpy(s->name, params->name, sizeof(s->name));
	s->reserved = params->flags & KL_SESSION_KEEP;
	return s;
}

static void free_session(struct kref *ref)
{
	struct kl_session *s = container_of(ref, struct kl_session, ref);

	mutex_lock(&sessions_lock);
	list_del_init(&s->list);
	mutex_unlock(&sessions_lock);
	cancel_work_sync(&s->fill);
	kl_crash_withdraw(s);
	kl_watchdog_forget(s);
	kl_deferred_deinit(&s->deferred);
	kl_notify_deinit(&s->notify);
	kl_dynevent_destroy(s);
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
	kl_session_defs_deinit(s);
	kl_crash_destroy(s);
	kvfree(rcu_dereference_protected(s->actions, true));
	kvfree(s->replaced);
	kvfree(s->idle);
	put_cred(s->owner);
	mem_cgroup_put(s->memcg);
	mutex_destroy(&s->size_lock);
	mutex_destroy(&s->lock);
	if (s->id)
		xa_erase(&ids, s->id);
	/* Everything that it was charged for has been freed. */
	kl_payer_deinit(&s->payer);
	kfree(s);
}

/* Charge for one more session, and give it actions that do nothing. */
static int init_session(struct kl_session *s, struct kl_error *why)
{
	struct kl_actions *nothing;
	int error;

	s->release = free_session;
	error = kl_payer_charge(&s->payer, KL_LIMIT_sessions, 1, why);
	if (!error)
		error = kl_memory_charge(&s->payer, kl_memory_size(sizeof(*s)), why);
	if (error)
		return error;
	nothing = kl_actions_create(s, 0, why);
	if (IS_ERR(nothing))
		return PTR_ERR(nothing);
	RCU_INIT_POINTER(s->actions, nothing);
	nothing = kl_actions_create(s, 0, why);
	if (IS_ERR(nothing))
		return PTR_ERR(nothing);
	s->idle = nothing;
	return 0;
}

/* From here on the session can be found, and gets buffers on CPUs that come online or just have. */
static void publish(struct kl_session *s)
{
	int cpu;

	mutex_lock(&sessions_lock);
	list_add_tail(&s->list, &sessions);
	mutex_unlock(&sessions_lock);
	for_each_online_cpu(cpu)
		if (!READ_ONCE(per_cpu_ptr(s->cpu, cpu)->was_online))
			kl_worker_queue(&s->fill);
}

/**
 * kl_session_create - create a session with its buffers, doing nothing yet
 * @given: the caller's parameters; zero members get defaults
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 * @payer: of the opener, whose accounts are charged
 * @why: set on failure
 *
 * Returns the session with one reference, or an error pointer. Context: may sleep.
 */
struct kl_session *kl_session_create(const struct kl_abi_session *given, const struct cred *cred,
				     u32 may, const struct kl_payer *payer, struct kl_error *why)
{
	struct kl_abi_session params = *given;
	struct kl_session *s;
	int error = check_params(&params, may, why);

	if (error)
		return ERR_PTR(error);
	s = alloc_session(&params, cred, may, payer);
	if (!s)
		return ERR_PTR(kl_fail(why, -ENOMEM, "no memory for a session"));
	error = init_session(s, why);
	/*
	 * Ids are not reused soon: a process may still fire traps meant for the previous session.
	 */
	if (!error && xa_alloc_cyclic(&ids, &s->id, s, xa_limit_32b, &next_id, GFP_KERNEL) < 0)
		error = kl_fail(why, -ENOMEM, "no memory for a session");
	if (!error)
		error = kl_crash_create(s, why);
	if (!error)
		error = kl_buffer_create(s, why);
	if (error) {
		kl_session_put(s);
		return ERR_PTR(error);
	}
	kl_crash_publish(s);
	publish(s);
	return s;
}

/* An ordinary user cannot see other users' sessions. */
static bool is_known_to(const struct kl_session *s, const struct cred *cred, u32 may)
{
	return !kl_rights_lack(may, kl_session_needs(0, uid_eq(s->owner->fsuid, cred->fsuid)));
}

/**
 * kl_session_find - find another process's session, to read it
 * @id: of the session
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 * @why: set on failure
 *
 * It must belong to the same user, unless the opener may see all sessions; and it must not show
 * more than the opener could see itself (kl_access_may_read). Returns it with a reference, or an
 * error pointer.
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
		return ERR_PTR(kl_fail(why, -EPERM,
				       "session %u records more than you have permission to see",
				       id));
	return ERR_PTR(kl_fail(why, -ENOENT, "session %u does not exist or is not yours", id));
}

/**
 * kl_session_status - describe one of the sessions that an opener may see
 * @status: `index` is read, the rest is filled in
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 *
 * Returns 0, or -ENOENT after the last session.
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
 * kl_session_number - number of sessions that an opener may see
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
 * kl_sessions_attached - number of these that have an event attached
 * @id: below KL_EV_MAX
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 */
u32 kl_sessions_attached(u32 id, const struct cred *cred, u32 may)
{
	struct kl_session *s;
	u32 number = 0;

	id = array_index_nospec(id, KL_EV_MAX);
	mutex_lock(&sessions_lock);
	/* Starts and stops hold other locks, so this number is approximate. */
	list_for_each_entry(s, &sessions, list)
		number += is_known_to(s, cred, may) && data_race(test_bit(id, s->attached));
	mutex_unlock(&sessions_lock);
	return number;
}

/* A CPU came online and will soon have buffers. Until then its records count as lost. */
static int on_cpu_online(unsigned int cpu)
{
	struct kl_session *s;

	mutex_lock(&sessions_lock);
	list_for_each_entry(s, &sessions, list)
		kl_worker_queue(&s->fill);
	mutex_unlock(&sessions_lock);
	return 0;
}

/**
 * kl_sessions_init - set up, before the first session
 *
 * Returns 0 or a negative errno.
 */
int kl_sessions_init(void)
{
	int error = kl_workers_init();

	if (error)
		return error;
	error = kl_crash_init();
	if (error) {
		kl_workers_deinit();
		return error;
	}
	hotplug_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "kernlens:online",
						  on_cpu_online, NULL);
	if (hotplug_state < 0) {
		kl_crash_deinit();
		kl_workers_deinit();
		return hotplug_state;
	}
	kl_gate_init();
	return 0;
}

/**
 * kl_sessions_deinit - undo kl_sessions_init, after the last session
 */
void kl_sessions_deinit(void)
{
	cpuhp_remove_state_nocalls(hotplug_state);
	kl_gate_deinit();
	kl_crash_deinit();
	kl_workers_deinit();
}
