// SPDX-License-Identifier: GPL-2.0
/*
 * Traces in BER: compares what is printed from a file with what is printed from its trace; filtered
 * files, and files that are cut, damaged or forged. KL_FUZZ_MS: how long to damage.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kernlens/ber_reader.h>
#include "../../../lib/format/ber.h"
#include "../../../lib/format/schema.h"
#include "synth.h"
#include "unit.h"

#define BEGIN 1000000ull
#define HZ 2100000000ull
#define CPUS 3
#define LONG_STRING 300

static struct kl_schema *schema; /* a few events of the tables, and one defined here */
static struct kl_trace_info info;

/* ------------------------------------------------------------------ traces */

static void copy_class(const struct kl_schema *tables, const char *name)
{
	const struct kl_class *class = kl_schema_find(tables, name);

	if (!class || kl_schema_add(schema, class, class->fields, class->n_fields))
		abort();
}

static void make_schema(const struct kl_schema *tables)
{
	static const struct kl_class class = {
		.id = 1000,
		.syscall = -1,
		.name = "every_type",
		.group = "task",
		.help = "Every type of field",
	};
	static const struct kl_field fields[] = {
		{ .name = "a", .type = KL_TYPE_S8, .count = 1 },
		{ .name = "b", .type = KL_TYPE_U8, .count = 1 },
		{ .name = "c", .type = KL_TYPE_S16, .count = 1 },
		{ .name = "d", .type = KL_TYPE_U16, .count = 1, .format = KL_FORMAT_port },
		{ .name = "e", .type = KL_TYPE_S32, .count = 1 },
		{ .name = "f", .type = KL_TYPE_U32, .count = 1 },
		{ .name = "g", .type = KL_TYPE_S64, .count = 1 },
		{ .name = "h", .type = KL_TYPE_U64, .count = 1, .format = KL_FORMAT_hex },
		{ .name = "i", .type = KL_TYPE_S16, .count = 3 },
		{ .name = "j", .type = KL_TYPE_TEXT, .count = 16, .format = KL_FORMAT_comm },
		{ .name = "k", .type = KL_TYPE_STRING, .count = 1, .format = KL_FORMAT_text },
		{ .name = "l", .type = KL_TYPE_U8, .count = 4, .format = KL_FORMAT_ipv4 },
		{ .name = "m", .type = KL_TYPE_STRING, .count = 1, .format = KL_FORMAT_path },
	};

	schema = kl_schema_new();
	copy_class(tables, "sched_switch");
	copy_class(tables, "sched_process_exec");
	copy_class(tables, "syscall_entry_read");
	copy_class(tables, "syscall_exit_read");
	if (kl_schema_add(schema, &class, fields, sizeof(fields) / sizeof(*fields)))
		abort();
	kl_trace_info_init(&info);
	for (int i = 0; i < 16; i++)
		info.uuid[i] = 0x10 + i;
	strcpy(info.trace_name, "unit");
	strcpy(info.scope, "tasks");
	strcpy(info.hostname, "host\377\1");
	kl_timebase_init(&info.timebase, KL_CLOCK_TSC, HZ, 1700000000, 1000);
}

static void add_every_type(struct synth *s, uint64_t time, int64_t n, const char *string)
{
	int16_t three[3] = { n, -n, -32768 };
	static const uint8_t address[4] = { 192, 168, 0, 1 };

	if (!synth_add(s, "every_type", time,
		       ARGS(NUMBER(-n), NUMBER(n), NUMBER(-n * 100), NUMBER(n * 100),
			    NUMBER(-n * 100000), NUMBER(n * 100000), NUMBER(-n * 10000000000ll),
			    NUMBER(~0ull - n), BYTES(three),
			    BYTES(n & 1 ? "sixteen bytes!!!" : "few"), BYTES(string),
			    BYTES(address), BYTES("/a \"path\""))))
		abort();
}

