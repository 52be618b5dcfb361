/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by stack.c, stack_kernel.c, stack_user.c and unwind_copy.c, which take stack traces,
 * stack_copy.c, which copies them to user space, and stack_unwind.c, which takes unwind tables.
 */
#ifndef KL_CORE_STACK_INTERNAL_H
#define KL_CORE_STACK_INTERNAL_H

#include "../../uapi/unwind_walk.h"
#include "stack.h"
#include "stack_table.h"
#include "unwind.h"

/**
 * struct kl_stack_object - a file that frames are in
 * @inode: identifies the file; set first
 * @file: reference to the file, until the session ends
 * @table: its unwind table, until the session ends; NULL: none
 * @wanted: a walk has missed the table
 * @copies: number of stacks copied because it has no table
 */
struct kl_stack_object {
	struct inode *inode;
	struct file *file;
	struct kl_unwind_table *table;
	u32 wanted;
	u32 copies;
};

#define KL_UNWIND_RULES 1024u /* powers of two */
#define KL_UNWIND_MMS 32u
#define KL_UNWIND_RANGES 8u /* of one mm */

/**
 * struct kl_unwind_range - a mapping
 * @start, @bytes: its addresses
 * @place: of @start in the file
 * @table: of the file, or NULL
 * @doubt: without a table: why it has none
 * @object: number of the file, or 0
 */
struct kl_unwind_range {
	u64 start;
	u64 bytes;
	u64 place;
	const struct kl_unwind_table *table;
	enum kl_stack_doubt doubt;
	u32 object;
};

/**
 * struct kl_unwind_cache - what walks at one level of one CPU have found out
 * @rule: rules by address; @key identifies the mm, the state of its mappings, and the address. Of a
 *        plain rule (kl_unwind_rule_is_plain), @up is how many words CFA is above sp or bp, and
 *        @saved where from CFA the caller's bp is, in words, 0: unchanged; else @up is 0
 * @mm: mappings by mm; @key identifies the mm and the state of its mappings; @next is the range
 *      that the next one replaces
 *
 * Only one walk at a time uses it. What has an outdated key is never found.
 */
struct kl_unwind_cache {
	struct kl_unwind_cached {
		u64 key;
		u32 rule;
		u16 up;
		s16 saved;
	} rule[KL_UNWIND_RULES];
	struct {
		u64 key;
		u32 n;
		u32 next;
		struct kl_unwind_range range[KL_UNWIND_RANGES];
	} mm[KL_UNWIND_MMS];
};

#define KL_UNWIND_LEVELS 2 /* a task, an interrupt */
#define KL_UNWIND_COPY_WORDS (512u << 10) /* of all copies of stacks: 4 MiB */
#define KL_UNWIND_COPIES_EACH 512u /* because of one file */

/**
 * struct kl_unwind - the unwind tables of a session
 * @tables: number of tables that it has been given; changes whatever walks have found out
 * @vdso: table of the vDSO, or NULL
 * @copied: number of words in use of @copy; the first is not used
 * @copy: copies of the stacks of traces that have met a file without a table
 * @cpu: caches by CPU and level
 */
struct kl_unwind {
	u32 tables;
	struct kl_unwind_table *vdso;
	u32 copied;
	u64 *copy;
	struct kl_unwind_cache *cpu[][KL_UNWIND_LEVELS];
};

/**
 * struct kl_stacks - the traces of a session
 * @kernel_frames, @user_frames: limits on the frames of a trace
 * @unwind: NULL until the session is given an unwind table
 * @object: files, by object number minus one
 */
struct kl_stacks {
	struct kl_stack_table table;
	u32 kernel_frames;
	u32 user_frames;
	struct kl_unwind *unwind;
	struct kl_stack_object object[KL_STACK_OBJECTS_MAX];
};

/**
 * struct kl_stack_walk - a walk of the running task's user stack
 * @s: for which session
 * @stacks: its traces
 * @regs: where it begins
 * @text: as in struct kl_stack_start
 * @level: the context's level
 * @of_record: the stack may be copied
 * @locked: it holds mmap_lock
 * @refused: it has tried the lock in vain
 * @at: the current frame
 * @lacking: the first frame whose file has no table, if its stack is to be copied
 * @lacks: number of that file, or 0
 * @cache: NULL: there are no tables
 * @key: identifies the mm and the state of its mappings
 * @mixed: of the frames so far, as in struct kl_stack_trace
 *
 * The caller sets everything but @at, @lacking, @key and @mixed, and calls kl_stack_walk_end() at
 * the end.
 */
struct kl_stack_walk {
	struct kl_session *s;
	struct kl_stacks *stacks;
	const struct pt_regs *regs;
	u32 text;
	u32 level;
	bool of_record;
	bool locked;
	bool refused;
	struct kl_unwind_frame at, lacking;
	u32 lacks;
	struct kl_unwind_cache *cache;
	u64 key;
	u64 mixed;
};

void kl_stack_walk_user(struct kl_stack_walk *w, struct kl_abi_stack *about, u64 *frame);
void kl_stack_place(struct kl_stack_walk *w, struct kl_stack_entry *entry);
void kl_stack_walk_end(struct kl_stack_walk *w);
bool kl_stack_walk_lock(struct kl_stack_walk *w);
bool kl_stack_is_object(const struct file *file);
u32 kl_stack_object(struct kl_stacks *stacks, struct inode *inode, struct file *file);
void kl_stack_user_init(void);
void kl_stack_user_deinit(void);

void kl_stack_unwind_destroy(struct kl_stacks *stacks);

u32 kl_unwind_copy(struct kl_stack_walk *w);

/* Size of a copy, in words. */
static inline u32 kl_unwind_copy_words(const struct kl_abi_stack_copy *copy)
{
	return (sizeof(*copy) + copy->ranges * sizeof(struct kl_abi_stack_range)) / sizeof(u64) +
	       copy->words;
}

u32 kl_stack_walk_kernel(u64 *frame, u32 most, struct pt_regs *regs, u8 *flags);
void kl_stack_kernel_init(void);

#endif /* KL_CORE_STACK_INTERNAL_H */
