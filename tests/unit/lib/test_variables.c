// SPDX-License-Identifier: GPL-2.0
/*
 * Records with variables: the schema, metadata written and parsed again, values carried forward
 * whatever changes, damage, printing; and babeltrace2 on the same trace.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/csv.h>
#include <kernlens/schema_define.h>
#include "synth.h"
#include "unit.h"

#define BEGIN 1000000ull
#define RECORDS 600

/* All types. The tests use numbers of variables around multiples of eight. */
static const enum kl_type types[] = { KL_TYPE_U64, KL_TYPE_S8,	KL_TYPE_TEXT,
				      KL_TYPE_U32, KL_TYPE_S16, KL_TYPE_S64,
				      KL_TYPE_U8,  KL_TYPE_S32, KL_TYPE_U16 };
#define TYPES (sizeof(types) / sizeof(*types))

static struct kl_trace_info info;

static void make_info(void)
{
	kl_trace_info_init(&info);
	for (int i = 0; i < 16; i++)
		info.uuid[i] = 0x10 + i;
	strcpy(info.trace_name, "variables");
	kl_timebase_init(&info.timebase, KL_CLOCK_MONOTONIC, 1000000000, 1700000000, 0);
}

static struct kl_schema *make_schema(unsigned int n)
{
	struct kl_schema *schema = kl_schema_create();
	char name[16];

	for (unsigned int i = 0; i < n; i++) {
		struct kl_variable v = { .id = i,
					 .unit = i & 1 ? "B" : "",
					 .help = "A help, of it" };

		snprintf(name, sizeof(name), "v%u", i);
		v.name = name;
		v.field.type = types[i % TYPES];
		v.field.format = i % 5 ? KL_FORMAT_dec : KL_FORMAT_hex;
		if (kl_schema_add_variable(schema, &v) != (int)i)
			unit_result(false, "a variable is added", kl_error_text());
	}
	return schema;
}

static bool same_variables(const struct kl_schema *a, const struct kl_schema *b)
{
	const struct kl_variable *v, *w;
	unsigned int i = 0;

	for (; (v = kl_schema_variable(a, i)); i++) {
		w = kl_schema_variable(b, i);
		if (!w || strcmp(v->name, w->name) || strcmp(v->unit, w->unit) ||
		    strcmp(v->help, w->help) || v->field.type != w->field.type ||
		    v->field.format != w->field.format || v->field.bytes != w->field.bytes ||
		    v->field.count != w->field.count || v->field.offset != w->field.offset)
			return false;
	}
	return !kl_schema_variable(b, i);
}

static void test_metadata(void)
{
	static const unsigned int numbers[] = { 0, 1, 6, 7, 8, 14, 15, 16, 31, 63 };
	unsigned int same = 0, tags = 0;

	for (unsigned int k = 0; k < sizeof(numbers) / sizeof(*numbers); k++) {
		struct kl_schema *schema = make_schema(numbers[k]), *parsed;
		struct kl_trace_info again;
		struct kl_buffer text = { 0 };

		kl_metadata_write(&text, schema, &info);
		parsed = kl_metadata_parse(text.data, text.length, &again);
		same += parsed && same_variables(schema, parsed);
		tags += !strstr(text.data, "_has_") == !numbers[k];
		kl_schema_destroy(parsed);
		kl_schema_destroy(schema);
		kl_buffer_deinit(&text);
	}
	unit_check(same == 10, "variables come back from the metadata as they were");
	unit_check(tags == 10, "without variables the metadata says nothing of them");
}

