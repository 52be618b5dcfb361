/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instruments in basic blocks of the running kernel: plans the requested points as windows of
 * text (patch sites) that the module diverts, and reads their counters. docs/design/block.md
 * explains the terms and rules.
 */
#ifndef KERNLENS_SPLICE_H
#define KERNLENS_SPLICE_H

#include <stdbool.h>
#include <stdint.h>

#include <kernlens/abi.h>
#include <kernlens/block.h>
#include <kernlens/client.h>

/**
 * struct kl_splice_target - a requested instrument
 * @block: index in the function's graph
 * @behind: after the last instruction of the block that is not a jump, rather than before its
 *          first
 * @instrument: enum kl_instrument
 * @event: for KL_INSTRUMENT_FIRE: an event that the session has defined; else 0
 */
struct kl_splice_target {
	uint32_t block;
	bool behind;
	uint8_t instrument;
	uint32_t event;
};

/**
 * struct kl_splice_point - what became of a target
 * @placed: the instrument is in place
 * @reason: enum kl_block_reason: why there is no place for it; 0: there is one
 * @refusal: enum kl_splice_refusal: why the module refused it; 0: it did not
 */
struct kl_splice_point {
	bool placed;
	uint8_t reason;
	uint8_t refusal;
};

/**
 * struct kl_splices_sum - totals over all targets
 * @points: targets
 * @placed: targets that are in place
 * @moved: functions that run in relocated copies
 * @windows: patch sites in the kernel's text
 * @refused: points that the module refused
 * @without: points that have no place
 */
struct kl_splices_sum {
	uint32_t points;
	uint32_t placed;
	uint32_t moved;
	uint32_t windows;
	uint32_t refused;
	uint32_t without;
};

/**
 * struct kl_block_want - blocks selected by name
 * @pattern: shell pattern for functions, or MODULE:PATTERN
 * @at_offset: only the block that begins @number bytes into the function
 * @at_number: only the block with index @number in the function's graph
 * @behind: the point after the last instruction that is not a jump, rather than before the first
 * @number: see @at_offset and @at_number
 */
struct kl_block_want {
	char *pattern;
	bool at_offset;
	bool at_number;
	bool behind;
	uint64_t number;
};

/**
 * kl_block_want_parse - parse a user's selection of blocks
 * @want: out: free it with kl_block_want_free()
 * @text: [block:][MODULE:]FUNCTION[+OFFSET|#NUMBER][:post]
 *
 * Returns 0, or -EINVAL or -ENOMEM with an error text.
 */
int kl_block_want_parse(struct kl_block_want *want, const char *text);

/**
 * kl_block_want_free - free what kl_block_want_parse() allocated
 * @want: filled in, or all zero
 */
void kl_block_want_free(struct kl_block_want *want);

/**
 * kl_block_want_fits - is a block of a function selected?
 * @want: selection
 * @graph: of a function that matches the pattern
 * @block: index
 */
bool kl_block_want_fits(const struct kl_block_want *want, const struct kl_block_graph *graph,
			uint32_t block);

/**
 * kl_block_want_load - add the modules that contain selected functions
 * @want: selection
 * @symbols: of the kernel
 * @blocks: of the same kernel
 *
 * A plain name selects functions of modules only if the kernel itself has none of that name; a
 * pattern selects all that match. Returns 0 or a negative errno with an error text.
 */
int kl_block_want_load(const struct kl_block_want *want, const struct kl_symbols *symbols,
		       struct kl_blocks *blocks);

/**
 * kl_block_want_visit - visit the selected functions, by address
 * @want: selection
 * @symbols: of the kernel
 * @blocks: of the same kernel; modules are added as by kl_block_want_load()
 * @visit: called with the index of each function; a negative result stops
 * @context: passed to @visit
 *
 * Returns the last result of @visit, or a negative errno with an error text: -ENOENT if no
 * function matches.
 */
int kl_block_want_visit(const struct kl_block_want *want, const struct kl_symbols *symbols,
			struct kl_blocks *blocks, int (*visit)(void *context, size_t function),
			void *context);

