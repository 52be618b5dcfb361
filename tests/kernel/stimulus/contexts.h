/* SPDX-License-Identifier: GPL-2.0 */
/* Runs functions in other tasks, in interrupts and in softirqs, and waits for them. */
#ifndef KL_TESTS_CONTEXTS_H
#define KL_TESTS_CONTEXTS_H

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/timer.h>

struct job {
	void (*run)(void);
	struct completion done;
};

static int work(void *data)
{
	struct job *job = data;

	job->run();
	complete(&job->done);
	return 0;
}

/* Runs a function in another task, and waits for it. */
static noinline void elsewhere(void (*run)(void))
{
	struct job job = { .run = run };
	struct task_struct *task;

	init_completion(&job.done);
	task = kthread_run(work, &job, "kl_locking");
	if (!IS_ERR(task))
		wait_for_completion(&job.done);
	/* It has no more to do with locks. */
	msleep(20);
}

static void (*interrupt_runs)(void);
static struct completion interrupt_done;

static void on_interrupt(struct irq_work *irq)
{
	interrupt_runs();
	complete(&interrupt_done);
}

static struct irq_work interrupt = IRQ_WORK_INIT_HARD(on_interrupt);

static noinline void in_hard_interrupt(void (*run)(void))
{
	interrupt_runs = run;
	init_completion(&interrupt_done);
	irq_work_queue(&interrupt);
	wait_for_completion(&interrupt_done);
}

static void on_timer(struct timer_list *unused)
{
	interrupt_runs();
	complete(&interrupt_done);
}

static DEFINE_TIMER(timer, on_timer);

static noinline void in_timer(void (*run)(void))
{
	interrupt_runs = run;
	init_completion(&interrupt_done);
	mod_timer(&timer, jiffies + 1);
	wait_for_completion(&interrupt_done);
}

#endif /* KL_TESTS_CONTEXTS_H */
