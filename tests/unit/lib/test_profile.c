// SPDX-License-Identifier: GPL-2.0
/* Profiles: which events are samples, rows and trees, from events and stack traces made here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "unit.h"

/* Ids of the stack traces below. */
enum {
	LEAF = 1,
	RECURSION,
	KERNEL,
	STRIPPED,
	INLINED,
};

static const char traces[] = "kernlens-stacks 3\nno-room 0\n"
			     "stack 1 1 2 5 3\n"
			     "1000 leaf 5 /bin/prog - 40 src/leaf.c 7 0 0\n"
			     "2000 middle 5 /bin/prog - 50 - 0 0 0\n"
			     "3000 main 5 /bin/prog - 60 - 0 0 0\n"
			     "stack 2 1 2 5 4\n"
			     "1000 leaf 5 /bin/prog - 40 src/leaf.c 7 0 0\n"
			     "2000 middle 5 /bin/prog - 50 - 0 0 0\n"
			     "2000 middle 9 /bin/prog - 54 - 0 0 0\n"
			     "3000 main 5 /bin/prog - 60 - 0 0 0\n"
			     "stack 3 0 2 5 3\n"
			     "ffff __traceiter_x 5 - - 0 - 0 0 0\n"
			     "fff1 in_module 5 a_module - 0 - 0 0 0\n"
			     "fff2 do_syscall 5 - - 0 - 0 0 0\n"
			     "stack 4 1 2 5 1\n"
			     "1000 - 10 /bin/prog - 40 - 0 0 1\n"
			     "stack 5 1 2 5 3\n"
			     "1000 small 0 /bin/prog - 43 - 0 1 0\n"
			     "1000 leaf 8 /bin/prog - 43 src/leaf.c 8 0 0\n"
			     "2000 middle 5 /bin/prog - 50 - 0 0 0\n";

static struct kl_schema *schema;
static struct kl_stacks *stacks;
static struct kl_profile *profile;

static void add_variable(const char *name)
{
	if (kl_schema_add_variable(schema, kl_variable_find(name)) < 0)
		abort();
}

static void make(void)
{
	static const struct kl_field fields[] = {
		{ .name = "ip", .type = KL_TYPE_U64, .count = 1 },
		{ .name = "user", .type = KL_TYPE_U64, .count = 1 },
	};
	const struct kl_class tick = { .name = "tick:250",
				       .group = "defined",
				       .help = "",
				       .fields = fields,
				       .n_fields = 2,
				       .syscall = -1 };

	schema = kl_schema_create();
	stacks = kl_stacks_parse(traces, strlen(traces));
	if (!schema || !stacks || kl_schema_define(schema, &tick) < 0)
		abort();
	add_variable("kstack");
	add_variable("ustack");
	kl_schema_set_stacks(schema, stacks);
}

/* One event of a task, @times. */
static void add(const char *event, int tid, const char *comm, unsigned int cpu, uint32_t kernel,
		uint32_t user, unsigned int times)
{
	uint8_t values[KL_VARIABLES_BYTES_MAX] = {};
	uint64_t payload[2] = { 0, !kernel };
	struct kl_event e = {
		.cpu = cpu,
		.ns = 1000,
		.event_class = kl_schema_find(schema, event),
		.task = { .tid = tid, .pid = tid & ~1 },
		.schema = schema,
		.variables = values,
		.payload = (const uint8_t *)payload,
		.payload_bytes = sizeof(payload),
	};

	memcpy(values + kl_schema_variable(schema, 0)->field.offset, &kernel, sizeof(kernel));
	memcpy(values + kl_schema_variable(schema, 1)->field.offset, &user, sizeof(user));
	snprintf(e.task.comm, sizeof(e.task.comm), "%s", comm);
	while (times--)
		if (kl_profile_add(profile, &e))
			abort();
}

static void begin(const char *event)
{
	kl_profile_destroy(profile);
	profile = kl_profile_create(schema, event);
	if (!profile)
		abort();
}

static const struct kl_profile_row *find(const struct kl_profile_row *rows, size_t n,
					 const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(rows[i].key[0], key))
			return &rows[i];
	return NULL;
}

static bool is(const struct kl_profile_row *rows, size_t n, const char *key, uint64_t self,
	       uint64_t total)
{
	const struct kl_profile_row *row = find(rows, n, key);

	return row && row->self == self && row->total == total;
}

static struct kl_profile_row *rows_by(enum kl_profile_key key, size_t *n)
{
	return kl_profile_rows(profile, &key, 1, n);
}

