// SPDX-License-Identifier: GPL-2.0
/*
 * The module's checks before a window is spliced, each rule with its refusal. They rely only on
 * the kernel's text and tables (map.c, function.c). Under kl_splice_lock.
 */
#include <linux/sort.h>
#include <linux/string.h>

#include "kernel.h"
#include "map.h"
#include "splice.h"

static bool is_reserved(const u8 *reserved, size_t bytes)
{
	return !memchr_inv(reserved, 0, bytes);
}

static bool has_slot(const struct kl_abi_window *w)
{
	return w->tier == KL_SPLICE_BOUNCE;
}

/* A point that counts must have no event; one that fires must have an existing one. */
static bool is_point(const struct kl_request *r, u32 point)
{
	const struct kl_abi_point *p = &r->point[point];

	if (p->instrument == KL_INSTRUMENT_FIRE)
		return r->event && r->event[point];
	return p->instrument == KL_INSTRUMENT_COUNT && !p->event;
}

/* At the same offset, points on the taken edge of a jump come after those before the jump. */
static bool is_behind(const struct kl_abi_point *p, const struct kl_abi_point *before)
{
	return p->offset > before->offset ||
	       (p->offset == before->offset && p->taken >= before->taken);
}

/*
 * A window's points lie inside it; those of a moved function may lie anywhere up to the next
 * window.
 */
static bool are_points(const struct kl_request *r, u32 i, u32 first)
{
	const struct kl_abi_window *w = &r->window[i];
	u64 end = i + 1 < r->windows ? w[1].address : U64_MAX;

	for (u32 k = first; k < first + w->points; k++) {
		const struct kl_abi_point *p = &r->point[k];

		if (!is_point(r, k) || (k > first && !is_behind(p, p - 1)) ||
		    p->taken > !w->moves || !is_reserved(p->reserved, sizeof(p->reserved)))
			return false;
		if (w->moves ?
			    w->address + p->offset < w->address || w->address + p->offset >= end :
			    p->offset > w->bytes)
			return false;
	}
	return true;
}

/**
 * kl_request_check_form - is a request consistent?
 * @r: a request that has been read, with its events; `first` of each window is filled in
 *
 * Returns enum kl_splice_refusal, or 0.
 */
u32 kl_request_check_form(struct kl_request *r)
{
	u64 end = 0;
	u32 points = 0;

	for (u32 i = 0; i < r->windows; i++) {
		const struct kl_abi_window *w = &r->window[i];

		r->bad = i;
		if (w->address < end || !w->bytes || w->address + w->bytes < w->address ||
		    w->tier < KL_SPLICE_JUMP || w->tier > KL_SPLICE_TRAP || !w->points ||
		    w->moves > 1 || w->points > r->points - points ||
		    w->points > (w->moves ? KL_SPLICE_MOVED_POINTS_MAX : KL_SPLICE_POINTS_MAX) ||
		    has_slot(w) != !!w->slot || !is_reserved(w->reserved, sizeof(w->reserved)) ||
		    !are_points(r, i, points))
			return KL_SPLICE_form;
		r->first[i] = points;
		points += w->points;
		end = w->address + w->bytes;
	}
	return points == r->points ? 0 : KL_SPLICE_form;
}

static u32 least_bytes(u8 tier)
{
	switch (tier) {
	case KL_SPLICE_JUMP:
	case KL_SPLICE_CALL:
		return KL_JUMP_BYTES;
	case KL_SPLICE_BOUNCE:
		return KL_BOUNCE_BYTES;
	default:
		return 1;
	}
}

/* Is this a nop of any length, or a breakpoint used as padding? */
static bool is_filling(const struct kl_function *f, const struct kl_text_step *step)
{
	const u8 *text = f->text + step->offset;
	u32 at = 0;

	if (*text == INT3_INSN_OPCODE)
		return true;
	while (at + 1 < step->in.bytes && (text[at] == 0x66 || text[at] == 0x2e))
		at++;
	return text[at] == 0x90 ||
	       (at + 1 < step->in.bytes && text[at] == 0x0f && text[at + 1] == 0x1f);
}

