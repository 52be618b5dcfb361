// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the schema of a file of docs/format/kernlens.asn1. Its contents are later printed
 * unchanged, so texts are checked here, and names in schema.c.
 */
#include <errno.h>

#include "../base/base.h"
#include "../base/plain.h"
#include "ber_schema.h"
#include "schema.h"

#define NAME_MAX_BYTES 511 /* the same limit as in metadata */

/* Texts must be printable; kl_schema_add() has the rules for names. */
static bool is_good(const struct kl_ber *text, bool name)
{
	return kl_is_plain((const char *)text->at, kl_ber_length(text)) &&
	       (!name || kl_ber_length(text) <= NAME_MAX_BYTES);
}

/* NULL: missing or invalid text, or out of memory, which errno reports. */
static char *take_string(struct kl_schema *schema, struct kl_ber *from, bool name)
{
	struct kl_ber text = kl_ber_take_tag(from, KL_BER_UTF8);
	char *copy = NULL;

	if (!text.bad && is_good(&text, name))
		copy = kl_schema_string(schema, (const char *)text.at, kl_ber_length(&text));
	from->bad |= !copy;
	return copy;
}

static void take_info(struct kl_ber *from, uint32_t tag, char *text, size_t size)
{
	struct kl_ber octets = kl_ber_take_tag(from, tag);
	size_t length = kl_ber_length(&octets);

	length = length < size ? length : size - 1;
	memcpy(text, octets.at, length);
	kl_make_plain(text, length);
	text[length] = 0;
}

static void take_octets(struct kl_ber *from, uint8_t *bytes, size_t length)
{
	struct kl_ber octets = kl_ber_take_tag(from, KL_BER_OCTETS);

	if (kl_ber_length(&octets) == length)
		memcpy(bytes, octets.at, length);
	else
		from->bad = true;
}

static void take_clock(struct kl_ber *from, struct kl_timebase *base)
{
	struct kl_ber clock = kl_ber_take_tag(from, KL_BER_SEQUENCE);
	uint32_t kind = kl_ber_take_unsigned(&clock, KL_BER_ENUMERATED, KL_CLOCK_MONOTONIC);
	uint64_t hz = kl_ber_take_unsigned(&clock, KL_BER_INTEGER, UINT64_MAX);
	int64_t seconds = kl_ber_take_signed(&clock, KL_BER_INTEGER, INT64_MIN, INT64_MAX);
	uint64_t offset = kl_ber_take_unsigned(&clock, KL_BER_INTEGER, UINT64_MAX);
	uint64_t precision = kl_ber_take_unsigned(&clock, KL_BER_INTEGER, UINT64_MAX);

	from->bad |= clock.bad || kl_timebase_init(base, kind, hz, seconds, offset);
	base->precision = precision;
}

static void take_field(struct kl_schema *schema, struct kl_ber *from, struct kl_field *field)
{
	struct kl_ber class = kl_ber_take_tag(from, KL_BER_SEQUENCE), format;

	*field = (struct kl_field){ .name = take_string(schema, &class, true), .count = 1 };
	field->type = (enum kl_type)kl_ber_take_unsigned(&class, KL_BER_ENUMERATED, KL_TYPE_STRING);
	format = kl_ber_take_tag(&class, KL_BER_UTF8);
	field->format = kl_format_find((const char *)format.at, kl_ber_length(&format));
	if (kl_ber_next_is(&class, KL_BER_CONTEXT(0)))
		field->count = kl_ber_take_unsigned(&class, KL_BER_CONTEXT(0), KL_FIELD_COUNT_MAX);
	from->bad |= class.bad;
}

static enum kl_type find_type(const char *name, struct kl_ber *from)
{
	for (int type = 0; name && type <= KL_TYPE_TEXT; type++)
		if (!strcmp(kl_type_name((enum kl_type)type), name))
			return (enum kl_type)type;
	from->bad = true;
	return KL_TYPE_U64;
}

/* Add a variable. All but the task are the schema's, in the order of their numbers. */
static int take_variable(struct kl_schema *schema, struct kl_ber *from)
{
	struct kl_ber class = kl_ber_take_tag(from, KL_BER_SEQUENCE), format;
	uint64_t number = kl_ber_take_unsigned(&class, KL_BER_INTEGER, KL_VARIABLES_MAX);
	struct kl_variable variable = { .name = take_string(schema, &class, true) };
	const struct kl_variable *row;
	int ret;

	if (!class.bad && number == KL_BER_VARIABLE_TASK)
		return 0;
	take_string(schema, &class, false);
	variable.field.type = find_type(take_string(schema, &class, true), &class);
	format = kl_ber_take_tag(&class, KL_BER_UTF8);
	variable.field.format = kl_format_find((const char *)format.at, kl_ber_length(&format));
	variable.unit = take_string(schema, &class, false);
	variable.help = take_string(schema, &class, false);
	if (class.bad || number != KL_BER_VARIABLE(schema->n_variables))
		return kl_fail(EINVAL, "cannot decode a variable");
	row = kl_variable_find(variable.name);
	variable.id = row ? row->id : KL_VARIABLE_PROGRAM;
	ret = kl_schema_add_variable(schema, &variable);
	return ret < 0 ? ret : 0;
}

