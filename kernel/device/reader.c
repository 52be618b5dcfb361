// SPDX-License-Identifier: GPL-2.0
/*
 * A reader's descriptor: read() copies complete blocks, mmap() shows them in place. A reader has
 * its own position in each ring; in discard mode it may hold blocks until it has read them.
 * `reader->lock` guards the cursors.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include "../compat/nofault.h"
#include "../compat/vm.h"
#include "device.h"

/**
 * struct kl_reader - an open reader
 * @position: of each CPU; shared with user space, which may write it
 * @last_cpu: CPU whose block was read last, so that each gets its turn
 * @holder: slot in the rings' holders, or -1
 * @cursor: by CPU
 */
struct kl_reader {
	struct kl_session *session;
	struct mutex lock; /* guards the cursors */
	u64 *position;
	u32 last_cpu;
	int holder;
	struct kl_cursor cursor[];
};

static size_t position_bytes(void)
{
	return PAGE_ALIGN(nr_cpu_ids * sizeof(u64));
}

static struct kl_ring *ring_of(struct kl_reader *r, u32 cpu)
{
	return &per_cpu_ptr(r->session->cpu, cpu)->ring;
}

/*
 * Copy the next complete block of a CPU. Returns bytes, 0 if there is none, or -EFAULT if the
 * user's memory is not present: a slow page fault must not delay other users of the blocks' lock.
 */
static ssize_t read_block(struct kl_reader *r, u32 cpu, char __user *to)
{
	struct kl_cursor *cursor = &r->cursor[cpu];
	struct kl_ring *ring = ring_of(r, cpu);
	struct kl_abi_block header;
	const u8 *found;

	lockdep_assert_held(&r->lock);
	do {
		/* A writer faster than this reader could keep it here forever. */
		if (fatal_signal_pending(current))
			return -EINTR;
		found = kl_cursor_find(ring, cursor);
		if (!found)
			return 0;
		/* A writer that reuses the block concurrently changes `seq` first: B. */
		data_race(memcpy(&header, found, sizeof(header)));
		if (kl_nofault(copy_to_user_nofault(to, found, ring->block_bytes)))
			return -EFAULT;
	} while (!kl_cursor_advance(cursor, found, &header));
	/* The copy is complete: the writer may reuse the block. Pairs with C. */
	smp_store_release(&r->position[cpu], cursor->next);
	return ring->block_bytes;
}

/* The same, after faulting in the user's memory. */
static ssize_t read_block_faulting(struct kl_reader *r, u32 cpu, char __user *to)
{
	struct kl_session *s = r->session;

	for (;;) {
		ssize_t got;

		down_read(&s->blocks_lock);
		got = read_block(r, cpu, to);
		up_read(&s->blocks_lock);
		if (got != -EFAULT)
			return got;
		if (fault_in_writeable(to, s->block_bytes) || fatal_signal_pending(current))
			return -EFAULT;
	}
}

/* Read one block, from the CPU whose turn it is. */
static ssize_t read_any(struct kl_reader *r, char __user *to)
{
	for (u32 i = 0; i < nr_cpu_ids; i++) {
		u32 cpu = (r->last_cpu + 1 + i) % nr_cpu_ids;
		ssize_t got;

		if (!cpu_possible(cpu))
			continue;
		got = read_block_faulting(r, cpu, to);
		if (got) {
			r->last_cpu = cpu;
			return got;
		}
	}
	return 0;
}

/* Is there a complete block that this reader has not read? */
static bool has_block(struct kl_reader *r)
{
	bool found = false;
	u32 cpu;

	down_read(&r->session->blocks_lock);
	for_each_possible_cpu(cpu) {
		struct kl_cursor at = r->cursor[cpu];

		/* A reader that maps the blocks advances its position there. */
		at.next = max(at.next, READ_ONCE(r->position[cpu]));
		found = kl_cursor_find(ring_of(r, cpu), &at);
		if (found)
			break;
	}
	up_read(&r->session->blocks_lock);
	return found;
}