static void fill(void)
{
	begin(NULL);
	add("tick:250", 10, "prog", 0, 0, LEAF, 5);
	add("tick:250", 11, "prog", 1, 0, RECURSION, 3);
	add("tick:250", 10, "prog", 0, KERNEL, LEAF, 2);
	add("tick:250", 12, "other", 0, 0, STRIPPED, 4);
	add("tick:250", 12, "other", 0, 0, 0, 1);
	add("tick:250", 0, "swapper/0", 0, KERNEL, 0, 6);
	add("sched_switch", 10, "prog", 0, KERNEL, LEAF, 100);
}

static void test_counts(void)
{
	const struct kl_profile_counts *counts = kl_profile_counts(profile);

	unit_check(counts->samples == 15 && counts->idle == 6,
		   "only ticks are samples, idle ones apart");
	unit_check(counts->hz == 250, "their frequency");
	unit_check(counts->kernel == 2 && counts->modes == 15, "in the kernel or not");
	unit_check(counts->no_stack == 1 && counts->uncertain == 4,
		   "without a trace, and uncertain ones");
}

static void test_rows(void)
{
	const enum kl_profile_key two[] = { KL_PROFILE_PROCESS, KL_PROFILE_FUNCTION };
	struct kl_profile_row *rows;
	size_t n;

	rows = rows_by(KL_PROFILE_FUNCTION, &n);
	unit_check(n == 7 && is(rows, n, "leaf", 8, 10) && is(rows, n, "main", 0, 10),
		   "by function");
	unit_check(is(rows, n, "middle", 0, 10), "a recursive one counts once");
	unit_check(is(rows, n, "in_module", 2, 2) && is(rows, n, "do_syscall", 0, 2),
		   "what the kernel does belongs to the program, too");
	unit_check(!find(rows, n, "__traceiter_x"), "tracing is left out");
	unit_check(is(rows, n, "[prog+0x30]", 4, 4) && is(rows, n, "[unknown]", 1, 1),
		   "without a name");
	unit_check(!strcmp(rows[0].key[0], "leaf") && !strcmp(rows[0].function.object, "prog") &&
			   rows[0].function.kind == KL_PROFILE_PROGRAM,
		   "most samples first");
	free(rows);
	rows = rows_by(KL_PROFILE_OBJECT, &n);
	unit_check(is(rows, n, "prog", 12, 14) && is(rows, n, "a_module", 2, 2) &&
			   is(rows, n, "kernel", 0, 2),
		   "by object");
	free(rows);
	rows = rows_by(KL_PROFILE_LINE, &n);
	unit_check(is(rows, n, "src/leaf.c:7", 8, 10) && is(rows, n, "middle", 0, 10), "by line");
	free(rows);
	rows = rows_by(KL_PROFILE_PROCESS, &n);
	unit_check(n == 2 && is(rows, n, "prog", 10, 10) && rows[0].pid == 10 &&
			   is(rows, n, "other", 5, 5),
		   "by process");
	free(rows);
	rows = rows_by(KL_PROFILE_THREAD, &n);
	unit_check(n == 3 && rows[0].tid == 10 && rows[0].self == 7 && rows[2].tid == 11 &&
			   rows[2].self == 3,
		   "by thread");
	free(rows);
	rows = rows_by(KL_PROFILE_CPU, &n);
	unit_check(n == 2 && is(rows, n, "0", 12, 12) && is(rows, n, "1", 3, 3), "by CPU");
	free(rows);
	rows = kl_profile_rows(profile, two, 2, &n);
	unit_check(n == 7 && !strcmp(rows[0].key[0], "prog") && !strcmp(rows[0].key[1], "leaf") &&
			   rows[0].self == 8,
		   "by two keys");
	free(rows);
}

static void test_trees(void)
{
	struct kl_profile_node *root = kl_profile_tree(profile, KL_PROFILE_CALLEES, NULL), *node;

	node = root->child[0];
	unit_check(root->total == 15 && root->n == 3 && !strcmp(node->function->name, "main") &&
			   node->total == 10 && !node->self,
		   "a tree starts at the outermost functions");
	node = node->child[0];
	unit_check(!strcmp(node->function->name, "middle") && node->total == 10 && node->n == 2 &&
			   node->child[0]->total == 7 && node->child[0]->self == 5 &&
			   node->child[1]->total == 3,
		   "and has a node for each path");
	kl_profile_tree_destroy(root);
	root = kl_profile_tree(profile, KL_PROFILE_CALLEES, "middle");
	unit_check(root->total == 10 && root->n == 1 && root->child[0]->total == 10 &&
			   root->child[0]->n == 2,
		   "of one function");
	kl_profile_tree_destroy(root);
	root = kl_profile_tree(profile, KL_PROFILE_CALLERS, "middle");
	node = root->child[0];
	unit_check(root->total == 10 && node->n == 2 &&
			   !strcmp(node->child[0]->function->name, "main") &&
			   node->child[0]->total == 7 && node->child[1]->total == 3,
		   "of what calls it");
	kl_profile_tree_destroy(root);
	root = kl_profile_tree(profile, KL_PROFILE_CALLERS, NULL);
	unit_check(root->total == 15 && !strcmp(root->child[0]->function->name, "leaf") &&
			   root->child[0]->total == 8,
		   "of what calls the innermost ones");
	kl_profile_tree_destroy(root);
	unit_check(!kl_profile_tree(profile, KL_PROFILE_CALLERS, "absent") && errno == ENOENT,
		   "of one that is in no sample");
}

