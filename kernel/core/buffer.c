// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a session's rings: allocated with the session, increased and reduced while it runs,
 * mapped by readers. A block that is removed stays in memory as long as some reader has it mapped.
 * Blocks change under the session's blocks_lock, which readers hold for reading while they copy;
 * its size_lock serializes changes of size. Memory is allocated under size_lock alone, because the
 * creator's memory cgroup can delay this for minutes: neither readers nor a CPU that comes online
 * then wait for it.
 */
#include <linux/cpu.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>

#include "reserved.h"
#include "session.h"

static void free_memory(u8 *memory, u32 bytes)
{
	if (kl_reserved_has(memory)) {
		kl_reserved_free(memory, bytes);
		return;
	}
	if (is_vmalloc_addr(memory)) {
		vfree(memory);
		return;
	}
	for (u32 at = 0; memory && at < bytes; at += PAGE_SIZE)
		__free_page(virt_to_page(memory + at));
}

/*
 * Zeroed, because users will read it. Contiguous if such memory is readily available, but in pages
 * that each have their own reference count: a task that pins a mapped page (by vmsplice, say) keeps
 * only that page when the block is freed, not the whole block.
 */
static u8 *alloc_memory(u32 bytes, int node)
{
	struct page *page =
		alloc_pages_node(node,
				 GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN | __GFP_NORETRY,
				 get_order(bytes));

	if (!page)
		return __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	split_page(page, get_order(bytes));
	return page_address(page);
}

static struct page *page_of(const u8 *memory, unsigned long offset)
{
	if (is_vmalloc_addr(memory))
		return vmalloc_to_page(memory + offset);
	return virt_to_page(memory + offset);
}

static void get_page_of(const u8 *memory, unsigned long offset, struct kl_buffer_page *to)
{
	*to = (struct kl_buffer_page){};
	if (kl_reserved_has(memory)) {
		to->pfn = kl_reserved_address(memory + offset) >> PAGE_SHIFT;
		return;
	}
	to->page = page_of(memory, offset);
	get_page(to->page);
}

static void free_block(struct kl_session *s, struct kl_ring_block *block)
{
	kl_crash_remove_block(s, block);
	free_memory(block->memory, s->block_bytes);
	kfree(block);
}

/* Memory charged for a block. Reserved memory is nobody else's. */
static u64 charge_of(const struct kl_session *s)
{
	return (s->reserved ? 0 : kl_memory_size(s->block_bytes)) +
	       kl_memory_size(sizeof(struct kl_ring_block));
}

/*
 * Has a reader mapped part of the block? It is in no ring any more, so no new mapping can begin. Of
 * reserved memory this is not known: it is used again when the session has ended.
 */
static bool is_mapped(const struct kl_session *s, const struct kl_ring_block *block)
{
	if (s->reserved)
		return true;
	for (u32 at = 0; at < s->block_bytes; at += PAGE_SIZE)
		if (page_count(page_of(block->memory, at)) > 1)
			return true;
	return false;
}

static struct kl_ring_block *create_block(struct kl_session *s, int cpu, struct kl_error *why)
{
	struct kl_ring_block *block = kzalloc(sizeof(*block), GFP_KERNEL_ACCOUNT);
	int error;

	if (!block)
		return ERR_PTR(-ENOMEM);
	block->memory = s->reserved ? kl_reserved_alloc(s->block_bytes) :
				      alloc_memory(s->block_bytes, cpu_to_node(cpu));
	/* Readers of a block that no ring has yet find it unused, also after a crash. */
	if (block->memory)
		((struct kl_abi_block *)block->memory)->seq = KL_SEQ_NONE;
	error = block->memory ? kl_crash_add_block(s, cpu, block, why) : -ENOMEM;
	if (!error)
		return block;
	free_memory(block->memory, s->block_bytes);
	kfree(block);
	return ERR_PTR(error);
}

static int add_block(struct kl_session *s, int cpu, struct kl_error *why)
{
	struct kl_cpu *c = per_cpu_ptr(s->cpu, cpu);
	struct kl_ring_block *block;
	int error;

	lockdep_assert_held(&s->size_lock);
	block = create_block(s, cpu, why);
	if (IS_ERR(block))
		return PTR_ERR(block);
	down_write(&s->blocks_lock);
	block->index = c->next_index;
	/*
	 * The index is not charged to the cgroup, which could make readers wait; it takes 1 KiB for
	 * 64 blocks.
	 */
	error = xa_err(xa_store(&c->blocks, block->index, block, GFP_KERNEL));
	if (!error) {
		c->next_index++;
		WRITE_ONCE(c->given, c->given + 1);
		kl_ring_add(&c->ring, block);
	}
	up_write(&s->blocks_lock);
	if (error)
		free_block(s, block);
	return error;
}

