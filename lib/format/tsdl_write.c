// SPDX-License-Identifier: GPL-2.0
/*
 * Writes a trace's metadata. Names and env are those that babeltrace2 and Trace Compass know from
 * LTTng. What only kernlens understands (formats, groups, helps) is in comments that start with @.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <kernlens/metadata.h>
#include "../base/base.h"
#include "schema.h"
#include "tsdl.h"

#ifndef KL_VERSION
#error "the build passes KL_VERSION"
#endif

const char *const kl_set_words[3] = { "DEFAULT", "ALL", "REQUEST" };
const char *const kl_access_words[4] = { "SELF", "ABOUT", "ABOUT2", "SYSTEM" };

static void read_boot_id(char *text, size_t size)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!file)
		return;
	if (!fgets(text, size, file))
		text[0] = 0;
	text[strcspn(text, "\n")] = 0;
	fclose(file);
}

void kl_trace_info_init(struct kl_trace_info *info)
{
	struct utsname names;

	memset(info, 0, sizeof(*info));
	snprintf(info->version, sizeof(info->version), "%s", KL_VERSION);
	info->schema_hash = kl_schema_hash();
	read_boot_id(info->boot_id, sizeof(info->boot_id));
	if (uname(&names))
		return;
	snprintf(info->hostname, sizeof(info->hostname), "%s", names.nodename);
	snprintf(info->kernel_release, sizeof(info->kernel_release), "%s", names.release);
	snprintf(info->kernel_version, sizeof(info->kernel_version), "%s", names.version);
}

void kl_trace_clock_read(struct kl_trace_clock *clock)
{
	struct timex now = { .modes = 0 };
	int state = adjtimex(&now);

	memset(clock, 0, sizeof(*clock));
	if (state < 0)
		return;
	clock->known = true;
	clock->synchronized = state != TIME_ERROR && !(now.status & STA_UNSYNC);
	clock->offset_ns = (int64_t)now.offset * (now.status & STA_NANO ? 1 : 1000);
	clock->max_error_ns = now.maxerror > 0 ? (uint64_t)now.maxerror * 1000 : 0;
	clock->estimated_error_ns = now.esterror > 0 ? (uint64_t)now.esterror * 1000 : 0;
}

/* Write a string in TSDL's quotes, with control bytes replaced by blanks. */
static void write_string(struct kl_buffer *buffer, const char *text)
{
	kl_buffer_add_char(buffer, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			kl_buffer_add_char(buffer, '\\');
		kl_buffer_add_char(buffer, (unsigned char)*text < ' ' ? ' ' : *text);
	}
	kl_buffer_add_char(buffer, '"');
}

static void write_env(struct kl_buffer *buffer, const char *name, const char *text)
{
	kl_buffer_printf(buffer, "\t%s = ", name);
	write_string(buffer, text);
	kl_buffer_add_string(buffer, ";\n");
}

static void write_env_clock(struct kl_buffer *buffer, const struct kl_trace_clock *clock)
{
	if (!clock->known)
		return;
	kl_buffer_printf(buffer,
			 "\tkernlens_clock_synchronized = %d;\n"
			 "\tkernlens_clock_offset_ns = %lld;\n"
			 "\tkernlens_clock_max_error_ns = %llu;\n"
			 "\tkernlens_clock_estimated_error_ns = %llu;\n",
			 clock->synchronized, (long long)clock->offset_ns,
			 (unsigned long long)clock->max_error_ns,
			 (unsigned long long)clock->estimated_error_ns);
}

static void write_uuid(struct kl_buffer *buffer, const uint8_t uuid[16])
{
	for (int i = 0; i < 16; i++)
		kl_buffer_printf(buffer, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
				 uuid[i]);
}

static const char *clock_name(const struct kl_trace_info *info)
{
	return info->timebase.clock == KL_CLOCK_TSC ? "tsc" : "monotonic";
}

