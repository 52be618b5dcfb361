// SPDX-License-Identifier: GPL-2.0
/*
 * Writing splices into the text and taking them back, while all of it runs. A processor only ever
 * meets instructions as they were or as they will be: single ones are exchanged by the kernel's
 * own way of changing text; before several become one jump, a breakpoint sends who arrives to the
 * patch, until nobody can be among them any more. Under the lock of splice.c; breakpoints look at
 * `traps` under RCU.
 */
#include <linux/cpu.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "kernel.h"
#include "splice.h"

static const u8 breakpoint = INT3_INSN_OPCODE;
static LIST_HEAD(traps);

/* Order of locks: of processors that come and go, then the text. */
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
 * Until no task is inside a window or patch that it was in when we came: idle tasks first, which
 * the second does not wait for, then all others, until they have gone to sleep by themselves or
 * have been in user mode. Interrupts are over when the task below them is.
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
 * kl_splices_publish - have breakpoints find their patches
 * @c: its patches are there; none of its breakpoints is
 */
void kl_splices_publish(struct kl_splices *c)
{
	/* The newest first: while it is written many breakpoints are met. */
	list_add_rcu(&c->traps, &traps);
}

/**
 * kl_splices_withdraw - and no more
 * @c: all of its breakpoints have been taken back
 *
 * The caller waits for RCU before it frees anything.
 */
void kl_splices_withdraw(struct kl_splices *c)
{
	list_del_rcu(&c->traps);
}

/**
 * kl_splices_find_trap - where a breakpoint goes on
 * @address: of the breakpoint
 *
 * Returns 0 if it is not ours. Context: any in which breakpoints are handled; RCU watches.
 */
unsigned long kl_splices_find_trap(unsigned long address)
{
	const struct kl_splices *c;

	list_for_each_entry_rcu(c, &traps, traps) {
		u32 low = 0, high = c->trap_n;

		while (low < high) {
			u32 middle = low + (high - low) / 2;

			if (c->trap[middle].address < address)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < c->trap_n && c->trap[low].address == address)
			return c->trap[low].patch;
	}
	return 0;
}

/* --------------------------------------------------------------- writing */

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

static void queue(struct kl_splice *sp)
{
	kl_kernel.text_poke_queue((void *)sp->address, sp->written, changed_bytes(sp), NULL);
}

/* Is the text what it was when the patches were made of it? */
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

/* What can be written at once; elsewhere a breakpoint. Returns whether there are such. */
static bool write_first(struct kl_splices *c)
{
	bool several = false;

	for (u32 i = 0; i < c->n; i++) {
		struct kl_splice *sp = &c->splice[i];

		make_text(sp);
		/* One that lends has to be quiet as well, so that nobody is before a slot. */
		if (sp->several) {
			kl_kernel.text_poke_queue((void *)sp->address, &breakpoint, 1, NULL);
			several = true;
		} else if (sp->tier != KL_SPLICE_BOUNCE) {
			queue(sp);
		}
	}
	kl_kernel.text_poke_finish();
	return several;
}

static void write_rest(struct kl_splices *c)
{
	u8 jump[KL_JUMP_BYTES];

	for (u32 i = 0; i < c->n; i++) {
		struct kl_splice *sp = &c->splice[i];

		if (sp->slot) {
			make_jump(jump, sp->slot, sp->patch, JMP32_INSN_OPCODE);
			kl_kernel.text_poke_queue((void *)sp->slot, jump, sizeof(jump), NULL);
		} else if (sp->several) {
			queue(sp);
		}
	}
	kl_kernel.text_poke_finish();
	for (u32 i = 0; i < c->n; i++)
		if (c->splice[i].slot)
			queue(&c->splice[i]);
	kl_kernel.text_poke_finish();
}

/**
 * kl_splices_write - divert all windows
 * @c: checked and published, with patches
 * @bad: set on failure: a window whose text has changed meanwhile
 *
 * All or, on failure, none. Context: may sleep, for as long as tasks need to leave the windows.
 */
bool kl_splices_write(struct kl_splices *c, u32 *bad)
{
	bool unchanged, several = false;

	lock_text();
	unchanged = is_unchanged(c, bad);
	if (unchanged)
		several = write_first(c);
	unlock_text();
	if (!unchanged)
		return false;
	if (several)
		wait_for_tasks();
	lock_text();
	write_rest(c);
	unlock_text();
	return true;
}

/* ----------------------------------------------------------- taking back */

/* Somebody else has written there. It stays as it is, with its patch. */
static bool is_lost(struct kl_splice *sp)
{
	u8 jump[KL_JUMP_BYTES];

	if (memcmp((void *)sp->address, sp->written, changed_bytes(sp)))
		return true;
	if (!sp->slot)
		return false;
	make_jump(jump, sp->slot, sp->patch, JMP32_INSN_OPCODE);
	return memcmp((void *)sp->slot, jump, sizeof(jump));
}

static void take_back(struct kl_splice *sp)
{
	/* Meanwhile who comes is sent on as by what is there now. */
	kl_kernel.text_poke_queue((void *)sp->address, sp->original, changed_bytes(sp),
				  sp->tier == KL_SPLICE_CALL ? NULL : sp->written);
	sp->gone = true;
}

/* Those from which nobody bounces off, or all. Returns how many are lost. */
static u32 take_back_set(struct kl_splice_set *set, bool lenders)
{
	struct kl_splices *c;
	u32 lost = 0;

	list_for_each_entry(c, &set->splices, list) {
		for (u32 i = 0; i < c->n; i++) {
			struct kl_splice *sp = &c->splice[i];

			if (sp->gone || sp->lends != lenders)
				continue;
			if (is_lost(sp))
				lost++;
			else
				take_back(sp);
		}
	}
	kl_kernel.text_poke_finish();
	return lost;
}

/* Nobody is in a slot any more, and nothing goes there. */
static void take_back_slots(struct kl_splice_set *set)
{
	struct kl_splices *c;

	list_for_each_entry(c, &set->splices, list)
		for (u32 i = 0; i < c->n; i++)
			if (c->splice[i].slot && c->splice[i].gone)
				kl_kernel.text_poke((void *)c->splice[i].slot,
						    c->splice[i].slot_original, KL_JUMP_BYTES);
}

/**
 * kl_splices_unwrite - take back all windows of a session
 * @set: its splices; also those that are taken back already
 *
 * Returns how many somebody else has changed; those stay, with what they need. Nobody is in any
 * of the others' patches when it returns. Context: may sleep.
 */
u32 kl_splices_unwrite(struct kl_splice_set *set)
{
	u32 lost;

	lock_text();
	lost = take_back_set(set, false);
	unlock_text();
	wait_for_tasks();
	lock_text();
	/* Slots lie in windows of others: a lost bounce keeps its lender. */
	if (!lost) {
		take_back_slots(set);
		lost = take_back_set(set, true);
	}
	unlock_text();
	wait_for_tasks();
	return lost;
}
