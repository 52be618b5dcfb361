// SPDX-License-Identifier: GPL-2.0
/* Where the time of a task went, from switches and wakeups made here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "unit.h"

/* States of sched_switch, and values of in_irq. */
enum {
	RUNS = 0,
	SLEEPS = 1,
	STOPS = 4,
	DIES = 0x80,
};

enum {
	IN_TASK,
	IN_SOFTIRQ,
	IN_IRQ,
};

#define MAIN 10
#define HELPER 11
#define CHILD 12
#define OTHER 13

static struct kl_schema *schema;
static struct kl_why *why;
static uint8_t in_irq;

/* Fields are packed in the order of the class. */
struct payload {
	uint8_t bytes[256];
	uint32_t n;
};

static void put(struct payload *p, const void *bytes, size_t n)
{
	memcpy(p->bytes + p->n, bytes, n);
	p->n += (uint32_t)n;
}

static void put_number(struct payload *p, int64_t number, size_t n)
{
	put(p, &number, n);
}

static void put_comm(struct payload *p, const char *comm)
{
	char text[KL_COMM_LEN] = "";

	strncpy(text, comm, sizeof(text) - 1);
	put(p, text, sizeof(text));
}

static int try_add(const char *event, uint64_t us, unsigned int cpu, int tid,
		   const struct payload *p)
{
	uint8_t values[KL_VARIABLES_BYTES_MAX] = {};
	struct kl_event e = {
		.cpu = cpu,
		.ns = us * 1000,
		.event_class = kl_schema_find(schema, event),
		.task = { .tid = tid, .pid = tid },
		.schema = schema,
		.variables = values,
		.payload = p->bytes,
		.payload_bytes = p->n,
	};

	if (kl_schema_variable(schema, 0))
		values[kl_schema_variable(schema, 0)->field.offset] = in_irq;
	if (!e.event_class)
		abort();
	return kl_why_add(why, &e);
}

static void add(const char *event, uint64_t us, unsigned int cpu, int tid, const struct payload *p)
{
	if (try_add(event, us, cpu, tid, p))
		abort();
}

static const char *name_of(int tid)
{
	return tid == MAIN ? "main" : tid == HELPER ? "helper" : tid == CHILD ? "child" : "other";
}

static void change(uint64_t us, unsigned int cpu, int from, int64_t state, int to)
{
	struct payload p = { .n = 0 };

	put_comm(&p, name_of(from));
	put_number(&p, from, 4);
	put_number(&p, 20, 4);
	put_number(&p, state, 8);
	put_comm(&p, name_of(to));
	put_number(&p, to, 4);
	put_number(&p, 20, 4);
	add("sched_switch", us, cpu, from, &p);
}

static void wake(uint64_t us, unsigned int cpu, int waker, int tid)
{
	struct payload p = { .n = 0 };

	put_comm(&p, name_of(tid));
	put_number(&p, tid, 4);
	put_number(&p, 20, 4);
	put_number(&p, cpu, 4);
	add("sched_waking", us, cpu, waker, &p);
}

/* @name: of a device; NULL: softirq NET_RX, or no name */
static void interrupt(const char *event, uint64_t us, unsigned int cpu, const char *name)
{
	struct payload p = { .n = 0 };

	put_number(&p, 3, 4);
	if (name)
		put(&p, name, strlen(name) + 1);
	add(event, us, cpu, 0, &p);
}

/* A packet of the loopback device, in its numbers only the address. */
static void packet(const char *event, uint64_t us, unsigned int cpu, int tid, uint64_t address,
		   const char *device)
{
	static const uint8_t others[28];
	struct payload p = { .n = 0 };

	put_number(&p, (int64_t)address, 8);
	put(&p, others, sizeof(others));
	put(&p, device, strlen(device) + 1);
	add(event, us, cpu, tid, &p);
}

static void work(const char *event, uint64_t us, unsigned int cpu, int tid, uint64_t address)
{
	struct payload p = { .n = 0 };

	put_number(&p, (int64_t)address, 8);
	put_number(&p, 0x1000, 8);
	if (!strcmp(event, "workqueue_queue_work"))
		put_number(&p, 0, 8);
	add(event, us, cpu, tid, &p);
}

