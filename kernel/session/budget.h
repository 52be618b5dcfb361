/* SPDX-License-Identifier: GPL-2.0 */
/* Limits what the sessions of an unprivileged user may cost at one probe point: see budget.c. */
#ifndef KL_SESSION_BUDGET_H
#define KL_SESSION_BUDGET_H

#include <linux/types.h>

#include "../core/program.h"

struct kl_actions;
struct kl_budget;
struct kl_error;
struct kl_session;

struct kl_budget *kl_budget_claim(struct kl_session *s, const struct kl_actions *actions,
				  struct kl_error *why);
int kl_budget_check(struct kl_session *s, const struct kl_actions *actions, struct kl_error *why);
void kl_budget_release(struct kl_budget *budget);

#endif /* KL_SESSION_BUDGET_H */
