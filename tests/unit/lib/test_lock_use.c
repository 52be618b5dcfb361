// SPDX-License-Identifier: GPL-2.0
/* How locks are used, and what is wrong with it, from events of calls that are made here. */
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "unit.h"

#define US 1000ull
#define ENABLED 0x200ull /* interrupts, in rflags */

/* Addresses of locks. */
enum {
	A = 0x1000,
	B = 0x2000,
	C = 0x3000,
};

/* Contexts. */
enum {
	TASK,
	SOFTIRQ,
	IRQ,
};

static const struct kl_field fields[] = {
	{ .name = "lock", .type = KL_TYPE_U64, .count = 1, .bytes = 8, .offset = 0 },
	{ .name = "result", .type = KL_TYPE_U64, .count = 1, .bytes = 8, .offset = 8 },
	{ .name = "flags", .type = KL_TYPE_U64, .count = 1, .bytes = 8, .offset = 16 },
	{ .name = "word", .type = KL_TYPE_U64, .count = 1, .bytes = 8, .offset = 24 },
	{ .name = "owner", .type = KL_TYPE_U64, .count = 1, .bytes = 8, .offset = 32 },
};

static struct kl_schema *schema;
static struct kl_lock_use *use;
static struct kl_lock_layout layout;
static uint64_t now;

/* Who makes the next calls, and how it is there. */
static struct {
	int tid;
	unsigned int cpu;
	unsigned int context;
	uint64_t flags;
	uint32_t preempt_count;
} who;

static void set(int tid, unsigned int context, uint64_t flags)
{
	who.tid = tid;
	who.context = context;
	who.flags = flags;
	who.preempt_count = 0;
}

static void define(const char *name)
{
	const struct kl_class class = {
		.name = name,
		.group = "defined",
		.help = "",
		.fields = fields,
		.n_fields = sizeof(fields) / sizeof(*fields),
	};

	if (!kl_schema_find(schema, name) && kl_schema_define(schema, &class) < 0)
		abort();
}

static void begin(void)
{
	kl_lock_use_destroy(use);
	use = kl_lock_use_create(schema, &layout, 10000 * US);
	if (!use)
		abort();
	now = US;
	set(10, TASK, ENABLED);
	who.cpu = 0;
}

static void set_variable(uint8_t *values, const char *name, uint32_t value)
{
	int index = kl_schema_find_variable(schema, name);
	const struct kl_field *field = &kl_schema_variable(schema, (unsigned int)index)->field;

	memcpy(values + field->offset, &value, field->bytes < 4 ? field->bytes : 4);
}

static void add(const char *name, const void *payload, size_t bytes)
{
	uint8_t values[KL_VARIABLES_BYTES_MAX] = {};
	struct kl_event event = {
		.cpu = who.cpu,
		.ns = now,
		.event_class = kl_schema_find(schema, name),
		.task = { .tid = who.tid, .pid = who.tid },
		.schema = schema,
		.variables = values,
		.payload = payload,
		.payload_bytes = (uint32_t)bytes,
	};

	set_variable(values, "kstack", 1);
	set_variable(values, "in_irq", who.context);
	set_variable(values, "preempt_count", who.preempt_count);
	snprintf(event.task.comm, sizeof(event.task.comm), "task%d", who.tid);
	if (!event.event_class || kl_lock_use_add(use, &event))
		abort();
	now += 10 * US;
}

/* A call, of a lock with these words. */
static void call_words(const char *function, const char *called, uint64_t lock, uint64_t word,
		       uint64_t owner)
{
	const uint64_t payload[] = { lock, 0, who.flags, word, owner };
	char name[128];

	snprintf(name, sizeof(name), "call:%s:%s", function, called);
	define(name);
	add(name, payload, sizeof(payload));
}

/* A call, of a lock both of whose words are @word. */
static void call_at(const char *function, const char *called, uint64_t lock, uint64_t word)
{
	call_words(function, called, lock, word, word);
}