/* A session's definitions as readers that attach get them: events, variables, flags, rules. */
static void test_defined(void)
{
	static const char rule[] = "fn:vfs_*/comm == \"\\\\ */ \\*\"/ :count";
	static const struct kl_field fields[] = {
		{ .name = "a", .type = KL_TYPE_S32, .format = KL_FORMAT_hex, .count = 1 },
		{ .name = "s", .type = KL_TYPE_STRING, .count = 1 },
	};
	const struct kl_class proto = {
		.name = "fn:one",
		.group = "defined",
		.help = "A help",
		.fields = fields,
		.n_fields = 2,
	};
	struct kl_schema *schema = make_schema(9), *parsed, *other = kl_schema_create();
	struct kl_buffer text = { 0 };
	struct kl_trace_info again;
	const struct kl_class *class;
	int ret;

	unit_check(kl_schema_define(schema, &proto) == KL_EV_DYNAMIC &&
			   !kl_schema_set_flag(schema, 33, "of_cpu") &&
			   !kl_schema_set_rule(schema, 47, rule),
		   "a session defines something");
	unit_check(kl_schema_set_flag(schema, KL_FLAGS_MAX, "x") == -EINVAL &&
			   kl_schema_set_rule(schema, KL_RULES_MAX, "x") == -EINVAL,
		   "numbers that no flag or rule has");
	kl_metadata_write_defined(&text, schema, &info);
	unit_check(!strstr(text.data, "sched_switch"),
		   "only the definitions are written, not the tables");
	parsed = kl_metadata_parse(text.data, text.length, &again);
	ret = parsed ? kl_schema_take_defined(other, parsed) : -1;
	unit_result(!ret && same_variables(schema, other), "and they are read back: variables",
		    kl_error_text());
	class = kl_schema_class(other, KL_EV_DYNAMIC);
	unit_check(class && !strcmp(class->name, "fn:one") && class->n_fields == 2 &&
			   class->fields[0].format == KL_FORMAT_hex && class->n_strings == 1,
		   "events with their fields");
	unit_result(kl_schema_flag(other, 33) && !strcmp(kl_schema_flag(other, 33), "of_cpu") &&
			    !kl_schema_flag(other, 1) && kl_schema_rule(other, 47) &&
			    !strcmp(kl_schema_rule(other, 47), rule),
		    "flags and rules", kl_schema_rule(other, 47));
	unit_check(parsed && kl_schema_take_defined(other, parsed) < 0, "but only once");
	kl_schema_destroy(parsed);
	kl_schema_destroy(other);
	kl_schema_destroy(schema);
	kl_buffer_deinit(&text);
}

static int add_named(struct kl_schema *schema, const char *name, enum kl_type type)
{
	struct kl_variable v = { .name = name, .unit = "", .help = "", .field = { .type = type } };

	return kl_schema_add_variable(schema, &v);
}

static void test_refusals(void)
{
	struct kl_schema *schema = kl_schema_create();
	char name[16];
	int n = 0;

	unit_check(add_named(schema, "rss", KL_TYPE_U64) == 0 &&
			   add_named(schema, "rss", KL_TYPE_U8) == -EINVAL,
		   "a duplicate variable is refused");
	unit_check(add_named(schema, "", KL_TYPE_U8) < 0 &&
			   add_named(schema, "a b", KL_TYPE_U8) < 0 &&
			   add_named(schema, "1a", KL_TYPE_U8) < 0 &&
			   add_named(schema, "a;", KL_TYPE_U8) < 0,
		   "a name is a word");
	unit_check(add_named(schema, "text", KL_TYPE_STRING) < 0, "a string cannot be a variable");
	while (snprintf(name, sizeof(name), "t%d", n) && add_named(schema, name, KL_TYPE_TEXT) >= 0)
		n++;
	unit_check(n == (KL_VARIABLES_BYTES_MAX - 8) / KL_COMM_LEN, "512 bytes and no more");
	unit_check(kl_schema_find_variable(schema, "rss") == 0 &&
			   kl_schema_find_variable(schema, "rs") == -ENOENT,
		   "variables are found by whole names");
	unit_check(kl_variable_find("rss") && kl_variable_find("rss")->field.type == KL_TYPE_U64 &&
			   !strcmp(kl_variable_find("rss")->unit, "B") && !kl_variable_find("none"),
		   "the table has types and units");
	kl_schema_destroy(schema);
}

