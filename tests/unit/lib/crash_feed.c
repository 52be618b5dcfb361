// SPDX-License-Identifier: GPL-2.0
/* A session's records in the memory of a machine, and what is extracted of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash_feed.h"
#include "unit.h"

#define BLOCKS 5u

#define FIELDS                                                                        \
	"fields := struct { integer { size = 64; align = 8; signed = 0; base = 10; }" \
	" _n; /* @dec */ integer { size = 64; align = 8; signed = 0; base = 10; }"    \
	" _twice; /* @dec */ } align(8); };\n"

/* Only a task writes the second one. */
static const char events[] =
	"event { /* @irq DEFAULT SELF A record with its number */ name = \"numbered\"; id = 1000;"
	" stream_id = 0; " FIELDS
	"event { /* @sched DEFAULT SELF The same */ name = \"sched_switch\"; id = 1;"
	" stream_id = 0; " FIELDS;

static struct kl_schema *schema;
static struct kl_buffer text;
static char *folder;

/* Of two events. */
static void make_schema(void)
{
	struct kl_schema *tables = kl_schema_create();
	struct kl_trace_info info;

	kl_trace_info_init(&info);
	kl_timebase_init(&info.timebase, KL_CLOCK_TSC, 1000000000, 1699999999, 0);
	kl_metadata_write(&text, tables, &info);
	text.length = (size_t)(strstr(text.data, "\nevent {") + 1 - text.data);
	kl_buffer_add_string(&text, events);
	schema = kl_metadata_parse(text.data, text.length, &info);
	kl_schema_destroy(tables);
}

/* ------------------------------------------------------- the machine */

static void add_record(struct crash_made *made, struct synth *s, const char *event, uint64_t time)
{
	if (!synth_add(s, event, time, ARGS(NUMBER(made->n), NUMBER(2 * made->n))))
		abort();
	made->time[made->n] = time;
	made->cpu[made->n] = s->cpu;
	made->n++;
}

/* A CPU's blocks; the last one is being filled. @first: number of the oldest one that is left. */
static void add_cpu(struct crash_made *made, struct synth *s, uint64_t first)
{
	struct kl_abi_ring *ring = made->m.ring[s->cpu];
	uint64_t time = CRASH_BEGIN + 10 * s->cpu;

	s->seq = first;
	s->records = 17 * first;
	for (unsigned int i = 0; i < BLOCKS; i++, time += 1000) {
		unsigned int records = 5 + machine_random(60);

		synth_begin(s, time);
		for (unsigned int k = 0; k < records; k++)
			add_record(made, s, machine_random(4) ? "numbered" : "sched_switch",
				   time + 10 * k);
		if (i < BLOCKS - 1)
			synth_end(s, time + 1000);
		made->last[s->cpu] = machine_add(&made->m, s);
	}
	ring->head = s->seq;
	ring->tail = first;
	ring->records = s->records;
	ring->position = s->seq << KL_POS_SEQ_SHIFT | (uint64_t)s->count << KL_POS_COUNT_SHIFT |
			 s->at;
	/* One is prepared, and one is free. */
	synth_end(s, time);
	synth_begin(s, 0);
	machine_add(&made->m, s);
	synth_block(s)->seq = KL_SEQ_NONE;
	machine_add(&made->m, s);
}

struct crash_made *crash_make(uint64_t base)
{
	struct crash_made *made = calloc(1, sizeof(*made));
	struct synth *s = calloc(1, sizeof(*s));

	machine_init(&made->m, base, text.data);
	for (uint32_t cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		synth_init(s, schema, cpu);
		synth_task(s, 5, 5, "task");
		add_cpu(made, s, 3 * cpu);
	}
	free(s);
	return made;
}

void crash_forget(struct crash_made *made)
{
	machine_deinit(&made->m);
	free(made);
}

/* ------------------------------------------------------- what is extracted */

static void notice(void *context, const char *line)
{
	struct crash_got *got = context;

	(void)line;
	got->notices++;
	if (getenv("KL_SHOW"))
		printf("# %s\n", line);
}

static void look_at(const struct crash_made *made, struct crash_got *got,
		    const struct kl_event *event, int64_t last[MACHINE_CPUS])
{
	struct kl_value n, twice;

	if (kl_event_field(event, "n", &n) || kl_event_field(event, "twice", &twice) ||
	    n.number >= made->n || twice.number != 2 * n.number || event->cpu >= MACHINE_CPUS ||
	    made->cpu[n.number] != event->cpu || made->time[n.number] != event->cycles ||
	    made->torn[n.number] || (int64_t)n.number <= last[event->cpu] ||
	    strcmp(event->task.comm, "task")) {
		got->wrong++;
		return;
	}
	last[event->cpu] = (int64_t)n.number;
	got->has[n.number] = true;
	got->events++;
}

