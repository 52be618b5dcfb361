// SPDX-License-Identifier: GPL-2.0
/*
 * The hubs' probes, generated from events.def: what a tracepoint calls for all sessions with a
 * gate. Each checks whether any of them may want the tasks that the row describes, which takes no
 * call and no stack frame, and returns if not; else it calls the members that may, as the
 * tracepoint would.
 */
#include "../compat/preempt.h"
#include "hub.h"
#include "probes.h"

/* The static branch of kl_gate_wants() is part of the running task's test already. */
static __always_inline bool is_wanted(const struct task_struct *t)
{
	return t && kl_gate_wants_ids(t);
}

/* Macros that expand to code are laid out by hand. */
/* clang-format off */

#define KL_TP(target, ...) , ##__VA_ARGS__
#define KL_FN(target, ...) , ##__VA_ARGS__
#define KL_OWN(...) , ##__VA_ARGS__

#define KL_SELF NULL, NULL
#define KL_SYSTEM NULL, NULL
#define KL_ABOUT(task) task, NULL
#define KL_ABOUT2(task, other) task, other
#define KL_CALL_MEMBERS(name, about, ...) KL_CALL_MEMBERS_(name, about, __VA_ARGS__)
#define KL_CALL_MEMBERS_(name, about1, about2, ...)                                     \
	kl_hub_call(data, about1, about2, kl_probe_##name, __VA_ARGS__)
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings)		\
	KL_ROW_##name(									\
	static noinline void members_of_##name(void *data source)			\
	{										\
		KL_CALL_MEMBERS(name, access, KL_ARGUMENTS_##name(kl_data));		\
	})
#include "../../uapi/events.def"
#undef KL_EVENT
#undef KL_SELF
#undef KL_SYSTEM
#undef KL_ABOUT
#undef KL_ABOUT2

#define KL_SELF false
#define KL_SYSTEM false
#define KL_ABOUT(task) is_wanted(task)
#define KL_ABOUT2(task, other) (is_wanted(task) || is_wanted(other))
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings)		\
	KL_ROW_##name(									\
	void kl_hub_##name(void *data source)						\
	{										\
		kl_probe_begin();							\
		if (unlikely(kl_gate_wants(current) || access))				\
			members_of_##name(KL_ARGUMENTS_##name(data));			\
		kl_probe_end();								\
	})
#include "../../uapi/events.def"
/* clang-format on */
