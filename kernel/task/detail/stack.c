// SPDX-License-Identifier: GPL-2.0
/*
 * A sleeping task's kernel stack, for detail.c: the program's registers at its top, and the stack
 * trace.
 *
 * Modules can hold a task but not its stack, which may be reused as soon as the task has ended. So
 * the stack is copied by reads that cannot fault, and the copy is valid if the task slept
 * throughout: a task that runs in between is switched to and away, which is counted. The unwinder
 * then walks the copy; addresses of the stack found there are translated to the copy on the way.
 */
#include <linux/mm.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <asm/ptrace.h>
#include <asm/switch_to.h>
#include <asm/syscall.h>
#include <asm/unwind.h>

#include "../../base/task_iter.h"
#include "../../compat/nofault.h"
#include "detail.h"

#define TRIES 3
#define FRAMES_MAX 128

/* ------------------------------------------------------------------ the copy */

/**
 * kl_detail_stands - is a task still asleep where its stack was copied?
 * @t: task, with a reference
 * @stack: the copy
 *
 * If so, whatever was read before the call and belongs to its wait was valid when it was read.
 */
bool kl_detail_stands(struct task_struct *t, const struct kl_detail_stack *stack)
{
	/* Order the reads made before. Pairs with the switch to the task. */
	smp_rmb();
	return !READ_ONCE(t->on_cpu) && kl_task_switches(t) == stack->switches &&
	       READ_ONCE(t->thread.sp) == stack->sp;
}

/* One attempt. The contents of the copy are undefined unless this returns KL_STAND_STILL. */
static enum kl_stand copy_once(struct task_struct *t, struct kl_detail_stack *to)
{
	to->switches = kl_task_switches(t);
	/*
	 * Read the count before the stack's address and contents. Pairs with the switch to the
	 * task.
	 */
	smp_rmb();
	to->base = (unsigned long)READ_ONCE(t->stack);
	to->sp = READ_ONCE(t->thread.sp);
	if (!to->base)
		return KL_STAND_GONE;
	if (READ_ONCE(t->on_cpu))
		return KL_STAND_RUNS;
	for (u32 at = 0; at < THREAD_SIZE; at += PAGE_SIZE)
		if (kl_nofault(copy_from_kernel_nofault(to->copy + at, (void *)(to->base + at),
							PAGE_SIZE)))
			return KL_STAND_GONE;
	if (!kl_detail_stands(t, to))
		return KL_STAND_RUNS;
	return (unsigned long)READ_ONCE(t->stack) == to->base ? KL_STAND_STILL : KL_STAND_GONE;
}

static bool has_program(const struct task_struct *t)
{
	return !(kl_task_flags(t) & (PF_KTHREAD | PF_IO_WORKER));
}

/**
 * kl_detail_copy_stack - copy a task's kernel stack
 * @t: task, with a reference
 * @stack: filled in; the caller frees @stack->copy with kvfree()
 *
 * Returns 0 or -ENOMEM. Context: may sleep.
 */
int kl_detail_copy_stack(struct task_struct *t, struct kl_detail_stack *stack)
{
	*stack = (struct kl_detail_stack){ .stand = KL_STAND_RUNS };
	stack->copy = kvzalloc(THREAD_SIZE, GFP_KERNEL_ACCOUNT);
	if (!stack->copy)
		return -ENOMEM;
	for (u32 i = 0; t != current && stack->stand == KL_STAND_RUNS && i < TRIES; i++)
		stack->stand = copy_once(t, stack);
	if (stack->stand == KL_STAND_STILL && has_program(t))
		stack->regs = (struct pt_regs *)(stack->copy + THREAD_SIZE -
						 TOP_OF_KERNEL_STACK_PADDING) -
			      1;
	return 0;
}

/* ------------------------------------------------------------ the system call */

static bool is_compat(struct task_struct *t)
{
#ifdef CONFIG_IA32_EMULATION
	return READ_ONCE(task_thread_info(t)->status) & TS_COMPAT;
#else
	return false;
#endif
}

static void fill_syscall(struct kl_abi_detail_syscall *to, struct task_struct *t,
			 struct pt_regs *regs)
{
	unsigned long argument[6];

	to->number = syscall_get_nr(t, regs);
	to->flags = is_compat(t) ? KL_DETAIL_CALL_COMPAT : 0;
	to->sp = regs->sp;
	to->ip = regs->ip;
	if (to->number < 0)
		return;
	syscall_get_arguments(t, regs, argument);
	for (u32 i = 0; i < 6; i++)
		to->argument[i] = argument[i];
}

