// SPDX-License-Identifier: GPL-2.0
/*
 * The map of the kernel's text: where functions begin, which bytes may be entered from elsewhere,
 * and what must never be changed. Created by the first request for splices, which decodes all text
 * once; freed with the last splice. Under kl_splice_lock. Modules: map_module.c.
 */
#include <linux/bitmap.h>
#include <linux/glob.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "../core/session.h"
#include "kernel.h"
#include "map.h"
#include "splice.h"

#define BEHIND_CALL 4 /* instructions searched for a reader of the flags that a call left */

#define UNUSED_TIME (60 * HZ) /* that the map is kept, as the next command often needs it */

static void free_if_unused(struct work_struct *work);
static DECLARE_DELAYED_WORK(unused_work, free_if_unused);
static unsigned long unused_since; /* in jiffies */
static bool used;

struct kl_map kl_map = { .modules = LIST_HEAD_INIT(kl_map.modules) };

/**
 * kl_map_part_of - find the part that contains an address
 * @address: any
 *
 * Returns NULL if the map has no such part.
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
 * kl_map_has - does the map cover an address?
 * @address: any
 */
bool kl_map_has(unsigned long address)
{
	return kl_map_part_of(address);
}

/**
 * kl_map_test - test a property of one byte
 * @bit: the property
 * @address: any; outside of the map no property is set
 */
bool kl_map_test(enum kl_map_bit bit, unsigned long address)
{
	const struct kl_map_part *part = kl_map_part_of(address);

	return part && test_bit(address - part->begin, part->bits[bit]);
}

/**
 * kl_map_set - set a property of one byte
 * @bit: the property
 * @address: any; ignored outside of the map
 */
void kl_map_set(enum kl_map_bit bit, unsigned long address)
{
	const struct kl_map_part *part = kl_map_part_of(address);

	if (part)
		__set_bit(address - part->begin, part->bits[bit]);
}

/**
 * kl_map_exclude_in - mark a range as never to be changed
 * @part: of the map
 * @begin: address
 * @end: of the range; what lies outside of the part is ignored
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
 * kl_map_exclude - mark a range as never to be changed, whichever part it is in
 * @begin: address
 * @end: of the range, in the same part
 */
void kl_map_exclude(unsigned long begin, unsigned long end)
{
	struct kl_map_part *part = kl_map_part_of(begin);

	if (part)
		kl_map_exclude_in(part, begin, end);
}

/**
 * kl_map_exclude_instruction - exclude an instruction that the kernel rewrites or looks up
 * @address: its first byte, from a table of the kernel
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
 * kl_map_any - is a property set for any byte of a range?
 * @bit: the property
 * @begin: address, in the map
 * @end: of the range, in the same part
 */
bool kl_map_any(enum kl_map_bit bit, unsigned long begin, unsigned long end)
{
	const struct kl_map_part *part = kl_map_part_of(begin);
	unsigned long last = end - part->begin;

	return find_next_bit(part->bits[bit], last, begin - part->begin) < last;
}

/**
 * kl_map_function - find the function that contains an address
 * @address: of any instruction
 * @begin: set to the last symbol up to @address
 * @end: set to the next symbol, or the end of the text
 *
 * Returns false if there is none.
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

static const char *const excluded_names[] = {
#define KL_TEXT_SECTION(begin, end, reason)
#define KL_TEXT_NAME(pattern, reason) pattern,
#include "../../uapi/block_text.def"
#undef KL_TEXT_NAME
#undef KL_TEXT_SECTION
};

static bool is_excluded_name(const char *name)
{
	for (int i = 0; i < ARRAY_SIZE(excluded_names); i++) {
		char first = *excluded_names[i];

		/* Most names begin with another character, and glob_match() is expensive. */
		if ((first == *name || first == '*') && glob_match(excluded_names[i], name))
			return true;
	}
	return false;
}

/**
 * kl_map_exclude_name - exclude a function if its name is one of those to leave alone
 * @name: of a symbol
 * @address: of the symbol; all starts must be known
 */
