// SPDX-License-Identifier: GPL-2.0
/*
 * Verifies the patches that the module has written, read from the kernel's memory. Each is followed
 * from its window, instruction by instruction, in parallel with the original text. Each must do the
 * same at its new address, continue where the text would, and have the requested instruments, with
 * flags saved where they are live. Decoded with Zydis, not with the module's decoder.
 */
#include "patch.h"

#include "../../lib/block/block.h"

#define SHOWN_MAX 20
#define READ_BYTES 256

/* The state of one function while its patches are followed. */
struct follow {
	struct patches *sum;
	struct kl_blocks *blocks;
	struct kl_block_graph g;
	const struct plan *plan;
	uint32_t first; /* range of its windows in the plan */
	uint32_t last;
	uint32_t first_point;
	uint32_t points;
	uint64_t *patch_of; /* by text offset: the instruction's address in the patch, once known */
	bool *done;
	bool *met; /* by point: its instrument was seen */
	uint32_t *next; /* offsets still to follow */
	uint32_t waiting;
};

static bool wrong(struct follow *f, uint32_t offset, uint64_t patch, const char *what)
{
	if (f->sum->wrong++ < SHOWN_MAX)
		printf("# %s+%#x, patch %#" PRIx64 ": %s\n", f->g.function.name, offset, patch,
		       what);
	return false;
}

static bool in_function(const struct follow *f, uint64_t address)
{
	return address - f->g.function.address < f->g.function.bytes;
}

/* Is an address inside a window, whose bytes may now be overwritten? */
static bool is_overwritten(const struct follow *f, uint64_t address)
{
	for (uint32_t i = f->first; i < f->last; i++) {
		const struct kl_abi_window *w = &f->plan->window[i];

		if (address > w->address && address < w->address + w->bytes)
			return true;
	}
	return false;
}

static bool is_free(const struct follow *f, uint64_t target)
{
	return !in_function(f, target) || !is_overwritten(f, target);
}

/* Record which patch address stands for a text offset; there must be only one. */
static bool note(struct follow *f, uint32_t offset, uint64_t patch)
{
	if (f->patch_of[offset] && f->patch_of[offset] != patch)
		return wrong(f, offset, patch, "there are two copies");
	if (!f->patch_of[offset])
		f->next[f->waiting++] = offset;
	f->patch_of[offset] = patch;
	return true;
}

static uint64_t target_of(const ZydisDecodedInstruction *in, uint64_t address)
{
	return address + in->length + in->raw.imm[0].value.s;
}

/* A jump in a patch goes to the target of the text's jump, or to that target's copy. */
static bool goes_there(struct follow *f, uint32_t offset, uint64_t patch, uint64_t target,
		       uint64_t wanted)
{
	if (target == wanted)
		return is_free(f, target) || wrong(f, offset, patch, "it jumps into a window");
	if (target >= f->blocks->begin && target < f->blocks->end)
		return wrong(f, offset, patch, "it jumps elsewhere in the text");
	if (!in_function(f, wanted))
		return wrong(f, offset, patch, "it does not leave the function");
	return note(f, wanted - f->g.function.address, target);
}

/*
 * Are flags read after an instruction? The planner also treats them as live in blocks without
 * successors, where they need not be saved. So search for an instruction that reads them.
 */
static bool flags_live(const struct follow *f, uint32_t offset)
{
	uint32_t i = kl_instruction_at(&f->g, offset);

	for (uint32_t most = 0; i < f->g.instructions && most < f->g.instructions; most++) {
		const struct kl_block_instruction *in = &f->g.instruction[i];

		if (in->reads & KL_LIVE_FLAGS)
			return in->end == KL_END_FALL || in->end == KL_END_BRANCH;
		if (in->kills & KL_LIVE_FLAGS)
			return false;
		if (in->end == KL_END_JUMP)
			i = kl_instruction_at(&f->g, in->target - f->g.function.address);
		else if (in->end == KL_END_FALL)
			i++;
		else
			return false;
	}
	return false;
}

