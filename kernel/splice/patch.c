// SPDX-License-Identifier: GPL-2.0
/*
 * Patches: instruments, and the instructions of a window in a form that runs elsewhere. All code
 * is generated here, in a few forms; no part of a request becomes code. Bytes are collected first;
 * distances are filled in once their location is known. Under kl_splice_lock.
 */
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../source/dynamic/block.h"
#include "kernel.h"
#include "map.h"
#include "splice.h"

#define PATCHES_AT_FIRST 4096
/* Maximum size of an instruction or an instrument. */
#define PIECE_BYTES 32

static int make_room(struct kl_patches *p)
{
	size_t bytes = max_t(size_t, 2 * p->room, PATCHES_AT_FIRST), fixups;
	struct kl_fixup *fixup;
	u8 *grown;

	if (p->n + PIECE_BYTES > p->room) {
		grown = kvmalloc(bytes, GFP_KERNEL);
		if (!grown)
			return -ENOMEM;
		if (p->n)
			memcpy(grown, p->bytes, p->n);
		kvfree(p->bytes);
		p->bytes = grown;
		p->room = bytes;
	}
	if (p->fixups + 2 > p->fixup_room) {
		fixups = max_t(size_t, 2 * p->fixup_room, PATCHES_AT_FIRST / PIECE_BYTES);
		fixup = kvmalloc_array(fixups, sizeof(*fixup), GFP_KERNEL);
		if (!fixup)
			return -ENOMEM;
		if (p->fixups)
			memcpy(fixup, p->fixup, p->fixups * sizeof(*fixup));
		kvfree(p->fixup);
		p->fixup = fixup;
		p->fixup_room = fixups;
	}
	return 0;
}

static void put(struct kl_patches *p, const void *bytes, u32 n)
{
	memcpy(p->bytes + p->n, bytes, n);
	p->n += n;
}

static void put_byte(struct kl_patches *p, u8 byte)
{
	p->bytes[p->n++] = byte;
}

/* Emit the distance to @target from the end of the instruction, which is @more bytes further on. */
static void put_distance(struct kl_patches *p, unsigned long target, u32 more)
{
	static const u8 none[4];

	p->fixup[p->fixups++] = (struct kl_fixup){
		.at = p->n,
		.end = p->n + sizeof(none) + more,
		.target = target,
	};
	put(p, none, sizeof(none));
}

static void put_jump(struct kl_patches *p, unsigned long target)
{
	put_byte(p, JMP32_INSN_OPCODE);
	put_distance(p, target, 0);
}

static bool has_copy(const struct kl_text_step *step)
{
	return step->moved || step->pad;
}

/* The step of a function at an address, or NULL. */
static const struct kl_text_step *step_at(const struct kl_function *f, unsigned long address)
{
	long i = address >= f->begin && address < f->end ? kl_function_step(f, address - f->begin) :
							   -1;

	return i >= 0 ? &f->step[i] : NULL;
}

/*
 * Emit the distance to the target of a jump. If that will have a copy, it is filled in at the end.
 */
static void put_goal(struct kl_patches *p, const struct kl_function *f, unsigned long target)
{
	const struct kl_text_step *step = f->moves ? step_at(f, target) : NULL;
	bool inside = step && has_copy(step);

	put_distance(p, inside ? step - f->step : target, 0);
	p->fixup[p->fixups - 1].inside = inside;
}

/* Increment a counter: this CPU's, or, if there are too many points for that, the shared one. */
static void put_count(struct kl_patches *p, const struct kl_splices *to, u32 point, bool flags_live)
{
	static const u8 own[] = { 0x65, 0x48, 0xff, 0x04, 0x25 }; /* incq %gs:NUMBER */
	static const u8 shared[] = { 0xf0, 0x48, 0xff, 0x05 }; /* lock incq DISTANCE(%rip) */

	if (flags_live)
		put_byte(p, 0x9c); /* pushf */
	if (to->hot) {
		s32 offset = (__force long)to->hot[point];

		put(p, own, sizeof(own));
		put(p, &offset, sizeof(offset));
	} else {
		put(p, shared, sizeof(shared));
		put_distance(p, (unsigned long)&to->counter[point], 0);
	}
	if (flags_live)
		put_byte(p, 0x9d); /* popf */
}

/*
 * Fire an event: with flags as C expects them, interrupts unchanged, and the place in rdi. An
 * address in module memory fits into a sign-extended 32-bit number. See enter.S.
 */