/* Three blocks per CPU; the first of CPU 1 and the second of CPU 2 are missing. */
static void write_trace(const char *directory)
{
	struct kl_trace_writer *writer = kl_trace_create(directory, schema, &info);
	char string[LONG_STRING + 1];
	struct synth *s = malloc(sizeof(*s));

	memset(string, 'x', LONG_STRING);
	string[LONG_STRING] = 0;
	for (int cpu = 0; cpu < CPUS; cpu++) {
		synth_init(s, schema, cpu);
		for (int k = 0; k < 3; k++) {
			uint64_t time = BEGIN + cpu * 7 + k * 10000;

			synth_task(s, 100 + cpu, 100, "first");
			synth_begin(s, time);
			synth_switch(s, time, "first", 100 + cpu, "second", 200);
			synth_task(s, 200, 200, "sixteen bytes!!!");
			add_every_type(s, time + 1000, 1 + k, k ? "text" : "");
			add_every_type(s, time + 2000, 11 + k, k ? "a\nb\377" : string);
			synth_add(s, "syscall_entry_read", time + 2000,
				  ARGS(NUMBER(3), NUMBER(1ull << 63), NUMBER(100)));
			synth_add(s, "syscall_exit_read", time + 2100, ARGS(NUMBER(-9)));
			synth_task(s, 0, 0, "");
			synth_add(s, "sched_process_exec", time + 9000,
				  ARGS(NUMBER(5), NUMBER(6), BYTES("/bin/true")));
			s->discarded += k == 1 ? 10 + cpu : 0;
			synth_end(s, time + 9500);
			if (cpu != k + 1)
				kl_trace_append(writer, synth_block(s), s->block_bytes);
		}
	}
	free(s);
	kl_trace_finish(writer, &info.timebase);
}

/* The events of a trace to write to a file: those with these ids, 0: all. */
struct choice {
	unsigned int id[2];
};

static bool is_chosen(const struct choice *choice, const struct kl_item *item)
{
	return item->kind == KL_ITEM_LOSS || !choice || item->event->id == choice->id[0] ||
	       item->event->id == choice->id[1];
}

static void convert(const char *path, struct kl_buffer *ber, const struct choice *choice)
{
	struct kl_trace *trace = kl_trace_open(path);
	struct kl_ber_writer *writer;
	struct kl_item item;

	if (!trace)
		abort();
	writer = kl_ber_writer_create(ber, kl_trace_schema(trace), kl_trace_about(trace),
				      kl_trace_begin(trace));
	while (kl_trace_next(trace, &item) > 0)
		if (is_chosen(choice, &item))
			kl_ber_writer_add(writer, ber, &item);
	kl_ber_writer_finish(writer, ber, kl_trace_counted(trace));
	kl_ber_writer_destroy(writer);
	kl_trace_close(trace);
}

static void print_all(const char *path, struct kl_buffer *text, enum kl_style style,
		      unsigned int flags, const struct choice *choice,
		      struct kl_trace_counts *counts)
{
	struct kl_trace *trace = kl_trace_open(path);
	struct kl_item item;

	kl_buffer_reset(text);
	if (!trace)
		return;
	/* Twice, to test rewinding, too. */
	for (int i = 0; i < 2; i++) {
		kl_buffer_reset(text);
		while (kl_trace_next(trace, &item) > 0)
			if (is_chosen(choice, &item))
				kl_print_item(text, style, flags, &item);
		*counts = *kl_trace_counted(trace);
		kl_trace_rewind(trace);
	}
	kl_trace_close(trace);
}

static void save(const char *path, const struct kl_buffer *ber)
{
	FILE *file = fopen(path, "w");

	fwrite(ber->data, 1, ber->length, file);
	fclose(file);
}

static bool is_printed_alike(const char *directory, const char *path, const struct choice *choice,
			     struct kl_trace_counts counts[2])
{
	struct kl_buffer text[2] = { 0 };
	bool same = true;

	for (int style = KL_STYLE_TEXT; style <= KL_STYLE_JSON; style++) {
		for (unsigned int flags = 0; flags <= KL_SHOW_RELATIVE; flags++) {
			print_all(directory, &text[0], (enum kl_style)style, flags, choice,
				  &counts[0]);
			print_all(path, &text[1], (enum kl_style)style, flags, NULL, &counts[1]);
			if (text[0].length && text[0].length == text[1].length &&
			    !memcmp(text[0].data, text[1].data, text[0].length))
				continue;
			same = false;
			printf("# style %d differs: %s\n", style, kl_error_text());
		}
	}
	kl_buffer_deinit(&text[0]);
	kl_buffer_deinit(&text[1]);
	return same;
}

