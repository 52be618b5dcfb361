/* SPDX-License-Identifier: GPL-2.0 */
/* Reads patches of a running kernel and compares them with the text that they replace (patch.c). */
#ifndef KL_TESTS_BLOCK_PATCH_H
#define KL_TESTS_BLOCK_PATCH_H

#include "plan.h"

/* Totals. */
struct patches {
	uint64_t windows; /* whose patches were followed */
	uint64_t unseen; /* breakpoints that no other patch leads to */
	uint64_t instructions;
	uint64_t points; /* whose instruments were seen */
	uint64_t missing; /* whose instruments were not, except in functions with unseen breakpoints */
	uint64_t behind; /* those in these functions: only the breakpoints' patches lead to them */
	uint64_t wrong;
};

/* Follow the patches of a plan that is now spliced; adds to @sum. */
void patches_read(struct patches *sum, struct kl_blocks *blocks, const struct plan *plan);

/* Report the totals as TAP lines. */
void patches_report(const struct patches *sum);

#endif /* KL_TESTS_BLOCK_PATCH_H */
