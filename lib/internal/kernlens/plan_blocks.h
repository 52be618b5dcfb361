/* SPDX-License-Identifier: GPL-2.0 */
/* Plans: lines of masksets, and points in basic blocks of the kernel and of programs. */
#ifndef KERNLENS_PLAN_BLOCKS_H
#define KERNLENS_PLAN_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/block.h>
#include <kernlens/maskset.h>
#include <kernlens/plan.h>

struct kl_process_splices;
struct kl_session;

/**
 * kl_plan_add_maskset - add the lines of a maskset
 * @plan: plan
 * @maskset: only used during this call
 * @handler: KL_HANDLER_* for lines that name none
 *
 * Works as kl_plan_add() does for each line; error texts begin with "ORIGIN:LINE:COLUMN: ".
 */
int kl_plan_add_maskset(struct kl_plan *plan, const struct kl_maskset *maskset,
			unsigned int handler);

/**
 * kl_plan_use_text - take blocks of the kernel from text that has been read before
 * @plan: plan that has not been compiled
 * @blocks: of the running kernel; must outlive the plan
 *
 * Otherwise the plan reads the kernel's text itself, which takes long, and in which functions that
 * are spliced at that time cannot be planned.
 */
void kl_plan_use_text(struct kl_plan *plan, struct kl_blocks *blocks);

/**
 * kl_plan_count_block - count executions of a block of the kernel, next to the plan's events
 * @plan: plan with kl_plan_use_text()
 * @function: index of the function
 * @block: index in the function's graph
 *
 * A counter costs a fraction of an event with the handler `count`, and counts from when it is in
 * place until it is removed. Returns 0 or -ENOMEM with an error text.
 */
int kl_plan_count_block(struct kl_plan *plan, size_t function, uint32_t block);

/**
 * kl_plan_block_counts - read the counters
 * @plan: applied plan
 * @session: that it was applied to
 * @count: out: one for each of the points of kl_plan_blocks(); 0 for those that fire events
 *
 * Returns 0 or a negative errno with an error text.
 */
int kl_plan_block_counts(const struct kl_plan *plan, struct kl_session *session, uint64_t *count);

/**
 * struct kl_plan_blocks - what became of the requested points in basic blocks
 * @points: requested points
 * @placed: points that fire or count
 * @without: points that have no place for an instrument
 * @refused: points that the module refused
 */
struct kl_plan_blocks {
	uint32_t points;
	uint32_t placed;
	uint32_t without;
	uint32_t refused;
};

/**
 * kl_plan_blocks - totals over the points in basic blocks
 * @plan: applied plan
 */
struct kl_plan_blocks kl_plan_blocks(const struct kl_plan *plan);

/**
 * struct kl_plan_block - a point in a basic block
 * @event: event that fires there; 0: executions are counted
 * @function: index of its function in kl_plan_text()
 * @block: index in the function's graph
 * @behind: after the last instruction of the block that is not a jump, rather than before its
 *          first
 * @reason: why nothing fires or counts there, in one word; NULL: it does
 */
struct kl_plan_block {
	uint32_t event;
	size_t function;
	uint32_t block;
	bool behind;
	const char *reason;
};

/**
 * kl_plan_block - one of the points in basic blocks
 * @plan: applied plan
 * @index: less than the number of points from kl_plan_blocks()
 */
struct kl_plan_block kl_plan_block(const struct kl_plan *plan, uint32_t index);

/**
 * kl_plan_text - the kernel text that contains the points in basic blocks
 * @plan: applied plan; the text belongs to it
 *
 * Returns NULL if there are no such points.
 */
struct kl_blocks *kl_plan_text(const struct kl_plan *plan);

/**
 * kl_plan_process_splices - the programs that must be diverted for the plan's events
 * @plan: compiled
 *
 * Without the right to use uprobes, blocks of programs fire their events themselves. Pass the
 * result to kl_process_splices_begin() once the session runs. Returns NULL if there are no such
 * events.
 */
struct kl_process_splices *kl_plan_process_splices(const struct kl_plan *plan);

#endif /* KERNLENS_PLAN_BLOCKS_H */