/* Some values change, seldom many, sometimes none. */
static void change_some(struct synth *s, unsigned int n)
{
	for (int left = rand() % 4; left && n; left--) {
		const struct kl_field *field = &kl_schema_variable(s->schema, rand() % n)->field;
		unsigned int bytes = field->bytes * field->count;

		for (unsigned int i = 0; i < bytes; i++)
			s->values[field->offset + i] =
				field->type == KL_TYPE_TEXT ? 'a' + rand() % 26 : rand();
		if (field->type == KL_TYPE_TEXT)
			s->values[field->offset + rand() % bytes] = 0;
	}
	if (rand() % 8 == 0)
		synth_task(s, rand() % 100, 7, "some");
}

/* Writes blocks of random records; stores each record's values in @expected. */
static char *write_trace(const struct kl_schema *schema, struct synth *s, unsigned int n,
			 uint8_t (*expected)[KL_VARIABLES_BYTES_MAX])
{
	char *directory = synth_directory();
	struct kl_trace_writer *writer = kl_trace_create(directory, schema, &info);
	uint64_t time = BEGIN;

	synth_init(s, schema, 0);
	synth_begin(s, time);
	for (unsigned int i = 0; i < RECORDS; i++) {
		const struct synth_arg *args = ARGS(NUMBER(i), NUMBER(6), BYTES("/bin/true"));

		change_some(s, n);
		time += 10;
		if (!synth_add(s, "sched_process_exec", time, args)) {
			synth_end(s, time - 5);
			kl_trace_append(writer, synth_block(s), s->block_bytes);
			synth_begin(s, time);
			synth_add(s, "sched_process_exec", time, args);
		}
		memcpy(expected[i], s->values, sizeof(*expected));
	}
	synth_end(s, time);
	kl_trace_append(writer, synth_block(s), s->block_bytes);
	kl_trace_finish(writer, NULL);
	return directory;
}

static bool has_values(const struct kl_event *event, unsigned int n, const uint8_t *expected)
{
	for (unsigned int i = 0; i < n; i++) {
		struct kl_value value = kl_event_variable(event, i);
		const struct kl_field *field = value.field;

		if (memcmp(value.bytes, expected + field->offset,
			   (size_t)field->bytes * field->count))
			return false;
		if (field->type == KL_TYPE_S8 &&
		    value.number != (uint64_t)(int8_t)expected[field->offset])
			return false;
	}
	return true;
}

static void check_printing(const struct kl_event *event, unsigned int n)
{
	const struct kl_item item = { .kind = KL_ITEM_EVENT, .event = event };
	struct kl_csv *csv = kl_csv_create(event->schema, NULL);
	struct kl_buffer out = { 0 };
	size_t header;
	int commas;
	json_t *root;

	kl_print_event(&out, KL_STYLE_JSON, 0, event);
	root = json_loadb(out.data, out.length, JSON_DECODE_INT_AS_REAL, NULL);
	unit_check(root && json_object_size(json_object_get(root, "variables")) == n,
		   "JSON has all variables");
	json_decref(root);
	kl_buffer_reset(&out);
	kl_print_event(&out, KL_STYLE_TEXT, 0, event);
	unit_check(!!strstr(out.data, " {v0=0x") == !!n, "text has them in braces");
	kl_buffer_reset(&out);
	kl_csv_print_header(csv, &out);
	header = out.length;
	kl_csv_print(csv, &out, 0, &item);
	kl_csv_destroy(csv);
	commas = 0;
	for (size_t i = 0; i < out.length; i++)
		commas += out.data[i] == ',' ? (i < header ? 1 : -1) : 0;
	unit_check(!!strstr(out.data, ",variable_v0") == !!n && !commas, "CSV has them as columns");
	kl_buffer_deinit(&out);
}

/* How many lines babeltrace2 prints; 0 if it warns, or prints structs without members. */
static int ask_babeltrace(const char *directory)
{
	char command[256], text[64] = "";
	FILE *pipe;

	snprintf(command, sizeof(command), "babeltrace2 %s 2>&1 | grep -c sched_process_exec",
		 directory);
	pipe = popen(command, "r");
	if (!fgets(text, sizeof(text), pipe))
		text[0] = 0;
	pclose(pipe);
	snprintf(command, sizeof(command),
		 "test -z \"$(babeltrace2 %s 2>&1 >/dev/null)\" &&"
		 "! babeltrace2 %s | grep -qE '(task|variables) = [{] *[{]? *[}]'",
		 directory, directory);
	return system(command) ? 0 : atoi(text);
}

