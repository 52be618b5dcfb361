// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps the pages of uapi/crash.h. No code reads them while the machine runs, so there is no CPU to
 * synchronize with: a crash stops all CPUs, and the memory then has what they had stored. Every
 * barrier orders the stores of one CPU, so that no store is in memory before what it refers to.
 * `anchor_lock` guards the anchors; a session's pages are under its size_lock, and its metadata
 * under its lock. Sessions that survive a reset have an anchor of their own, which is in the
 * reserved memory as they are.
 */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include "../compat/clock.h"
#include "crash_internal.h"
#include "reserved.h"
#include "session.h"

#define TICK_NS NSEC_PER_SEC
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static DEFINE_MUTEX(anchor_lock);
static struct kl_crash_anchor *anchor;
/* Its physical address, as debuggers find the other by its pointer; 0 until a session is there. */
static u64 reserved_anchor;
static u8 load[16];
static u64 ticked_ns;

/**
 * kl_crash_address - physical address of the module's memory
 * @memory: in the kernel's mapping of all memory, vmalloc()ed, or reserved
 *
 * Context: any.
 */
u64 kl_crash_address(const void *memory)
{
	if (kl_reserved_has(memory))
		return kl_reserved_address(memory);
	if (is_vmalloc_addr(memory))
		return page_to_phys(vmalloc_to_page(memory)) + offset_in_page(memory);
	return virt_to_phys((void *)memory);
}

/**
 * kl_crash_page_at - a page of the module by its physical address
 * @address: of a page from kl_crash_alloc(); or 0, for which it returns NULL
 *
 * Context: any.
 */
void *kl_crash_page_at(u64 address)
{
	return !address ? NULL : kl_reserved_at(address) ?: phys_to_virt(address);
}

static struct kl_crash_anchor *anchor_of(bool reserved)
{
	return reserved ? kl_crash_page_at(reserved_anchor) : anchor;
}

/* ------------------------------------------------------- pages */

static void *alloc_zeroed(gfp_t flags, bool reserved)
{
	struct page *page;

	if (reserved)
		return kl_reserved_alloc(PAGE_SIZE);
	page = alloc_page(flags | __GFP_ZERO | __GFP_NOWARN);
	return page ? page_address(page) : NULL;
}

/**
 * kl_crash_publish_page - make a page with complete constant bytes visible
 * @head: of the page
 * @kind: what it is
 * @constant: bytes of the page that do not change from now on
 */
void kl_crash_publish_page(struct kl_crash_head *head, enum kl_crash_kind kind, u32 constant)
{
	u64 magic[2];

	kl_crash_magic(magic);
	head->address = kl_crash_address(head);
	head->anchor = kl_crash_address(anchor_of(kl_reserved_has(head)));
	memcpy(head->load, load, sizeof(load));
	head->kind = kind;
	head->version = KL_CRASH_VERSION;
	head->constant = constant - sizeof(*head);
	head->sum = kl_crash_head_sum(head);
	/* H: the page is complete before it has a magic that extraction searches for. */
	smp_wmb();
	WRITE_ONCE(head->magic[0], magic[0]);
	WRITE_ONCE(head->magic[1], magic[1]);
}

static void free_crash_page(struct kl_crash_head *head)
{
	WRITE_ONCE(head->magic[0], 0);
	WRITE_ONCE(head->magic[1], 0);
	/* I: the page has no magic before its next owner changes the rest. */
	smp_wmb();
	if (kl_reserved_has(head))
		kl_reserved_free(head, PAGE_SIZE);
	else
		free_page((unsigned long)head);
}

/**
 * kl_crash_alloc - allocate a zeroed page that leads to a part of a session
 * @s: the session, whose owner is charged for it
 * @why: set on failure
 *
 * Returns NULL on failure. Context: may sleep.
 */
void *kl_crash_alloc(struct kl_session *s, struct kl_error *why)
{
	void *page;

	if (kl_memory_charge(&s->payer, kl_memory_size(PAGE_SIZE), why))
		return NULL;
	page = alloc_zeroed(GFP_KERNEL_ACCOUNT, s->reserved);
	if (page)
		return page;
	kl_memory_uncharge(&s->payer, kl_memory_size(PAGE_SIZE));
	kl_fail(why, -ENOMEM, "no %smemory for a session", s->reserved ? "reserved " : "");
	return NULL;
}

/**
 * kl_crash_free - free a page from kl_crash_alloc()
 * @s: the session
 * @head: of the page, also if it was not published
 *
 * Context: may sleep.
 */
void kl_crash_free(struct kl_session *s, struct kl_crash_head *head)
{
	free_crash_page(head);
	kl_memory_uncharge(&s->payer, kl_memory_size(PAGE_SIZE));
}

/* ------------------------------------------------------- the anchor */

