// SPDX-License-Identifier: GPL-2.0
/*
 * How fast a trace is read and printed: events per second, one line per measurement, best of three.
 * Not a test: nothing fails here.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "synth.h"
#include "unit.h"

#define CPUS 4
#define EVENTS 1000000u
#define BLOCK_BYTES 65536u

static struct kl_schema *schema;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Half are switches; a quarter each are wakeups and openat with a path. */
static bool add(struct synth *s, unsigned int i, uint64_t time)
{
	if (i % 2)
		return synth_add(s, "sched_switch", time,
				 ARGS(BYTES("bash"), NUMBER(100 + i % 7), NUMBER(20), NUMBER(1),
				      BYTES("swapper/0"), NUMBER(0), NUMBER(20)));
	if (i % 4)
		return synth_add(s, "sched_waking", time,
				 ARGS(BYTES("bash"), NUMBER(i), NUMBER(20), NUMBER(1)));
	return synth_add(s, "syscall_entry_openat", time,
			 ARGS(NUMBER(-100), BYTES("/usr/lib/x86_64-linux-gnu/libc.so.6"),
			      NUMBER(02000000), NUMBER(0)));
}

static void write_trace(const char *directory)
{
	struct kl_trace_info info;
	struct kl_trace_writer *writer;
	struct synth *s = calloc(1, sizeof(*s));

	kl_trace_info_init(&info);
	for (int i = 0; i < 16; i++)
		info.uuid[i] = 0x10 + i;
	kl_timebase_init(&info.timebase, KL_CLOCK_TSC, 2500000000, 1700000000, 0);
	writer = kl_trace_create(directory, schema, &info);
	for (int cpu = 0; cpu < CPUS; cpu++) {
		uint64_t time = 1000 + cpu;

		synth_init(s, schema, cpu);
		s->block_bytes = BLOCK_BYTES;
		synth_begin(s, time);
		for (unsigned int i = 0; i < EVENTS / CPUS; i++, time += 1000 + i % 777) {
			if (i % 3 == 0)
				synth_task(s, 100 + i % 7, 100, "bash");
			if (add(s, i, time))
				continue;
			synth_end(s, time);
			kl_trace_append(writer, synth_block(s), BLOCK_BYTES);
			synth_begin(s, time);
			add(s, i, time);
		}
		synth_end(s, time);
		kl_trace_append(writer, synth_block(s), BLOCK_BYTES);
	}
	kl_trace_finish(writer, NULL);
	free(s);
}

enum work {
	ITERATE,
	FIELDS,
	TEXT,
	CSV,
	JSON,
	REPORT,
};

static uint64_t read_once(const char *directory, enum work work)
{
	struct kl_trace *trace = kl_trace_open(directory);
	struct kl_sleep_report *report = kl_sleep_report_create();
	struct kl_buffer out = { 0 };
	struct kl_item item;
	uint64_t sum = 0;

	while (kl_trace_next(trace, &item) > 0) {
		if (item.kind != KL_ITEM_EVENT)
			continue;
		if (work == FIELDS)
			sum += kl_event_value(item.event, item.event->event_class->n_fields - 1)
				       .number;
		else if (work == REPORT)
			kl_sleep_report_add(report, &item);
		else if (work != ITERATE)
			kl_print_item(&out, work - TEXT, 0, &item);
		if (out.length > 1 << 20)
			kl_buffer_reset(&out);
	}
	sum += kl_trace_counted(trace)->events;
	kl_buffer_deinit(&out);
	kl_sleep_report_destroy(report);
	kl_trace_close(trace);
	return sum;
}

int main(void)
{
	static const char *const names[] = { "iterate", "iterate, a field each", "text", "CSV",
					     "JSON",	"sleep report" };
	char *directory = synth_directory();

	schema = kl_schema_create();
	write_trace(directory);
	for (enum work work = ITERATE; work <= REPORT; work++) {
		double best = 1e9;

		for (int i = 0; i < 3; i++) {
			double start = now();

			if (!read_once(directory, work))
				abort();
			if (now() - start < best)
				best = now() - start;
		}
		printf("%-22s %6.2f million events/s\n", names[work], EVENTS / best / 1e6);
	}
	synth_remove(directory);
	kl_schema_destroy(schema);
	return 0;
}
