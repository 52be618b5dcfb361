/* SPDX-License-Identifier: GPL-2.0 */
/* Adds what a session defines to a schema: its events, and the names of its flags and rules. */
#ifndef KERNLENS_SCHEMA_DEFINE_H
#define KERNLENS_SCHEMA_DEFINE_H

#include <stddef.h>
#include <kernlens/schema.h>

/**
 * kl_schema_define - add an event that a session defines
 * @schema: schema
 * @event_class: name, group, help and fields (name, type, format, count) are copied; its id is
 *               ignored
 *
 * Returns the assigned id, KL_EV_DYNAMIC and up in the order of definition, or -EINVAL or -ENOMEM
 * with an error text.
 */
int kl_schema_define(struct kl_schema *schema, const struct kl_class *event_class);

/**
 * kl_schema_skip - leave out the id that kl_schema_define() would assign next
 * @schema: schema
 *
 * For definitions of the session that fire another event. Returns 0, or -ENOMEM with an error text.
 */
int kl_schema_skip(struct kl_schema *schema);

/**
 * kl_schema_set_flag - name a flag of the session
 * @schema: schema
 * @flag: its number
 * @name: copied
 *
 * Returns 0, -EINVAL for an invalid number, or -ENOMEM.
 */
int kl_schema_set_flag(struct kl_schema *schema, unsigned int flag, const char *name);

/**
 * kl_schema_set_rule - set the text of a rule of the session
 * @schema: schema
 * @rule: its number in the session
 * @text: as the user wrote it; copied
 *
 * Returns 0, -EINVAL for an invalid number, or -ENOMEM.
 */
int kl_schema_set_rule(struct kl_schema *schema, unsigned int rule, const char *text);

/**
 * kl_format_find - a format by its name
 * @name: such as "task_state"
 * @length: size of @name in bytes
 *
 * Returns KL_FORMAT_dec for a name that this library does not know, so that the trace of a newer
 * version can be read, with plain numbers.
 */
enum kl_format kl_format_find(const char *name, size_t length);

#endif /* KERNLENS_SCHEMA_DEFINE_H */