static void test_round_trip(const char *directory, const char *path, struct kl_buffer *ber)
{
	struct kl_trace_counts counts[2];
	struct kl_trace *trace;
	struct kl_buffer again = { 0 };

	convert(directory, ber, NULL);
	save(path, ber);
	unit_check(is_printed_alike(directory, path, NULL, counts),
		   "a file is printed as its trace, byte for byte, in each style");
	unit_check(!memcmp(&counts[0], &counts[1], sizeof(counts[0])) &&
			   counts[0].events == 7 * 6 && counts[0].before == 6 &&
			   counts[0].overwritten == 6,
		   "it has the same counts");
	trace = kl_trace_open(path);
	unit_check(trace && !memcmp(kl_trace_about(trace)->uuid, info.uuid, 16) &&
			   !strcmp(kl_trace_about(trace)->kernel_release, info.kernel_release) &&
			   !strcmp(kl_trace_about(trace)->boot_id, info.boot_id) &&
			   !strcmp(kl_trace_about(trace)->hostname, "host? ") &&
			   !strcmp(kl_trace_about(trace)->scope, info.scope) &&
			   kl_trace_about(trace)->schema_hash == info.schema_hash &&
			   kl_trace_about(trace)->timebase.hz == HZ &&
			   kl_trace_about(trace)->timebase.precision == info.timebase.precision,
		   "its metadata is the same");
	kl_trace_close(trace);
	convert(path, &again, NULL);
	unit_check(again.length == ber->length && !memcmp(again.data, ber->data, ber->length),
		   "a file made from the file is the same file");
	kl_buffer_deinit(&again);
}

static void test_tables(const struct kl_schema *tables)
{
	const struct kl_class *a = NULL, *b = NULL;
	unsigned int same = 0, different = 0;
	struct kl_buffer ber = { 0 };
	struct kl_ber_reader *reader;

	kl_ber_writer_destroy(kl_ber_writer_create(&ber, tables, &info, 0));
	reader = kl_ber_reader_create(ber.data, ber.length);
	if (!unit_result(reader, "all events of the tables fit in", kl_error_text()))
		return;
	while ((a = kl_schema_next(tables, a)) &&
	       (b = kl_schema_next(kl_ber_reader_schema(reader), b))) {
		bool equal = a->id == b->id && a->kind == b->kind && a->set == b->set &&
			     a->access == b->access && a->syscall == b->syscall &&
			     !strcmp(a->name, b->name) && !strcmp(a->group, b->group) &&
			     !strcmp(a->help, b->help) && a->n_fields == b->n_fields &&
			     a->tail_bytes == b->tail_bytes && a->n_strings == b->n_strings;

		for (unsigned int i = 0; equal && i < a->n_fields; i++)
			equal = !strcmp(a->fields[i].name, b->fields[i].name) &&
				a->fields[i].type == b->fields[i].type &&
				a->fields[i].format == b->fields[i].format &&
				a->fields[i].count == b->fields[i].count;
		same += equal;
		different += !equal;
	}
	unit_check(same > 500 && !different && !a &&
			   !kl_schema_next(kl_ber_reader_schema(reader), b),
		   "and come back as they were");
	kl_ber_reader_destroy(reader);
	kl_buffer_deinit(&ber);
}

/* Counts the events in a file, and those that carry variables. */
static void count_variables(const struct kl_buffer *ber, unsigned int *events, unsigned int *with)
{
	struct kl_ber from = { (const uint8_t *)ber->data, (const uint8_t *)ber->data + ber->length,
			       false };
	struct kl_ber value, record;
	uint32_t tag;

	*events = *with = 0;
	while (!kl_ber_take(&from, &tag, &value)) {
		if (KL_BER_CLASS(tag) != KL_BER_CLASS_PRIVATE)
			continue;
		record = kl_ber_take_tag(&value, KL_BER_SEQUENCE);
		kl_ber_take_tag(&record, KL_BER_INTEGER);
		kl_ber_take_tag(&record, KL_BER_INTEGER);
		*with += kl_ber_next_is(&record, KL_BER_VARIABLES);
		(*events)++;
	}
}