/* The instruction that a point is before; for `taken` at a branch, the branch's target. */
static uint64_t place_of(const struct follow *f, const struct kl_abi_window *w,
			 const struct kl_abi_point *point)
{
	uint64_t at = w->address + point->offset;
	const struct kl_block_instruction *in;

	if (!point->taken)
		return at;
	in = &f->g.instruction[kl_instruction_at(&f->g, at - f->g.function.address)];
	return in->end == KL_END_BRANCH ? in->target : at;
}

/* Skip the instruments at an offset, one for each point there. Returns their length. */
static uint32_t skip_instruments(struct follow *f, uint32_t offset, const uint8_t *at,
				 uint64_t patch)
{
	static const uint8_t shared[] = { 0xf0, 0x48, 0xff, 0x05 };
	static const uint8_t own[] = { 0x65, 0x48, 0xff, 0x04, 0x25 };
	uint32_t bytes = 0;

	for (uint32_t i = f->first_point, w = f->first, n = 0; i < f->first_point + f->points;
	     i++) {
		const uint8_t *in = at + bytes;
		bool saved = *in == 0x9c;

		for (; n == f->plan->window[w].points; n = 0)
			w++;
		n++;
		if (place_of(f, &f->plan->window[w], &f->plan->point[i]) !=
		    f->g.function.address + offset)
			continue;
		in += saved;
		if (!memcmp(in, shared, sizeof(shared)))
			in += sizeof(shared) + 4;
		else if (!memcmp(in, own, sizeof(own)))
			in += sizeof(own) + 4;
		else
			break;
		if ((saved && *in != 0x9d) || (!saved && flags_live(f, offset)))
			wrong(f, offset, patch, "flags are lost");
		bytes = in + saved - at;
		f->sum->points += !f->met[i - f->first_point];
		f->met[i - f->first_point] = true;
	}
	return bytes;
}

/* The call that a window ends with: the patch pushes the return address and jumps to the callee. */
static bool is_call(struct follow *f, uint32_t offset, const uint8_t *at, uint64_t patch,
		    const ZydisDecodedInstruction *old)
{
	uint64_t address = f->g.function.address + offset;
	ZydisDecodedInstruction jump;
	int32_t back;

	memcpy(&back, at + 1, sizeof(back));
	if (*at != 0x68 || (uint64_t)(int64_t)back != address + old->length ||
	    !ZYAN_SUCCESS(
		    ZydisDecoderDecodeInstruction(&f->blocks->decoder, NULL, at + 5, 15, &jump)) ||
	    jump.mnemonic != ZYDIS_MNEMONIC_JMP ||
	    target_of(&jump, patch + 5) != target_of(old, address))
		return wrong(f, offset, patch, "the call is another");
	return is_free(f, address + old->length) ||
	       wrong(f, offset, patch, "it comes back into a window");
}

/*
 * Compare two instructions that do not jump: the same bytes, except for a relative displacement to
 * the same address.
 */
static bool is_same(const uint8_t *old, uint64_t address, const ZydisDecodedInstruction *in,
		    const uint8_t *new, uint64_t patch, uint32_t new_bytes)
{
	uint32_t at = in->raw.disp.offset;
	bool relative = in->attributes & ZYDIS_ATTRIB_IS_RELATIVE;
	int32_t before, after;

	if (new_bytes != in->length)
		return false;
	if (!relative || !at)
		return !memcmp(old, new, in->length);
	memcpy(&before, old + at, sizeof(before));
	memcpy(&after, new + at, sizeof(after));
	return address + before == patch + after && !memcmp(old, new, at) &&
	       !memcmp(old + at + 4, new + at + 4, in->length - at - 4);
}

