// SPDX-License-Identifier: GPL-2.0
/*
 * Walks the kernel stack. It steps over frames that always have the same size by itself, once it
 * knows the size: for the module from the module's own ORC tables, for the kernel's image from what
 * the kernel's unwinder did there. The unwinder handles all other frames. Called by stack.c, in any
 * context; docs/design/stack.md explains why the result is exact.
 */
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <asm/unwind.h>

#include "../compat/orc.h"
#include "program_platform.h"
#include "stack_internal.h"

#define TRAMPOLINE_FRAMES 4 /* the hooked function is among the first of these */
#define STEP_BITS 12
#define TRIES 64 /* attempts to learn a step */
#define FRAME_BYTES 16 /* of the saved frame pointer and the return address */
#define BELOW_BYTES 512 /* more than any frame of the unwinder */

/**
 * struct position - a frame: the registers after its call returns
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
 * struct walk - a trace that is being taken
 * @frame, @n, @most: frames found, their number, the limit
 * @ours: only frames of the module have been found so far
 * @cut: there are more frames than @most
 * @function: see kl_stack_function; 0 after its frame has been searched for
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
 * Between the module and a hooked function is ftrace's trampoline, which belongs to no module's
 * text. An event that has interrupted the hook does not find the function among these frames.
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

/* Returns whether to continue. */
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

/* Does the user program follow? To reject its addresses would take longest. */
static __always_inline bool is_at_program(struct unwind_state *state)
{
	struct pt_regs *regs = unwind_get_entry_regs(state, NULL);

	return regs && user_mode(regs);
}

/*
 * Advance the unwinder. If an interrupt came between instructions that move the stack by hand, as
 * in return hooks, the kernel's unwind information may be wrong there. The walk then ends; the
 * kernel's warning is suppressed, as it does not concern the user who requested the trace.
 */
static void unwind_quietly(struct unwind_state *state)
{
	bool error = state->error;

	state->error = true;
	unwind_next_frame(state);
	state->error = error;
}

/* Add the frame at which the unwinder is. Returns whether to continue. */
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
	STEP_USER = 1, /* @sp leads to the user registers: the end */
	STEP_END, /* the end of a kernel thread's stack */
	STEP_UNKNOWN, /* and above: number of attempts to learn it */
};

/*
 * How to step over the frame of a return address. This is one word, so that it is read and written
 * as a whole; its contents depend on the address alone.
 */
union step {
	u64 word;
	struct {
		u32 at; /* lower half of the address, which identifies it; 0: free */
		s16 sp; /* offset of the caller's sp, from this sp or, if odd, from bp */
		s16 bp; /* offset of the saved bp, from the caller's sp; 0: not saved */
	};
};

/* Each address has two adjacent slots. */
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

/* A step that another CPU stores may be lost, and only has to be learned again. */
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

/* The module's last ORC entry that begins at the address or before it. */
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

/*
 * Make a step over a frame of the module. Frames unlike those that the compiler usually makes are
 * left to the unwinder.
 */
static noinline union step make_own_step(unsigned long ip)
{
	/* Search for the call itself: what follows it may be another function. */
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
 * Steps are exact. If one is not, it must neither fault nor loop: the next frame is above this one
 * and, as far as its size can tell, on the same stack. Otherwise this returns false and leaves @p
 * unchanged.
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
 * Does a call precede the address? A hook of a function's return replaces the return address by its
 * own function, which only the unwinder can look through.
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

/* Text in the kernel's image is never replaced by other text. */
static bool is_in_image(unsigned long ip)
{
	return ip >= __START_KERNEL_map && ip < MODULES_VADDR;
}

/* The offset of the only word of the frame that may be the saved bp; 0: there are more, or none. */
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
 * Find what a step depends on: let the unwinder repeat it with a frame pointer to known words. A
 * step that depends on more than sp and bp is not learned.
 */
static bool find_step_kind(const struct unwind_state *before, const struct unwind_state *after,
			   union step *step)
{
	unsigned long word[] = { 1, 3, 5, 7, 9, 11 }, bp = (unsigned long)&word[2];
	struct unwind_state other = *before;

	other.bp = bp;
	other.error = true; /* suppresses its warning */
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

/* Can what the unwinder did become a step: is it on one stack, and was no word replaced? */
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

/* Advance the unwinder from a frame whose address is text, and learn the step from what it does. */
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

/* Only on the stack that we are on, which must contain what find_step_kind lays out. */
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
	LOST, /* the stack does not match the steps */
};

/* Walk as far as steps are known. */
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

/* Start the unwinder at a frame. It only has to find the stack that we are on by itself. */
static bool start_at(struct unwind_state *state, const struct position *p)
{
	/* Below all frames of the unwinder itself, which it would otherwise walk first. */
	unsigned long *below = (unsigned long *)(current_stack_pointer - BELOW_BYTES);

	__unwind_start(state, current, NULL, below);
	state->regs = NULL;
	state->signal = false;
	return !unwind_done(state) && on_stack(&state->stack_info, (void *)p->sp, sizeof(long));
}

/*
 * Move the unwinder to a frame. Returns false unless a call precedes its address: only the unwinder
 * can walk through other frames.
 */
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

/*
 * Have the unwinder walk frames for which no step is known, and continue with steps after them.
 * Returns false if this is impossible.
 */
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

/* The unwinder's address, before the check whether it is text. */
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

/* ------------------------------------------------------------- the whole walk */

/* Walk with the unwinder alone. */
static noinline void walk_all(struct walk *w, struct pt_regs *regs)
{
	struct unwind_state state;

	for (unwind_start(&state, current, regs, NULL); !unwind_done(&state);
	     unwind_quietly(&state)) {
		/* For a module's address, this check takes longer than everything else. */
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
	/* With registers, the unwinder begins after them. */
	if (regs)
		add_frame(w, regs->ip);
}

/**
 * kl_stack_walk_kernel - walk the kernel stack
 * @frame: room for @most
 * @most: limit on the frames, at least one
 * @regs: registers of the interrupted kernel code, or NULL: start at the module's caller
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
 * kl_stack_kernel_init - find the module's address range
 *
 * Without its initialization code, which may come next, and whose place another module may get.
 */
void kl_stack_kernel_init(void)
{
	ours_begin = (unsigned long)kl_stack_walk_kernel & PAGE_MASK;
	ours_end = ours_begin;
	while (within_module_core(ours_begin - 1, THIS_MODULE))
		ours_begin -= PAGE_SIZE;
	while (within_module_core(ours_end, THIS_MODULE))
		ours_end += PAGE_SIZE;
}
