// SPDX-License-Identifier: GPL-2.0
/*
 * Reads what ber_write.c wrote, or what claims to be that: the bytes may be anything, and the file
 * may change while it is read. ber_schema.c reads the schema. Each record's fields are converted
 * back into the layout that kl_event_value() expects.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include <kernlens/ber_reader.h>
#include <kernlens/error.h>
#include "../base/base.h"
#include "../base/loss.h"
#include "ber.h"
#include "ber_names.h"
#include "ber_schema.h"
#include "schema.h"

#define HEAD_MAX (16u << 20) /* bytes of the trace's header */

struct kl_ber_reader {
	struct kl_ber_head head;
	struct kl_window file;
	uint64_t first; /* first item after the header */
	uint64_t at;
	struct kl_ber_cpus cpus;
	struct kl_stacks *stacks;
	struct kl_addresses *addresses;
	struct kl_trace_counts counts;
	uint64_t begin_ns; /* 0: unknown before the first event */
	struct kl_event event;
	struct kl_loss loss;
	struct kl_buffer payload;
	bool ended;
};

/* -------------------------------------------------------------- fields */

static void put_number(struct kl_buffer *payload, struct kl_ber *from, const struct kl_field *field)
{
	unsigned int bits = field->bytes * 8;
	uint64_t number;

	if (kl_type_is_signed(field->type))
		number = (uint64_t)kl_ber_take_signed(from, KL_BER_INTEGER,
						      INT64_MIN >> (64 - bits),
						      INT64_MAX >> (64 - bits));
	else
		number = kl_ber_take_unsigned(from, KL_BER_INTEGER, UINT64_MAX >> (64 - bits));
	/* Little-endian, like records. */
	kl_buffer_add(payload, &number, field->bytes);
}

/*
 * Copy bytes into a field of @room bytes, padded with NULs; for a string (@room is 0), copy all and
 * add a NUL.
 */
static void put_octets(struct kl_buffer *payload, struct kl_ber *from, size_t room)
{
	struct kl_ber octets = kl_ber_take_tag(from, KL_BER_OCTETS);
	size_t length = kl_ber_length(&octets);

	if (memchr(octets.at, 0, length) || (room && length > room)) {
		from->bad = true;
		return;
	}
	kl_buffer_add(payload, octets.at, length);
	for (room = room ? room : length + 1; length < room; length++)
		kl_buffer_add_char(payload, 0);
}

static void put_array(struct kl_buffer *payload, struct kl_ber *from, const struct kl_field *field)
{
	struct kl_ber numbers;

	if (field->bytes == 1) {
		numbers = kl_ber_take_tag(from, KL_BER_OCTETS);
		kl_buffer_add(payload, numbers.at, kl_ber_length(&numbers));
		from->bad |= kl_ber_length(&numbers) != field->count;
		return;
	}
	numbers = kl_ber_take_tag(from, KL_BER_SEQUENCE);
	for (unsigned int i = 0; i < field->count && !numbers.bad; i++)
		put_number(payload, &numbers, field);
	from->bad |= numbers.bad || !kl_ber_is_empty(&numbers);
}

static void put_field(struct kl_buffer *payload, struct kl_ber *from, const struct kl_field *field)
{
	if (field->type == KL_TYPE_STRING)
		put_octets(payload, from, 0);
	else if (field->type == KL_TYPE_TEXT)
		put_octets(payload, from, field->count);
	else if (field->count > 1)
		put_array(payload, from, field);
	else
		put_number(payload, from, field);
}

/* -------------------------------------------------------------- records */

static bool read_task(struct kl_ber *from, struct kl_task *task)
{
	struct kl_ber value = kl_ber_take_tag(from, KL_BER_TASK), comm;
	size_t length;

	*task = (struct kl_task){
		.tid = (int32_t)kl_ber_take_signed(&value, KL_BER_INTEGER, INT32_MIN, INT32_MAX),
		.pid = (int32_t)kl_ber_take_signed(&value, KL_BER_INTEGER, INT32_MIN, INT32_MAX),
	};
	comm = kl_ber_take_tag(&value, KL_BER_OCTETS);
	length = kl_ber_length(&comm);
	if (value.bad || length > KL_COMM_LEN || memchr(comm.at, 0, length))
		return false;
	memcpy(task->comm, comm.at, length);
	return true;
}