/*
 * Sleep until a block is complete or the session has stopped. has_block() may itself sleep, so
 * wait_event cannot be used; wait_woken() remembers a wakeup that comes in between.
 */
static int wait_for_block(struct kl_reader *r)
{
	struct kl_session *s = r->session;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int error = 0;

	add_wait_queue(&s->waiters.wait, &wait);
	smp_mb(); /* pairs with kl_waiters_kick */
	while (!has_block(r) && READ_ONCE(s->running)) {
		if (signal_pending(current)) {
			error = -ERESTARTSYS;
			break;
		}
		wait_woken(&wait, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
	}
	remove_wait_queue(&s->waiters.wait, &wait);
	return error;
}

static ssize_t reader_read(struct file *file, char __user *to, size_t room, loff_t *offset)
{
	struct kl_reader *r = file->private_data;
	struct kl_session *s = r->session;
	ssize_t got = 0, all = 0;

	if (room < s->block_bytes)
		return -EINVAL;
	for (;;) {
		bool running = READ_ONCE(s->running);

		if (mutex_lock_interruptible(&r->lock))
			return all ?: -EINTR;
		while (room - all >= s->block_bytes) {
			got = read_any(r, to + all);
			if (got <= 0)
				break;
			all += got;
			cond_resched();
			if (signal_pending(current))
				break;
		}
		mutex_unlock(&r->lock);
		if (all || got < 0 || !running)
			return all ?: got;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_for_block(r))
			return -ERESTARTSYS;
	}
}

static __poll_t reader_poll(struct file *file, poll_table *table)
{
	struct kl_reader *r = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &r->session->waiters.wait, table);
	smp_mb(); /* pairs with kl_waiters_kick */
	/* Check this before looking for blocks: the last ones are complete before the stop. */
	if (!READ_ONCE(r->session->running))
		events |= EPOLLHUP;
	smp_rmb(); /* pairs with the release of `running` in stop_running */
	if (has_block(r))
		events |= EPOLLIN | EPOLLRDNORM;
	return events;
}

#define REGION_OF(offset) ((u32)((offset) >> KL_MMAP_REGION_SHIFT))
#define RINGS REGION_OF(KL_MMAP_RING(0))
#define BLOCKS REGION_OF(KL_MMAP_BLOCK(0, 0, 0))
#define POSITIONS REGION_OF(KL_MMAP_POSITION)

/* Get the page at an offset of the descriptor. Returns false if there is none. */
static bool find_page(struct kl_reader *r, u64 offset, struct kl_buffer_page *to)
{
	struct kl_session *s = r->session;
	u64 rest = offset & ((1ull << KL_MMAP_CPU_SHIFT) - 1);
	u32 cpu = offset >> KL_MMAP_CPU_SHIFT & 0xffff;

	if (REGION_OF(offset) == RINGS)
		return kl_buffer_ring_page(s, cpu, rest, to);
	if (REGION_OF(offset) == BLOCKS)
		return kl_buffer_page(s, cpu, div_u64(rest, s->block_bytes),
				      rest & (s->block_bytes - 1), to);
	if (rest >= position_bytes())
		return false;
	to->page = vmalloc_to_page((u8 *)r->position + rest);
	get_page(to->page);
	return true;
}

static vm_fault_t reader_fault(struct vm_fault *vmf)
{
	struct kl_reader *r = vmf->vma->vm_file->private_data;
	struct kl_buffer_page found;

	/* Reserved memory was mapped at once: what is not there now, does not exist. */
	if (r->session->reserved && vmf->vma->vm_flags & VM_PFNMAP)
		return VM_FAULT_SIGBUS;
	if (!find_page(r, (u64)vmf->pgoff << PAGE_SHIFT, &found))
		return VM_FAULT_SIGBUS;
	vmf->page = found.page;
	return 0;
}

static const struct vm_operations_struct reader_vm_ops = {
	.fault = reader_fault,
};

