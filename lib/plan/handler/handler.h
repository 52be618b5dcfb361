/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a plan makes rules with each handler: a row of uapi/handlers.def and a struct kl_plan_handler
 * in a file of its own. Used by plan.c alone.
 */
#ifndef KL_PLAN_HANDLER_H
#define KL_PLAN_HANDLER_H

#include "../plan.h"

/**
 * struct kl_plan_handler - what a handler takes
 * @least: arguments that it requires; of another module's handler its flags tell
 * @most: arguments that it takes
 * @collects: what its rules collect; whether one of another module takes keys its flags tell, all
 *            others take keys if they collect something
 * @alarms: fires the event `alarm`, which the maskset therefore logs
 * @take: fills in a rule from the arguments of a spec, of which there are enough and not too many;
 *        NULL if it takes none. Returns 0 or a negative errno, with the reason set.
 */
struct kl_plan_handler {
	unsigned char least, most;
	enum kl_collects collects;
	bool alarms;
	int (*take)(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		    struct kl_plan_made *rule);
};

#define KL_HANDLER(id, name, help) extern const struct kl_plan_handler kl_plan_handler_##name;
#include "../../../uapi/handlers.def"
#undef KL_HANDLER

/* argument.c, and flag.c, which plan.c calls, too. */
int kl_plan_take_number(const char *list, const struct kl_part *part, int64_t *number);
int kl_plan_take_flag(struct kl_plan *plan, const char *list, const struct kl_part *part,
		      uint64_t *flag);
int kl_plan_take_value(struct kl_plan *plan, const char *name, const struct kl_part *part,
		       struct kl_plan_made *rule);

#endif /* KL_PLAN_HANDLER_H */
