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
 * enum kl_fastpath - what an event's source does with a rule itself
 *
 * If it can: the rule's table has at most one key, which is a s32 of the running
 * task, its filter is at most one test, and what that and the handler look at is
 * one number, the event's first field.
 */
enum kl_fastpath {
	KL_FASTPATH_NONE, /* nothing */
	KL_FASTPATH_FILTER, /* reject */
	KL_FASTPATH_BLIND, /* count, whatever the event is */
	KL_FASTPATH_COUNT,
	KL_FASTPATH_SUM,
	KL_FASTPATH_HIST,
};

/**
 * struct kl_rule - filter, handler and keys of some of a session's events
 * @fastpath: enum kl_fastpath
 * @tested: it has a filter
 * @opposite: which lets through what is not within [@from, @from + @span]
 * @one_key: the table has a key, at @key_offset of the running task
 * @looks: KL_LOOKS_* of its programs together, and of its handler
 * @reads: of an event's fields (kl_reads) what its filter needs, or all its programs
 *         if @whole is not set
 * @whole: its handler needs all of them
 * @logs: its handler writes records of the events
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
	u8 fastpath;
	bool tested;
	bool opposite;
	bool one_key;
	bool whole;
	bool logs;
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
 * struct kl_session_defs - all that a session has made
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
struct kl_session_defs {
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

const struct kl_program *kl_session_program(struct kl_session *s, u32 id);

#endif /* KL_CORE_RULE_H */
