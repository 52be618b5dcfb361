// SPDX-License-Identifier: GPL-2.0
/*
 * Masksets: which handler each event has. Three are built in; users' own belong to their session.
 * What a session does at the moment is a compiled copy (kl_actions), limited to what its owner is
 * allowed and this kernel can do. Under the session's lock.
 */
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../core/caller.h"
#include "../handler/handler.h"
#include "../source/dynamic/dynamic.h"
#include "../source/source.h"
#include "session.h"

struct maskset {
	char name[KL_NAME_MAX];
	u32 n;
	u8 handler[]; /* of events.def and syscalls.def, then of defined events */
};

static u64 bytes_of(u32 n)
{
	return kl_memory_size(sizeof(struct maskset) + n);
}

static const char *const builtin_names[] = {
	[KL_MASKSET_RNOTHING] = "RNOTHING",
	[KL_MASKSET_RALL] = "RALL",
	[KL_MASKSET_RDEFAULT] = "RDEFAULT",
};

static bool is_event(u32 id)
{
	return kl_event_of(id) || kl_event_is_syscall(id);
}

/* The handler of an event in a built-in maskset: log or nothing. */
static u8 builtin_handler(u32 maskset, u32 id)
{
	u8 set;

	if (maskset == KL_MASKSET_RNOTHING || !is_event(id))
		return KL_HANDLER_nothing;
	set = kl_event_set(id);
	if (set == KL_SET_DEFAULT || (set == KL_SET_ALL && maskset == KL_MASKSET_RALL))
		return KL_HANDLER_log;
	return KL_HANDLER_nothing;
}

/*
 * Add the checks that a probe makes first to an action; one that does nothing needs none. Sources
 * that handle rules before any checks pass 0 as @rule.
 */
static u8 asking(u8 action, u8 what, u8 rule)
{
	action &= KL_ACTION_HANDLER;
	if (action >= KL_ACTION_RULE)
		what |= rule;
	return action ? action | what : 0;
}

static bool wants_memory(const struct kl_actions *actions)
{
	return actions->action[KL_EV_strace_memory] || actions->action[KL_EV_strace_list];
}

/**
 * kl_maskset_ask - set in actions what probes must check before they act
 * @s: the session, with its gate set
 * @actions: of a session that is not running, or not yet in use
 *
 * The probes of system calls check a set of tasks themselves, and show no kernel addresses. Calls
 * with strings are not their common case: the entry copies the strings, and the exit (even if it
 * is not wanted itself) those that were not in memory at the entry. Nor are calls that execute
 * programs in a session with a set, as a task that is awaited is not in it yet; nor those with
 * memory to record, if that has been requested.
 */
void kl_maskset_ask(const struct kl_session *s, struct kl_actions *actions)
{
	u8 any = s->gate || !s->see_addresses ? KL_ACTION_ASK : 0;
	u8 call = s->gate == KL_GATE_TASKS ? KL_ACTION_TASKS : s->gate ? KL_ACTION_ASK : 0;
	u8 any_call = s->gate ? KL_ACTION_ASK : 0;
	u8 *action = actions->action;
	u8 *entry = action + KL_EV_SYSCALL_ENTRY, *exit = action + KL_EV_SYSCALL_EXIT;

	actions->memory = wants_memory(actions);
	for (u32 id = 0; id < KL_EV_SYSCALL_ENTRY; id++)
		action[id] = asking(action[id], any, KL_ACTION_ASK);
	/* Their sources handle rules, and show what their programs are allowed to. */
	for (u32 id = KL_EV_DYNAMIC; id < actions->n; id++)
		action[id] = asking(action[id], s->gate ? KL_ACTION_ASK : 0, 0);
	for (u32 nr = 0; nr < KL_EV_SYSCALL_MAX; nr++) {
		bool strings = kl_syscall_strings_number(nr);

		entry[nr] = asking(entry[nr], strings ? KL_ACTION_ASK : call, 0);
		exit[nr] = asking(exit[nr], kl_syscall_executes(nr) ? any_call : call, 0);
		if (strings && entry[nr] && action[KL_EV_syscall_late_string])
			exit[nr] = (exit[nr] & KL_ACTION_HANDLER) | KL_ACTION_ASK;
		if (actions->memory && kl_syscall_memory_rows(nr)) {
			entry[nr] = asking(entry[nr], KL_ACTION_ASK, 0);
			if (entry[nr] || exit[nr])
				exit[nr] = (exit[nr] & KL_ACTION_HANDLER) | KL_ACTION_ASK;
		}
	}
}

