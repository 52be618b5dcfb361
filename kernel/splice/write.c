// SPDX-License-Identifier: GPL-2.0
/*
 * Writes splices into the text and removes them while all CPUs execute it. A CPU only ever
 * executes an instruction as it was or as it will be: first a breakpoint replaces the first byte
 * of each window and diverts execution to the patch; then the bytes after it change, and last the
 * first byte. Each step is visible to all CPUs before the next one. A window of several
 * instructions keeps its breakpoint until no task can be inside. All changes of a page are written
 * at once. Under kl_splice_lock; breakpoints read `published` under RCU.
 */
#include <linux/cpu.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <asm/sync_core.h>

#include "kernel.h"
#include "splice.h"

static const u8 breakpoint = INT3_INSN_OPCODE;
static LIST_HEAD(published);

/* A page of text as it will be, and the part of it that differs. Under text_mutex. */
static struct {
	unsigned long page;
	u32 first;
	u32 last;
	u8 text[PAGE_SIZE];
} page;

/* Lock order: CPU hotplug, then the text. */
static void lock_text(void)
{
	cpus_read_lock();
	mutex_lock(kl_kernel.text_mutex);
}

static void unlock_text(void)
{
	mutex_unlock(kl_kernel.text_mutex);
	cpus_read_unlock();
}

/*
 * Wait until no task is inside a window or patch that it was in before: first idle tasks, which
 * the second call does not wait for, then all others, until they have slept voluntarily or have
 * been in user mode. Interrupts are over when the task that they interrupted continues.
 */
static void wait_for_tasks(void)
{
	synchronize_rcu_tasks_rude();
	synchronize_rcu_tasks();
}

static u32 changed_bytes(const struct kl_splice *sp)
{
	switch (sp->tier) {
	case KL_SPLICE_BOUNCE:
		return KL_BOUNCE_BYTES;
	case KL_SPLICE_TRAP:
		return 1;
	default:
		return KL_JUMP_BYTES;
	}
}

/* ----------------------------------------------------------- breakpoints */

/**
 * kl_splices_publish - make breakpoints find their patches
 * @c: its patches are complete; none of its breakpoints is written yet
 */
void kl_splices_publish(struct kl_splices *c)
{
	/* Newest first, as many breakpoints are hit while it is written. */
	list_add_rcu(&c->published, &published);
}

/**
 * kl_splices_withdraw - undo kl_splices_publish
 * @c: all of its breakpoints have been removed
 *
 * The caller waits for RCU before it frees anything.
 */
void kl_splices_withdraw(struct kl_splices *c)
{
	list_del_rcu(&c->published);
}

/**
 * kl_splices_find - find the window of a breakpoint
 * @address: of the breakpoint
 *
 * Returns the window, or NULL if it is not ours. Context: any in which breakpoints are handled;
 * RCU watches.
 */
const struct kl_splice *kl_splices_find(unsigned long address)
{
	const struct kl_splices *c;

	list_for_each_entry_rcu(c, &published, published) {
		u32 at = kl_splices_from(c, address);

		if (at < c->n && c->splice[at].address == address)
			return &c->splice[at];
	}
	return NULL;
}

/* --------------------------------------------------------------- writing */

static void flush_page(void)
{
	void *to = (void *)(page.page + page.first);

	if (page.first < page.last)
		KL_CALL(text_poke)(to, page.text + page.first, page.last - page.first);
	page.page = 0;
	page.first = PAGE_SIZE;
	page.last = 0;
	cond_resched();
}

/* Set bytes of the text, which flush_page() writes. */
static void put(unsigned long address, const u8 *bytes, u32 n)
{
	for (; n; n--, address++) {
		u32 at = offset_in_page(address);

		if (page.page != (address & PAGE_MASK)) {
			flush_page();
			page.page = address & PAGE_MASK;
			memcpy(page.text, (void *)page.page, PAGE_SIZE);
		}
		page.text[at] = *bytes++;
		page.first = min(page.first, at);
		page.last = max(page.last, at + 1);
	}
}

static void sync_core_of(void *unused)
{
	sync_core();
}

