/* SPDX-License-Identifier: GPL-2.0 */
/* Values of events whose fields and variables may be missing from a trace. */
#ifndef KL_LIB_REPORT_LOCK_VALUES_H
#define KL_LIB_REPORT_LOCK_VALUES_H

#include <kernlens/event.h>

/* @field: index, or a negative number: missing, 0 */
static inline uint64_t kl_lock_field(const struct kl_event *event, int field)
{
	return field < 0 ? 0 : kl_event_value(event, (unsigned int)field).number;
}

static inline uint64_t kl_lock_variable(const struct kl_event *event, int variable)
{
	return variable < 0 ? 0 : kl_event_variable(event, (unsigned int)variable).number;
}

#endif /* KL_LIB_REPORT_LOCK_VALUES_H */