/* Read a variable of the schema. */
static bool read_variable(struct kl_ber_reader *reader, struct kl_ber *from, unsigned int index,
			  struct kl_ber_cpu *cpu)
{
	const struct kl_field *field = &reader->head.schema->variables[index]->field;
	struct kl_buffer *value = &reader->payload;

	kl_buffer_reset(value);
	put_field(value, from, field);
	if (from->bad || value->error)
		return false;
	memcpy(cpu->variables + field->offset, value->data, value->length);
	reader->event.changed |= 1ull << KL_BER_VARIABLE(index);
	return true;
}

/* Variables that are not in the schema are skipped. */
static bool read_variables(struct kl_ber_reader *reader, struct kl_ber *from,
			   struct kl_ber_cpu *cpu)
{
	unsigned int n = reader->head.schema->n_variables;

	while (!from->bad && !kl_ber_is_empty(from)) {
		struct kl_ber variable = kl_ber_take_tag(from, KL_BER_SEQUENCE);
		uint64_t number = kl_ber_take_unsigned(&variable, KL_BER_INTEGER, UINT32_MAX);

		if (variable.bad)
			return false;
		if (number >= KL_BER_VARIABLE(n))
			continue;
		if (number != KL_BER_VARIABLE_TASK) {
			if (!read_variable(reader, &variable, number - KL_BER_VARIABLE(0), cpu))
				return false;
			continue;
		}
		if (!read_task(&variable, &cpu->task))
			return false;
		reader->event.changed |= KL_CHANGED_TASK;
		cpu->any = true;
	}
	return !from->bad;
}

static bool read_fields(struct kl_ber_reader *reader, struct kl_ber fields)
{
	const struct kl_class *class = reader->event.event_class;
	struct kl_buffer *payload = &reader->payload;

	kl_buffer_reset(payload);
	/* Makes the payload non-NULL even if it is empty. */
	kl_buffer_reserve(payload, 1);
	for (unsigned int i = 0; i < class->n_fields && !fields.bad; i++)
		put_field(payload, &fields, &class->fields[i]);
	reader->event.payload = (const uint8_t *)payload->data;
	reader->event.payload_bytes = payload->length;
	return !fields.bad && kl_ber_is_empty(&fields) && !payload->error;
}

static bool read_event(struct kl_ber_reader *reader, uint32_t id, struct kl_ber value)
{
	struct kl_ber record = kl_ber_take_tag(&value, KL_BER_SEQUENCE), variables, fields;
	struct kl_event *event = &reader->event;
	struct kl_ber_cpu *cpu;

	event->id = id;
	event->changed = 0;
	event->schema = reader->head.schema;
	event->event_class = kl_schema_class(reader->head.schema, id);
	event->cycles = kl_ber_take_unsigned(&record, KL_BER_INTEGER, UINT64_MAX);
	event->cpu = kl_ber_take_unsigned(&record, KL_BER_INTEGER, UINT32_MAX);
	cpu = event->event_class && !record.bad ? kl_ber_cpu(&reader->cpus, event->cpu) : NULL;
	if (!cpu)
		return false;
	if (kl_ber_next_is(&record, KL_BER_VARIABLES)) {
		variables = kl_ber_take_tag(&record, KL_BER_VARIABLES);
		if (!read_variables(reader, &variables, cpu))
			return false;
	}
	fields = kl_ber_take_tag(&record, KL_BER_SEQUENCE);
	if (!cpu->any || record.bad || !read_fields(reader, fields))
		return false;
	event->task = cpu->task;
	event->variables = cpu->variables;
	event->ns = kl_timebase_ns(&reader->head.info.timebase, event->cycles);
	if (!reader->begin_ns)
		reader->begin_ns = event->ns;
	event->since_ns = event->ns - reader->begin_ns;
	reader->counts.events++;
	return true;
}