static void note_time(struct kl_crash_anchor *in, const struct kl_abi_time *time)
{
	/* Over the older one: if a crash comes in between, the newer one is still valid. */
	struct kl_crash_time *to = &in->now[in->now[0].monotonic_ns > in->now[1].monotonic_ns];

	WRITE_ONCE(to->sum, 0);
	/* J: the sum is invalid before the first word changes, and valid after the last has. */
	smp_wmb();
	WRITE_ONCE(to->cycles, time->cycles);
	WRITE_ONCE(to->monotonic_ns, time->monotonic_ns);
	WRITE_ONCE(to->realtime_ns, time->realtime_ns);
	/* J: see above. */
	smp_wmb();
	WRITE_ONCE(to->sum, kl_crash_time_sum(to));
}

/* Read the clocks, if it is time. */
static void sample(u64 age_ns)
{
	u64 now = ktime_get_ns();
	struct kl_abi_time time;

	lockdep_assert_held(&anchor_lock);
	if (ticked_ns && now - ticked_ns < age_ns)
		return;
	kl_clock_sample(&time);
	note_time(anchor, &time);
	if (reserved_anchor)
		note_time(anchor_of(true), &time);
	ticked_ns = now;
}

/**
 * kl_crash_tick - note the time, at most once a second
 *
 * Called while events are recorded. Extraction gets the clock's rate and the wall time from it.
 * Context: may sleep.
 */
void kl_crash_tick(void)
{
	/* Whoever holds it notes the time, or does not need to. */
	if (!mutex_trylock(&anchor_lock))
		return;
	if (anchor)
		sample(TICK_NS);
	mutex_unlock(&anchor_lock);
}

/* The boot id is in no variable that modules can access. It is left empty without /proc. */
static void read_boot_id(char *text, size_t size)
{
	struct file *file = filp_open(BOOT_ID, O_RDONLY, 0);
	loff_t at = 0;
	ssize_t bytes;

	if (IS_ERR(file))
		return;
	bytes = kernel_read(file, text, size - 1, &at);
	filp_close(file, NULL);
	text[bytes > 0 ? bytes : 0] = 0;
	strim(text);
}

static int create_anchor(bool reserved)
{
	struct kl_crash_anchor *new;

	lockdep_assert_held(&anchor_lock);
	new = alloc_zeroed(GFP_KERNEL, reserved);
	if (!new)
		return -ENOMEM;
	new->page_bytes = PAGE_SIZE;
	new->cpus = nr_cpu_ids;
	new->clock = kl_clock_kind();
	new->abi_version = KL_ABI_VERSION;
	new->clock_hz = kl_clock_hz();
	new->schema_hash = KL_SCHEMA_HASH;
	new->text_address = (unsigned long)_printk;
	read_boot_id(new->boot_id, sizeof(new->boot_id));
	strscpy(new->release, init_utsname()->release, sizeof(new->release));
	strscpy(new->version, init_utsname()->version, sizeof(new->version));
	strscpy(new->hostname, init_utsname()->nodename, sizeof(new->hostname));
	if (reserved)
		reserved_anchor = kl_crash_address(new);
	else
		anchor = new;
	sample(0);
	kl_crash_publish_page(&new->head, KL_CRASH_ANCHOR, offsetof(struct kl_crash_anchor, now));
	return 0;
}

/**
 * kl_crash_init - allocate the anchor, before the first session and after the clock
 *
 * Returns 0 or -ENOMEM.
 */
int kl_crash_init(void)
{
	int error;

	BUILD_BUG_ON(PAGE_SIZE != KL_CRASH_PAGE);
	get_random_bytes(load, sizeof(load));
	kl_reserved_init();
	mutex_lock(&anchor_lock);
	error = create_anchor(false);
	mutex_unlock(&anchor_lock);
	if (error)
		kl_reserved_deinit();
	return error;
}

/**
 * kl_crash_deinit - undo kl_crash_init, after the last session
 */
void kl_crash_deinit(void)
{
	/* The watchdog still calls kl_crash_tick(). */
	mutex_lock(&anchor_lock);
	if (reserved_anchor)
		free_crash_page(&anchor_of(true)->head);
	reserved_anchor = 0;
	free_crash_page(&anchor->head);
	anchor = NULL;
	mutex_unlock(&anchor_lock);
	kl_reserved_deinit();
}

/* ------------------------------------------------------- sessions */

/* Make sure that the reserved memory can be used, and has an anchor. */
static int prepare_reserved(struct kl_error *why)
{
	int error = kl_reserved_check(why);

	if (error)
		return error;
	mutex_lock(&anchor_lock);
	if (!reserved_anchor)
		error = create_anchor(true);
	mutex_unlock(&anchor_lock);
	return error ? kl_fail(why, error, "no reserved memory for a session") : 0;
}