/* Map a page, and drop the reference. */
static int map_page(struct vm_area_struct *vma, unsigned long at, const struct kl_buffer_page *from)
{
	int error;

	if (!from->page)
		return vmf_insert_pfn(vma, at, from->pfn) == VM_FAULT_NOPAGE ? 0 : -EFAULT;
	error = vm_insert_page(vma, at, from->page);
	put_page(from->page);
	return error;
}

/*
 * Blocks are mapped at once, so that one which the writer has given back in the meantime is an
 * error here and not a signal at its first access. So is reserved memory, which madvise() does not
 * fault in. A CPU without a ring is -EFAULT there, as it is when it is faulted in.
 */
static int map_all(struct kl_reader *r, struct vm_area_struct *vma, u32 region)
{
	for (unsigned long at = vma->vm_start; at < vma->vm_end; at += PAGE_SIZE) {
		u64 offset = (u64)(vma->vm_pgoff << PAGE_SHIFT) + (at - vma->vm_start);
		struct kl_buffer_page page;
		int error;

		if (!find_page(r, offset, &page))
			return region == BLOCKS ? -ENXIO : -EFAULT;
		error = map_page(vma, at, &page);
		if (error)
			return error;
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

static int reader_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct kl_reader *r = file->private_data;
	u32 region = vma->vm_pgoff >> (KL_MMAP_REGION_SHIFT - PAGE_SHIFT);
	unsigned long last = vma->vm_pgoff + vma_pages(vma) - 1;
	bool reserved;

	/* A mapping must not extend into the next region, which has another owner. */
	if (region < 1 || region > 3 || last >> (KL_MMAP_REGION_SHIFT - PAGE_SHIFT) != region)
		return -EINVAL;
	if (region != POSITIONS) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		kl_vm_flags_clear(vma, VM_MAYWRITE);
	}
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	reserved = r->session->reserved && region != POSITIONS;
	if (reserved)
		kl_vm_flags_set(vma, VM_PFNMAP);
	kl_vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &reader_vm_ops;
	return reserved || region == BLOCKS ? map_all(r, vma, region) : 0;
}

/* Publish the reader's positions in the rings, or remove them. */
static void set_holder(struct kl_reader *r, int slot, bool on)
{
	u32 cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(ring_of(r, cpu)->holders[slot], on ? &r->position[cpu] : NULL);
}

static int find_holder(struct kl_session *s)
{
	struct kl_ring *ring = &per_cpu_ptr(s->cpu, cpumask_first(cpu_possible_mask))->ring;

	lockdep_assert_held(&s->lock);
	for (int slot = 0; slot < KL_RING_HOLDERS; slot++)
		if (!ring->holders[slot])
			return slot;
	return -1;
}

static u64 reader_bytes(void)
{
	const struct kl_reader *r = NULL;

	return kl_memory_size(struct_size(r, cursor, nr_cpu_ids)) + position_bytes();
}

static int charge_reader(struct kl_payer *payer, struct kl_error *why)
{
	int error = kl_payer_charge(payer, KL_LIMIT_readers, 1, why);

	if (error)
		return error;
	error = kl_memory_charge(payer, reader_bytes(), why);
	if (error)
		kl_payer_uncharge(payer, KL_LIMIT_readers, 1);
	return error;
}

/* Free a reader and uncharge its memory. */
static void free_reader(struct kl_reader *r, struct kl_payer *payer)
{
	vfree(r->position);
	mutex_destroy(&r->lock);
	kvfree(r);
	kl_memory_uncharge(payer, reader_bytes());
	kl_payer_uncharge(payer, KL_LIMIT_readers, 1);
}

/* Undo kl_reader_create. */
static void drop_reader(struct kl_reader *r)
{
	struct kl_session *s = r->session;

	mutex_lock(&s->lock);
	WRITE_ONCE(s->reader_count, s->reader_count - 1);
	if (r->holder >= 0)
		set_holder(r, r->holder, false);
	mutex_unlock(&s->lock);
	/* Wait for writers that still read the positions; they run with preemption off. */
	if (r->holder >= 0)
		synchronize_rcu();
	free_reader(r, &s->payer);
	kl_session_put(s);
}