/* Prepare what else the actions need: counters, a set of tasks. */
static int prepare(struct kl_session *s, const struct kl_actions *actions, struct kl_error *why)
{
	struct kl_taskset *unread;

	if ((actions->action[KL_EV_syscall_late_string] || wants_memory(actions)) && !s->unread) {
		unread = kl_taskset_create(&s->payer, why);
		if (IS_ERR(unread))
			return PTR_ERR(unread);
		/*
		 * Pairs with the loads in kernel/source/syscall_internal.h and syscall_string.c:
		 * an address dependency.
		 */
		smp_store_release(&s->unread, unread);
	}
	return kl_handler_prepare(s, actions, why);
}

static size_t actions_bytes(u32 n)
{
	return sizeof(struct kl_actions) + n;
}

/**
 * kl_actions_create - create actions that do nothing
 * @s: the session
 * @defined: number of events that the session has defined
 * @why: set on failure
 *
 * Returns the actions or an error pointer. Free them with kl_actions_destroy.
 */
struct kl_actions *kl_actions_create(struct kl_session *s, u32 defined, struct kl_error *why)
{
	u32 n = KL_EV_MAX + defined;
	u64 bytes = kl_memory_size(actions_bytes(n));
	struct kl_actions *actions;
	int error = kl_memory_charge(&s->payer, bytes, why);

	if (error)
		return ERR_PTR(error);
	actions = kvzalloc(actions_bytes(n), GFP_KERNEL_ACCOUNT);
	if (!actions) {
		kl_memory_uncharge(&s->payer, bytes);
		return ERR_PTR(kl_fail(why, -ENOMEM, "no memory for a maskset's actions"));
	}
	actions->n = n;
	return actions;
}

/**
 * kl_actions_destroy - free actions
 * @s: the session
 * @actions: which have never been in use
 */
void kl_actions_destroy(struct kl_session *s, struct kl_actions *actions)
{
	u64 bytes = kl_memory_size(actions_bytes(actions->n));

	kvfree(actions);
	kl_memory_uncharge(&s->payer, bytes);
}

/**
 * kl_actions_retire - free actions once no probe can use them
 * @s: the session; its lock is held
 * @actions: which have just been replaced
 *
 * They stay allocated and charged until the next ones are replaced or the session ends, so a
 * caller that switches faster than grace periods end waits for them. Context: may sleep.
 */
void kl_actions_retire(struct kl_session *s, struct kl_actions *actions)
{
	lockdep_assert_held(&s->lock);
	if (s->replaced) {
		cond_synchronize_rcu(s->replaced_at);
		kl_actions_destroy(s, s->replaced);
	}
	s->replaced = actions;
	s->replaced_at = get_state_synchronize_rcu();
}

/**
 * kl_maskset_compile - compile a maskset into actions
 * @s: the session; its lock is held
 * @id: of the maskset
 * @why: set on failure
 *
 * For built-in masksets, leaves out events that are unavailable or not allowed; users' own were
 * checked when they were written. Returns the actions or an error pointer.
 */
struct kl_actions *kl_maskset_compile(struct kl_session *s, u32 id, struct kl_error *why)
{
	struct kl_actions *actions = kl_actions_create(s, kl_dynevent_number(s), why);
	char reason[KL_ERROR_TEXT_MAX];
	struct maskset *m = NULL;
	int error;

	lockdep_assert_held(&s->lock);
	if (IS_ERR(actions))
		return actions;
	actions->maskset = id;
	if (id >= KL_MASKSET_FIRST_USER) {
		m = xa_load(&s->masksets, id);
		if (!m) {
			error = kl_fail(why, -ENOENT, "maskset %u does not exist", id);
			goto free;
		}
		memcpy(actions->action, m->handler, min(m->n, actions->n));
	} else {
		for (u32 event = 0; event < KL_EV_MAX; event++)
			if (!kl_event_absent(event, reason) &&
			    kl_event_is_allowed(s->may, event, NULL))
				actions->action[event] = builtin_handler(id, event);
	}
	error = prepare(s, actions, why);
	if (!error) {
		kl_maskset_ask(s, actions);
		return actions;
	}
free:
	kl_actions_destroy(s, actions);
	return ERR_PTR(error);
}

/* Is @action valid in a maskset? Rules exist as long as the session. */
static int check_action(struct kl_session *s, u32 id, u8 action, struct kl_error *why)
{
	const struct kl_handler *handler;

	if (action >= KL_ACTION_RULE && action - KL_ACTION_RULE < READ_ONCE(s->defs.rule_count))
		return 0;
	if (action >= KL_ACTION_RULE)
		return kl_fail(why, -EINVAL, "event %u: rule %u does not exist", id,
			       action - KL_ACTION_RULE);
	handler = kl_handler_find(action);
	if (!handler || !(handler->flags & KL_HANDLES_PLAIN))
		return kl_fail(why, -EINVAL, "event %u: handler %u requires a rule", id, action);
	return 0;
}