static void put_fire(struct kl_patches *p, const struct kl_block_place *place)
{
	static const u8 clac[] = { 0x0f, 0x01, 0xca };
	static const u8 mov_rdi[] = { 0x48, 0xc7, 0xc7 };
	s32 address = (long)place;

	put_byte(p, 0x9c); /* pushf */
	put_byte(p, 0xfc); /* cld */
	if (boot_cpu_has(X86_FEATURE_SMAP))
		put(p, clac, sizeof(clac));
	put_byte(p, 0x57); /* push %rdi */
	put(p, mov_rdi, sizeof(mov_rdi));
	put(p, &address, sizeof(address));
	put_byte(p, CALL_INSN_OPCODE);
	put_distance(p,
		     (unsigned long)(kl_dynevent_block_reads(place->defined) ? kl_block_enter_all :
									       kl_block_enter),
		     0);
	put_byte(p, 0x5f); /* pop %rdi */
	put_byte(p, 0x9d); /* popf */
}

static void put_instrument(struct kl_patches *p, const struct kl_request *r,
			   const struct kl_splices *to, u32 point, unsigned long address,
			   bool flags_live)
{
	if (r->point[point].instrument == KL_INSTRUMENT_FIRE) {
		to->place[point] = (struct kl_block_place){
			.defined = r->event[point],
			.address = address,
		};
		put_fire(p, &to->place[point]);
	} else {
		put_count(p, to, point, flags_live);
	}
}

/* Emit an instruction in a form that does the same elsewhere. */
static void put_relocated(struct kl_patches *p, const struct kl_function *f,
			  const struct kl_text_step *step)
{
	const struct kl_instruction *in = &step->in;
	const u8 *text = f->text + step->offset;
	unsigned long behind = f->begin + step->offset + in->bytes;
	s32 back = behind;

	switch (in->flow) {
	case KL_FLOW_BRANCH:
		put_byte(p, 0x0f);
		put_byte(p, 0x80 | in->condition);
		put_goal(p, f, behind + in->by);
		break;
	case KL_FLOW_CALL:
		/* It returns to where it would have; a patch's address is never on a stack. */
		put_byte(p, 0x68); /* push, sign-extended to a kernel address */
		put(p, &back, sizeof(back));
		put_jump(p, behind + in->by);
		break;
	case KL_FLOW_JUMP:
		put_byte(p, JMP32_INSN_OPCODE);
		put_goal(p, f, behind + in->by);
		break;
	default:
		if (!in->at) {
			put(p, text, in->bytes);
			break;
		}
		put(p, text, in->at);
		put_distance(p, behind + in->by, in->bytes - in->at - 4);
		put(p, text + in->at + 4, in->bytes - in->at - 4);
	}
}

/* Points on the taken edge of a branch: which ones, and the fixup that must lead to them. */
struct detour {
	const struct kl_text_step *step;
	u32 point;
	u32 points;
	u32 fixup;
};

/* Emit the instruments on a jump's taken edge. The caller then emits the jump to its target. */
static int put_taken(struct kl_patches *p, const struct kl_request *r, const struct kl_splices *to,
		     const struct kl_function *f, const struct detour *d)
{
	unsigned long target = f->begin + d->step->offset + d->step->in.bytes + d->step->in.by;
	const struct kl_text_step *there = step_at(f, target);

	for (u32 k = 0; k < d->points; k++) {
		if (make_room(p))
			return -ENOMEM;
		put_instrument(p, r, to, d->point + k, target, !there || there->flags_live);
	}
	return make_room(p);
}

static int put_detours(struct kl_patches *p, const struct kl_request *r,
		       const struct kl_splices *to, const struct kl_function *f,
		       const struct detour *detour, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		struct kl_fixup *fixup = &p->fixup[detour[i].fixup];
		unsigned long target = fixup->target;

		fixup->inside = true;
		fixup->target = p->n;
		if (put_taken(p, r, to, f, &detour[i]))
			return -ENOMEM;
		put_jump(p, target);
	}
	return 0;
}

/**
 * kl_patches_add - build the patch of a window
 * @p: the patches, to which it is appended
 * @r: a request
 * @i: index of its window, which has been checked
 * @f: the function that the window is in, with live flags known
 * @to: has the counters
 *
 * Returns the offset of the patch in @p, or -ENOMEM. Context: may sleep.
 */
