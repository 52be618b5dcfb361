// SPDX-License-Identifier: GPL-2.0
/*
 * The hubs of tracepoints: which sessions with a gate use each, and the search for those that may
 * want an event. `hubs_lock` guards everything except what probes read under RCU; it nests inside
 * the locks of sessions and tables, and outside the kernel's lock of tracepoints. Memory allocated
 * under it is not charged to a cgroup, whose memory.high would stall all other users of the lock;
 * the limits on probes bound it.
 */
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>

#include "hub.h"
#include "source.h"

#define MEMBERS_AT_FIRST 2

/* Number of hubs that may wait to be freed before a call waits for their probes. */
#define GONE_MAX 128

/**
 * struct kl_hub_session - a session's members of a hub
 * @node: in one of the hub's lists
 * @session: the session
 * @n: used slots of @of, whether still attached or not
 * @room: slots in @of
 * @live: slots of the @n that are attached
 *
 * A slot in @of is used only once. When all have been used, a larger array replaces @of.
 */
struct kl_hub_session {
	struct hlist_node node;
	struct rcu_head rcu;
	struct kl_session *session;
	u32 n;
	u32 room;
	u32 live;
	struct kl_hub_member of[];
};

static DEFINE_MUTEX(hubs_lock);
static LIST_HEAD(hubs);
/* Hubs that are unregistered but may still be running, and their number. */
static LIST_HEAD(gone);
static u32 gone_count;

/* ---------------------------------------------------------------- walking */

static u32 bucket_of(kuid_t uid)
{
	/* The hash is secret, so that a user cannot choose to share another user's bucket. */
	return kl_gate_hash(uid) >> (KL_GATE_UID_BITS - KL_HUB_BUCKETS_LOG2);
}

static bool is_new(const struct kl_hub_walk *walk, const struct task_struct *t)
{
	for (u32 i = 0; i < walk->tasks; i++)
		if (walk->task[i] == t)
			return false;
	return t;
}

/**
 * kl_hub_begin - begin the search for members that may want an event
 * @walk: set
 * @hub: of the tracepoint
 * @about1: a task that the event describes, besides the running one, or NULL
 * @about2: another one, or NULL
 *
 * Context: a probe; preemption off until the last kl_hub_next.
 */
void kl_hub_begin(struct kl_hub_walk *walk, const struct kl_hub *hub,
		  const struct task_struct *about1, const struct task_struct *about2)
{
	walk->hub = hub;
	walk->at = NULL;
	walk->next_list = 0;
	walk->task[0] = current;
	walk->tasks = 1;
	if (is_new(walk, about1))
		walk->task[walk->tasks++] = about1;
	if (is_new(walk, about2))
		walk->task[walk->tasks++] = about2;
}

/* First session of the next list. Visits each list once, even if two tasks share it. */
static const struct kl_hub_session *first_of_next(struct kl_hub_walk *walk)
{
	const struct hlist_head *list = &walk->hub->any;
	u32 i = walk->next_list++;

	if (i) {
		u32 bucket = bucket_of(kl_gate_user(walk->task[i - 1]));

		for (u32 j = 0; j < i - 1; j++)
			if (bucket_of(kl_gate_user(walk->task[j])) == bucket)
				return NULL;
		list = &walk->hub->of_user[bucket];
	}
	return hlist_entry_safe(rcu_dereference_sched(hlist_first_rcu(list)), struct kl_hub_session,
				node);
}

static const struct kl_hub_session *next_of(const struct kl_hub_session *at)
{
	return hlist_entry_safe(rcu_dereference_sched(hlist_next_rcu(&at->node)),
				struct kl_hub_session, node);
}

static bool may_want(const struct kl_hub_session *hs, const struct kl_hub_walk *walk)
{
	for (u32 i = 0; i < walk->tasks; i++)
		if (kl_gate_may_want(hs->session, walk->task[i]))
			return true;
	return false;
}

/* Advance to the next session that may want the event. */
static bool next_session(struct kl_hub_walk *walk)
{
	const struct kl_hub_session *hs = walk->at ? next_of(walk->at) : NULL;

	for (;;) {
		while (!hs && walk->next_list <= walk->tasks)
			hs = first_of_next(walk);
		walk->at = hs;
		walk->next_member = 0;
		if (!hs || may_want(hs, walk))
			return hs;
		hs = next_of(hs);
	}
}

/**
 * kl_hub_next - find the next member that may want the event
 * @walk: from kl_hub_begin
 *
 * Returns false if there is no further one.
 */
