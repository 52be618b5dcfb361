// SPDX-License-Identifier: GPL-2.0
/*
 * Traces written and read: merging, losses, damage, wrapped times, carried variables; and the same
 * trace read by babeltrace 1 and 2, by the latter value by value.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "babeltrace.h"
#include "synth.h"
#include "unit.h"

#define BEGIN ((1ull << 48) - 20000) /* the low 48 bits wrap soon */
#define HZ 2000000000ull
#define CPUS 3

/* An event with a field of each type, as a newer module might define. */
static const char every_type[] =
	"event { /* @task DEFAULT SELF Every type of field */ name = \"every_type\"; id = 1000;"
	" stream_id = 0; fields := struct {"
	" integer { size = 8; align = 8; signed = 1; base = 10; } _a; /* @dec */"
	" integer { size = 8; align = 8; signed = 0; base = 10; } _b; /* @dec */"
	" integer { size = 16; align = 8; signed = 1; base = 10; } _c; /* @dec */"
	" integer { size = 16; align = 8; signed = 0; base = 10; } _d; /* @port */"
	" integer { size = 32; align = 8; signed = 1; base = 10; } _e; /* @dec */"
	" integer { size = 32; align = 8; signed = 0; base = 10; } _f; /* @dec */"
	" integer { size = 64; align = 8; signed = 1; base = 10; } _g; /* @dec */"
	" integer { size = 64; align = 8; signed = 0; base = 10; } _h; /* @dec */"
	" integer { size = 16; align = 8; signed = 1; base = 10; } _i[3]; /* @dec */"
	" integer { size = 8; align = 8; signed = 0; encoding = UTF8; } _j[16]; /* @comm */"
	" string { encoding = UTF8; } _k; /* @text */"
	" integer { size = 64; align = 8; signed = 0; base = 10; } _l; /* @dec */"
	" string { encoding = UTF8; } _m; /* @path */"
	" } align(8); };\n";

static struct kl_schema *schema; /* the tables' and every_type */
static struct kl_trace_info info;

static void make_schema(void)
{
	struct kl_schema *tables = kl_schema_create();
	struct kl_buffer text = { 0 };

	kl_trace_info_init(&info);
	for (int i = 0; i < 16; i++)
		info.uuid[i] = 0x10 + i;
	strcpy(info.trace_name, "unit");
	strcpy(info.hostname, "host");
	kl_timebase_init(&info.timebase, KL_CLOCK_TSC, HZ, 1700000000, 1000);
	kl_metadata_write(&text, tables, &info);
	kl_buffer_add_string(&text, every_type);
	schema = kl_metadata_parse(text.data, text.length, &info);
	kl_buffer_deinit(&text);
	kl_schema_destroy(tables);
}

static void add_every_type(struct synth *s, uint64_t time, int64_t n, const char *string)
{
	int16_t three[3] = { n, -n, 3 };

	if (!synth_add(s, "every_type", time,
		       ARGS(NUMBER(-n), NUMBER(n), NUMBER(-n * 100), NUMBER(n * 100),
			    NUMBER(-n * 100000), NUMBER(n * 100000), NUMBER(-n * 10000000000ll),
			    NUMBER(~0ull - n), BYTES(three), BYTES("sixteen bytes!!!"),
			    BYTES(string), NUMBER(n), BYTES("/a \"path\""))))
		abort();
}

/* Three blocks on each of three CPUs; returns how many records they have. */
static unsigned int write_trace(const char *directory, struct synth *synths)
{
	struct kl_trace_writer *writer = kl_trace_create(directory, schema, &info);
	unsigned int records = 0;

	unit_result(writer, "a trace is made", kl_error_text());
	for (int cpu = 0; cpu < CPUS; cpu++) {
		struct synth *s = &synths[cpu];

		synth_init(s, schema, cpu);
		for (int k = 0; k < 3; k++) {
			uint64_t time = BEGIN + cpu * 7 + k * 10000;

			synth_task(s, 100 + cpu, 100, "first");
			synth_begin(s, time);
			synth_switch(s, time, "first", 100 + cpu, "second", 200);
			synth_task(s, 200, 200, "second");
			add_every_type(s, time + 1000, 1 + k, k ? "text" : "");
			add_every_type(s, time + 2000, 11 + k, "a\nb");
			synth_task(s, 0, 0, "");
			synth_add(s, "sched_process_exec", time + 9000,
				  ARGS(NUMBER(5), NUMBER(6), BYTES("/bin/true")));
			records += 4;
			s->discarded += k == 1 ? 10 + cpu : 0;
			synth_end(s, time + 9500);
			if (kl_trace_append(writer, synth_block(s), s->block_bytes))
				unit_result(false, "append", kl_error_text());
		}
	}
	unit_check(kl_trace_written(writer) == CPUS * 3 * SYNTH_BLOCK_BYTES, "bytes are counted");
	unit_check(!kl_trace_finish(writer, &info.timebase), "the trace is finished");
	return records;
}

