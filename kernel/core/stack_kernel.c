// SPDX-License-Identifier: GPL-2.0
/*
 * Walks the kernel's stack. Frames that always have the same size it steps over by
 * itself, once it knows the size: the module's from the module's own tables, those of the
 * kernel's image from what the kernel's unwinder did there. All others are the unwinder's.
 * Called by stack.c, in any context; docs/design/stack.md says why it is exact.
 */
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <asm/unwind.h>

#include "../compat/orc.h"
#include "program_platform.h"
#include "stack_internal.h"

#define TRAMPOLINE_FRAMES 4 /* the hooked function is among so many */
#define STEP_BITS 12
#define TRIES 64 /* to learn a step */
#define FRAME_BYTES 16 /* what is behind the frame pointer: its last value, where to return */
#define BELOW_BYTES 512 /* more than a frame of the unwinder's */

/**
 * struct position - a frame: registers when the call in it returns
 */
struct position {
	unsigned long ip;
	unsigned long sp;
	unsigned long bp;
};

DEFINE_PER_CPU(unsigned long, kl_stack_function);

/* Pages of the module around its text. */
static unsigned long ours_begin, ours_end;

static __always_inline bool is_ours(unsigned long address)
{
	return address - ours_begin < ours_end - ours_begin;
}

/**
 * struct walk - a trace that is being made
 * @frame, @n, @most: what is found
 * @ours: no frame has been found that is not the module's
 * @cut: there are more than @most
 * @function: see kl_stack_function; 0 when its frame has been found
 */
struct walk {
	u64 *frame;
	u32 n;
	u32 most;
	bool ours;
	bool cut;
	unsigned long function;
};

/*
 * Between us and a function that is hooked is ftrace's trampoline, which is nobody's
 * text. An event that has interrupted that one does not find the function there.
 */
static noinline void skip_trampoline(struct walk *w)
{
	u32 i = 0;

	while (i < w->n && w->frame[i] != w->function + MCOUNT_INSN_SIZE)
		i++;
	w->function = 0;
	if (!i || i == w->n)
		return;
	w->n -= i;
	memmove(w->frame, w->frame + i, w->n * sizeof(*w->frame));
}

/* Returns whether to go on. */
static __always_inline bool add_frame(struct walk *w, unsigned long address)
{
	if (w->ours && is_ours(address))
		return true;
	w->ours = false;
	if (unlikely(w->n == w->most)) {
		w->cut = true;
		return false;
	}
	w->frame[w->n++] = address;
	if (unlikely(w->function) && w->n == TRAMPOLINE_FRAMES)
		skip_trampoline(w);
	return true;
}

/* Behind it there is the program, whose addresses it would take longest to refuse. */
static __always_inline bool is_at_program(struct unwind_state *state)
{
	struct pt_regs *regs = unwind_get_entry_regs(state, NULL);

	return regs && user_mode(regs);
}

/*
 * The unwinder goes on. Where an interrupt came between instructions that move the stack by
 * hand, as where returns are hooked, what the kernel knows of the place may be wrong. The walk
 * ends there; the kernel's warning is not for who has asked for a trace.
 */
static void unwind_quietly(struct unwind_state *state)
{
	bool error = state->error;

	state->error = true;
	unwind_next_frame(state);
	state->error = error;
}

/* The frame that the unwinder is at. Returns whether to go on. */
static bool add_unwound(struct walk *w, struct unwind_state *state)
{
	unsigned long address;

	if (is_at_program(state))
		return false;
	address = unwind_get_return_address(state);
	return address && add_frame(w, address);
}

#ifdef CONFIG_UNWINDER_ORC

/* ---------------------------------------------------------------- steps */

enum {
	STEP_USER = 1, /* @sp leads to the registers of the program: the end */
	STEP_END, /* of a kernel thread */
	STEP_UNKNOWN, /* and more: it was tried to learn it */
};

/*
 * The frame that belongs to a return address. A word each, so that it is read and
 * written whole; what is in it depends on the address alone.
 */
union step {
	u64 word;
	struct {
		u32 at; /* the lower half of the address, which tells all; 0: free */
		s16 sp; /* to the caller's stack pointer: from this one or, if odd, from bp */
		s16 bp; /* to the saved one, from the caller's stack pointer; 0: not saved */
	};
};

/* Two beside each other for an address. */
static u64 steps[1 << STEP_BITS];

static __always_inline u32 step_place(u32 at)
{
	return hash_32(at, STEP_BITS);
}