bool kl_hub_next(struct kl_hub_walk *walk)
{
	while (walk->at || !walk->next_list) {
		const struct kl_hub_session *hs = walk->at;

		/*
		 * Read a slot's contents only after it counts as used. Pairs with the release in
		 * add_member.
		 */
		while (hs && walk->next_member < smp_load_acquire(&hs->n)) {
			const struct kl_hub_member *m = &hs->of[walk->next_member++];

			walk->probe = READ_ONCE(m->probe);
			walk->data = m->data;
			if (likely(walk->probe))
				return true;
		}
		if (!next_session(walk))
			break;
	}
	return false;
}

/* ------------------------------------------------------------ any tracepoint */

/*
 * For a tracepoint that no row of events.def has. The number and types of its arguments are
 * unknown (see dynamic/tracepoint.c), so this passes on what it was passed.
 */
static noinline void call_members(void *data, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5,
				  u64 a6, u64 a7, u64 a8, u64 a9, u64 a10, u64 a11)
{
	kl_hub_call(data, NULL, NULL, call_members, kl_data, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9,
		    a10, a11);
}

static void on_any(void *data, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6, u64 a7,
		   u64 a8, u64 a9, u64 a10, u64 a11)
{
	kl_probe_begin();
	if (unlikely(kl_gate_wants(current)))
		call_members(data, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11);
	kl_probe_end();
}

/* --------------------------------------------------------------- attaching */

static struct kl_hub *find_hub(const struct tracepoint *tp)
{
	struct kl_hub *hub;

	lockdep_assert_held(&hubs_lock);
	list_for_each_entry(hub, &hubs, list)
		if (hub->tracepoint == tp)
			return hub;
	return NULL;
}

static struct kl_hub *create_hub(struct tracepoint *tp)
{
	struct kl_hub *hub = kzalloc(sizeof(*hub), GFP_KERNEL);

	if (!hub)
		return NULL;
	hub->tracepoint = tp;
	hub->probe = kl_syscall_hub(tp);
	hub->calls_solo = hub->probe;
	if (!hub->probe)
		hub->probe = kl_source_hub(tp) ?: (void *)on_any;
	list_add(&hub->list, &hubs);
	return hub;
}

/* Called when the hub has no members left. */
static void destroy_hub(struct kl_hub *hub)
{
	lockdep_assert_held(&hubs_lock);
	list_move(&hub->list, &gone);
	WRITE_ONCE(gone_count, gone_count + 1);
}

/*
 * A session that switches between masksets may attach and detach forever without a stop: wait for
 * the probes of its hubs once many of them are to be freed.
 */
static void bound_gone(void)
{
	if (READ_ONCE(gone_count) >= GONE_MAX)
		kl_source_synchronize();
}

/*
 * Sessions that select tasks by user are found by that user. Profiles are not: they must see a
 * task once more after it has become another user's.
 */
static struct hlist_head *list_of(struct kl_hub *hub, const struct kl_session *s)
{
	if (s->gate & KL_GATE_OWN && !s->watched)
		return &hub->of_user[bucket_of(s->gate_uid)];
	return &hub->any;
}

static struct kl_hub_session *find_session(struct kl_hub *hub, const struct kl_session *s)
{
	struct kl_hub_session *hs;

	lockdep_assert_held(&hubs_lock);
	hlist_for_each_entry(hs, list_of(hub, s), node)
		if (hs->session == s)
			return hs;
	return NULL;
}

static struct kl_hub_session *create_session(struct kl_session *s, u32 room)
{
	struct kl_hub_session *hs = kvzalloc(struct_size(hs, of, room), GFP_KERNEL);

	if (!hs)
		return NULL;
	hs->session = s;
	hs->room = room;
	return hs;
}

/* Double the array, without the detached members. */
static struct kl_hub_session *grow(struct kl_hub_session *hs)
{
	struct kl_hub_session *new = create_session(hs->session, 2 * hs->live + MEMBERS_AT_FIRST);

	if (!new)
		return NULL;
	for (u32 i = 0; i < hs->n; i++)
		if (hs->of[i].probe)
			new->of[new->n++] = hs->of[i];
	new->live = new->n;
	hlist_replace_rcu(&hs->node, &new->node);
	kvfree_rcu(hs, rcu);
	return new;
}

static int add_member(struct kl_hub *hub, struct kl_session *s, void *probe, void *data)
{
	struct kl_hub_session *hs = find_session(hub, s);

	if (!hs) {
		hs = create_session(s, MEMBERS_AT_FIRST);
		if (hs)
			hlist_add_head_rcu(&hs->node, list_of(hub, s));
	} else if (hs->n == hs->room) {
		hs = grow(hs);
	}
	if (!hs)
		return -ENOMEM;
	hs->of[hs->n] = (struct kl_hub_member){ probe, data };
	/* Pairs with the acquire in kl_hub_next. */
	smp_store_release(&hs->n, hs->n + 1);
	hs->live++;
	hub->members++;
	return 0;
}

