/* SPDX-License-Identifier: GPL-2.0 */
/* What the output styles share; implemented in print.c. */
#ifndef KL_LIB_FORMAT_PRINT_H
#define KL_LIB_FORMAT_PRINT_H

#include <kernlens/format.h>

/* Print bytes on one line: control bytes become '?'. */
void kl_print_plain(struct kl_buffer *buffer, const void *bytes, size_t length);

/* The plain number, without its meaning. */
void kl_print_number(struct kl_buffer *buffer, const struct kl_field *field, uint64_t number);

/* Like kl_print_meaning(), but also resolves addresses. */
bool kl_print_value_meaning(struct kl_buffer *buffer, const struct kl_schema *schema,
			    const struct kl_value *value);

/* [1,2,3], or an IPv6 address. */
void kl_print_array(struct kl_buffer *buffer, const struct kl_value *value);

/* "NAME=VALUE NAME=VALUE {VARIABLE=VALUE}": the fields of an event, and the variables. */
void kl_print_event_fields(struct kl_buffer *buffer, const struct kl_event *event);

/* "discarded" ... */
const char *kl_loss_name(enum kl_loss_kind kind);

struct kl_stacks;

/* A stack trace on one line, separated by semicolons; nothing if the id is unknown. */
void kl_print_stack_line(struct kl_buffer *buffer, const struct kl_stacks *stacks, uint64_t id);
void kl_print_event_stacks(struct kl_buffer *buffer, const struct kl_event *event);
void kl_print_event_stacks_json(struct kl_buffer *buffer, const struct kl_event *event);

void kl_print_event_json(struct kl_buffer *buffer, const struct kl_event *event);
void kl_print_loss_json(struct kl_buffer *buffer, const struct kl_loss *loss);

#endif /* KL_LIB_FORMAT_PRINT_H */