static void returns(const char *function, const char *called, uint64_t result)
{
	const uint64_t payload[] = { 0, result, who.flags, 0, 0 };
	char name[128];

	snprintf(name, sizeof(name), "call:%s:%s:ret", function, called);
	add(name, payload, sizeof(payload));
}

/* A call that takes a free lock, and comes back. */
static void take(const char *function, const char *called, uint64_t lock)
{
	char name[128];

	snprintf(name, sizeof(name), "call:%s:%s:ret", function, called);
	define(name);
	call_at(function, called, lock, 0);
	returns(function, called, 0);
}

/* A call that releases a lock that is held. */
static void release(const char *function, const char *called, uint64_t lock)
{
	call_at(function, called, lock, ~0ull);
}

static void leave(const char *how)
{
	const uint64_t payload[16] = {};

	add(how, payload, sizeof(payload));
}

/* Are these all faults, each "KIND at FUNCTION"? */
static bool faults_are(const char *expected)
{
	const struct kl_lock_fault *fault;
	char text[1024] = "";
	size_t used = 0;

	for (size_t i = 0; (fault = kl_lock_use_fault(use, i)); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s at %.*s",
					 i ? ", " : "", kl_lock_fault_name(fault->kind),
					 (int)strcspn(fault->here.call, ":"), fault->here.call);
	if (strcmp(text, expected))
		printf("# expected \"%s\", got \"%s\"\n", expected, text);
	return !strcmp(text, expected);
}

static void test_right(void)
{
	size_t n;
	struct kl_lock_times *times;

	begin();
	take("f", "mutex_lock", A);
	take("f", "mutex_lock", B);
	release("f", "mutex_unlock", B);
	release("f", "mutex_unlock", A);
	leave("tp:sys_exit");
	unit_check(faults_are("") && !kl_lock_use_finish(use, NULL, NULL) && faults_are(""),
		   "locks that are taken and released");
	times = kl_lock_use_times(use, &n);
	unit_check(n == 2 && times[0].lock == A && times[0].taken == 1 && times[0].releases == 1 &&
			   times[0].waited_ns == 10 * US && times[0].held_ns == 40 * US &&
			   times[0].worst_held_ns == 40 * US && times[1].lock == B &&
			   times[1].held_ns == 10 * US && times[1].type == KL_LOCK_MUTEX,
		   "have times");
	free(times);
}

static void test_release(void)
{
	begin();
	call_at("f", "mutex_unlock", A, 0);
	call_at("g", "mutex_unlock", B, ~0ull);
	unit_check(faults_are("released_free at f"),
		   "a lock that is free, and one that was taken before");
	begin();
	take("f", "mutex_lock", A);
	set(11, TASK, ENABLED);
	release("g", "mutex_unlock", A);
	release("g", "mutex_unlock", A);
	unit_check(faults_are("released_foreign at g"), "another task's");
	begin();
	take("f", "down_read", A);
	set(11, TASK, ENABLED);
	release("g", "up_read", A);
	unit_check(faults_are(""), "another reader's");
	begin();
	take("f", "down", A);
	set(11, TASK, ENABLED);
	release("g", "up", A);
	unit_check(faults_are(""), "a semaphore");
	begin();
	take("f", "down_write", A);
	call_at("f", "downgrade_write", A, 1);
	release("f", "up_read", A);
	take("f", "down_read", A);
	release("g", "up_write", A);
	unit_check(faults_are("wrong_mode at g"), "for reading and for writing");
}