/*
 * Check one instruction of a window that ends at @end. Whatever follows a jump or return in the
 * window is never executed (not @passed) and only makes room.
 */
static u32 check_step(const struct kl_function *f, u32 i, bool first, bool passed, u32 end)
{
	const struct kl_text_step *step = &f->step[i];
	const struct kl_instruction *in = &step->in;

	if (!first && (step->target || kl_map_test(KL_MAP_ENTERED, f->begin + step->offset)))
		return KL_SPLICE_entered;
	if (!passed)
		return is_filling(f, step) ? 0 : KL_SPLICE_boundary;
	if (in->flow == KL_FLOW_FIXED)
		return KL_SPLICE_fixed;
	/* The call returns to the instruction after it, which must lie after the window. */
	if (in->flow == KL_FLOW_CALL && step->offset + in->bytes != end)
		return KL_SPLICE_fixed;
	if (kl_text_is_endbr(f->text + step->offset))
		return KL_SPLICE_excluded;
	return 0;
}

/*
 * Points lie before instructions that are executed, or at the window's end if execution gets
 * there.
 */
static u32 check_points(const struct kl_request *r, u32 i, const struct kl_function *f)
{
	const struct kl_abi_window *w = &r->window[i];
	u32 begin = w->address - f->begin, passed = begin;
	const struct kl_text_step *step = &f->step[kl_function_step(f, begin)];

	for (; passed < begin + w->bytes; step++) {
		if (!kl_instruction_goes_on(&step->in))
			break;
		passed += step->in.bytes;
	}
	for (u32 k = r->first[i]; k < r->first[i] + w->points; k++) {
		u32 offset = begin + r->point[k].offset;
		bool inside = offset < begin + w->bytes;
		long at = inside ? kl_function_step(f, offset) : -1;

		if (offset > passed || (inside && at < 0) ||
		    (r->point[k].taken && !(inside && kl_instruction_jumps(&f->step[at].in))))
			return KL_SPLICE_boundary;
	}
	return 0;
}

/**
 * kl_request_check_window - may a window be spliced?
 * @r: a request whose form has been checked
 * @i: index of the window
 * @f: the function that the window begins in
 *
 * Returns enum kl_splice_refusal, or 0. Context: kprobe_mutex is held.
 */
u32 kl_request_check_window(const struct kl_request *r, u32 i, const struct kl_function *f)
{
	const struct kl_abi_window *w = &r->window[i];
	u32 begin = w->address - f->begin, end = begin + w->bytes, n = 0, refusal = 0;
	u32 hashed = kl_window_hashed(w, r->point[r->first[i] + w->points - 1].offset);
	bool passed = true;
	long at;

	if (f->refusal)
		return f->refusal;
	if (end > f->end - f->begin || hashed > f->end - w->address)
		return KL_SPLICE_bounds;
	if (kl_window_hash(f->text + begin, hashed) != w->hash)
		return KL_SPLICE_text;
	at = kl_function_step(f, begin);
	for (u32 offset = begin; !refusal && offset < end; n++) {
		/*
		 * After the last instruction there are only breakpoints up to the function's end.
		 */
		if (at == f->steps && !passed)
			break;
		if (at < 0 || at >= f->steps)
			return KL_SPLICE_boundary;
		refusal = check_step(f, at, !n, passed, end);
		passed &= f->step[at].in.flow != KL_FLOW_JUMP &&
			  f->step[at].in.flow != KL_FLOW_RETURN;
		offset += f->step[at++].in.bytes;
		if (offset > end)
			return KL_SPLICE_boundary;
	}
	if (refusal)
		return refusal;
	if (w->bytes < least_bytes(w->tier) || (w->tier == KL_SPLICE_TRAP && n > 1) ||
	    (w->tier == KL_SPLICE_CALL &&
	     (w->bytes != KL_JUMP_BYTES || f->step[at - 1].in.flow != KL_FLOW_CALL)))
		return KL_SPLICE_form;
	if (kl_map_any(KL_MAP_NEVER, w->address, w->address + w->bytes) ||
	    KL_CALL(ftrace_text_reserved)((void *)w->address, (void *)(w->address + w->bytes - 1)))
		return KL_SPLICE_excluded;
	if (kl_splices_taken(w->address, w->address + w->bytes))
		return KL_SPLICE_taken;
	return w->moves ? 0 : check_points(r, i, f);
}

