/* SPDX-License-Identifier: GPL-2.0 */
/* Synthesized blocks and records, as the kernel would write them. */
#ifndef KL_TESTS_UNIT_LIB_SYNTH_H
#define KL_TESTS_UNIT_LIB_SYNTH_H

#include <kernlens/kernlens.h>

#define SYNTH_BLOCK_BYTES 4096u

/* A field's value: a number, or the bytes of a string, text or array. */
struct synth_arg {
	uint64_t number;
	const void *bytes;
};

#define NUMBER(n)                       \
	{                               \
		.number = (uint64_t)(n) \
	}
#define BYTES(p)           \
	{                  \
		.bytes = p \
	}
#define ARGS(...) ((const struct synth_arg[]){ __VA_ARGS__ })

/* One CPU's writer. */
struct synth {
	const struct kl_schema *schema;
	uint8_t uuid[16];
	uint32_t cpu;
	uint32_t block_bytes;
	uint64_t seq;
	uint64_t records; /* before the current block */
	uint64_t discarded;
	uint32_t count;
	uint32_t at;
	struct kl_abi_task task;
	struct kl_abi_task written;
	uint8_t values[KL_VARIABLES_BYTES_MAX]; /* of the schema's variables, at their offsets */
	uint8_t told[KL_VARIABLES_BYTES_MAX]; /* their values that readers know */
	_Alignas(8) uint8_t bytes[KL_BLOCK_BYTES_MAX];
};

void synth_init(struct synth *synth, const struct kl_schema *schema, uint32_t cpu);
struct kl_abi_block *synth_block(struct synth *synth);
void synth_task(struct synth *synth, int tid, int pid, const char *comm);
/* Starts a block; the first record carries the task. */
void synth_begin(struct synth *synth, uint64_t time);
/* Returns false if the record does not fit. */
bool synth_add(struct synth *synth, const char *event, uint64_t time, const struct synth_arg *args);
/* A sched_switch, which must fit. */
void synth_switch(struct synth *synth, uint64_t time, const char *from, int prev, const char *to,
		  int next);
/*
 * System calls of threads 11 of process 10, in which the calls before end in the middle, and 20, in
 * the first 70 us after @begin. The clock counts ns.
 */
void synth_calls(struct synth *synth, uint64_t begin);
/* Completes the block; the next begin has the next number. */
void synth_end(struct synth *synth, uint64_t time);

/*
 * A schema with no events but those that @events declares, in the language of metadata: such
 * metadata is short. @info is of a trace with it, and of the same UUID as blocks of synth_init().
 */
struct kl_schema *synth_schema(const char *events, uint64_t hz, struct kl_trace_info *info);

/* A writer of blocks of synth_init(), of all tasks; the clock counts ns. NULL after a message. */
struct kl_trace_writer *synth_writer(const char *path, const struct kl_schema *schema);

/* An empty directory of its own, removed by synth_remove(). */
char *synth_directory(void);
void synth_remove(char *directory);

#endif /* KL_TESTS_UNIT_LIB_SYNTH_H */
