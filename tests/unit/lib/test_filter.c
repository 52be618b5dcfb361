// SPDX-License-Identifier: GPL-2.0
/*
 * Filters of recorded events: what each selects of a trace whose events are known, compared with the
 * same condition in C; and what is refused, with its position.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "synth.h"
#include "unit.h"

#define EVENTS 600u

static struct kl_schema *schema;

/* What the events of a trace are made from: enough to compute any condition. */
struct made {
	unsigned int i;
	const char *event;
	int tid;
	uint64_t rss;
};

static struct made make(unsigned int i)
{
	static const char *const names[] = { "sched_switch", "sched_waking", "syscall_entry_openat",
					     "syscall_exit_openat" };

	return (struct made){ i, names[i % 4], (int)(100 + i % 7), i / 10 * 4096ull };
}

static const char *path_of(unsigned int i)
{
	return i % 3 ? "/usr/lib/libc.so.6" : "/etc/passwd";
}

static bool add(struct synth *s, const struct made *m, uint64_t time)
{
	unsigned int i = m->i;

	synth_task(s, m->tid, 100, i % 5 ? "make" : "kworker/3:1");
	memcpy(s->values, &m->rss, sizeof(m->rss));
	switch (i % 4) {
	case 0:
		return synth_add(s, m->event, time,
				 ARGS(BYTES("bash"), NUMBER(100 + i % 7), NUMBER(20),
				      NUMBER(-(int)i), BYTES("swapper/0"), NUMBER(0), NUMBER(i)));
	case 1:
		return synth_add(s, m->event, time,
				 ARGS(BYTES("bash"), NUMBER(i), NUMBER(20), NUMBER(i % 2)));
	case 2:
		return synth_add(s, m->event, time,
				 ARGS(NUMBER(-100), BYTES(path_of(i)), NUMBER(02000000 + i),
				      NUMBER(0)));
	default:
		return synth_add(s, m->event, time, ARGS(NUMBER(i % 9 ? (int)i : -2)));
	}
}

static void write_trace(const char *directory)
{
	const struct kl_variable rss = {
		.id = 43,
		.name = "rss",
		.unit = "B",
		.help = "Resident memory",
		.field = { .type = KL_TYPE_U64, .format = KL_FORMAT_dec },
	};
	struct kl_trace_writer *writer;
	struct kl_trace_info info;
	struct synth *s = calloc(1, sizeof(*s));

	if (kl_schema_add_variable(schema, &rss) != 0)
		abort();
	kl_trace_info_init(&info);
	for (int i = 0; i < 16; i++)
		info.uuid[i] = 0x10 + i;
	kl_timebase_init(&info.timebase, KL_CLOCK_TSC, 1000000000, 1700000000, 0);
	writer = kl_trace_create(directory, schema, &info);
	synth_init(s, schema, 0);
	synth_begin(s, 1000);
	for (unsigned int i = 0; i < EVENTS; i++) {
		const struct made m = make(i);

		if (add(s, &m, 1000 + i))
			continue;
		synth_end(s, 1000 + i);
		kl_trace_append(writer, synth_block(s), SYNTH_BLOCK_BYTES);
		synth_begin(s, 1000 + i);
		if (!add(s, &m, 1000 + i))
			abort();
	}
	synth_end(s, 2000);
	kl_trace_append(writer, synth_block(s), SYNTH_BLOCK_BYTES);
	if (kl_trace_finish(writer, NULL))
		abort();
	free(s);
}

/* Does the list select exactly the events for which the condition is true, some but not all? */
#define SELECTS(trace, list, condition)                                                     \
	do {                                                                                \
		unsigned int wanted = 0;                                                    \
                                                                                            \
		for (unsigned int n = 0; n < EVENTS; n++) {                                 \
			const struct made m = make(n);                                      \
			const unsigned int i = m.i;                                         \
                                                                                            \
			(void)i;                                                            \
			expected[n] = condition;                                            \
			wanted += expected[n];                                              \
		}                                                                           \
		unit_check(wanted &&wanted < EVENTS && selects(trace, list, wanted), list); \
	} while (0)

static bool expected[EVENTS];

static bool selects(struct kl_trace *trace, const char *list, unsigned int wanted)
{
	struct kl_filter *filter = kl_filter_create(kl_trace_schema(trace), list);
	unsigned int n = 0, wrong = 0, next = 0;
	struct kl_item item;

	if (!filter) {
		printf("# %s\n", kl_error_text());
		return false;
	}
	kl_trace_rewind(trace);
	while (kl_trace_next(trace, &item) > 0)
		if (item.kind == KL_ITEM_EVENT)
			wrong += kl_filter_wants(filter, item.event) != expected[n++];
	kl_trace_rewind(trace);
	while (kl_filter_next(filter, trace, &item) > 0)
		next += item.kind == KL_ITEM_EVENT;
	kl_filter_destroy(filter);
	if (n == EVENTS && !wrong && next == wanted)
		return true;
	printf("# %u of %u events, %u wrong; %u returned, expected %u\n", n, EVENTS, wrong, next,
	       wanted);
	return false;
}

#define IS(name) (!strcmp(m.event, name))

