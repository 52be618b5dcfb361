/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instruments in basic blocks of the running kernel: which points of which functions, planned as
 * windows of text that the module diverts, and what has been counted there. docs/design/block.md
 * has the words and rules.
 */
#ifndef KERNLENS_SPLICE_H
#define KERNLENS_SPLICE_H

#include <stdbool.h>
#include <stdint.h>

#include <kernlens/abi.h>
#include <kernlens/block.h>
#include <kernlens/client.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/**
 * struct kl_splice_target - an instrument that is wanted
 * @block: index in the function's graph
 * @behind: behind the block's last instruction that does not jump, not before its first
 * @instrument: enum kl_instrument
 * @event: of KL_INSTRUMENT_FIRE: the session's, else 0
 */
struct kl_splice_target {
	uint32_t block;
	bool behind;
	uint8_t instrument;
	uint32_t event;
};

/**
 * struct kl_splice_point - what has become of a target
 * @placed: the instrument is there
 * @reason: enum kl_block_reason: why there is no place for it; 0: there is
 * @refusal: enum kl_splice_refusal: why the module does not want it; 0: it has not refused
 */
struct kl_splice_point {
	bool placed;
	uint8_t reason;
	uint8_t refusal;
};

/**
 * struct kl_splices_sum - all of them
 * @points: targets
 * @placed: of them, those that are there
 * @moved: functions that run in copies
 * @windows: of the kernel's text that are diverted
 * @refused: points that the module does not want
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
 * struct kl_block_want - blocks by name
 * @pattern: of functions, as for a shell, or MODULE:PATTERN
 * @at_offset: only the block that begins @number bytes into the function
 * @at_number: only the block with the index @number in the function's graph
 * @behind: behind the block's last instruction that does not jump, not before its first
 */
struct kl_block_want {
	char *pattern;
	bool at_offset;
	bool at_number;
	bool behind;
	uint64_t number;
};

/**
 * kl_block_want_parse - take apart what a user writes
 * @want: out; free it with kl_block_want_free()
 * @text: [block:][MODULE:]FUNCTION[+OFFSET|#NUMBER][:post]
 *
 * Returns 0, or -EINVAL or -ENOMEM with an error text.
 */
int kl_block_want_parse(struct kl_block_want *want, const char *text);

/**
 * kl_block_want_free - free what kl_block_want_parse() has allocated
 * @want: or zeroes
 */
void kl_block_want_free(struct kl_block_want *want);

/**
 * kl_block_want_fits - is a block of a function meant?
 * @want: blocks by name
 * @graph: of a function that fits
 * @block: index
 */
bool kl_block_want_fits(const struct kl_block_want *want, const struct kl_block_graph *graph,
			uint32_t block);

/**
 * kl_block_want_load - add the modules of which functions are meant
 * @want: blocks by name
 * @symbols: of the kernel
 * @blocks: of the same
 *
 * A name means a module's function if the kernel itself has none, a pattern all that fit. Returns
 * 0 or a negative errno with an error text.
 */
int kl_block_want_load(const struct kl_block_want *want, const struct kl_symbols *symbols,
		       struct kl_blocks *blocks);

/**
 * kl_block_want_visit - go through the functions that are meant, by address
 * @want: blocks by name
 * @symbols: of the kernel
 * @blocks: of the same; modules are added, as by kl_block_want_load()
 * @visit: called with the index of each; ends it with a negative result
 * @context: for @visit
 *
 * Returns the last result of @visit, or a negative errno with an error text: -ENOENT if there is
 * no such function.
 */
int kl_block_want_visit(const struct kl_block_want *want, const struct kl_symbols *symbols,
			struct kl_blocks *blocks, int (*visit)(void *context, size_t function),
			void *context);

struct kl_splices;

/**
 * kl_splices_create - none so far
 * @moves: functions may be moved, which is done where it is cheaper, and has room for more points
 *
 * Returns NULL with errno and an error text.
 */
struct kl_splices *kl_splices_create(bool moves);

/**
 * kl_splices_destroy - free; what has been installed stays as long as its session
 * @splices: or NULL
 */
void kl_splices_destroy(struct kl_splices *splices);

/**
 * kl_splices_add - want instruments in a function
 * @splices: nothing installed yet; functions in any order, each once
 * @graph: the function
 * @target: which, in any order; those at one place act in this order
 * @n: how many
 *
 * Windows that would overlap become one. A function that is moved, where only counters before
 * blocks are wanted, has windows where something enters it from the text, and the blocks
 * between are counted in the copy; if the module refuses that it has a window for each point.
 * Returns the number of the first point, of which there are @n, or -ENOMEM with an error text.
 */
long kl_splices_add(struct kl_splices *splices, const struct kl_block_graph *graph,
		    const struct kl_splice_target *target, uint32_t n);

/**
 * kl_splices_install - have the module splice them
 * @splices: all of them
 * @session: whose they will be; it need not run
 * @progress: called before each request with the windows done and those there are; or NULL
 * @context: for @progress, which stops with a negative result
 *
 * In requests of many functions each. Windows that the module refuses are left out, with those
 * that need them. Takes seconds; what is there counts at once. Returns 0 or a negative errno with
 * an error text, -EEXIST for a function that is there twice; what has been installed stays.
 */
int kl_splices_install(struct kl_splices *splices, struct kl_session *session,
		       int (*progress)(void *context, uint32_t done, uint32_t windows),
		       void *context);

/**
 * kl_splices_point - what has become of one target
 * @splices: installed
 * @point: its number
 */
struct kl_splice_point kl_splices_point(const struct kl_splices *splices, uint32_t point);

/**
 * kl_splices_sum - what has become of all
 * @splices: installed
 */
struct kl_splices_sum kl_splices_sum(const struct kl_splices *splices);

/**
 * kl_splices_counts - how often each point has been passed
 * @splices: installed
 * @session: the same
 * @count: out, by point; 0 for those that are not there
 *
 * By any task and interrupt, since it was there. Also after kl_session_unsplice(). Returns 0 or a
 * negative errno with an error text.
 */
int kl_splices_counts(const struct kl_splices *splices, struct kl_session *session,
		      uint64_t *count);

/**
 * kl_splice_refusal_name - why the module does not splice a window, in one word
 * @refusal: enum kl_splice_refusal
 */
const char *kl_splice_refusal_name(unsigned int refusal);

/**
 * kl_splice_refusal_help - the same in words
 * @refusal: enum kl_splice_refusal
 */
const char *kl_splice_refusal_help(unsigned int refusal);

/**
 * kl_session_splice - one request
 * @session: whose the splices will be
 * @target: windows and points; filled in: the first point's number, or what is refused
 *
 * Returns 0, or a negative errno with an error text: -EINVAL with @target->refusal, -EPERM without
 * CAP_SYS_ADMIN or under lockdown.
 */
int kl_session_splice(struct kl_session *session, struct kl_abi_splice *target);

/**
 * kl_session_unsplice - take all of a session's splices back
 * @session: session
 * @result: out; or NULL
 *
 * Returns 0 or a negative errno with an error text.
 */
int kl_session_unsplice(struct kl_session *session, struct kl_abi_unsplice *result);

/**
 * kl_session_splice_counts - read counters
 * @session: session
 * @counts: which, and where to
 *
 * Returns 0 or a negative errno with an error text.
 */
int kl_session_splice_counts(struct kl_session *session, struct kl_abi_splice_counts *counts);

KL_PUBLIC_END

#endif /* KERNLENS_SPLICE_H */