static void remove_member(struct kl_hub *hub, const struct kl_session *s, const void *probe,
			  const void *data)
{
	struct kl_hub_session *hs = find_session(hub, s);

	for (u32 i = 0; hs && i < hs->n; i++) {
		if (hs->of[i].probe != probe || hs->of[i].data != data)
			continue;
		WRITE_ONCE(hs->of[i].probe, NULL);
		hub->members--;
		if (--hs->live)
			return;
		hlist_del_rcu(&hs->node);
		kvfree_rcu(hs, rcu);
		return;
	}
}

/* Probes of all system calls have the session as their data; those of defined events do not. */
static bool has_calls(const struct kl_hub_session *hs)
{
	for (u32 i = 0; i < hs->n; i++)
		if (hs->of[i].probe && hs->of[i].data == hs->session)
			return true;
	return false;
}

/* The only member, if it is for system calls and its session's gate only follows tasks. */
static struct kl_session *find_solo(const struct kl_hub *hub)
{
	struct kl_hub_session *hs;

	if (!hub->calls_solo || hub->members != 1)
		return NULL;
	hlist_for_each_entry(hs, &hub->any, node)
		if (hs->session->gate == KL_GATE_TASKS && has_calls(hs))
			return hs->session;
	return NULL;
}

static void update_solo(struct kl_hub *hub)
{
	struct kl_session *s = find_solo(hub);

	lockdep_assert_held(&hubs_lock);
	if (hub->solo == !!s)
		return;
	hub->solo = s;
	kl_syscall_solo(hub->tracepoint, s);
}

static int attach_to_hub(struct kl_session *s, struct tracepoint *tp, void *probe, void *data)
{
	struct kl_hub *hub = find_hub(tp) ?: create_hub(tp);
	int error;

	if (!hub)
		return -ENOMEM;
	error = add_member(hub, s, probe, data);
	update_solo(hub);
	if (!error && hub->members == 1) {
		error = tracepoint_probe_register(tp, hub->probe, hub);
		if (error)
			remove_member(hub, s, probe, data);
		update_solo(hub);
	}
	if (!hub->members)
		destroy_hub(hub);
	return error;
}

/**
 * kl_hub_attach - make a tracepoint call a session's probe
 * @s: the session; its lock or that of its table of events is held
 * @tp: the tracepoint
 * @probe: called with preemption off
 * @data: its first argument
 *
 * Returns 0 or a negative errno. Context: may sleep.
 */
int kl_hub_attach(struct kl_session *s, struct tracepoint *tp, void *probe, void *data)
{
	int error;

	if (!s->gate)
		return tracepoint_probe_register(tp, probe, data);
	mutex_lock(&hubs_lock);
	error = attach_to_hub(s, tp, probe, data);
	mutex_unlock(&hubs_lock);
	bound_gone();
	return error;
}

/**
 * kl_hub_detach - undo kl_hub_attach
 * @s: as given to it
 * @tp: as given to it
 * @probe: as given to it
 * @data: as given to it
 *
 * The probe may still be running: kl_source_synchronize waits for it.
 */
void kl_hub_detach(struct kl_session *s, struct tracepoint *tp, void *probe, void *data)
{
	struct kl_hub *hub;

	if (!s->gate) {
		tracepoint_probe_unregister(tp, probe, data);
		return;
	}
	mutex_lock(&hubs_lock);
	hub = find_hub(tp);
	if (!WARN_ON_ONCE(!hub)) {
		remove_member(hub, s, probe, data);
		if (!hub->members)
			tracepoint_probe_unregister(tp, hub->probe, hub);
		update_solo(hub);
		if (!hub->members)
			destroy_hub(hub);
	}
	mutex_unlock(&hubs_lock);
	bound_gone();
}

/**
 * kl_source_synchronize - wait until no detached probe runs any more
 *
 * Context: may sleep.
 */
void kl_source_synchronize(void)
{
	struct kl_hub *hub, *next;
	LIST_HEAD(free);

	mutex_lock(&hubs_lock);
	list_splice_init(&gone, &free);
	WRITE_ONCE(gone_count, 0);
	mutex_unlock(&hubs_lock);
	tracepoint_synchronize_unregister();
	/*
	 * A hub keeps running when one of its members is detached. Where the kernel runs probes
	 * with preemption on, tracepoint_synchronize_unregister does not wait for hubs, which
	 * disable it.
	 */
	if (kl_probes_are_preemptible())
		synchronize_rcu();
	list_for_each_entry_safe(hub, next, &free, list)
		kfree(hub);
}
