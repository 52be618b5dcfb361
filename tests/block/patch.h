/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Patches of a running kernel, read and compared with the text that they stand for: patch.c.
 */
#ifndef KL_TESTS_BLOCK_PATCH_H
#define KL_TESTS_BLOCK_PATCH_H

#include "plan.h"

/* What came of it. */
struct patches {
	uint64_t windows; /* whose patches were followed */
	uint64_t unseen; /* breakpoints that nothing else leads to */
	uint64_t instructions;
	uint64_t points; /* whose instruments were met */
	uint64_t missing; /* points that were not, but of breakpoints */
	uint64_t wrong;
};

/* Follow the patches of a plan that is spliced now; adds to @sum. */
void patches_read(struct patches *sum, struct kl_blocks *blocks, const struct plan *plan);

/* TAP lines, and the figures. */
void patches_report(const struct patches *sum);

#endif /* KL_TESTS_BLOCK_PATCH_H */