static int reader_release(struct inode *inode, struct file *file)
{
	drop_reader(file->private_data);
	return 0;
}

static const struct file_operations reader_fops = {
	.owner = THIS_MODULE,
	.read = reader_read,
	.poll = reader_poll,
	.mmap = reader_mmap,
	.release = reader_release,
	.llseek = noop_llseek,
};

/* A new reader begins at the oldest block, or at the current one. */
static void place_cursors(struct kl_reader *r, bool from_now)
{
	u32 cpu;

	down_read(&r->session->blocks_lock);
	for_each_possible_cpu(cpu) {
		struct kl_cursor *cursor = &r->cursor[cpu];

		if (from_now)
			kl_cursor_place_at_head(ring_of(r, cpu), cursor);
		else
			cursor->next = READ_ONCE(ring_of(r, cpu)->shared->tail);
		WRITE_ONCE(r->position[cpu], cursor->next);
	}
	up_read(&r->session->blocks_lock);
}

/* Allocate a reader that the session has already been charged for. */
static struct kl_reader *alloc_reader(struct kl_session *s)
{
	struct kl_reader *r = kvzalloc(struct_size(r, cursor, nr_cpu_ids), GFP_KERNEL_ACCOUNT);

	if (!r) {
		kl_memory_uncharge(&s->payer, reader_bytes());
		kl_payer_uncharge(&s->payer, KL_LIMIT_readers, 1);
		return NULL;
	}
	mutex_init(&r->lock);
	r->session = s;
	r->holder = -1;
	r->position = __vmalloc(position_bytes(), GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (r->position)
		return r;
	free_reader(r, &s->payer);
	return NULL;
}

/* Give the caller a descriptor, or undo all of kl_reader_create. */
static int install_reader(struct kl_reader *r, struct kl_abi_reader *params, struct kl_error *why)
{
	struct file *file =
		anon_inode_getfile("[kernlens-reader]", &reader_fops, r, O_RDWR | O_CLOEXEC);
	int fd;

	if (IS_ERR(file)) {
		drop_reader(r);
		return kl_fail(why, PTR_ERR(file), "cannot create a reader's descriptor");
	}
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		fput(file);
		return kl_fail(why, fd, "too many open files");
	}
	fd_install(fd, file);
	params->fd = fd;
	return 0;
}

/**
 * kl_reader_create - create another descriptor to read a session with
 * @s: the session; the reader takes its own reference
 * @params: the flags are read, the descriptor is set
 * @why: set on failure
 *
 * Context: the system call of the process that gets the descriptor.
 */
int kl_reader_create(struct kl_session *s, struct kl_abi_reader *params, struct kl_error *why)
{
	struct kl_reader *r;
	int error;

	if (params->flags & ~(KL_READER_HOLD | KL_READER_FROM_NOW) || params->reserved)
		return kl_fail(why, -EINVAL, "unknown reader flags %#x", params->flags);
	error = charge_reader(&s->payer, why);
	if (error)
		return error;
	r = alloc_reader(s);
	if (!r)
		return kl_fail(why, -ENOMEM, "no memory for a reader");
	mutex_lock(&s->lock);
	place_cursors(r, params->flags & KL_READER_FROM_NOW);
	if (params->flags & KL_READER_HOLD) {
		r->holder = find_holder(s);
		if (r->holder >= 0)
			set_holder(r, r->holder, true);
		else
			error = kl_fail(why, -EMFILE,
					"a session can have at most %d holding readers",
					KL_RING_HOLDERS);
	}
	if (!error)
		WRITE_ONCE(s->reader_count, s->reader_count + 1);
	mutex_unlock(&s->lock);
	if (error) {
		free_reader(r, &s->payer);
		return error;
	}
	kl_session_get(s);
	return install_reader(r, params, why);
}