static __always_inline union step find_step(unsigned long ip)
{
	u32 place = step_place(ip);
	union step step = { .word = READ_ONCE(steps[place]) };

	if (unlikely(step.at != (u32)ip))
		step.word = READ_ONCE(steps[place ^ 1]);
	if (unlikely(step.at != (u32)ip))
		step.word = 0;
	return step;
}

/* Others' words may be lost, which takes time to learn them again and nothing else. */
static void keep_step(union step step)
{
	u32 place = step_place(step.at);
	union step found = { .word = READ_ONCE(steps[place]) };

	if (found.at && found.at != step.at)
		place ^= 1;
	WRITE_ONCE(steps[place], step.word);
}

static unsigned long orc_address(const int *ip)
{
	return (unsigned long)ip + *ip;
}

/* The module's last entry that begins at the address or before it. */
static const struct orc_entry *find_entry(unsigned long address)
{
	const struct mod_arch_specific *arch = &THIS_MODULE->arch;
	u32 first = 0, behind = arch->num_orcs;

	while (first < behind) {
		u32 middle = first + (behind - first) / 2;

		if (orc_address(&arch->orc_unwind_ip[middle]) <= address)
			first = middle + 1;
		else
			behind = middle;
	}
	return first ? &arch->orc_unwind[first - 1] : NULL;
}

/* Frames of other kinds than the compiler usually makes are the unwinder's business. */
static noinline union step make_own_step(unsigned long ip)
{
	/* The call itself: what is behind it may be another function. */
	const struct orc_entry *entry = find_entry(ip - 1);
	union step step = {};

	if (!entry || entry->type != ORC_TYPE_CALL || entry->sp_offset < (s16)sizeof(long) ||
	    (entry->sp_reg != ORC_REG_SP && entry->sp_reg != ORC_REG_BP) ||
	    (entry->bp_reg != ORC_REG_UNDEFINED &&
	     (entry->bp_reg != ORC_REG_PREV_SP || entry->bp_offset >= 0)))
		return step;
	step.at = ip;
	step.sp = entry->sp_offset | (entry->sp_reg == ORC_REG_BP);
	step.bp = entry->bp_reg == ORC_REG_PREV_SP ? entry->bp_offset : 0;
	keep_step(step);
	return step;
}

static unsigned long stack_word(unsigned long at)
{
	return READ_ONCE_NOCHECK(*(unsigned long *)at);
}

/*
 * Steps are exact; should one not be, it must neither fault nor go round in circles:
 * the next frame is above this one, on the same stack as far as its size can tell.
 * Returns false and leaves @p as it was if it is not.
 */
static __always_inline bool do_step(struct position *p, union step step)
{
	unsigned long sp = step.sp & 1 ? p->bp + step.sp - 1 : p->sp + step.sp;
	u64 bp = p->bp, ip;

	if (unlikely(sp <= p->sp || ((sp - 1) ^ p->sp) >= THREAD_SIZE))
		return false;
	if (unlikely((step.bp && !kl_kernel_word(sp + step.bp, 3, &bp)) ||
		     !kl_kernel_word(sp - sizeof(long), 3, &ip)))
		return false;
	*p = (struct position){ .ip = ip, .sp = sp, .bp = bp };
	return true;
}

/* ------------------------------------------------------------- learning */

/*
 * Is it really where something returns to? What hooks a function's return puts the
 * beginning of another one there, which only the unwinder can look through.
 */
static bool is_behind_call(unsigned long ip)
{
	u64 word;
	u8 code[sizeof(word)];

	if (ip <= __START_KERNEL_map + PAGE_SIZE || !kl_kernel_word(ip - sizeof(word), 3, &word))
		return false;
	memcpy(code, &word, sizeof(code));
	return code[3] == 0xe8 || (code[6] == 0xff && (code[7] & 0x38) == 0x10);
}

/* Nothing else ever takes the place of what is in the kernel's image. */
static bool is_in_image(unsigned long ip)
{
	return ip >= __START_KERNEL_map && ip < MODULES_VADDR;
}

/* The only word of the frame that may be the saved one; 0: there are more. */
static s16 find_saved(const struct unwind_state *before, const struct unwind_state *after)
{
	s16 saved = 0;

	for (unsigned long at = before->sp; at + sizeof(long) < after->sp; at += sizeof(long)) {
		if (stack_word(at) != after->bp)
			continue;
		if (saved)
			return 0;
		saved = at - after->sp;
	}
	return saved;
}

/*
 * What the step depends on shows when the unwinder does it again with a frame pointer to
 * where all words are known. Nothing is known of steps that look at more than both.
 */
