// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the metadata that any version of tsdl_write.c wrote. It is not a parser for all of TSDL:
 * the version, kernlens_format, determines the stream's layout, so blocks that are not needed are
 * skipped by counting braces. The text may be anything; there is no recursion, and nothing is read
 * beyond its end.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <kernlens/metadata.h>
#include "../base/base.h"
#include "schema.h"
#include "tsdl.h"
#include "tsdl_token.h"

/*
 * Parse one `name = value ;` of a block: puts the name in @name and the value's token in @p. Other
 * statements are skipped. Returns false at the block's end.
 */
static bool next_attribute(struct kl_parser *p, char *name, size_t size)
{
	while (kl_parser_next(p) != TOKEN_END && !kl_parser_is_sign(p, '}')) {
		bool negative = false;

		if (p->token != TOKEN_WORD) {
			kl_parser_fail(p, "expected a name");
			break;
		}
		snprintf(name, size, "%.*s", (int)size - 1, p->text);
		if (kl_parser_next(p) == TOKEN_SIGN && p->sign == '=') {
			if (kl_parser_next(p) == TOKEN_SIGN && p->sign == '-') {
				negative = true;
				kl_parser_next(p);
			}
			if (negative && p->token == TOKEN_NUMBER)
				p->number = (int64_t)(0 - (uint64_t)p->number);
			return true;
		}
		kl_parser_skip(p, 0);
	}
	if (p->token == TOKEN_END)
		kl_parser_fail(p, "unterminated block");
	return false;
}

static void end_attribute(struct kl_parser *p)
{
	/* Skip the rest of a value that has several tokens: clock.tsc.value. */
	while (kl_parser_next(p) != TOKEN_END && !kl_parser_is_sign(p, ';'))
		;
}

static bool read_uuid(const char *text, uint8_t uuid[16])
{
	int n = 0;

	for (; *text && n < 32; text++) {
		int digit;

		if (*text == '-')
			continue;
		if (*text >= '0' && *text <= '9')
			digit = *text - '0';
		else if (*text >= 'a' && *text <= 'f')
			digit = *text - 'a' + 10;
		else
			return false;
		uuid[n / 2] = n % 2 ? uuid[n / 2] | digit : digit << 4;
		n++;
	}
	return n == 32 && !*text;
}

static void parse_trace(struct kl_parser *p)
{
	char name[32];

	while (next_attribute(p, name, sizeof(name))) {
		if (!strcmp(name, "uuid")) {
			p->has_uuid = p->token == TOKEN_STRING && read_uuid(p->text, p->info->uuid);
			if (!p->has_uuid)
				kl_parser_fail(p, "invalid trace UUID");
		} else if (!strcmp(name, "byte_order") && strcmp(p->text, "le")) {
			kl_parser_fail(p, "not a little-endian trace");
		}
		end_attribute(p);
	}
}

static void copy_text(char *to, const char *from)
{
	snprintf(to, KL_INFO_TEXT_MAX, "%.*s", KL_INFO_TEXT_MAX - 1, from);
}

static void parse_env_clock(struct kl_trace_clock *clock, const char *name, int64_t number)
{
	const uint64_t bound = number > 0 ? (uint64_t)number : 0;

	if (!strcmp(name, "synchronized")) {
		clock->known = true;
		clock->synchronized = number == 1;
	} else if (!strcmp(name, "offset_ns")) {
		clock->offset_ns = number;
	} else if (!strcmp(name, "max_error_ns")) {
		clock->max_error_ns = bound;
	} else if (!strcmp(name, "estimated_error_ns")) {
		clock->estimated_error_ns = bound;
	}
}

static void parse_env(struct kl_parser *p)
{
	static const char of_clock[] = "kernlens_clock_";
	struct kl_trace_info *info = p->info;
	char name[48];

	while (next_attribute(p, name, sizeof(name))) {
		if (p->token == TOKEN_NUMBER && !strcmp(name, "kernlens_format"))
			p->format = p->number;
		if (p->token == TOKEN_NUMBER && !strcmp(name, "kernlens_command"))
			info->command = (int32_t)p->number;
		if (p->token == TOKEN_NUMBER && !strncmp(name, of_clock, strlen(of_clock)))
			parse_env_clock(&info->clock, name + strlen(of_clock), p->number);
		if (p->token == TOKEN_STRING) {
			if (!strcmp(name, "hostname"))
				copy_text(info->hostname, p->text);
			else if (!strcmp(name, "kernel_release"))
				copy_text(info->kernel_release, p->text);
			else if (!strcmp(name, "kernel_version"))
				copy_text(info->kernel_version, p->text);
			else if (!strcmp(name, "trace_name"))
				copy_text(info->trace_name, p->text);
			else if (!strcmp(name, "kernlens_scope"))
				copy_text(info->scope, p->text);
			else if (!strcmp(name, "kernlens_version"))
				copy_text(info->version, p->text);
			else if (!strcmp(name, "schema_hash"))
				info->schema_hash = strtoull(p->text, NULL, 16);
		}
		end_attribute(p);
	}
}

