// SPDX-License-Identifier: GPL-2.0
/*
 * The module's table of stack traces: each trace is stored once, whatever interrupts. An insert is
 * interrupted at each of its operations by one that inserts the same trace or another, and that one
 * again; threads insert and read concurrently.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../../kernel/core/stack_table.h"
#include "../unit.h"

#define TRACES 64u
#define THREADS 4u
#define ROUNDS 100000u
#define KINDS 400u /* of traces, of which THREADS_TRACES fit */
#define THREADS_TRACES 300u

struct table {
	struct kl_stack_table t;
	void *memory[3];
};

static void make(struct table *m, u32 traces, u32 words)
{
	u32 slots = 2;

	while (slots < 2 * traces)
		slots *= 2;
	*m = (struct table){ .t = { .traces = traces, .words = words, .mask = slots - 1 } };
	m->memory[0] = m->t.slot = calloc(slots, sizeof(*m->t.slot));
	m->memory[1] = m->t.entry = calloc(traces, sizeof(*m->t.entry));
	m->memory[2] = m->t.word = calloc(words, sizeof(*m->t.word));
}

static void end(struct table *m)
{
	for (int i = 0; i < 3; i++)
		free(m->memory[i]);
}

/* Trace number @which, which determines its frames. */
static struct kl_stack_trace trace_of(u32 which, u64 frame[KL_STACK_FRAMES_MAX])
{
	u32 frames = 1 + which % 7;

	for (u32 i = 0; i < frames; i++)
		frame[i] = (u64)which * 1000 + i;
	return (struct kl_stack_trace){
		.about = { .frames = (__u16)frames,
			   .kind = which & 1 ? KL_STACK_USER : KL_STACK_KERNEL,
			   .pid = which & 1 ? (int)which : 0 },
		.frame = frame,
	};
}

static u32 insert(struct table *m, u32 which)
{
	u64 frame[KL_STACK_FRAMES_MAX];
	struct kl_stack_trace trace = trace_of(which, frame);

	trace.mixed = kl_stack_mix_frames(&m->t, trace.frame, trace.about.frames);
	return kl_stack_insert(&m->t, &trace);
}

/* Does this id refer to trace @which? */
static bool is_trace(struct table *m, u32 id, u32 which)
{
	u64 frame[KL_STACK_FRAMES_MAX];
	struct kl_stack_trace trace = trace_of(which, frame);
	const struct kl_stack_entry *e = kl_stack_entry(&m->t, id);

	return e && e->state == KL_STACK_READY && e->about.id == id &&
	       e->about.frames == trace.about.frames && e->about.kind == trace.about.kind &&
	       e->about.pid == trace.about.pid &&
	       !memcmp(&m->t.word[e->at], frame, e->about.frames * sizeof(u64));
}

/* ------------------------------------------------------------ interrupts */

/* The current nesting, and which insert interrupts at which operation. */
static __thread struct {
	struct table *table;
	u32 depth, at[2], count[2], which[2], id[2];
} interrupt;

void kl_ring_test_hook(void)
{
	u32 depth = interrupt.depth;

	if (!interrupt.table || depth == 2 || interrupt.count[depth]++ != interrupt.at[depth])
		return;
	interrupt.depth++;
	interrupt.id[depth] = insert(interrupt.table, interrupt.which[depth]);
	interrupt.depth--;
}

/* Returns whether both interrupts happened. */
static bool run_interrupted(u32 first, u32 second, const u32 which[3], u32 *wrong)
{
	struct table m;
	bool came;
	u32 id;

	make(&m, TRACES, TRACES * 14);
	insert(&m, 50);
	interrupt.table = &m;
	interrupt.at[0] = first;
	interrupt.at[1] = second;
	memset(interrupt.count, 0, sizeof(interrupt.count));
	memset(interrupt.id, 0, sizeof(interrupt.id));
	memcpy(interrupt.which, which + 1, sizeof(interrupt.which));
	id = insert(&m, which[0]);
	interrupt.table = NULL;
	came = interrupt.id[0] && interrupt.id[1];
	if (!is_trace(&m, id, which[0]))
		++*wrong;
	for (u32 i = 0; i < 2; i++)
		if (interrupt.id[i] && (!is_trace(&m, interrupt.id[i], which[i + 1]) ||
					(which[i + 1] == which[0]) != (interrupt.id[i] == id)))
			++*wrong;
	/* The trace is found again, under the same id. */
	if (insert(&m, which[0]) != id || m.t.no_room)
		++*wrong;
	end(&m);
	return came;
}