static void test_filtered(const char *directory, const char *path, const struct kl_buffer *whole)
{
	/* The task changes in sched_switch and every_type, and not in system calls. */
	static const struct choice calls = { .id = { KL_EV_SYSCALL_ENTRY, KL_EV_SYSCALL_EXIT } };
	static const struct choice execs = { .id = { KL_EV_sched_process_exec, 1000 } };
	struct kl_trace_counts counts[2];
	struct kl_buffer ber = { 0 };
	unsigned int events, with;

	count_variables(whole, &events, &with);
	unit_check(events == 7 * 6 && with == 7 * 3, "variables are there where they changed");
	convert(directory, &ber, &calls);
	save(path, &ber);
	unit_check(is_printed_alike(directory, path, &calls, counts) && counts[1].events == 7 * 2,
		   "what is left out takes no variables with it");
	count_variables(&ber, &events, &with);
	unit_check(events == 7 * 2 && with == CPUS,
		   "and unchanged values are written once per CPU");
	kl_buffer_reset(&ber);
	convert(directory, &ber, &execs);
	save(path, &ber);
	unit_check(is_printed_alike(directory, path, &execs, counts) && counts[1].events == 7 * 3,
		   "nor does what is left out of those that change them");
	kl_buffer_deinit(&ber);
}

/* Three variables, of which the second changes once; the fourth record is from another CPU. */
static void test_variables(const struct kl_schema *tables)
{
	static const struct kl_variable rows[] = {
		{ .name = "rss", .unit = "B", .help = "", .field = { .type = KL_TYPE_U64 } },
		{ .name = "nice", .unit = "", .help = "", .field = { .type = KL_TYPE_S8 } },
		{ .name = "parent_comm", .unit = "", .help = "", .field = { .type = KL_TYPE_TEXT } },
	};
	static const uint64_t changed[] = { 0xf, 0x4, 0, 0xf };
	uint8_t values[8 + 1 + KL_COMM_LEN] = "\1\2\3\4\5\6\7\377\373shell";
	const struct kl_class *class = kl_schema_find(tables, "syscall_exit_read");
	struct kl_event event = { .payload = values, .variables = values, .id = class->id };
	const struct kl_item item = { .kind = KL_ITEM_EVENT, .event = &event };
	struct kl_schema *own = kl_schema_new();
	struct kl_ber_reader *reader;
	struct kl_ber_writer *writer;
	struct kl_buffer ber = { 0 };
	struct kl_item got;
	unsigned int right = 0;

	kl_schema_add(own, class, class->fields, class->n_fields);
	for (unsigned int i = 0; i < 3; i++)
		kl_schema_add_variable(own, &rows[i]);
	event.event_class = kl_schema_class(own, class->id);
	event.schema = own;
	writer = kl_ber_writer_create(&ber, own, &info, 0);
	for (unsigned int i = 0; i < 4; i++) {
		values[8] = i ? 7 : -5;
		event.cpu = i == 3;
		kl_ber_writer_add(writer, &ber, &item);
	}
	kl_ber_writer_finish(writer, &ber, NULL);
	reader = kl_ber_reader_create(ber.data, ber.length);
	for (unsigned int i = 0; reader && kl_ber_reader_next(reader, &got) > 0; i++) {
		values[8] = i ? 7 : -5;
		right += got.kind == KL_ITEM_EVENT && i < 4 && got.event->changed == changed[i] &&
			 !memcmp(got.event->variables, values, sizeof(values));
	}
	unit_check(right == 4, "variables are written where they change, and are right everywhere");
	kl_ber_writer_destroy(writer);
	kl_ber_reader_destroy(reader);
	kl_schema_destroy(own);
	kl_buffer_deinit(&ber);
}

/* ------------------------------------------------------------------ damage */

struct outcome {
	bool opened;
	unsigned int events, losses;
	struct kl_trace_counts counts;
};

/* Reads and prints everything, from a buffer of exactly its size. */
static struct outcome read_bytes(const void *bytes, size_t length)
{
	void *exact = malloc(length ? length : 1);
	struct kl_ber_reader *reader;
	struct kl_buffer text = { 0 };
	struct outcome outcome = { 0 };
	struct kl_item item;

	memcpy(exact, bytes, length);
	reader = kl_ber_reader_create(exact, length);
	outcome.opened = reader;
	while (reader && kl_ber_reader_next(reader, &item) > 0) {
		outcome.events += item.kind == KL_ITEM_EVENT;
		outcome.losses += item.kind == KL_ITEM_LOSS;
		kl_print_item(&text, KL_STYLE_JSON, 0, &item);
		kl_buffer_reset(&text);
	}
	if (reader)
		outcome.counts = *kl_ber_reader_counted(reader);
	kl_ber_reader_destroy(reader);
	kl_buffer_deinit(&text);
	free(exact);
	return outcome;
}