static unsigned int count_stacks(const struct kl_trace *trace)
{
	const struct kl_stacks *stacks = kl_schema_stacks(kl_trace_schema(trace));
	unsigned int right = 0;

	for (uint32_t id = 1; id <= MACHINE_STACKS; id++) {
		const struct kl_stack *stack = kl_stacks_get(stacks, id);
		unsigned int k = 0;

		while (stack && k < stack->n && stack->frame[k].address == machine_frame(id, k))
			k++;
		right += stack && stack->n == id && k == id;
	}
	return right + (stacks && kl_stacks_count(stacks) > MACHINE_STACKS);
}

/* Count the frames that have names, which must be theirs. */
static void look_at_names(struct crash_got *got, const struct kl_trace *trace)
{
	const struct kl_stacks *stacks = kl_schema_stacks(kl_trace_schema(trace));

	for (uint32_t id = 1; id <= MACHINE_STACKS; id++) {
		const struct kl_stack *stack = kl_stacks_get(stacks, id);

		for (unsigned int k = 0; stack && k < stack->n; k++) {
			const struct kl_frame *frame = &stack->frame[k];

			got->named += frame->symbol != NULL;
			got->wrong += frame->symbol &&
				      strcmp(frame->symbol, machine_function(frame->address)) != 0;
		}
	}
}

static void read_trace(const struct crash_made *made, struct crash_got *got, const char *path)
{
	struct kl_trace *trace = kl_trace_open(path);
	int64_t last[MACHINE_CPUS] = { -1, -1 };
	const struct kl_trace_counts *counts;
	struct kl_item item;

	if (!trace) {
		got->wrong++;
		return;
	}
	while (kl_trace_next(trace, &item))
		if (item.kind == KL_ITEM_EVENT)
			look_at(made, got, item.event, last);
	counts = kl_trace_counted(trace);
	got->missing = counts->corrupt + counts->damaged + counts->discarded + counts->overwritten +
		       counts->unstored + counts->unseen;
	got->stacks = count_stacks(trace);
	look_at_names(got, trace);
	got->cgroup = kl_cgroups_get(kl_schema_cgroups(kl_trace_schema(trace)), 7) != NULL;
	kl_trace_close(trace);
}

/* Extract the first session of a file, and compare it with what was recorded. */
struct crash_got *crash_extract(const struct crash_made *made, const char *path)
{
	static struct crash_got got;
	struct kl_dump_ops ops = { notice, &got };
	struct kl_dump_counts counts;
	struct kl_dump *dump;
	char trace[300];

	got = (struct crash_got){};
	dump = kl_dump_open(path, &ops);
	if (!dump) {
		got.error = -errno;
		return &got;
	}
	while (kl_dump_session(dump, got.sessions))
		got.sessions++;
	snprintf(trace, sizeof(trace), "%s/trace", folder);
	kl_record_clear(trace, true);
	got.error = got.sessions ? kl_dump_extract(dump, 0, trace, &counts) : -ENOENT;
	kl_dump_close(dump);
	if (!got.error)
		read_trace(made, &got, trace);
	return &got;
}

const char *crash_image(void)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/memory", folder);
	return path;
}

struct crash_got *crash_extract_elf(const struct crash_made *made)
{
	machine_write_elf(&made->m, crash_image());
	return crash_extract(made, crash_image());
}

/* All frames of the traces with names, and the outermost of the others. */
#define NAMED (MACHINE_NAMED * (MACHINE_NAMED + 1) / 2 + MACHINE_STACKS - MACHINE_NAMED)

bool crash_is_whole(const struct crash_made *made, const struct crash_got *got)
{
	bool whole = !got->error && !got->notices && !got->wrong && got->events == made->n &&
		     got->sessions == 1 && got->stacks == MACHINE_STACKS && got->named == NAMED &&
		     got->cgroup;

	if (!whole)
		printf("# error %d, %u notices, %u wrong, %u of %u events: %s\n", got->error,
		       got->notices, got->wrong, got->events, made->n, kl_error_text());
	return whole;
}

const struct kl_schema *crash_begin(void)
{
	folder = synth_directory();
	make_schema();
	return schema;
}

void crash_end(void)
{
	kl_schema_destroy(schema);
	kl_buffer_deinit(&text);
	synth_remove(folder);
}