static int check_maskset(struct kl_session *s, const struct kl_abi_maskset *m, struct kl_error *why)
{
	char reason[KL_ERROR_TEXT_MAX];

	if (m->id != KL_MASKSET_ANY && (m->id < KL_MASKSET_FIRST_USER || m->id >= KL_MASKSET_MAX))
		return kl_fail(why, -EINVAL, "maskset %u is read-only; %u to %u can be written",
			       m->id, KL_MASKSET_FIRST_USER, KL_MASKSET_MAX - 1);
	if (strnlen(m->name, KL_NAME_MAX) == KL_NAME_MAX)
		return kl_fail(why, -EINVAL, "the maskset's name is not NUL-terminated");
	if (m->id == KL_MASKSET_ANY && !m->name[0])
		return kl_fail(why, -EINVAL, "a maskset without an ID requires a name");
	if (m->reserved)
		return kl_fail(why, -EINVAL, "a reserved member of the maskset is not 0");
	for (u32 id = 0; id < KL_EV_MAX; id++) {
		int error;

		if (m->handler[id] == KL_HANDLER_nothing)
			continue;
		error = check_action(s, id, m->handler[id], why);
		if (error)
			return error;
		if (kl_event_absent(id, reason))
			return kl_fail(why, -ENOENT, "event %u: %s", id, reason);
		if (!kl_event_is_allowed(s->may, id, why))
			return -EPERM;
	}
	return 0;
}

/* Copy and check the bytes of the events that the session has defined. */
static int take_dynamic(struct kl_session *s, const struct kl_abi_maskset *m, struct maskset *to,
			struct kl_error *why)
{
	if (!kl_caller_copy(to->handler + KL_EV_MAX, m->dynamic, m->n_dynamic))
		return kl_fail(why, -EFAULT, "cannot read the maskset from user memory");
	for (u32 i = 0; i < m->n_dynamic; i++) {
		int error = check_action(s, KL_EV_DYNAMIC + i, to->handler[KL_EV_MAX + i], why);

		if (error)
			return error;
	}
	return 0;
}

/* The id of the maskset with this name, else the first free id, else KL_MASKSET_MAX. */
static u32 find_id(struct kl_session *s, const char *name)
{
	u32 id, free = KL_MASKSET_MAX;

	lockdep_assert_held(&s->lock);
	for (id = KL_MASKSET_FIRST_USER; id < KL_MASKSET_MAX; id++) {
		const struct maskset *m = xa_load(&s->masksets, id);

		if (m && !strcmp(m->name, name))
			return id;
		if (!m && free == KL_MASKSET_MAX)
			free = id;
	}
	return free;
}

static void destroy(struct kl_session *s, struct maskset *m)
{
	kl_memory_uncharge(&s->payer, bytes_of(m->n));
	kvfree(m);
}

static int store(struct kl_session *s, u32 *id, struct maskset *new, struct kl_error *why)
{
	struct maskset *old = NULL;
	int error = 0;

	mutex_lock(&s->lock);
	if (*id == KL_MASKSET_ANY)
		*id = find_id(s, new->name);
	if (*id < KL_MASKSET_MAX)
		old = xa_store(&s->masksets, *id, new, GFP_KERNEL_ACCOUNT);
	else
		error = kl_fail(why, -ENOSPC, "a session can have at most %u masksets",
				KL_MASKSET_MAX);
	mutex_unlock(&s->lock);
	if (xa_is_err(old))
		return kl_fail(why, xa_err(old), "no memory for maskset %u", *id);
	if (old)
		destroy(s, old);
	return error;
}

/**
 * kl_maskset_write - create or replace one of the user's masksets
 * @s: the session
 * @m: the whole maskset; `id` is set if it is KL_MASKSET_ANY
 * @why: set on failure
 *
 * A session that is using it keeps the old one until it selects the maskset again. Context: may
 * sleep.
 */