static void test_interrupts(void)
{
	/* 8 and 9: other slots; 3 and 3: the same trace. */
	static const u32 cases[][3] = {
		{ 3, 3, 3 }, { 3, 3, 8 }, { 3, 8, 3 }, { 3, 8, 8 }, { 3, 8, 9 }
	};
	u32 wrong = 0, runs = 0, came = 0;

	for (u32 c = 0; c < sizeof(cases) / sizeof(*cases); c++)
		for (u32 first = 0; first < 24; first++)
			for (u32 second = 0; second < 24; second++, runs++)
				came += run_interrupted(first, second, cases[c], &wrong);
	printf("# %u runs, %u with both interrupts\n", runs, came);
	unit_check(came > 100, "interrupts come, and interrupts of those");
	unit_check(!wrong, "each trace has one id, whatever has interrupted its insert");
}

/*
 * The table runs full: of entries, of words, and of slots. With a mask of two slots, all traces
 * collide.
 */
static void test_room(void)
{
	struct table m;
	u32 stored = 0, wrong = 0, id;

	make(&m, TRACES, TRACES * 14);
	for (u32 i = 0; i < TRACES; i++)
		wrong += !is_trace(&m, insert(&m, i), i);
	unit_check(!wrong && kl_stack_taken(&m.t) == TRACES && !m.t.no_room,
		   "as many traces as there is room for");
	unit_check(insert(&m, 1000) == KL_STACK_NO_ROOM && m.t.no_room == 1,
		   "one more has none, and is counted");
	for (u32 i = 0; i < TRACES; i++)
		wrong += !is_trace(&m, insert(&m, i), i);
	unit_check(!wrong && m.t.no_room == 1, "those that are there are found still");
	unit_check(!kl_stack_entry(&m.t, 0) && !kl_stack_entry(&m.t, TRACES + 1) &&
			   !kl_stack_entry(&m.t, KL_STACK_NO_ROOM),
		   "there is nothing under other ids");
	end(&m);
	make(&m, TRACES, 40);
	for (u32 i = 0; i < TRACES; i++)
		stored += insert(&m, i) != KL_STACK_NO_ROOM;
	unit_check(stored && stored < TRACES && m.t.no_room == TRACES - stored &&
			   (u32)m.t.position <= 40,
		   "words end before entries do");
	end(&m);
	make(&m, TRACES, TRACES * 14);
	m.t.mask = 1;
	stored = 0;
	for (u32 i = 0; i < TRACES; i++)
		stored += insert(&m, i) != KL_STACK_NO_ROOM;
	unit_check(stored == 2 && m.t.no_room == TRACES - 2 && kl_stack_taken(&m.t) == 2,
		   "slots end before entries do, and what was taken is given back");
	id = insert(&m, 0);
	unit_check(is_trace(&m, id, 0), "and the search ends");
	end(&m);
}

static void test_keys(void)
{
	u64 frame[KL_STACK_FRAMES_MAX] = { 1, 2, 3 };
	struct kl_stack_trace trace = { .about = { .frames = 3, .kind = KL_STACK_USER, .pid = 7 },
					.frame = frame };
	struct table m;
	u32 id, other;

	make(&m, TRACES, TRACES * 14);
	trace.mixed = kl_stack_mix_frames(&m.t, frame, 3);
	id = kl_stack_insert(&m.t, &trace);
	unit_check(id == 1 && kl_stack_insert(&m.t, &trace) == id, "ids begin with 1");
	trace.about.exec = 1;
	other = kl_stack_insert(&m.t, &trace);
	unit_check(other != id, "another program of the process");
	trace.about.start_ns = 5;
	unit_check(kl_stack_insert(&m.t, &trace) > other, "another process of that id");
	trace.about.pid = 8;
	unit_check(kl_stack_insert(&m.t, &trace) > other, "another process");
	trace.about.kind = KL_STACK_KERNEL;
	unit_check(kl_stack_insert(&m.t, &trace) > other, "the same addresses in the kernel");
	trace.about.flags = KL_STACK_CUT;
	unit_check(kl_stack_insert(&m.t, &trace) > other, "the same with more behind it");
	trace.about.kind = KL_STACK_USER;
	trace.about.flags = KL_STACK_COPY;
	trace.copy = 1000;
	id = kl_stack_insert(&m.t, &trace);
	trace.copy = 2000;
	other = kl_stack_insert(&m.t, &trace);
	unit_check(other > id && m.t.word[m.t.entry[id - 1].at + 6] == 1000 &&
			   m.t.word[m.t.entry[other - 1].at + 6] == 2000,
		   "the same with another copy of the stack");
	unit_check(kl_stack_taken(&m.t) == 8, "each is a trace of its own");
	end(&m);
}

