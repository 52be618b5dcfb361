// SPDX-License-Identifier: GPL-2.0
/*
 * make-trace DIRECTORY EVENTS: writes a trace of at least so many events, of threads that run, wait
 * and call the system at random times with a fixed seed, and prints as JSON what they did. Some
 * names are such as an attacker would choose.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/stack_store.h>

#include "../unit/lib/synth.h"

#define CPUS 4
#define THREADS 16 /* of each CPU */
#define BLOCK_BYTES (1u << 20)
#define START_NS 1000000

/* States as sched_switch reports them. */
#define ASLEEP 1
#define BLOCKED 2
#define PREEMPTED 0x100

struct thread {
	int tid, pid;
	char comm[KL_COMM_LEN];
	uint64_t running, ready, asleep, calls;
	uint64_t rss, rss_changes;
	uint64_t records;
	uint32_t stack;
	uint64_t since;
	int state; /* 0: runs; 1: ready; else waits; -1: unknown */
};

struct cpu {
	struct synth synth;
	struct kl_trace_writer *writer;
	struct thread thread[THREADS];
	uint64_t time;
	uint64_t events;
	uint64_t seed;
	struct thread *runs; /* NULL: none */
};

static struct kl_schema *schema;
static unsigned int rss_offset, stack_offset; /* of the variables, among all */
static struct cpu cpu[CPUS];

static uint64_t random_below(struct cpu *c, uint64_t n)
{
	c->seed = c->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (c->seed >> 33) % n;
}

static void end_block(struct cpu *c)
{
	synth_end(&c->synth, c->time);
	if (kl_trace_append(c->writer, synth_block(&c->synth), BLOCK_BYTES))
		abort();
}

static void add(struct cpu *c, const char *event, const struct synth_arg *args)
{
	c->events++;
	if (c->runs)
		c->runs->records++;
	if (synth_add(&c->synth, event, c->time, args))
		return;
	end_block(c);
	synth_begin(&c->synth, c->time);
	if (!synth_add(&c->synth, event, c->time, args))
		abort();
}

/* A thread is in another state from now on. */
static void go(struct cpu *c, struct thread *t, int state)
{
	uint64_t *sum = t->state == 0 ? &t->running : t->state == 1 ? &t->ready : &t->asleep;

	if (t->state >= 0)
		*sum += c->time - t->since;
	t->since = c->time;
	t->state = state;
}

/* What records of a thread have: memory that changes with each turn, and its stack trace. */
static void set_variables(struct cpu *c, struct thread *t)
{
	static const uint32_t none;
	const uint64_t rss = t ? 4096 * (1 + random_below(c, 100)) : 0;

	if (t && rss != t->rss) {
		t->rss = rss;
		t->rss_changes++;
	}
	memcpy(c->synth.values + rss_offset, &rss, sizeof(rss));
	memcpy(c->synth.values + stack_offset, t ? &t->stack : &none, sizeof(none));
	c->runs = t;
}

static void switch_to(struct cpu *c, struct thread *from, int state, struct thread *to)
{
	add(c, "sched_switch",
	    ARGS(BYTES(from ? from->comm : "swapper"), NUMBER(from ? from->tid : 0), NUMBER(20),
		 NUMBER(state), BYTES(to ? to->comm : "swapper"), NUMBER(to ? to->tid : 0),
		 NUMBER(20)));
	if (from)
		go(c, from, state & PREEMPTED ? 1 : 2);
	if (to)
		go(c, to, 0);
	if (to)
		synth_task(&c->synth, to->tid, to->pid, to->comm);
	else
		synth_task(&c->synth, 0, 0, "swapper");
	set_variables(c, to);
}

static void call(struct cpu *c, struct thread *t)
{
	static const char *const names[][2] = { { "syscall_entry_read", "syscall_exit_read" },
						{ "syscall_entry_write", "syscall_exit_write" } };
	const unsigned int which = (unsigned int)random_below(c, 2);

	add(c, names[which][0], ARGS(NUMBER(3), NUMBER(0x7f0000001000), NUMBER(4096)));
	c->time += 200 + random_below(c, 3000);
	add(c, names[which][1], ARGS(NUMBER(random_below(c, 10) ? 4096 : -11)));
	c->time += 100 + random_below(c, 1000);
	t->calls++;
}

static void wake(struct cpu *c, struct thread *t)
{
	add(c, "sched_waking", ARGS(BYTES(t->comm), NUMBER(t->tid), NUMBER(20), NUMBER(0)));
	go(c, t, 1);
}

/* One that waits, if there is one. */
static void wake_other(struct cpu *c)
{
	struct thread *other = &c->thread[random_below(c, THREADS)];

	if (other->state == 2)
		wake(c, other);
}

static void softirq(struct cpu *c)
{
	add(c, "irq_softirq_entry", ARGS(NUMBER(1)));
	c->time += 300;
	add(c, "irq_softirq_exit", ARGS(NUMBER(1)));
}