static bool is_place(const struct kl_profile_place *place, uint64_t offset, uint64_t self,
		     uint64_t total)
{
	return place->offset == offset && place->self == self && place->total == total;
}

static size_t first_or_second(const void *context, uint64_t offset)
{
	const uint64_t *second = context;

	return offset >= *second;
}

static void test_code(void)
{
	const uint64_t second = 6, all = 100;
	struct kl_profile_place place[2];
	struct kl_profile_code *code;
	size_t n;

	begin(NULL);
	add("tick:250", 10, "prog", 0, 0, LEAF, 5);
	add("tick:250", 11, "prog", 1, 0, RECURSION, 3);
	add("tick:250", 10, "prog", 0, KERNEL, LEAF, 2);
	add("tick:250", 10, "prog", 0, 0, INLINED, 4);
	code = kl_profile_code(profile, "leaf", &n);
	unit_check(n == 1 && code->self == 12 && code->total == 14 && code->n == 2 &&
			   is_place(&code->place[0], 5, 8, 10) &&
			   is_place(&code->place[1], 8, 4, 4),
		   "instructions of a function, and what is inlined there");
	unit_check(!code->kernel && code->start == 0x3b && !strcmp(code->object, "/bin/prog"),
		   "with its place in the file");
	kl_profile_code_free(code, n);
	code = kl_profile_code(profile, "middle", &n);
	unit_check(n == 1 && !code->self && code->total == 14 && code->n == 2 &&
			   is_place(&code->place[0], 4, 0, 14) &&
			   is_place(&code->place[1], 8, 0, 3),
		   "of a caller, the call, which precedes the return address");
	unit_check(!kl_profile_code_groups(profile, code, first_or_second, &second, place, 2) &&
			   is_place(&place[0], 0, 0, 14) && is_place(&place[1], 0, 0, 3),
		   "by groups");
	unit_check(!kl_profile_code_groups(profile, code, first_or_second, &all, place, 2) &&
			   is_place(&place[0], 0, 0, 14) && is_place(&place[1], 0, 0, 0),
		   "a recursive function counts once in a group");
	kl_profile_code_free(code, n);
	code = kl_profile_code(profile, "in_module", &n);
	unit_check(n == 1 && code->kernel && !strcmp(code->object, "a_module") &&
			   code->start == 0xfff1 - 5 && code->self == 2 && code->place->offset == 4,
		   "of a module");
	kl_profile_code_free(code, n);
	unit_check(!kl_profile_code(profile, "small", &n) && errno == ENOENT,
		   "none of a function that is inlined");
	unit_check(!kl_profile_code(profile, "absent", &n) && errno == ENOENT, "or in no sample");
	kl_profile_begin_slice(profile, 0);
	kl_profile_begin_slice(profile, 0);
	unit_check(!kl_profile_code(profile, "leaf", &n) && errno == ENOENT, "or forgotten");
}

static void test_flame(void)
{
	struct kl_flame *flame = kl_profile_flame(profile);
	struct kl_buffer text = { 0 };

	kl_flame_folded(flame, &text);
	unit_check(!strcmp(text.data,
			   "other;[prog+0x30] 4\nother;[unknown] 1\nprog;main;middle;leaf 5\n"
			   "prog;main;middle;leaf;do_syscall;in_module 2\n"
			   "prog;main;middle;middle;leaf 3\n"),
		   "folded");
	kl_buffer_deinit(&text);
	kl_flame_destroy(flame);
}

