/* SPDX-License-Identifier: GPL-2.0 */
/* Makes events and losses from numbers, and passes them to the report that is tested. */
#ifndef KL_TESTS_UNIT_LIB_FEED_H
#define KL_TESTS_UNIT_LIB_FEED_H

#include <kernlens/internal.h>

#define US 1000ull
#define MS 1000000ull
#define BEGIN (1700000000ull * 1000000000ull)

typedef int (*feed_fn)(void *report, const struct kl_item *item);

/* The schema of the events; to whom they are passed, and how. */
extern struct kl_schema *feed_schema;
extern feed_fn feed_take;
extern void *feed_to;

/* Values of the schema's variables, or NULL. */
extern const uint8_t *feed_variables;

/* Values of an event; those that follow are 0. */
#define NUMBERS(...) ((const uint64_t[]){ __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0 })

/*
 * An event of a task, or of task 7. The numbers are those of its fields, in their order, without
 * texts, which all are @text, and arrays, which are 0.
 */
void feed_event_of(const char *name, unsigned int cpu, uint64_t ns, const struct kl_task *task,
		   const char *text, const uint64_t *number);
void feed_event(const char *name, unsigned int cpu, uint64_t ns, const uint64_t *number);

/* Records of a CPU are missing. */
void feed_loss(enum kl_loss_kind kind, uint32_t cpu);

#endif /* KL_TESTS_UNIT_LIB_FEED_H */
