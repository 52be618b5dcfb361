// SPDX-License-Identifier: GPL-2.0
/*
 * What readers know of the running task when records interrupt the writing of records. Runs
 * kernel/core/record*.c itself, interrupted at each access to what interrupts share, with a second
 * interrupt at each access of the first; both may rename the task. Each record notes which names
 * the task had while it was written. Afterwards the blocks are decoded, and each record's variables
 * must be one of those. Then the same with further variables that change with the name: three at
 * fixed places, one read by a function.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../../kernel/core/record.c"
#include "../../../kernel/core/record_values.c"
#include "../unit.h"

#define BLOCK_BYTES 512
#define BLOCKS 64
#define RECORDS_MAX 256
#define EVENT 7

struct task_struct *current, init_task;
bool kl_clock_is_tsc = true;
static u64 clock_now;

u64 rdtsc(void)
{
	kl_ring_test_hook();
	return clock_now += 3;
}

u64 ktime_get_mono_fast_ns(void)
{
	return rdtsc();
}

u32 kl_clock_kind(void)
{
	return kl_clock_is_tsc ? KL_CLOCK_TSC : KL_CLOCK_MONOTONIC;
}

/* Bases of variables that are not in the task itself. */
const struct kl_variable_group kl_variable_bases[KL_BASE_COUNT] = {
	[KL_BASE_SIGNAL] = { .hop = offsetof(struct task_struct, other) },
	[KL_BASE_PGID] = { .hop = offsetof(struct task_struct, more), .more = true },
};
const u8 kl_zeroes[KL_ZEROES_BYTES];
const u8 *const kl_zero_stack = kl_zeroes;

bool kl_access_may_see(const struct cred *owner, struct task_struct *t)
{
	return true;
}

/* Sessions are not measured here. */
bool kl_meter_begin(struct kl_session *s, struct kl_section *section)
{
	return true;
}

void kl_meter_end(struct kl_session *s, const struct kl_section *section)
{
}

bool kl_access_shows_current(const struct kl_session *s)
{
	return true;
}

/* ------------------------------------------------------------ the session */

/* A record's fields: which versions of the task's name it may carry. */
struct fields {
	u32 number;
	u32 first;
	u32 last;
	u32 pid;
};

static struct kl_session session;
static struct kl_cpu cpu;
static struct kl_abi_ring *shared;
static struct kl_ring_block *window[BLOCKS], pool[BLOCKS];
static u8 memory[BLOCKS][BLOCK_BYTES] __aligned(8);
static struct task_struct tasks[2];
static u32 renamed, fired, lost, plain;

/* The first half of the task's name, as four variables. */
#define VARIABLES 4
static u64 other[3];
static struct kl_variables variables;
static struct {
	struct kl_known known;
	struct kl_word word[VARIABLES];
	u64 stage[3 + VARIABLES + 1];
} known_words;
static bool with_variables;

static void name_task(struct task_struct *t, u32 version)
{
	memset(t->comm, 0, sizeof(t->comm));
	/* Only two names: the hard case is a name that comes back. */
	strcpy(t->comm, version % 2 ? "an odd name" : "even");
	if (t == current)
		other[1] = other[2] = kl_task_comm(t, 0);
}

static u64 read_name(const struct kl_variable_slot *slot, struct task_struct *t)
{
	kl_ring_test_hook();
	return kl_task_comm(t, 0);
}

static void place_variable(u32 i, u32 base, u32 offset)
{
	struct kl_word *word = &known_words.known.word[i];

	variables.placed++;
	variables.slot[i].base = base;
	variables.slot[i].offset = word->offset = offset;
	word->hop = kl_variable_bases[base].hop;
	variables.group[i] = kl_variable_bases[base];
	variables.group[i].end = i + 1;
	variables.groups = i + 1;
	variables.run[i].base = kl_variable_bases[base];
	variables.run[i].functions = false;
}

/* Quick: one variable in the task, one through a pointer, one in the rest, and the function. */
static void make_variables(bool quick)
{
	struct kl_known *known = &known_words.known;

	memset(&variables, 0, sizeof(variables));
	variables.n = variables.n_slots = VARIABLES;
	variables.prefix = KL_RECORD_PREFIX_BYTES;
	variables.bytes = VARIABLES * sizeof(u64);
	variables.all = (2ull << VARIABLES) - 1;
	variables.quick = quick;
	variables.known = known;
	variables.groups = variables.plain_groups = 1;
	memset(&known_words, 0, sizeof(known_words));
	known->task_end = known->hop_end = known->word;
	known->stage = (u8 *)known_words.stage;
	for (u32 i = 0; i < VARIABLES; i++) {
		variables.of[i].slot = i;
		variables.of[i].bytes = sizeof(u64);
		variables.slot[i] = (struct kl_variable_slot){
			.changed = 2ull << i,
			.mask = ~0ull,
			.at = offsetof(struct kl_known, word) + i * sizeof(struct kl_word),
			.bytes = sizeof(u64),
			.read = read_name,
		};
		known->word[i].mask = ~0ull;
		variables.run[i].end = &variables.slot[i + 1];
		variables.run[i].functions = true;
	}
	variables.last_run = variables.run + VARIABLES;
	if (!quick)
		return;
	place_variable(0, KL_BASE_TASK, offsetof(struct task_struct, comm));
	place_variable(1, KL_BASE_SIGNAL, sizeof(u64));
	place_variable(2, KL_BASE_PGID, sizeof(u64));
	variables.plain_groups = 2;
	known->task_end = known->word + 1;
	known->hop_end = known->word + 2;
}