static void test_cut(const struct kl_buffer *ber)
{
	struct outcome whole = read_bytes(ber->data, ber->length), part;
	unsigned int opened = 0, told = 0, last = 0, ordered = 0;

	unit_check(whole.opened && !whole.counts.cut_bytes && !whole.counts.corrupt,
		   "a whole file has no damage");
	for (size_t length = 0; length < ber->length; length++) {
		part = read_bytes(ber->data, length);
		if (!part.opened)
			continue;
		opened++;
		told += part.counts.cut_bytes || part.counts.corrupt;
		ordered += part.events >= last && part.events <= whole.events;
		last = part.events;
	}
	unit_check(opened > 1000 && told == opened, "truncation is reported, wherever it is");
	unit_check(ordered == opened && last == whole.events, "and read to its last whole record");
	unit_check(!read_bytes(ber->data, 0).opened, "an empty file is refused");
}

/* The offset of the first item after the schema. */
static size_t items_at(const struct kl_buffer *ber)
{
	struct kl_ber from = { (const uint8_t *)ber->data, (const uint8_t *)ber->data + ber->length,
			       false };

	kl_ber_take_tag(&from, KL_BER_TRACE);
	return (const char *)from.at - ber->data;
}

/* Reads with the first @old replaced by @new, of the same length. */
static struct outcome read_changed(const struct kl_buffer *ber, const char *old, const char *new,
				   size_t length)
{
	char *copy = malloc(ber->length), *at;
	struct outcome outcome;

	memcpy(copy, ber->data, ber->length);
	at = memmem(copy, ber->length, old, length);
	if (!at)
		abort();
	memcpy(at, new, length);
	outcome = read_bytes(copy, ber->length);
	free(copy);
	return outcome;
}

/* Reads a handmade item after the schema of @ber. */
static struct outcome read_item(const struct kl_buffer *ber, const char *item, size_t length)
{
	size_t head = items_at(ber);
	char *copy = malloc(head + length);
	struct outcome outcome;

	memcpy(copy, ber->data, head);
	memcpy(copy + head, item, length);
	outcome = read_bytes(copy, head + length);
	free(copy);
	return outcome;
}

#define READ_ITEM(ber, item) read_item(ber, item, sizeof(item) - 1)

static bool is_damaged(struct outcome outcome)
{
	return outcome.opened && !outcome.events && outcome.losses == 1 &&
	       outcome.counts.corrupt == 1;
}

#define END "\x62\xc\2\1\0\2\1\0\2\1\0\2\1\0"
#define TASK "\xa0\xf\x30\xd\2\1\0\xa0\x8\2\1\1\2\1\1\4\0" /* variable 0: 1, 1, "" */