/* Write all pending bytes, and make all CPUs discard what they had fetched before. */
static void finish(void)
{
	flush_page();
	on_each_cpu(sync_core_of, NULL, 1);
}

static void put_breakpoint(const struct kl_splice *sp)
{
	put(sp->address, &breakpoint, 1);
}

/* put_rest sets the bytes after the breakpoint, put_first the byte that it replaces. */
static void put_rest(const struct kl_splice *sp, const u8 *text)
{
	if (changed_bytes(sp) > 1)
		put(sp->address + 1, text + 1, changed_bytes(sp) - 1);
}

static void put_first(const struct kl_splice *sp, const u8 *text)
{
	put(sp->address, text, 1);
}

static void make_jump(u8 *to, unsigned long from, unsigned long target, u8 opcode)
{
	s32 by = target - (from + KL_JUMP_BYTES);

	to[0] = opcode;
	memcpy(to + 1, &by, sizeof(by));
}

static void make_text(struct kl_splice *sp)
{
	switch (sp->tier) {
	case KL_SPLICE_CALL:
		make_jump(sp->written, sp->address, sp->patch, CALL_INSN_OPCODE);
		break;
	case KL_SPLICE_BOUNCE:
		sp->written[0] = JMP8_INSN_OPCODE;
		sp->written[1] = sp->slot - (sp->address + KL_BOUNCE_BYTES);
		break;
	case KL_SPLICE_TRAP:
		sp->written[0] = breakpoint;
		break;
	default:
		make_jump(sp->written, sp->address, sp->patch, JMP32_INSN_OPCODE);
	}
}

/* Is the text still what the patches were built from? */
static bool is_unchanged(const struct kl_splices *c, u32 *bad)
{
	for (u32 i = 0; i < c->n; i++) {
		const struct kl_splice *sp = &c->splice[i];

		*bad = i;
		if (memcmp((void *)sp->address, sp->original, changed_bytes(sp)) ||
		    (sp->slot && memcmp((void *)sp->slot, sp->slot_original, KL_JUMP_BYTES)))
			return false;
	}
	return true;
}

/*
 * Write breakpoints, either of windows of several instructions or of those of one. Returns whether
 * there are any.
 */
static bool write_breakpoints(const struct kl_splices *c, bool several)
{
	bool some = false;

	for (u32 i = 0; i < c->n; i++)
		if (c->splice[i].several == several) {
			put_breakpoint(&c->splice[i]);
			some = true;
		}
	finish();
	return some;
}

/* All windows have their breakpoints, and no task is inside one of several instructions. */
static void write_windows(const struct kl_splices *c)
{
	u8 jump[KL_JUMP_BYTES];

	for (u32 i = 0; i < c->n; i++)
		put_rest(&c->splice[i], c->splice[i].written);
	for (u32 i = 0; i < c->n; i++)
		if (c->splice[i].slot) {
			make_jump(jump, c->splice[i].slot, c->splice[i].patch, JMP32_INSN_OPCODE);
			put(c->splice[i].slot, jump, sizeof(jump));
		}
	finish();
	for (u32 i = 0; i < c->n; i++)
		put_first(&c->splice[i], c->splice[i].written);
	finish();
}

/**
 * kl_splices_write - divert all windows
 * @c: checked and published, with patches
 * @bad: set on failure to a window whose text has changed
 *
 * Writes all or, on failure, none. CPU hotplug is disabled, as a CPU that comes online could not
 * handle a breakpoint yet. Context: may sleep, for as long as tasks need to leave the windows.
 */
bool kl_splices_write(struct kl_splices *c, u32 *bad)
{
	bool unchanged, several = false;

	for (u32 i = 0; i < c->n; i++)
		make_text(&c->splice[i]);
	cpu_hotplug_disable();
	lock_text();
	unchanged = is_unchanged(c, bad);
	if (unchanged)
		several = write_breakpoints(c, true);
	unlock_text();
	if (unchanged) {
		if (several)
			wait_for_tasks();
		lock_text();
		write_breakpoints(c, false);
		write_windows(c);
		unlock_text();
	}
	cpu_hotplug_enable();
	return unchanged;
}