static void rename_current(void)
{
	renamed++;
	name_task(current, renamed);
}

static void fire(bool usual)
{
	struct fields fields = { .number = fired++, .first = renamed, .pid = current->pid };
	struct kl_reservation place = {};

	if (with_variables && usual) {
		u64 old;

		if (cpu.changing || !kl_values_same(&cpu, cpu.rest, &old) ||
		    !kl_record_same(&cpu, old, EVENT, sizeof(fields), &place))
			place = kl_record_changed(&session, &cpu, EVENT, sizeof(fields));
	} else if (!usual || !kl_record_try(&cpu, EVENT, sizeof(fields), &place))
		place = kl_record_begin(&session, &cpu, EVENT, sizeof(fields));
	if (!place.at) {
		lost++;
		return;
	}
	fields.last = renamed;
	memcpy(place.at, &fields, sizeof(fields));
	kl_record_end(place, sizeof(fields));
}

/* ------------------------------------------------------------- interrupts */

/* What an interrupt does: renames the task, fires records, renames it again. */
static const struct action {
	bool before;
	u32 records;
	bool behind;
} actions[] = {
	{ false, 1, false }, { true, 1, false }, { true, 1, true },   { false, 1, true },
	{ true, 2, true },   { true, 0, false }, { false, 9, false }, { true, 9, true },
};

#define ACTIONS (sizeof(actions) / sizeof(*actions))

static struct {
	long left; /* hooks until the interrupt; below 0: none */
	const struct action *action;
} plan[2];
static int depth;
static long hooks;

void kl_ring_test_hook(void)
{
	const struct action *a;

	if (depth >= 2)
		return;
	hooks += depth == 1;
	if (plan[depth].left < 0 || plan[depth].left-- > 0)
		return;
	a = plan[depth].action;
	depth++;
	if (a->before)
		rename_current();
	for (u32 i = 0; i < a->records; i++)
		fire(i % 2 == 0);
	if (a->behind)
		rename_current();
	depth--;
}

/* --------------------------------------------------------------- checking */

static const char *why;

/* Is it the first half of a name that the task had? */
static bool check_value(const struct fields *f, u64 value)
{
	for (u32 v = f->first; v <= f->last; v++) {
		struct task_struct had = {};

		name_task(&had, v);
		if (kl_task_comm(&had, 0) == value)
			return true;
	}
	why = "a record has a variable that its task did not have";
	return false;
}

static bool check_record(const u8 *fields_at, const struct kl_abi_task *known, const u64 *values)
{
	u64 words[3];
	struct task_struct t = {};
	struct fields f;

	memcpy(&f, fields_at, sizeof(f));
	memcpy(words, known, sizeof(words));
	memcpy(&t.pid, words, sizeof(*words));
	memcpy(t.comm, words + 1, sizeof(t.comm));
	if (t.pid != (pid_t)f.pid) {
		why = "a record has another task's id";
		return false;
	}
	for (u32 i = 0; with_variables && i < VARIABLES; i++)
		if (!check_value(&f, values[i]))
			return false;
	for (u32 v = f.first; v <= f.last; v++) {
		struct task_struct had;

		name_task(&had, v);
		if (!memcmp(had.comm, t.comm, sizeof(t.comm)))
			return true;
	}
	why = "a record has a name that its task did not have";
	return false;
}

/* Decodes all blocks in order. Returns the number of records, or -1. */
static long decode(void)
{
	struct kl_abi_task known __aligned(8);
	u64 values[VARIABLES];
	long found = 0;

	kl_ring_finish(&cpu.ring, clock_now);
	for (u64 seq = shared->tail; shared->head != KL_SEQ_NONE && seq <= shared->head; seq++) {
		const u8 *block = window[seq % BLOCKS]->memory, *at = block + KL_BLOCK_HEADER_BYTES;
		const struct kl_abi_block *header = (const struct kl_abi_block *)block;
		const u8 *end = block + header->content_bits / 8;

		if (header->committed * 8 != header->content_bits) {
			why = "a block is not complete";
			return -1;
		}
		for (bool first = true; at < end; first = false, found++) {
			u8 changed = at[8];

			if (first &&
			    changed != (with_variables ? variables.all : KL_CHANGED_TASK)) {
				why = "a block's first record has no variables";
				return -1;
			}
			at += KL_RECORD_PREFIX_BYTES;
			if (changed & KL_CHANGED_TASK) {
				memcpy(&known, at, sizeof(known));
				at += sizeof(known);
			}
			for (u32 i = 0; i < VARIABLES; i++)
				if (changed & 2u << i) {
					memcpy(&values[i], at, sizeof(*values));
					at += sizeof(*values);
				}
			plain += !changed;
			if (!check_record(at, &known, values))
				return -1;
			at += sizeof(struct fields);
		}
	}
	return found;
}

