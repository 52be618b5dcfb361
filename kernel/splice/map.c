// SPDX-License-Identifier: GPL-2.0
/*
 * The map of the kernel's text: where functions begin, where something from elsewhere may enter,
 * and what must never be touched. Made when the first splice is asked for, in which all text is
 * decoded once; freed with the last. Under the lock of spliced.c. Modules: map_module.c.
 */
#include <linux/bitmap.h>
#include <linux/glob.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "../core/session.h"
#include "kernel.h"
#include "map.h"

#define BEHIND_CALL 4 /* instructions in which flags that a call has left are looked at */

struct kl_map kl_map = { .modules = LIST_HEAD_INIT(kl_map.modules) };

/**
 * kl_map_part_of - the part that an address is in
 * @address: any
 *
 * Returns NULL if it is in none that there is a map of.
 */
struct kl_map_part *kl_map_part_of(unsigned long address)
{
	struct kl_map_part *part;

	if (likely(address - kl_map.kernel.begin < kl_map.kernel.bytes))
		return &kl_map.kernel;
	list_for_each_entry(part, &kl_map.modules, list)
		if (address - part->begin < part->bytes)
			return part;
	return NULL;
}

/**
 * kl_map_has - is there a map of an address?
 * @address: any
 */
bool kl_map_has(unsigned long address)
{
	return kl_map_part_of(address);
}

/**
 * kl_map_test - what is known of one byte
 * @bit: what is asked
 * @address: any; outside of the map nothing is known
 */
bool kl_map_test(enum kl_map_bit bit, unsigned long address)
{
	const struct kl_map_part *part = kl_map_part_of(address);

	return part && test_bit(address - part->begin, part->bits[bit]);
}

/**
 * kl_map_set - something is known of a byte
 * @bit: what
 * @address: any; outside of the map it does not matter
 */
void kl_map_set(enum kl_map_bit bit, unsigned long address)
{
	const struct kl_map_part *part = kl_map_part_of(address);

	if (part)
		__set_bit(address - part->begin, part->bits[bit]);
}

/**
 * kl_map_exclude_in - a range is never to be touched
 * @part: of the map
 * @begin: address
 * @end: behind it; what lies outside of the part does not matter
 */
void kl_map_exclude_in(struct kl_map_part *part, unsigned long begin, unsigned long end)
{
	unsigned long last = part->begin + part->bytes;

	begin = max(begin, part->begin);
	end = min(end, last);
	if (begin < end)
		bitmap_set(part->bits[KL_MAP_NEVER], begin - part->begin, end - begin);
}

/**
 * kl_map_exclude - the same, wherever it is
 * @begin: address
 * @end: behind the range, in the same part
 */
void kl_map_exclude(unsigned long begin, unsigned long end)
{
	struct kl_map_part *part = kl_map_part_of(begin);

	if (part)
		kl_map_exclude_in(part, begin, end);
}

/**
 * kl_map_exclude_instruction - one of which a table says that it is rewritten or looked up
 * @address: its first byte
 */
void kl_map_exclude_instruction(unsigned long address)
{
	struct kl_instruction in;

	if (!kl_map_has(address))
		return;
	if (!kl_instruction_decode((u8 *)address, KL_INSTRUCTION_BYTES_MAX, &in))
		in.bytes = KL_INSTRUCTION_BYTES_MAX;
	kl_map_exclude(address, address + in.bytes);
}

/**
 * kl_map_any - is something known of a byte of a range?
 * @bit: what
 * @begin: address, in the map
 * @end: behind the range, in the same part
 */
bool kl_map_any(enum kl_map_bit bit, unsigned long begin, unsigned long end)
{
	const struct kl_map_part *part = kl_map_part_of(begin);
	unsigned long last = end - part->begin;

	return find_next_bit(part->bits[bit], last, begin - part->begin) < last;
}

/**
 * kl_map_function - the function that an address is in
 * @address: of any instruction
 * @begin: out: of the symbol before it
 * @end: out: of the next symbol, or of the text
 */
bool kl_map_function(unsigned long address, unsigned long *begin, unsigned long *end)
{
	const struct kl_map_part *part = kl_map_part_of(address);
	unsigned long at, word, bits, *start;

	if (!part)
		return false;
	start = part->bits[KL_MAP_START];
	at = address - part->begin;
	word = at / BITS_PER_LONG;
	bits = start[word] & (~0ul >> (BITS_PER_LONG - 1 - at % BITS_PER_LONG));
	while (!bits && word)
		bits = start[--word];
	if (!bits)
		return false;
	*begin = part->begin + word * BITS_PER_LONG + __fls(bits);
	*end = part->begin + find_next_bit(start, part->bytes, at + 1);
	return true;
}

