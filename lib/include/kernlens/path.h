/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Paths through a function of the kernel: its acyclic paths numbered, a profile of those that were
 * gone, made of the blocks that were passed, and the counts of all edges from the fewest counters.
 * docs/design/block.md has the rules. A path begins at the function's start, behind an edge that
 * closes a loop, or where the profile knows no better; a call goes on to what follows it.
 */
#ifndef KERNLENS_PATH_H
#define KERNLENS_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/block.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/* No block: outside of the function, or a path to its end. */
#define KL_PATH_OUTSIDE UINT32_MAX

/* Paths from one block that are numbered at most, if nothing else is asked for. */
#define KL_PATHS_MOST (1ull << 40)

/* Why a path is over. */
enum kl_path_end {
	KL_PATH_EXIT, /* the function is left */
	KL_PATH_LOOP, /* an edge that is cut: a loop's, or one of too many */
	KL_PATH_LEFT, /* the function was left by a way that has no point to be seen at */
	KL_PATH_UNCLEAR, /* it goes on through blocks that cannot be seen, in more than one way */
	KL_PATH_JUMP, /* it goes on in a block that is entered otherwise than by an edge: a fixup */
	KL_PATH_LOST, /* what came is not known: records were lost, or do not fit */
	KL_PATH_OPEN, /* the profile ended before */
	KL_PATH_ENDS
};

struct kl_paths;

/**
 * kl_path_end_name - one word for why a path is over
 * @end: enum kl_path_end
 */
const char *kl_path_end_name(unsigned int end);

/**
 * kl_paths_create - number the paths of a function
 * @graph: the function; need not outlive this call
 * @seen: by block, those whose passes are known; NULL: all
 * @most: paths from one block to number; 0: KL_PATHS_MOST, which is the limit, too
 *
 * The numbering is that of Ball and Larus, Efficient Path Profiling, MICRO-29, 1996. Edges that
 * close a loop are cut: a path ends before, and another begins behind. Where more than @most paths
 * begin at a block, its edges are cut as well; a path is then in several parts, and each has a
 * number. A jump to the function's start leaves it. Returns NULL with errno and an error text:
 * EINVAL for a graph without blocks, ENOMEM.
 */
struct kl_paths *kl_paths_create(const struct kl_block_graph *graph, const bool *seen,
				 uint64_t most);

/**
 * kl_paths_destroy - free
 * @paths: or NULL
 */
void kl_paths_destroy(struct kl_paths *paths);

/**
 * kl_paths_from - how many paths begin at a block, to where they end or are cut
 * @paths: paths
 * @block: index; 0 is the function's start
 *
 * Those of block 0 have the numbers from 0 on, those of block 1 follow, and so on.
 */
uint64_t kl_paths_from(const struct kl_paths *paths, uint32_t block);

/**
 * kl_paths_cuts - edges that are cut
 * @paths: paths
 * @limit: out: of them, those that are cut because there were too many paths; or NULL
 */
uint32_t kl_paths_cuts(const struct kl_paths *paths, uint32_t *limit);

/**
 * kl_path_blocks - the blocks of a path
 * @paths: paths
 * @number: of the path
 * @last: the block that it ends with; KL_PATH_OUTSIDE: where it is left or cut
 * @block: out: they, in order; there are never more than the function has
 *
 * Returns how many, or -EINVAL with an error text if there is no such path.
 */
long kl_path_blocks(const struct kl_paths *paths, uint64_t number, uint32_t last, uint32_t *block);

/**
 * kl_path_number - the number of a path
 * @paths: paths
 * @block: its blocks
 * @n: how many
 * @number: out; together with the last block it is this path and no other
 *
 * Returns 0, or -EINVAL with an error text if there is no such path.
 */
int kl_path_number(const struct kl_paths *paths, const uint32_t *block, uint32_t n,
		   uint64_t *number);

/* ------------------------------------------------------------------------- edges */

/**
 * struct kl_path_edge - a way from a block to another
 * @from: block; KL_PATH_OUTSIDE: the function is entered
 * @to: block; KL_PATH_OUTSIDE: it is left, by a return, a jump elsewhere, or because it does not
 *      go on; or, of an instruction that may fault, to a fixup
 * @cut: a path ends before it
 */
struct kl_path_edge {
	uint32_t from;
	uint32_t to;
	bool cut;
};

/**
 * kl_paths_edges - all edges, by their first block; those into the function last
 * @paths: paths
 * @edge: out
 *
 * Returns how many.
 */
size_t kl_paths_edges(const struct kl_paths *paths, const struct kl_path_edge **edge);

/**
 * kl_paths_choose - the fewest blocks to count
 * @paths: paths
 * @chosen: out, by block
 *
 * What flows into a block flows out of it, so counts of some blocks give those of all that can be
 * seen. These are as few as can be: the blocks that close a circle when they are added, last, to a
 * spanning forest of the graph in which each block is an edge from its entry to its exit (Knuth
 * and Stevenson, Optimal measurement points for program frequency counts, BIT 13, 1973). Returns
 * how many, or -ENOMEM with an error text.
 */
