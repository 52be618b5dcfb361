// SPDX-License-Identifier: GPL-2.0
/*
 * One function of the kernel's text: its bytes without kprobes and splices, split into
 * instructions, and at which of them the flags are live. Under kl_splice_lock.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "kernel.h"
#include "map.h"
#include "splice.h"

/* Bytes that the kernel's recover_probed_instruction() writes. */
#define RECOVERED_BYTES MAX_INSN_SIZE

#define POPF 0x9d

static int grow(void **at, size_t *room, size_t bytes)
{
	void *grown;

	if (bytes <= *room)
		return 0;
	bytes += bytes / 2;
	grown = kvmalloc(bytes, GFP_KERNEL);
	if (!grown)
		return -ENOMEM;
	kvfree(*at);
	*at = grown;
	*room = bytes;
	return 0;
}

/* Restore what kprobes have replaced. */
static void recover_probed(struct kl_function *f)
{
	u8 original[RECOVERED_BYTES];

	for (unsigned long at = f->begin; at < f->end; at++) {
		u8 *byte = f->text + (at - f->begin);

		if ((*byte != INT3_INSN_OPCODE && *byte != JMP32_INSN_OPCODE) ||
		    !KL_CALL(get_kprobe)((void *)at))
			continue;
		if (KL_CALL(recover_probed_instruction)(original, at) != at)
			memcpy(byte, original, min(f->end - at, sizeof(original)));
	}
}

/*
 * Is there a kprobe? A disabled one has not changed the text yet, but it has recorded the
 * instruction after which it will continue.
 */
static bool is_probed(const struct kl_function *f)
{
	for (u32 i = 0; i < f->steps; i++)
		if (kl_kernel_probed(f->begin + f->step[i].offset))
			return true;
	return false;
}

/* Breakpoints up to the next function, or zeros up to the end of a module's section. */
static bool is_padding(const u8 *at, const u8 *end)
{
	for (; at < end; at++)
		if (*at != INT3_INSN_OPCODE && *at)
			return false;
	return true;
}

/*
 * A jump through a register or memory may go anywhere in its function, which is refused then; but
 * where such jumps can only go to landing pads, it leaves the function as a return does.
 */
static void note_jump(struct kl_function *f, struct kl_text_step *step)
{
	if (step->in.indirect == KL_INDIRECT_JUMP && kl_kernel_tracks_branches())
		step->in.flow = KL_FLOW_RETURN;
	else if (step->in.indirect >= KL_INDIRECT_JUMP)
		f->refusal = f->refusal ?: KL_SPLICE_indirect;
}

/* Split the text into instructions. Whatever cannot be decoded must be padding. */
static void cut(struct kl_function *f)
{
	u32 bytes = f->end - f->begin;

	f->steps = 0;
	for (u32 at = 0; at < bytes;) {
		struct kl_text_step *step = &f->step[f->steps];

		if (is_padding(f->text + at, f->text + bytes))
			return;
		*step = (struct kl_text_step){ .offset = at, .flags_live = true };
		if (!kl_instruction_decode(f->text + at, bytes - at, &step->in)) {
			f->refusal = KL_SPLICE_undecodable;
			return;
		}
		/* A breakpoint that is still there does not belong to the original text. */
		if (step->in.bytes == 1 && f->text[at] == INT3_INSN_OPCODE)
			step->in.flow = KL_FLOW_FIXED;
		note_jump(f, step);
		at += step->in.bytes;
		f->steps++;
	}
}

/**
 * kl_function_step - find the instruction that begins at an offset
 * @f: the function
 * @offset: bytes from its start
 *
 * Returns its index, or -1 if none begins there.
 */
