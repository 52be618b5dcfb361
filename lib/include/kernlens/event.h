/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events, their fields, and the way from the bytes of a block to them. A
 * cursor walks one CPU's blocks in order and carries the variables forward,
 * so whoever skips records still sees right values.
 */
#ifndef KERNLENS_EVENT_H
#define KERNLENS_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/abi.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>
#include <kernlens/timebase.h>

KL_PUBLIC_BEGIN

/**
 * struct kl_task - the task that was running
 * @tid: thread id; 0 is a CPU's idle task, or one the owner may not see
 * @pid: process id (thread group)
 * @comm: command name, always ended by NUL
 */
struct kl_task {
	int32_t tid;
	int32_t pid;
	char comm[KL_COMM_LEN + 1];
};

/**
 * struct kl_event - one record
 * @ns: wall time, nanoseconds since 1970
 * @since_ns: nanoseconds since the trace's first block began
 * @cycles: time in the trace's clock
 * @cpu: where it fired
 * @id: KL_EV_*
 * @event_class: name and fields
 * @task: what was running
 * @changed: what this record itself says: bit 0 the task, bit 1 and up the
 *           schema's variables
 * @schema: of the trace
 * @variables: values of the schema's variables now, whether this record said
 *             them or one before; valid as long as the event
 * @payload: the fields' bytes, not aligned
 * @payload_bytes: of them; checked against @event_class
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
 * struct kl_value - one field's value
 * @field: type, format and name
 * @bytes: where it stands: the string or text, or an array's elements
 * @length: of them, without a string's NUL
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
 * @index: into its class' fields; must be one
 *
 * Context: @event's payload must still be there.
 */
struct kl_value kl_event_value(const struct kl_event *event, unsigned int index);

/**
 * kl_event_field - value of a field by name
 * @event: event
 * @name: field
 * @value: filled in
 *
 * Returns -ENOENT if the event has no such field. Sets no error text. For
 * loops look the index up once with kl_class_field().
 */
int kl_event_field(const struct kl_event *event, const char *name, struct kl_value *value);

/**
 * kl_event_variable - value of a variable at an event
 * @event: event
 * @index: below the number of the schema's variables
 *
 * As carried forward on the event's CPU, so it is right also for who skips events.
 */
struct kl_value kl_event_variable(const struct kl_event *event, unsigned int index);

/**
 * kl_value_of - a value from where it stands
 * @field: of any type but a string
 * @bytes: its elements; must outlive the value
 */
struct kl_value kl_value_of(const struct kl_field *field, const uint8_t *bytes);

/**
 * kl_value_element - an element of an array
 * @value: of a field with numbers
 * @index: below the field's count
 *
 * Returns the number, sign-extended.
 */
uint64_t kl_value_element(const struct kl_value *value, unsigned int index);

/**
 * kl_block_check - does a block hold together?
 * @block: its bytes, as many as it says, or at least @bytes of them
 * @bytes: that may be looked at
 * @uuid: the session's, or NULL: any
 *
 * Only complete blocks pass. Returns -EINVAL with an error text: no magic,
 * another session's, sizes that cannot be, time that goes back.
 */
int kl_block_check(const struct kl_abi_block *block, size_t bytes, const uint8_t uuid[16]);

/**
 * struct kl_cursor - a walk over one CPU's blocks
 * @schema: how to decode
 * @timebase: clock
 * @begin_ns: wall time that since_ns counts from
 * @at: next record in the current block
 * @end: of its records
 * @limit: time that no record may exceed
 * @event: the last one read
 * @variables: values of the schema's variables
 */
struct kl_cursor {
	const struct kl_schema *schema;
	const struct kl_timebase *timebase;
	uint64_t begin_ns;
	const uint8_t *at;
	const uint8_t *end;
	uint64_t limit;
	struct kl_event event;
	uint8_t variables[KL_VARIABLES_BYTES_MAX];
};

/**
 * kl_cursor_init - start a walk
 * @cursor: filled in
 * @schema: of the trace; must outlive the cursor
 * @timebase: of the trace; must outlive the cursor
 * @begin_ns: wall time of the trace's start
 */
void kl_cursor_init(struct kl_cursor *cursor, const struct kl_schema *schema,
		    const struct kl_timebase *timebase, uint64_t begin_ns);

/**
 * kl_cursor_enter - go on with the records of a block
 * @cursor: walk over the same CPU
 * @block: its bytes; must stay until the last of its events has been used
 * @from: bytes of it that have been read before, 0 for a new block
 * @to: end of its records in bytes, at most its size
 */
void kl_cursor_enter(struct kl_cursor *cursor, const struct kl_abi_block *block, size_t from,
		     size_t to);

/**
 * kl_cursor_next - read one record
 * @cursor: its event is filled in
 *
 * Returns 1, 0 at the block's end, or -EINVAL with an error text if what
 * stands there is no record; the rest of the block is then left out.
 */
int kl_cursor_next(struct kl_cursor *cursor);

KL_PUBLIC_END

#endif /* KERNLENS_EVENT_H */