static void test_events(void)
{
	struct kl_schema *plain = kl_schema_create();

	begin("sched_switch");
	add("tick:250", 10, "prog", 0, 0, LEAF, 5);
	add("sched_switch", 0, "swapper/0", 0, KERNEL, 0, 2);
	add("sched_switch", 10, "prog", 0, KERNEL, LEAF, 3);
	unit_check(kl_profile_counts(profile)->samples == 5 && !kl_profile_counts(profile)->idle &&
			   !kl_profile_counts(profile)->hz,
		   "another event, whichever task is running");
	unit_check(!kl_profile_create(schema, "no_such_event") && errno == ENOENT, "no such event");
	unit_check(!kl_profile_create(plain, NULL) && errno == ENOENT, "no stack traces");
	kl_schema_destroy(plain);
}

/* A profile of two slices before the current one, of which each has an own function. */
static void test_slices(void)
{
	const struct kl_profile_counts *counts;
	struct kl_profile_node *root;
	struct kl_profile_row *rows;
	size_t n;

	begin(NULL);
	add("tick:250", 10, "prog", 0, 0, LEAF, 5);
	kl_profile_begin_slice(profile, 2);
	add("tick:250", 10, "prog", 0, 0, RECURSION, 3);
	add("tick:250", 0, "swapper/0", 0, KERNEL, 0, 6);
	kl_profile_begin_slice(profile, 2);
	add("tick:250", 12, "other", 0, 0, STRIPPED, 4);
	add("tick:250", 10, "prog", 0, 0, LEAF, 1);
	counts = kl_profile_counts(profile);
	unit_check(counts->samples == 13 && counts->idle == 6, "samples of all slices");
	kl_profile_begin_slice(profile, 2);
	unit_check(counts->samples == 8 && counts->idle == 6 && counts->hz == 250,
		   "those of the oldest are forgotten");
	rows = rows_by(KL_PROFILE_FUNCTION, &n);
	unit_check(is(rows, n, "leaf", 4, 4) && is(rows, n, "[prog+0x30]", 4, 4), "in rows");
	free(rows);
	root = kl_profile_tree(profile, KL_PROFILE_CALLEES, "middle");
	unit_check(root->total == 4, "and in trees");
	kl_profile_tree_destroy(root);
	add("tick:250", 10, "prog", 0, 0, LEAF, 2);
	kl_profile_begin_slice(profile, 0);
	rows = rows_by(KL_PROFILE_FUNCTION, &n);
	unit_check(!counts->samples && !counts->idle && !counts->kernel && !n && !rows && !errno,
		   "all are forgotten");
	unit_check(!kl_profile_tree(profile, KL_PROFILE_CALLEES, "leaf") && errno == ENOENT,
		   "in trees, too");
	add("tick:250", 10, "prog", 0, 0, LEAF, 2);
	rows = rows_by(KL_PROFILE_FUNCTION, &n);
	unit_check(counts->samples == 2 && n == 3 && is(rows, n, "leaf", 2, 2), "and come again");
	free(rows);
	unit_check(kl_profile_names(profile) > 5, "names stay");
}

static void zoom(enum kl_profile_key key, const struct kl_profile_row *row)
{
	const struct kl_profile_zoom zoom = { .key = key, .row = *row };

	kl_profile_zoom(profile, &zoom);
}

static uint64_t samples_in_rows(void)
{
	uint64_t sum = 0;
	size_t n;
	struct kl_profile_row *rows = rows_by(KL_PROFILE_FUNCTION, &n);

	for (size_t i = 0; i < n; i++)
		sum += rows[i].self;
	free(rows);
	return sum;
}

static void test_zoom(void)
{
	static const struct {
		enum kl_profile_key key;
		const char *row;
		uint64_t samples;
		const char *text;
	} tries[] = { { KL_PROFILE_PROCESS, "other", 5, "only those of a process" },
		      { KL_PROFILE_THREAD, "prog", 7, "of a thread" },
		      { KL_PROFILE_CPU, "1", 3, "of a CPU" },
		      { KL_PROFILE_CGROUP, "0", 15, "of a cgroup" } };
	struct kl_profile_node *root;

	fill();
	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		size_t n;
		struct kl_profile_row *rows = rows_by(tries[i].key, &n);

		zoom(tries[i].key, find(rows, n, tries[i].row));
		unit_check(samples_in_rows() == tries[i].samples, tries[i].text);
		kl_profile_zoom(profile, NULL);
		free(rows);
	}
	zoom(KL_PROFILE_THREAD, &(const struct kl_profile_row){ .tid = 11 });
	root = kl_profile_tree(profile, KL_PROFILE_CALLERS, "leaf");
	unit_check(root->total == 3, "in a tree, too");
	kl_profile_tree_destroy(root);
	unit_check(kl_profile_counts(profile)->samples == 15, "the totals are those of all");
	kl_profile_zoom(profile, NULL);
	unit_check(samples_in_rows() == 15, "all again");
}

