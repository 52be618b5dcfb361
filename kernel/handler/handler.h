/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The handlers: a row of uapi/handlers.def, a struct kl_handler and a function that is called when
 * an event hits, in a file of their own. Probes contain `log` and the plain `count`; dispatch.c
 * calls kl_hit_NAME of the others by the row's id. dispatch.h carries out the simplest rules with a
 * table itself (kl_fire_fastpath).
 */
#ifndef KL_HANDLER_HANDLER_H
#define KL_HANDLER_HANDLER_H

#include "../core/program.h"
#include "../core/rule.h"
#include "../core/session.h"

#define KL_HANDLES_PLAIN 0x1u /* valid in a maskset without a rule */
#define KL_HANDLES_TABLE 0x2u /* a rule has a table by its keys */
#define KL_HANDLES_VALUE 0x4u /* requires a value */
#define KL_HANDLES_BUCKETS 0x8u /* has a table with histograms */
#define KL_HANDLES_RECORD 0x10u /* writes a record with all fields of the event */
#define KL_HANDLES_ITSELF 0x20u /* `create` checks value and keys */

/* Operations (docs/design/budget.md) of a handler beside records, stack traces and tables. */
#define KL_HANDLER_OPERATIONS 30
#define KL_HANDLER_OPERATIONS_TABLE 60

/**
 * struct kl_handler - a handler, as rules are made with it
 * @flags: KL_HANDLES_*
 * @fastpath: what sources can do themselves, for rules whose programs are simple enough
 * @operations: cost of a hit, without the record, its variables and the stack traces
 * @walks: takes the stack traces that the session may have
 * @fires: event that it fires itself, or 0
 * @check: check a rule's argument in this session; or NULL
 * @create: acquire what the rule needs, without the session's lock; or NULL
 * @bytes: memory for @create, on all CPUs; or NULL
 * @prepare: acquire what the session needs, with its lock held; or NULL
 *
 * @check, @create and @prepare return 0 or a negative errno, with the reason set, and may sleep.
 */
struct kl_handler {
	u32 flags;
	enum kl_fastpath fastpath;
	u32 operations;
	bool walks;
	u32 fires;
	int (*check)(const struct kl_session *s, const struct kl_abi_rule *params,
		     struct kl_error *why);
	int (*create)(const struct kl_session *s, const struct kl_abi_rule *params,
		      struct kl_rule *r, struct kl_error *why);
	u64 (*bytes)(void);
	int (*prepare)(struct kl_session *s, const struct kl_rule *r, struct kl_error *why);
};

/**
 * KL_HIT() - define kl_hit_NAME, what a handler does
 * @name: of its row
 *
 * It is called when an event hits and the rule's filter allows it, with @s: the session, @id: the
 * event, @r: the rule, @f: as much of the event as the rule reads. Context: any, preemption off.
 */
#define KL_HIT(name)                                                              \
	void kl_hit_##name(struct kl_session *s, u32 id, const struct kl_rule *r, \
			   struct kl_event_ctx *f)

#define KL_HANDLER(number, name, help)                    \
	extern const struct kl_handler kl_handler_##name; \
	KL_HIT(name);
#include "../../uapi/handlers.def"
#undef KL_HANDLER

const struct kl_handler *kl_handler_find(u32 id);
int kl_handler_prepare(struct kl_session *s, const struct kl_actions *actions,
		       struct kl_error *why);
int kl_count_prepare(struct kl_session *s, u32 n, struct kl_error *why);
void kl_alarm_fire(struct kl_session *s, u32 id, const char *text);
void kl_alarm_set_probe(void (*probe)(void *session, u32 id, const char *text));

/* The plain handler `count`, for which kl_count_prepare has been called. */
static __always_inline void kl_count_hit(struct kl_session *s, u32 id)
{
	/* Attached only after the counters were made, and then they stay. */
	struct kl_counts *counts = rcu_dereference_protected(this_cpu_ptr(s->cpu)->counts, true);

	kl_local_add(&counts->of[id], 1);
}

/* A maskset's handler without a rule that is not `log`. */
static __always_inline void kl_plain_hit(struct kl_session *s, u32 id, u8 handler)
{
	if (handler == KL_HANDLER_count)
		kl_count_hit(s, id);
}

/* Evaluate a rule's keys. */
static __always_inline void kl_rule_run_keys(const struct kl_rule *r, struct kl_event_ctx *f,
					     u64 key[KL_RULE_KEYS_MAX])
{
	for (u32 i = 0; i < r->keys; i++)
		key[i] = kl_program_run(r->key[i], f);
}

#endif /* KL_HANDLER_HANDLER_H */
