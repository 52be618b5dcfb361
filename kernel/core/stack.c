// SPDX-License-Identifier: GPL-2.0
/*
 * Takes stack traces: has stack_kernel.c and stack_user.c walk the stacks, and stores each distinct
 * trace once. Called by variables and by the handler `stack`, in any context.
 */
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>

#include "layout.h"
#include "session.h"
#include "stack_internal.h"

#define LEVELS 4 /* a task, a softirq, an interrupt, an NMI */
#define WAIT_FRAMES 12 /* most from the scheduler's tracepoint to the function that waits */

/**
 * struct stack_cpu - per-CPU state for taking traces
 * @busy: one bit per level: a trace is being taken there
 * @requested: by level, session and trace ids of the record that the handler `stack` is writing
 * @frame: frames of the trace being taken, by level
 */
struct stack_cpu {
	unsigned long busy;
	struct {
		const struct kl_session *session;
		u64 id[2];
	} requested[LEVELS];
	u64 frame[LEVELS][KL_STACK_FRAMES_MAX];
};

static struct stack_cpu __percpu *stack_cpus;

DEFINE_PER_CPU(struct pt_regs *, kl_stack_origin);
static DEFINE_PER_CPU(struct kl_stack_start, stack_start);

static u32 level(void)
{
	return in_nmi() ? 3 : in_hardirq() ? 2 : in_serving_softirq() ? 1 : 0;
}

/**
 * kl_stack_begin - start the stack traces of the next event at a probe point
 * @regs: registers at the probe point
 * @text: as in struct kl_stack_start
 *
 * Traces of events in an interrupt of the caller are not affected. Returns the previous state, to
 * be passed to kl_stack_end(). Context: any, preemption off until kl_stack_end().
 */
struct kl_stack_start kl_stack_begin(struct pt_regs *regs, u32 text)
{
	struct kl_stack_start before = *this_cpu_ptr(&stack_start);

	/* An interrupt that changes these restores them before it returns. */
	this_cpu_write(stack_start.regs, regs);
	this_cpu_write(stack_start.text, text);
	this_cpu_write(stack_start.level, level() + 1);
	return before;
}

/**
 * kl_stack_end - undo kl_stack_begin()
 * @before: what kl_stack_begin() returned
 */
void kl_stack_end(struct kl_stack_start before)
{
	this_cpu_write(stack_start.level, before.level);
	this_cpu_write(stack_start.text, before.text);
	this_cpu_write(stack_start.regs, before.regs);
}

/* Registers at which the event's trace starts; NULL: at the module's caller. */
static struct pt_regs *start_registers(void)
{
	u32 of = this_cpu_read(stack_start.level);

	if (unlikely(of) && of == level() + 1)
		return this_cpu_read(stack_start.regs);
	return kl_tick_registers();
}

/*
 * Reserve the frame buffer of a level. A fault during a walk may itself be an event that requests a
 * trace; that event gets none.
 */
static u64 *get_room(struct stack_cpu *cpu, u32 at)
{
	/* The bits of other levels belong to contexts that we interrupted or that interrupt us. */
	if (unlikely(READ_ONCE(cpu->busy) & BIT(at)))
		return NULL;
	__this_cpu_or(stack_cpus->busy, BIT(at));
	barrier();
	return cpu->frame[at];
}

static void put_room(u32 at)
{
	barrier();
	__this_cpu_and(stack_cpus->busy, ~BIT(at));
}

/* --------------------------------------------------------- the kernel stack */

/* The number of frames before the one at @until, which is never the first; @n if there is none. */
static u32 cut_at(const u64 *frame, u32 n, unsigned long until)
{
	for (u32 i = 1; until && i < n; i++)
		if (frame[i] == until)
			return i;
	return n;
}