int kl_patches_add(struct kl_patches *p, const struct kl_request *r, u32 i,
		   const struct kl_function *f, const struct kl_splices *to)
{
	const struct kl_abi_window *w = &r->window[i];
	u32 offset = w->address - f->begin, end = offset + w->bytes, begin = p->n;
	u32 point = r->first[i], last = point + w->points, detours = 0;
	const struct kl_text_step *step = &f->step[kl_function_step(f, offset)];
	struct detour detour[KL_SPLICE_POINTS_MAX];
	bool on = true;

	for (; on; step++) {
		/* Flags are live after a window if they are live before the next instruction. */
		bool inside = step < f->step + f->steps;
		struct detour taken = { .step = step };

		for (; point < last && w->address - f->begin + r->point[point].offset == offset;
		     point++) {
			if (r->point[point].taken) {
				taken.point = taken.points++ ? taken.point : point;
				continue;
			}
			if (make_room(p))
				return -ENOMEM;
			put_instrument(p, r, to, point, f->begin + offset,
				       !inside || step->flags_live);
		}
		if (make_room(p))
			return -ENOMEM;
		if (offset == end) {
			put_jump(p, w->address + w->bytes);
			break;
		}
		if (w->tier == KL_SPLICE_CALL) {
			put_jump(p, w->address + w->bytes + step->in.by);
			break;
		}
		if (step->in.flow == KL_FLOW_JUMP && put_taken(p, r, to, f, &taken))
			return -ENOMEM;
		put_relocated(p, f, step);
		if (step->in.flow == KL_FLOW_BRANCH && taken.points) {
			taken.fixup = p->fixups - 1;
			detour[detours++] = taken;
		}
		on = kl_instruction_goes_on(&step->in);
		offset += step->in.bytes;
	}
	return put_detours(p, r, to, f, detour, detours) ?: begin;
}

/* Emit the instruments of a step. Earlier points that are skipped belong to retargeted calls. */
static int put_points(struct kl_patches *p, const struct kl_request *r, const struct kl_splices *to,
		      const struct kl_function *f, const struct kl_text_step *step, u32 *window,
		      u32 last, u32 *point)
{
	unsigned long address = f->begin + step->offset;

	while (*window < last) {
		const struct kl_abi_window *w = &r->window[*window];
		unsigned long at;

		if (*point == r->first[*window] + w->points) {
			++*window;
			continue;
		}
		at = w->address + r->point[*point].offset;
		if (at > address)
			break;
		if (at == address) {
			if (make_room(p))
				return -ENOMEM;
			put_instrument(p, r, to, *point, address, step->flags_live);
		}
		++*point;
	}
	return make_room(p);
}

/**
 * kl_patches_add_relocated - build the copy of a function
 * @p: the patches, to which it is appended
 * @r: a request
 * @first: the function's first window
 * @last: after its last window
 * @f: the function, with live flags and moved steps known; `copy` of each step is filled in
 * @to: has the counters
 *
 * Where execution continues in instructions that are not moved, the copy jumps to the text.
 * Returns 0 or -ENOMEM. Context: may sleep.
 */
int kl_patches_add_relocated(struct kl_patches *p, const struct kl_request *r, u32 first, u32 last,
			     struct kl_function *f, const struct kl_splices *to)
{
	u32 point = r->first[first], fixup = p->fixups;

	for (u32 i = 0; i < f->steps; i++) {
		struct kl_text_step *step = &f->step[i];
		u32 end = step->offset + step->in.bytes;

		if (!has_copy(step))
			continue;
		step->copy = p->n;
		if (put_points(p, r, to, f, step, &first, last, &point))
			return -ENOMEM;
		if (step->pad) {
			put_jump(p, f->begin + step->offset);
			continue;
		}
		put_relocated(p, f, step);
		if (make_room(p))
			return -ENOMEM;
		if (!kl_instruction_goes_on(&step->in))
			put_byte(p, INT3_INSN_OPCODE); /* stops speculation past it */
		else if (i + 1 == f->steps || !has_copy(&step[1]))
			put_jump(p, f->begin + end);
	}
	for (; fixup < p->fixups; fixup++)
		if (p->fixup[fixup].inside)
			p->fixup[fixup].target = f->step[p->fixup[fixup].target].copy;
	return 0;
}

/**
 * kl_patches_place - fill in the distances, and copy the patches to their location
 * @p: all patches
 * @at: memory of @p->n bytes
 *
 * Returns false if a target is out of reach.
 */
bool kl_patches_place(struct kl_patches *p, u8 *at)
{
	for (u32 i = 0; i < p->fixups; i++) {
		const struct kl_fixup *fixup = &p->fixup[i];
		unsigned long target = fixup->target + (fixup->inside ? (unsigned long)at : 0);
		long by = target - (unsigned long)(at + fixup->end);
		s32 distance = by;

		if (distance != by)
			return false;
		memcpy(p->bytes + fixup->at, &distance, sizeof(distance));
	}
	memcpy(at, p->bytes, p->n);
	return true;
}

/**
 * kl_patches_free - free what kl_patches_add() has allocated
 * @p: zeroed, or used
 */
void kl_patches_free(struct kl_patches *p)
{
	kvfree(p->fixup);
	kvfree(p->bytes);
}