/* Adds an event with its fields. */
static int take_event(struct kl_schema *schema, struct kl_ber *from)
{
	struct kl_ber event = kl_ber_take_tag(from, KL_BER_SEQUENCE), list;
	struct kl_field fields[KL_FIELDS_MAX];
	struct kl_class class = { .syscall = -1 };
	unsigned int n = 0;

	class.id = kl_ber_take_unsigned(&event, KL_BER_INTEGER, UINT16_MAX);
	class.name = take_string(schema, &event, true);
	class.group = take_string(schema, &event, true);
	class.help = take_string(schema, &event, false);
	class.kind = kl_ber_take_unsigned(&event, KL_BER_ENUMERATED, KL_CLASS_SYSCALL_EXIT);
	if (kl_ber_next_is(&event, KL_BER_CONTEXT(0)))
		class.syscall = kl_ber_take_unsigned(&event, KL_BER_CONTEXT(0), INT16_MAX);
	class.set = kl_ber_take_unsigned(&event, KL_BER_ENUMERATED, KL_SET_REQUEST);
	class.access = kl_ber_take_unsigned(&event, KL_BER_ENUMERATED, KL_ACCESS_SYSTEM);
	list = kl_ber_take_tag(&event, KL_BER_SEQUENCE);
	while (!list.bad && !kl_ber_is_empty(&list) && n < KL_FIELDS_MAX)
		take_field(schema, &list, &fields[n++]);
	if (event.bad || list.bad || !kl_ber_is_empty(&list))
		return kl_fail(EINVAL, "cannot decode event %u", class.id);
	return kl_schema_add(schema, &class, fields, n);
}

int kl_ber_read_head(struct kl_ber_head *head, struct kl_ber trace)
{
	struct kl_ber events, variables;
	struct kl_trace_info *info = &head->info;
	uint8_t hash[8] = { 0 };
	uint64_t format;
	int ret = 0;

	format = kl_ber_take_unsigned(&trace, KL_BER_INTEGER, UINT64_MAX);
	if (trace.bad)
		return kl_fail(EINVAL, "not a trace in BER, or truncated in its schema");
	if (format > KL_BER_FORMAT)
		return kl_fail(EINVAL, "the trace's format %llu is newer than this program's %d",
			       (unsigned long long)format, KL_BER_FORMAT);
	take_info(&trace, KL_BER_OCTETS, info->version, sizeof(info->version));
	take_octets(&trace, info->uuid, sizeof(info->uuid));
	take_info(&trace, KL_BER_OCTETS, info->trace_name, sizeof(info->trace_name));
	take_info(&trace, KL_BER_OCTETS, info->hostname, sizeof(info->hostname));
	take_info(&trace, KL_BER_OCTETS, info->kernel_release, sizeof(info->kernel_release));
	take_info(&trace, KL_BER_OCTETS, info->kernel_version, sizeof(info->kernel_version));
	take_info(&trace, KL_BER_OCTETS, info->boot_id, sizeof(info->boot_id));
	take_octets(&trace, hash, sizeof(hash));
	for (int i = 0; i < 8; i++)
		info->schema_hash = info->schema_hash << 8 | hash[i];
	take_clock(&trace, &info->timebase);
	if (kl_ber_next_is(&trace, KL_BER_CONTEXT(0)))
		head->begin_ns = kl_ber_take_unsigned(&trace, KL_BER_CONTEXT(0), UINT64_MAX);
	if (kl_ber_next_is(&trace, KL_BER_CONTEXT(1)))
		take_info(&trace, KL_BER_CONTEXT(1), info->scope, sizeof(info->scope));
	variables = kl_ber_take_tag(&trace, KL_BER_SEQUENCE);
	events = kl_ber_take_tag(&trace, KL_BER_SEQUENCE);
	if (trace.bad)
		return kl_fail(EINVAL, "cannot decode the trace's header");
	head->schema = kl_schema_new();
	if (!head->schema)
		return -ENOMEM;
	while (!ret && !kl_ber_is_empty(&variables))
		ret = take_variable(head->schema, &variables);
	while (!ret && !kl_ber_is_empty(&events))
		ret = take_event(head->schema, &events);
	return ret;
}