static u64 store_kernel(struct kl_stacks *stacks, u64 *frame, unsigned long until)
{
	struct pt_regs *regs = start_registers();
	struct kl_stack_trace trace = {
		.about.kind = KL_STACK_KERNEL,
		.about.flags = regs ? KL_STACK_EXACT : 0,
		.frame = frame,
	};

	/* User mode was interrupted, so there is no kernel stack to walk. */
	if (regs && user_mode(regs))
		return 0;
	trace.about.frames =
		kl_stack_walk_kernel(frame, stacks->kernel_frames, regs, &trace.about.flags);
	trace.about.frames = cut_at(frame, trace.about.frames, until);
	trace.about.certain = trace.about.frames;
	trace.mixed = kl_stack_mix_frames(&stacks->table, frame, trace.about.frames);
	return trace.about.frames ? kl_stack_insert(&stacks->table, &trace) : 0;
}

/**
 * kl_stack_kernel_until - take and store the kernel stack trace up to an address
 * @s: the session, whose owner may see addresses
 * @until: leave out the frame with this address and all outer ones, for example those of code that
 *         an interrupt interrupted; 0: keep all
 *
 * Returns the id of the trace, which is KL_STACK_NO_ROOM if the table is full, or 0 if there is no
 * trace. Context: any, preemption off.
 */
u64 kl_stack_kernel_until(struct kl_session *s, unsigned long until)
{
	/* The pointer before its tables; pairs with kl_stacks_prepare. */
	struct kl_stacks *stacks = smp_load_acquire(&s->stacks);
	u32 at = level();
	u64 *frame, id = 0;

	if (unlikely(!stacks))
		return 0;
	frame = get_room(this_cpu_ptr(stack_cpus), at);
	if (unlikely(!frame))
		return 0;
	id = store_kernel(stacks, frame, until);
	put_room(at);
	return id;
}

/**
 * kl_stack_kernel - take and store the whole kernel stack trace
 * @s: the session, whose owner may see addresses
 *
 * As kl_stack_kernel_until() without a limit.
 */
u64 kl_stack_kernel(struct kl_session *s)
{
	return kl_stack_kernel_until(s, 0);
}

/* ----------------------------------------------------------- the user stack */

static u64 store_user(struct kl_session *s, struct kl_stacks *stacks, u32 at, u64 *frame,
		      bool of_record)
{
	struct task_struct *t = current;
	struct kl_stack_trace trace = {
		.about.kind = KL_STACK_USER,
		/*
		 * In a system call, the saved address is the one after the system call instruction.
		 */
		.about.flags = task_pt_regs(t)->orig_ax == -1ul ? KL_STACK_EXACT : 0,
		.about.pid = t->tgid,
		.about.exec = t->self_exec_id,
		.about.start_ns = t->group_leader->start_boottime,
		.frame = frame,
	};
	struct kl_stack_walk walk; /* zeroing all of it would take as long as a frame */
	u32 id;

	walk.s = s;
	walk.stacks = stacks;
	walk.regs = task_pt_regs(t);
	walk.level = at;
	walk.of_record = of_record;
	walk.locked = false;
	walk.refused = false;
	walk.cache = NULL;
	walk.lacks = 0;
	walk.text = start_registers() == walk.regs ? this_cpu_read(stack_start.text) : 0;
	kl_stack_walk_user(&walk, &trace.about, frame);
	trace.mixed = walk.mixed;
	if (unlikely(walk.lacks))
		trace.copy = kl_unwind_copy(&walk);
	if (unlikely(trace.copy))
		trace.about.flags |= KL_STACK_COPY;
	id = kl_stack_insert(&stacks->table, &trace);
	if (id != KL_STACK_NO_ROOM && unlikely(!READ_ONCE(stacks->table.entry[id - 1].placed)))
		kl_stack_place(&walk, &stacks->table.entry[id - 1]);
	kl_stack_walk_end(&walk);
	return id;
}

/**
 * kl_stack_user - take and store the user stack trace of the running task
 * @s: the session, whose owner may see the running task
 * @of_record: a record refers to it, so it may have an id of its own and a copy of the stack; else
 *             it is a key, and equal traces must have one id
 *
 * Returns the id of the trace, which is KL_STACK_NO_ROOM if the table is full, or 0 if there is no
 * trace. Context: any, preemption off.
 */
