// SPDX-License-Identifier: GPL-2.0
/*
 * write FOLDER: makes a small trace of two CPUs with the installed library: four events, and three
 * that were lost, at known times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/lib/synth.h"

#define HZ 1000000000u

static void check(bool done)
{
	if (!done) {
		fprintf(stderr, "write: %s\n", kl_error_text());
		exit(1);
	}
}

static void add_block(struct kl_trace_writer *writer, const struct kl_schema *schema, uint32_t cpu)
{
	uint64_t time = 1000 + cpu;
	struct synth *s = (struct synth *)malloc(sizeof(*s));

	if (!s)
		abort();
	synth_init(s, schema, cpu);
	synth_task(s, 100 + (int)cpu, 100, "make");
	synth_begin(s, time);
	synth_switch(s, time, "make", 100 + (int)cpu, "cc", 200);
	synth_task(s, 200, 200, "cc");
	synth_add(s, "sched_process_exec", time + 500,
		  ARGS(NUMBER(5), NUMBER(6), BYTES("/bin/cc")));
	s->discarded = cpu ? 3 : 0;
	synth_end(s, time + 1000);
	check(!kl_trace_append(writer, synth_block(s), s->block_bytes));
	free(s);
}

int main(int argc, char **argv)
{
	struct kl_schema *schema = kl_schema_create();
	struct kl_trace_writer *writer;
	struct kl_trace_info info;

	if (argc != 2 || !schema)
		return 2;
	kl_trace_info_init(&info);
	strcpy(info.hostname, "somewhere");
	/* The UUID of synth_init(). */
	for (int i = 0; i < 16; i++)
		info.uuid[i] = (uint8_t)(0x10 + i);
	check(!kl_timebase_init(&info.timebase, KL_CLOCK_MONOTONIC, HZ, 1700000000, 0));
	writer = kl_trace_create(argv[1], schema, &info);
	check(writer);
	add_block(writer, schema, 0);
	add_block(writer, schema, 1);
	check(!kl_trace_finish(writer, &info.timebase));
	kl_schema_destroy(schema);
	return 0;
}