/* --------------------------------------------------------------- threads */

struct worker {
	pthread_t thread;
	struct table *table;
	u32 seed;
	u32 id[KINDS]; /* as returned by the first insert */
	u64 no_room;
	u32 wrong;
};

static void *run_worker(void *data)
{
	struct worker *w = data;

	for (u32 i = 0; i < ROUNDS; i++) {
		u32 which, id;

		w->seed = w->seed * 1103515245 + 12345;
		/*
		 * From a growing number of kinds, so that all threads insert the newest at the same
		 * time.
		 */
		which = (w->seed >> 8) % (1 + i * KINDS / ROUNDS);
		id = insert(w->table, which);
		if (id == KL_STACK_NO_ROOM) {
			w->no_room++;
			w->wrong += w->id[which] != 0;
			continue;
		}
		if (w->id[which] && w->id[which] != id)
			w->wrong++;
		w->id[which] = id;
		if (!(i % 16) && !is_trace(w->table, id, which)) {
			const struct kl_stack_entry *e = kl_stack_entry(&w->table->t, id);

			/* The thread that stores it may not have published it yet. */
			w->wrong += e != NULL;
		}
	}
	return NULL;
}

static void *run_reader(void *data)
{
	struct worker *w = data;
	u64 sum = 0;

	/* Until all ids have been read, as a recorder does. */
	for (u32 id = 1; id <= THREADS_TRACES;) {
		const struct kl_stack_entry *e = kl_stack_entry(&w->table->t, id);

		if (!e)
			continue;
		id++;
		if (e->state == KL_STACK_DROPPED)
			continue;
		w->no_room++;
		for (u32 i = 0; i < e->about.frames; i++)
			sum += w->table->t.word[e->at + i] % 1000 != i;
	}
	w->wrong = sum != 0;
	return NULL;
}

static void test_threads(void)
{
	static struct worker workers[THREADS + 1];
	struct table m;
	u32 wrong = 0, dropped = 0;
	u64 no_room = 0;

	make(&m, THREADS_TRACES, THREADS_TRACES * 14);
	for (u32 i = 0; i <= THREADS; i++) {
		workers[i] = (struct worker){ .table = &m, .seed = i };
		pthread_create(&workers[i].thread, NULL, i < THREADS ? run_worker : run_reader,
			       &workers[i]);
	}
	for (u32 i = 0; i <= THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (u32 which = 0; which < KINDS; which++)
		for (u32 i = 1; i < THREADS; i++)
			wrong += workers[i].id[which] && workers[0].id[which] &&
				 workers[i].id[which] != workers[0].id[which];
	for (u32 i = 0; i <= THREADS; i++)
		wrong += workers[i].wrong;
	for (u32 i = 0; i < THREADS; i++)
		no_room += workers[i].no_room;
	for (u32 id = 1; id <= THREADS_TRACES; id++)
		dropped += m.t.entry[id - 1].state == KL_STACK_DROPPED;
	printf("# %u dropped, %llu without room\n", dropped, (unsigned long long)no_room);
	unit_check(!wrong, "threads: one id a trace, whoever stores it first");
	unit_check(workers[THREADS].no_room == THREADS_TRACES - dropped,
		   "threads: a reader gets each");
	unit_check(m.t.no_room == no_room && no_room, "threads: what has no room is counted");
	end(&m);
}

int main(void)
{
	test_keys();
	test_room();
	test_interrupts();
	test_threads();
	return unit_end();
}
