// SPDX-License-Identifier: GPL-2.0
/*
 * Walks the user stack of the running task with unwind tables, and by frame pointers where there is
 * no table; finds the files that the frames of a new trace are in. Called by stack.c, in any
 * context. Takes mmap_lock by trylock only. docs/design/unwind.md has the rules.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/irq_work.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/uaccess.h>

#include "../compat/nofault.h"
#include "session.h"
#include "stack_internal.h"

#define OBJECT_PROBES 16

/**
 * struct lock_cpu - per-CPU state for holding mmap_lock
 * @unlocking: mmap_lock of some mm is held, or is about to be taken
 * @mm: @unlock releases its mmap_lock
 * @unlock: releases the lock in a context where that is allowed
 */
struct lock_cpu {
	unsigned int unlocking;
	struct mm_struct *mm;
	struct irq_work unlock;
};

static DEFINE_PER_CPU(struct lock_cpu, lock_cpus);

/* -------------------------------------------------------------- mmap_lock */

static void unlock_later(struct irq_work *work)
{
	struct lock_cpu *cpu = container_of(work, struct lock_cpu, unlock);

	mmap_read_unlock_non_owner(cpu->mm);
	WRITE_ONCE(cpu->unlocking, 0);
}

/**
 * kl_stack_walk_lock - hold mmap_lock until the walk ends
 * @w: the walk
 *
 * Tries once for each walk. Returns whether the lock is held.
 */
bool kl_stack_walk_lock(struct kl_stack_walk *w)
{
	if (w->locked || w->refused)
		return w->locked;
	w->refused = true;
	if (this_cpu_cmpxchg(lock_cpus.unlocking, 0, 1))
		return false;
	if (!mmap_read_trylock(current->mm)) {
		this_cpu_write(lock_cpus.unlocking, 0);
		return false;
	}
	w->locked = true;
	return true;
}

/**
 * kl_stack_walk_end - release what a walk holds
 * @w: the walk
 *
 * Unlocking may wake another task, which is not allowed with interrupts off. On real-time kernels,
 * a thread runs the irq_work, with interrupts on, as the lock requires there; a reader that tries
 * the lock only changes a counter, so it may do so in any context there, too.
 */