static void test_try(void)
{
	begin();
	take("f", "mutex_lock", A);
	define("call:g:mutex_trylock:ret");
	set(11, TASK, ENABLED);
	call_at("g", "mutex_trylock", A, ~0ull);
	returns("g", "mutex_trylock", 0);
	release("g", "mutex_unlock", A);
	unit_check(faults_are("released_foreign at g"), "a lock that was not there");
	begin();
	define("call:g:mutex_lock_killable:ret");
	call_at("g", "mutex_lock_killable", A, ~0ull);
	returns("g", "mutex_lock_killable", (uint64_t)-4);
	leave("tp:sys_exit");
	unit_check(faults_are("") && !kl_lock_use_finish(use, NULL, NULL) && faults_are(""),
		   "a wait that was interrupted");
	begin();
	define("call:g:mutex_trylock:ret");
	call_at("g", "mutex_trylock", A, 0);
	returns("g", "mutex_trylock", 0xffffffff00000000ull);
	leave("sched_process_exit");
	unit_check(!kl_lock_use_finish(use, NULL, NULL) && faults_are(""),
		   "an int's upper half means nothing");
}

static bool is_held(void *context, uint64_t address, uint64_t *word)
{
	*word = address == A ? ~0ull : 0;
	return context;
}

static void test_kept(void)
{
	begin();
	take("f", "mutex_lock", A);
	leave("tp:sys_exit");
	release("g", "mutex_unlock", A);
	unit_check(faults_are("kept at f"), "released by the next system call");
	begin();
	take("f", "mutex_lock", A);
	take("f", "mutex_lock", B);
	leave("tp:sys_exit");
	unit_check(!kl_lock_use_finish(use, is_held, &now) && faults_are("kept at f") &&
			   kl_lock_use_fault(use, 0)->certain,
		   "memory says which is still held");
	begin();
	take("f", "mutex_lock", A);
	leave("sched_process_exit");
	unit_check(!kl_lock_use_finish(use, is_held, NULL) && faults_are("left at f") &&
			   !kl_lock_use_fault(use, 0)->certain,
		   "without memory it is uncertain");
	begin();
	take("f", "mutex_lock", A);
	leave("sched_process_exit");
	set(11, TASK, ENABLED);
	take("g", "mutex_lock", B);
	release("h", "mutex_unlock", A);
	unit_check(faults_are("released_foreign at h") &&
			   kl_lock_use_fault(use, 0)->there.tid == 10,
		   "a lock of a task that has exited");
	begin();
	take("f", "mutex_lock", A);
	leave("tp:sys_exit");
	set(11, TASK, ENABLED);
	take("g", "mutex_lock", A);
	release("g", "mutex_unlock", A);
	unit_check(!kl_lock_use_finish(use, NULL, NULL) && faults_are(""),
		   "released where this is not recorded");
	begin();
	take("f", "mutex_lock", A);
	leave("tp:sys_exit");
	take("g", "mutex_lock", B);
	release("g", "mutex_unlock", B);
	take("g", "mutex_lock", B);
	take("g", "mutex_lock", C);
	unit_check(faults_are(""), "and no lock is taken after it");
}

static void test_twice(void)
{
	begin();
	take("f", "_raw_read_lock", A);
	call_at("g", "_raw_read_lock", A, 0x200);
	unit_check(faults_are("twice at g"), "an rwlock has its reader twice");
	begin();
	take("f", "_raw_read_lock_bh", A);
	who.preempt_count = 0x200;
	call_at("g", "_raw_read_lock", A, 0x200);
	unit_check(faults_are(""), "with softirqs disabled it may");
	begin();
	take("f", "down_read", A);
	call_at("g", "down_read", A, 0x100);
	unit_check(faults_are("twice at g"), "an rwsem does not");
	begin();
	take("f", "_raw_spin_lock", A);
	set(10, IRQ, 0);
	take("g", "_raw_spin_lock", A);
	unit_check(faults_are("in_irq at g"), "an interrupt is not the task");
}