/* -------------------------------------------------------------- losses */

static uint64_t take_optional(struct kl_ber *from, uint32_t tag)
{
	return kl_ber_next_is(from, tag) ? kl_ber_take_unsigned(from, tag, UINT64_MAX) : 0;
}

static bool read_loss(struct kl_ber_reader *reader, struct kl_ber value)
{
	struct kl_loss *loss = &reader->loss;

	loss->kind =
		(enum kl_loss_kind)kl_ber_take_unsigned(&value, KL_BER_ENUMERATED, KL_LOSS_UNSEEN);
	loss->cpu = kl_ber_take_unsigned(&value, KL_BER_INTEGER, UINT32_MAX);
	loss->records = kl_ber_take_unsigned(&value, KL_BER_INTEGER, UINT64_MAX);
	loss->blocks = kl_ber_take_unsigned(&value, KL_BER_INTEGER, UINT64_MAX);
	loss->begin_ns = take_optional(&value, KL_BER_CONTEXT(0));
	loss->end_ns = take_optional(&value, KL_BER_CONTEXT(1));
	loss->first_block = take_optional(&value, KL_BER_CONTEXT(2));
	loss->origin_ns = reader->begin_ns;
	if (!value.bad)
		kl_loss_count(&reader->counts, loss);
	return !value.bad;
}

/* The last item: its event count must match, and nothing may follow. */
static bool read_end(struct kl_ber_reader *reader, struct kl_ber value)
{
	uint64_t events = kl_ber_take_unsigned(&value, KL_BER_INTEGER, UINT64_MAX);
	uint64_t blocks = kl_ber_take_unsigned(&value, KL_BER_INTEGER, UINT64_MAX);
	uint64_t corrupt = kl_ber_take_unsigned(&value, KL_BER_INTEGER, UINT64_MAX);
	uint64_t cut_bytes = kl_ber_take_unsigned(&value, KL_BER_INTEGER, UINT64_MAX);

	if (value.bad || events != reader->counts.events || reader->at != reader->file.size)
		return false;
	reader->counts.blocks = blocks;
	reader->counts.corrupt = corrupt;
	reader->counts.cut_bytes = cut_bytes;
	reader->ended = true;
	return true;
}

static uint64_t rest_of(const struct kl_ber_reader *reader)
{
	return reader->file.size > reader->at ? reader->file.size - reader->at : 0;
}

/* Stop reading. @cut: bytes of a truncated item at the end; 0: the item is damaged. */
static int give_up(struct kl_ber_reader *reader, uint64_t cut, struct kl_item *item)
{
	reader->ended = true;
	/* Count what was removed since the trace was opened, too. */
	cut += reader->file.gone;
	if (cut)
		reader->counts.cut_bytes = cut;
	else
		reader->counts.corrupt++;
	reader->loss = (struct kl_loss){
		.kind = KL_LOSS_CORRUPT,
		.cpu = reader->event.cpu,
		.begin_ns = reader->event.ns,
		.origin_ns = reader->begin_ns,
	};
	*item = (struct kl_item){ .kind = KL_ITEM_LOSS, .loss = &reader->loss };
	return 1;
}

/* ------------------------------------------------------------- reading */

int kl_ber_reader_next(struct kl_ber_reader *reader, struct kl_item *item)
{
	bool good = true;

	while (!reader->ended && good) {
		struct kl_ber value;
		uint32_t tag;
		int ret = kl_ber_item(&reader->file, &reader->at, KL_BER_RECORD_MAX, &tag, &value);

		if (ret == -ENODATA)
			return give_up(reader, rest_of(reader), item);
		if (ret)
			break;
		if (tag == KL_BER_PRIVATE(KL_BER_NUMBER(tag))) {
			good = read_event(reader, KL_BER_NUMBER(tag), value);
			*item = (struct kl_item){ KL_ITEM_EVENT, .event = &reader->event };
			if (good)
				return 1;
		} else if (tag == KL_BER_LOSS) {
			good = read_loss(reader, value);
			*item = (struct kl_item){ KL_ITEM_LOSS, .loss = &reader->loss };
			if (good)
				return 1;
		} else if (tag == KL_BER_END) {
			good = read_end(reader, value);
		} else {
			/* Newer versions may add items of the application class. */
			good = KL_BER_CLASS(tag) == KL_BER_CLASS_APPLICATION && tag != KL_BER_TRACE;
		}
	}
	return reader->ended ? 0 : give_up(reader, 0, item);
}