static void test_reading(const char *directory, unsigned int records)
{
	struct kl_trace *trace = kl_trace_open(directory);
	uint64_t last = 0, discarded = 0, sum = 0;
	unsigned int events = 0, ordered = 0, right = 0, losses = 0;
	struct kl_value value;
	struct kl_item item;

	if (!unit_result(trace, "the trace is opened", kl_error_text()))
		return;
	while (kl_trace_next(trace, &item) > 0) {
		const struct kl_event *event = item.event;

		if (item.kind == KL_ITEM_LOSS) {
			losses++;
			discarded += item.loss->records;
			continue;
		}
		ordered += event->ns >= last;
		last = event->ns;
		events++;
		if (!strcmp(event->event_class->name, "sched_switch"))
			right += event->task.tid == 100 + (int)event->cpu;
		else if (!strcmp(event->event_class->name, "every_type"))
			right += event->task.tid == 200 && !strcmp(event->task.comm, "second");
		else
			right += event->task.tid == 0 && !event->task.comm[0];
		if (!kl_event_field(event, "l", &value))
			sum += value.number;
	}
	unit_check(events == records && kl_trace_counted(trace)->events == records,
		   "all events are read");
	unit_check(ordered == records, "in order of time, also where 48 bits wrap");
	unit_check(right == records, "each with the task that was running");
	unit_check(sum == CPUS * (1 + 2 + 3 + 11 + 12 + 13), "fields behind strings are right");
	unit_check(losses == CPUS && discarded == 10 + 11 + 12, "discarded records are losses");
	kl_trace_rewind(trace);
	unit_check(kl_trace_next(trace, &item) == 1 && item.kind == KL_ITEM_EVENT &&
			   item.event->since_ns == 0 && item.event->cpu == 0 &&
			   item.event->ns == kl_timebase_ns(&info.timebase, BEGIN) &&
			   item.event->payload_bytes == 56,
		   "rewound, the first event is that of the beginning");
	kl_trace_close(trace);
}

static void test_fields(const char *directory)
{
	static const int64_t expected[] = { -1, 1, -100, 100, -100000, 100000, -10000000000ll, -2 };
	struct kl_trace *trace = kl_trace_open(directory);
	unsigned int right = 0;
	struct kl_value value;
	struct kl_item item;

	while (kl_trace_next(trace, &item) > 0)
		if (item.kind == KL_ITEM_EVENT && item.event->id == 1000)
			break;
	for (unsigned int i = 0; i < 8; i++)
		right += kl_event_value(item.event, i).number == (uint64_t)expected[i];
	unit_check(right == 8, "numbers of all types, with their signs");
	value = kl_event_value(item.event, 8);
	unit_check(kl_value_element(&value, 0) == 1 && kl_value_element(&value, 1) == -1ull &&
			   kl_value_element(&value, 2) == 3,
		   "arrays");
	value = kl_event_value(item.event, 9);
	unit_check(value.length == 16 && !memcmp(value.bytes, "sixteen bytes!!!", 16),
		   "text that fills its 16 bytes");
	value = kl_event_value(item.event, 10);
	unit_check(value.length == 0, "an empty string");
	unit_check(!kl_event_field(item.event, "m", &value) &&
			   !strcmp((const char *)value.bytes, "/a \"path\""),
		   "a string behind a string");
	kl_trace_close(trace);
}

/* ------------------------------------------------------- losses and damage */

static void count_losses(const char *directory, struct kl_trace_counts *counts, uint64_t *records)
{
	struct kl_trace *trace = kl_trace_open(directory);
	struct kl_item item;

	memset(records, 0, KL_LOSS_KINDS * sizeof(*records));
	memset(counts, 0, sizeof(*counts));
	if (!trace)
		return;
	while (kl_trace_next(trace, &item) > 0)
		if (item.kind == KL_ITEM_LOSS)
			records[item.loss->kind] += item.loss->records;
	*counts = *kl_trace_counted(trace);
	kl_trace_close(trace);
}