/* ------------------------------------------------------------- removing */

/*
 * A kprobe that was registered before its function was on the blacklist, and found the splice: the
 * instruction that it continues with is our jump.
 */
static bool is_probed(const struct kl_splice *sp)
{
	for (u32 i = 0; i < sp->bytes; i++)
		if (kl_kernel_probed(sp->address + i))
			return true;
	return sp->slot && kl_kernel_probed(sp->slot);
}

/**
 * kl_splices_probed - does any of these windows have a kprobe?
 * @set: splices; those with a kprobe are marked
 *
 * Context: may sleep; kprobe_mutex is held.
 */
bool kl_splices_probed(struct kl_splice_set *set)
{
	struct kl_splices *c;
	bool any = false;

	list_for_each_entry(c, &set->splices, list) {
		for (u32 i = 0; i < c->n; i++) {
			c->splice[i].probed = !c->splice[i].gone && is_probed(&c->splice[i]);
			any |= c->splice[i].probed;
			cond_resched();
		}
	}
	return any;
}

/* Other code has written there, or a kprobe will. The window stays as it is, with its patch. */
static bool is_lost(struct kl_splice *sp)
{
	u8 jump[KL_JUMP_BYTES];

	if (sp->probed || memcmp((void *)sp->address, sp->written, changed_bytes(sp)))
		return true;
	if (!sp->slot)
		return false;
	make_jump(jump, sp->slot, sp->patch, JMP32_INSN_OPCODE);
	return memcmp((void *)sp->slot, jump, sizeof(jump));
}

/* Remove either the windows that lend slots or the others. Lost windows stay. */
static void take_back_some(struct kl_splices *c, bool lenders)
{
	struct kl_splice *sp;

	for (sp = c->splice; sp < c->splice + c->n; sp++)
		sp->leaves = !sp->gone && sp->lends == lenders && !is_lost(sp);
	for (sp = c->splice; sp < c->splice + c->n; sp++)
		if (sp->leaves)
			put_breakpoint(sp);
	finish();
	for (sp = c->splice; sp < c->splice + c->n; sp++)
		if (sp->leaves)
			put_rest(sp, sp->original);
	finish();
	for (sp = c->splice; sp < c->splice + c->n; sp++) {
		if (!sp->leaves)
			continue;
		put_first(sp, sp->original);
		sp->leaves = false;
		sp->gone = true;
	}
	finish();
}

/* Does a bounce still use its slot? */
static bool uses_slots(const struct kl_splices *c)
{
	const struct kl_splice *sp;

	for (sp = c->splice; sp < c->splice + c->n; sp++)
		if (sp->slot && !sp->gone)
			return true;
	return false;
}

/* No task is in a slot, and nothing jumps there. Only once: the text is the lender's afterwards. */
static void take_back_slots(struct kl_splices *c)
{
	struct kl_splice *sp;

	for (sp = c->splice; sp < c->splice + c->n; sp++)
		if (sp->slot)
			put(sp->slot, sp->slot_original, KL_JUMP_BYTES);
	finish();
	for (sp = c->splice; sp < c->splice + c->n; sp++)
		sp->slot = 0;
}

/**
 * kl_splices_unwrite - remove all windows of a session
 * @set: its splices, including those that have been removed already and those with kprobes
 *
 * Windows that other code has changed stay, with what they need. When it returns, no task is in
 * any of the other patches. May be called again. Context: may sleep; kprobe_mutex has been held
 * since kl_splices_probed().
 */
void kl_splices_unwrite(struct kl_splice_set *set)
{
	struct kl_splices *c;
	bool slots = false;

	list_for_each_entry(c, &set->splices, list) {
		slots |= uses_slots(c);
		lock_text();
		take_back_some(c, false);
		unlock_text();
	}
	if (slots)
		wait_for_tasks();
	/* Slots lie in windows of the same request, so a lost bounce keeps those windows. */
	list_for_each_entry(c, &set->splices, list) {
		if (uses_slots(c))
			continue;
		lock_text();
		take_back_slots(c);
		take_back_some(c, true);
		unlock_text();
	}
	wait_for_tasks();
}