static void write_trace(struct kl_buffer *buffer, const struct kl_trace_info *info)
{
	kl_buffer_add_string(
		buffer, "/* CTF 1.8 */\n\n"
			"typealias integer { size = 8; align = 8; signed = 0; } := uint8_t;\n"
			"typealias integer { size = 32; align = 8; signed = 0; } := uint32_t;\n"
			"typealias integer { size = 64; align = 8; signed = 0; } := uint64_t;\n\n"
			"trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	write_uuid(buffer, info->uuid);
	kl_buffer_add_string(buffer, "\";\n\tbyte_order = le;\n"
				     "\tpacket.header := struct {\n"
				     "\t\tuint32_t magic;\n"
				     "\t\tuint8_t uuid[16];\n"
				     "\t\tuint32_t stream_id;\n"
				     "\t};\n};\n\nenv {\n");
	write_env(buffer, "hostname", info->hostname);
	write_env(buffer, "domain", "kernel");
	write_env(buffer, "sysname", "Linux");
	write_env(buffer, "kernel_release", info->kernel_release);
	write_env(buffer, "kernel_version", info->kernel_version);
	write_env(buffer, "tracer_name", "lttng-modules");
	kl_buffer_add_string(buffer, "\ttracer_major = 2;\n\ttracer_minor = 13;\n"
				     "\ttracer_patchlevel = 0;\n");
	write_env(buffer, "trace_name", info->trace_name);
	write_env(buffer, "kernlens_scope", info->scope);
	if (info->command)
		kl_buffer_printf(buffer, "\tkernlens_command = %d;\n", info->command);
	write_env_clock(buffer, &info->clock);
	write_env(buffer, "kernlens_version", info->version);
	kl_buffer_printf(buffer, "\tkernlens_format = %d;\n", KL_TRACE_FORMAT);
	kl_buffer_printf(buffer, "\tschema_hash = \"%016llx\";\n};\n\n",
			 (unsigned long long)info->schema_hash);
}

static void write_clock(struct kl_buffer *buffer, const struct kl_trace_info *info)
{
	const struct kl_timebase *base = &info->timebase;

	kl_buffer_printf(buffer, "clock {\n\tname = \"%s\";\n", clock_name(info));
	if (info->boot_id[0]) {
		kl_buffer_add_string(buffer, "\tuuid = ");
		write_string(buffer, info->boot_id);
		kl_buffer_add_string(buffer, ";\n");
	}
	kl_buffer_printf(buffer, "\tdescription = \"%s\";\n",
			 base->clock == KL_CLOCK_TSC ? "Time stamp counter" : "Monotonic clock");
	kl_buffer_printf(buffer, "\tfreq = %llu;\n\tprecision = %llu;\n",
			 (unsigned long long)base->hz, (unsigned long long)base->precision);
	kl_buffer_printf(buffer, "\toffset_s = %lld;\n\toffset = %llu;\n\tabsolute = TRUE;\n};\n\n",
			 (long long)base->offset_s, (unsigned long long)base->offset);
}

/*
 * Write a field's type and, instead of the field's own name, @prefix and @name, up to the
 * semicolon.
 */
static void write_declaration(struct kl_buffer *buffer, const struct kl_field *field,
			      const char *prefix, const char *name)
{
	if (field->type == KL_TYPE_STRING)
		kl_buffer_printf(buffer, "string { encoding = UTF8; } %s%s;", prefix, name);
	else if (field->type == KL_TYPE_TEXT)
		kl_buffer_printf(buffer,
				 "integer { size = 8; align = 8; signed = 0; encoding = UTF8; }"
				 " %s%s[%u];",
				 prefix, name, field->count);
	else
		kl_buffer_printf(buffer,
				 "integer { size = %u; align = 8; signed = %d; base = %u; } %s%s",
				 field->bytes * 8, kl_type_is_signed(field->type),
				 kl_format_base(field->format), prefix, name);
	if (field->type < KL_TYPE_TEXT && field->count > 1)
		kl_buffer_printf(buffer, "[%u]", field->count);
	if (field->type < KL_TYPE_TEXT)
		kl_buffer_add_char(buffer, ';');
}

static void write_field(struct kl_buffer *buffer, const struct kl_field *field)
{
	kl_buffer_add_string(buffer, "\t\t");
	write_declaration(buffer, field, "_", field->name);
	kl_buffer_printf(buffer, " /* @%s */\n", kl_format_name(field->format));
}

/* One bit for the task, one for each variable, and padding to whole bytes. */
static void write_changed(struct kl_buffer *buffer, const struct kl_schema *schema)
{
	unsigned int n = schema->n_variables, spare = 8 * KL_CHANGED_BYTES(n) - 1 - n;

	kl_buffer_add_string(buffer,
			     "\t\tinteger { size = 1; align = 1; signed = 0; } _changed;\n");
	for (unsigned int i = 0; i < n; i++)
		kl_buffer_printf(buffer,
				 "\t\tenum : integer { size = 1; align = 1; signed = 0; } "
				 "{ none = 0, value = 1 } _has_%s;\n",
				 schema->variables[i]->name);
	if (spare)
		kl_buffer_printf(buffer,
				 "\t\tinteger { size = %u; align = 1; signed = 0; } "
				 "_changed_reserved;\n",
				 spare);
}

/* Write a text inside a comment: escape the comment's end, and stay on one line. */
static void write_noted(struct kl_buffer *buffer, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (*c == '\\' || (*c == '/' && c > text && c[-1] == '*'))
			kl_buffer_add_char(buffer, '\\');
		kl_buffer_add_char(buffer, (unsigned char)*c < ' ' ? ' ' : *c);
	}
	kl_buffer_add_string(buffer, " */\n");
}

