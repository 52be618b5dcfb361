// SPDX-License-Identifier: GPL-2.0
/*
 * Takes stack traces: walks the user stack by frame pointers, has stack_kernel.c walk the kernel
 * stack, stores each distinct trace once, and finds the files that the frames of a new user trace
 * are in. Called by variables and by the handler `stack`, in any context. Takes mmap_lock by
 * trylock only.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/irq_work.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include "layout.h"
#include "session.h"
#include "stack_internal.h"

#define LEVELS 4 /* a task, a softirq, an interrupt, an NMI */
#define OBJECT_PROBES 16
#define WAIT_FRAMES 12 /* most from the scheduler's tracepoint to the function that waits */

/**
 * struct stack_cpu - per-CPU state for taking traces
 * @busy: one bit per level: a trace is being taken there
 * @requested: by level, session and trace ids of the record that the handler `stack` is writing
 * @unlocking: mmap_lock of some mm is held, or is about to be taken
 * @mm: @unlock releases its mmap_lock
 * @unlock: releases the lock in a context where that is allowed
 * @frame: frames of the trace being taken, by level
 */
struct stack_cpu {
	unsigned long busy;
	struct {
		const struct kl_session *session;
		u64 id[2];
	} requested[LEVELS];
	u32 unlocking;
	struct mm_struct *mm;
	struct irq_work unlock;
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

static bool is_return_address(u64 address)
{
	return address >= PAGE_SIZE && address < TASK_SIZE_MAX;
}

/*
 * At a function's first instructions, and at its last, the frame pointer is the caller's, so the
 * next frame would be that of the caller's caller: the return address is on the stack. At a uprobe,
 * the first byte in memory is an int3; the source of the event passes the original bytes
 * (kl_stack_begin).
 */
static u32 return_at_edge(const struct pt_regs *regs, u64 *frame)
{
	u32 first = this_cpu_read(stack_start.text);
	u64 code, from = regs->sp;

	if (likely(!first) || start_registers() != regs) {
		if (!kl_user_copy(&code, regs->ip, sizeof(code)))
			return 0;
		first = (u32)code;
	}
	if ((first & 0xffffff) == 0xe58948) /* mov %rsp, %rbp: after the push */
		from += sizeof(u64);
	else if (first != 0xfa1e0ff3 && first != 0xfa1e0fcc && /* endbr64 */
		 first != 0xe5894855 && first != 0xe58948cc && /* push %rbp; mov %rsp, %rbp */
		 (first & 0xff) != 0xc3) /* ret */
		return 0;
	if (!kl_user_copy(frame, from, sizeof(*frame)) || !is_return_address(*frame))
		return 0;
	return 1;
}

static u32 walk_user(u64 *frame, u32 most, u8 *flags)
{
	const struct pt_regs *regs = task_pt_regs(current);
	u64 pair[2], last = regs->sp, at = regs->bp;
	u32 n = 0;

	frame[n++] = regs->ip;
	/* Frames of 32-bit programs have another layout. */
	if (!user_64bit_mode((struct pt_regs *)regs))
		return n;
	if (most > 1)
		n += return_at_edge(regs, &frame[1]);
	while (at >= last && !(at & 7) && kl_user_copy(pair, at, sizeof(pair)) &&
	       is_return_address(pair[1])) {
		if (n == most) {
			*flags |= KL_STACK_CUT;
			break;
		}
		frame[n++] = pair[1];
		last = at + sizeof(pair);
		at = pair[0];
	}
	return n;
}

/*
 * The object number of a file; 0 if the table is full. The caller keeps the file from being freed.
 */
static u64 find_object(struct kl_stacks *stacks, struct file *file)
{
	struct inode *inode = file_inode(file);
	u32 hash = hash_ptr(inode, 32);

	for (u32 probe = 0; probe < OBJECT_PROBES; probe++) {
		u32 index = (hash + probe) % KL_STACK_OBJECTS_MAX;
		struct kl_stack_object *object = &stacks->object[index];
		struct inode *found = READ_ONCE(object->inode);

		if (!found && try_cmpxchg(&object->inode, &found, inode)) {
			get_file(file);
			/* Pairs with kl_stacks_call. */
			smp_store_release(&object->file, file);
			return index + 1;
		}
		if (found == inode)
			return index + 1;
	}
	return 0;
}

/*
 * Program text is in a regular file on a file system. Other files that can be mapped, such as
 * kernlens's own descriptors, may hold a reference to the session; a reference to them from here
 * would be a cycle that is never freed.
 */
static bool is_object(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	return S_ISREG(inode->i_mode) && inode->i_sb->s_magic != ANON_INODE_FS_MAGIC;
}

static void find_places(struct kl_stacks *stacks, struct mm_struct *mm,
			struct kl_stack_entry *entry)
{
	const u64 *frame = &stacks->table.word[entry->at];
	u64 *place = &stacks->table.word[entry->at + entry->about.frames];