void kl_stack_walk_end(struct kl_stack_walk *w)
{
	struct lock_cpu *cpu = this_cpu_ptr(&lock_cpus);
	struct mm_struct *mm = current->mm;

	if (likely(!w->locked))
		return;
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

/* ------------------------------------------------------------------- files */

/**
 * kl_stack_object - the object number of a file, which it is given if it has none
 * @stacks: of the session
 * @inode: identifies the file: the one of its mappings
 * @file: the caller keeps it from being freed
 *
 * Returns 0 if the table is full. Context: any.
 */
u32 kl_stack_object(struct kl_stacks *stacks, struct inode *inode, struct file *file)
{
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

/**
 * kl_stack_is_object - may a file be given an object number?
 * @file: of a mapping
 *
 * Program text is in a regular file on a file system. Other files that can be mapped, such as
 * kernlens's own descriptors, may hold a reference to the session; a reference to them from here
 * would be a cycle that is never freed.
 */
bool kl_stack_is_object(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	return S_ISREG(inode->i_mode) && inode->i_sb->s_magic != ANON_INODE_FS_MAGIC;
}

/**
 * kl_stack_place - find the files that the frames of a stored trace are in
 * @w: the walk that has taken the trace
 * @entry: the trace
 *
 * Does nothing if the process is changing its mappings. Context: any, preemption off.
 */
void kl_stack_place(struct kl_stack_walk *w, struct kl_stack_entry *entry)
{
	const u64 *frame = &w->stacks->table.word[entry->at];
	u64 *place = &w->stacks->table.word[entry->at + entry->about.frames];

	if (!kl_stack_walk_lock(w))
		return;
	for (u32 i = 0; i < entry->about.frames; i++) {
		const struct vm_area_struct *vma = find_vma(current->mm, frame[i]);
		u64 object;

		if (!vma || vma->vm_start > frame[i] || !vma->vm_file ||
		    !kl_stack_is_object(vma->vm_file))
			continue;
		object = kl_stack_object(w->stacks, file_inode(vma->vm_file), vma->vm_file);
		if (object)
			WRITE_ONCE(place[i], object << KL_STACK_PLACE_SHIFT |
						     (frame[i] - vma->vm_start +
						      ((u64)vma->vm_pgoff << PAGE_SHIFT)));
	}
	/* The places before the flag. Nothing pairs with this: stack.c reads only the flag. */
	smp_store_release(&entry->placed, 1);
}

/* ------------------------------------------------------------------- rules */

static u32 no_rule(enum kl_stack_doubt doubt)
{
	return kl_unwind_rule(KL_UNWIND_NONE, doubt, 0);
}

/* The table of a file. If there is none, notifies whoever loads tables, once. */
static const struct kl_unwind_table *table_of(struct kl_stack_walk *w, u32 number)
{
	const struct kl_unwind_table *table;
	struct kl_stack_object *object;

	if (!number)
		return NULL;
	object = &w->stacks->object[number - 1];
	/* Pairs with publish in stack_unwind.c. */
	table = smp_load_acquire(&object->table);
	if (!table && !xchg(&object->wanted, 1))
		kl_notify_file(w->s);
	return table;
}

static void describe(struct kl_stack_walk *w, const struct vm_area_struct *vma,
		     struct kl_unwind_range *range)
{
	*range = (struct kl_unwind_range){
		.start = vma->vm_start,
		.bytes = vma->vm_end - vma->vm_start,
		.place = (u64)vma->vm_pgoff << PAGE_SHIFT,
		.doubt = KL_STACK_NO_FILE,
	};
	if (!(vma->vm_flags & VM_EXEC)) {
		range->doubt = KL_STACK_INCONSISTENT;
	} else if (vma->vm_start == (unsigned long)current->mm->context.vdso) {
		range->place = 0;
		/* Pairs with publish in stack_unwind.c. */
		range->table = smp_load_acquire(&w->stacks->unwind->vdso);
	} else if (vma->vm_file && kl_stack_is_object(vma->vm_file)) {
		range->doubt = KL_STACK_NO_TABLE;
		range->object = kl_stack_object(w->stacks, file_inode(vma->vm_file), vma->vm_file);
		range->table = table_of(w, range->object);
	}
}

/* The mapping of an address, or NULL and why. */
static const struct kl_unwind_range *find_range(struct kl_stack_walk *w, u64 address,
						enum kl_stack_doubt *doubt)
{
	typeof(w->cache->mm[0]) *mm = &w->cache->mm[w->key >> 32 & (KL_UNWIND_MMS - 1)];
	const struct vm_area_struct *vma;
	struct kl_unwind_range *range;

	if (mm->key != w->key) {
		mm->key = w->key;
		mm->n = 0;
		mm->next = 0;
	}
	for (u32 i = 0; i < mm->n; i++)
		if (address - mm->range[i].start < mm->range[i].bytes)
			return &mm->range[i];
	*doubt = KL_STACK_BUSY;
	if (!kl_stack_walk_lock(w))
		return NULL;
	*doubt = KL_STACK_INCONSISTENT;
	vma = find_vma(current->mm, address);
	if (!vma || vma->vm_start > address)
		return NULL;
	range = &mm->range[mm->next];
	mm->next = (mm->next + 1) % KL_UNWIND_RANGES;
	mm->n = max(mm->n, mm->next ?: KL_UNWIND_RANGES);
	describe(w, vma, range);
	return range;
}

static noinline u32 search_rule(struct kl_stack_walk *w, u64 address)
{
	enum kl_stack_doubt doubt;
	const struct kl_unwind_range *range = find_range(w, address, &doubt);
	u32 rule;

	if (!range)
		return no_rule(doubt);
	if (!range->table)
		return no_rule(range->doubt);
	rule = kl_unwind_table_find(range->table, address - range->start + range->place);
	return rule == KL_UNWIND_NONE ? no_rule(KL_STACK_NO_RULE) : rule;
}

/* What is cached about an address, or another one: its key is to be compared. */
static __always_inline struct kl_unwind_cached *slot_of(struct kl_unwind_cache *cache, u64 key)
{
	return &cache->rule[hash_64(key, ilog2(KL_UNWIND_RULES))];
}

/* The rule for an address; KL_UNWIND_NONE with the reason in its member a. */
static __always_inline u32 rule_of(struct kl_stack_walk *w, u64 address)
{
	u64 key = w->key ^ address;
	struct kl_unwind_cached *slot;

	if (!w->cache)
		return no_rule(w->stacks->unwind ? KL_STACK_BUSY : KL_STACK_NO_TABLES);
	slot = slot_of(w->cache, key);
	if (unlikely(slot->key != key)) {
		slot->rule = search_rule(w, address);
		if (kl_unwind_rule_is_plain(slot->rule)) {
			slot->up = kl_unwind_a(slot->rule);
			slot->saved = -(s16)kl_unwind_b(slot->rule);
		} else {
			slot->up = 0;
		}
		/* A reason that is gone by the next walk is not kept. */
		slot->key = slot->rule == no_rule(KL_STACK_BUSY) ? 0 : key;
	}
	return slot->rule;
}

/* ------------------------------------------------------------------- steps */

/* Page faults are disabled. */
static __always_inline bool read_word(const void *stack, u64 at, __u64 *word)
{
	const u64 __user *from = (const u64 __user *)at;

	if (!user_read_access_begin(from, sizeof(*from)))
		return false;
	unsafe_get_user(*word, from, fault);
	user_read_access_end();
	return true;
fault:
	user_read_access_end();
	return false;
}

/* Leave a function whose rule needs registers that are known in the innermost frame only. */
static bool leave_call(struct kl_stack_walk *w, u32 rule)
{
	u64 ip;

	if (rule == kl_unwind_rule(KL_UNWIND_OTHER, KL_UNWIND_IN_DI, 0)) {
		if (!kl_is_code(w->regs->di))
			return false;
		w->at.ip = w->regs->di;
		return true;
	}
	if (rule != kl_unwind_rule(KL_UNWIND_OTHER, KL_UNWIND_PARENT, 0) || !w->regs->ax ||
	    !read_word(NULL, w->at.sp, &ip) || !kl_is_code(ip))
		return false;
	w->at.ip = ip;
	w->at.sp += sizeof(u64);
	return true;
}

/*
 * At a function's first instructions, and at its last, the frame pointer is the caller's, so the
 * next frame would be that of the caller's caller: the return address is on the stack. At a uprobe,
 * the first byte in memory is an int3; the source of the event passes the original bytes
 * (kl_stack_begin).
 */
static bool guess_edge(struct kl_stack_walk *w)
{
	u32 first = w->text;
	u64 code, from = w->at.sp, ip;

	if (likely(!first)) {
		if (!read_word(NULL, w->at.ip, &code))
			return false;
		first = (u32)code;
	}
	if ((first & 0xffffff) == 0xe58948) /* mov %rsp, %rbp: after the push */
		from += sizeof(u64);
	else if (first != 0xfa1e0ff3 && first != 0xfa1e0fcc && /* endbr64 */
		 first != 0xe5894855 && first != 0xe58948cc && /* push %rbp; mov %rsp, %rbp */
		 (first & 0xff) != 0xc3) /* ret */
		return false;
	if (!read_word(NULL, from, &ip) || !kl_is_code(ip))
		return false;
	w->at.ip = ip;
	w->at.sp = from + sizeof(u64);
	return true;
}

/* Go to the frame that the frame pointer leads to. Returns whether there is one. */
static bool guess(struct kl_stack_walk *w, bool first)
{
	u64 ip, bp, at = w->at.bp;

	if (first && guess_edge(w))
		return true;
	if (at < w->at.sp || at & 7 || !read_word(NULL, at, &bp) ||
	    !read_word(NULL, at + sizeof(u64), &ip) || !kl_is_code(ip))
		return false;
	w->at.ip = ip;
	w->at.sp = at + 2 * sizeof(u64);
	w->at.bp = bp;
	w->at.bp_known = true;
	return true;
}

/* ------------------------------------------------------------------- walks */

static __always_inline void add_frame(struct kl_stack_walk *w, u64 *frame, u32 n)
{
	frame[n] = w->at.ip;
	w->mixed = kl_stack_mix(w->mixed, w->at.ip);
}

/*
 * A user address that is below the limit, or the limit, where nothing is mapped: without a branch,
 * past which the processor could read speculatively. As the kernel's mask_user_address(), in v6.12.
 */
static __always_inline u64 __user *below(u64 at, u64 limit)
{
	__asm__("cmp %1, %0\n\tcmova %1, %0" : "+r"(at) : "r"(limit) : "cc");
	return (u64 __user *)at;
}

/*
 * Take steps as long as rules are known and plain: most of all steps, in a few instructions each,
 * as user memory is made accessible once. kl_unwind_step() would take the same steps; it takes the
 * one at which this stops, so whatever is unusual is its business. The key of an address is that of
 * rule_of().
 *
 * Returns the number of frames then.
 */
static noinline u32 take_plain_steps(struct kl_stack_walk *w, u64 *frame, u32 n, bool exact)
{
	const u64 limit = TASK_SIZE_MAX, walk_key = w->key;
	struct kl_unwind_cache *cache = w->cache;
	const u32 most = w->stacks->user_frames;
	u64 address = w->at.ip - 1 + exact, sp = w->at.sp, bp = w->at.bp, mixed = w->mixed;
	u64 cfa, word, saved;
	bool bp_known = w->at.bp_known;
	u32 before = n;

	/* Later ones are a multiple of a word above this one. */
	if (n == most || sp & 7 || !user_read_access_begin((const u64 __user *)sp, sizeof(u64)))
		return n;
	do {
		const u64 key = walk_key ^ address;
		const struct kl_unwind_cached *slot = slot_of(cache, key);

		if (slot->key != key || !slot->up)
			break;
		cfa = sp + slot->up * sizeof(u64);
		if (kl_unwind_kind_of(slot->rule) == KL_UNWIND_BP) {
			cfa = bp + slot->up * sizeof(u64);
			if (!bp_known || cfa <= sp || cfa & 7)
				break;
		}
		unsafe_get_user(word, below(cfa - sizeof(u64), limit), out);
		if (!kl_is_code(word))
			break;
		if (slot->saved) {
			unsafe_get_user(saved, below(cfa + slot->saved * 8ll, limit), out);
			bp = saved;
			bp_known = true;
		}
		sp = cfa;
		frame[n++] = word;
		mixed = kl_stack_mix(mixed, word);
		address = word - 1;
	} while (n < most);
out:
	user_read_access_end();
	if (n > before)
		w->at = (struct kl_unwind_frame){ frame[n - 1], sp, bp, bp_known };
	w->mixed = mixed;
	return n;
}

static void begin(struct kl_stack_walk *w)
{
	/* Pairs with kl_stack_unwind. */
	const struct kl_unwind *unwind = smp_load_acquire(&w->stacks->unwind);

	w->at.ip = w->regs->ip;
	w->at.sp = w->regs->sp;
	w->at.bp = w->regs->bp;
	w->at.bp_known = true;
	w->mixed = w->stacks->table.seed;
	if (!unwind || w->level & 1)
		return;
	w->cache = unwind->cpu[smp_processor_id()][w->level / 2];
	w->key = kl_stack_mix(w->stacks->table.seed, current->mm->context.ctx_id);
	w->key = kl_stack_mix(w->key, (u64)kl_unwind_changes_of(current->mm) << 32 |
					      READ_ONCE(unwind->tables));
}

/* The file of the current frame has no table: have the stack copied, but not too often. */
static void note_lacking(struct kl_stack_walk *w)
{
	enum kl_stack_doubt doubt;
	const struct kl_unwind_range *range = find_range(w, w->at.ip - 1, &doubt);

	if (!range || !range->object ||
	    READ_ONCE(w->stacks->object[range->object - 1].copies) >= KL_UNWIND_COPIES_EACH)
		return;
	w->lacking = w->at;
	w->lacks = range->object;
}

/* Ends, the frames are right as far as they go. */
static bool is_end(enum kl_stack_doubt doubt)
{
	return doubt == KL_STACK_NOT_READABLE || doubt == KL_STACK_INCONSISTENT;
}

static enum kl_stack_doubt walk(struct kl_stack_walk *w, struct kl_abi_stack *about, u64 *frame)
{
	/* In a system call, the address is the one after the instruction. */
	u32 n = 0, most = w->stacks->user_frames, exact = !!(about->flags & KL_STACK_EXACT);
	enum kl_stack_doubt doubt = KL_STACK_SURE, why;

	for (;;) {
		u32 rule;

		add_frame(w, frame, n++);
		if (likely(w->cache)) {
			u32 before = n;

			n = take_plain_steps(w, frame, n, exact);
			if (n > before)
				exact = 0;
		}
		if (likely(!doubt))
			about->certain = n;
		rule = rule_of(w, w->at.ip - 1 + exact);
		if (kl_unwind_kind_of(rule) == KL_UNWIND_END)
			break;
		/* The ABI's mark of the outermost frame, where the dynamic linker begins. */
		if (rule == no_rule(KL_STACK_NO_RULE) && w->at.bp_known && !w->at.bp)
			break;
		why = kl_unwind_step(&w->at, rule, read_word, NULL);
		exact = kl_unwind_is_signal(rule);
		if (unlikely(why) && n == 1 && leave_call(w, rule))
			why = KL_STACK_SURE;
		if (unlikely(why)) {
			if (why == KL_STACK_NO_TABLE && !doubt && w->of_record)
				note_lacking(w);
			doubt = doubt ?: why;
			if (is_end(why) || !guess(w, n == 1))
				break;
		}
		if (n == most) {
			about->flags |= KL_STACK_CUT;
			break;
		}
	}
	about->frames = n;
	return doubt;
}

/**
 * kl_stack_walk_user - walk the running task's user stack
 * @w: the walk, as its struct says
 * @about: receives the number of frames, how many are certain, and the flags
 * @frame: receives the frames, at most @w->stacks->user_frames
 *
 * Context: any, preemption off. The task has an mm.
 */
void kl_stack_walk_user(struct kl_stack_walk *w, struct kl_abi_stack *about, u64 *frame)
{
	enum kl_stack_doubt doubt;

	/* Frames of 32-bit programs have another layout. */
	if (!user_64bit_mode((struct pt_regs *)w->regs)) {
		frame[0] = w->regs->ip;
		w->mixed = kl_stack_mix_frames(&w->stacks->table, frame, 1);
		about->frames = 1;
		about->certain = 1;
		about->flags |= KL_STACK_COMPAT << KL_STACK_DOUBT_SHIFT;
		return;
	}
	begin(w);
	kl_nofault(({
		pagefault_disable();
		0;
	}));
	doubt = walk(w, about, frame);
	kl_nofault(({
		pagefault_enable();
		0;
	}));
	about->flags |= doubt << KL_STACK_DOUBT_SHIFT;
}

/**
 * kl_stack_user_init - prepare for walks
 */
void kl_stack_user_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		init_irq_work(&per_cpu_ptr(&lock_cpus, cpu)->unlock, unlock_later);
}

/**
 * kl_stack_user_deinit - undo kl_stack_user_init(); no probe is attached any more
 */
void kl_stack_user_deinit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu_ptr(&lock_cpus, cpu)->unlock);
}
