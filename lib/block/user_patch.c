// SPDX-License-Identifier: GPL-2.0
/*
 * Patches for programs: instruments, and the relocated instructions of a window. For each
 * instruction of a patch, a step records where a thread at it would be without the patch. So
 * threads can be moved in and out immediately, without waiting or single-stepping.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include <kernlens/abi.h>

#include "../base/base.h"
#include "block.h"
#include "user_patch.h"

/* Maximum size of an instruction or instrument. */
#define PIECE_BYTES 48
#define JUMP_BYTES 5
#define BOUNCE_BYTES 2

/* ------------------------------------------------------------------ collecting */

static int make_room(struct kl_user_patches *p)
{
	size_t room = p->room ? 2 * p->room : 4096;
	void *grown;

	if (p->bytes + PIECE_BYTES <= p->room)
		return 0;
	grown = realloc(p->code, room);
	if (!grown)
		return kl_fail(ENOMEM, "out of memory");
	p->code = grown;
	p->room = room;
	return 0;
}

static void put(struct kl_user_patches *p, const void *bytes, size_t n)
{
	memcpy(p->code + p->bytes, bytes, n);
	p->bytes += n;
}

/* Four bytes to be filled in once all addresses are known. */
static int add_fixup(struct kl_user_patches *p, uint8_t kind, uint64_t target, size_t at,
		     size_t end)
{
	struct kl_user_fixup *grown =
		kl_array_grow(p->fixup, p->fixups, &p->fixup_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	p->fixup = grown;
	grown[p->fixups++] = (struct kl_user_fixup){
		.at = (uint32_t)at,
		.end = (uint32_t)end,
		.kind = kind,
		.target = target,
	};
	return 0;
}

/* Reserve them, too. @more bytes follow until the end of the instruction. */
static int put_fixup(struct kl_user_patches *p, uint8_t kind, uint64_t target, uint32_t more)
{
	static const uint8_t none[4];
	size_t at = p->bytes;

	put(p, none, sizeof(none));
	return add_fixup(p, kind, target, at, p->bytes + more);
}

/* Begin an instruction. */
static int put_step(struct kl_user_patches *p, uint8_t undo, uint64_t resume)
{
	struct kl_user_step *grown =
		kl_array_grow(p->step, p->steps, &p->step_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	p->step = grown;
	grown[p->steps++] = (struct kl_user_step){ p->bytes, undo, resume };
	return make_room(p);
}

static int put_jump(struct kl_user_patches *p, uint8_t undo, uint64_t resume, uint64_t target)
{
	static const uint8_t jump = 0xe9;
	int ret = put_step(p, undo, resume);

	if (ret)
		return ret;
	put(p, &jump, 1);
	return put_fixup(p, KL_FIXUP_DISTANCE, target, 0);
}

static int put_plain(struct kl_user_patches *p, uint8_t undo, uint64_t resume, const void *bytes,
		     size_t n)
{
	int ret = put_step(p, undo, resume);

	if (!ret)
		put(p, bytes, n);
	return ret;
}

/* Add one to a counter. The red zone below the stack pointer may be in use, so it is skipped. */
static int put_count(struct kl_user_patches *p, const struct kl_user_point *point, uint64_t resume)
{
	static const uint8_t over[] = { 0x48, 0x8d, 0x64, 0x24, 0x80 }; /* lea -128(%rsp), %rsp */
	static const uint8_t back[] = { 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0 }; /* and back */
	static const uint8_t pushf = 0x9c, popf = 0x9d;
	static const uint8_t count[] = { 0xf0, 0x48, 0xff, 0x05 }; /* lock incq DISTANCE(%rip) */
	bool flags = point->flags;
	int ret = 0;

	if (flags)
		ret = put_plain(p, KL_UNDO_NOTHING, resume, over, sizeof(over));
	if (flags && !ret)
		ret = put_plain(p, KL_UNDO_ZONE, resume, &pushf, 1);
	if (!ret)
		ret = put_plain(p, flags ? KL_UNDO_FLAGS : KL_UNDO_NOTHING, resume, count,
				sizeof(count));
	if (!ret)
		ret = put_fixup(p, KL_FIXUP_COUNTER, point->number, 0);
	if (flags && !ret)
		ret = put_plain(p, KL_UNDO_CHANGED, resume, &popf, 1);
	if (flags && !ret)
		ret = put_plain(p, KL_UNDO_ZONE, resume, back, sizeof(back));
	return ret;
}

/* A trap must not cross a page; the patches start at a page. */
static int put_padding(struct kl_user_patches *p, uint64_t resume)
{
	static const uint8_t nop = 0x90;
	int ret = 0;

	while (!ret && p->bytes % KL_PAGE_BYTES + sizeof(struct kl_abi_trap) > KL_PAGE_BYTES)
		ret = put_plain(p, KL_UNDO_NOTHING, resume, &nop, 1);
	return ret;
}

/* A trap changes no register. `from` is the distance to @resume. */
static int put_trap(struct kl_user_patches *p, const struct kl_user_point *point, uint64_t resume)
{
	struct kl_abi_trap trap = {
		.opcode = KL_TRAP_OPCODE,
		.magic = KL_TRAP_MAGIC,
		.event = point->number,
		.text = point->text,
	};
	size_t begin;
	int ret = put_padding(p, resume);

	begin = p->bytes;
	if (!ret)
		ret = put_plain(p, KL_UNDO_NOTHING, resume, &trap, sizeof(trap));
	if (!ret)
		ret = add_fixup(p, KL_FIXUP_SESSION, 0,
				begin + offsetof(struct kl_abi_trap, session), 0);
	if (!ret)
		ret = add_fixup(p, KL_FIXUP_DISTANCE, resume,
				begin + offsetof(struct kl_abi_trap, from), begin);
	p->fires = true;
	return ret;
}

static int put_point(struct kl_user_patches *p, const struct kl_user_point *point, uint64_t resume)
{
	return point->fires ? put_trap(p, point, resume) : put_count(p, point, resume);
}

/* The callee returns to the original address: addresses of patches are never on a stack. */
static int put_call(struct kl_user_patches *p, uint64_t address, uint64_t behind, uint64_t target)
{
	static const uint8_t push = 0x68; /* sign-extends to 64 bits */
	static const uint8_t high[] = { 0xc7, 0x44, 0x24, 0x04 }; /* movl HIGH, 4(%rsp) */
	int ret = put_plain(p, KL_UNDO_NOTHING, address, &push, 1);

	if (!ret)
		ret = put_fixup(p, KL_FIXUP_LOW, behind, 0);
	if (!ret)
		ret = put_plain(p, KL_UNDO_RETURN, address, high, sizeof(high));
	if (!ret)
		ret = put_fixup(p, KL_FIXUP_HIGH, behind, 0);
	p->moves_calls = true;
	return ret ? ret : put_jump(p, KL_UNDO_RETURN, address, target);
}

/* ------------------------------------------------------------------ relocating */

static int put_branch(struct kl_user_patches *p, uint64_t address,
		      const ZydisDecodedInstruction *decoded, uint64_t target)
{
	const uint8_t wide[] = { 0x0f, 0x80 | (decoded->opcode & 0xf) };
	int ret = put_plain(p, KL_UNDO_NOTHING, address, wide, sizeof(wide));

	return ret ? ret : put_fixup(p, KL_FIXUP_DISTANCE, target, 0);
}

/* Relocate an instruction that may have a rip-relative operand. */
static int put_other(struct kl_user_patches *p, uint64_t address, const uint8_t *text,
		     const ZydisDecodedInstruction *decoded)
{
	size_t at = decoded->raw.disp.offset, n = decoded->length;
	int ret = put_step(p, KL_UNDO_NOTHING, address);

	if (ret)
		return ret;
	if (!(decoded->attributes & ZYDIS_ATTRIB_IS_RELATIVE)) {
		put(p, text, n);
		return 0;
	}
	put(p, text, at);
	ret = put_fixup(p, KL_FIXUP_DISTANCE, address + n + decoded->raw.disp.value, n - at - 4);
	if (!ret)
		put(p, text + at + 4, n - at - 4);
	return ret;
}

static int put_relocated(struct kl_user_patches *p, const struct kl_blocks *b,
			 const struct kl_block_graph *g, uint32_t index)
{
	const struct kl_block_instruction *in = &g->instruction[index];
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t address = g->function.address + in->offset;
	const uint8_t *text = g->text + in->offset;
	ZydisDecodedInstruction decoded;

	if (!kl_decode_operands(b, g, index, &decoded, operand))
		return kl_fail(EINVAL, "cannot decode an instruction");
	switch (decoded.raw.imm[0].is_relative ? decoded.meta.category : ZYDIS_CATEGORY_INVALID) {
	case ZYDIS_CATEGORY_COND_BR:
		return put_branch(p, address, &decoded, in->target);
	case ZYDIS_CATEGORY_UNCOND_BR:
		return put_jump(p, KL_UNDO_NOTHING, address, in->target);
	case ZYDIS_CATEGORY_CALL:
		return put_call(p, address, address + in->bytes, in->target);
	default:
		return put_other(p, address, text, &decoded);
	}
}

/* --------------------------------------------------------------------- windows */

static int add_write(struct kl_user_patches *p, const struct kl_block_graph *g, uint32_t offset,
		     struct kl_user_write write)
{
	struct kl_user_write *grown =
		kl_array_grow(p->write, p->writes, &p->write_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	p->write = grown;
	write.address = g->function.address + offset;
	memcpy(write.old, g->text + offset, write.bytes);
	grown[p->writes++] = write;
	return 0;
}

static int add_writes(struct kl_user_patches *p, const struct kl_block_graph *g,
		      const struct kl_block_point *at, uint32_t patch)
{
	struct kl_user_write jump = {
		.patch = patch,
		.bytes = JUMP_BYTES,
		.call = at->tier == KL_TIER_CALL,
	};
	struct kl_user_write bounce = {
		.bytes = BOUNCE_BYTES,
		.bounce = { 0xeb, (uint8_t)(at->slot - (int32_t)at->begin - BOUNCE_BYTES) },
	};
	int ret;

	if (at->tier != KL_TIER_BOUNCE)
		return add_write(p, g, at->begin, jump);
	ret = add_write(p, g, (uint32_t)at->slot, jump);
	return ret ? ret : add_write(p, g, at->begin, bounce);
}

static int add_window(struct kl_user_patches *p, const struct kl_block_graph *g,
		      const struct kl_block_point *at, size_t first)
{
	struct kl_user_window *grown =
		kl_array_grow(p->window, p->windows, &p->window_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	p->window = grown;
	grown[p->windows++] = (struct kl_user_window){
		.begin = g->function.address + at->begin,
		.end = g->function.address + at->begin + at->bytes,
		.text = g->text + at->begin,
		.first = first,
		.n = p->steps - first,
	};
	return 0;
}

static bool goes_on(uint8_t end)
{
	return end == KL_END_FALL || end == KL_END_BRANCH;
}

/* From the window's first instruction to its end, or to where execution does not continue. */
static int put_window(struct kl_user_patches *p, const struct kl_blocks *b,
		      const struct kl_block_graph *g, const struct kl_block_point *at,
		      const struct kl_user_point *point, uint32_t points)
{
	uint32_t offset = at->begin, end = at->begin + at->bytes, next = 0;
	uint32_t i = kl_instruction_at(g, offset);
	int ret = 0;

	for (bool on = true; on && !ret;) {
		uint64_t address = g->function.address + offset;

		if (at->tier == KL_TIER_CALL)
			address = g->instruction[i].target;
		for (; next < points && point[next].offset == offset && !ret; next++)
			ret = put_point(p, &point[next], address);
		if (ret)
			break;
		if (offset >= end || at->tier == KL_TIER_CALL)
			return put_jump(p, KL_UNDO_NOTHING, address, address);
		ret = put_relocated(p, b, g, i);
		on = goes_on(g->instruction[i].end);
		offset += g->instruction[i++].bytes;
	}
	return ret;
}

int kl_user_patch_add(struct kl_user_patches *p, const struct kl_blocks *b,
		      const struct kl_block_graph *g, const struct kl_block_point *at,
		      const struct kl_user_point *point, uint32_t points)
{
	size_t first = p->steps, patch = p->bytes;
	int ret = put_window(p, b, g, at, point, points);

	if (!ret)
		ret = add_writes(p, g, at, patch);
	if (!ret)
		ret = add_window(p, g, at, first);
	return ret;
}

/* --------------------------------------------------------------------- placing */

static bool set_distance(uint8_t *at, uint64_t target, uint64_t from)
{
	int64_t by = (int64_t)(target - from);
	int32_t distance = (int32_t)by;

	memcpy(at, &distance, sizeof(distance));
	return distance == by;
}

static uint64_t target_of(const struct kl_user_fixup *f, const struct kl_user_place *place)
{
	switch (f->kind) {
	case KL_FIXUP_COUNTER:
		return place->counter + 8 * f->target;
	case KL_FIXUP_SESSION:
		return place->session;
	default:
		return place->bias + f->target;
	}
}

bool kl_user_patches_place(const struct kl_user_patches *p, uint8_t *code,
			   const struct kl_user_place *place)
{
	bool near = true;

	if (p->bytes)
		memcpy(code, p->code, p->bytes);
	for (size_t i = 0; i < p->fixups; i++) {
		const struct kl_user_fixup *f = &p->fixup[i];
		uint64_t target = target_of(f, place);
		uint32_t half = (uint32_t)(f->kind == KL_FIXUP_HIGH ? target >> 32 : target);

		if (f->kind >= KL_FIXUP_LOW)
			memcpy(code + f->at, &half, sizeof(half));
		else
			near &= set_distance(code + f->at, target, place->base + f->end);
	}
	return near;
}

bool kl_user_write_make(const struct kl_user_write *w, uint64_t patches, uint64_t bias,
			uint8_t to[5])
{
	if (w->bytes == BOUNCE_BYTES) {
		memcpy(to, w->bounce, BOUNCE_BYTES);
		return true;
	}
	to[0] = w->call ? 0xe8 : 0xe9;
	return set_distance(to + 1, patches + w->patch, w->address + bias + JUMP_BYTES);
}

const struct kl_user_step *kl_user_step_at(const struct kl_user_patches *p, uint64_t offset)
{
	size_t low = 0, high = p->steps;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->step[middle].at < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->steps && p->step[low].at == offset ? &p->step[low] : NULL;
}

static int compare_windows(const void *left, const void *right)
{
	const struct kl_user_window *a = left, *b = right;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

void kl_user_patches_sort(struct kl_user_patches *p)
{
	if (p->windows)
		qsort(p->window, p->windows, sizeof(*p->window), compare_windows);
}

int64_t kl_user_enter(const struct kl_user_patches *p, uint64_t address)
{
	/* The last window that begins before it: at a window's start, none of it has run yet. */
	size_t i = kl_rows_from(p->window, p->windows, sizeof(*p->window), address);
	const struct kl_user_window *w = i ? &p->window[i - 1] : NULL;

	if (!w || address >= w->end)
		return -ENOENT;
	for (uint32_t k = 0; k < w->n; k++)
		if (p->step[w->first + k].resume == address)
			return p->step[w->first + k].at;
	return -EINVAL;
}

void kl_user_patches_free(struct kl_user_patches *p)
{
	free(p->code);
	free(p->fixup);
	free(p->step);
	free(p->write);
	free(p->window);
	*p = (struct kl_user_patches){};
}
