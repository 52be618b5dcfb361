// SPDX-License-Identifier: GPL-2.0
/*
 * The map of the kernel's text: where functions begin, where something from elsewhere may enter,
 * and what must never be touched. Made when the first splice is asked for, in which all text is
 * decoded once; freed with the last. Under the lock of splice.c.
 */
#include <linux/bitmap.h>
#include <linux/glob.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "../../session/session.h"
#include "kernel.h"
#include "map.h"

#define BEHIND_CALL 4 /* instructions in which flags that a call has left are looked at */

struct kl_map kl_map;

static void set(unsigned long *bits, unsigned long address)
{
	if (kl_map_has(address))
		__set_bit(address - kl_map.begin, bits);
}

/**
 * kl_map_exclude - a range is never to be touched
 * @begin: address
 * @end: behind it; what lies outside of the text does not matter
 */
void kl_map_exclude(unsigned long begin, unsigned long end)
{
	unsigned long last = kl_map.begin + kl_map.bytes;

	begin = max(begin, kl_map.begin);
	end = min(end, last);
	if (begin < end)
		bitmap_set(kl_map.never, begin - kl_map.begin, end - begin);
}

/* An instruction of which a table says that it is rewritten or looked up. */
static void exclude_instruction(unsigned long address)
{
	struct kl_instruction in;

	if (!kl_map_has(address))
		return;
	if (!kl_instruction_decode((u8 *)address, KL_INSTRUCTION_BYTES_MAX, &in))
		in.bytes = KL_INSTRUCTION_BYTES_MAX;
	kl_map_exclude(address, address + in.bytes);
}

/**
 * kl_map_any - is a bit of a range set?
 * @bits: of the map
 * @begin: address
 * @end: behind the range, inside the text
 */
bool kl_map_any(const unsigned long *bits, unsigned long begin, unsigned long end)
{
	unsigned long last = end - kl_map.begin;

	return find_next_bit(bits, last, begin - kl_map.begin) < last;
}

/**
 * kl_map_function - the function that an address is in
 * @address: of any instruction
 * @begin: out: of the symbol before it
 * @end: out: of the next symbol, or of the text
 */
bool kl_map_function(unsigned long address, unsigned long *begin, unsigned long *end)
{
	unsigned long at = address - kl_map.begin, word, bits;

	if (!kl_map_has(address))
		return false;
	word = at / BITS_PER_LONG;
	bits = kl_map.start[word] & (~0ul >> (BITS_PER_LONG - 1 - at % BITS_PER_LONG));
	while (!bits && word)
		bits = kl_map.start[--word];
	if (!bits)
		return false;
	*begin = kl_map.begin + word * BITS_PER_LONG + __fls(bits);
	*end = kl_map.begin + find_next_bit(kl_map.start, kl_map.bytes, at + 1);
	return true;
}

/* ------------------------------------------------------------------- symbols */

static int visit_start(const char *name, unsigned long address)
{
	set(kl_map.start, address);
	return 0;
}

static int visit_name(const char *name, unsigned long address)
{
	static const char *const patterns[] = {
#define KL_TEXT_SECTION(begin, end, reason)
#define KL_TEXT_NAME(pattern, reason) pattern,
#include "../../../uapi/block_text.def"
#undef KL_TEXT_NAME
#undef KL_TEXT_SECTION
	};
	unsigned long begin, end;

	if (!kl_map_function(address, &begin, &end))
		return 0;
	for (int i = 0; i < ARRAY_SIZE(patterns); i++)
		if (glob_match(patterns[i], name))
			kl_map_exclude(begin, end);
	return 0;
}

#ifdef KL_HAVE_KALLSYMS_EACH_MODULE
#define SYMBOL_ARGUMENTS void *data, const char *name, struct module *module, unsigned long address
#else
#define SYMBOL_ARGUMENTS void *data, const char *name, unsigned long address
#endif

static int on_symbol(SYMBOL_ARGUMENTS)
{
	int (*visit)(const char *name, unsigned long address) = data;

	return visit(name, address);
}