static void parse_clock(struct kl_parser *p)
{
	char name[32];

	while (next_attribute(p, name, sizeof(name))) {
		if (p->token == TOKEN_STRING && !strcmp(name, "name"))
			snprintf(p->clock, sizeof(p->clock), "%.31s", p->text);
		else if (p->token == TOKEN_STRING && !strcmp(name, "uuid"))
			snprintf(p->info->boot_id, sizeof(p->info->boot_id), "%.36s", p->text);
		else if (p->token == TOKEN_NUMBER && !strcmp(name, "freq"))
			p->hz = p->number;
		else if (p->token == TOKEN_NUMBER && !strcmp(name, "offset"))
			p->offset = p->number;
		else if (p->token == TOKEN_NUMBER && !strcmp(name, "offset_s"))
			p->offset_s = p->number;
		else if (p->token == TOKEN_NUMBER && !strcmp(name, "precision"))
			p->precision = p->number;
		end_attribute(p);
	}
}

/* After `integer {` or `string {`: parse size, sign and encoding. */
static void parse_type(struct kl_parser *p, struct kl_field *field)
{
	static const enum kl_type of_size[2][4] = {
		{ KL_TYPE_U8, KL_TYPE_U16, KL_TYPE_U32, KL_TYPE_U64 },
		{ KL_TYPE_S8, KL_TYPE_S16, KL_TYPE_S32, KL_TYPE_S64 },
	};
	bool text = false, is_signed = false;
	int64_t bits = 0;
	char name[32];

	field->type = KL_TYPE_STRING;
	if (!strcmp(p->text, "integer"))
		field->type = KL_TYPE_U64;
	else if (strcmp(p->text, "string"))
		return kl_parser_fail(p, "expected integer or string");
	kl_parser_expect(p, '{');
	while (next_attribute(p, name, sizeof(name))) {
		if (!strcmp(name, "size") && p->token == TOKEN_NUMBER)
			bits = p->number;
		else if (!strcmp(name, "signed") && p->token == TOKEN_NUMBER)
			is_signed = p->number;
		else if (!strcmp(name, "encoding"))
			text = true;
		else if (!strcmp(name, "align") && p->number != 8)
			kl_parser_fail(p, "invalid alignment: fields must be byte-aligned");
		end_attribute(p);
	}
	if (field->type == KL_TYPE_STRING)
		return;
	if (text && bits == 8)
		field->type = KL_TYPE_TEXT;
	else if (bits == 8 || bits == 16 || bits == 32 || bits == 64)
		field->type = of_size[is_signed][__builtin_ctz(bits) - 3];
	else
		kl_parser_fail(p, "invalid integer size: expected 8, 16, 32 or 64 bits");
}

/* After a field's type: parse its name, count and the note with its format. */
static void parse_declarator(struct kl_parser *p, struct kl_field *field)
{
	const char *name;

	if (kl_parser_next(p) != TOKEN_WORD)
		return kl_parser_fail(p, "expected a field's name");
	name = p->text + (p->text[0] == '_');
	field->name = kl_schema_string(p->schema, name, strlen(name));
	if (!field->name) {
		p->error = -ENOMEM;
		return kl_parser_fail(p, "out of memory");
	}
	field->count = 1;
	kl_parser_next(p);
	if (kl_parser_is_sign(p, '[')) {
		if (kl_parser_next(p) != TOKEN_NUMBER || p->number < 1 ||
		    p->number > KL_FIELD_COUNT_MAX || field->type == KL_TYPE_STRING)
			return kl_parser_fail(p, "invalid array size");
		field->count = p->number;
		kl_parser_expect(p, ']');
		kl_parser_next(p);
	}
	if (!kl_parser_is_sign(p, ';'))
		kl_parser_fail(p, "expected ';'");
}

static unsigned int parse_fields(struct kl_parser *p, struct kl_field *fields)
{
	unsigned int n = 0;

	kl_parser_next(p);
	while (p->token != TOKEN_END && !kl_parser_is_sign(p, '}')) {
		struct kl_field *field = &fields[n];

		if (n == KL_FIELDS_MAX) {
			kl_parser_fail(p, "an event has too many fields");
			break;
		}
		*field = (struct kl_field){ 0 };
		if (p->token != TOKEN_WORD) {
			kl_parser_fail(p, "expected a field");
			break;
		}
		parse_type(p, field);
		parse_declarator(p, field);
		if (kl_parser_next(p) == TOKEN_NOTE) {
			field->format = kl_format_find(p->text, strcspn(p->text, " "));
			kl_parser_next(p);
		}
		n++;
	}
	return n;
}