long kl_paths_choose(const struct kl_paths *paths, bool *chosen);

/**
 * struct kl_path_value - a count that may be known
 * @count: then
 * @known: it is
 */
struct kl_path_value {
	uint64_t count;
	bool known;
};

/**
 * kl_paths_derive - counts of blocks and edges from those of some blocks
 * @paths: paths
 * @counted: by block, whether its count is there
 * @count: by block
 * @block: out, by block
 * @edge: out, in the order of kl_paths_edges()
 *
 * A value is known if all counts that could have been say the same: an edge that no cut of counted
 * blocks separates has none, unless what could flow there is nothing. Calls that were under way
 * when counting began or ended are in some of their blocks only, and make results differ by as
 * many; one that would be negative is not known. Returns 0, or -ENOMEM with an error text.
 */
int kl_paths_derive(const struct kl_paths *paths, const bool *counted, const uint64_t *count,
		    struct kl_path_value *block, struct kl_path_value *edge);

/* ----------------------------------------------------------------------- profile */

/**
 * struct kl_path_row - a path that was gone
 * @number: of it; @last: its last block: see kl_path_blocks()
 * @end: enum kl_path_end
 * @count: how often
 */
struct kl_path_row {
	uint64_t number;
	uint64_t count;
	uint32_t last;
	uint8_t end;
};

/**
 * struct kl_path_sum - what became of the passes
 * @passes: of blocks
 * @entries: calls of the function that were seen to begin
 * @paths: that were gone; the sum of all rows
 * @unexplained: passes that fit no call that is known: one that began before, a gap
 * @ambiguous: passes that fit more than one call: they were taken for the innermost's
 * @losses: times that records were lost
 */
struct kl_path_sum {
	uint64_t passes;
	uint64_t entries;
	uint64_t paths;
	uint64_t unexplained;
	uint64_t ambiguous;
	uint64_t losses;
};

struct kl_path_profile;

/**
 * kl_path_profile_create - an empty profile
 * @paths: must outlive it
 *
 * Returns NULL with errno ENOMEM and an error text.
 */
struct kl_path_profile *kl_path_profile_create(const struct kl_paths *paths);

/**
 * kl_path_profile_destroy - free
 * @profile: or NULL
 */
void kl_path_profile_destroy(struct kl_path_profile *profile);

/**
 * kl_path_profile_add - a block was passed
 * @profile: profile
 * @thread: what runs one thing after another: a task, the idle task of a processor, the
 *          interrupts of one; any number
 * @block: of those that are seen
 *
 * In the order in which each thread passed them. Calls of one thread nest: recursion, and
 * interrupts if @thread does not tell them apart. A block that the innermost call cannot go on to
 * belongs to the first one outside of it that can; those inside it have then been left unseen.
 * Returns 0, or -ENOMEM or -EINVAL with an error text.
 */
int kl_path_profile_add(struct kl_path_profile *profile, uint64_t thread, uint32_t block);

/**
 * kl_path_profile_lose - passes may be missing here, of any thread
 * @profile: profile
 *
 * All calls that are under way are given up. Returns 0, or -ENOMEM with an error text.
 */
int kl_path_profile_lose(struct kl_path_profile *profile);

/**
 * kl_path_profile_end - nothing comes any more
 * @profile: profile
 *
 * Calls that are under way are counted as KL_PATH_OPEN. Returns 0, or -ENOMEM with an error text.
 */
int kl_path_profile_end(struct kl_path_profile *profile);

/**
 * kl_path_profile_rows - the paths, the most frequent first
 * @profile: profile
 * @n: out: how many
 *
 * Good until the profile is changed. Each pass of a block that was seen and is not unexplained is
 * in one path. Returns NULL with errno ENOMEM and an error text.
 */
const struct kl_path_row *kl_path_profile_rows(struct kl_path_profile *profile, size_t *n);

/**
 * kl_path_profile_sum - what became of the passes
 * @profile: profile
 */
struct kl_path_sum kl_path_profile_sum(const struct kl_path_profile *profile);

/**
 * kl_path_profile_blocks - passes of each block
 * @profile: profile
 * @unexplained: only those that fitted no call
 */
const uint64_t *kl_path_profile_blocks(const struct kl_path_profile *profile, bool unexplained);

/**
 * kl_path_profile_edges - passes of each edge, in the order of kl_paths_edges()
 * @profile: profile
 *
 * Those between two blocks of one way that is clear, also where a path is cut.
 */
const uint64_t *kl_path_profile_edges(const struct kl_path_profile *profile);

KL_PUBLIC_END

#endif /* KERNLENS_PATH_H */
