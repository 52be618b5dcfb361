/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loads what a plan consists of into a session: programs, rules, events and masksets. See struct
 * kl_abi_program, kl_abi_rule and kl_abi_event for their contents. All calls may sleep. They return
 * a negative errno on failure; kl_error_text() then contains the module's explanation.
 */
#ifndef KERNLENS_SESSION_DEFINE_H
#define KERNLENS_SESSION_DEFINE_H

#include <stddef.h>
#include <stdint.h>
#include <kernlens/client.h>

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
 * kl_session_set_names - store what the IDs in the session's records stand for
 * @session: session
 * @bytes: from kl_id_names_write()
 * @size: of @bytes
 *
 * Returns 0 on success.
 */
int kl_session_set_names(struct kl_session *session, const char *bytes, size_t size);

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

#endif /* KERNLENS_SESSION_DEFINE_H */
