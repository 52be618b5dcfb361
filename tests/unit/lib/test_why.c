// SPDX-License-Identifier: GPL-2.0
/* Where the time of a task went, from switches and wakeups made here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "why_feed.h"

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
	unit_check(us_of(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_UNKNOWN, KL_WHY_NOT_OVER)) ==
			   900,
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

int main(void)
{
	schema = kl_schema_create();
	if (!schema || kl_schema_add_variable(schema, kl_variable_find("in_irq")) < 0)
		abort();
	has_in_irq = true;
	test_chain();
	test_cpu();
	test_fork();
	test_older();
	test_woken();
	test_doubt();
	kl_why_destroy(why);
	kl_schema_destroy(schema);
	return unit_end();
}
