// SPDX-License-Identifier: GPL-2.0
/*
 * Decodes the bytes of a block into events and fields. The bytes may be anything, because files can
 * be damaged, so every length is checked against the block's end before it is used. Used by
 * trace.c, live.c and any other reader of blocks.
 */
#include <errno.h>

#include <kernlens/cursor.h>
#include "../base/base.h"
#include "schema.h"

#define TIME_MASK ((1ull << KL_RECORD_TIME_BITS) - 1)

static uint64_t load_number(enum kl_type type, const uint8_t *at)
{
	switch (type) {
	case KL_TYPE_S8:
		return (int64_t)(int8_t)*at;
	case KL_TYPE_U8:
		return *at;
	case KL_TYPE_S16:
		return (int64_t)(int16_t)kl_get16(at);
	case KL_TYPE_U16:
		return kl_get16(at);
	case KL_TYPE_S32:
		return (int64_t)(int32_t)kl_get32(at);
	case KL_TYPE_U32:
		return kl_get32(at);
	case KL_TYPE_S64:
	case KL_TYPE_U64:
		return kl_get64(at);
	default:
		return 0;
	}
}

struct kl_value kl_event_value(const struct kl_event *event, unsigned int index)
{
	const struct kl_field *field = &event->event_class->fields[index];
	const struct kl_field *before = event->event_class->fields;
	const uint8_t *at = event->payload;
	struct kl_value value = { .field = field };

	for (unsigned int i = 0; i < field->anchor; before++) {
		if (before->type != KL_TYPE_STRING)
			continue;
		at += before->offset;
		at += strlen((const char *)at) + 1;
		i++;
	}
	value.bytes = at + field->offset;
	if (field->type == KL_TYPE_STRING)
		value.length = strlen((const char *)value.bytes);
	else if (field->type == KL_TYPE_TEXT)
		value.length = strnlen((const char *)value.bytes, field->count);
	else
		value.length = field->bytes * field->count;
	value.number = load_number(field->type, value.bytes);
	return value;
}

struct kl_value kl_value_of(const struct kl_field *field, const uint8_t *bytes)
{
	struct kl_value value = { .field = field, .bytes = bytes };

	if (field->type == KL_TYPE_TEXT)
		value.length = strnlen((const char *)bytes, field->count);
	else
		value.length = field->bytes;
	value.number = load_number(field->type, bytes);
	return value;
}

struct kl_value kl_event_variable(const struct kl_event *event, unsigned int index)
{
	const struct kl_field *field = &event->schema->variables[index]->field;

	return kl_value_of(field, event->variables + field->offset);
}

int kl_event_field(const struct kl_event *event, const char *name, struct kl_value *value)
{
	int index = kl_class_field(event->event_class, name);

	if (index < 0)
		return index;
	*value = kl_event_value(event, index);
	return 0;
}

uint64_t kl_value_element(const struct kl_value *value, unsigned int index)
{
	return load_number(value->field->type, value->bytes + index * value->field->bytes);
}

int kl_block_check(const struct kl_abi_block *block, size_t bytes, const uint8_t uuid[16])
{
	uint64_t size = block->packet_bits / 8;
	uint64_t content = block->content_bits / 8;

	if (bytes < KL_BLOCK_HEADER_BYTES)
		return kl_fail(EINVAL, "%zu bytes are too short for a block", bytes);
	if (block->magic != KL_CTF_MAGIC || block->stream_id)
		return kl_fail(EINVAL, "not a block (wrong magic number or stream ID)");
	if (uuid && memcmp(block->uuid, uuid, 16))
		return kl_fail(EINVAL, "the block belongs to another session");
	if (block->packet_bits % (8 * KL_BLOCK_BYTES_MIN) || !size || size > KL_BLOCK_BYTES_MAX ||
	    size > bytes)
		return kl_fail(EINVAL, "invalid block size of %llu bytes",
			       (unsigned long long)size);
	if (block->content_bits % 8 || content < KL_BLOCK_HEADER_BYTES || content > size ||
	    block->committed != content)
		return kl_fail(EINVAL, "invalid block content of %llu bytes",
			       (unsigned long long)content);
	if (block->header_bytes < KL_BLOCK_HEADER_BYTES || block->header_bytes > content)
		return kl_fail(EINVAL, "invalid block header of %u bytes", block->header_bytes);
	if (block->record_count > (content - block->header_bytes) / KL_RECORD_PREFIX_BYTES)
		return kl_fail(EINVAL, "invalid number of records in the block: %u",
			       block->record_count);
	if (block->timestamp_end < block->timestamp_begin || block->seq == KL_SEQ_NONE)
		return kl_fail(EINVAL, "invalid time or sequence number in the block");
	return 0;
}

void kl_cursor_init(struct kl_cursor *cursor, const struct kl_schema *schema,
		    const struct kl_timebase *timebase, uint64_t begin_ns)
{
	*cursor = (struct kl_cursor){
		.schema = schema,
		.timebase = timebase,
		.begin_ns = begin_ns,
	};
}

void kl_cursor_enter(struct kl_cursor *cursor, const struct kl_abi_block *block, size_t from,
		     size_t to)
{
	const uint8_t *bytes = (const uint8_t *)block;

	if (from < block->header_bytes) {
		from = block->header_bytes;
		cursor->event.cycles = block->timestamp_begin;
	}
	cursor->at = bytes + from;
	cursor->end = bytes + (to > from ? to : from);
	cursor->limit = block->content_bits ? block->timestamp_end : ~0ull;
	cursor->event.cpu = block->cpu_id;
}