/* Free a list of blocks that are in no ring any more; keep those that are mapped. */
static void retire_blocks(struct kl_session *s, struct kl_ring_block *block)
{
	struct kl_ring_block *next;

	lockdep_assert_held_write(&s->blocks_lock);
	for (; block; block = next) {
		next = block->next;
		cond_resched();
		if (is_mapped(s, block)) {
			block->next = s->retired;
			s->retired = block;
			continue;
		}
		free_block(s, block);
		kl_memory_uncharge(&s->payer, charge_of(s));
	}
}

/* Free the blocks that the writers have given back, and those that were still mapped before. */
static void reap_blocks(struct kl_session *s)
{
	struct kl_ring_block *block = s->retired, *next;
	int cpu;

	s->retired = NULL;
	retire_blocks(s, block);
	for_each_possible_cpu(cpu) {
		struct kl_cpu *c = per_cpu_ptr(s->cpu, cpu);

		block = kl_ring_take_outgoing(&c->ring);
		for (next = block; next; next = next->next) {
			xa_erase(&c->blocks, next->index);
			WRITE_ONCE(c->given, c->given - 1);
			cond_resched();
		}
		retire_blocks(s, block);
	}
}

/* Note the CPUs that are or have been online: each of their rings needs blocks. */
static void note_online(struct kl_session *s)
{
	int cpu;

	lockdep_assert_held(&s->size_lock);
	for_each_possible_cpu(cpu) {
		struct kl_cpu *c = per_cpu_ptr(s->cpu, cpu);

		if (!c->was_online && !cpu_online(cpu))
			continue;
		WRITE_ONCE(c->was_online, true);
		WRITE_ONCE(c->ring.wanted, s->blocks);
	}
}

/* Number of blocks that a CPU's ring lacks. */
static u32 missing_of(const struct kl_session *s, int cpu)
{
	const struct kl_cpu *c = per_cpu_ptr(s->cpu, cpu);

	return c->was_online ? s->blocks - min(s->blocks, c->given) : 0;
}

static u64 missing(const struct kl_session *s)
{
	u64 blocks = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		blocks += missing_of(s, cpu);
	return blocks;
}

/*
 * Add the blocks that a CPU's ring lacks, which have been charged. Stops early if the session is
 * closed, so that its creator does not wait.
 */
static int fill_cpu(struct kl_session *s, int cpu, struct kl_error *why)
{
	int error = 0;

	while (!error && missing_of(s, cpu)) {
		error = READ_ONCE(s->closed) || fatal_signal_pending(current) ?
				-EINTR :
				add_block(s, cpu, why);
		cond_resched();
	}
	return error;
}

/*
 * Charge and add the blocks that the rings lack; uncharge those that could not be added. The
 * session's owner pays for them, whoever calls.
 */
static int fill_cpus(struct kl_session *s, struct kl_error *why)
{
	struct mem_cgroup *before;
	int cpu, error;

	lockdep_assert_held(&s->size_lock);
	note_online(s);
	error = kl_memory_charge(&s->payer, missing(s) * charge_of(s), why);
	if (error)
		return error;
	before = set_active_memcg(s->memcg);
	for_each_possible_cpu(cpu) {
		error = fill_cpu(s, cpu, why);
		if (error)
			break;
	}
	set_active_memcg(before);
	kl_memory_uncharge(&s->payer, missing(s) * charge_of(s));
	if (error == -ENOMEM)
		kl_fail(why, error, "no %smemory for %u blocks of %u bytes on each CPU",
			s->reserved ? "reserved " : "", s->blocks, s->block_bytes);
	return error;
}

/* Called with interrupts off, on the ring's CPU. */
static void prepare_ring(void *ring)
{
	kl_ring_prepare(ring);
}

/**
 * kl_buffer_fill - add blocks for CPUs that have come online
 * @s: the session
 * @why: set on failure
 *
 * Until then records of these CPUs count as lost. Returns 0 or a negative errno. Context: may sleep
 * for a long time.
 */
int kl_buffer_fill(struct kl_session *s, struct kl_error *why)
{
	int cpu, error;

	mutex_lock(&s->size_lock);
	error = fill_cpus(s, why);
	mutex_unlock(&s->size_lock);
	/* Harmless if a block is already prepared, or if a CPU has gone offline in the meantime. */
	for_each_online_cpu(cpu)
		smp_call_function_single(cpu, prepare_ring, &per_cpu_ptr(s->cpu, cpu)->ring, true);
	return error;
}