static unsigned int find_word(const char *const *words, unsigned int n, const char *word)
{
	unsigned int i = 0;

	while (i < n - 1 && strcmp(words[i], word))
		i++;
	return i;
}

/* Remove the backslashes from @p's text, starting at @at, and return it. */
static char *unescape(struct kl_parser *p, int at)
{
	char *text = p->text + at, *to = text;

	for (const char *from = text; *from; from++) {
		/* The text may have been cut after a backslash. */
		if (*from == '\\' && from[1])
			from++;
		*to++ = *from;
	}
	*to = 0;
	return text;
}

/* "GROUP SET ACCESS help ..." */
static void parse_event_note(struct kl_parser *p, struct kl_class *class)
{
	char group[32], set[16], access[16], *text;
	int help = 0;

	if (sscanf(p->text, "%31s %15s %15s %n", group, set, access, &help) < 3 || !help)
		return;
	class->group = kl_schema_string(p->schema, group, strlen(group));
	text = unescape(p, help);
	class->help = kl_schema_string(p->schema, text, strlen(text));
	class->set = find_word(kl_set_words, 3, set);
	class->access = find_word(kl_access_words, 4, access);
}

/* Parse `name` or `id` and its value; @p holds the attribute's name. */
static void parse_event_attribute(struct kl_parser *p, struct kl_class *class)
{
	char word[32];

	snprintf(word, sizeof(word), "%.31s", p->text);
	kl_parser_expect(p, '=');
	kl_parser_next(p);
	if (!strcmp(word, "name") && p->token == TOKEN_STRING)
		class->name = kl_schema_string(p->schema, p->text, strlen(p->text));
	else if (!strcmp(word, "id") && p->token == TOKEN_NUMBER)
		class->id = p->number > 0 && p->number < KL_EV_IDS ? p->number : 0;
	kl_parser_expect(p, ';');
}

static void parse_event(struct kl_parser *p)
{
	struct kl_class class = { .group = "", .help = "" };
	struct kl_field fields[KL_FIELDS_MAX];
	unsigned int n = 0;

	while (kl_parser_next(p) != TOKEN_END && !kl_parser_is_sign(p, '}')) {
		if (p->token == TOKEN_NOTE) {
			parse_event_note(p, &class);
		} else if (p->token != TOKEN_WORD) {
			kl_parser_fail(p, "expected an event's attribute");
		} else if (!strcmp(p->text, "fields")) {
			kl_parser_expect(p, ':');
			kl_parser_expect(p, '=');
			kl_parser_next(p);
			kl_parser_expect(p, '{');
			n = parse_fields(p, fields);
			if (p->token == TOKEN_END)
				kl_parser_fail(p, "unterminated event");
			kl_parser_skip(p, 1);
		} else {
			parse_event_attribute(p, &class);
		}
	}
	if (p->token == TOKEN_END)
		kl_parser_fail(p, "unterminated event");
	kl_parser_expect(p, ';');
	if (p->error)
		return;
	if (!class.name || !class.group || !class.help)
		return kl_parser_fail(p, "an event has no name");
	p->error = kl_schema_add(p->schema, &class, fields, n);
	if (p->error)
		kl_parser_fail(p, "");
}

/* "FORMAT UNIT help ..." */
static void parse_variable_note(struct kl_parser *p, struct kl_variable *variable)
{
	char format[32], unit[32], *text;
	int help = 0;

	if (sscanf(p->text, "%31s %31s %n", format, unit, &help) < 2 || !help)
		return;
	variable->field.format = kl_format_find(format, strlen(format));
	variable->unit = strcmp(unit, "-") ? kl_schema_string(p->schema, unit, strlen(unit)) : "";
	text = unescape(p, help);
	variable->help = kl_schema_string(p->schema, text, strlen(text));
}

/*
 * After `variant < _has_NAME`: parse `> { struct { } none; TYPE value; } _NAME;` and the note.
 * Variables have the same order as the tags.
 */