void kl_map_exclude_name(const char *name, unsigned long address)
{
	unsigned long begin, end;

	if (is_excluded_name(name) && kl_map_function(address, &begin, &end))
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
	KL_CALL(kallsyms_on_each_symbol)(on_symbol, visit_start);
	KL_CALL(kallsyms_on_each_symbol)(on_symbol, visit_name);
	for (int i = 0; i < ARRAY_SIZE(sections); i++) {
		unsigned long begin = kl_kernel_lookup(sections[i].begin);
		unsigned long end = kl_kernel_lookup(sections[i].end);

		if (begin && end)
			kl_map_exclude(begin, end);
	}
}

/* ------------------------------------------------------- the kernel's tables */

/**
 * kl_map_load_relative - exclude the instructions that a table lists
 * @rows: the table
 * @bytes: size of the table
 * @row: size of a row, which begins with the distance to an instruction
 * @has_target: followed by the distance to where it may go
 *
 * The tables of jump_label.h, static_call_types.h and asm/extable.h have such rows.
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
 * kl_map_load_words - find words of data that may be addresses in functions
 * @begin: start of the data
 * @end: end of the data
 *
 * Such an address may be entered from elsewhere. Other data may look like one, which does no harm.
 * The reads skip KASAN's checks because of the red zones between variables.
 */
void kl_map_load_words(const void *begin, const void *end)
{
	for (const unsigned long *word = begin; word + 1 <= (const unsigned long *)end; word++)
		kl_map_set(KL_MAP_ENTERED, READ_ONCE_NOCHECK(*word));
}

/* The instructions of BUG() and WARN() are like no others: no table of them is needed. */
static void load_tables(void)
{
	const struct kl_kernel *k = &kl_kernel;

#define BETWEEN(begin, end) (begin), (end) - (begin)
	kl_map_load_relative(BETWEEN(k->__start___jump_table, k->__stop___jump_table), 16, true);
	kl_map_load_relative(BETWEEN(k->__start_static_call_sites, k->__stop_static_call_sites), 8,
			     false);
	kl_map_load_relative(BETWEEN(k->__start___ex_table, k->__stop___ex_table), 12, true);
#undef BETWEEN
	/* With a single CPU, lock prefixes are patched out; a second CPU brings them back. */
	if (kl_kernel_is_uniprocessor())
		for (const s32 *by = k->__smp_locks; by < k->__smp_locks_end; by++)
			kl_map_exclude_instruction((unsigned long)by + *by);
	kl_map_load_words(k->__start_rodata, k->__end_rodata);
}

/**
 * kl_map_load_blacklist - exclude kprobes' blacklist
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
 * @target: of the jump
 */
bool kl_map_returns(unsigned long target)
{
	for (int i = 0; i < KL_MAP_RETURNS_MAX; i++)
		if (kl_map.returns[i] == target)
			return true;
	return false;
}

/**
 * kl_map_gives_flags - do callers of a function read flags that it leaves?
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

/* Are the flags read that the call before @i has left? */
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
 * Record numbers in an instruction that may be addresses: the 32 bits (sign-extended) and the 64
 * bits at its end, if they lie after an operand relative to its own address.
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
 * A caller reads the flags that a call has left. Through a pointer or thunk this may be any
 * function of a module; in the kernel itself it is for the interrupt flag, which an increment
 * preserves.
 */
static void note_giver(struct kl_map_part *part, const struct kl_instruction *in,
		       unsigned long target)
{
	if (in->at && kl_map_has(target) && !kl_map_test(KL_MAP_NEVER, target))
		add_giver(target);
	else if (part->module)
		part->gives_flags = true;
}