/* --------------------------------------------------------------------- slots */

/* The window that contains an address, or NULL. */
static const struct kl_abi_window *window_at(const struct kl_request *r, unsigned long address)
{
	u32 low = 0, high = r->windows;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (r->window[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= r->window[low - 1].address + r->window[low - 1].bytes)
		return NULL;
	return &r->window[low - 1];
}

/* Are these bytes never executed, i.e. padding after a jump or return that nothing jumps to? */
static bool is_padding(const struct kl_function *f, u32 begin, u32 end)
{
	u32 i = f->steps;

	if (end > f->end - f->begin)
		return false;
	/* Walk back from the last instruction before the end to one that ends the control flow. */
	while (i && f->step[i - 1].offset >= end)
		i--;
	for (; i; i--) {
		const struct kl_text_step *step = &f->step[i - 1];

		/* The jump of a jump label may become a nop. */
		if (step->offset + step->in.bytes <= begin &&
		    (step->in.flow == KL_FLOW_JUMP || step->in.flow == KL_FLOW_RETURN))
			return !kl_map_test(KL_MAP_NEVER, f->begin + step->offset);
		if (!is_filling(f, step) || step->target ||
		    kl_map_test(KL_MAP_ENTERED, f->begin + step->offset) ||
		    kl_map_test(KL_MAP_NEVER, f->begin + step->offset))
			return false;
	}
	return false;
}

/**
 * kl_request_check_slot - may a bounce use its slot?
 * @r: a request whose form has been checked
 * @i: index of its window, a bounce
 * @f: the function that the window is in
 *
 * The check of the window that lends the slot is separate. Returns enum kl_splice_refusal, or 0.
 */
u32 kl_request_check_slot(const struct kl_request *r, u32 i, const struct kl_function *f)
{
	const struct kl_abi_window *w = &r->window[i], *owner = window_at(r, w->slot);
	s64 by = w->slot - (w->address + KL_BOUNCE_BYTES);
	u64 end = w->slot + KL_JUMP_BYTES;

	if (by < S8_MIN || by > S8_MAX || w->slot < f->begin || end > f->end || end < w->slot)
		return KL_SPLICE_slot;
	if (owner)
		return owner->tier == KL_SPLICE_JUMP && w->slot >= owner->address + KL_JUMP_BYTES &&
				       end <= owner->address + owner->bytes ?
			       0 :
			       KL_SPLICE_slot;
	if (window_at(r, end - 1) || kl_splices_taken(w->slot, end))
		return KL_SPLICE_slot;
	/* This may be a function without a symbol, which ftrace knows. */
	return is_padding(f, w->slot - f->begin, end - f->begin) &&
			       !KL_CALL(ftrace_text_reserved)((void *)w->slot, (void *)end - 1) ?
		       0 :
		       KL_SPLICE_slot;
}

struct slot {
	u64 address;
	u32 window;
};

static int compare_slots(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/**
 * kl_request_check_slots - are all slots disjoint?
 * @r: a request whose windows have all been accepted
 *
 * Returns enum kl_splice_refusal, or 0. If memory is short, refuses, too.
 */
u32 kl_request_check_slots(struct kl_request *r)
{
	struct slot *slot = kvmalloc_array(r->windows, sizeof(*slot), GFP_KERNEL);
	u32 n = 0, refusal = 0;

	if (!slot)
		return KL_SPLICE_slot;
	for (u32 i = 0; i < r->windows; i++)
		if (r->window[i].slot)
			slot[n++] = (struct slot){ .address = r->window[i].slot, .window = i };
	sort(slot, n, sizeof(*slot), compare_slots, NULL);
	r->bad = 0;
	for (u32 i = 1; i < n && !refusal; i++) {
		if (slot[i].address >= slot[i - 1].address + KL_JUMP_BYTES)
			continue;
		r->bad = slot[i].window;
		refusal = KL_SPLICE_slot;
	}
	kvfree(slot);
	return refusal;
}