/**
 * kl_crash_create - allocate a session's page
 * @s: a new session with its id, which has no buffers yet
 * @why: set on failure; kl_crash_destroy() must be called even then
 *
 * Context: may sleep.
 */
int kl_crash_create(struct kl_session *s, struct kl_error *why)
{
	int error = s->reserved ? prepare_reserved(why) : 0;
	struct kl_crash_session *page = error ? NULL : kl_crash_alloc(s, why);
	struct kl_abi_time time;

	if (!page)
		return error ?: why->error ?: -ENOMEM;
	kl_clock_sample(&time);
	page->created.cycles = time.cycles;
	page->created.monotonic_ns = time.monotonic_ns;
	page->created.realtime_ns = time.realtime_ns;
	page->created.sum = kl_crash_time_sum(&page->created);
	memcpy(page->head.uuid, s->uuid, sizeof(s->uuid));
	page->id = s->id;
	page->uid = from_kuid(&init_user_ns, s->owner->fsuid);
	page->creator = s->creator;
	page->mode = s->mode;
	page->block_bytes = s->block_bytes;
	page->blocks_max = s->blocks_max;
	memcpy(page->name, s->name, sizeof(page->name));
	s->crash.page = page;
	return 0;
}

/**
 * kl_crash_publish - list a session in the anchor
 * @s: a session with its buffers
 *
 * Context: may sleep.
 */
void kl_crash_publish(struct kl_session *s)
{
	struct kl_crash_anchor *in = anchor_of(s->reserved);
	struct kl_crash_session *page = s->crash.page;

	kl_crash_publish_page(&page->head, KL_CRASH_SESSION,
			      offsetof(struct kl_crash_session, began));
	mutex_lock(&anchor_lock);
	for (u32 i = 0; i < KL_CRASH_ANCHOR_SESSIONS && !s->crash.listed; i++)
		if (!in->session[i])
			s->crash.listed = &in->session[i];
	/* K: the session's page has a magic before the anchor refers to it. */
	smp_wmb();
	if (s->crash.listed)
		WRITE_ONCE(*s->crash.listed, kl_crash_address(page));
	sample(0);
	mutex_unlock(&anchor_lock);
}

/**
 * kl_crash_withdraw - make extraction skip a session that is being freed
 * @s: the session, also if it was never published
 */
void kl_crash_withdraw(struct kl_session *s)
{
	struct kl_crash_session *page = s->crash.page;

	if (!page)
		return;
	mutex_lock(&anchor_lock);
	if (s->crash.listed)
		WRITE_ONCE(*s->crash.listed, 0);
	s->crash.listed = NULL;
	mutex_unlock(&anchor_lock);
	/* L: the anchor no longer lists the page before the magic is cleared. */
	smp_wmb();
	WRITE_ONCE(page->head.magic[0], 0);
	WRITE_ONCE(page->head.magic[1], 0);
	/* M: the session cannot be found before its pieces and blocks are freed. */
	smp_wmb();
}

/**
 * kl_crash_destroy - free a session's pages
 * @s: a withdrawn session, whose blocks and metadata have been removed
 */
void kl_crash_destroy(struct kl_session *s)
{
	struct kl_crash_pieces *page = s->crash.first, *next;

	for (; page; page = next) {
		next = kl_crash_page_at(page->next);
		kl_crash_free(s, &page->head);
		cond_resched();
	}
	for (u32 i = 0; i < ARRAY_SIZE(s->crash.stacks); i++)
		kl_crash_region_destroy(s, s->crash.stacks[i]);
	if (s->crash.page)
		kl_crash_free(s, &s->crash.page->head);
	s->crash = (struct kl_crash){};
}

/**
 * kl_crash_began - note when a session was started
 * @s: the session; its lock is held
 * @cycles: clock
 */
void kl_crash_began(struct kl_session *s, u64 cycles)
{
	lockdep_assert_held(&s->lock);
	WRITE_ONCE(s->crash.page->ended, 0);
	WRITE_ONCE(s->crash.page->began, cycles);
}

/**
 * kl_crash_ended - note when a session was stopped
 * @s: the session; its lock is held
 * @cycles: clock
 */
void kl_crash_ended(struct kl_session *s, u64 cycles)
{
	lockdep_assert_held(&s->lock);
	WRITE_ONCE(s->crash.page->ended, cycles);
}

/* ------------------------------------------------------- slots */