/* Record where a function goes, and whose address it takes. */
static void note_function(struct kl_map_part *part, const struct kl_function *f)
{
	for (u32 i = 0; i < f->steps; i++) {
		const struct kl_instruction *in = &f->step[i].in;
		unsigned long address = f->begin + f->step[i].offset;
		unsigned long target = address + in->bytes + in->by;

		note_numbers(f->text + f->step[i].offset, in);
		/*
		 * Jumps inside the function are found when it is loaded, except those of fixed
		 * instructions.
		 */
		if (in->at && (target < f->begin || target >= f->end || !kl_instruction_jumps(in)))
			kl_map_set(KL_MAP_ENTERED, target);
		if ((in->flow == KL_FLOW_CALL || in->indirect == KL_INDIRECT_CALL) &&
		    reads_flags(f, i + 1))
			note_giver(part, in, target);
	}
}

/*
 * A function that is jumped to from one that leaves flags leaves them, too. Through a register,
 * that may be any function.
 */
static void spread_givers(struct kl_function *f)
{
	for (u32 n = 0; n < min_t(u32, kl_map.givers, KL_MAP_GIVERS_MAX); n++) {
		if (kl_function_load(f, kl_map.giver[n]) < 0)
			continue;
		for (u32 i = 0; i < f->steps; i++) {
			const struct kl_instruction *in = &f->step[i].in;
			unsigned long target = f->begin + f->step[i].offset + in->bytes + in->by;

			if (in->indirect >= KL_INDIRECT_JUMP)
				kl_map_part_of(f->begin)->gives_flags = true;
			if (kl_instruction_jumps(in) && (target < f->begin || target >= f->end))
				add_giver(target);
		}
	}
}

/**
 * kl_map_load_text - decode all functions of a part
 * @part: with its starts known
 *
 * Returns 0, -ENOMEM, or -EINTR if the caller is being killed. Context: may sleep.
 */
int kl_map_load_text(struct kl_map_part *part)
{
	unsigned long at = part->begin, end = part->begin + part->bytes;
	struct kl_function f = {};
	int error = 0;

	/* There is no function before the first symbol. */
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
 * kl_map_part_alloc - allocate the bitmaps of a part
 * @part: with its size set
 *
 * Returns 0 or -ENOMEM; in both cases kl_map_part_free() undoes it.
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
 * kl_map_part_free - free the bitmaps of a part
 * @part: to be freed, or zeroed
 */
void kl_map_part_free(struct kl_map_part *part)
{
	for (int i = 0; i < KL_MAP_BITS; i++)
		vfree(part->bits[i]);
	*part = (struct kl_map_part){};
}

static void free_map(void)
{
	kl_map_part_free(&kl_map.kernel);
	kl_map.givers = 0;
}

static void free_if_unused(struct work_struct *work)
{
	unsigned long until;

	mutex_lock(&kl_splice_lock);
	until = unused_since + UNUSED_TIME;
	if (!used && time_before(jiffies, until))
		schedule_delayed_work(&unused_work, until - jiffies);
	else if (!used)
		free_map();
	mutex_unlock(&kl_splice_lock);
}

/**
 * kl_map_load - create the map of the kernel's own text, if there is none
 * @why: set on failure
 *
 * Returns 0 or a negative errno, as kl_map_load_text(). Context: may sleep; takes some tenths of a
 * second.
 */
int kl_map_load(struct kl_error *why)
{
	struct kl_map_part *part = &kl_map.kernel;
	int error;

	used = true;
	if (part->bytes)
		return 0;
	part->begin = (unsigned long)kl_kernel._stext;
	part->bytes = kl_kernel._etext - kl_kernel._stext;
	/* Is KVM's emulator built in, not in a module? */
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
		free_map();
	return error;
}

/**
 * kl_map_release - nothing uses the map any more; the maps of modules are freed already
 */
void kl_map_release(void)
{
	used = false;
	unused_since = jiffies;
	schedule_delayed_work(&unused_work, UNUSED_TIME);
}

/**
 * kl_map_deinit - free the map, after the last splice
 */
void kl_map_deinit(void)
{
	cancel_delayed_work_sync(&unused_work);
	free_map();
}