int kl_maskset_write(struct kl_session *s, struct kl_abi_maskset *m, struct kl_error *why)
{
	int error = check_maskset(s, m, why);
	u32 n = KL_EV_MAX + m->n_dynamic;
	struct maskset *new;

	if (error)
		return error;
	if (m->n_dynamic > kl_dynevent_number(s))
		return kl_fail(why, -EINVAL, "the session has defined %u events, not %u",
			       kl_dynevent_number(s), m->n_dynamic);
	error = kl_memory_charge(&s->payer, bytes_of(n), why);
	if (error)
		return error;
	new = kvzalloc(struct_size(new, handler, n), GFP_KERNEL_ACCOUNT);
	if (!new) {
		kl_memory_uncharge(&s->payer, bytes_of(n));
		return kl_fail(why, -ENOMEM, "no memory for maskset %u", m->id);
	}
	new->n = n;
	memcpy(new->name, m->name, sizeof(new->name));
	memcpy(new->handler, m->handler, KL_EV_MAX);
	error = take_dynamic(s, m, new, why);
	if (!error)
		error = store(s, &m->id, new, why);
	if (error)
		destroy(s, new);
	return error;
}

/* Copy one of the user's masksets, and as much of @dynamic as fits. */
static int copy_maskset(struct kl_session *s, struct kl_abi_maskset *m, u8 *dynamic, u32 room,
			struct kl_error *why)
{
	const struct maskset *found;

	mutex_lock(&s->lock);
	found = xa_load(&s->masksets, m->id);
	if (found) {
		memcpy(m->name, found->name, sizeof(m->name));
		memcpy(m->handler, found->handler, sizeof(m->handler));
		m->n_dynamic = found->n - KL_EV_MAX;
		memcpy(dynamic, found->handler + KL_EV_MAX, min(room, m->n_dynamic));
	}
	mutex_unlock(&s->lock);
	return found ? 0 : kl_fail(why, -ENOENT, "maskset %u does not exist", m->id);
}

/* Uses a buffer, as writing to the caller's memory may block, which must not be under the lock. */
static int read_own(struct kl_session *s, struct kl_abi_maskset *m, struct kl_error *why)
{
	u32 room = min(m->n_dynamic, kl_dynevent_number(s));
	u64 bytes = kl_memory_size(room);
	int error = kl_memory_charge(&s->payer, bytes, why);
	u8 *dynamic;

	if (error)
		return error;
	dynamic = kvzalloc(max(room, 1u), GFP_KERNEL_ACCOUNT);
	if (dynamic)
		error = copy_maskset(s, m, dynamic, room, why);
	else
		error = kl_fail(why, -ENOMEM, "no memory for maskset %u", m->id);
	if (!error && copy_to_user(u64_to_user_ptr(m->dynamic), dynamic, min(room, m->n_dynamic)))
		error = kl_fail(why, -EFAULT, "cannot write the maskset to user memory");
	kvfree(dynamic);
	kl_memory_uncharge(&s->payer, bytes);
	return error;
}

/**
 * kl_maskset_read - read a maskset as it was written, or as it is built in
 * @s: the session
 * @m: `id` is read, the rest is filled in
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_maskset_read(struct kl_session *s, struct kl_abi_maskset *m, struct kl_error *why)
{
	memset(m->name, 0, sizeof(m->name));
	if (m->id >= KL_MASKSET_FIRST_USER)
		return read_own(s, m, why);
	m->n_dynamic = 0;
	strscpy(m->name, builtin_names[array_index_nospec(m->id, ARRAY_SIZE(builtin_names))],
		sizeof(m->name));
	for (u32 id = 0; id < KL_EV_MAX; id++)
		m->handler[id] = builtin_handler(m->id, id);
	return 0;
}

/**
 * kl_maskset_find - id of a maskset
 * @s: the session
 * @name: of one of the session's own, or of one that is built in
 * @why: set on failure
 *
 * Returns the id, or a negative errno.
 */
int kl_maskset_find(struct kl_session *s, const char *name, struct kl_error *why)
{
	struct maskset *m;
	int found = -ENOENT;
	unsigned long id;

	for (u32 i = 0; i < ARRAY_SIZE(builtin_names); i++)
		if (!strcmp(name, builtin_names[i]))
			return i;
	mutex_lock(&s->lock);
	xa_for_each(&s->masksets, id, m)
		if (found < 0 && !strcmp(name, m->name))
			found = id;
	mutex_unlock(&s->lock);
	return found < 0 ? kl_fail(why, found, "session %u has no maskset %s", s->id, name) : found;
}

/**
 * kl_masksets_destroy - free the user's masksets
 * @s: a session that nothing uses any more
 */
void kl_masksets_destroy(struct kl_session *s)
{
	struct maskset *m;
	unsigned long id;

	xa_for_each(&s->masksets, id, m)
		kvfree(m);
	xa_destroy(&s->masksets);
}
