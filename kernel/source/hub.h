/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attaching a session to a tracepoint. A session without a gate registers its own probe. All
 * others share one probe per tracepoint, its hub, which first checks whether any of them may want
 * the task and only then searches for those that do. See docs/design/gate.md.
 */
#ifndef KL_SOURCE_HUB_H
#define KL_SOURCE_HUB_H

#include <linux/hash.h>
#include <linux/list.h>
#include <linux/rcupdate.h>

#include "../compat/preempt.h"
#include "../core/gate.h"

struct tracepoint;

#define KL_HUB_BUCKETS_LOG2 5

/* A probe and the data it is called with. The member is detached if the probe is NULL. */
struct kl_hub_member {
	void *probe;
	void *data;
};

/**
 * struct kl_hub - the sessions with a gate that use a tracepoint
 * @any: sessions of privileged users, and profiles
 * @of_user: sessions of other users, by the hash of their user
 *
 * The other members are changed under a lock:
 * @tracepoint: the hub's tracepoint
 * @probe: the probe registered with it
 * @calls_solo: @probe can call a session without a search, see kl_syscall_solo
 * @solo: @probe does so now
 * @members: number of members
 * @list: in the list of all hubs, or of those to be freed
 */
struct kl_hub {
	struct hlist_head any;
	struct hlist_head of_user[1 << KL_HUB_BUCKETS_LOG2];

	struct tracepoint *tracepoint;
	void *probe;
	bool calls_solo;
	bool solo;
	u32 members;
	struct list_head list;
};

/* Most tasks that an event describes: the running one and two more. */
#define KL_HUB_TASKS 3

/**
 * struct kl_hub_walk - position of a probe among the members that may want an event
 * @probe, @data: of the member, after kl_hub_next has returned true
 */
struct kl_hub_walk {
	void *probe;
	void *data;
	const struct kl_hub *hub;
	const struct kl_hub_session *at;
	u32 next_member;
	u32 next_list;
	u32 tasks;
	const struct task_struct *task[KL_HUB_TASKS];
};

void kl_hub_begin(struct kl_hub_walk *walk, const struct kl_hub *hub,
		  const struct task_struct *about1, const struct task_struct *about2);
bool kl_hub_next(struct kl_hub_walk *walk);

/* Is a walk needed at all, while a session follows a cgroup? */
static __always_inline bool kl_hub_wants(const struct task_struct *about1,
					 const struct task_struct *about2)
{
	return kl_gate_wants_surely(current) || (about1 && kl_gate_wants_surely(about1)) ||
	       (about2 && kl_gate_wants_surely(about2));
}

/* kl_hub_begin(), where a walk is needed; returns whether it is. */
static __always_inline bool kl_hub_begin_wanted(struct kl_hub_walk *walk, const struct kl_hub *hub,
						const struct task_struct *about1,
						const struct task_struct *about2)
{
	if (static_branch_unlikely(&kl_gate_has_cgroups) && !kl_hub_wants(about1, about2))
		return false;
	kl_hub_begin(walk, hub, about1, about2);
	return true;
}

/*
 * Call each member of @hub that may want an event of the running task, @about1 or @about2 (either
 * may be NULL). @type is the members' type; the arguments are those of the event, with `kl_data`
 * for the member's data.
 */
#define kl_hub_call(hub, about1, about2, type, ...)                      \
	do {                                                             \
		struct kl_hub_walk kl_walk;                              \
		if (!kl_hub_begin_wanted(&kl_walk, hub, about1, about2)) \
			break;                                           \
		while (kl_hub_next(&kl_walk)) {                          \
			void *kl_data = kl_walk.data;                    \
			((typeof(type) *)kl_walk.probe)(__VA_ARGS__);    \
		}                                                        \
	} while (0)

int kl_hub_attach(struct kl_session *s, struct tracepoint *tp, void *probe, void *data);
void kl_hub_detach(struct kl_session *s, struct tracepoint *tp, void *probe, void *data);

/* syscall.c: hubs of sys_enter and sys_exit */
void *kl_syscall_hub(const struct tracepoint *tp);
void kl_syscall_solo(const struct tracepoint *tp, struct kl_session *s);

#endif /* KL_SOURCE_HUB_H */