static void write_variable(struct kl_buffer *buffer, const struct kl_variable *variable)
{
	kl_buffer_printf(buffer, "\t\tvariant <_has_%s> { struct { } none; ", variable->name);
	write_declaration(buffer, &variable->field, "", "value");
	kl_buffer_printf(buffer, " } _%s; /* @%s %s ", variable->name,
			 kl_format_name(variable->field.format),
			 *variable->unit ? variable->unit : "-");
	write_noted(buffer, variable->help);
}

/* The members of struct kl_abi_block, and what precedes each event's fields. */
static void write_stream(struct kl_buffer *buffer, const struct kl_schema *schema,
			 const struct kl_trace_info *info)
{
	const char *clock = clock_name(info);

	/*
	 * `align = 1` changes no position, but babeltrace 1 aborts on an aligned integer whose size
	 * is not a power of two.
	 */
	kl_buffer_printf(buffer,
			 "typealias integer { size = 64; align = 8; signed = 0; "
			 "map = clock.%s.value; } := block_time_t;\n"
			 "typealias integer { size = 48; align = 1; signed = 0; "
			 "map = clock.%s.value; } := record_time_t;\n\n",
			 clock, clock);
	kl_buffer_add_string(buffer, "stream {\n\tid = 0;\n"
				     "\tevent.header := struct {\n"
				     "\t\tinteger { size = 16; align = 8; signed = 0; } id;\n"
				     "\t\trecord_time_t timestamp;\n"
				     "\t} align(8);\n"
				     "\tpacket.context := struct {\n"
				     "\t\tblock_time_t timestamp_begin;\n"
				     "\t\tblock_time_t timestamp_end;\n"
				     "\t\tuint64_t content_size;\n"
				     "\t\tuint64_t packet_size;\n"
				     "\t\tuint64_t packet_seq_num;\n"
				     "\t\tuint64_t events_discarded;\n"
				     "\t\tuint64_t record_first;\n"
				     "\t\tuint64_t committed;\n"
				     "\t\tuint32_t record_count;\n"
				     "\t\tuint32_t cpu_id;\n"
				     "\t\tuint32_t session_id;\n"
				     "\t\tuint32_t header_bytes;\n"
				     "\t} align(8);\n"
				     "\tevent.context := struct {\n");
	write_changed(buffer, schema);
	kl_buffer_add_string(buffer,
			     "\t\tstruct {\n"
			     "\t\t\tinteger { size = 32; align = 8; signed = 1; } _tid;\n"
			     "\t\t\tinteger { size = 32; align = 8; signed = 1; } _pid;\n"
			     "\t\t\tinteger { size = 8; align = 8; signed = 0; encoding = UTF8; } "
			     "_comm[16];\n"
			     "\t\t} align(8) _task[_changed];\n");
	for (unsigned int i = 0; i < schema->n_variables; i++)
		write_variable(buffer, schema->variables[i]);
	kl_buffer_add_string(buffer, "\t} align(8);\n};\n\n");
}

static void write_event(struct kl_buffer *buffer, const struct kl_class *class)
{
	kl_buffer_printf(buffer, "event {\n\t/* @%s %s %s ", class->group, kl_set_words[class->set],
			 kl_access_words[class->access]);
	write_noted(buffer, class->help);
	kl_buffer_add_string(buffer, "\tname = ");
	write_string(buffer, class->name);
	kl_buffer_printf(buffer, ";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n",
			 class->id);
	for (unsigned int i = 0; i < class->n_fields; i++)
		write_field(buffer, &class->fields[i]);
	kl_buffer_add_string(buffer, "\t} align(8);\n};\n\n");
}

static void write_note(struct kl_buffer *buffer, const char *what, unsigned int number,
		       const char *text)
{
	kl_buffer_printf(buffer, "/* @%s %u ", what, number);
	write_noted(buffer, text);
}

static int write_metadata(struct kl_buffer *buffer, const struct kl_schema *schema,
			  const struct kl_trace_info *info, unsigned int first)
{
	const struct kl_class *class = NULL;

	write_trace(buffer, info);
	write_clock(buffer, info);
	write_stream(buffer, schema, info);
	for (unsigned int i = 0; i < KL_FLAGS_MAX; i++)
		if (schema->flags[i])
			write_note(buffer, "flag", i, schema->flags[i]);
	for (unsigned int i = 0; i < KL_RULES_MAX; i++)
		if (schema->rules[i])
			write_note(buffer, "rule", i, schema->rules[i]);
	while ((class = kl_schema_next(schema, class)))
		if (class->id >= first)
			write_event(buffer, class);
	return buffer->error ? kl_fail(ENOMEM, "out of memory") : 0;
}

int kl_metadata_write(struct kl_buffer *buffer, const struct kl_schema *schema,
		      const struct kl_trace_info *info)
{
	return write_metadata(buffer, schema, info, 0);
}

int kl_metadata_write_defined(struct kl_buffer *buffer, const struct kl_schema *schema,
			      const struct kl_trace_info *info)
{
	return write_metadata(buffer, schema, info, KL_EV_DYNAMIC);
}