struct kl_splices;

/**
 * kl_splices_create - create an empty set of splices
 * @moves: functions may be relocated, which is done where it is cheaper and makes room for more
 *         points
 *
 * Returns NULL with errno and an error text.
 */
struct kl_splices *kl_splices_create(bool moves);

/**
 * kl_splices_destroy - free; installed splices stay as long as their session
 * @splices: or NULL
 */
void kl_splices_destroy(struct kl_splices *splices);

/**
 * kl_splices_add - request instruments in a function
 * @splices: not installed yet; add functions in any order, each once
 * @graph: the function
 * @target: instruments in any order; those at the same place run in this order
 * @n: number of targets
 *
 * Windows that would overlap are merged. A function can be relocated if only counters before
 * blocks are requested: it has windows where it is entered from the text, and the blocks in
 * between are counted in the copy. If the module refuses that, each point gets a window.
 *
 * Returns the number of the first of @n points, or -ENOMEM with an error text.
 */
long kl_splices_add(struct kl_splices *splices, const struct kl_block_graph *graph,
		    const struct kl_splice_target *target, uint32_t n);

/**
 * kl_splices_install - have the module install the splices
 * @splices: with all functions added
 * @session: owns the splices; need not run
 * @progress: called before each request with the number of windows done and of all windows; a
 *            negative result stops; or NULL
 * @context: passed to @progress
 *
 * Sends requests of many functions each. Windows that the module refuses are left out, together
 * with those that depend on them. Takes seconds; each counter counts from when it is in place.
 * Returns 0 or a negative errno with an error text, -EEXIST for a function that was added twice;
 * what has been installed stays in place then.
 */
int kl_splices_install(struct kl_splices *splices, struct kl_session *session,
		       int (*progress)(void *context, uint32_t done, uint32_t windows),
		       void *context);

/**
 * kl_splices_point - what became of a target
 * @splices: installed
 * @point: its number
 */
struct kl_splice_point kl_splices_point(const struct kl_splices *splices, uint32_t point);

/**
 * kl_splices_sum - totals over all targets
 * @splices: installed
 */
struct kl_splices_sum kl_splices_sum(const struct kl_splices *splices);

/**
 * kl_splices_counts - execution counts of all points
 * @splices: installed
 * @session: that owns them
 * @count: out: by point; 0 for points that are not in place
 *
 * Counts executions by all tasks and interrupts since the point was installed. Still works after
 * kl_session_unsplice(). Returns 0 or a negative errno with an error text.
 */
int kl_splices_counts(const struct kl_splices *splices, struct kl_session *session,
		      uint64_t *count);

/**
 * kl_splice_refusal_name - why the module refuses a window, in one word
 * @refusal: enum kl_splice_refusal
 */
const char *kl_splice_refusal_name(unsigned int refusal);

/**
 * kl_splice_refusal_help - why the module refuses a window, as a phrase
 * @refusal: enum kl_splice_refusal
 */
const char *kl_splice_refusal_help(unsigned int refusal);

/**
 * kl_session_splice - issue one KL_IOC_SPLICE request
 * @session: owns the splices
 * @target: windows and points; out: the first point's number, or what is refused
 *
 * Returns 0, or a negative errno with an error text: -EINVAL with @target->refusal, -EPERM
 * without CAP_SYS_ADMIN or under lockdown. May sleep.
 */
int kl_session_splice(struct kl_session *session, struct kl_abi_splice *target);

/**
 * kl_session_unsplice - remove all splices of a session
 * @session: session
 * @result: out; or NULL
 *
 * Returns 0 or a negative errno with an error text. May sleep.
 */
int kl_session_unsplice(struct kl_session *session, struct kl_abi_unsplice *result);

/**
 * kl_session_splice_counts - read counters
 * @session: session
 * @counts: which counters, and where to write them
 *
 * Returns 0 or a negative errno with an error text.
 */
int kl_session_splice_counts(struct kl_session *session, struct kl_abi_splice_counts *counts);

#endif /* KERNLENS_SPLICE_H */