	for (u32 i = 0; i < entry->about.frames; i++) {
		const struct vm_area_struct *vma = find_vma(mm, frame[i]);
		u64 object;

		if (!vma || vma->vm_start > frame[i] || !vma->vm_file || !is_object(vma->vm_file))
			continue;
		object = find_object(stacks, vma->vm_file);
		if (object)
			WRITE_ONCE(place[i], object << KL_STACK_PLACE_SHIFT |
						     (frame[i] - vma->vm_start +
						      ((u64)vma->vm_pgoff << PAGE_SHIFT)));
	}
	/* The places before the flag. Nothing pairs with this: store_user reads only the flag. */
	smp_store_release(&entry->placed, 1);
}

static void unlock_later(struct irq_work *work)
{
	struct stack_cpu *cpu = container_of(work, struct stack_cpu, unlock);

	mmap_read_unlock_non_owner(cpu->mm);
	WRITE_ONCE(cpu->unlocking, 0);
}

/*
 * Unlocking may wake another task, which is not allowed with interrupts off. On real-time kernels,
 * a thread runs the irq_work, with interrupts on, as the lock requires there; a reader that tries
 * the lock only changes a counter, so it may do so in any context there, too.
 */
static void unlock(struct stack_cpu *cpu, struct mm_struct *mm)
{
	if (!irqs_disabled()) {
		mmap_read_unlock(mm);
		WRITE_ONCE(cpu->unlocking, 0);
		return;
	}
	cpu->mm = mm;
	/* For lockdep, this task releases the lock here. */
	rwsem_release(&mm->mmap_lock.dep_map, _RET_IP_);
	irq_work_queue(&cpu->unlock);
}

static noinline void place(struct kl_stacks *stacks, u32 id)
{
	struct kl_stack_entry *entry = &stacks->table.entry[id - 1];
	struct stack_cpu *cpu = this_cpu_ptr(stack_cpus);
	struct mm_struct *mm = current->mm;

	if (this_cpu_cmpxchg(stack_cpus->unlocking, 0, 1))
		return;
	if (!mmap_read_trylock(mm)) {
		WRITE_ONCE(cpu->unlocking, 0);
		return;
	}
	find_places(stacks, mm, entry);
	unlock(cpu, mm);
}

static u64 store_user(struct kl_stacks *stacks, u64 *frame)
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
	u32 id;

	trace.about.frames = walk_user(frame, stacks->user_frames, &trace.about.flags);
	id = kl_stack_insert(&stacks->table, &trace);
	if (id != KL_STACK_NO_ROOM && unlikely(!READ_ONCE(stacks->table.entry[id - 1].placed)))
		place(stacks, id);
	return id;
}

/**
 * kl_stack_user - take and store the user stack trace of the running task
 * @s: the session, whose owner may see the running task
 *
 * Returns the id of the trace, which is KL_STACK_NO_ROOM if the table is full, or 0 if there is no
 * trace. Context: any, preemption off.
 */
u64 kl_stack_user(struct kl_session *s)
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
	id = store_user(stacks, frame);
	put_room(at);
	return id;
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
 *
 * Returns whether to call kl_stack_forget() after the record is written. Context: any, preemption
 * off.
 */
bool kl_stack_request(struct kl_session *s)
{
	struct stack_cpu *cpu = this_cpu_ptr(stack_cpus);
	u32 at = level();

	if (!s->variables || !s->variables->stacks_asked)
		return false;
	cpu->requested[at].id[KL_STACK_KERNEL] = s->see_addresses ? kl_stack_kernel(s) : 0;
	cpu->requested[at].id[KL_STACK_USER] = kl_access_shows_current(s) ? kl_stack_user(s) : 0;
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
	int cpu;

	kl_stack_kernel_init();
	stack_cpus = alloc_percpu(struct stack_cpu);
	if (!stack_cpus)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		init_irq_work(&per_cpu_ptr(stack_cpus, cpu)->unlock, unlock_later);
	return 0;
}

/**
 * kl_stacks_deinit - undo kl_stacks_init(); no probe is attached any more
 */
void kl_stacks_deinit(void)
{
	int cpu;

	if (!stack_cpus)
		return;
	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu_ptr(stack_cpus, cpu)->unlock);
	free_percpu(stack_cpus);
}
