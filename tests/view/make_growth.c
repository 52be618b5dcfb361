// SPDX-License-Identifier: GPL-2.0
/*
 * make-growth DIRECTORY: writes a trace of page faults and of calls that give memory back, by functions
 * whose names are such as an attacker would choose, and prints as JSON what each has touched, given
 * back and kept in each second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/stack_store.h>

#include "../unit/lib/synth.h"

#define PAGE 4096ull
#define PID 700
#define SECONDS 10
#define HOSTILE "</script><script>window.bad=1</script>"

static const char *const functions[] = { "leak_slowly", "cache<b>", HOSTILE };

#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

/* What each function does in a second: pages touched, and of its oldest pages given back. */
static const struct {
	unsigned int touched;
	unsigned int freed;
} work[FUNCTIONS] = { { 10, 0 }, { 30, 29 }, { 5, 2 } };

static struct kl_schema *schema;
static struct kl_trace_writer *writer;
static struct synth synth;
static uint64_t now = 1000000, rss = 100 * PAGE;

static void add(const char *event, uint32_t stack, const struct synth_arg *args)
{
	memcpy(synth.values + kl_schema_variable(schema, 0)->field.offset, &rss, sizeof(rss));
	memcpy(synth.values + kl_schema_variable(schema, 1)->field.offset, &stack, sizeof(stack));
	if (synth_add(&synth, event, now, args))
		return;
	synth_end(&synth, now);
	if (kl_trace_append(writer, synth_block(&synth), synth.block_bytes))
		abort();
	synth_begin(&synth, now);
	if (!synth_add(&synth, event, now, args))
		abort();
}

static uint64_t place(unsigned int function, unsigned int page)
{
	return 0x100000000ull * (function + 1) + page * PAGE;
}

/* A second of a function: its faults at the begin, then its call. */
static void second(unsigned int function, unsigned int number)
{
	const unsigned int from = number * work[function].touched;

	for (unsigned int i = 0; i < work[function].touched; i++) {
		add("x86_exceptions_page_fault_user", function + 1,
		    ARGS(NUMBER(place(function, from + i)), NUMBER(0x400000), NUMBER(6)));
		rss += PAGE;
		now += 1000;
	}
	if (!work[function].freed)
		return;
	add("syscall_entry_munmap", function + 1,
	    ARGS(NUMBER(place(function, number * work[function].freed)),
		 NUMBER(work[function].freed * PAGE)));
	now += 1000;
	rss -= work[function].freed * PAGE;
	add("syscall_exit_munmap", 0, ARGS(NUMBER(0)));
	now += 1000;
}

/* Each function is called by main. */
static bool write_stacks(const char *trace)
{
	char text[1024], *at = text;
	struct kl_stacks *stacks;
	bool written;

	at += sprintf(at, "kernlens-stacks 3\nno-room 0\n");
	for (unsigned int i = 0; i < FUNCTIONS; i++)
		at += sprintf(at,
			      "stack %u 1 %d 5 3\n1000 malloc 5 /lib/libc.so.6 - 40 - 0 0 0\n"
			      "%u000 %s 5 /bin/<i>prog - 50 - 0 0 0\n9000 main 5 /bin/<i>prog - 60 "
			      "- 0 0 0\n",
			      i + 1, PID, i + 2, functions[i]);
	stacks = kl_stacks_parse(text, (size_t)(at - text));
	written = stacks && !kl_stacks_save(stacks, trace);
	kl_stacks_destroy(stacks);
	return written;
}

static void print_facts(void)
{
	printf("{\"seconds\":%d,\"functions\":[", SECONDS);
	for (unsigned int i = 0; i < FUNCTIONS; i++)
		printf("%s{\"name\":\"%s\",\"touched\":%u,\"freed\":%u}", i ? "," : "",
		       functions[i], work[i].touched, work[i].freed);
	printf("]}\n");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	schema = kl_schema_create();
	if (kl_schema_add_variable(schema, kl_variable_find("rss")) < 0 ||
	    kl_schema_add_variable(schema, kl_variable_find("ustack")) < 0)
		return 1;
	writer = synth_writer(argv[1], schema);
	if (!writer)
		return 1;
	synth_init(&synth, schema, 0);
	synth_task(&synth, PID, PID, "</script>");
	synth_begin(&synth, now);
	for (unsigned int number = 0; number < SECONDS; number++) {
		for (unsigned int i = 0; i < FUNCTIONS; i++)
			second(i, number);
		now += 1000000000 - now % 1000000000 + 1000000;
	}
	add("syscall_entry_exit_group", 0, ARGS(NUMBER(0)));
	synth_end(&synth, now);
	if (kl_trace_append(writer, synth_block(&synth), synth.block_bytes) ||
	    kl_trace_finish(writer, NULL) || !write_stacks(argv[1]))
		return 1;
	print_facts();
	kl_schema_destroy(schema);
	return 0;
}