/* One turn of a thread. */
static void turn(struct cpu *c)
{
	struct thread *t = &c->thread[random_below(c, THREADS)];
	uint64_t calls = 1 + random_below(c, 6);

	if (t->state != 1)
		wake(c, t);
	c->time += 100 + random_below(c, 2000);
	switch_to(c, NULL, 0, t);
	c->time += 500;
	while (calls--)
		call(c, t);
	if (!random_below(c, 4))
		softirq(c);
	if (!random_below(c, 3))
		wake_other(c);
	c->time += random_below(c, 5000);
	switch_to(c, t, random_below(c, 5) ? random_below(c, 3) ? ASLEEP : BLOCKED : PREEMPTED,
		  NULL);
	c->time += random_below(c, 2000);
}

static void init(struct cpu *c, unsigned int number, struct kl_trace_writer *writer)
{
	static const char *const names[] = { "<b>bold</b>", "</script>", "\"quoted\"", "a;b c&d" };

	c->writer = writer;
	c->seed = number + 1;
	c->time = START_NS + number;
	for (unsigned int i = 0; i < THREADS; i++) {
		struct thread *t = &c->thread[i];

		t->tid = (int)(1000 * (number + 1) + i);
		t->pid = (int)(1000 * (number + 1) + i / 4 * 4);
		t->state = -1;
		t->stack = 1 + i % 2;
		if (i < 4 && !number)
			snprintf(t->comm, sizeof(t->comm), "%s", names[i]);
		else if (number == CPUS - 1 && i >= THREADS - 4)
			snprintf(t->comm, sizeof(t->comm), i % 4 ? "kernlens-%u" : "kernlens",
				 i % 4);
		else
			snprintf(t->comm, sizeof(t->comm), "worker%u", i % 4);
	}
	synth_init(&c->synth, schema, number);
	c->synth.block_bytes = BLOCK_BYTES;
	synth_task(&c->synth, 0, 0, "swapper");
	synth_begin(&c->synth, c->time);
}

static void print_facts(uint64_t events, uint64_t end)
{
	printf("{\"events\":%" PRIu64 ",\"threads\":{", events);
	for (unsigned int i = 0; i < CPUS; i++)
		for (unsigned int k = 0; k < THREADS; k++) {
			struct thread *t = &cpu[i].thread[k];

			/* What they did last goes on until the end of the trace. */
			cpu[i].time = end;
			go(&cpu[i], t, t->state);
			printf("%s\"%d\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			       ",%" PRIu64 ",%u,%" PRIu64 "]",
			       i || k ? "," : "", t->tid, t->running, t->ready, t->asleep, t->calls,
			       t->rss, t->rss_changes, t->stack, t->records);
		}
	printf("}}\n");
}

/* Two stack traces, which have the outer function in common. */
static bool write_stacks(const char *trace)
{
	static const char text[] = "kernlens-stacks 3\nno-room 0\n"
				   "stack 1 1 2 5 2\n"
				   "1000 read_some 5 /bin/prog - 40 - 0 0 0\n"
				   "2000 work 5 /bin/prog - 50 - 0 0 0\n"
				   "stack 2 1 2 5 2\n"
				   "1100 write<b> 5 /bin/prog - 60 - 0 0 0\n"
				   "2000 work 5 /bin/prog - 50 - 0 0 0\n";
	struct kl_stacks *stacks = kl_stacks_parse(text, sizeof(text) - 1);
	bool written = stacks && !kl_stacks_save(stacks, trace);

	kl_stacks_destroy(stacks);
	return written;
}

int main(int argc, char **argv)
{
	const uint64_t most = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	struct kl_trace_writer *writer;
	uint64_t events = 0, end = 0;

	if (argc != 3)
		return 2;
	schema = kl_schema_create();
	if (kl_schema_add_variable(schema, kl_variable_find("rss")) < 0)
		return 1;
	if (kl_schema_add_variable(schema, kl_variable_find("ustack")) < 0)
		return 1;
	rss_offset = kl_schema_variable(schema, 0)->field.offset;
	stack_offset = kl_schema_variable(schema, 1)->field.offset;
	writer = synth_writer(argv[1], schema);
	if (!writer)
		return 1;
	for (unsigned int i = 0; i < CPUS; i++) {
		init(&cpu[i], i, writer);
		while (cpu[i].events < most / CPUS)
			turn(&cpu[i]);
		/* The last event of a CPU is when it was written. */
		add(&cpu[i], "irq_softirq_entry", ARGS(NUMBER(1)));
		end_block(&cpu[i]);
		events += cpu[i].events;
		end = cpu[i].time > end ? cpu[i].time : end;
	}
	if (kl_trace_finish(writer, NULL) || !write_stacks(argv[1]))
		return 1;
	print_facts(events, end);
	kl_schema_destroy(schema);
	return 0;
}