static void wake_readers(struct irq_work *work)
{
	kl_waiters_wake(&container_of(work, struct kl_cpu, wake)->session->waiters);
}

/* Memory that all rings take, without their blocks. */
static u64 rings_bytes(const struct kl_session *s)
{
	u32 map_size = roundup_pow_of_two(s->blocks_max);

	return kl_memory_percpu(sizeof(struct kl_cpu)) +
	       num_possible_cpus() * (kl_memory_size(map_size * sizeof(struct kl_ring_block *)) +
				      PAGE_ALIGN(kl_ring_shared_bytes(map_size)));
}

static void *alloc_shared(const struct kl_session *s, u64 bytes)
{
	return s->reserved ? kl_reserved_alloc(bytes) :
			     __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
}

static void free_shared(const struct kl_session *s, struct kl_abi_ring *shared)
{
	if (s->reserved && shared)
		kl_reserved_free(shared, kl_ring_shared_bytes(roundup_pow_of_two(s->blocks_max)));
	else
		vfree(shared);
}

static int create_ring(struct kl_session *s, int cpu, struct kl_error *why)
{
	struct kl_cpu *c = per_cpu_ptr(s->cpu, cpu);
	u32 map_size = roundup_pow_of_two(s->blocks_max);
	struct kl_abi_block header = { .magic = KL_CTF_MAGIC, .session_id = s->id };
	struct kl_ring_block **window;
	struct kl_abi_ring *shared;

	memcpy(header.uuid, s->uuid, sizeof(header.uuid));
	c->session = s;
	c->state = KL_STATE_UNKNOWN;
	init_irq_work(&c->wake, wake_readers);
	xa_init(&c->blocks);
	window = kvcalloc(map_size, sizeof(*window), GFP_KERNEL_ACCOUNT);
	shared = alloc_shared(s, PAGE_ALIGN(kl_ring_shared_bytes(map_size)));
	if (!window || !shared) {
		kvfree(window);
		free_shared(s, shared);
		return kl_fail(why, -ENOMEM, "no memory for a session");
	}
	kl_ring_init(&c->ring, shared, window, map_size, s->block_bytes, cpu,
		     s->mode == KL_MODE_OVERWRITE, &header);
	return kl_crash_add_ring(s, cpu, shared, why);
}

/**
 * kl_buffer_create - create rings on all CPUs, and blocks on those that are online
 * @s: a new session with its sizes set
 * @why: set on failure; kl_buffer_destroy() must be called even then
 *
 * Context: may sleep.
 */
int kl_buffer_create(struct kl_session *s, struct kl_error *why)
{
	int cpu, error = kl_memory_charge(&s->payer, rings_bytes(s), why);

	if (error)
		return error;
	s->cpu = alloc_percpu_gfp(struct kl_cpu, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!s->cpu)
		return kl_fail(why, -ENOMEM, "no memory for a session");
	for_each_possible_cpu(cpu) {
		error = create_ring(s, cpu, why);
		if (error)
			return error;
	}
	mutex_lock(&s->size_lock);
	error = fill_cpus(s, why);
	mutex_unlock(&s->size_lock);
	/* Nothing records yet. */
	for_each_possible_cpu(cpu)
		kl_ring_prepare(&per_cpu_ptr(s->cpu, cpu)->ring);
	return error;
}

/**
 * kl_buffer_destroy - undo kl_buffer_create(), even a failed one
 * @s: a session that nothing uses any more
 */
void kl_buffer_destroy(struct kl_session *s)
{
	struct kl_ring_block *block, *next;
	unsigned long index;
	int cpu;

	if (!s->cpu)
		return;
	for (block = s->retired; block; block = next) {
		next = block->next;
		free_block(s, block);
		cond_resched();
	}
	for_each_possible_cpu(cpu) {
		struct kl_cpu *c = per_cpu_ptr(s->cpu, cpu);

		if (!c->session)
			continue;
		irq_work_sync(&c->wake);
		xa_for_each(&c->blocks, index, block) {
			free_block(s, block);
			cond_resched();
		}
		xa_destroy(&c->blocks);
		kvfree(c->ring.window);
		free_shared(s, c->ring.shared);
		kvfree(rcu_dereference_protected(c->counts, true));
	}
	kl_waiters_deinit(&s->waiters);
	free_percpu(s->cpu);
}

