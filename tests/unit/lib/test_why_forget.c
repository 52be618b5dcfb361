// SPDX-License-Identifier: GPL-2.0
/*
 * Timelines that forget: a machine does things at random, and two get its events. One forgets what
 * happened before each interval; what it says about the interval must be what the other one says.
 */
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "why_feed.h"

#define CPUS 2
#define FIRST_TID 100
#define TIDS 40
#define PACKETS 8
#define INTERVALS 120
#define EVENTS 300 /* in an interval */

enum state {
	FREE,
	READY,
	RUNNING,
	ASLEEP,
	ENDING
};

/* A machine. IDs of tasks that have ended are used again. */
static enum state state[TIDS];
static int current[CPUS]; /* index of a task; -1: idle */
static bool works[TIDS]; /* executes a work item */
static uint64_t now; /* microseconds */

static int tid_of(int task)
{
	return task < 0 ? 0 : FIRST_TID + task;
}

static int chance(int n)
{
	return rand() % n;
}

/* A task in a state, or -1. */
static int any(enum state wanted)
{
	int first = chance(TIDS);

	for (int i = 0; i < TIDS; i++)
		if (state[(first + i) % TIDS] == wanted)
			return (first + i) % TIDS;
	return -1;
}

static void switch_tasks(unsigned int cpu)
{
	int old = current[cpu], new = chance(4) ? any(READY) : -1;
	int64_t is = RUNS;

	if (old >= 0) {
		is = state[old] == ENDING ? DIES : chance(3) ? SLEEPS : RUNS;
		state[old] = is == DIES ? FREE : is == SLEEPS ? ASLEEP : READY;
	}
	if (new == old &&new < 0)
		return;
	change(now, cpu, tid_of(old), is, tid_of(new));
	if (new >= 0)
		state[new] = RUNNING;
	current[cpu] = new;
}

static void wake_one(unsigned int cpu)
{
	int task = any(ASLEEP);

	if (task < 0)
		return;
	wake(now, cpu, tid_of(current[cpu]), tid_of(task));
	state[task] = READY;
}

static void wake_from_interrupt(unsigned int cpu)
{
	static const char *const devices[] = { "disk", "network", "keyboard" };

	in_irq = IN_IRQ;
	interrupt("irq_handler_entry", now, cpu, devices[chance(3)]);
	wake_one(cpu);
	interrupt("irq_handler_exit", now, cpu, NULL);
	in_irq = IN_TASK;
}

static void send_packet(unsigned int cpu)
{
	uint64_t address = 0x1000 + 0x100 * (uint64_t)chance(PACKETS);

	packet("net_dev_queue", now, cpu, tid_of(current[cpu]), address, "lo");
	now += (uint64_t)chance(100);
	in_irq = IN_SOFTIRQ;
	interrupt("irq_softirq_entry", now, cpu, NULL);
	packet("netif_receive_skb", now, cpu, tid_of(current[cpu]), address, "lo");
	wake_one(cpu);
	interrupt("irq_softirq_exit", now, cpu, NULL);
	in_irq = IN_TASK;
}

static void do_work(unsigned int cpu)
{
	int task = current[cpu];
	uint64_t address = 0x8000 + 0x100 * (uint64_t)chance(PACKETS);

	if (works[task])
		work("workqueue_execute_end", now, cpu, tid_of(task), 0x8000);
	else if (chance(2))
		work("workqueue_queue_work", now, cpu, tid_of(task), address);
	else
		work("workqueue_execute_start", now, cpu, tid_of(task), address);
	works[task] = !works[task];
}

static void begin_or_end(unsigned int cpu)
{
	int child = any(FREE);

	if (state[current[cpu]] == ENDING)
		return;
	if (child >= 0 && chance(2)) {
		fork_at(now, tid_of(current[cpu]), tid_of(child));
		state[child] = READY;
		works[child] = false;
	} else if (chance(2)) {
		exit_at(now, cpu, tid_of(current[cpu]));
		state[current[cpu]] = ENDING;
	}
}

static void do_something(void)
{
	unsigned int cpu = (unsigned int)chance(CPUS);
	int what = chance(20);

	now += 1 + (uint64_t)chance(chance(10) ? 1000 : 20000);
	if (current[cpu] < 0 || what < 8)
		switch_tasks(cpu);
	else if (what < 12)
		wake_one(cpu);
	else if (what < 14)
		wake_from_interrupt(cpu);
	else if (what < 16)
		send_packet(cpu);
	else if (what < 19)
		do_work(cpu);
	else
		begin_or_end(cpu);
}

/* --------------------------------------------------------------------- tests */

