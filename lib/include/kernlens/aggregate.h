/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rules collect instead of writing records: counts, sums and histograms by keys, and how
 * often events occurred. Can be read while the session runs, and after it has stopped.
 */
#ifndef KERNLENS_AGGREGATE_H
#define KERNLENS_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/addresses.h>
#include <kernlens/buffer.h>
#include <kernlens/client.h>
#include <kernlens/define.h>
#include <kernlens/plan.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>

KL_PUBLIC_BEGIN

/**
 * kl_aggregate_read - read what a rule has collected, greatest counts first
 * @session: session that the rule's plan was applied to
 * @cpus: number of possible CPUs, as in struct kl_abi_info
 * @rule: any rule; of one that collects nothing, only `overflow` and `faults` are of use
 * @aggregate: filled in; free it with kl_aggregate_deinit()
 *
 * Entries with equal counts are in the order of their keys. Returns 0, or a negative errno with an
 * error text that begins with the rule.
 */
int kl_aggregate_read(struct kl_session *session, unsigned int cpus,
		      const struct kl_plan_rule *rule, struct kl_aggregate *aggregate);

/**
 * kl_aggregate_key_is_stack - is a key the id of a stack trace?
 * @rule: rule
 * @key: below `n_keys`
 *
 * Print such a key with kl_print_stack(). KL_STACK_NO_ROOM: the session's table of stack traces
 * was full.
 */
bool kl_aggregate_key_is_stack(const struct kl_plan_rule *rule, unsigned int key);

/**
 * kl_print_aggregate_key - print a key of an entry: a number, a text or an address
 * @buffer: appended to; control characters of a text become '?'
 * @rule: rule
 * @key: below `n_keys`, with a `key_text`
 * @entry: of the rule
 * @addresses: where kernel addresses get symbol names from; NULL: print them as numbers
 */
void kl_print_aggregate_key(struct kl_buffer *buffer, const struct kl_plan_rule *rule,
			    unsigned int key, const struct kl_abi_entry *entry,
			    struct kl_addresses *addresses);

/**
 * kl_print_aggregate_value - print a minimum or maximum as the rule's value is printed
 * @buffer: appended to
 * @rule: rule that collects values
 * @value: `min` or `max` of an entry
 */
void kl_print_aggregate_value(struct kl_buffer *buffer, const struct kl_plan_rule *rule,
			      int64_t value);

/**
 * kl_print_aggregate_bucket - print the values of a bucket, as in "16 to 31"
 * @buffer: appended to
 * @rule: rule that collects buckets
 * @bucket: below KL_HIST_BUCKETS; the first and the last one are open
 */
void kl_print_aggregate_bucket(struct kl_buffer *buffer, const struct kl_plan_rule *rule,
			       unsigned int bucket);

/**
 * struct kl_event_count - how often an event occurred
 * @event_class: event; belongs to the schema
 * @count: hits that its filter allowed
 */
struct kl_event_count {
	const struct kl_class *event_class;
	uint64_t count;
};

/**
 * kl_event_counts_read - read how often the events with the handler `count` occurred
 * @session: session that the plan was applied to
 * @plan: plan; only events that it counts without a rule are read
 * @schema: of the plan
 * @counts: out: array in the order of event ids, which the caller frees
 *
 * Returns the number of events, or a negative errno with an error text.
 */
int kl_event_counts_read(struct kl_session *session, const struct kl_plan *plan,
			 const struct kl_schema *schema, struct kl_event_count **counts);

KL_PUBLIC_END

#endif /* KERNLENS_AGGREGATE_H */