static void fork_at(uint64_t us, int parent, int child)
{
	struct payload p = { .n = 0 };

	put_comm(&p, name_of(parent));
	put_number(&p, parent, 4);
	put_number(&p, parent, 4);
	put_number(&p, 1, 4);
	put_comm(&p, name_of(child));
	put_number(&p, child, 4);
	put_number(&p, 0, 4);
	put_number(&p, child, 4);
	put_number(&p, 1, 4);
	add("sched_process_fork", us, 0, parent, &p);
}

static void begin(void)
{
	kl_why_destroy(why);
	why = kl_why_create(schema);
	in_irq = IN_TASK;
	if (!why)
		abort();
}

static struct kl_why_node *explain(int tid, uint64_t from_us, uint64_t to_us)
{
	size_t n;
	const struct kl_why_task *tasks = kl_why_tasks(why, &n);

	for (size_t i = n; i--;)
		if (tasks[i].tid == tid)
			return kl_why_explain(why, i, from_us * 1000, to_us * 1000);
	return NULL;
}

static uint64_t us_of(const struct kl_why_node *node)
{
	return node ? node->ns / 1000 : 0;
}

static const struct kl_why_node *part(const struct kl_why_node *node, enum kl_why_kind kind,
				      const char *text)
{
	for (size_t i = 0; node && i < node->n; i++)
		if (node->child[i]->kind == kind && (!text || !strcmp(node->child[i]->text, text)))
			return node->child[i];
	return NULL;
}

/* Do the parts of each node add up to it? */
static bool adds_up(const struct kl_why_node *node)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < node->n; i++) {
		sum += node->child[i]->ns;
		if (!adds_up(node->child[i]))
			return false;
	}
	return !node->n || sum == node->ns;
}

/* Main sleeps from 100 to 500; the helper, which sleeps until 200, wakes it. A timer wakes that. */
static void test_chain(void)
{
	const struct kl_why_node *wait, *helper;
	struct kl_why_node *node;

	begin();
	change(0, 0, OTHER, RUNS, MAIN);
	change(10, 1, HELPER, SLEEPS, 0);
	change(100, 0, MAIN, SLEEPS, 0);
	in_irq = IN_IRQ;
	interrupt("irq_handler_entry", 199, 1, "disk");
	wake(200, 1, 0, HELPER);
	interrupt("irq_handler_exit", 201, 1, NULL);
	in_irq = IN_TASK;
	change(250, 1, 0, RUNS, HELPER);
	wake(500, 1, HELPER, MAIN);
	change(520, 0, 0, RUNS, MAIN);
	change(1000, 0, MAIN, RUNS, OTHER);
	node = explain(MAIN, 0, 1000);
	unit_check(node->ns == 1000000 && adds_up(node), "all time is attributed, once");
	unit_check(us_of(part(node, KL_WHY_RUNNING, "")) == 580, "running");
	unit_check(us_of(part(node, KL_WHY_RUNNABLE, "")) == 20 &&
			   us_of(part(part(node, KL_WHY_RUNNABLE, ""), KL_WHY_IDLE, "")) == 20,
		   "runnable, while the CPU wakes up");
	wait = part(node, KL_WHY_WAIT, NULL);
	helper = part(wait, KL_WHY_TASK, "helper");
	unit_check(us_of(wait) == 400 && us_of(helper) == 400 && helper->tid == HELPER &&
			   !wait->uncertain_ns,
		   "a wait, and who ended it");
	unit_check(us_of(part(helper, KL_WHY_RUNNING, "")) == 250 &&
			   us_of(part(helper, KL_WHY_RUNNABLE, "")) == 50,
		   "who was running in the rest of it");
	unit_check(us_of(part(part(helper, KL_WHY_WAIT, NULL), KL_WHY_IRQ, "disk")) == 100,
		   "and had waited for a device, in the time of the wait only");
	kl_why_node_destroy(node);
	node = explain(MAIN, 300, 510);
	unit_check(node->ns == 210000 && adds_up(node) &&
			   us_of(part(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_TASK, "helper"),
				      KL_WHY_RUNNING, "")) == 200,
		   "a part of the time");
	kl_why_node_destroy(node);
}