static void test_deceiving(const struct kl_buffer *ber)
{
	unit_check(read_changed(ber, "every_type", "every type", 10).opened &&
			   read_changed(ber, "every_type", "every\"type", 10).opened,
		   "an event may be called as a program's file, with a blank or a quote");
	unit_check(!read_changed(ber, "every_type", "every\033type", 10).opened &&
			   !read_changed(ber, "every_type", "every\302\233ype", 10).opened &&
			   !read_changed(ber, "every_type", "every\377type", 10).opened &&
			   !read_changed(ber, "Every type", "Every\033type", 10).opened,
		   "names and texts cannot disturb what is printed");
	unit_check(!read_changed(ber, "\x2\1\1\4", "\x2\1\2\4", 4).opened &&
			   strstr(kl_error_text(), "newer"),
		   "a newer format is refused");
	unit_check(READ_ITEM(ber, END).opened && !READ_ITEM(ber, END).losses,
		   "a file may have no events");
	unit_check(READ_ITEM(ber, "\x69\2\2\0" END).losses == 0,
		   "items of later versions are left out");
	unit_check(is_damaged(READ_ITEM(ber, END END)) && is_damaged(READ_ITEM(ber, END "\0")) &&
			   is_damaged(READ_ITEM(ber, "\x62\xc\2\1\1\2\1\0\2\1\0\2\1\0")),
		   "the end is the end, and knows how many events there were");
	/* syscall_exit_read is 1536: ff 8c 00 */
	unit_check(READ_ITEM(ber, "\xff\x8c\0\x1e\x30\x1c\2\1\1\2\1\1" TASK "\x30\3\2\1\5").events ==
			   1,
		   "a record made by hand");
	unit_check(is_damaged(READ_ITEM(ber, "\xff\x8c\0\xd\x30\xb\2\1\1\2\1\1\x30\3\2\1\5")),
		   "the first record of a CPU has to have its variables");
	unit_check(is_damaged(READ_ITEM(ber, "\xff\x8c\0\x1b\x30\x19\2\1\1\2\1\1" TASK "\x30\0")) &&
			   is_damaged(READ_ITEM(ber, "\xff\x8c\0\x21\x30\x1f\2\1\1\2\1\1" TASK
						     "\x30\6\2\1\5\2\1\5")) &&
			   is_damaged(READ_ITEM(ber, "\xff\x8c\0\x1e\x30\x1c\2\1\1\2\1\1" TASK
						     "\x30\3\4\1\5")),
		   "too few fields, too many, of another type");
	unit_check(is_damaged(READ_ITEM(ber, "\xff\x8c\1\x1e\x30\x1c\2\1\1\2\1\1" TASK
					     "\x30\3\2\1\5")) &&
			   is_damaged(READ_ITEM(ber, "\xff\x8c\0\x1e\x30\x1c\2\1\1\2\1\xff" TASK
						     "\x30\3\2\1\5")) &&
			   is_damaged(READ_ITEM(ber, "\xff\x8c\0\x26\x30\x24\2\1\1\2\1\1" TASK
						     "\x30\xb\2\x9\0\xff\1\1\1\1\1\1\1")),
		   "unknown events, CPUs and numbers that cannot be");
	unit_check(is_damaged(READ_ITEM(ber, "\x61\xc\xa\1\6\2\1\0\2\1\0\2\1\0")) &&
			   READ_ITEM(ber, "\x61\xc\xa\1\3\2\1\0\2\1\7\2\1\0").counts.damaged == 7,
		   "kinds of losses");
}

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000ull + time.tv_nsec / 1000000;
}

static void damage(uint8_t *bytes, size_t length)
{
	static const uint8_t nasty[] = { 0, 0x7f, 0x80, 0x81, 0x84, 0x88, 0xff, 0x30, 0x1f, 0x02 };
	size_t at = rand() % length, n = 1 + rand() % 4;

	switch (rand() % 4) {
	case 0:
		bytes[at] ^= 1 << rand() % 8;
		break;
	case 1:
		bytes[at] = nasty[rand() % sizeof(nasty)];
		break;
	case 2:
		bytes[at] += rand() % 2 ? 1 : -1;
		break;
	default:
		if (at + n < length)
			memmove(bytes + rand() % (length - n), bytes + at, n);
	}
}

static void test_fuzz(const struct kl_buffer *ber)
{
	const char *ms = getenv("KL_FUZZ_MS");
	uint64_t end = now_ms() + (ms ? strtoull(ms, NULL, 10) : 3000);
	uint8_t *copy = malloc(ber->length);
	unsigned int runs = 0, opened = 0, sane = 0;

	srand(3);
	while (now_ms() < end) {
		struct outcome outcome;

		memcpy(copy, ber->data, ber->length);
		for (int n = 1 + rand() % 3; n > 0; n--)
			damage(copy, ber->length);
		outcome = read_bytes(copy, ber->length);
		opened += outcome.opened;
		sane += outcome.events <= ber->length / 10 &&
			outcome.counts.events == outcome.events;
		runs++;
	}
	printf("# %u files damaged, %u of them opened\n", runs, opened);
	unit_check(runs && sane == runs && opened, "damage is never followed into other memory");
	free(copy);
}

int main(void)
{
	char *directory = synth_directory(), *folder = synth_directory();
	struct kl_schema *tables = kl_schema_create();
	struct kl_buffer ber = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "%s/trace.ber", folder);
	make_schema(tables);
	write_trace(directory);
	test_round_trip(directory, path, &ber);
	test_tables(tables);
	test_filtered(directory, path, &ber);
	test_variables(tables);
	test_cut(&ber);
	test_deceiving(&ber);
	test_fuzz(&ber);
	unit_check(!kl_trace_open("/dev/null") && !kl_trace_open("/proc/self/exe") &&
			   strstr(kl_error_text(), "BER"),
		   "other files are refused");
	synth_remove(directory);
	synth_remove(folder);
	kl_buffer_deinit(&ber);
	kl_schema_destroy(schema);
	kl_schema_destroy(tables);
	return unit_end();
}