static void load_symbols(void)
{
	static const struct {
		const char *begin;
		const char *end;
	} sections[] = {
#define KL_TEXT_SECTION(begin, end, reason) { #begin, #end },
#define KL_TEXT_NAME(pattern, reason)
#include "../../../uapi/block_text.def"
#undef KL_TEXT_NAME
#undef KL_TEXT_SECTION
	};

	static const char *const returns[KL_MAP_RETURNS_MAX] = {
		"__x86_return_thunk",	   "retbleed_return_thunk", "srso_return_thunk",
		"srso_alias_return_thunk", "its_return_thunk",	    "call_depth_return_thunk",
	};

	for (int i = 0; i < ARRAY_SIZE(returns) && returns[i]; i++)
		kl_map.returns[i] = kl_kernel_lookup(returns[i]);
	kl_kernel.kallsyms_on_each_symbol(on_symbol, visit_start);
	kl_kernel.kallsyms_on_each_symbol(on_symbol, visit_name);
	for (int i = 0; i < ARRAY_SIZE(sections); i++) {
		unsigned long begin = kl_kernel_lookup(sections[i].begin);
		unsigned long end = kl_kernel_lookup(sections[i].end);

		if (begin && end)
			kl_map_exclude(begin, end);
	}
}

/* ------------------------------------------------------- the kernel's tables */

/*
 * Rows of @row bytes that begin with the distance to an instruction, and perhaps with that of
 * where it may go: jump_label.h, static_call_types.h, asm/extable.h, bug.h.
 */
static void load_relative(const u8 *begin, const u8 *end, u32 row, bool has_target)
{
	for (const u8 *at = begin; at + row <= end; at += row) {
		const s32 *by = (const s32 *)at;

		exclude_instruction((unsigned long)by + by[0]);
		if (has_target)
			set(kl_map.entered, (unsigned long)(by + 1) + by[1]);
	}
}

static void load_tables(void)
{
	const struct kl_kernel *k = &kl_kernel;

	load_relative(k->__start___jump_table, k->__stop___jump_table, 16, true);
	load_relative(k->__start_static_call_sites, k->__stop_static_call_sites, 8, false);
	load_relative(k->__start___ex_table, k->__stop___ex_table, 12, true);
	load_relative(k->__start___bug_table, k->__stop___bug_table, 12, false);
	/* With one processor locks are taken out; they come back with the second. */
	if (*k->uniproc_patched)
		for (const s32 *by = k->__smp_locks; by < k->__smp_locks_end; by++)
			exclude_instruction((unsigned long)by + *by);
	/* Words that are addresses inside functions: something may go there. Data may look so. */
	for (const unsigned long *word = k->__start_rodata; word < k->__end_rodata; word++)
		set(kl_map.entered, *word);
}

static void load_blacklist(void)
{
	struct kprobe_blacklist_entry *entry;

	mutex_lock(kl_kernel.kprobe_mutex);
	list_for_each_entry(entry, kl_kernel.kprobe_blacklist, list)
		kl_map_exclude(entry->start_addr, entry->end_addr);
	mutex_unlock(kl_kernel.kprobe_mutex);
}

/* ------------------------------------------------------------------ the text */

/**
 * kl_map_returns - is a jump a return?
 * @target: where it goes
 */
bool kl_map_returns(unsigned long target)
{
	for (int i = 0; i < KL_MAP_RETURNS_MAX; i++)
		if (kl_map.returns[i] == target)
			return true;
	return false;
}

/**
 * kl_map_gives_flags - do callers of a function look at flags that it leaves?
 * @function: its address
 */
bool kl_map_gives_flags(unsigned long function)
{
	if (kl_map.givers > KL_MAP_GIVERS_MAX)
		return true;
	for (u32 i = 0; i < kl_map.givers; i++)
		if (kl_map.giver[i] == function)
			return true;
	return false;
}

static void add_giver(unsigned long function)
{
	if (!kl_map_has(function) || kl_map_gives_flags(function))
		return;
	if (kl_map.givers < KL_MAP_GIVERS_MAX)
		kl_map.giver[kl_map.givers] = function;
	kl_map.givers++;
}

