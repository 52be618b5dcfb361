/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Paths through a kernel function: numbers its acyclic paths, builds a profile of the executed
 * paths from a sequence of executed blocks, and derives the counts of all edges from the fewest
 * counters. docs/design/block.md describes the rules. A path begins at the start of the function,
 * after an edge that closes a loop, or wherever the profile has lost track. After a call, a path
 * continues with the instruction that follows the call.
 */
#ifndef KERNLENS_PATH_H
#define KERNLENS_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/block.h>

/* Not a block: outside the function, or (as @last) a path that runs to its end. */
#define KL_PATH_OUTSIDE UINT32_MAX

/* Default and upper limit of the number of paths that begin at one block. */
#define KL_PATHS_MOST (1ull << 40)

/* Why a path ends. */
enum kl_path_end {
	KL_PATH_EXIT, /* the function returned or jumped to another one */
	KL_PATH_LOOP, /* an edge that is cut: it closes a loop, or there were too many paths */
	KL_PATH_LEFT, /* the function was left through an exit that has no observed block */
	/* it continues through unobserved blocks, and more than one way is possible */
	KL_PATH_UNCLEAR,
	/* it continues in a block that is not entered by an edge, such as a fixup */
	KL_PATH_JUMP,
	KL_PATH_LOST, /* the continuation is unknown: records were lost, or do not fit */
	KL_PATH_OPEN, /* the profile ended first */
	KL_PATH_ENDS
};

struct kl_paths;

/**
 * kl_path_end_name - name of the reason why a path ended
 * @end: enum kl_path_end
 *
 * Returns one word; a constant string.
 */
const char *kl_path_end_name(unsigned int end);

/**
 * kl_paths_create - number the paths of a function
 * @graph: the function; only used during this call
 * @seen: by block index: whether executions of the block are observed; NULL: all blocks are
 * @most: maximum number of paths that begin at one block; 0 or more than KL_PATHS_MOST:
 *        KL_PATHS_MOST
 *
 * The numbering is that of Ball and Larus, Efficient Path Profiling, MICRO-29, 1996. Edges that
 * close a loop are cut: one path ends before such an edge and another begins after it. If more
 * than @most paths would begin at a block, its edges are cut as well; a path is then recorded in
 * several parts, each with its own number. A jump to the start of the function counts as leaving
 * it.
 *
 * Returns NULL with errno and an error text: EINVAL for a graph without blocks, ENOMEM.
 */
struct kl_paths *kl_paths_create(const struct kl_block_graph *graph, const bool *seen,
				 uint64_t most);

/**
 * kl_paths_destroy - free the paths of a function
 * @paths: or NULL
 */
void kl_paths_destroy(struct kl_paths *paths);

/**
 * kl_paths_from - number of paths that begin at a block, up to where they end or are cut
 * @paths: paths
 * @block: index; 0 is the start of the function
 *
 * Paths that begin at block 0 are numbered from 0, those that begin at block 1 follow, and so on.
 */
uint64_t kl_paths_from(const struct kl_paths *paths, uint32_t block);

/**
 * kl_paths_cuts - number of edges that are cut
 * @paths: paths
 * @limit: out: how many of them are cut because there were too many paths; or NULL
 */
uint32_t kl_paths_cuts(const struct kl_paths *paths, uint32_t *limit);

/**
 * kl_path_blocks - the blocks of a path
 * @paths: paths
 * @number: number of the path
 * @last: its last block; KL_PATH_OUTSIDE: the path runs until the function is left or an edge is
 *        cut
 * @block: out: block indexes in execution order; needs room for as many as the function has
 *         blocks
 *
 * Returns the number of blocks, or -EINVAL with an error text if there is no such path.
 */
long kl_path_blocks(const struct kl_paths *paths, uint64_t number, uint32_t last, uint32_t *block);

/* ------------------------------------------------------------------------- edges */

/**
 * struct kl_path_edge - an edge from one block to another
 * @from: block; KL_PATH_OUTSIDE: the function is entered
 * @to: block; KL_PATH_OUTSIDE: the function is left by a return or a jump elsewhere, or execution
 *      ends there; for an instruction that may fault, also the way to its fixup
 * @cut: paths end before this edge
 */
struct kl_path_edge {
	uint32_t from;
	uint32_t to;
	bool cut;
};

/**
 * kl_paths_edges - all edges, ordered by @from; edges into the function come last
 * @paths: paths
 * @edge: out: belongs to @paths
 *
 * Returns the number of edges.
 */
size_t kl_paths_edges(const struct kl_paths *paths, const struct kl_path_edge **edge);

/**
 * kl_paths_choose - choose the fewest blocks that must be counted
 * @paths: paths
 * @chosen: out: by block index
 *
 * Whatever enters a block also leaves it, so the counts of some blocks determine those of all
 * observable ones. This chooses a smallest such set: view each block as an edge from its entry to
 * its exit, grow a spanning forest with the blocks added last, and count every block that would
 * close a cycle (Knuth and Stevenson, Optimal measurement points for program frequency counts,
 * BIT 13, 1973).
 *
 * Returns the number of chosen blocks, or -ENOMEM with an error text.
 */