/* A switch at a time, in ms. The state is that of the task that ran: 1 sleeps, 0 was preempted. */
static void switch_at(uint64_t ms, int from, int to, int64_t state, uint32_t kernel)
{
	uint8_t values[KL_VARIABLES_BYTES_MAX] = {};
	struct {
		char prev_comm[16];
		int32_t prev_tid, prev_prio;
		int64_t prev_state;
		char next_comm[16];
		int32_t next_tid, next_prio;
	} __attribute__((packed))
	payload = { .prev_tid = from, .prev_state = state, .next_tid = to };
	struct kl_event e = {
		.ns = ms * 1000000,
		.event_class = kl_schema_find(schema, "sched_switch"),
		.task = { .tid = from, .pid = from, .comm = "prog" },
		.schema = schema,
		.variables = values,
		.payload = (const uint8_t *)&payload,
		.payload_bytes = sizeof(payload),
	};

	memcpy(values + kl_schema_variable(schema, 0)->field.offset, &kernel, sizeof(kernel));
	if (kl_profile_add(profile, &e))
		abort();
}

static void begin_waits(bool partial)
{
	const pid_t own[2] = { 50, 0 };

	begin(NULL);
	kl_profile_leave_out(profile, own);
	if (kl_profile_include_waits(profile, partial))
		abort();
}

static void test_waits(void)
{
	const struct kl_profile_counts *counts;
	struct kl_profile_row *rows;
	size_t n;

	begin_waits(false);
	/* 4 ms for each tick. Thread 7 sleeps for 10 ms, 9 is preempted for 5; 11 still sleeps. */
	add("tick:250", 7, "prog", 0, 0, LEAF, 2);
	switch_at(10, 7, 9, 1, KERNEL);
	switch_at(20, 9, 7, 0, KERNEL);
	switch_at(25, 11, 9, 1, KERNEL);
	/* Kernlens itself, and a task that exits. */
	switch_at(26, 50, 13, 1, KERNEL);
	switch_at(27, 13, 50, 0x10, KERNEL);
	switch_at(28, 50, 7, 1, KERNEL);
	switch_at(30, 0, 15, 0, 0);
	switch_at(31, 15, 0, 2, 0);
	switch_at(33, 0, 15, 0, 0);
	if (kl_profile_finish(profile))
		abort();
	counts = kl_profile_counts(profile);
	unit_check(counts->samples == 8000000 + 25000000 && counts->waits == 25000000,
		   "ticks and waits, in ns");
	rows = rows_by(KL_PROFILE_FUNCTION, &n);
	unit_check(is(rows, n, "leaf", 8000000, 8000000), "the time of ticks");
	unit_check(is(rows, n, "[waits for a CPU]", 5000000, 5000000), "a task that was preempted");
	unit_check(is(rows, n, "[waits: interruptible]", 18000000, 18000000),
		   "one that slept, and one that has not been woken");
	unit_check(is(rows, n, "in_module", 0, 23000000), "in the function that waits");
	unit_check(is(rows, n, "[waits: unknown]", 2000000, 2000000), "without a stack trace");
	free(rows);
	rows = rows_by(KL_PROFILE_THREAD, &n);
	unit_check(!find(rows, n, "0") && n == 4, "neither idle tasks nor kernlens");
	free(rows);
	/* Of selected tasks: 9 is in the trace only because of 7. */
	begin_waits(true);
	add("tick:250", 7, "prog", 0, 0, LEAF, 1);
	switch_at(10, 9, 7, 1, KERNEL);
	switch_at(20, 7, 9, 1, KERNEL);
	switch_at(30, 0, 7, 0, 0);
	switch_at(31, 7, 0, 1, KERNEL);
	kl_profile_add_loss(profile);
	switch_at(40, 0, 7, 0, 0);
	if (kl_profile_finish(profile))
		abort();
	counts = kl_profile_counts(profile);
	unit_check(counts->waits == 10000000 && counts->samples == 14000000,
		   "other tasks, and waits in which records are missing, are left out");
	begin(NULL);
	unit_check(kl_profile_counts(profile)->waits == 0, "waits are counted on request only");
}

int main(void)
{
	make();
	fill();
	test_counts();
	test_rows();
	test_trees();
	test_flame();
	test_slices();
	test_zoom();
	test_waits();
	test_code();
	test_events();
	kl_profile_destroy(profile);
	kl_schema_destroy(schema);
	kl_stacks_destroy(stacks);
	return unit_end();
}