static int read_names(struct kl_ber_reader *reader)
{
	reader->stacks = kl_stacks_create();
	reader->addresses = kl_addresses_create();
	if (!reader->stacks || !reader->addresses)
		return -ENOMEM;
	kl_schema_set_stacks(reader->head.schema, reader->stacks);
	kl_schema_set_addresses(reader->head.schema, reader->addresses);
	return kl_ber_names_read(&reader->file, reader->first, reader->stacks, reader->addresses);
}

static int read_head(struct kl_ber_reader *reader)
{
	struct kl_ber head = {};
	uint32_t tag = 0;
	int ret = kl_ber_item(&reader->file, &reader->first, HEAD_MAX, &tag, &head);

	if (ret == -ENOMEM)
		return kl_fail(ENOMEM, "out of memory");
	/* If there is no header, it is empty, and kl_ber_read_head() rejects it. */
	head.bad = ret || tag != KL_BER_TRACE;
	return kl_ber_read_head(&reader->head, head);
}

/* Takes ownership of @file. */
static struct kl_ber_reader *create(struct kl_window file)
{
	struct kl_ber_reader *reader = calloc(1, sizeof(*reader));
	int ret;

	if (!reader) {
		kl_window_close(&file);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	reader->file = file;
	ret = read_head(reader);
	if (!ret)
		ret = read_names(reader);
	if (ret) {
		kl_ber_reader_destroy(reader);
		errno = -ret;
		return NULL;
	}
	kl_ber_reader_rewind(reader);
	return reader;
}

struct kl_ber_reader *kl_ber_reader_create(const void *bytes, size_t length)
{
	return create(kl_window_on(bytes, length));
}

struct kl_ber_reader *kl_ber_reader_open(const char *path)
{
	struct kl_ber_reader *reader;
	struct kl_window file;
	int ret = kl_window_open(&file, AT_FDCWD, path);

	if (ret) {
		errno = -ret;
		return NULL;
	}
	reader = create(file);
	if (!reader)
		kl_fail_about(-errno, path);
	return reader;
}

void kl_ber_reader_destroy(struct kl_ber_reader *reader)
{
	if (!reader)
		return;
	kl_window_close(&reader->file);
	kl_schema_destroy(reader->head.schema);
	kl_buffer_deinit(&reader->payload);
	kl_stacks_destroy(reader->stacks);
	kl_addresses_destroy(reader->addresses);
	free(reader->cpus.cpu);
	free(reader);
}

void kl_ber_reader_rewind(struct kl_ber_reader *reader)
{
	reader->at = reader->first;
	reader->cpus.n = 0;
	reader->counts = (struct kl_trace_counts){ 0 };
	reader->begin_ns = reader->head.begin_ns;
	reader->event = (struct kl_event){ 0 };
	reader->ended = false;
}

void kl_ber_reader_demangle(struct kl_ber_reader *reader, bool wanted)
{
	kl_stacks_demangle(reader->stacks, wanted);
}

const struct kl_schema *kl_ber_reader_schema(const struct kl_ber_reader *reader)
{
	return reader->head.schema;
}

const struct kl_trace_info *kl_ber_reader_about(const struct kl_ber_reader *reader)
{
	return &reader->head.info;
}

const struct kl_trace_counts *kl_ber_reader_counted(const struct kl_ber_reader *reader)
{
	return &reader->counts;
}

uint64_t kl_ber_reader_begin(const struct kl_ber_reader *reader)
{
	return reader->head.begin_ns;
}
