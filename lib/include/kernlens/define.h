/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a session makes for itself: programs, rules, events of its own, and the
 * tables that its rules fill. See struct kl_abi_program, kl_abi_rule and
 * kl_abi_event for what is in them. All calls may sleep and return a negative
 * errno on failure, with the module's own words in kl_error_text().
 */
#ifndef KERNLENS_DEFINE_H
#define KERNLENS_DEFINE_H

#include <stddef.h>
#include <stdint.h>
#include <kernlens/client.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/**
 * kl_session_add_program - give the session a program
 * @session: session
 * @ops: its operations
 * @n_ops: number of them, at most KL_PROGRAM_OPS_MAX
 * @data: bytes that it compares text with; may be NULL
 * @data_bytes: of them
 *
 * Returns its id, from 1.
 */
int kl_session_add_program(struct kl_session *session, const struct kl_abi_op *ops, size_t n_ops,
			   const void *data, size_t data_bytes);

/**
 * kl_session_add_rule - give the session a rule
 * @session: session
 * @rule: filled in but for `size` and `rule`
 *
 * Returns the byte that stands for it in a maskset.
 */
int kl_session_add_rule(struct kl_session *session, struct kl_abi_rule *rule);

/**
 * kl_session_add_events - define events
 * @session: session that has not been started
 * @events: what they are
 * @n: number of them
 * @bad: set to the index of the one at fault on failure; may be NULL
 *
 * Returns the id of the first, KL_EV_DYNAMIC or more; the others follow.
 */
int kl_session_add_events(struct kl_session *session, const struct kl_abi_event *events, size_t n,
			  size_t *bad);

/**
 * kl_session_write_masksets - set a maskset's handlers, also of defined events
 * @session: session
 * @id: KL_MASKSET_FIRST_USER and up
 * @name: at most KL_NAME_MAX - 1 bytes
 * @map: a byte an event of the tables
 * @dynamic: a byte a defined event, from KL_EV_DYNAMIC on
 * @n_dynamic: number of them
 */
int kl_session_write_masksets(struct kl_session *session, uint32_t id, const char *name,
			      const uint8_t map[KL_EV_MAX], const uint8_t *dynamic,
			      size_t n_dynamic);

/**
 * kl_session_store_maskset - the same, by name
 * @session: session, also one that was attached to
 * @id: KL_MASKSET_ANY: that of the session's maskset of that name, or a free one,
 *      which it is set to; else as above
 * @name: at most KL_NAME_MAX - 1 bytes
 * @map: a byte an event of the tables
 * @dynamic: a byte a defined event, from KL_EV_DYNAMIC on
 * @n_dynamic: number of them
 */
int kl_session_store_maskset(struct kl_session *session, uint32_t *id, const char *name,
			     const uint8_t map[KL_EV_MAX], const uint8_t *dynamic,
			     size_t n_dynamic);

/**
 * kl_session_read_defined - what is in a maskset, also of defined events
 * @session: session
 * @id: any
 * @maskset: filled in; `n_dynamic` says how many defined events it knows
 * @dynamic: set to a byte for each of them, to free
 *
 * Returns -ENOENT if it has not been written.
 */
int kl_session_read_defined(struct kl_session *session, uint32_t id, struct kl_abi_maskset *maskset,
			    uint8_t **dynamic);

/**
 * struct kl_tally_entry - what a rule has found for one key
 * @numbers: key, count, sum, least and greatest
 * @bucket: of a histogram; else zero
 */
struct kl_tally_entry {
	struct kl_abi_entry numbers;
	uint64_t bucket[KL_HIST_BUCKETS];
};

/**
 * struct kl_tally - what a rule has found, all CPUs together
 * @entry: in no order
 * @n: number of them
 * @overflow: firings that found no room in the table
 * @faults: firings in which something could not be read
 */
struct kl_tally {
	struct kl_tally_entry *entry;
	size_t n;
	uint64_t overflow;
	uint64_t faults;
};

/**
 * kl_session_tally - read what a rule has found
 * @session: session
 * @rule: its number, from 0
 * @cpus: number of possible CPUs, as in struct kl_abi_info
 * @keys: how many keys the rule has
 * @table: filled in; free with kl_tally_deinit()
 */
int kl_session_tally(struct kl_session *session, uint32_t rule, unsigned int cpus,
		     unsigned int keys, struct kl_tally *table);

/**
 * kl_tally_deinit - free what kl_session_tally() filled in
 * @table: table
 */
void kl_tally_deinit(struct kl_tally *table);

/**
 * struct kl_saying - what another module's handler says of a rule
 * @text: ended by NUL
 * @bytes: of it
 * @fired: how often the handler was called
 * @missed: firings in NMIs, which the handler does not take
 */
struct kl_saying {
	char *text;
	size_t bytes;
	uint64_t fired;
	uint64_t missed;
};

/**
 * kl_session_read_handler - ask another module's handler what it has to say
 * @session: session
 * @rule: the rule's number, from 0
 * @saying: filled in; its text is freed by the caller
 */
int kl_session_read_handler(struct kl_session *session, uint32_t rule, struct kl_saying *saying);

/**
 * kl_session_set_metadata - say how what the session defines is to be read
 * @session: session
 * @text: for those who attach to it
 * @bytes: of it
 */
int kl_session_set_metadata(struct kl_session *session, const char *text, size_t bytes);

/**
 * kl_session_get_metadata - how to read what a session defines
 * @session: session
 * @text: set to a string that the caller frees; empty if nothing is defined
 */
int kl_session_get_metadata(struct kl_session *session, char **text);

/**
 * kl_device_mark - put a mark of this program's on the traces' time axis
 * @device: device
 * @value: any number
 * @text: a word; cut at KL_MARK_TEXT_MAX - 1 bytes
 *
 * Every running session that records `mark` and may see this task gets it. It
 * costs a system call; nothing is recorded if no session runs.
 */
int kl_device_mark(struct kl_device *device, uint64_t value, const char *text);

KL_PUBLIC_END

#endif /* KERNLENS_DEFINE_H */