static void test_order(void)
{
	begin();
	take("f", "mutex_lock", A);
	take("f", "mutex_lock", B);
	release("f", "mutex_unlock", A);
	release("f", "mutex_unlock", B);
	set(11, TASK, ENABLED);
	take("g", "mutex_lock", B);
	define("call:g:mutex_trylock:ret");
	call_at("g", "mutex_trylock", A, 0);
	returns("g", "mutex_trylock", 1);
	release("g", "mutex_unlock", A);
	unit_check(faults_are(""), "a lock that is only tried has no order");
	take("h", "mutex_lock", A);
	unit_check(faults_are("order at h") && kl_lock_use_fault(use, 0)->steps == 2 &&
			   kl_lock_use_fault(use, 0)->step[0].held == A &&
			   kl_lock_use_fault(use, 0)->step[1].held == B,
		   "two locks in both orders");
	release("h", "mutex_unlock", A);
	take("h", "mutex_lock", A);
	unit_check(kl_lock_use_fault(use, 0)->times == 1 && !kl_lock_use_fault(use, 1),
		   "are reported once");
	begin();
	take("f", "mutex_lock", A);
	take("f", "mutex_lock", B);
	release("f", "mutex_unlock", B);
	release("f", "mutex_unlock", A);
	call_at("f", "__mutex_init", A, 0);
	take("g", "mutex_lock", B);
	take("g", "mutex_lock", A);
	unit_check(faults_are(""), "a lock that is initialized again is another one");
	begin();
	take("f", "mutex_lock", A);
	take("f", "mutex_lock", B);
	kl_lock_use_add_loss(use);
	take("g", "mutex_lock", C);
	release("g", "mutex_unlock", B);
	unit_check(faults_are(""), "after a loss nothing is held");
}

static void test_contexts(void)
{
	begin();
	take("f", "_raw_spin_lock", A);
	release("f", "_raw_spin_unlock", A);
	set(10, SOFTIRQ, ENABLED);
	take("g", "_raw_spin_lock", A);
	release("g", "_raw_spin_unlock", A);
	unit_check(faults_are("in_irq at g"), "a softirq's lock, taken with softirqs enabled");
	begin();
	take("f", "_raw_spin_lock_bh", A);
	release("f", "_raw_spin_unlock_bh", A);
	who.preempt_count = 0x200;
	take("f", "_raw_spin_lock", A);
	release("f", "_raw_spin_unlock", A);
	set(10, SOFTIRQ, ENABLED);
	take("g", "_raw_spin_lock", A);
	release("g", "_raw_spin_unlock", A);
	unit_check(faults_are(""), "and with softirqs disabled");
	set(10, IRQ, 0);
	take("h", "_raw_spin_lock", A);
	unit_check(faults_are("in_irq at h"), "that is not enough for an interrupt's");
	begin();
	take("f", "_raw_read_lock", A);
	release("f", "_raw_read_unlock", A);
	set(10, IRQ, 0);
	take("g", "_raw_read_lock", A);
	release("g", "_raw_read_unlock", A);
	unit_check(faults_are(""), "both only read");
	begin();
	set(10, TASK, 0);
	take("f", "mutex_lock", A);
	set(10, IRQ, 0);
	call_at("g", "mutex_trylock", B, 0);
	unit_check(faults_are("sleep_irq at f, sleep_irq at g"), "a mutex without interrupts");
	begin();
	take("f", "_raw_spin_lock", A);
	call_at("f", "msleep", 0, 0);
	unit_check(faults_are("sleep_spin at f"), "sleeping with a spinlock");
}