static void test_overwritten(void)
{
	struct synth *s = malloc(sizeof(*s));
	char *directory = synth_directory();
	struct kl_trace_writer *writer = kl_trace_create(directory, schema, &info);
	struct kl_trace_counts counts;
	uint64_t records[KL_LOSS_KINDS];

	synth_init(s, schema, 5);
	for (int k = 0; k < 10; k++) {
		synth_begin(s, BEGIN + k * 100);
		for (int i = 0; i <= k; i++)
			synth_switch(s, BEGIN + k * 100 + i, "a", 1, "b", 2);
		synth_end(s, BEGIN + k * 100 + 99);
		/* The recorder started late, and was overtaken once. */
		if (k != 0 && k != 1 && k != 5 && k != 6)
			kl_trace_append(writer, synth_block(s), s->block_bytes);
	}
	/* A block that is being filled comes last. */
	synth_begin(s, BEGIN + 5000);
	synth_switch(s, BEGIN + 5000, "a", 1, "b", 2);
	synth_switch(s, BEGIN + 5001, "a", 1, "b", 2);
	unit_check(!kl_trace_append(writer, synth_block(s), s->at), "a partial block is taken");
	kl_trace_finish(writer, NULL);
	count_losses(directory, &counts, records);
	unit_check(records[KL_LOSS_BEFORE] == 1 + 2 && counts.before == 3,
		   "records before the first block");
	unit_check(records[KL_LOSS_OVERWRITTEN] == 6 + 7 && counts.overwritten == 13,
		   "records overwritten in between");
	unit_check(counts.events == 55 - 16 + 2 && counts.blocks == 7,
		   "the rest, with the partial block, is read");
	synth_remove(directory);
	free(s);
}

static void patch(const char *directory, long at, const void *bytes, size_t length)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/cpu1", directory);
	file = fopen(path, "r+");
	fseek(file, at, SEEK_SET);
	fwrite(bytes, 1, length, file);
	fclose(file);
}

/* Without a manifest: only what is found without checksums. */
static void remove_manifest(const char *directory)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" KL_MANIFEST_FILE, directory);
	if (unlink(path))
		abort();
}

static void test_damaged(struct synth *synths)
{
	const uint64_t early = BEGIN + 7 + 5000;
	char *directory = synth_directory();
	struct kl_trace_counts counts;
	uint64_t records[KL_LOSS_KINDS];
	char path[128];

	write_trace(directory, synths);
	remove_manifest(directory);
	patch(directory, SYNTH_BLOCK_BYTES, "garbage!", 8);
	count_losses(directory, &counts, records);
	unit_check(counts.corrupt == 1 && counts.blocks == 8 && counts.events == 8 * 4,
		   "a block without magic is left out");
	unit_check(records[KL_LOSS_CORRUPT] == 4 && counts.damaged == 4,
		   "and its records are counted as damaged");
	/* The third block's second record: an id that does not exist. */
	patch(directory, SYNTH_BLOCK_BYTES * 2 + KL_BLOCK_HEADER_BYTES + 9 + 24 + 56, "\xff\x0f",
	      2);
	count_losses(directory, &counts, records);
	unit_check(counts.events == 7 * 4 + 1 && records[KL_LOSS_CORRUPT] == 4 + 3,
		   "a block is read up to a record that is none");
	/* The first block ends before its last record. */
	patch(directory, offsetof(struct kl_abi_block, timestamp_end), &early, sizeof(early));
	count_losses(directory, &counts, records);
	unit_check(counts.events == 6 * 4 + 3 + 1 && counts.damaged == 4 + 3 + 1,
		   "a record later than its block's end is none");
	snprintf(path, sizeof(path), "%s/cpu2", directory);
	if (truncate(path, SYNTH_BLOCK_BYTES * 2 + 300))
		abort();
	count_losses(directory, &counts, records);
	unit_check(counts.events == 5 * 4 + 3 + 1 && counts.cut_bytes == 300,
		   "a cut file is read to its last whole block");
	if (truncate(path, 0))
		abort();
	count_losses(directory, &counts, records);
	unit_check(counts.events == 3 * 4 + 3 + 1, "an empty file is a CPU without events");
	synth_remove(directory);
}

