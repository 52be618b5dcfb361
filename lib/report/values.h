/* SPDX-License-Identifier: GPL-2.0 */
/* Values of events whose fields and variables may be missing from a trace: then they are 0. */
#ifndef KL_LIB_REPORT_VALUES_H
#define KL_LIB_REPORT_VALUES_H

#include <kernlens/event.h>

/* @field: index, or a negative number: missing */
static inline uint64_t kl_field_of(const struct kl_event *event, int field)
{
	return field < 0 ? 0 : kl_event_value(event, (unsigned int)field).number;
}

/* @variable: the same */
static inline uint64_t kl_variable_of(const struct kl_event *event, int variable)
{
	return variable < 0 ? 0 : kl_event_variable(event, (unsigned int)variable).number;
}

/* A field by name. */
static inline int64_t kl_number_of(const struct kl_event *event, const char *field)
{
	struct kl_value value = { .number = 0 };

	return kl_event_field(event, field, &value) ? 0 : (int64_t)value.number;
}

#endif /* KL_LIB_REPORT_VALUES_H */