static bool is_same(const struct kl_why_node *a, const struct kl_why_node *b)
{
	if (a->kind != b->kind || strcmp(a->text, b->text) || a->ns != b->ns ||
	    a->uncertain_ns != b->uncertain_ns || a->count != b->count || a->at_ns != b->at_ns ||
	    a->longest_ns != b->longest_ns || a->at_tid != b->at_tid || a->tid != b->tid ||
	    a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!is_same(a->child[i], b->child[i]))
			return false;
	return true;
}

/* Is the time of a task explained alike? Adds the number of parts. */
static bool agree(int task, uint64_t from_us, size_t *parts)
{
	struct kl_why_node *a, *b;
	size_t in_why, in_twin;
	bool same, found = kl_why_find(why, tid_of(task), &in_why);

	if (kl_why_find(twin, tid_of(task), &in_twin) != found)
		return state[task] == FREE;
	if (!found)
		return true;
	a = kl_why_explain(why, in_why, from_us * 1000, now * 1000);
	b = kl_why_explain(twin, in_twin, from_us * 1000, now * 1000);
	same = a && b && is_same(a, b) && adds_up(b);
	*parts += a ? a->n : 0;
	kl_why_node_destroy(a);
	kl_why_node_destroy(b);
	return same;
}

static void start(void)
{
	now = 1000;
	begin();
	twin = kl_why_create(schema);
	if (!twin)
		abort();
	for (int i = 0; i < TIDS; i++) {
		state[i] = i < TIDS / 2 ? i % 2 ? READY : ASLEEP : FREE;
		works[i] = false;
	}
	for (int cpu = 0; cpu < CPUS; cpu++)
		current[cpu] = -1;
}

/* @lag: the interval before this one is not forgotten yet, and explained once more */
static void test_random(unsigned int seed, bool lag)
{
	size_t parts = 0, n_why, n_twin, most = 0, wrong = 0;
	uint64_t from = 0, before = 0;
	char text[96];

	srand(seed);
	start();
	for (int interval = 0; interval < INTERVALS; interval++) {
		for (int i = 0; i < EVENTS; i++)
			do_something();
		now += 1000;
		kl_why_advance(why, now * 1000);
		kl_why_advance(twin, now * 1000);
		for (int task = 0; task < TIDS; task++)
			wrong += !agree(task, lag ? before : from, &parts);
		if (kl_why_forget(twin, (lag ? from : now) * 1000))
			abort();
		kl_why_tasks(twin, &n_twin);
		if (n_twin > most)
			most = n_twin;
		before = from;
		from = now;
	}
	kl_why_tasks(why, &n_why);
	snprintf(text, sizeof(text), "seed %u: all is explained alike (%zu of %d not)", seed, wrong,
		 TIDS * INTERVALS);
	unit_check(!wrong && parts > 20 * INTERVALS, text);
	snprintf(text, sizeof(text), "of %zu tasks, at most %zu were remembered at once", n_why,
		 most);
	unit_check(n_why > 5 * most && most < 3 * TIDS, text);
	kl_why_destroy(twin);
	twin = NULL;
}

/* A wait of many intervals keeps its reason and its begin, until it has ended. */
static void test_wait(void)
{
	struct kl_why_node *node;
	int right = 0;

	begin();
	change(1000, 0, OTHER, RUNS, MAIN);
	change(1100, 0, MAIN, SLEEPS, 0);
	for (uint64_t s = 1; s < 100; s++) {
		kl_why_advance(why, s * 1000000000);
		node = explain(MAIN, (s - 1) * 1000000, s * 1000000);
		right += us_of(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_UNKNOWN,
				    KL_WHY_NOT_OVER)) == 1000000;
		kl_why_node_destroy(node);
		if (kl_why_forget(why, s * 1000000000))
			abort();
	}
	unit_check(right == 98, "a wait that goes on is known after each second but the first");
	change(99100000, 0, 0, RUNS, HELPER);
	wake(99500000, 0, HELPER, MAIN);
	change(99500000, 0, HELPER, SLEEPS, MAIN);
	kl_why_advance(why, 100000000000);
	node = explain(MAIN, 99000000, 100000000);
	unit_check(us_of(part(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_TASK, "helper"),
			      KL_WHY_RUNNING, "")) == 400000 &&
			   us_of(part(node, KL_WHY_RUNNING, "")) == 500000,
		   "who has ended it");
	kl_why_node_destroy(node);
	unit_check(!kl_why_forget(why, UINT64_MAX), "all can be forgotten");
	node = explain(MAIN, 0, 200000000);
	unit_check(node && adds_up(node), "and the task is still there");
	kl_why_node_destroy(node);
}

int main(void)
{
	schema = kl_schema_create();
	if (!schema || kl_schema_add_variable(schema, kl_variable_find("in_irq")) < 0)
		abort();
	has_in_irq = true;
	for (unsigned int seed = 1; seed <= 6; seed++)
		test_random(seed, seed % 2);
	test_wait();
	kl_why_destroy(why);
	kl_schema_destroy(schema);
	return unit_end();
}