/* Random bytes in the files: no crash, and consistent counts. */
static void test_fuzz(struct synth *synths)
{
	char *directory = synth_directory();
	struct kl_trace_counts counts;
	unsigned int sane = 0, runs = 400;
	uint64_t records[KL_LOSS_KINDS];

	write_trace(directory, synths);
	remove_manifest(directory);
	srand(2);
	for (unsigned int i = 0; i < runs; i++) {
		uint8_t byte = rand();

		patch(directory,
		      rand() % (3 * SYNTH_BLOCK_BYTES) % (i & 1 ? 3 * SYNTH_BLOCK_BYTES : 600),
		      &byte, 1);
		count_losses(directory, &counts, records);
		sane += counts.events >= 24 && counts.events <= 24 + 3 * 4096 / 9;
	}
	unit_check(sane == runs, "damage on one CPU leaves the others whole");
	synth_remove(directory);
}

/* ----------------------------------------------- changed while it is read */

#define SHRINKING_BLOCKS 64 /* more than is read at once */
#define SHRINKING_RECORDS 4 /* in each */
#define BER_BYTES (1u << 20)

/* @listed: with a manifest that lists all blocks. */
static char *write_long(struct synth *s, bool listed)
{
	char *directory = synth_directory();
	struct kl_trace_writer *writer = kl_trace_create(directory, schema, &info);

	synth_init(s, schema, 0);
	for (unsigned int k = 0; k < SHRINKING_BLOCKS; k++) {
		synth_begin(s, BEGIN + k * 100);
		for (int i = 0; i < SHRINKING_RECORDS; i++)
			synth_switch(s, BEGIN + k * 100 + i, "a", 1, "b", 2);
		synth_end(s, BEGIN + k * 100 + 99);
		if (kl_trace_append(writer, synth_block(s), s->block_bytes))
			abort();
	}
	kl_trace_set_total(writer, 0, SHRINKING_BLOCKS * SHRINKING_RECORDS, 0);
	kl_trace_set_end(writer, BEGIN + 10000, 0);
	if (kl_trace_finish(writer, NULL))
		abort();
	if (!listed)
		remove_manifest(directory);
	return directory;
}

/* Writes the events of @directory many times. */
static void write_ber(const char *directory, const char *path)
{
	struct kl_trace *trace = kl_trace_open(directory);
	struct kl_buffer ber = { 0 };
	struct kl_ber_writer *writer =
		kl_ber_writer_create(&ber, kl_trace_schema(trace), kl_trace_about(trace), 0);
	struct kl_item item;
	FILE *file = fopen(path, "w");

	for (; ber.length < BER_BYTES; kl_trace_rewind(trace))
		while (kl_trace_next(trace, &item) > 0)
			kl_ber_writer_add(writer, &ber, &item);
	kl_ber_writer_finish(writer, &ber, NULL);
	if (!file || fwrite(ber.data, 1, ber.length, file) != ber.length || fclose(file))
		abort();
	kl_ber_writer_destroy(writer);
	kl_buffer_deinit(&ber);
	kl_trace_close(trace);
}

/* Reads a few blocks, shortens the file, then reads the rest. */
static unsigned int read_shrinking(const char *directory, off_t to, struct kl_trace_counts *counts)
{
	struct kl_trace *trace = kl_trace_open(directory);
	unsigned int losses = 0;
	struct kl_item item;
	char path[128];

	snprintf(path, sizeof(path), "%s/cpu0", directory);
	for (int i = 0; i < 10; i++)
		if (kl_trace_next(trace, &item) != 1 || item.kind != KL_ITEM_EVENT)
			abort();
	if (truncate(path, to))
		abort();
	while (kl_trace_next(trace, &item) > 0)
		losses += item.kind == KL_ITEM_LOSS && item.loss->kind == KL_LOSS_CORRUPT;
	*counts = *kl_trace_counted(trace);
	kl_trace_close(trace);
	return losses;
}