static void test_cpu(void)
{
	struct kl_why_node *node;
	const struct kl_why_node *runnable;

	begin();
	change(0, 0, OTHER, RUNS, MAIN);
	change(100, 0, MAIN, RUNS, OTHER);
	change(300, 0, OTHER, RUNS, HELPER);
	change(350, 0, HELPER, SLEEPS, MAIN);
	change(400, 0, MAIN, STOPS, OTHER);
	wake(600, 0, OTHER, MAIN);
	change(600, 0, OTHER, RUNS, MAIN);
	change(700, 0, MAIN, RUNS, OTHER);
	node = explain(MAIN, 0, 700);
	runnable = part(node, KL_WHY_RUNNABLE, "");
	unit_check(adds_up(node) && us_of(runnable) == 250 &&
			   us_of(part(runnable, KL_WHY_TASK, "other")) == 200 &&
			   us_of(part(runnable, KL_WHY_TASK, "helper")) == 50,
		   "who had the CPU");
	unit_check(us_of(part(node, KL_WHY_STOPPED, "")) == 200, "stopped");
	kl_why_node_destroy(node);
}

/* Main waits for a child that it has created; the child for one that it creates itself. */
static void test_fork(void)
{
	const struct kl_why_node *child;
	struct kl_why_node *node;

	begin();
	change(0, 0, OTHER, RUNS, MAIN);
	fork_at(50, MAIN, CHILD);
	change(100, 0, MAIN, SLEEPS, CHILD);
	fork_at(200, CHILD, HELPER);
	change(300, 0, CHILD, SLEEPS, HELPER);
	wake(700, 0, HELPER, CHILD);
	change(720, 0, HELPER, DIES, CHILD);
	wake(800, 0, CHILD, MAIN);
	change(810, 0, CHILD, DIES, MAIN);
	change(900, 0, MAIN, RUNS, OTHER);
	node = explain(MAIN, 0, 900);
	child = part(part(node, KL_WHY_WAIT, NULL), KL_WHY_TASK, "child");
	unit_check(adds_up(node) && us_of(child) == 700, "a child that is waited for");
	unit_check(us_of(part(part(part(child, KL_WHY_WAIT, NULL), KL_WHY_TASK, "helper"),
			      KL_WHY_RUNNING, "")) == 400,
		   "which waits for its own");
	kl_why_node_destroy(node);
	/* The helper is woken by a child that was created while it slept. */
	begin();
	change(0, 0, OTHER, RUNS, HELPER);
	change(10, 0, HELPER, SLEEPS, MAIN);
	fork_at(210, MAIN, CHILD);
	change(300, 0, MAIN, SLEEPS, CHILD);
	wake(500, 0, CHILD, HELPER);
	change(500, 0, CHILD, SLEEPS, HELPER);
	change(600, 0, HELPER, RUNS, OTHER);
	node = explain(HELPER, 0, 600);
	child = part(part(node, KL_WHY_WAIT, NULL), KL_WHY_TASK, "child");
	unit_check(adds_up(node) && us_of(child) == 490 &&
			   us_of(part(part(child, KL_WHY_TASK, "main"), KL_WHY_RUNNING, "")) == 200,
		   "before a task existed, its time is that of its creator");
	kl_why_node_destroy(node);
}

