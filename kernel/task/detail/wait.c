// SPDX-License-Identifier: GPL-2.0
/*
 * Why a task waits, for detail.c: its state, and the timeout. detail/wait_call.c explains what its
 * system call waits for.
 */
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <asm/ptrace.h>
#include <asm/syscall.h>

#include "../../base/task_iter.h"
#include "../../compat/interrupt.h"
#include "../../core/variable_values.h"
#include "detail.h"

/**
 * kl_detail_wait_done - write the record of a wait
 * @s: the wait; the record is not changed after this
 *
 * The records of what the task waits for, and of tasks that can end the wait, follow it.
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

/* ---------------------------------------------------------------- timeout */

/*
 * A task that sleeps with a timeout has a timer on its stack, in a struct that ends with the
 * task's address. Other words may look the same, so the timer must be started, and its clock must
 * be where a CPU has that clock.
 */
static bool read_timer(const struct hrtimer *timer, u64 *until)
{
	struct hrtimer_clock_base clock;

	if (!kl_hrtimer_is_queued(timer) || timer->node.expires <= 0 ||
	    timer->_softexpires > timer->node.expires || (unsigned long)timer->base < PAGE_OFFSET ||
	    copy_from_kernel_nofault(&clock, timer->base, sizeof(clock)) ||
	    clock.index >= HRTIMER_MAX_CLOCK_BASES || !clock.cpu_base ||
	    timer->base != &clock.cpu_base->clock_base[clock.index])
		return false;
	/* The offset is what is added to the monotonic clock to get this clock. */
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

/* ------------------------------------------------------------------ state */

static void tell_relative(struct kl_detail_sleep *s, u32 reason, struct task_struct *relative,
			  u32 role)
{
	s->wait.reason = reason;
	if (kl_detail_sees(s->d, relative))
		s->wait.pid = task_tgid_vnr(relative);
	kl_detail_wait_done(s);
	kl_detail_add_other(s->d, relative, role, -1, -1, 0);
}

/* For zombies and stopped tracees. The relative is held while its record is written. */
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

/* The task sleeps in a system call. */
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
	/* Compat system calls have other numbers and structs. */
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
	s->wait.asleep_ns = kl_asleep_time(t);
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
 * Records that do not fit are omitted, and the call sets KL_DETAIL_CUT.
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