static void test_realtime(void)
{
	layout.realtime = true;
	begin();
	set(10, SOFTIRQ, ENABLED);
	take("f", "rt_spin_lock", A);
	take("f", "rt_spin_lock", B);
	release("f", "rt_spin_unlock", B);
	release("f", "rt_spin_unlock", A);
	set(11, TASK, ENABLED);
	take("g", "rt_spin_lock", A);
	release("g", "rt_spin_unlock", A);
	unit_check(faults_are(""), "a spinlock that sleeps, in a softirq's thread and elsewhere");
	begin();
	take("f", "rt_spin_lock", A);
	take("f", "mutex_lock", B);
	unit_check(faults_are("sleep_spin at f"), "but no mutex with it");
	begin();
	take("f", "_raw_spin_lock", A);
	take("f", "rt_spin_lock", B);
	unit_check(faults_are("sleep_spin at f"), "nor with a raw spinlock");
	begin();
	set(10, IRQ, 0);
	take("f", "rt_spin_lock", A);
	define("call:g:rt_spin_trylock:ret");
	call_at("g", "rt_spin_trylock", B, 0);
	unit_check(faults_are("sleep_irq at f, sleep_irq at g"), "nor in an interrupt");
	begin();
	take("f", "rt_read_lock", A);
	who.preempt_count = 0x200;
	call_at("g", "rt_read_lock", A, 0x80000001);
	unit_check(faults_are("twice at g"), "readers wait behind writers everywhere");
	begin();
	call_words("f", "mutex_unlock", A, 0, 0x1000);
	call_words("f", "rt_spin_unlock", A, 0, 0x1000);
	call_words("f", "up_read", A, 0x80000001, 0);
	call_words("f", "rt_write_unlock", A, 0x40000000, 0);
	unit_check(faults_are(""), "locks that are held");
	call_words("f", "mutex_unlock", A, ~0ull, 0);
	call_words("g", "rt_spin_unlock", B, ~0ull, 0);
	call_words("h", "up_read", C, 0x80000000, ~0ull);
	unit_check(faults_are("released_free at f, released_free at g, released_free at h"),
		   "and locks that are free");
	begin();
	call_words("f", "rt_write_unlock", A, 0x80000001, ~0ull);
	call_words("g", "up_write", B, 0x80000000, ~0ull);
	unit_check(faults_are("released_free at f, released_free at g"), "also for writing");
	layout.realtime = false;
}

static void test_layout(void)
{
	struct kl_lock_layout found;
	struct kl_buffer text = { 0 };

	found = kl_lock_layout_of(NULL, "#1 SMP PREEMPT_DYNAMIC Debian 6.12.118-1");
	unit_check(found.owner_at == 24 && !found.realtime, "a kernel without PREEMPT_RT");
	found = kl_lock_layout_of(NULL, "#1 SMP PREEMPT_RT Debian 6.12.118-1");
	unit_check(found.realtime, "and one with it");
	found.owner_at = 88;
	kl_lock_use_fields(&text, &found);
	unit_check(strstr(text.data, "owner=*(u64 *)(rdi+88)"), "where the owner is");
	kl_buffer_deinit(&text);
}

static void test_bounds(void)
{
	begin();
	for (uint64_t i = 1; i <= 100; i++)
		take("f", "_raw_spin_lock", i * 64);
	for (uint64_t i = 100; i; i--)
		release("f", "_raw_spin_unlock", i * 64);
	unit_check(faults_are(""), "more locks than a task can hold");
	begin();
	take("f", "mutex_lock", A);
	now += 20000 * US;
	release("f", "mutex_unlock", A);
	unit_check(faults_are("long at f") && kl_lock_use_fault(use, 0)->held_ns == 20010 * US,
		   "held longer than the limit");
}

int main(void)
{
	schema = kl_schema_create();
	if (!schema || kl_schema_add_variable(schema, kl_variable_find("kstack")) < 0 ||
	    kl_schema_add_variable(schema, kl_variable_find("in_irq")) < 0 ||
	    kl_schema_add_variable(schema, kl_variable_find("preempt_count")) < 0)
		abort();
	unit_check(!kl_lock_use_is_in(schema), "a schema without calls");
	define("tp:sys_exit");
	define("call:f+0x10:schedule_work");
	unit_check(!kl_lock_use_is_in(schema), "calls of other functions");
	test_right();
	unit_check(kl_lock_use_is_in(schema), "calls that take locks");
	test_release();
	test_try();
	test_kept();
	test_twice();
	test_order();
	test_contexts();
	test_realtime();
	test_layout();
	test_bounds();
	kl_lock_use_destroy(use);
	kl_schema_destroy(schema);
	return unit_end();
}
