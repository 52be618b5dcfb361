/* SPDX-License-Identifier: GPL-2.0 */
/* Counts of lost records. */
#ifndef KL_LIB_LOSS_H
#define KL_LIB_LOSS_H

#include <kernlens/trace.h>

/* Add the records of a loss to the totals of its kind. */
void kl_loss_count(struct kl_trace_counts *counts, const struct kl_loss *loss);

#endif /* KL_LIB_LOSS_H */