long kl_paths_choose(const struct kl_paths *paths, bool *chosen);

/**
 * struct kl_path_value - a count that may be unknown
 * @count: valid if @known
 * @known: whether the count is known
 */
struct kl_path_value {
	uint64_t count;
	bool known;
};

/**
 * kl_paths_derive - derive the counts of blocks and edges from those of some blocks
 * @paths: paths
 * @counted: by block index: whether its count is given
 * @count: by block index
 * @block: out: by block index
 * @edge: out: in the order of kl_paths_edges()
 *
 * A value is known if every assignment that agrees with the given counts has the same value
 * there. So an edge that the counted blocks do not determine is unknown, unless nothing can flow
 * through it. Calls in progress when counting began or ended are counted in some of their blocks
 * only: results can be off by the number of such calls, and a result that would be negative is
 * unknown.
 *
 * Returns 0, or -ENOMEM with an error text.
 */
int kl_paths_derive(const struct kl_paths *paths, const bool *counted, const uint64_t *count,
		    struct kl_path_value *block, struct kl_path_value *edge);

/* ----------------------------------------------------------------------- profile */

/**
 * struct kl_path_row - an executed path
 * @number: number of the path
 * @last: its last block; see kl_path_blocks()
 * @end: enum kl_path_end
 * @count: number of executions
 */
struct kl_path_row {
	uint64_t number;
	uint64_t count;
	uint32_t last;
	uint8_t end;
};

/**
 * struct kl_path_sum - totals of a profile
 * @passes: executions of blocks that were added
 * @entries: calls of the function whose beginning was observed
 * @paths: executed paths; the sum of all rows
 * @unexplained: block executions that fit no known call: it began earlier, or records are missing
 * @ambiguous: block executions that fit more than one call; attributed to the innermost one
 * @losses: number of kl_path_profile_lose() calls
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
 * kl_path_profile_create - create an empty profile
 * @paths: must outlive the profile
 *
 * Returns NULL with errno ENOMEM and an error text.
 */
struct kl_path_profile *kl_path_profile_create(const struct kl_paths *paths);

/**
 * kl_path_profile_destroy - free a profile
 * @profile: or NULL
 */
void kl_path_profile_destroy(struct kl_path_profile *profile);

/**
 * kl_path_profile_add - add one execution of a block
 * @profile: profile
 * @thread: identifies a flow of execution: a task, the idle task of a CPU, or the interrupts of a
 *          CPU; any number
 * @block: index of an observed block
 *
 * Add the executions of each thread in the order in which they happened. Calls of one thread
 * nest: through recursion, and through interrupts unless they have a @thread of their own. A
 * block that cannot follow in the innermost call belongs to the nearest enclosing call in which
 * it can; the calls inside that one have then ended unobserved.
 *
 * Returns 0, or -ENOMEM or -EINVAL (not an observed block) with an error text.
 */
int kl_path_profile_add(struct kl_path_profile *profile, uint64_t thread, uint32_t block);

/**
 * kl_path_profile_lose - note that executions of any thread may be missing here
 * @profile: profile
 *
 * All calls in progress are abandoned; their paths end with KL_PATH_LOST. Returns 0, or -ENOMEM
 * with an error text.
 */
int kl_path_profile_lose(struct kl_path_profile *profile);

/**
 * kl_path_profile_end - note that no more executions follow
 * @profile: profile
 *
 * Paths of calls in progress end with KL_PATH_OPEN. Returns 0, or -ENOMEM with an error text.
 */
int kl_path_profile_end(struct kl_path_profile *profile);

/**
 * kl_path_profile_rows - the executed paths, most frequent first
 * @profile: profile
 * @n: out: number of rows
 *
 * The rows are valid until the next call of this function or until the profile is destroyed. Each
 * execution of a block that was added and is not unexplained is in exactly one path. Returns NULL
 * with errno ENOMEM and an error text.
 */
const struct kl_path_row *kl_path_profile_rows(struct kl_path_profile *profile, size_t *n);

/**
 * kl_path_profile_sum - totals of a profile
 * @profile: profile
 */
struct kl_path_sum kl_path_profile_sum(const struct kl_path_profile *profile);

/**
 * kl_path_profile_blocks - execution counts, by block index
 * @profile: profile
 * @unexplained: count only the executions that fit no call
 *
 * The counts belong to the profile.
 */
const uint64_t *kl_path_profile_blocks(const struct kl_path_profile *profile, bool unexplained);

/**
 * kl_path_profile_edges - execution counts of the edges, in the order of kl_paths_edges()
 * @profile: profile
 *
 * Includes edges through unobserved blocks where only one way was possible, and edges at which a
 * path is cut. The counts belong to the profile.
 */
const uint64_t *kl_path_profile_edges(const struct kl_path_profile *profile);

#endif /* KERNLENS_PATH_H */
