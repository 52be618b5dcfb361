// SPDX-License-Identifier: GPL-2.0
/*
 * A function that is moved: everything that is reachable from its windows runs in a copy, up to
 * calls and instructions that must stay, which run in the text. This finds what the copy contains,
 * and whether a point is only reached inside it, or on an edge from it to the text, because every
 * path to the point leads through a window. Under kl_splice_lock.
 */
#include "kernel.h"
#include "map.h"
#include "splice.h"

/* Only there may indirect jumps and calls go, so a copy cannot be entered by one. */
static bool is_landing_pad(const struct kl_function *f, const struct kl_text_step *step)
{
	return step->in.bytes == KL_ENDBR_BYTES && kl_text_is_endbr(f->text + step->offset);
}

static bool stays(const struct kl_function *f, const struct kl_text_step *step)
{
	unsigned long at = f->begin + step->offset, end = at + step->in.bytes;
	const u8 *text = f->text + step->offset;

	if (step->in.flow == KL_FLOW_FIXED || step->in.flow == KL_FLOW_CALL ||
	    kl_map_any(KL_MAP_NEVER, at, end))
		return true;
	if (is_landing_pad(f, step))
		return true;
	return step->in.bytes == KL_JUMP_BYTES && kl_text_is_hook(text) &&
	       KL_CALL(ftrace_text_reserved)((void *)at, (void *)(end - 1));
}

/* A call at the end of a window is moved; one that is retargeted stays. */
static void mark_window(struct kl_function *f, const struct kl_abi_window *w)
{
	u32 i = kl_function_step(f, w->address - f->begin);
	u32 end = w->address + w->bytes - f->begin;

	f->step[i].entry = true;
	if (w->tier == KL_SPLICE_CALL)
		return;
	f->step[i].moved = true;
	for (; i < f->steps && f->step[i].offset < end; i++)
		if (f->step[i].in.flow == KL_FLOW_CALL)
			f->step[i].stays = false;
}

/* Steps of the function that may come next; at most two. */
static u32 next_of(const struct kl_function *f, u32 i, u32 *next)
{
	const struct kl_text_step *step = &f->step[i];
	bool ends = step->in.flow == KL_FLOW_JUMP || step->in.flow == KL_FLOW_RETURN;
	u32 n = 0;
	long to;

	/* A jump that must stay may be a jump label's, which can become a nop. */
	if ((!ends || step->stays) && i + 1 < f->steps)
		next[n++] = i + 1;
	if (kl_instruction_jumps(&step->in)) {
		to = kl_function_step(f, kl_text_step_target(step));
		if (to >= 0)
			next[n++] = to;
	}
	return n;
}

/* Follow the flow from the windows until nothing new is found. */
static void find_relocated(struct kl_function *f)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (u32 i = 0; i < f->steps; i++) {
			u32 next[2], n = f->step[i].moved ? next_of(f, i, next) : 0;

			/* The called function returns to the text. */
			if (f->step[i].in.flow == KL_FLOW_CALL)
				continue;
			while (n--) {
				struct kl_text_step *to = &f->step[next[n]];

				changed |= !to->moved && !to->stays;
				to->moved |= !to->stays;
			}
		}
	}
}

/* Steps that stay but follow moved ones run in the text, and so does what follows these. */
static void find_landed(struct kl_function *f)
{
	for (u32 i = 0; i < f->steps; i++) {
		u32 next[2], n = next_of(f, i, next);

		if (!f->step[i].moved || f->step[i].in.flow == KL_FLOW_CALL)
			continue;
		while (n--)
			f->step[next[n]].landed |= !f->step[next[n]].moved;
	}
}

/* Does execution continue in the text after this step? */
static bool leads_to_text(const struct kl_text_step *from)
{
	return from->loose || from->landed || (from->moved && from->in.flow == KL_FLOW_CALL) ||
	       (from->entry && !from->moved);
}

/* Find steps that may be reached in the text, not from the copy, without passing a window. */
static void find_loose(struct kl_function *f)
{
	bool changed = true;

	find_landed(f);
	for (u32 i = 0; i < f->steps; i++)
		f->step[i].loose = !f->step[i].entry &&
				   (!i || is_landing_pad(f, &f->step[i]) ||
				    kl_map_test(KL_MAP_ENTERED, f->begin + f->step[i].offset));
	while (changed) {
		changed = false;
		for (u32 i = 0; i < f->steps; i++) {
			u32 next[2], n = next_of(f, i, next);

			while (n--) {
				struct kl_text_step *to = &f->step[next[n]];

				if (to->loose || to->entry || !leads_to_text(&f->step[i]))
					continue;
				to->loose = true;
				changed = true;
			}
		}
	}
}

/* A point must be at a window, inside the copy, or on an edge from the copy to the text. */
static u32 check_point(struct kl_function *f, unsigned long address)
{
	long i = kl_function_step(f, address - f->begin);
	struct kl_text_step *step;

	if (i < 0)
		return KL_SPLICE_boundary;
	step = &f->step[i];
	if (step->entry)
		return 0;
	step->pad = step->landed;
	return (step->moved || step->landed) && !step->loose ? 0 : KL_SPLICE_unseen;
}

/**
 * kl_function_move - find which steps of a function are moved
 * @f: loaded
 * @r: a request
 * @first: its first window in the function
 * @last: after its last one; all of them have been checked
 * @bad: set to the invalid window
 *
 * Returns enum kl_splice_refusal if a point would miss an execution, or 0. Context: kprobe_mutex
 * is held.
 */
u32 kl_function_move(struct kl_function *f, const struct kl_request *r, u32 first, u32 last,
		     u32 *bad)
{
	for (u32 i = 0; i < f->steps; i++)
		f->step[i].stays = stays(f, &f->step[i]);
	for (u32 i = first; i < last; i++)
		mark_window(f, &r->window[i]);
	find_relocated(f);
	find_loose(f);
	f->moves = true;
	for (*bad = first; *bad < last; ++*bad) {
		const struct kl_abi_window *w = &r->window[*bad];

		for (u32 k = r->first[*bad]; k < r->first[*bad] + w->points; k++) {
			u32 refusal = check_point(f, w->address + r->point[k].offset);

			if (refusal)
				return refusal;
		}
	}
	*bad = first;
	return 0;
}
