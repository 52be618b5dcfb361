// SPDX-License-Identifier: GPL-2.0
/*
 * Why a task waits, for detail.c: what it stands in, and how long at the most. What its
 * system call waits for is the business of detail/wait_call.c.
 */
#include <linux/hrtimer.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <asm/ptrace.h>
#include <asm/syscall.h>

#include "detail.h"
#include "../../base/task_iter.h"

/**
 * kl_detail_wait_done - write the record of a wait
 * @s: the wait; nothing is added to the record after this
 *
 * The records of what it waits for, and of who can end it, stand behind.
 */
void kl_detail_wait_done(struct kl_detail_sleep *s)
{
	u32 bytes = s->path ? strlen(s->path) : 0;
	struct kl_abi_detail_wait *to;
	struct kl_abi_detail_record head;

	to = kl_detail_add(s->d, KL_DETAIL_WAIT, sizeof(*to), bytes + 1);
	head = to->record;
	*to = s->wait;
	to->record = head;
	to->text_bytes = bytes;
	if (bytes)
		kl_detail_put_text(to, sizeof(*to), s->path, bytes);
}

/* -------------------------------------------------------------- until when */

/*
 * Who sleeps with a time limit has a timer on its stack that wakes it: a struct that ends
 * with the task's address. Other words may look so; the timer is believed if it is started
 * and what it calls its clock is where a CPU has that clock.
 */
static bool read_timer(const struct hrtimer *timer, u64 *until)
{
	struct hrtimer_clock_base clock;

	if (timer->state != HRTIMER_STATE_ENQUEUED || timer->node.expires <= 0 ||
	    timer->_softexpires > timer->node.expires || (unsigned long)timer->base < PAGE_OFFSET ||
	    copy_from_kernel_nofault(&clock, timer->base, sizeof(clock)) ||
	    clock.index >= HRTIMER_MAX_CLOCK_BASES || !clock.cpu_base ||
	    timer->base != &clock.cpu_base->clock_base[clock.index])
		return false;
	/* The offset is what is to be added to the monotonic clock to have that one. */
	*until = max_t(s64, timer->_softexpires - clock.offset, 0);
	return true;
}

static bool find_timer(const struct kl_detail_stack *stack, const struct task_struct *t, u64 *until)
{
	u32 first = stack->sp - stack->base, at;

	if (stack->sp - stack->base >= THREAD_SIZE)
		return false;
	for (at = ALIGN(first, 8); at + sizeof(struct hrtimer_sleeper) <= THREAD_SIZE; at += 8) {
		const struct hrtimer_sleeper *sleeper = (void *)(stack->copy + at);

		if (sleeper->task == t && read_timer(&sleeper->timer, until))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------- where it is */

static void tell_relative(struct kl_detail_sleep *s, u32 reason, struct task_struct *relative,
			  u32 role)
{
	s->wait.reason = reason;
	if (kl_detail_sees(s->d, relative))
		s->wait.pid = task_tgid_vnr(relative);
	kl_detail_wait_done(s);
	kl_detail_add_other(s->d, relative, role, -1, -1, 0);
}

/* Zombies and what a tracer has stopped: the relative is held while it is written of. */
static void explain_relative(struct kl_detail_sleep *s, bool is_zombie)
{
	struct task_struct *t = s->d->task, *relative;

	rcu_read_lock();
	relative = is_zombie ? kl_task_real_parent(t) : kl_task_parent(t);
	if (relative)
		get_task_struct(relative);
	rcu_read_unlock();
	if (!relative)
		kl_detail_wait_done(s);
	else if (is_zombie)
		tell_relative(s, KL_WAIT_PARENT, relative, KL_OTHER_PARENT);
	else
		tell_relative(s, KL_WAIT_TRACED, relative, KL_OTHER_TRACER);
	if (relative)
		put_task_struct(relative);
}

static int tell(struct kl_detail_sleep *s, u32 reason)
{
	s->wait.reason = reason;
	kl_detail_wait_done(s);
	return 0;
}

/* It stands still in a system call. */
static int explain_call(struct kl_detail_sleep *s, struct pt_regs *regs)
{
	struct task_struct *t = s->d->task;
	unsigned long argument[6];

	s->wait.syscall = syscall_get_nr(t, regs);
	if (s->wait.syscall < 0)
		return tell(s, KL_WAIT_KERNEL);
	if (!s->d->is_tracer) {
		s->wait.syscall = -1;
		s->wait.flags = 0;
		s->wait.until_ns = 0;
		return tell(s, KL_WAIT_HIDDEN);
	}
#ifdef CONFIG_IA32_EMULATION
	/* Their numbers and structs are others. */
	if (READ_ONCE(task_thread_info(t)->status) & TS_COMPAT)
		return tell(s, KL_WAIT_SYSCALL);
#endif
	syscall_get_arguments(t, regs, argument);
	for (u32 i = 0; i < 6; i++)
		s->arg[i] = argument[i];
	return kl_detail_explain_call(s);
}

static int explain(struct kl_detail_sleep *s, const struct kl_detail_stack *stack)
{
	struct task_struct *t = s->d->task;
	u32 state = task_state_index(t);

	s->wait.now_ns = ktime_get_ns();
	switch (state) {
	case KL_TASK_STATE_RUNNING:
		return tell(s, READ_ONCE(t->on_cpu) ? KL_WAIT_NONE : KL_WAIT_CPU);
	case KL_TASK_STATE_STOPPED:
		return tell(s, KL_WAIT_STOPPED);
	case KL_TASK_STATE_TRACED:
		explain_relative(s, false);
		return 0;
	case KL_TASK_STATE_ZOMBIE:
	case KL_TASK_STATE_DEAD:
		explain_relative(s, true);
		return 0;
	}
	if (stack->stand != KL_STAND_STILL)
		return tell(s, KL_WAIT_NONE);
	if (state == KL_TASK_STATE_SLEEPING)
		s->wait.flags |= KL_WAIT_INTERRUPTIBLE;
	if (!stack->regs)
		return tell(s, KL_WAIT_KERNEL);
	if (find_timer(stack, t, &s->wait.until_ns))
		s->wait.flags |= KL_WAIT_HAS_UNTIL;
	return explain_call(s, stack->regs);
}

/**
 * kl_detail_wait - KL_DETAIL_WAIT
 * @d: the call
 *
 * Records that there is no room for are left out, and the call says that it is cut.
 */
int kl_detail_wait(struct kl_detail *d)
{
	struct kl_detail_sleep s = { .d = d };
	struct kl_detail_stack stack;
	int error;

	if (kl_detail_copy_stack(d->task, &stack))
		return kl_fail(d->why, -ENOMEM, "no memory for a copy of the stack");
	s.wait.syscall = -1;
	s.stack = &stack;
	error = explain(&s, &stack);
	kvfree(stack.copy);
	if (d->flags & KL_DETAIL_MORE)
		d->flags = (d->flags & ~KL_DETAIL_MORE) | KL_DETAIL_CUT;
	return signal_pending(current) ? -EINTR : error;
}
