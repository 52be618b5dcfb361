// SPDX-License-Identifier: GPL-2.0
/* What is behind wakeups: interrupts, disks, packets and work items, with in_irq and without. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "unit.h"
#include "why_feed.h"

/* A timer expires, or its function has returned. */
static void timer(const char *event, uint64_t us, unsigned int cpu)
{
	static const struct payload p = { .n = 24 };

	add(event, us, cpu, 0, &p);
}

static void complete(uint64_t us, unsigned int cpu, unsigned int major, unsigned int minor)
{
	struct payload p = { .n = 0 };

	put_number(&p, major << 20 | minor, 4);
	put_number(&p, 8, 8);
	put_number(&p, 8, 4);
	put_number(&p, 0, 4);
	put_number(&p, 0, 4);
	add("block_rq_complete", us, cpu, 0, &p);
}

/* Waits for a disk whose requests a timer completes, then a softirq; then for a timer. */
static void test_disk(void)
{
	struct kl_why_node *node;

	begin();
	change(0, 0, 0, RUNS, MAIN);
	change(100, 0, MAIN, SLEEPS, 0);
	in_irq = IN_IRQ;
	timer("timer_hrtimer_expire_entry", 299, 0);
	complete(299, 0, 254, 3);
	wake(300, 0, 0, MAIN);
	timer("timer_hrtimer_expire_exit", 301, 0);
	in_irq = IN_TASK;
	change(300, 0, 0, RUNS, MAIN);
	change(500, 0, MAIN, SLEEPS, 0);
	in_irq = IN_SOFTIRQ;
	interrupt("irq_softirq_entry", 599, 0, NULL);
	complete(599, 0, 8, 0);
	wake(600, 0, 0, MAIN);
	interrupt("irq_softirq_exit", 601, 0, NULL);
	in_irq = IN_TASK;
	change(601, 0, 0, RUNS, MAIN);
	change(800, 0, MAIN, SLEEPS, 0);
	in_irq = IN_IRQ;
	timer("timer_hrtimer_expire_entry", 850, 0);
	wake(850, 0, 0, MAIN);
	timer("timer_hrtimer_expire_exit", 851, 0);
	in_irq = IN_TASK;
	change(851, 0, 0, RUNS, MAIN);
	change(1000, 0, MAIN, RUNS, 0);
	node = explain(MAIN, 0, 1000);
	unit_check(adds_up(node) &&
			   us_of(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_DISK, "254:3")) == 200,
		   "a timer that completes a request is the disk's");
	unit_check(us_of(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_DISK, "8:0")) == 100,
		   "and so is a softirq");
	unit_check(us_of(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_TIMER, "")) == 50,
		   "but not what comes later");
	kl_why_node_destroy(node);
}

/* Where the trace does not have in_irq, the events say that an interrupt wakes, not the task. */
static void test_context(void)
{
	struct kl_why_node *node;

	begin();
	change(0, 0, 0, RUNS, MAIN);
	change(100, 0, MAIN, SLEEPS, OTHER);
	interrupt("irq_handler_entry", 199, 0, "disk");
	wake(200, 0, OTHER, MAIN);
	interrupt("irq_handler_exit", 201, 0, NULL);
	change(300, 0, OTHER, RUNS, MAIN);
	change(400, 0, MAIN, SLEEPS, OTHER);
	wake(500, 0, OTHER, MAIN);
	change(600, 0, OTHER, RUNS, MAIN);
	change(1000, 0, MAIN, RUNS, 0);
	node = explain(MAIN, 0, 1000);
	unit_check(us_of(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_IRQ, "disk")) == 100,
		   "an interrupt that wakes, without in_irq");
	unit_check(us_of(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_TASK, "other")) == 100,
		   "and a task");
	kl_why_node_destroy(node);
	begin();
	change(0, 0, 0, RUNS, MAIN);
	interrupt("irq_handler_entry", 90, 0, "disk");
	change(100, 0, MAIN, SLEEPS, OTHER);
	wake(200, 0, OTHER, MAIN);
	change(300, 0, OTHER, SLEEPS, MAIN);
	change(400, 0, MAIN, SLEEPS, OTHER);
	interrupt("x86_irq_vectors_call_function_single_entry", 490, 0, NULL);
	wake(500, 0, OTHER, MAIN);
	interrupt("x86_irq_vectors_call_function_single_exit", 510, 0, NULL);
	change(600, 0, OTHER, SLEEPS, MAIN);
	change(700, 0, MAIN, SLEEPS, 0);
	wake(800, 0, 0, MAIN);
	change(900, 0, 0, RUNS, MAIN);
	change(1000, 0, MAIN, RUNS, 0);
	node = explain(MAIN, 0, 1000);
	unit_check(us_of(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_TASK, "other")) == 100,
		   "an interrupt has ended when tasks switch");
	unit_check(us_of(part(part(node, KL_WHY_WAIT, NULL), KL_WHY_IRQ, "")) == 200,
		   "one of another CPU wakes, or one that the trace does not have");
	kl_why_node_destroy(node);
}

/* The trace has no variable `syscall`, but the events. */
static void test_calls(void)
{
	static const struct payload arguments = { .n = 48 };
	struct kl_why_node *node;

	begin();
	change(0, 0, 0, RUNS, MAIN);
	add("syscall_entry_epoll_wait", 90, 0, MAIN, &arguments);
	change(100, 0, MAIN, SLEEPS, 0);
	wake(300, 1, 0, MAIN);
	change(300, 0, 0, RUNS, MAIN);
	add("syscall_exit_epoll_wait", 310, 0, MAIN, &arguments);
	change(400, 0, MAIN, SLEEPS, 0);
	wake(500, 1, 0, MAIN);
	change(500, 0, 0, RUNS, MAIN);
	add("syscall_entry_fdatasync", 510, 0, MAIN, &arguments);
	change(520, 0, MAIN, SLEEPS, 0);
	wake(540, 1, 0, MAIN);
	change(540, 0, 0, RUNS, MAIN);
	change(1000, 0, MAIN, RUNS, 0);
	node = explain(MAIN, 0, 1000);
	unit_check(us_of(part(node, KL_WHY_WAIT, "poll")) == 200,
		   "the reason of a wait is its system call");
	unit_check(us_of(part(node, KL_WHY_WAIT, "something in the kernel")) == 100,
		   "until that has returned");
	unit_check(us_of(part(node, KL_WHY_WAIT, "fsync")) == 20, "fsync, by its own name");
	kl_why_node_destroy(node);
	unit_check(!strcmp(kl_latency_reason_at(schema, "folio_wait_bit_common", __NR_fsync),
			   "fsync") &&
			   !strcmp(kl_latency_reason_at(schema, "jbd2_log_wait_commit",
							__NR_fdatasync),
				   "fsync"),
		   "whatever it waits for");
	unit_check(!strcmp(kl_latency_reason_at(schema, "folio_wait_bit_common", __NR_pread64),
			   "page") &&
			   !strcmp(kl_latency_reason_at(schema, "mutex_lock", __NR_fsync),
				   "lock (mutex)"),
		   "but not other calls, nor a lock");
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
	const struct kl_why_node *wait;
	struct kl_why_node *node;

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
}

int main(void)
{
	schema = kl_schema_create();
	if (!schema)
		abort();
	test_context();
	test_no_variable();
	has_in_irq = true;
	if (kl_schema_add_variable(schema, kl_variable_find("in_irq")) < 0)
		abort();
	test_disk();
	test_calls();
	test_packet("lo");
	test_packet("eth0");
	test_work();
	kl_why_destroy(why);
	kl_schema_destroy(schema);
	return unit_end();
}
