/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a session defines for itself: programs, rules, events, and the tables that its rules fill.
 * See struct kl_abi_program, kl_abi_rule and kl_abi_event for their contents. All calls may
 * sleep. They return a negative errno on failure; kl_error_text() then contains the module's
 * explanation.
 */
#ifndef KERNLENS_DEFINE_H
#define KERNLENS_DEFINE_H

#include <stddef.h>
#include <stdint.h>
#include <kernlens/client.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/**
 * kl_session_add_program - load a program into the session
 * @session: session
 * @ops: its operations
 * @n_ops: number of operations, at most KL_PROGRAM_OPS_MAX
 * @data: bytes that it compares text with; may be NULL
 * @data_bytes: size of @data
 *
 * Returns its id, from 1.
 */
int kl_session_add_program(struct kl_session *session, const struct kl_abi_op *ops, size_t n_ops,
			   const void *data, size_t data_bytes);

/**
 * kl_session_add_rule - add a rule to the session
 * @session: session
 * @rule: filled in by the caller except for `size` and `rule`, which are set
 *
 * Returns the byte that selects the rule in a maskset.
 */
int kl_session_add_rule(struct kl_session *session, struct kl_abi_rule *rule);

/**
 * kl_session_add_events - define events
 * @session: session that has not been started
 * @events: their definitions
 * @n: number of events
 * @bad: out: on failure, index of the invalid event; or NULL
 * @omitted: out: number of functions with KL_EVENT_OPTIONAL that cannot be hooked; or NULL
 *
 * Either all events are defined or none. Returns the id of the first, KL_EV_DYNAMIC or more; the
 * others follow.
 */
int kl_session_add_events(struct kl_session *session, const struct kl_abi_event *events, size_t n,
			  size_t *bad, size_t *omitted);

/**
 * kl_session_write_masksets - set the handlers of a maskset, including those of defined events
 * @session: session
 * @id: KL_MASKSET_FIRST_USER and up
 * @name: at most KL_NAME_MAX - 1 bytes
 * @map: one byte for each predefined event
 * @dynamic: one byte for each defined event, from KL_EV_DYNAMIC on
 * @n_dynamic: size of @dynamic
 *
 * Returns 0 on success.
 */
int kl_session_write_masksets(struct kl_session *session, uint32_t id, const char *name,
			      const uint8_t map[KL_EV_MAX], const uint8_t *dynamic,
			      size_t n_dynamic);

/**
 * kl_session_store_maskset - set the handlers of a maskset by its name
 * @session: session, possibly attached
 * @id: in: KL_MASKSET_ANY selects the session's maskset of that name or else a free id; other
 *      values as for kl_session_write_masksets(); out: the id
 * @name: at most KL_NAME_MAX - 1 bytes
 * @map: one byte for each predefined event
 * @dynamic: one byte for each defined event, from KL_EV_DYNAMIC on
 * @n_dynamic: size of @dynamic
 *
 * Returns 0 on success.
 */
int kl_session_store_maskset(struct kl_session *session, uint32_t *id, const char *name,
			     const uint8_t map[KL_EV_MAX], const uint8_t *dynamic,
			     size_t n_dynamic);

/**
 * kl_session_read_defined - read a maskset, including the handlers of defined events
 * @session: session
 * @id: any
 * @maskset: filled in; `n_dynamic` is the number of defined events that it covers
 * @dynamic: out: one byte for each of them; freed by the caller
 *
 * Returns 0, or -ENOENT if the maskset has not been written.
 */
int kl_session_read_defined(struct kl_session *session, uint32_t id, struct kl_abi_maskset *maskset,
			    uint8_t **dynamic);

/**
 * struct kl_tally_entry - what a rule has collected for one key
 * @numbers: key, count, sum, minimum and maximum
 * @bucket: of a histogram; else zero
 */
struct kl_tally_entry {
	struct kl_abi_entry numbers;
	uint64_t bucket[KL_HIST_BUCKETS];
};

/**
 * struct kl_tally - what a rule has collected, summed over all CPUs
 * @entry: in no order
 * @n: number of entries
 * @overflow: hits that were dropped because the table was full
 * @faults: hits in which something could not be read
 */
struct kl_tally {
	struct kl_tally_entry *entry;
	size_t n;
	uint64_t overflow;
	uint64_t faults;
};

/**
 * kl_session_tally - read what a rule has collected
 * @session: session
 * @rule: its number, from 0
 * @cpus: number of possible CPUs, as in struct kl_abi_info
 * @keys: number of keys that the rule has
 * @table: filled in; free it with kl_tally_deinit()
 *
 * Returns 0 on success.
 */
int kl_session_tally(struct kl_session *session, uint32_t rule, unsigned int cpus,
		     unsigned int keys, struct kl_tally *table);

/**
 * kl_tally_deinit - free what kl_session_tally() filled in
 * @table: table
 */
void kl_tally_deinit(struct kl_tally *table);

/**
 * struct kl_saying - report of another module's handler about a rule
 * @text: terminated by a NUL
 * @bytes: size of @text
 * @fired: number of times that the handler was called
 * @missed: hits in NMIs, in which the handler cannot run
 */
struct kl_saying {
	char *text;
	size_t bytes;
	uint64_t fired;
	uint64_t missed;
};

/**
 * kl_session_read_handler - read the report of another module's handler
 * @session: session
 * @rule: the rule's number, from 0
 * @saying: filled in; the caller frees its text
 *
 * Returns 0 on success.
 */
int kl_session_read_handler(struct kl_session *session, uint32_t rule, struct kl_saying *saying);

/**
 * kl_session_set_metadata - store a description of what the session defines
 * @session: session
 * @text: for processes that attach to the session, from kl_metadata_write_defined()
 * @bytes: size of @text
 *
 * Returns 0 on success.
 */
int kl_session_set_metadata(struct kl_session *session, const char *text, size_t bytes);

/**
 * kl_session_get_metadata - get the description of what a session defines
 * @session: session
 * @text: out: string that the caller frees; empty if nothing is defined
 *
 * Returns 0 on success.
 */
int kl_session_get_metadata(struct kl_session *session, char **text);

/**
 * kl_device_mark - record a mark on the time axis of traces
 * @device: device
 * @value: any number
 * @text: a word; truncated to KL_MARK_TEXT_MAX - 1 bytes
 *
 * Every running session that records `mark` and may see the calling task gets it. Costs one
 * system call; nothing is recorded if no session runs. Returns 0 on success.
 */
int kl_device_mark(struct kl_device *device, uint64_t value, const char *text);

KL_PUBLIC_END

#endif /* KERNLENS_DEFINE_H */