/* ------------------------------------------------------------------- runs */

/* The records' tasks, and whether they go through the probe's usual (fast) path. */
static void fire_all(void)
{
	static const struct {
		u8 task;
		bool usual;
	} outer[] = { { 0, true }, { 0, true },	 { 1, true },  { 1, true },  { 0, false },
		      { 0, true }, { 0, false }, { 1, false }, { 1, false }, { 0, true } };

	for (size_t i = 0; i < sizeof(outer) / sizeof(*outer); i++) {
		current = &tasks[outer[i].task];
		name_task(current, renamed);
		fire(outer[i].usual);
	}
}

static bool run(long at, const struct action *a, long at2, const struct action *b, bool overwrite)
{
	struct kl_abi_block header = { .magic = KL_CTF_MAGIC };
	u32 blocks = overwrite ? 4 : BLOCKS;
	long found;

	memset(&cpu, 0, sizeof(cpu));
	memset(shared, 0, kl_ring_shared_bytes(BLOCKS));
	memset(window, 0, sizeof(window));
	depth = 2;
	cpu.state = KL_STATE_UNKNOWN;
	cpu.session = &session;
	if (with_variables) {
		cpu.known = &known_words.known;
		cpu.prefix = variables.prefix;
		cpu.rest = true;
	}
	clock_now = 1000;
	renamed = fired = lost = 0;
	for (int i = 0; i < 2; i++)
		tasks[i] = (struct task_struct){
			.pid = 10 + i, .tgid = 10, .other = other, .more = other + 1
		};
	kl_ring_init(&cpu.ring, shared, window, BLOCKS, BLOCK_BYTES, 0, overwrite, &header);
	for (u32 i = 0; i < blocks; i++) {
		pool[i] = (struct kl_ring_block){ .memory = memory[i], .index = i };
		kl_ring_add(&cpu.ring, &pool[i]);
	}
	plan[0].left = at;
	plan[0].action = a;
	plan[1].left = at2;
	plan[1].action = b;
	hooks = 0;
	depth = 0;
	fire_all();
	depth = 2;
	found = decode();
	if (found < 0)
		return false;
	if (shared->records != fired - lost || shared->lost != lost ||
	    (!overwrite && found != (long)shared->records)) {
		why = "records are not accounted for";
		return false;
	}
	return true;
}

static void report(long at, size_t a, long at2, size_t b, bool overwrite)
{
	printf("# interrupt %zu at %ld, in it %zu at %ld%s: %s\n", a, at, b, at2,
	       overwrite ? ", overwrite" : "", why);
}

/* Interrupts at every access with every action, and in each of them again. */
static bool try_all(bool overwrite)
{
	long runs = 0;

	for (size_t a = 0; a < ACTIONS; a++) {
		for (long at = 0;; at++) {
			long inner;

			if (!run(at, &actions[a], -1, NULL, overwrite)) {
				report(at, a, -1, 0, overwrite);
				return false;
			}
			runs++;
			if (plan[0].left >= 0)
				break;
			inner = hooks;
			for (long at2 = 0; at2 < inner; at2++)
				for (size_t b = 0; b < ACTIONS; b++, runs++)
					if (!run(at, &actions[a], at2, &actions[b], overwrite)) {
						report(at, a, at2, b, overwrite);
						return false;
					}
		}
	}
	printf("# %ld runs\n", runs);
	return true;
}

int main(void)
{
	shared = calloc(1, kl_ring_shared_bytes(BLOCKS));
	session.cpu = &cpu;

	unit_check(run(-1, NULL, -1, NULL, false) && renamed == 0 && fired == 10 && plain == 5,
		   "variables are written when the task is another, and only then");
	unit_check(try_all(false), "interrupts at each access, and in them");
	unit_check(try_all(true), "the same in overwrite mode");
	session.gate = KL_GATE_OWN;
	unit_check(try_all(false), "the same for an owner without privilege");
	session.gate = 0;
	kl_clock_is_tsc = false;
	unit_check(try_all(false), "the same with another clock");
	kl_clock_is_tsc = true;
	session.variables = &variables;
	with_variables = true;
	make_variables(true);
	plain = 0;
	unit_check(run(-1, NULL, -1, NULL, false) && renamed == 0 && fired == 10 && plain == 5,
		   "further variables are written when they change, and only then");
	unit_check(try_all(false), "further variables: interrupts at each access, and in them");
	unit_check(try_all(true), "the same in overwrite mode");
	make_variables(false);
	unit_check(try_all(false), "the same on the general path");
	free(shared);
	return unit_end();
}