/**
 * kl_detail_syscall - KL_DETAIL_SYSCALL
 * @d: the call
 */
int kl_detail_syscall(struct kl_detail *d)
{
	struct kl_abi_detail_syscall *to = kl_detail_add(d, KL_DETAIL_SYSCALL, sizeof(*to), 0);
	struct kl_detail_stack stack;

	if (kl_detail_copy_stack(d->task, &stack))
		return kl_fail(d->why, -ENOMEM, "no memory for a copy of the stack");
	to->number = -1;
	if (!task_state_index(d->task) || stack.stand == KL_STAND_RUNS)
		to->flags = KL_DETAIL_CALL_RUNNING;
	else if (stack.regs)
		fill_syscall(to, d->task, stack.regs);
	kvfree(stack.copy);
	return 0;
}

/* ----------------------------------------------------------- the stack trace */

#ifdef CONFIG_UNWINDER_ORC

static unsigned long to_copy(const struct kl_detail_stack *stack, unsigned long address)
{
	if (address - stack->base >= THREAD_SIZE)
		return address;
	return address - stack->base + (unsigned long)stack->copy;
}

/* The unwinder treats the copy as a stack of the running task; `error` silences its warnings. */
static u32 walk(const struct kl_detail_stack *stack, unsigned long *frame, u32 most)
{
	const struct inactive_task_frame *last = (void *)to_copy(stack, stack->sp);
	struct unwind_state state = { .task = current, .error = true };
	unsigned long address;
	u32 n = 0;

	if (stack->sp - stack->base > THREAD_SIZE - sizeof(*last))
		return 0;
	state.stack_info.type = STACK_TYPE_TASK;
	state.stack_info.begin = (unsigned long *)stack->copy;
	state.stack_info.end = (unsigned long *)(stack->copy + THREAD_SIZE);
	state.sp = (unsigned long)(last + 1);
	state.bp = to_copy(stack, last->bp);
	state.ip = last->ret_addr;
	while (n < most && !unwind_done(&state)) {
		struct pt_regs *regs = unwind_get_entry_regs(&state, NULL);

		if (regs && user_mode(regs))
			break;
		address = unwind_get_return_address(&state);
		if (!address)
			break;
		frame[n++] = address;
		unwind_next_frame(&state);
		state.sp = to_copy(stack, state.sp);
		state.bp = to_copy(stack, state.bp);
	}
	return n;
}

#else

/* Follows frame pointers; without them nothing beyond the first frame is walked. */
static u32 walk(const struct kl_detail_stack *stack, unsigned long *frame, u32 most)
{
	const struct inactive_task_frame *last;
	unsigned long at = stack->sp - stack->base, bp;
	u32 n = 0;

	if (at > THREAD_SIZE - sizeof(*last))
		return 0;
	last = (void *)(stack->copy + at);
	frame[n++] = last->ret_addr;
	for (bp = last->bp; n < most && IS_ENABLED(CONFIG_FRAME_POINTER);) {
		const unsigned long *link;

		if (bp - stack->base > THREAD_SIZE - 2 * sizeof(*link) || bp - stack->base <= at)
			break;
		at = bp - stack->base;
		link = (void *)(stack->copy + at);
		if (link[1] < __START_KERNEL_map)
			break;
		frame[n++] = link[1];
		bp = link[0];
	}
	return n;
}

#endif

/**
 * kl_detail_stack - KL_DETAIL_STACK
 * @d: the call
 */
int kl_detail_stack(struct kl_detail *d)
{
	unsigned long *frame = (unsigned long *)d->path;
	struct kl_detail_stack stack;
	u32 n = 0;

	BUILD_BUG_ON(FRAMES_MAX * sizeof(*frame) > KL_DETAIL_PATH_BYTES_MAX);
	if (kl_detail_copy_stack(d->task, &stack))
		return kl_fail(d->why, -ENOMEM, "no memory for a copy of the stack");
	if (stack.stand == KL_STAND_STILL)
		n = walk(&stack, frame, FRAMES_MAX);
	kvfree(stack.copy);
	for (u32 i = 0; i < n; i++) {
		struct kl_abi_detail_frame *to;

		to = kl_detail_add(d, KL_DETAIL_STACK, sizeof(*to), 0);
		to->address = frame[i];
	}
	if (n == FRAMES_MAX)
		d->flags |= KL_DETAIL_CUT;
	return 0;
}