/* Another process truncates the file: that is damage, and must not kill this process. */
static void test_shrinking(struct synth *s)
{
	const uint64_t bytes = SHRINKING_BLOCKS * SYNTH_BLOCK_BYTES, whole = 40;
	const uint64_t records = SHRINKING_BLOCKS * SHRINKING_RECORDS;
	struct kl_trace_counts counts;
	unsigned int losses;

	for (int listed = 1; listed >= 0; listed--) {
		char *directory = write_long(s, listed);

		losses = read_shrinking(directory, whole * SYNTH_BLOCK_BYTES + 500, &counts);
		unit_check(counts.events == whole * SHRINKING_RECORDS,
			   "what is left of a cut file");
		unit_check(losses == 1 && counts.cut_bytes == bytes - whole * SYNTH_BLOCK_BYTES &&
				   (!listed || counts.damaged == records - counts.events),
			   "what is gone is a loss");
		synth_remove(directory);
		directory = write_long(s, listed);
		losses = read_shrinking(directory, 0, &counts);
		unit_check(counts.events >= 10 && counts.events < records && losses == 1 &&
				   counts.cut_bytes,
			   "also if nothing is left");
		synth_remove(directory);
	}
}

/* The same for a file in BER. */
static void test_shrinking_ber(struct synth *s)
{
	char *directory = write_long(s, true), *folder = synth_directory(), path[64];
	const struct kl_trace_counts *counts;
	struct kl_trace *trace;
	struct kl_item item;
	unsigned int losses = 0;

	snprintf(path, sizeof(path), "%s/trace.ber", folder);
	write_ber(directory, path);
	trace = kl_trace_open(path);
	unit_check(trace && kl_trace_next(trace, &item) == 1, "a long file in BER is read");
	if (truncate(path, BER_BYTES / 2))
		abort();
	while (kl_trace_next(trace, &item) > 0)
		losses += item.kind == KL_ITEM_LOSS && item.loss->kind == KL_LOSS_CORRUPT;
	counts = kl_trace_counted(trace);
	unit_check(counts->events > 1000 && losses == 1 && counts->cut_bytes >= BER_BYTES / 2,
		   "what is left of it when it is cut, and what is gone");
	kl_trace_close(trace);
	synth_remove(directory);
	synth_remove(folder);
}

static void test_refusals(struct synth *s)
{
	char *directory = synth_directory();
	struct kl_trace_writer *writer = kl_trace_create(directory, schema, &info);

	unit_check(!kl_trace_create(directory, schema, &info) && errno == EEXIST,
		   "a trace is not written over another");
	synth_init(s, schema, 0);
	synth_begin(s, BEGIN);
	synth_switch(s, BEGIN, "a", 1, "b", 2);
	synth_end(s, BEGIN + 10);
	synth_block(s)->uuid[3] ^= 1;
	unit_check(kl_trace_append(writer, synth_block(s), s->block_bytes) == -EINVAL,
		   "a block of another session is refused");
	synth_block(s)->uuid[3] ^= 1;
	synth_block(s)->header_bytes = 5000;
	unit_check(kl_trace_append(writer, synth_block(s), s->block_bytes) == -EINVAL,
		   "a header longer than the block is refused");
	synth_block(s)->header_bytes = KL_BLOCK_HEADER_BYTES;
	synth_block(s)->content_bits += 8;
	unit_check(kl_trace_append(writer, synth_block(s), s->block_bytes) == -EINVAL,
		   "a block that contradicts itself is refused");
	kl_trace_finish(writer, NULL);
	synth_remove(directory);
	unit_check(!kl_trace_open("/nonexistent") && errno == ENOENT, "no directory");
	unit_check(!kl_trace_open("/tmp") && strstr(kl_error_text(), "metadata"),
		   "a directory without metadata");
}

int main(void)
{
	char *directory = synth_directory();
	struct synth *synths;
	unsigned int records;

	make_schema();
	if (!unit_result(schema, "a schema with an event of its own", kl_error_text()))
		return unit_end();
	synths = calloc(CPUS, sizeof(*synths));
	records = write_trace(directory, synths);
	test_reading(directory, records);
	test_fields(directory);
	test_babeltrace(directory, CPUS);
	test_babeltrace1(directory, CPUS * 12);
	test_overwritten();
	test_damaged(synths);
	test_fuzz(synths);
	test_shrinking(&synths[0]);
	test_shrinking_ber(&synths[0]);
	test_refusals(&synths[0]);
	if (getenv("KL_KEEP"))
		printf("# %s\n", directory);
	else
		synth_remove(directory);
	kl_schema_destroy(schema);
	free(synths);
	return unit_end();
}