static void want_blocks(struct kl_session *s, u32 blocks)
{
	int cpu;

	down_write(&s->blocks_lock);
	WRITE_ONCE(s->blocks, blocks);
	for_each_possible_cpu(cpu)
		if (per_cpu_ptr(s->cpu, cpu)->was_online)
			WRITE_ONCE(per_cpu_ptr(s->cpu, cpu)->ring.wanted, blocks);
	up_write(&s->blocks_lock);
}

static int resize(struct kl_session *s, u32 blocks, struct kl_error *why)
{
	u32 before = s->blocks;
	int error;

	lockdep_assert_held(&s->size_lock);
	want_blocks(s, blocks);
	/*
	 * From here on no writer gives back blocks because of the old number, so they can be
	 * counted.
	 */
	synchronize_rcu();
	down_write(&s->blocks_lock);
	reap_blocks(s);
	up_write(&s->blocks_lock);
	error = fill_cpus(s, why);
	/* Blocks that were added before the failure are removed as when a buffer shrinks. */
	if (error)
		want_blocks(s, before);
	return error;
}

/**
 * kl_buffer_resize - change the number of blocks while records are written
 * @s: the session
 * @blocks: per CPU, within KL_BLOCKS_MIN and the session's blocks_max
 * @why: set on failure
 *
 * Additional blocks are used when a CPU next switches blocks. Excess ones are removed as blocks are
 * reused, which frees their memory at the next resize or at the session's end. Context: may sleep.
 */
int kl_buffer_resize(struct kl_session *s, u32 blocks, struct kl_error *why)
{
	int error;

	if (blocks < KL_BLOCKS_MIN || blocks > s->blocks_max)
		return kl_fail(why, -EINVAL,
			       "%u blocks of %u bytes per CPU requested, the range is %u to %u",
			       blocks, s->block_bytes, KL_BLOCKS_MIN, s->blocks_max);
	error = mutex_lock_killable(&s->size_lock);
	if (error)
		return error;
	error = resize(s, blocks, why);
	mutex_unlock(&s->size_lock);
	return error;
}

/**
 * kl_buffer_finish - close the blocks being filled, so that readers get them
 * @s: a session in which no probe runs
 * @time: when it recorded its last event
 */
void kl_buffer_finish(struct kl_session *s, u64 time)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kl_ring_finish(&per_cpu_ptr(s->cpu, cpu)->ring, time);
}

/**
 * kl_buffer_written - number of records written on all CPUs
 * @s: the session
 *
 * Context: any.
 */
u64 kl_buffer_written(const struct kl_session *s)
{
	u64 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += kl_ring_written(per_cpu_ptr(s->cpu, cpu)->ring.shared);
	return n;
}

/**
 * kl_buffer_lost - number of records lost on all CPUs, because the buffer was full
 * @s: the session
 *
 * Context: any.
 */
u64 kl_buffer_lost(const struct kl_session *s)
{
	u64 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += READ_ONCE(per_cpu_ptr(s->cpu, cpu)->ring.shared->lost);
	return n;
}

/**
 * kl_buffer_page - a page of a block, for a reader's mapping
 * @s: the session
 * @cpu: any number
 * @index: any number
 * @offset: any number
 * @to: filled in
 *
 * Returns whether there is such a block.
 */
bool kl_buffer_page(struct kl_session *s, u32 cpu, u32 index, unsigned long offset,
		    struct kl_buffer_page *to)
{
	struct kl_ring_block *block;
	struct kl_cpu *c;

	if (cpu >= nr_cpu_ids || !cpu_possible(cpu) || offset >= s->block_bytes)
		return false;
	c = per_cpu_ptr(s->cpu, array_index_nospec(cpu, nr_cpu_ids));
	xa_lock(&c->blocks);
	block = xa_load(&c->blocks, index);
	if (block)
		get_page_of(block->memory, offset, to);
	xa_unlock(&c->blocks);
	return block;
}

/**
 * kl_buffer_ring_page - a page of what a ring shares with readers
 * @s: the session
 * @cpu: any number
 * @offset: any number
 * @to: filled in
 *
 * Returns whether there is such a page.
 */
bool kl_buffer_ring_page(struct kl_session *s, u32 cpu, unsigned long offset,
			 struct kl_buffer_page *to)
{
	struct kl_abi_ring *shared;

	if (cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return false;
	shared = per_cpu_ptr(s->cpu, array_index_nospec(cpu, nr_cpu_ids))->ring.shared;
	if (offset >= PAGE_ALIGN(kl_ring_shared_bytes(shared->map_size)))
		return false;
	get_page_of((u8 *)shared, offset, to);
	return true;
}
