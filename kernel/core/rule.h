/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a session defines: programs, rules, flags, metadata. Created under the session's lock and
 * kept until the session ends, so probes read them without a lock.
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
 * enum kl_fastpath - what an event's source does with a rule by itself
 *
 * This is possible if the rule's table has at most one key, which is an s32 of the running task,
 * its filter is at most one test, and the filter and the handler read one number only, the event's
 * first field.
 */
enum kl_fastpath {
	KL_FASTPATH_NONE, /* nothing */
	KL_FASTPATH_FILTER, /* reject by the filter */
	KL_FASTPATH_BLIND, /* count every event without reading it */
	KL_FASTPATH_COUNT,
	KL_FASTPATH_SUM,
	KL_FASTPATH_HIST,
};

/**
 * struct kl_rule - filter, handler and keys for some of a session's events
 * @fastpath: enum kl_fastpath
 * @tested: its filter is a range test of the first field, for @fastpath
 * @negate: the filter is inverted: it allows what is not within [@from, @from + @span]
 * @one_key: the table has one key, at @key_offset in the running task
 * @uses: KL_USES_* of all its programs and of its handler
 * @reads: fields of an event (kl_reads) that its filter needs, or all its programs if @whole is not
 *         set
 * @whole: its handler needs all fields
 * @logs: its handler writes records of the events
 * @from, @span: range that the filter tests
 * @guard: a field as KL_FIELD_NUMBER that alone may decide that the filter rejects an event, or 0
 * @guard_opposite: it does so within [@guard_from, @guard_from + @guard_span]; else outside of it
 * @guard_from, @guard_span: of @guard
 * @key_offset: of @one_key
 * @table: per-CPU tables, for handlers that have one
 * @handler: KL_HANDLER_*
 * @keys: number of @key
 * @filter: returns 0 to reject an event; or NULL
 * @value: expression, for handlers that take one; or NULL
 * @key: keys of the table's entries
 * @arg: as in struct kl_abi_rule
 * @low: as in struct kl_abi_rule
 * @faults: number of events for which something could not be read, by CPU
 * @text: text of an alarm
 * @external: another module's handler, or NULL
 */
struct kl_rule {
	u8 fastpath;
	bool tested;
	bool negate;
	bool one_key;
	bool whole;
	bool logs;
	u32 uses;
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
 * struct kl_metadata - text that readers of a session need
 * @ref: references of the session and of calls that copy it
 * @session: charged for it; outlives it
 * @crash: pages that lead to it after a crash
 */
struct kl_metadata {
	struct kref ref;
	struct kl_session *session;
	struct kl_crash_region *crash;
	u32 bytes;
	char text[];
};

/**
 * struct kl_session_defs - everything that a session defines
 * @programs: by id, from 1
 * @program_count: number of @programs
 * @arguments: the largest argument that any program reads, plus 1
 * @rule: the rules, from 0 on, without gaps
 * @rule_count: number of @rule
 * @task_flag: tasks that have a flag, for flags that some rule sets
 * @since: bitmap of flags of which some program uses since()
 * @flag_times: for those of tasks, when they were set
 * @began: when the session was last started, in cycles; 0: never, and the layout of records can
 *         still change
 * @metadata: what readers need, by enum kl_metadata_kind; NULL: none yet
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
	struct kl_metadata *metadata[KL_METADATA_KINDS];
};

const struct kl_program *kl_session_program(struct kl_session *s, u32 id);

#endif /* KL_CORE_RULE_H */
