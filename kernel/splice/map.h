/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is known about each byte of the kernel's text, and one decoded function. Derived from the
 * kernel's own tables and text, never from what a caller claims. See map.c, map_module.c,
 * function.c.
 */
#ifndef KL_SPLICE_MAP_H
#define KL_SPLICE_MAP_H

#include <linux/list.h>
#include <linux/types.h>

#include "instruction.h"

struct kl_error;
struct module;

#define KL_MAP_GIVERS_MAX 256
#define KL_MAP_RETURNS_MAX 8

/* Properties of a byte. */
enum kl_map_bit {
	KL_MAP_START, /* a symbol begins here */
	KL_MAP_ENTERED, /* may be entered from elsewhere */
	KL_MAP_NEVER, /* must not be changed or moved */
	KL_MAP_BITS
};

/**
 * struct kl_map_part - properties of each byte of the kernel's text, or of a module's
 * @list: in the list of modules
 * @module: held as long as its map exists; NULL for the kernel
 * @begin: start of the text
 * @bytes: size of the text
 * @gives_flags: a caller reads the flags after a call through a pointer, which may be to any
 *   function of this part (KVM's instruction emulator)
 * @bits: one bitmap for each of enum kl_map_bit
 */
struct kl_map_part {
	struct list_head list;
	struct module *module;
	unsigned long begin;
	unsigned long bytes;
	bool gives_flags;
	unsigned long *bits[KL_MAP_BITS];
};

/**
 * struct kl_map - all parts, and properties of functions
 * @kernel: the kernel's own text
 * @modules: the modules that requests have named
 * @giver: functions that leave flags to their callers
 * @givers: their number; if they do not fit, all functions count
 * @returns: thunks; a jump to one is a return
 */
struct kl_map {
	struct kl_map_part kernel;
	struct list_head modules;
	unsigned long giver[KL_MAP_GIVERS_MAX];
	u32 givers;
	unsigned long returns[KL_MAP_RETURNS_MAX];
};

extern struct kl_map kl_map;

int kl_map_load(struct kl_error *why);
int kl_map_load_module(unsigned long address, struct kl_error *why);
void kl_map_prune(bool (*used)(unsigned long begin, unsigned long end));
void kl_map_release(void);
void kl_map_deinit(void);
bool kl_map_function(unsigned long address, unsigned long *begin, unsigned long *end);
bool kl_map_gives_flags(unsigned long function);
bool kl_map_returns(unsigned long target);
bool kl_map_any(enum kl_map_bit bit, unsigned long begin, unsigned long end);
bool kl_map_test(enum kl_map_bit bit, unsigned long address);
bool kl_map_has(unsigned long address);

/* breakpoint.c: what runs before our breakpoint handler */
int kl_map_exclude_die(struct kl_error *why);
void kl_map_exclude(unsigned long begin, unsigned long end);

/* An instruction of a function: its offset, whether flags are live before it, where it goes. */
struct kl_text_step {
	u32 offset;
	bool flags_live;
	bool target; /* a jump of the function goes here */
	/* Of a function that is moved; see relocate.c. */
	bool entry; /* a window begins here */
	bool stays; /* cannot be moved */
	bool moved;
	bool loose; /* may be reached in the text, not from the copy */
	bool landed; /* reached from the copy, but runs in the text */
	bool pad; /* and instruments run on the edge to it */
	u32 copy; /* offset of its copy among the patches */
	struct kl_instruction in;
};

/**
 * struct kl_function - a decoded function
 * @begin: address
 * @end: address of its end, including padding
 * @text: its bytes, without kprobes and splices
 * @step: its instructions
 * @steps: their number
 * @refusal: enum kl_splice_refusal if it cannot be spliced at all, or 0
 * @moves: it is moved
 */
struct kl_function {
	unsigned long begin;
	unsigned long end;
	u8 *text;
	struct kl_text_step *step;
	u32 steps;
	u32 refusal;
	bool moves;
	size_t text_room;
	size_t step_room;
};

int kl_function_load(struct kl_function *f, unsigned long address);
void kl_function_find_live(struct kl_function *f);
long kl_function_step(const struct kl_function *f, u32 offset);
u32 kl_text_step_target(const struct kl_text_step *step);
void kl_function_free(struct kl_function *f);

/* map.c, for map_module.c */
struct kl_map_part *kl_map_part_of(unsigned long address);
void kl_map_set(enum kl_map_bit bit, unsigned long address);
void kl_map_exclude_in(struct kl_map_part *part, unsigned long begin, unsigned long end);
void kl_map_exclude_instruction(unsigned long address);
void kl_map_load_relative(const void *rows, size_t bytes, u32 row, bool has_target);
void kl_map_load_blacklist(struct kl_map_part *part);
void kl_map_load_words(const void *begin, const void *end);
void kl_map_exclude_name(const char *name, unsigned long address);
int kl_map_load_text(struct kl_map_part *part);
int kl_map_part_alloc(struct kl_map_part *part);
void kl_map_part_free(struct kl_map_part *part);

#endif /* KL_SPLICE_MAP_H */