u64 kl_stack_user(struct kl_session *s, bool of_record)
{
	/* As in kl_stack_kernel_until. */
	struct kl_stacks *stacks = smp_load_acquire(&s->stacks);
	u32 at = level();
	u64 *frame, id;

	if (unlikely(!stacks) || current->flags & PF_KTHREAD || !current->mm ||
	    !user_mode(task_pt_regs(current)))
		return 0;
	frame = get_room(this_cpu_ptr(stack_cpus), at);
	if (unlikely(!frame))
		return 0;
	id = store_user(s, stacks, at, frame, of_record);
	put_room(at);
	return id;
}

/**
 * kl_stack_user_variable - value of the variable `ustack`
 * @slot: of a record, or the session's @single for a key or a filter
 *
 * As kl_stack_user().
 */
u64 kl_stack_user_variable(const struct kl_variable_slot *slot)
{
	return kl_stack_user(slot->session, slot != &slot->session->single);
}

/* -------------------------------------------------------- the wait channel */

static bool is_scheduler(u64 address)
{
	return address - kl_layout.sched_begin < kl_layout.sched_bytes;
}

/**
 * kl_stack_wait_channel - where the running task goes to sleep
 *
 * Returns the return address of the first function outside the scheduler, as the kernel's own
 * get_wchan() does for a task that sleeps already; 0 if the task is not in the scheduler. Context:
 * any, preemption off.
 */
u64 kl_stack_wait_channel(void)
{
	u64 frame[WAIT_FRAMES];
	u8 flags = 0;
	u32 i = 0, n = kl_stack_walk_kernel(frame, WAIT_FRAMES, NULL, &flags);

	/* Between this module and the scheduler may be the tracepoint's own function. */
	while (i < n && !is_scheduler(frame[i]))
		i++;
	while (i < n && is_scheduler(frame[i]))
		i++;
	return i < n ? frame[i] : 0;
}

/* -------------------------------------------------------------- the handler */

/**
 * kl_stack_request - take the traces for the record that the handler `stack` will write
 * @s: the session
 * @kinds: KL_STACKS_*
 *
 * Returns whether to call kl_stack_forget() after the record is written. Context: any, preemption
 * off.
 */
bool kl_stack_request(struct kl_session *s, u32 kinds)
{
	struct stack_cpu *cpu = this_cpu_ptr(stack_cpus);
	bool kernel = kinds & KL_STACKS_KERNEL && s->see_addresses;
	bool user = kinds & KL_STACKS_USER && kl_access_shows_current(s);
	u32 at = level();

	if (!s->variables || !s->variables->stacks_asked)
		return false;
	cpu->requested[at].id[KL_STACK_KERNEL] = kernel ? kl_stack_kernel(s) : 0;
	cpu->requested[at].id[KL_STACK_USER] = user ? kl_stack_user(s, true) : 0;
	barrier();
	cpu->requested[at].session = s;
	return true;
}

/**
 * kl_stack_forget - drop the traces of kl_stack_request() after the record is written
 */
void kl_stack_forget(void)
{
	this_cpu_ptr(stack_cpus)->requested[level()].session = NULL;
}

/**
 * kl_stack_requested - id of a trace that kl_stack_request() took
 * @s: session of the record being written
 * @kind: kernel or user
 *
 * Returns 0 if kl_stack_request() took no such trace for this record.
 */
u64 kl_stack_requested(struct kl_session *s, enum kl_stack_kind kind)
{
	const struct stack_cpu *cpu = this_cpu_ptr(stack_cpus);
	u32 at = level();

	return cpu->requested[at].session == s ? cpu->requested[at].id[kind] : 0;
}

/* -------------------------------------------------------------- the module */

/**
 * kl_stacks_init - allocate the per-CPU state for taking traces
 *
 * Returns 0 or -ENOMEM.
 */
int kl_stacks_init(void)
{
	kl_stack_kernel_init();
	kl_stack_user_init();
	stack_cpus = alloc_percpu(struct stack_cpu);
	return stack_cpus ? 0 : -ENOMEM;
}

/**
 * kl_stacks_deinit - undo kl_stacks_init(); no probe is attached any more
 */
void kl_stacks_deinit(void)
{
	kl_stack_user_deinit();
	free_percpu(stack_cpus);
}