/* ------------------------------------------------------------------- symbols */

static int visit_start(const char *name, unsigned long address)
{
	kl_map_set(KL_MAP_START, address);
	return 0;
}

/**
 * kl_map_exclude_name - a function may be one that is never touched by its name
 * @name: of a symbol
 * @address: of it, after all starts are known
 */
void kl_map_exclude_name(const char *name, unsigned long address)
{
	static const char *const patterns[] = {
#define KL_TEXT_SECTION(begin, end, reason)
#define KL_TEXT_NAME(pattern, reason) pattern,
#include "../../uapi/block_text.def"
#undef KL_TEXT_NAME
#undef KL_TEXT_SECTION
	};
	unsigned long begin, end;

	if (!kl_map_function(address, &begin, &end))
		return;
	for (int i = 0; i < ARRAY_SIZE(patterns); i++)
		if (glob_match(patterns[i], name))
			kl_map_exclude(begin, end);
}

static int visit_name(const char *name, unsigned long address)
{
	kl_map_exclude_name(name, address);
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
#include "../../uapi/block_text.def"
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

/**
 * kl_map_load_relative - instructions that a table names
 * @rows: the table
 * @bytes: of it
 * @row: bytes of a row, which begins with the distance to an instruction
 * @has_target: then comes that of where it may go
 *
 * jump_label.h, static_call_types.h, asm/extable.h, bug.h have such rows.
 */
void kl_map_load_relative(const void *rows, size_t bytes, u32 row, bool has_target)
{
	for (const u8 *at = rows; at + row <= (const u8 *)rows + bytes; at += row) {
		const s32 *by = (const s32 *)at;

		kl_map_exclude_instruction((unsigned long)by + by[0]);
		if (has_target)
			kl_map_set(KL_MAP_ENTERED, (unsigned long)(by + 1) + by[1]);
	}
}

/**
 * kl_map_load_words - words of data that are addresses inside functions
 * @begin: of the data
 * @end: behind it
 *
 * Something may go there. Data may look so. KASAN has bytes between them that nobody should read.
 */
void kl_map_load_words(const void *begin, const void *end)
{
	for (const unsigned long *word = begin; word + 1 <= (const unsigned long *)end; word++)
		kl_map_set(KL_MAP_ENTERED, READ_ONCE_NOCHECK(*word));
}

static void load_tables(void)
{
	const struct kl_kernel *k = &kl_kernel;

#define BETWEEN(begin, end) (begin), (end) - (begin)
	kl_map_load_relative(BETWEEN(k->__start___jump_table, k->__stop___jump_table), 16, true);
	kl_map_load_relative(BETWEEN(k->__start_static_call_sites, k->__stop_static_call_sites), 8,
			     false);
	kl_map_load_relative(BETWEEN(k->__start___ex_table, k->__stop___ex_table), 12, true);
	kl_map_load_relative(BETWEEN(k->__start___bug_table, k->__stop___bug_table), 12, false);
#undef BETWEEN
	/* With one processor locks are taken out; they come back with the second. */
	if (*k->uniproc_patched)
		for (const s32 *by = k->__smp_locks; by < k->__smp_locks_end; by++)
			kl_map_exclude_instruction((unsigned long)by + *by);
	kl_map_load_words(k->__start_rodata, k->__end_rodata);
}

/**
 * kl_map_load_blacklist - what kprobes leave alone
 * @part: of the map
 *
 * Context: may sleep; takes kprobe_mutex.
 */
void kl_map_load_blacklist(struct kl_map_part *part)
{
	struct kprobe_blacklist_entry *entry;

	mutex_lock(kl_kernel.kprobe_mutex);
	list_for_each_entry(entry, kl_kernel.kprobe_blacklist, list)
		kl_map_exclude_in(part, entry->start_addr, entry->end_addr);
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
	const struct kl_map_part *part = kl_map_part_of(function);

	if (kl_map.givers > KL_MAP_GIVERS_MAX || (part && part->gives_flags))
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
		if (!kl_instruction_goes_on(&f->step[i].in))
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
		kl_map_set(KL_MAP_ENTERED, (long)last);
	}
	if (in->bytes >= begin + sizeof(whole)) {
		memcpy(&whole, text + in->bytes - sizeof(whole), sizeof(whole));
		kl_map_set(KL_MAP_ENTERED, whole);
	}
}

