/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The events that a report uses: which of them an event is, and where its fields are, both looked
 * up by name once for each trace. A field that is missing from a trace is 0, or an empty text.
 */
#ifndef KL_LIB_REPORT_EVENTS_H
#define KL_LIB_REPORT_EVENTS_H

#include <stdbool.h>
#include <kernlens/buffer.h>
#include <kernlens/event.h>
#include <kernlens/internal.h>

#define KL_REPORT_EVENTS_MAX 32
#define KL_REPORT_FIELDS_MAX 12

/**
 * struct kl_report_event - an event that a report uses
 * @name: its name
 * @needed: the report is impossible without it
 * @fields: names of its fields, which are used by their index here
 */
struct kl_report_event {
	const char *name;
	bool needed;
	const char *fields[KL_REPORT_FIELDS_MAX];
};

/**
 * struct kl_report_events - the events of a report in a trace
 * @row: them
 * @n: number of them
 * @field: index of each field in the trace's schema, negative if it has none
 * @seen: how often each has occurred
 * @which: by ID, the number of the event, plus 1; 0: the report does not use it
 */
struct kl_report_events {
	const struct kl_report_event *row;
	unsigned int n;
	int field[KL_REPORT_EVENTS_MAX][KL_REPORT_FIELDS_MAX];
	uint64_t seen[KL_REPORT_EVENTS_MAX];
	uint8_t which[KL_EV_IDS];
};

/* @n is at most KL_REPORT_EVENTS_MAX. */
void kl_report_events_init(struct kl_report_events *events, const struct kl_schema *schema,
			   const struct kl_report_event *row, unsigned int n);

/* The number of an event among those that the report uses, which is counted; -1: it does not. */
static inline int kl_report_event_of(struct kl_report_events *events, const struct kl_event *event)
{
	const int which = event->id < KL_EV_IDS ? events->which[event->id] - 1 : -1;

	if (which >= 0)
		events->seen[which]++;
	return which;
}

/* A numeric field of event number @which. */
uint64_t kl_report_number(const struct kl_report_events *events, const struct kl_event *event,
			  int which, unsigned int field);

/* A text field, cut to @bytes including its NUL. */
void kl_report_text(const struct kl_report_events *events, const struct kl_event *event, int which,
		    unsigned int field, char *text, size_t bytes);

/* The bytes of an array field; zeros if it is missing or has another size. */
void kl_report_bytes(const struct kl_report_events *events, const struct kl_event *event, int which,
		     unsigned int field, void *to, size_t bytes);

/*
 * Append the needed events that have not occurred, or with @all also the others, separated by
 * commas.
 */
void kl_report_missing(const struct kl_report_events *events, bool all, struct kl_buffer *names);

#endif /* KL_LIB_REPORT_EVENTS_H */
