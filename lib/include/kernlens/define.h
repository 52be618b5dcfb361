/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a session defines for itself: the tables that its rules fill, handlers of other modules, the
 * description of its events, and marks. All calls may sleep. They return a negative errno on
 * failure; kl_error_text() then contains the module's explanation.
 */
#ifndef KERNLENS_DEFINE_H
#define KERNLENS_DEFINE_H

#include <stddef.h>
#include <stdint.h>
#include <kernlens/client.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

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
 * struct kl_aggregate_entry - what a rule has collected for one key
 * @numbers: key, count, sum, minimum and maximum
 * @bucket: of a histogram; else zero
 */
struct kl_aggregate_entry {
	struct kl_abi_entry numbers;
	uint64_t bucket[KL_HIST_BUCKETS];
};

/**
 * struct kl_aggregate - what a rule has collected, summed over all CPUs
 * @entry: in no order
 * @n: number of entries
 * @overflow: hits that were dropped because the table was full
 * @faults: hits in which something could not be read
 */
struct kl_aggregate {
	struct kl_aggregate_entry *entry;
	size_t n;
	uint64_t overflow;
	uint64_t faults;
};

/**
 * kl_session_aggregate - read what a rule has collected
 * @session: session
 * @rule: its number, from 0
 * @cpus: number of possible CPUs, as in struct kl_abi_info
 * @keys: number of keys that the rule has
 * @table: filled in; free it with kl_aggregate_deinit()
 *
 * Returns 0 on success.
 */
int kl_session_aggregate(struct kl_session *session, uint32_t rule, unsigned int cpus,
			 unsigned int keys, struct kl_aggregate *table);

/**
 * kl_aggregate_deinit - free what kl_session_aggregate() filled in
 * @table: table
 */
void kl_aggregate_deinit(struct kl_aggregate *table);

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