static void test_selected(struct kl_trace *trace)
{
	SELECTS(trace, "sched_waking", IS("sched_waking"));
	SELECTS(trace, "sched", i % 4 < 2);
	SELECTS(trace, "sched, !sched_switch", i % 4 == 1);
	SELECTS(trace, "sched_waking /tid % 2 == 1 && tid > 20/", i % 4 == 1 && i > 20);
	SELECTS(trace, "sched_waking /tid < 50/, syscall_entry_openat",
		(i % 4 == 1 && i < 50) || i % 4 == 2);
	SELECTS(trace, "sched_waking /tid < 50/, sched_waking /tid > 500/", i % 4 == 1 && i > 500);
	SELECTS(trace, "sched_waking /tid < 50/, sched", i % 4 < 2);
	SELECTS(trace, "sched_switch /prev_state < -100/", i % 4 == 0 && i > 100);
	SELECTS(trace, "sched_switch/next_prio>=100 and next_prio<=200/",
		i % 4 == 0 && i >= 100 && i <= 200);
	SELECTS(trace, "syscall_entry_openat /filename == \"/etc/passwd\"/",
		i % 4 == 2 && i % 3 == 0);
	SELECTS(trace, "syscall_entry_openat /filename ~ \"/usr/*\"/", i % 4 == 2 && i % 3);
	/* After the string. */
	SELECTS(trace, "syscall_entry_openat /flags & 1 << 8/",
		i % 4 == 2 && (02000000 + i) & 1 << 8);
	SELECTS(trace, "syscall_exit_openat /ret < 0/", i % 4 == 3 && i % 9 == 0);
	/* The wakeup has a field of that name. */
	SELECTS(trace, "* /pid == 100 && comm != \"make\"/", i % 4 == 1 || i % 5 == 0);
	SELECTS(trace, "* /comm == \"kwork*\"/", i % 4 != 1 && i % 5 == 0);
	SELECTS(trace, "sched_switch /tid == 103/", i % 4 == 0 && m.tid == 103);
	SELECTS(trace, "* /rss > 100K || rss == 8K/", m.rss > 102400 || m.rss == 8192);
	SELECTS(trace, "sched_switch /rss / 4096 == 3/", i % 4 == 0 && m.rss == 3 * 4096);
	SELECTS(trace, "sched_switch /(rss ? 1 : 0) == cpu/", i % 4 == 0 && !m.rss);
	SELECTS(trace, "sched_waking /-tid / 7 == -3/", i % 4 == 1 && i / 7 == 3);
	SELECTS(trace, "sched_waking /(u8)tid < 3/", i % 4 == 1 && (uint8_t)i < 3);
	SELECTS(trace, "sched_waking /tid % (target_cpu - 1) == 0 && tid >> 3 == 1/",
		i % 4 == 1 && i >> 3 == 1);
	SELECTS(trace, "sched_waking /(tid ^ 1) % 8 == 4/", i % 4 == 1 && (i ^ 1) % 8 == 4);
}

static bool refuses(struct kl_trace *trace, const char *list, const char *text)
{
	struct kl_filter *filter;

	kl_error_clear();
	filter = kl_filter_create(kl_trace_schema(trace), list);
	if (!filter && errno == EINVAL && strstr(kl_error_text(), text))
		return true;
	printf("# %s\n", filter ? "accepted" : kl_error_text());
	kl_filter_destroy(filter);
	return false;
}

static void test_refused(struct kl_trace *trace)
{
	unit_check(refuses(trace, "sched_wakingg", "similar: sched_waking"), "an unknown event");
	unit_check(refuses(trace, "sched_waking /tidd/",
			   "filter:1:1: unknown name \"tidd\"; did "
			   "you mean \"tid\"?"),
		   "an unknown name");
	unit_check(refuses(trace, "sched_waking /vm_size > 1/", "has not been recorded"),
		   "a variable that was not recorded");
	unit_check(refuses(trace, "sched_waking /current/", "unknown name"), "the running task");
	unit_check(refuses(trace, "sched_waking /arg1/", "unknown name"), "an argument");
	unit_check(refuses(trace, "sched_waking /since(session) > 1s/", "cannot be computed"),
		   "the time since an event");
	unit_check(refuses(trace, "sched_waking /*(u32 *)(u64)tid/", "cannot be computed"),
		   "memory");
	unit_check(refuses(trace, "sched_waking /tid/ :count", "not handled"), "a handler");
	unit_check(refuses(trace, "sched, !sched_waking /tid/", "takes no filter"),
		   "an excluded event with a filter");
	unit_check(refuses(trace, "sched_waking /tid", "missing closing /"), "half a filter");
	unit_check(refuses(trace, "sched_waking /tid ==/", "filter:1:"), "half an expression");
}

int main(void)
{
	char *directory = synth_directory();
	struct kl_trace *trace;

	schema = kl_schema_create();
	write_trace(directory);
	trace = kl_trace_open(directory);
	if (unit_check(trace, "a trace")) {
		test_selected(trace);
		test_refused(trace);
	}
	kl_trace_close(trace);
	kl_schema_destroy(schema);
	synth_remove(directory);
	return unit_end();
}