/* Tasks that are older than the trace: what they did before their first events. */
static void test_older(void)
{
	struct kl_why_node *node;

	begin();
	change(1000, 1, 0, RUNS, OTHER);
	change(1100, 0, MAIN, SLEEPS, 0);
	wake(1200, 1, OTHER, HELPER);
	change(1210, 0, 0, RUNS, HELPER);
	change(1300, 0, HELPER, SLEEPS, CHILD);
	change(1400, 0, CHILD, RUNS, 0);
	node = explain(MAIN, 0, 1100);
	unit_check(adds_up(node) && us_of(part(node, KL_WHY_RUNNING, "")) == 100, "it was running");
	kl_why_node_destroy(node);
	node = explain(HELPER, 0, 1300);
	unit_check(adds_up(node) && us_of(part(node, KL_WHY_RUNNING, "")) == 90 &&
			   us_of(part(part(node, KL_WHY_WAIT, "unknown"), KL_WHY_TASK, "other")) ==
				   200,
		   "it was asleep");
	kl_why_node_destroy(node);
	node = explain(CHILD, 0, 1400);
	unit_check(adds_up(node) && us_of(part(node, KL_WHY_RUNNABLE, "")) == 300 &&
			   us_of(part(node, KL_WHY_RUNNING, "")) == 100,
		   "it was runnable");
	kl_why_node_destroy(node);
}

/* Helper sends a packet, which a softirq on another CPU delivers while another task runs there. */
static void test_packet(const char *device)
{
	const struct kl_why_node *wait, *sender;
	struct kl_why_node *node;

	begin();
	change(1000, 0, OTHER, RUNS, MAIN);
	change(1000, 1, OTHER, RUNS, HELPER);
	change(1100, 0, MAIN, SLEEPS, OTHER);
	packet("net_dev_queue", 1500, 1, HELPER, 0x4000, device);
	in_irq = IN_SOFTIRQ;
	interrupt("irq_softirq_entry", 1510, 0, NULL);
	packet("netif_receive_skb", 1520, 0, OTHER, 0x4000, device);
	wake(1530, 0, OTHER, MAIN);
	/* Another packet, from elsewhere. */
	packet("netif_receive_skb", 1540, 0, OTHER, 0x5000, device);
	wake(1540, 0, OTHER, CHILD);
	interrupt("irq_softirq_exit", 1550, 0, NULL);
	in_irq = IN_TASK;
	change(1560, 0, OTHER, RUNS, MAIN);
	change(2000, 0, MAIN, SLEEPS, CHILD);
	change(2000, 1, HELPER, SLEEPS, 0);
	node = explain(MAIN, 1000, 2000);
	wait = part(node, KL_WHY_WAIT, NULL);
	sender = part(wait, KL_WHY_TASK, "helper");
	if (!strcmp(device, "lo"))
		unit_check(adds_up(node) && us_of(sender) == 400 &&
				   us_of(part(sender, KL_WHY_RUNNING, "")) == 400 &&
				   us_of(part(wait, KL_WHY_SOFTIRQ, "NET_RX")) == 30,
			   "who sent a packet is behind the softirq that delivers it");
	else
		unit_check(adds_up(node) && !sender &&
				   us_of(part(wait, KL_WHY_SOFTIRQ, "NET_RX")) == 430,
			   "what came from a network has no sender");
	kl_why_node_destroy(node);
	node = explain(CHILD, 1000, 2000);
	unit_check(adds_up(node) && us_of(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_SOFTIRQ,
					       "NET_RX")) == 540,
		   "nor does the next packet, which has not been sent here");
	kl_why_node_destroy(node);
}

/* A kernel thread executes the work of helper after that of another task, and wakes main. */
static void test_work(void)
{
	const struct kl_why_node *worker, *queued;
	struct kl_why_node *node;

	begin();
	change(0, 0, 0, RUNS, MAIN);
	change(0, 1, OTHER, RUNS, HELPER);
	change(100, 0, MAIN, SLEEPS, 0);
	work("workqueue_queue_work", 300, 1, HELPER, 0x4000);
	change(350, 1, HELPER, RUNS, CHILD);
	work("workqueue_execute_start", 400, 1, CHILD, 0x5000);
	work("workqueue_execute_end", 500, 1, CHILD, 0x5000);
	work("workqueue_execute_start", 500, 1, CHILD, 0x4000);
	wake(800, 1, CHILD, MAIN);
	work("workqueue_execute_end", 900, 1, CHILD, 0x4000);
	change(800, 0, 0, RUNS, MAIN);
	change(1000, 0, MAIN, SLEEPS, 0);
	node = explain(MAIN, 0, 1000);
	worker = part(part(node, KL_WHY_WAIT, NULL), KL_WHY_TASK, NULL);
	queued = part(part(worker, KL_WHY_WAIT, "work"), KL_WHY_TASK, "helper");
	unit_check(adds_up(node) && us_of(worker) == 700 && worker->tid == CHILD &&
			   us_of(part(queued, KL_WHY_RUNNING, "")) == 200 &&
			   us_of(part(worker, KL_WHY_RUNNABLE, "")) == 50 &&
			   us_of(part(worker, KL_WHY_RUNNING, "")) == 450,
		   "who has queued a work item is behind the thread that executes it");
	kl_why_node_destroy(node);
}