/*
 * Somebody looks at the flags that a call has left. Through a pointer or thunk it may be any
 * function of a module; in the kernel itself it is for the flag of interrupts, which stays.
 */
static void note_giver(struct kl_map_part *part, const struct kl_instruction *in,
		       unsigned long target)
{
	if (in->at && kl_map_has(target) && !kl_map_test(KL_MAP_NEVER, target))
		add_giver(target);
	else if (part->module)
		part->gives_flags = true;
}

/* Where a function goes, and of what it takes the address. */
static void note_function(struct kl_map_part *part, const struct kl_function *f)
{
	for (u32 i = 0; i < f->steps; i++) {
		const struct kl_instruction *in = &f->step[i].in;
		unsigned long address = f->begin + f->step[i].offset;
		unsigned long target = address + in->bytes + in->by;

		note_numbers(f->text + f->step[i].offset, in);
		/* Jumps inside the function are known with it, but those that cannot be moved. */
		if (in->at && (target < f->begin || target >= f->end || !kl_instruction_jumps(in)))
			kl_map_set(KL_MAP_ENTERED, target);
		if (in->flow == KL_FLOW_CALL && reads_flags(f, i + 1))
			note_giver(part, in, target);
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

			if (kl_instruction_jumps(in) && (target < f->begin || target >= f->end))
				add_giver(target);
		}
	}
}

/**
 * kl_map_load_text - go through all functions of a part
 * @part: of which the starts are known
 *
 * Returns 0, -ENOMEM, or -EINTR if the caller is being killed. Context: may sleep.
 */
int kl_map_load_text(struct kl_map_part *part)
{
	unsigned long at = part->begin, end = part->begin + part->bytes;
	struct kl_function f = {};
	int error = 0;

	/* Before the first symbol there is nothing. */
	at += find_next_bit(part->bits[KL_MAP_START], part->bytes, 0);
	for (; !error && at < end; at = f.end) {
		error = kl_function_load(&f, at);
		if (!error)
			note_function(part, &f);
		cond_resched();
		if (fatal_signal_pending(current))
			error = -EINTR;
	}
	if (!error)
		spread_givers(&f);
	kl_function_free(&f);
	return error;
}

/**
 * kl_map_part_alloc - memory for what is known of a part
 * @part: whose size is known
 *
 * Returns 0 or -ENOMEM; kl_map_part_free() is right after both.
 */
int kl_map_part_alloc(struct kl_map_part *part)
{
	for (int i = 0; i < KL_MAP_BITS; i++) {
		part->bits[i] = vzalloc(BITS_TO_LONGS(part->bytes) * sizeof(long));
		if (!part->bits[i])
			return -ENOMEM;
	}
	return 0;
}

/**
 * kl_map_part_free - free it
 * @part: or zeroes
 */
void kl_map_part_free(struct kl_map_part *part)
{
	for (int i = 0; i < KL_MAP_BITS; i++)
		vfree(part->bits[i]);
	*part = (struct kl_map_part){};
}

/**
 * kl_map_load - make the map of the kernel's own text
 * @why: set on failure
 *
 * Returns 0 or a negative errno, as kl_map_load_text(). Context: may sleep, for some tenths of a
 * second.
 */
int kl_map_load(struct kl_error *why)
{
	struct kl_map_part *part = &kl_map.kernel;
	int error;

	if (part->bytes)
		return 0;
	part->begin = (unsigned long)kl_kernel._stext;
	part->bytes = kl_kernel._etext - kl_kernel._stext;
	/* KVM's emulator, which is a module's elsewhere. */
	part->gives_flags = kl_kernel_lookup("x86_emulate_insn") - part->begin < part->bytes;
	error = kl_map_part_alloc(part);
	if (!error) {
		load_symbols();
		load_tables();
		kl_map_load_blacklist(part);
		error = kl_map_load_text(part);
	}
	if (error == -ENOMEM)
		kl_fail(why, error, "no memory for a map of the kernel's text");
	else if (!error)
		error = kl_map_exclude_die(why);
	if (error)
		kl_map_free();
	return error;
}

static bool is_unused(unsigned long begin, unsigned long end)
{
	return false;
}

/**
 * kl_map_free - forget the map
 */
void kl_map_free(void)
{
	kl_map_prune(is_unused);
	kl_map_part_free(&kl_map.kernel);
	kl_map.givers = 0;
}