static bool find_step_kind(const struct unwind_state *before, const struct unwind_state *after,
			   union step *step)
{
	unsigned long word[] = { 1, 3, 5, 7, 9, 11 }, bp = (unsigned long)&word[2];
	struct unwind_state other = *before;

	other.bp = bp;
	other.error = true; /* it is not to complain */
	unwind_next_frame(&other);
	if (after->regs) {
		step->sp = (unsigned long)after->regs - before->sp;
		step->bp = STEP_USER;
		return other.regs == after->regs;
	}
	if (other.sp == bp + FRAME_BYTES && other.ip == word[3] && other.bp == word[2]) {
		step->sp = FRAME_BYTES | 1;
		step->bp = -FRAME_BYTES;
		return after->sp == before->bp + FRAME_BYTES;
	}
	if (other.sp != after->sp || other.ip != after->ip)
		return false;
	step->sp = after->sp - before->sp;
	if (other.bp == bp)
		return true;
	step->bp = find_saved(before, after);
	return step->bp && other.bp == after->bp;
}

/* May what the unwinder did be a step: is it on one stack, and was no word replaced? */
static bool is_plain(const struct unwind_state *before, const struct unwind_state *after)
{
	const struct pt_regs *regs = after->regs;
	unsigned long end = regs ? (unsigned long)regs : after->sp;

	if (end - before->sp >= PAGE_SIZE || end & 7 || before->sp & 7)
		return false;
	if (regs)
		return regs == task_pt_regs(current) && after->full_regs &&
		       user_mode((struct pt_regs *)regs);
	return !after->signal && after->stack_info.begin == before->stack_info.begin &&
	       stack_word(after->sp - sizeof(long)) == after->ip;
}

/* The unwinder goes on from a frame whose address is text, and is watched. */
static noinline void learn_step(struct unwind_state *state, u32 tries)
{
	struct unwind_state before = *state;
	union step step = { .at = (u32)before.ip };
	bool found;

	unwind_next_frame(state);
	if (before.error || state->error)
		return;
	if (unwind_done(state)) {
		step.bp = STEP_END;
		found = true;
	} else {
		found = is_plain(&before, state) && find_step_kind(&before, state, &step);
	}
	if (!found) {
		step.sp = 0;
		step.bp = STEP_UNKNOWN + tries + 1;
	}
	keep_step(step);
}

/* Only on the stack that we are on: what learning lays out there must be a part of it. */
static bool may_learn(const struct unwind_state *state)
{
	return !state->signal && !state->regs && is_in_image(state->ip) &&
	       is_behind_call(state->ip) &&
	       on_stack((struct stack_info *)&state->stack_info, (void *)current_stack_pointer,
			sizeof(long));
}

static void unwind_on(struct unwind_state *state)
{
	union step step = find_step(state->ip);
	u32 tries = step.bp >= STEP_UNKNOWN ? step.bp - STEP_UNKNOWN : 0;

	if (tries == TRIES || !may_learn(state))
		unwind_quietly(state);
	else
		learn_step(state, tries);
}

/* -------------------------------------------------------------- walking */

enum outcome {
	DONE,
	UNKNOWN, /* no step is known for the frame */
	LOST, /* the stack is not as the steps say */
};

/* As far as steps are known. */
static __always_inline enum outcome walk_known(struct walk *w, struct position *p)
{
	for (;;) {
		union step step = find_step(p->ip);

		if (unlikely(!step.at && is_ours(p->ip)))
			step = make_own_step(p->ip);
		if (unlikely(!step.at))
			return UNKNOWN;
		if (unlikely(step.bp > 0)) {
			struct pt_regs *regs = (struct pt_regs *)(p->sp + step.sp);

			if (step.bp >= STEP_UNKNOWN)
				return UNKNOWN;
			if (step.bp == STEP_USER &&
			    (regs != task_pt_regs(current) || !user_mode(regs)))
				return UNKNOWN;
			add_frame(w, p->ip);
			return DONE;
		}
		if (!add_frame(w, p->ip))
			return DONE;
		if (unlikely(!do_step(p, step)))
			return LOST;
	}
}

/* The stack that we are on is all that the unwinder has to find out by itself. */
static bool start_at(struct unwind_state *state, const struct position *p)
{
	/* So far below that no frame of its own is, which it would walk first. */
	unsigned long *below = (unsigned long *)(current_stack_pointer - BELOW_BYTES);

	__unwind_start(state, current, NULL, below);
	state->regs = NULL;
	state->signal = false;
	return !unwind_done(state) && on_stack(&state->stack_info, (void *)p->sp, sizeof(long));
}