/* Compare one instruction. Returns false where the patch ends, or is wrong. */
static bool step(struct follow *f, uint32_t *offset, uint64_t *patch)
{
	uint64_t address = f->g.function.address + *offset;
	const uint8_t *text = f->g.text + *offset;
	ZydisDecodedInstruction old, new;
	uint8_t bytes[READ_BYTES], *at = bytes;

	if (kl_text_read(f->blocks, *patch, bytes, sizeof(bytes)))
		return wrong(f, *offset, *patch, "it cannot be read");
	at += skip_instruments(f, *offset, bytes, *patch);
	*patch += at - bytes;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&f->blocks->decoder, NULL, at, 15, &new)))
		return wrong(f, *offset, *patch, "it cannot be decoded");
	if (new.mnemonic == ZYDIS_MNEMONIC_JMP && target_of(&new, *patch) == address) {
		if (!is_free(f, address))
			wrong(f, *offset, *patch, "it goes back into a window");
		return false;
	}
	if (*offset >= f->g.function.bytes ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&f->blocks->decoder, NULL, text,
							f->g.function.bytes - *offset, &old)))
		return wrong(f, *offset, *patch, "there is no such text");
	f->sum->instructions++;
	if (old.mnemonic == ZYDIS_MNEMONIC_CALL) {
		is_call(f, *offset, at, *patch, &old);
		return false;
	}
	/* An indirect jump goes to the same place from anywhere. */
	if (old.mnemonic == ZYDIS_MNEMONIC_JMP && !old.raw.imm[0].is_relative) {
		if (!is_same(text, address, &old, at, *patch, new.length))
			wrong(f, *offset, *patch, "another indirect jump");
		return false;
	}
	if (old.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE && old.mnemonic != ZYDIS_MNEMONIC_RET) {
		if (new.mnemonic != old.mnemonic)
			return wrong(f, *offset, *patch, "another jump");
		if (!goes_there(f, *offset, *patch, target_of(&new, *patch),
				target_of(&old, address)) ||
		    old.mnemonic == ZYDIS_MNEMONIC_JMP)
			return false;
	} else if (!is_same(text, address, &old, at, *patch, new.length)) {
		return wrong(f, *offset, *patch, "another instruction");
	} else if (old.mnemonic == ZYDIS_MNEMONIC_RET) {
		return false;
	}
	*offset += old.length;
	*patch += new.length;
	return true;
}

/*
 * Follow a patch from a text offset whose copy is known, until it ends or reaches a visited offset.
 */
static void walk(struct follow *f, uint32_t offset)
{
	uint64_t patch = f->patch_of[offset];

	do {
		if (offset < f->g.function.bytes) {
			if (f->done[offset] || !note(f, offset, patch))
				return;
			f->done[offset] = true;
		}
	} while (step(f, &offset, &patch));
}

/* Where a window leads; 0 for a breakpoint, whose patch only the module knows. */
static uint64_t patch_of(struct follow *f, const struct kl_abi_window *w)
{
	uint8_t text[5] = {};
	uint64_t at = w->address;
	int32_t by;

	if (w->tier == KL_SPLICE_TRAP)
		return 0;
	if (w->tier == KL_SPLICE_BOUNCE) {
		kl_text_read(f->blocks, at, text, 2);
		at += 2 + (int8_t)text[1];
		if (text[0] != 0xeb || at != w->slot)
			return wrong(f, w->address - f->g.function.address, at, "no bounce");
	}
	kl_text_read(f->blocks, at, text, sizeof(text));
	if (text[0] != (w->tier == KL_SPLICE_CALL ? 0xe8 : 0xe9))
		return wrong(f, w->address - f->g.function.address, at, "it diverts nothing");
	memcpy(&by, text + 1, sizeof(by));
	return at + sizeof(text) + by;
}

/* The patch of a call has its instruments, then jumps to the callee. */
static void read_call(struct follow *f, const struct kl_abi_window *w, uint64_t patch)
{
	uint32_t offset = w->address - f->g.function.address;
	ZydisDecodedInstruction old, new;
	uint8_t bytes[READ_BYTES];
	uint32_t skipped;

	kl_text_read(f->blocks, patch, bytes, sizeof(bytes));
	skipped = skip_instruments(f, offset, bytes, patch);
	f->sum->instructions++;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&f->blocks->decoder, NULL,
							f->g.text + offset, 5, &old)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&f->blocks->decoder, NULL, bytes + skipped,
							15, &new)) ||
	    new.mnemonic != ZYDIS_MNEMONIC_JMP ||
	    target_of(&new, patch + skipped) != target_of(&old, w->address))
		wrong(f, offset, patch, "another is called");
}