/* Woken while it runs: it did not sleep, or it did, and the wakeup came before the switch. */
static void test_woken(void)
{
	struct kl_why_node *node;

	begin();
	change(1000, 0, 0, RUNS, MAIN);
	change(1000, 1, 0, RUNS, HELPER);
	wake(1100, 1, HELPER, MAIN);
	change(1200, 0, MAIN, SLEEPS, 0);
	wake(1500, 1, HELPER, MAIN);
	change(1500, 0, 0, RUNS, MAIN);
	change(1600, 0, MAIN, RUNS, OTHER);
	node = explain(MAIN, 1000, 1600);
	unit_check(adds_up(node) && us_of(part(node, KL_WHY_WAIT, NULL)) == 300 &&
			   us_of(part(node, KL_WHY_RUNNING, "")) == 300,
		   "a wakeup of a task that does not sleep");
	kl_why_node_destroy(node);
	begin();
	change(1000, 0, 0, RUNS, MAIN);
	change(1000, 1, 0, RUNS, HELPER);
	wake(1199, 1, HELPER, MAIN);
	change(1200, 0, MAIN, SLEEPS, 0);
	change(1500, 0, 0, RUNS, MAIN);
	change(1600, 0, MAIN, RUNS, OTHER);
	node = explain(MAIN, 1000, 1600);
	unit_check(adds_up(node) && us_of(part(node, KL_WHY_RUNNABLE, NULL)) == 300 &&
			   us_of(part(node, KL_WHY_RUNNING, "")) == 300,
		   "a wakeup before the switch");
	kl_why_node_destroy(node);
}

static void test_doubt(void)
{
	const struct kl_why_node *wait;
	struct kl_why_node *node;

	begin();
	change(0, 0, OTHER, RUNS, MAIN);
	change(100, 0, MAIN, SLEEPS, OTHER);
	wake(300, 0, OTHER, MAIN);
	change(300, 0, OTHER, RUNS, MAIN);
	change(310, 0, MAIN, SLEEPS, HELPER);
	wake(700, 0, HELPER, MAIN);
	change(700, 0, HELPER, RUNS, MAIN);
	change(1000, 0, MAIN, RUNS, OTHER);
	node = explain(MAIN, 0, 1000);
	wait = part(node, KL_WHY_WAIT, NULL);
	unit_check(adds_up(node) && us_of(wait) == 590 && wait->uncertain_ns == 200000,
		   "a wakeup in vain is uncertain");
	kl_why_node_destroy(node);
	begin();
	change(0, 0, OTHER, RUNS, MAIN);
	change(100, 0, MAIN, SLEEPS, OTHER);
	change(1000, 0, OTHER, RUNS, HELPER);
	node = explain(MAIN, 0, 1000);
	unit_check(us_of(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_UNKNOWN, "")) == 900,
		   "a wait that does not end");
	kl_why_node_destroy(node);
	unit_check(!explain(CHILD, 0, 1000), "a task that is not in the trace");
	node = explain(MAIN, 2000, 3000);
	unit_check(node && !node->ns && !node->n, "a time that is not in it");
	kl_why_node_destroy(node);
	unit_check(try_add("irq_softirq_exit", 3000, UINT32_MAX, 0,
			   &(const struct payload){ .n = 1 }) == -ENOMEM,
		   "a CPU that cannot be");
	/* Each wakes the other: nothing is followed forever. */
	begin();
	change(0, 0, OTHER, RUNS, MAIN);
	change(0, 1, OTHER, RUNS, HELPER);
	for (uint64_t t = 10; t < 100000; t += 20) {
		change(t, 0, MAIN, SLEEPS, 0);
		wake(t + 9, 1, HELPER, MAIN);
		change(t + 9, 0, 0, RUNS, MAIN);
		change(t + 10, 1, HELPER, SLEEPS, 0);
		wake(t + 19, 0, MAIN, HELPER);
		change(t + 19, 1, 0, RUNS, HELPER);
	}
	node = explain(MAIN, 0, 100000);
	unit_check(adds_up(node) && node->n == 2, "two that wait for each other in turn");
	kl_why_node_destroy(node);
}