/* Are the values of v0 that babeltrace2 prints those written, in order? */
static bool babeltrace_has(const char *directory, uint8_t (*expected)[KL_VARIABLES_BYTES_MAX])
{
	char command[256], text[64];
	unsigned int at = 0;
	bool good = true;
	FILE *pipe;

	snprintf(
		command, sizeof(command),
		"babeltrace2 %s 2>/dev/null | grep -oE ' v0 = \\{ (0x)?[0-9A-Fa-f]+' | sed 's/.* //'",
		directory);
	pipe = popen(command, "r");
	while (fgets(text, sizeof(text), pipe)) {
		uint64_t told = strtoull(text, NULL, 16), value;

		do
			memcpy(&value, expected[at], 8);
		while (value != told && ++at < RECORDS);
		good = good && at < RECORDS;
		if (!good)
			break;
	}
	pclose(pipe);
	return good && at > RECORDS / 2;
}

static void test_traces(unsigned int n)
{
	uint8_t(*expected)[KL_VARIABLES_BYTES_MAX] = calloc(RECORDS, sizeof(*expected));
	struct kl_schema *schema = make_schema(n);
	struct synth *s = malloc(sizeof(*s));
	char *directory = write_trace(schema, s, n, expected), name[96];
	struct kl_trace *trace = kl_trace_open(directory);
	unsigned int events = 0, right = 0, sparse = 0;
	struct kl_item item;

	while (trace && kl_trace_next(trace, &item) > 0) {
		if (item.kind != KL_ITEM_EVENT)
			continue;
		if (events == RECORDS / 2)
			check_printing(item.event, n);
		right += has_values(item.event, n, expected[events]);
		sparse += item.event->changed != (n < 63 ? (2ull << n) - 1 : ~0ull);
		events++;
	}
	snprintf(name, sizeof(name), "%u variables are right at each of %u records", n, events);
	unit_check(events == RECORDS, "all records are read");
	unit_result(right == RECORDS, name, kl_error_text());
	unit_check(!n || sparse > RECORDS / 2, "although few records have them all");
	kl_trace_close(trace);
	unit_check(ask_babeltrace(directory) == RECORDS,
		   "babeltrace2 reads them without complaint");
	unit_check(!n || babeltrace_has(directory, expected), "and the same values");
	synth_remove(directory);
	kl_schema_destroy(schema);
	free(s);
	free(expected);
}

/* Random bytes in a block: no crash, and nothing is read past its end. */
static void test_fuzz(void)
{
	uint8_t(*expected)[KL_VARIABLES_BYTES_MAX] = calloc(RECORDS, sizeof(*expected));
	struct kl_schema *schema = make_schema(20);
	struct synth *s = malloc(sizeof(*s));
	char *directory = write_trace(schema, s, 20, expected), path[128];
	unsigned int opened = 0;
	struct kl_trace *trace;
	struct kl_item item;

	snprintf(path, sizeof(path), "%s/cpu0", directory);
	for (int i = 0; i < 300; i++) {
		FILE *file = fopen(path, "r+");
		struct kl_buffer out = { 0 };

		fseek(file, rand() % (2 * SYNTH_BLOCK_BYTES), SEEK_SET);
		fputc(rand(), file);
		fclose(file);
		trace = kl_trace_open(directory);
		opened += !!trace;
		while (trace && kl_trace_next(trace, &item) > 0)
			if (item.kind == KL_ITEM_EVENT)
				kl_print_event(&out, KL_STYLE_JSON, 0, item.event);
		kl_buffer_deinit(&out);
		kl_trace_close(trace);
	}
	unit_check(opened == 300, "damaged records are read as far as they go");
	synth_remove(directory);
	kl_schema_destroy(schema);
	free(s);
	free(expected);
}

int main(void)
{
	srand(3);
	make_info();
	test_metadata();
	test_defined();
	test_refusals();
	test_traces(0);
	test_traces(1);
	test_traces(7);
	test_traces(8);
	test_traces(16);
	test_traces(63);
	test_fuzz();
	return unit_end();
}