static int bad_record(struct kl_cursor *cursor, const char *why)
{
	cursor->at = cursor->end;
	return kl_fail(EINVAL, "CPU %u: %s", cursor->event.cpu, why);
}

/* Size of the payload of @class at @at, or -EINVAL if it exceeds @end. */
static long payload_bytes(const struct kl_class *class, const uint8_t *at, const uint8_t *end)
{
	const struct kl_field *field = class->fields;
	const uint8_t *p = at;

	for (unsigned int i = 0; i < class->n_strings; field++) {
		const uint8_t *nul;

		if (field->type != KL_TYPE_STRING)
			continue;
		if (end - p <= field->offset)
			return -EINVAL;
		p += field->offset;
		nul = memchr(p, 0, end - p);
		if (!nul)
			return -EINVAL;
		p = nul + 1;
		i++;
	}
	if (end - p < (long)class->tail_bytes)
		return -EINVAL;
	return p + class->tail_bytes - at;
}

int kl_cursor_return(struct kl_cursor *cursor, const struct kl_abi_block *block, size_t done,
		     bool has_event)
{
	struct kl_event *event = &cursor->event;

	if (done > block->content_bits / 8 || (has_event && event->payload_bytes > done))
		return -EINVAL;
	cursor->at = (const uint8_t *)block + done;
	cursor->end = (const uint8_t *)block + block->content_bits / 8;
	if (!has_event)
		return 0;
	event->payload = cursor->at - event->payload_bytes;
	return payload_bytes(event->event_class, event->payload, cursor->at) ==
			       (long)event->payload_bytes ?
		       0 :
		       -EINVAL;
}

/*
 * Take the values of the changed variables other than the task. Returns their size, or -EINVAL if
 * they are truncated.
 */
static long take_values(struct kl_cursor *cursor, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *from = at;

	for (uint64_t left = cursor->event.changed >> 1; left; left &= left - 1) {
		const struct kl_field *field =
			&cursor->schema->variables[__builtin_ctzll(left)]->field;
		unsigned int bytes = field->bytes * field->count;

		if (end - at < (long)bytes)
			return -EINVAL;
		memcpy(cursor->variables + field->offset, at, bytes);
		at += bytes;
	}
	return at - from;
}

/*
 * After the header: take the bits of the changed variables, and their values. NULL: invalid record.
 */
static const uint8_t *take_variables(struct kl_cursor *cursor, const uint8_t *at,
				     const uint8_t *end)
{
	struct kl_event *event = &cursor->event;
	unsigned int n = cursor->schema->n_variables;
	long bytes;

	event->changed = 0;
	for (unsigned int i = 0; i < KL_CHANGED_BYTES(n); i++)
		event->changed |= (uint64_t)*at++ << (8 * i);
	if (n < KL_VARIABLES_MAX && event->changed >> (n + 1)) {
		bad_record(cursor, "a record has unknown variables");
		return NULL;
	}
	if (event->changed & KL_CHANGED_TASK) {
		if (end - at < (long)sizeof(struct kl_abi_task))
			goto cut;
		/* struct kl_task begins like struct kl_abi_task and adds a NUL to the name. */
		memcpy(&event->task, at, sizeof(struct kl_abi_task));
		at += sizeof(struct kl_abi_task);
	}
	bytes = take_values(cursor, at, end);
	if (bytes >= 0)
		return at + bytes;
cut:
	bad_record(cursor, "a record is truncated");
	return NULL;
}

int kl_cursor_next(struct kl_cursor *cursor)
{
	struct kl_event *event = &cursor->event;
	const uint8_t *at = cursor->at;
	const uint8_t *end = cursor->end;
	uint64_t head;
	long bytes;

	if (at >= end)
		return 0;
	if (end - at < (long)sizeof(head) + KL_CHANGED_BYTES(cursor->schema->n_variables))
		return bad_record(cursor, "a record is truncated");
	head = kl_get64(at);
	event->id = head & ((1u << KL_RECORD_ID_BITS) - 1);
	event->event_class = kl_schema_class(cursor->schema, event->id);
	if (!event->event_class)
		return bad_record(cursor, "a record has an unknown event");
	event->cycles += ((head >> KL_RECORD_ID_BITS) - event->cycles) & TIME_MASK;
	if (event->cycles > cursor->limit)
		return bad_record(cursor, "a record's time is outside its block");
	at = take_variables(cursor, at + sizeof(head), end);
	if (!at)
		return -EINVAL;
	event->schema = cursor->schema;
	event->variables = cursor->variables;
	bytes = payload_bytes(event->event_class, at, end);
	if (bytes < 0)
		return bad_record(cursor, "a record is truncated");
	event->payload = at;
	event->payload_bytes = bytes;
	cursor->at = at + bytes;
	event->ns = kl_timebase_ns(cursor->timebase, event->cycles);
	event->since_ns = event->ns - cursor->begin_ns;
	return 1;
}

_Static_assert(offsetof(struct kl_task, comm) == offsetof(struct kl_abi_task, comm) &&
		       sizeof(struct kl_task) > sizeof(struct kl_abi_task),
	       "a task's variables are copied at once");