static void miss(struct follow *f, const struct kl_abi_window *w, uint32_t point)
{
	const uint64_t begin = f->g.function.address;

	if (f->sum->missing++ < 10)
		printf("# no instrument %u of the window at %#llx+%#llx, tier %u\n", point,
		       (unsigned long long)begin, (unsigned long long)(w->address - begin),
		       w->tier);
}

/* Breakpoints that no other patch leads to. */
static uint32_t count_unseen(const struct follow *f)
{
	uint32_t unseen = 0;

	for (uint32_t i = f->first; i < f->last; i++) {
		const struct kl_abi_window *w = &f->plan->window[i];

		unseen += w->tier == KL_SPLICE_TRAP &&
			  !f->patch_of[w->address - f->g.function.address];
	}
	return unseen;
}

static void read_windows(struct follow *f)
{
	uint32_t unseen;

	for (uint32_t i = f->first; i < f->last; i++) {
		const struct kl_abi_window *w = &f->plan->window[i];
		uint64_t patch = patch_of(f, w);

		f->sum->windows += patch != 0;
		if (patch && w->tier == KL_SPLICE_CALL)
			read_call(f, w, patch);
		else if (patch)
			note(f, w->address - f->g.function.address, patch);
	}
	while (f->waiting)
		walk(f, f->next[--f->waiting]);
	unseen = count_unseen(f);
	f->sum->unseen += unseen;
	for (uint32_t i = f->first, point = 0; i < f->last; i++) {
		const struct kl_abi_window *w = &f->plan->window[i];

		for (uint32_t k = 0; k < w->points; k++, point++) {
			if (f->met[point] || w->tier == KL_SPLICE_TRAP)
				continue;
			if (unseen)
				f->sum->behind++;
			else
				miss(f, w, k);
		}
	}
}

static void read_function(struct follow *f)
{
	uint32_t bytes;

	if (kl_blocks_graph(f->blocks, kl_blocks_find(f->blocks, f->plan->window[f->first].address),
			    &f->g)) {
		f->sum->wrong++;
		return;
	}
	bytes = f->g.function.bytes;
	for (f->last = f->first, f->points = 0;
	     f->last < f->plan->windows && in_function(f, f->plan->window[f->last].address);
	     f->last++)
		f->points += f->plan->window[f->last].points;
	f->patch_of = calloc(bytes + 1, sizeof(*f->patch_of));
	f->done = calloc(bytes + 1, sizeof(*f->done));
	f->next = calloc(bytes + 1, sizeof(*f->next));
	f->met = calloc(f->points + 1, sizeof(*f->met));
	read_windows(f);
	free(f->met);
	free(f->next);
	free(f->done);
	free(f->patch_of);
	kl_block_graph_free(&f->g);
}

void patches_read(struct patches *sum, struct kl_blocks *blocks, const struct plan *plan)
{
	struct follow f = { .sum = sum, .blocks = blocks, .plan = plan };

	while (f.first < plan->windows) {
		read_function(&f);
		f.first_point += f.points;
		f.first = f.last;
	}
}

void patches_report(const struct patches *sum)
{
	printf("# patches of %" PRIu64 " windows: %" PRIu64 " instructions, %" PRIu64
	       " instruments, %" PRIu64 " breakpoints not followed\n",
	       sum->windows, sum->instructions, sum->points, sum->unseen);
	unit_check(sum->windows && sum->instructions > sum->windows && !sum->wrong,
		   "all patches do what the text does");
	printf("# %" PRIu64 " instruments that only patches of breakpoints lead to\n", sum->behind);
	unit_check(sum->points && !sum->missing && sum->behind <= 1 + sum->unseen / 10,
		   "and have their instruments");
}