/* From a frame that something has called; only the unwinder can go through others. */
static __always_inline bool move_to(struct unwind_state *state, const struct position *p)
{
	state->ip = p->ip;
	state->sp = p->sp;
	state->bp = p->bp;
	return is_behind_call(p->ip);
}

static __always_inline bool is_called(const struct unwind_state *state)
{
	return !unwind_done((struct unwind_state *)state) && !state->signal && !state->regs &&
	       !state->error;
}

/* What no step is known for, and on with steps behind it. Returns whether that can be. */
static noinline bool walk_unknown(struct walk *w, struct unwind_state *state)
{
	while (!unwind_done(state) && add_unwound(w, state)) {
		struct position p;

		unwind_on(state);
		if (!is_called(state))
			continue;
		p = (struct position){ state->ip, state->sp, state->bp };
		switch (walk_known(w, &p)) {
		case DONE:
			return true;
		case LOST:
			return false;
		case UNKNOWN:
			if (p.ip != state->ip && !move_to(state, &p))
				return false;
		}
	}
	return true;
}

static noinline bool walk_on(struct walk *w, const struct position *p)
{
	struct unwind_state state;

	return start_at(&state, p) && move_to(&state, p) && walk_unknown(w, &state);
}

static __always_inline bool walk_called(struct walk *w)
{
	struct position p;

	asm volatile("lea (%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
		     : "=r"(p.ip), "=r"(p.sp), "=r"(p.bp));
	switch (walk_known(w, &p)) {
	case DONE:
		return true;
	case LOST:
		return false;
	case UNKNOWN:
		break;
	}
	return walk_on(w, &p);
}

static noinline bool walk_interrupted(struct walk *w, struct pt_regs *regs)
{
	struct unwind_state state;

	unwind_start(&state, current, regs, NULL);
	return walk_unknown(w, &state);
}

/* Where the unwinder is, before it has been asked whether that is text. */
static unsigned long raw_address(const struct unwind_state *state)
{
	return state->ip;
}

#else

static bool walk_called(struct walk *w)
{
	return false;
}

static bool walk_interrupted(struct walk *w, struct pt_regs *regs)
{
	return false;
}

static unsigned long raw_address(const struct unwind_state *state)
{
	return 0;
}

#endif

/* ------------------------------------------------------------------ all of it */

/* The unwinder alone. */
static noinline void walk_all(struct walk *w, struct pt_regs *regs)
{
	struct unwind_state state;

	for (unwind_start(&state, current, regs, NULL); !unwind_done(&state);
	     unwind_quietly(&state)) {
		/* Asking takes longer than all else for a module's address. */
		if (w->ours && is_ours(raw_address(&state)))
			continue;
		if (!add_unwound(w, &state))
			break;
	}
}

static void begin(struct walk *w, u64 *frame, u32 most, const struct pt_regs *regs)
{
	*w = (struct walk){
		.frame = frame,
		.most = most,
		.ours = !regs,
		.function = this_cpu_read(kl_stack_function),
	};
	/* With registers the unwinder begins behind them. */
	if (regs)
		add_frame(w, regs->ip);
}

/**
 * kl_stack_walk_kernel - the frames of the kernel's stack
 * @frame: room for @most
 * @most: at least one
 * @regs: what was interrupted in the kernel, or NULL: whoever has called the module
 * @flags: KL_STACK_CUT is added if there are more
 *
 * Returns their number. Context: any, preemption off.
 */
u32 kl_stack_walk_kernel(u64 *frame, u32 most, struct pt_regs *regs, u8 *flags)
{
	struct walk w;

	begin(&w, frame, most, regs);
	if (unlikely(!(regs ? walk_interrupted(&w, regs) : walk_called(&w)))) {
		begin(&w, frame, most, regs);
		walk_all(&w, regs);
	}
	*flags |= w.cut ? KL_STACK_CUT : 0;
	return w.n;
}

/**
 * kl_stack_kernel_init - find out where the module is
 */
void kl_stack_kernel_init(void)
{
	ours_begin = (unsigned long)kl_stack_walk_kernel & PAGE_MASK;
	ours_end = ours_begin;
	while (within_module(ours_begin - 1, THIS_MODULE))
		ours_begin -= PAGE_SIZE;
	while (within_module(ours_end, THIS_MODULE))
		ours_end += PAGE_SIZE;
}
