/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events and their fields, decoded from the bytes of a block. Values point into the record, so they
 * are valid as long as the event is.
 */
#ifndef KERNLENS_EVENT_H
#define KERNLENS_EVENT_H

#include <stdint.h>
#include <kernlens/abi.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>

KL_PUBLIC_BEGIN

/**
 * struct kl_task - the task that was running
 * @tid: thread id; 0: the CPU's idle task, or a task that the session's owner may not see
 * @pid: process id (thread group)
 * @comm: command name, always terminated by a NUL
 */
struct kl_task {
	int32_t tid;
	int32_t pid;
	char comm[KL_COMM_LEN + 1];
};

/**
 * struct kl_event - one record
 * @ns: wall time, in ns since 1970
 * @since_ns: ns since the trace's first block began
 * @cycles: timestamp in cycles of the trace's clock
 * @cpu: CPU on which the event fired
 * @id: KL_EV_*
 * @event_class: name and fields
 * @task: the running task
 * @changed: which values this record carries itself: bit 0 is the task, bits 1 and up are the
 *           schema's variables
 * @schema: of the trace
 * @variables: current values of the schema's variables, carried by this record or an earlier one;
 *             valid as long as the event
 * @payload: bytes of the fields, not aligned
 * @payload_bytes: size of @payload; checked against @event_class
 */
struct kl_event {
	uint64_t ns;
	uint64_t since_ns;
	uint64_t cycles;
	uint32_t cpu;
	uint32_t id;
	const struct kl_class *event_class;
	struct kl_task task;
	uint64_t changed;
	const struct kl_schema *schema;
	const uint8_t *variables;
	const uint8_t *payload;
	uint32_t payload_bytes;
};

/**
 * struct kl_value - value of one field
 * @field: type, format and name
 * @bytes: the string or text, or the elements of an array; points into the record
 * @length: size of @bytes, without a string's NUL
 * @number: the first element, sign-extended; 0 for strings and text
 */
struct kl_value {
	const struct kl_field *field;
	const uint8_t *bytes;
	uint32_t length;
	uint64_t number;
};

/**
 * kl_event_value - value of a field by index
 * @event: event
 * @index: index of a field of its class; not checked
 *
 * Context: @event's payload must still be valid.
 */
struct kl_value kl_event_value(const struct kl_event *event, unsigned int index);

/**
 * kl_event_field - value of a field by name
 * @event: event
 * @name: field
 * @value: filled in
 *
 * Returns -ENOENT if the event has no such field. Sets no error text. In a loop, look the index
 * up once with kl_class_field() and use kl_event_value().
 */
int kl_event_field(const struct kl_event *event, const char *name, struct kl_value *value);

/**
 * kl_event_variable - value of a variable at an event
 * @event: event
 * @index: less than the number of the schema's variables
 *
 * Values are carried forward on the event's CPU, so they are also correct if the caller skips
 * events.
 */
struct kl_value kl_event_variable(const struct kl_event *event, unsigned int index);

/**
 * kl_value_of - make a value from its bytes
 * @field: of any type but a string
 * @bytes: its elements; must outlive the value
 */
struct kl_value kl_value_of(const struct kl_field *field, const uint8_t *bytes);

/**
 * kl_value_element - an element of an array
 * @value: of a numeric field
 * @index: less than the field's count
 *
 * Returns the number, sign-extended.
 */
uint64_t kl_value_element(const struct kl_value *value, unsigned int index);

KL_PUBLIC_END

#endif /* KERNLENS_EVENT_H */