long kl_function_step(const struct kl_function *f, u32 offset)
{
	u32 low = 0, high = f->steps;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (f->step[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->steps && f->step[low].offset == offset ? (long)low : -1;
}

/**
 * kl_text_step_target - the target of a jump, branch or call
 * @step: the instruction
 *
 * Returns its offset from the function's start, which may be past the function's end, or wrap.
 */
u32 kl_text_step_target(const struct kl_text_step *step)
{
	return step->offset + step->in.bytes + step->in.by;
}

/*
 * Mark the targets of the function's own jumps. One between instructions proves a decoding error.
 */
static void find_targets(struct kl_function *f)
{
	for (u32 i = 0; i < f->steps; i++) {
		const struct kl_instruction *in = &f->step[i].in;
		u32 target = kl_text_step_target(&f->step[i]);
		long to;

		if (!kl_instruction_jumps(in) || target >= f->end - f->begin)
			continue;
		to = kl_function_step(f, target);
		if (to < 0)
			f->refusal = KL_SPLICE_undecodable;
		else
			f->step[to].target = true;
	}
}

/**
 * kl_function_load - decode a function
 * @f: zeroed, or loaded before
 * @address: any address in the function
 *
 * Returns 0, also if the function cannot be spliced (@f->refusal); -ENOMEM; or -ENOENT if no
 * function is known at @address. Context: may sleep; takes text_mutex.
 */
int kl_function_load(struct kl_function *f, unsigned long address)
{
	size_t bytes;

	f->steps = 0;
	f->refusal = 0;
	f->moves = false;
	if (!kl_map_function(address, &f->begin, &f->end))
		return -ENOENT;
	bytes = f->end - f->begin;
	if (grow((void **)&f->text, &f->text_room, bytes) ||
	    grow((void **)&f->step, &f->step_room, bytes * sizeof(*f->step)))
		return -ENOMEM;
	/* No other task is in the middle of changing the text. */
	mutex_lock(kl_kernel.text_mutex);
	preempt_disable(); /* for kprobes' tables */
	memcpy(f->text, (void *)f->begin, bytes);
	kl_splices_restore(f->begin, f->end, f->text);
	recover_probed(f);
	preempt_enable();
	mutex_unlock(kl_kernel.text_mutex);
	cut(f);
	find_targets(f);
	if (is_probed(f))
		f->refusal = KL_SPLICE_probed;
	return 0;
}

/*
 * Does a jump out of the function go to a function that takes nothing but arguments? Parts of
 * functions that lie elsewhere begin with neither a landing pad nor a hook, so they may take
 * flags.
 */
static bool is_tail_call(unsigned long target)
{
	const u8 *text = (u8 *)target;

	return kl_map_test(KL_MAP_START, target) &&
	       (kl_text_is_endbr(text) || kl_text_is_hook(text) ||
		/* A landing pad that is not needed has been replaced by a nop. */
		kl_text_is_hook(text + KL_ENDBR_BYTES));
}

/* Are the flags live after an instruction? They are where it is not known. */
static bool live_behind(const struct kl_function *f, u32 i, bool gives)
{
	const struct kl_text_step *step = &f->step[i];
	bool next = i + 1 >= f->steps || step[1].flags_live;
	unsigned long target = f->begin + kl_text_step_target(step);
	long to;

	switch (step->in.flow) {
	case KL_FLOW_ON:
		return next;
	case KL_FLOW_CALL: /* flags are not an argument, unless popf has just set them */
		return i && f->text[step[-1].offset] == POPF;
	case KL_FLOW_RETURN:
		return gives;
	case KL_FLOW_JUMP:
		if (target < f->begin || target >= f->end)
			return gives || !(kl_map_returns(target) || is_tail_call(target));
		to = kl_function_step(f, kl_text_step_target(step));
		return to < 0 || f->step[to].flags_live;
	default: /* a branch reads them; a fixed instruction may do anything */
		return true;
	}
}

static bool live_before(const struct kl_function *f, u32 i, bool gives)
{
	if (f->step[i].in.flow == KL_FLOW_ON && f->step[i].in.flags != KL_FLAGS_KEPT)
		return f->step[i].in.flags == KL_FLAGS_READ;
	return live_behind(f, i, gives);
}

/**
 * kl_function_find_live - find where the flags are live
 * @f: loaded
 *
 * Goes backwards until nothing changes, starting from the assumption that they are live nowhere. A
 * step only ever changes to live.
 */
void kl_function_find_live(struct kl_function *f)
{
	bool gives = kl_map_gives_flags(f->begin), changed = true;

	for (u32 i = 0; i < f->steps; i++)
		f->step[i].flags_live = false;
	while (changed) {
		changed = false;
		for (u32 i = f->steps; i-- > 0;) {
			bool live = live_before(f, i, gives);

			changed |= live != f->step[i].flags_live;
			f->step[i].flags_live = live;
		}
	}
}

/**
 * kl_function_free - free what kl_function_load() has allocated
 * @f: zeroed, or loaded
 */
void kl_function_free(struct kl_function *f)
{
	kvfree(f->step);
	kvfree(f->text);
	*f = (struct kl_function){};
}
