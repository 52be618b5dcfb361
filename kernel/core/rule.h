/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a session has made for itself: programs, rules, flags, metadata. Made
 * under the session's lock and there until it ends, so probes read them freely.
 */
#ifndef KL_CORE_RULE_H
#define KL_CORE_RULE_H

#include <linux/kref.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "../../uapi/kernlens.h"

struct kl_session;
struct kl_error;
struct kl_external;
struct kl_program;
struct kl_table;
struct kl_taskset;

/**
 * enum kl_straight - what an event's source does with a rule itself
 *
 * If it can: the rule's table has at most one key, which is a s32 of the running
 * task, its filter is at most one test, and what that and the handler look at is
 * one number, the event's first field.
 */
enum kl_straight {
	KL_STRAIGHT_NONE, /* nothing */
	KL_STRAIGHT_FILTER, /* reject */
	KL_STRAIGHT_BLIND, /* count, whatever the event is */
	KL_STRAIGHT_COUNT,
	KL_STRAIGHT_SUM,
	KL_STRAIGHT_HIST,
};

/**
 * struct kl_rule - filter, handler and keys of some of a session's events
 * @straight: enum kl_straight
 * @tested: it has a filter
 * @opposite: which lets through what is not within [@from, @from + @span]
 * @one_key: the table has a key, at @key_offset of the running task
 * @looks: KL_LOOKS_* of its programs together, and of its handler
 * @reads: of an event's fields (kl_reads) what its filter needs, or all its programs
 *         if @whole is not set
 * @whole: its handler needs all of them
 * @from, @span: of @opposite
 * @guard: a field as KL_FIELD_NUMBER, or 0: the filter says no if that is within
 *         [@guard_from, @guard_from + @guard_span], or if it is not
 * @guard_opposite: if it is
 * @guard_from, @guard_span: of @guard
 * @key_offset: of @one_key
 * @table: one a CPU, of handlers that have one
 * @handler: KL_HANDLER_*
 * @keys: number of @key
 * @filter: says 0 if the event is not wanted; or NULL
 * @value: of handlers that take an expression; or NULL
 * @key: what the table's entries are told apart by
 * @arg: as in struct kl_abi_rule
 * @low: the same
 * @faults: firings in which something could not be read, by CPU
 * @text: alarm's
 * @external: another module's handler, or NULL
 */
struct kl_rule {
	u8 straight;
	bool tested;
	bool opposite;
	bool one_key;
	bool whole;
	u32 looks;
	u64 reads;
	u64 from;
	u64 span;
	bool guard_opposite;
	u32 guard;
	u64 guard_from;
	u64 guard_span;
	u32 key_offset;
	struct kl_table __percpu *table;
	u32 handler;
	u32 keys;
	const struct kl_program *filter;
	const struct kl_program *value;
	const struct kl_program *key[KL_RULE_KEYS_MAX];
	u64 arg;
	s64 low;
	u64 __percpu *faults;
	char text[KL_RULE_TEXT_MAX];
	struct kl_external *external;
};

/**
 * struct kl_metadata - text that describes what a session defines
 * @ref: of the session, and of calls that copy it
 * @session: charged for it; exists longer
 */
struct kl_metadata {
	struct kref ref;
	struct kl_session *session;
	u32 bytes;
	char text[];
};

/**
 * struct kl_custom - all that a session has made
 * @programs: by id, from 1
 * @program_count: of them
 * @arguments: the largest argument that any of them reads, and 1
 * @rule: in use from 0 on, without gaps
 * @rule_count: of them
 * @task_flag: the tasks that have it, of flags that some rule sets
 * @since: flags of which some program asks since when they are set, a bit each
 * @flag_times: of those of tasks: since when
 * @began: when the session was started last, in cycles; 0: not yet, and what records are made of
 *         can still change
 * @metadata: of what the session defines; NULL: none yet
 */
struct kl_custom {
	struct xarray programs;
	u32 program_count;
	u32 arguments;
	struct kl_rule *rule[KL_RULES_MAX];
	u32 rule_count;
	struct kl_taskset *task_flag[KL_FLAGS_MAX / 2];
	u64 since;
	struct kl_flag_times *flag_times[KL_FLAGS_MAX / 2];
	u64 began;
	struct kl_metadata *metadata;
};

/* Does it make records of its events? */
static inline bool kl_rule_logs(const struct kl_rule *r)
{
	return r->handler == KL_HANDLER_log || r->handler == KL_HANDLER_stack;
}

void kl_metadata_put(struct kl_metadata *m);
void kl_custom_init(struct kl_custom *c);
void kl_custom_deinit(struct kl_session *s);
int kl_session_add_program(struct kl_session *s, struct kl_abi_program *p, struct kl_error *why);
const struct kl_program *kl_session_program(struct kl_session *s, u32 id);
int kl_session_add_events(struct kl_session *s, struct kl_abi_events *e, struct kl_error *why);
bool kl_session_has_flags(const struct kl_session *s);
int kl_session_add_rule(struct kl_session *s, struct kl_abi_rule *r, struct kl_error *why);
int kl_session_table(struct kl_session *s, struct kl_abi_table *t, struct kl_error *why);
int kl_session_read_handler(struct kl_session *s, struct kl_abi_handler_read *to,
			    struct kl_error *why);
int kl_session_set_metadata(struct kl_session *s, const struct kl_abi_metadata *m,
			    struct kl_error *why);
int kl_session_get_metadata(struct kl_session *s, struct kl_abi_metadata *m, struct kl_error *why);

#endif /* KL_CORE_RULE_H */