/* Main sleeps from 100 on, and is woken at 200 where the helper is running. */
static const struct kl_why_node *woken_in(struct kl_why_node **node, const char *entry,
					  const char *exit, bool after)
{
	begin();
	change(0, 0, OTHER, RUNS, MAIN);
	change(50, 1, 0, RUNS, HELPER);
	change(100, 0, MAIN, SLEEPS, 0);
	if (entry)
		interrupt(entry, 150, 1, "disk");
	if (after)
		interrupt(exit, 160, 1, NULL);
	wake(200, 1, HELPER, MAIN);
	change(220, 0, 0, RUNS, MAIN);
	*node = explain(MAIN, 100, 220);
	return part(*node, KL_WHY_WAIT, NULL);
}

/* Without in_irq, what is known of interrupts comes from their own events. */
static void test_no_variable(void)
{
	static const char vector[] = "x86_irq_vectors_local_timer_entry";
	static const char vector_exit[] = "x86_irq_vectors_local_timer_exit";
	struct kl_schema *with = schema;
	const struct kl_why_node *wait;
	struct kl_why_node *node;

	schema = kl_schema_create();
	wait = woken_in(&node, NULL, NULL, false);
	unit_check(us_of(part(wait, KL_WHY_TASK, "helper")) == 100 && !kl_why_knows_interrupts(why),
		   "without any interrupt, a task wakes");
	kl_why_node_destroy(node);
	wait = woken_in(&node, "irq_handler_entry", "irq_handler_exit", false);
	unit_check(us_of(part(wait, KL_WHY_IRQ, "disk")) == 100 && kl_why_knows_interrupts(why),
		   "in its interrupt, a device does, and not the task that is interrupted");
	kl_why_node_destroy(node);
	wait = woken_in(&node, "irq_handler_entry", "irq_handler_exit", true);
	unit_check(us_of(part(wait, KL_WHY_TASK, "helper")) == 100, "after that, the task");
	kl_why_node_destroy(node);
	wait = woken_in(&node, vector, vector_exit, false);
	unit_check(us_of(part(wait, KL_WHY_IRQ, "")) == 100, "in one of the processor, that");
	kl_why_node_destroy(node);
	wait = woken_in(&node, vector, vector_exit, true);
	unit_check(us_of(part(wait, KL_WHY_TASK, "helper")) == 100, "after that, the task");
	kl_why_node_destroy(node);
	begin();
	change(0, 0, OTHER, RUNS, MAIN);
	change(100, 0, MAIN, SLEEPS, 0);
	interrupt("irq_handler_entry", 150, 1, "disk");
	change(160, 1, 0, RUNS, HELPER);
	wake(200, 1, HELPER, MAIN);
	change(220, 0, 0, RUNS, MAIN);
	node = explain(MAIN, 100, 220);
	unit_check(us_of(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_TASK, "helper")) == 100,
		   "a switch is the end of an interrupt whose end is missing");
	kl_why_node_destroy(node);
	kl_why_destroy(why);
	why = NULL;
	kl_schema_destroy(schema);
	schema = with;
}

int main(void)
{
	schema = kl_schema_create();
	if (!schema || kl_schema_add_variable(schema, kl_variable_find("in_irq")) < 0)
		abort();
	test_chain();
	test_cpu();
	test_fork();
	test_older();
	test_packet("lo");
	test_packet("eth0");
	test_work();
	test_woken();
	test_doubt();
	test_no_variable();
	kl_why_destroy(why);
	kl_schema_destroy(schema);
	return unit_end();
}