/* Does somebody look at the flags that the call before @i has left? */
static bool reads_flags(const struct kl_function *f, u32 i)
{
	for (u32 last = min(i + BEHIND_CALL, f->steps); i < last; i++) {
		if (f->step[i].in.flow != KL_FLOW_ON && f->step[i].in.flow != KL_FLOW_BRANCH)
			return false;
		if (f->step[i].in.flags != KL_FLAGS_KEPT)
			return f->step[i].in.flags == KL_FLAGS_READ;
	}
	return false;
}

/*
 * Numbers in an instruction that may be addresses: those at its end, of 32 bits with a sign and of
 * 64, behind what counts from its own address.
 */
static void note_numbers(const u8 *text, const struct kl_instruction *in)
{
	u32 begin = in->at ? in->at + in->wide : 1;
	s32 last;
	u64 whole;

	if (in->bytes >= begin + sizeof(last)) {
		memcpy(&last, text + in->bytes - sizeof(last), sizeof(last));
		set(kl_map.entered, (long)last);
	}
	if (in->bytes >= begin + sizeof(whole)) {
		memcpy(&whole, text + in->bytes - sizeof(whole), sizeof(whole));
		set(kl_map.entered, whole);
	}
}

/* Where a function goes, and of what it takes the address. */
static void note_function(const struct kl_function *f)
{
	for (u32 i = 0; i < f->steps; i++) {
		const struct kl_instruction *in = &f->step[i].in;
		unsigned long address = f->begin + f->step[i].offset;

		note_numbers(f->text + f->step[i].offset, in);
		if (in->at) {
			unsigned long target = address + in->bytes + in->by;

			if (target < f->begin || target >= f->end || in->flow == KL_FLOW_ON ||
			    in->flow == KL_FLOW_CALL)
				set(kl_map.entered, target);
			if (in->flow == KL_FLOW_CALL && reads_flags(f, i + 1))
				add_giver(target);
		}
	}
}

/* Functions to which one goes on that leaves flags leave them, too. */
static void spread_givers(struct kl_function *f)
{
	for (u32 n = 0; n < min_t(u32, kl_map.givers, KL_MAP_GIVERS_MAX); n++) {
		if (kl_function_load(f, kl_map.giver[n]) < 0)
			continue;
		for (u32 i = 0; i < f->steps; i++) {
			const struct kl_instruction *in = &f->step[i].in;
			unsigned long target = f->begin + f->step[i].offset + in->bytes + in->by;

			if ((in->flow == KL_FLOW_JUMP || in->flow == KL_FLOW_BRANCH) &&
			    (target < f->begin || target >= f->end))
				add_giver(target);
		}
	}
}

static int load_text(void)
{
	unsigned long at = kl_map.begin, end = kl_map.begin + kl_map.bytes;
	struct kl_function f = {};
	int error = 0;

	/* Before the first symbol there is nothing. */
	at += find_next_bit(kl_map.start, kl_map.bytes, 0);
	for (; !error && at < end; at = f.end) {
		error = kl_function_load(&f, at);
		if (!error)
			note_function(&f);
		cond_resched();
	}
	if (!error)
		spread_givers(&f);
	kl_function_free(&f);
	return error;
}

/**
 * kl_map_load - make the map
 * @why: set on failure
 *
 * Context: may sleep, for some tenths of a second.
 */
int kl_map_load(struct kl_error *why)
{
	size_t bytes;
	int error = -ENOMEM;

	if (kl_map.start)
		return 0;
	kl_map.begin = (unsigned long)kl_kernel._stext;
	kl_map.bytes = kl_kernel._etext - kl_kernel._stext;
	bytes = BITS_TO_LONGS(kl_map.bytes) * sizeof(long);
	kl_map.start = vzalloc(bytes);
	kl_map.entered = vzalloc(bytes);
	kl_map.never = vzalloc(bytes);
	if (kl_map.start && kl_map.entered && kl_map.never) {
		load_symbols();
		load_tables();
		load_blacklist();
		error = load_text();
	}
	if (error)
		kl_fail(why, error, "no memory for a map of the kernel's text");
	else
		error = kl_map_exclude_die(why);
	if (error)
		kl_map_free();
	return error;
}

/**
 * kl_map_free - forget the map
 */
void kl_map_free(void)
{
	vfree(kl_map.never);
	vfree(kl_map.entered);
	vfree(kl_map.start);
	kl_map = (struct kl_map){};
}