/* Add a page of unused slots to the session's chain. */
static int add_pieces(struct kl_session *s, struct kl_crash_slots *slots, enum kl_crash_what what,
		      u32 stride, struct kl_error *why)
{
	struct kl_crash_pieces *page = kl_crash_alloc(s, why);
	u64 *next;

	if (!page)
		return why->error ?: -ENOMEM;
	memcpy(page->head.uuid, s->uuid, sizeof(s->uuid));
	page->what = what;
	page->stride = stride;
	for (u32 at = 0; at + stride <= KL_CRASH_PIECES_WORDS; at += stride) {
		next = slots->free;
		slots->free = &page->word[at];
		slots->free[1] = (unsigned long)next;
	}
	kl_crash_publish_page(&page->head, KL_CRASH_PIECES, offsetof(struct kl_crash_pieces, next));
	/* K: the page has a magic before the one before it refers to it. */
	smp_wmb();
	if (s->crash.last)
		WRITE_ONCE(s->crash.last->next, kl_crash_address(page));
	else
		WRITE_ONCE(s->crash.page->pieces, kl_crash_address(page));
	if (!s->crash.first)
		s->crash.first = page;
	s->crash.last = page;
	return 0;
}

/* Put @n pages that begin at @memory into an unused slot, which is returned. */
static u64 *fill_slot(struct kl_crash_slots *slots, u32 cpu, const u8 *memory, u32 n)
{
	u64 *slot = slots->free;

	slots->free = (u64 *)(unsigned long)slot[1];
	for (u32 i = 0; i < n; i++)
		WRITE_ONCE(slot[1 + i], kl_crash_address(memory + i * PAGE_SIZE));
	/* N: the addresses are complete before the slot is in use. */
	smp_wmb();
	WRITE_ONCE(slot[0], kl_crash_slot(cpu, slot + 1, n));
	return slot;
}

/**
 * kl_crash_add_ring - add a ring's first shared page
 * @s: a session that is being created
 * @cpu: of the ring
 * @shared: the page
 * @why: set on failure
 *
 * Returns 0 or a negative errno. Context: may sleep.
 */
int kl_crash_add_ring(struct kl_session *s, u32 cpu, const void *shared, struct kl_error *why)
{
	struct kl_crash_slots *slots = &s->crash.rings;
	int error = slots->free ? 0 : add_pieces(s, slots, KL_CRASH_RINGS, 2, why);

	if (!error)
		fill_slot(slots, cpu, shared, 1);
	return error;
}

/**
 * kl_crash_add_block - add a block that is about to be given to a ring
 * @s: the session; its size_lock is held
 * @cpu: of the ring
 * @block: the block
 * @why: set on failure
 *
 * Returns 0 or a negative errno. Context: may sleep.
 */
int kl_crash_add_block(struct kl_session *s, u32 cpu, struct kl_ring_block *block,
		       struct kl_error *why)
{
	struct kl_crash_slots *slots = &s->crash.blocks;
	u32 n = s->block_bytes / PAGE_SIZE;
	int error = slots->free ? 0 : add_pieces(s, slots, KL_CRASH_BLOCKS, 1 + n, why);

	if (!error)
		block->slot = fill_slot(slots, cpu, block->memory, n);
	return error;
}

/**
 * kl_crash_remove_block - remove a block that is about to be freed
 * @s: the session; its size_lock is held, or it is being freed
 * @block: the block, also if it was not added
 */
void kl_crash_remove_block(struct kl_session *s, struct kl_ring_block *block)
{
	u64 *slot = block->slot;

	if (!slot)
		return;
	block->slot = NULL;
	WRITE_ONCE(slot[0], 0);
	/* O: the slot is unused before its addresses change, and before the block is freed. */
	smp_wmb();
	WRITE_ONCE(slot[1], (unsigned long)s->crash.blocks.free);
	s->crash.blocks.free = slot;
}

/* ------------------------------------------------------- the mailbox */

/**
 * kl_crash_mailbox_create - allocate the page of the mailbox
 *
 * Returns it zeroed, or NULL. Context: may sleep.
 */
void *kl_crash_mailbox_create(void)
{
	return alloc_zeroed(GFP_KERNEL, false);
}

/**
 * kl_crash_mailbox_publish - let debuggers find the mailbox
 * @page: from kl_crash_mailbox_create(), with its constant part filled in after the head
 * @constant: bytes that do not change from now on
 *
 * Context: may sleep.
 */
void kl_crash_mailbox_publish(void *page, u32 constant)
{
	kl_crash_publish_page(page, KL_CRASH_MAILBOX, constant);
	mutex_lock(&anchor_lock);
	/* K: the page has a magic before the anchor refers to it. */
	smp_wmb();
	WRITE_ONCE(anchor->mailbox, kl_crash_address(page));
	mutex_unlock(&anchor_lock);
}

/**
 * kl_crash_mailbox_destroy - free the page of the mailbox
 * @page: published, or not
 *
 * Context: may sleep.
 */
void kl_crash_mailbox_destroy(void *page)
{
	mutex_lock(&anchor_lock);
	WRITE_ONCE(anchor->mailbox, 0);
	mutex_unlock(&anchor_lock);
	/* L: the anchor no longer refers to the page before its magic is cleared. */
	smp_wmb();
	free_crash_page(page);
}
