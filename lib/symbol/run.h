/* SPDX-License-Identifier: GPL-2.0 */
/* Runs programs over recorded events. Feeds plan/filter.c, report/series.c. */
#ifndef KL_LIB_SYMBOL_RUN_H
#define KL_LIB_SYMBOL_RUN_H

#include <kernlens/event.h>
#include <kernlens/expression.h>

/* A program without the memory that it does not need. */
struct kl_run {
	struct kl_abi_op *ops;
	uint8_t *data;
};

/* Can the program run over a recorded event? Fails with an error text if not. */
int kl_run_check(const struct kl_code *code, const char *text);

/* Copy a program. Returns 0 or -ENOMEM with an error text. */
int kl_run_init(struct kl_run *run, const struct kl_code *code);

void kl_run_deinit(struct kl_run *run);

/*
 * The result of a program that kl_run_check() accepts and that was compiled in a scope with
 * kl_scope_set_recorded(). What the event does not contain is 0, as in the module.
 */
uint64_t kl_run(const struct kl_run *run, const struct kl_event *event);

#endif /* KL_LIB_SYMBOL_RUN_H */
