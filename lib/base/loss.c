// SPDX-License-Identifier: GPL-2.0
/* Counts of lost records. */
#include "loss.h"

void kl_loss_count(struct kl_trace_counts *counts, const struct kl_loss *loss)
{
	uint64_t *const sums[KL_LOSS_KINDS] = {
		[KL_LOSS_DISCARDED] = &counts->discarded,
		[KL_LOSS_OVERWRITTEN] = &counts->overwritten,
		[KL_LOSS_BEFORE] = &counts->before,
		[KL_LOSS_CORRUPT] = &counts->damaged,
		[KL_LOSS_UNSTORED] = &counts->unstored,
		[KL_LOSS_UNSEEN] = &counts->unseen,
	};

	*sums[loss->kind] += loss->records;
}