static void parse_variable(struct kl_parser *p)
{
	struct kl_variable variable = { .id = KL_VARIABLE_PROGRAM, .unit = "", .help = "" };
	static const char signs[] = ">{{}";
	int index;

	kl_parser_expect(p, signs[0]);
	kl_parser_expect(p, signs[1]);
	kl_parser_next(p);
	kl_parser_expect(p, signs[2]);
	kl_parser_expect(p, signs[3]);
	kl_parser_next(p);
	kl_parser_expect(p, ';');
	kl_parser_next(p);
	parse_type(p, &variable.field);
	parse_declarator(p, &variable.field);
	kl_parser_expect(p, '}');
	if (kl_parser_next(p) != TOKEN_WORD || p->text[0] != '_')
		return kl_parser_fail(p, "expected a variable's name");
	variable.name = kl_schema_string(p->schema, p->text + 1, strlen(p->text + 1));
	kl_parser_expect(p, ';');
	if (kl_parser_next(p) != TOKEN_NOTE)
		return kl_parser_fail(p, "expected a variable's attributes");
	parse_variable_note(p, &variable);
	if (p->error)
		return;
	if (!variable.name || !variable.unit || !variable.help)
		index = -ENOMEM;
	else
		index = kl_schema_add_variable(p->schema, &variable);
	if (index < 0) {
		p->error = index;
		kl_parser_fail(p, "");
	}
}

/* Parse only the variables: kernlens_format determines the rest of the layout. */
static void parse_stream(struct kl_parser *p)
{
	unsigned int depth = 1;

	while (depth && kl_parser_next(p) != TOKEN_END) {
		if (kl_parser_is_sign(p, '{')) {
			depth++;
		} else if (kl_parser_is_sign(p, '}')) {
			depth--;
		} else if (p->token == TOKEN_WORD && !strcmp(p->text, "variant")) {
			kl_parser_expect(p, '<');
			if (kl_parser_next(p) == TOKEN_WORD && !strncmp(p->text, "_has_", 5))
				parse_variable(p);
		}
	}
	if (depth)
		kl_parser_fail(p, "unterminated stream");
}

static void parse_block(struct kl_parser *p)
{
	static const struct {
		const char *word;
		void (*parse)(struct kl_parser *p);
	} blocks[] = { { "trace", parse_trace },
		       { "env", parse_env },
		       { "clock", parse_clock },
		       { "stream", parse_stream } };

	for (size_t i = 0; i < KL_ARRAY_SIZE(blocks); i++) {
		if (strcmp(p->text, blocks[i].word))
			continue;
		kl_parser_expect(p, '{');
		blocks[i].parse(p);
		kl_parser_expect(p, ';');
		return;
	}
	if (strcmp(p->text, "event"))
		return kl_parser_skip(p, 0);
	kl_parser_expect(p, '{');
	parse_event(p);
}

/* "flag NUMBER NAME" or "rule NUMBER TEXT"; other notes are from newer versions. */
static void parse_note(struct kl_parser *p)
{
	unsigned int number;
	char what[8], *text;
	int at = 0;

	if (sscanf(p->text, "%7s %u %n", what, &number, &at) < 2 || !at)
		return;
	text = unescape(p, at);
	if (!strcmp(what, "flag"))
		p->error = kl_schema_set_flag(p->schema, number, text);
	else if (!strcmp(what, "rule"))
		p->error = kl_schema_set_rule(p->schema, number, text);
	if (p->error)
		kl_parser_fail(p, "");
}

static int finish(struct kl_parser *p)
{
	if (p->error)
		return p->error;
	if (!p->has_uuid || !p->format)
		return kl_fail(EINVAL, "metadata: not a kernlens trace");
	if (p->format > KL_TRACE_FORMAT)
		return kl_fail(EINVAL, "metadata: format %lld is newer than this program's %d",
			       (long long)p->format, KL_TRACE_FORMAT);
	if (kl_timebase_init(&p->info->timebase,
			     strcmp(p->clock, "tsc") ? KL_CLOCK_MONOTONIC : KL_CLOCK_TSC, p->hz,
			     p->offset_s, p->offset))
		return -EINVAL;
	p->info->timebase.precision = p->precision;
	return 0;
}

struct kl_schema *kl_metadata_parse(const char *text, size_t length, struct kl_trace_info *info)
{
	struct kl_parser p = { .at = text, .end = text + length, .line = 1, .info = info };
	int ret;

	memset(info, 0, sizeof(*info));
	p.schema = kl_schema_new();
	if (!p.schema)
		return NULL;
	while (kl_parser_next(&p) != TOKEN_END) {
		if (p.token == TOKEN_WORD)
			parse_block(&p);
		else if (p.token == TOKEN_NOTE)
			parse_note(&p);
		else
			kl_parser_fail(&p, "expected a block");
	}
	ret = finish(&p);
	if (ret) {
		kl_schema_destroy(p.schema);
		/* Parsing went on after the failure, and strtoull() may have changed errno. */
		errno = -ret;
		return NULL;
	}
	return p.schema;
}
