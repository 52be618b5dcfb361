/* SPDX-License-Identifier: GPL-2.0 */
/* CPU time that a session's probes take: see meter.c. */
#ifndef KL_CORE_METER_H
#define KL_CORE_METER_H

#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/workqueue.h>

#include "../../uapi/kernlens.h"

struct kl_cost;
struct kl_session;

#define KL_METER_EVERY 16

enum kl_meter_kind {
	KL_METER_UNPRIVILEGED,
	KL_METER_PRIVILEGED,
	KL_METER_KINDS
};

/**
 * struct kl_meters - what all sessions' meters share
 * @window_cycles: length of a window
 * @allowed_cycles: limit in a window, by kind of session; ~0: none
 * @is_looking: the watchdog is evaluating the measurements; not a bool, as gcc instruments
 *              READ_ONCE of one as a plain access (KCSAN)
 * @waking: starts the watchdog
 */
struct kl_meters {
	u64 window_cycles;
	u64 allowed_cycles[KL_METER_KINDS];
	u32 is_looking;
	struct irq_work waking;
};

extern struct kl_meters kl_meters;

/**
 * struct kl_meter - how a session is measured, and the results
 * @each: every event is measured and may be refused
 * @stopped: it is about to be suspended: no event is handled any more
 * @max_operations: operations of its most expensive program, or of its variables
 * @most: limit on the cycles counted for an event: a longer time has another cause
 * @list: entry in the list of running sessions
 * @looked: when it was last evaluated
 * @spent: its cycles until then
 * @share: its share in the period before that, in thousandths of all CPU time
 * @blamed: CPU on which events were refused then because of it; -1: none
 * @over: for a privileged owner: consecutive periods in which it took too much
 * @refused: consecutive periods in which events were refused because of it
 * @work: suspends it
 * @suspended: reason of the last suspension, and how many there were
 */
struct kl_meter {
	bool each;
	bool stopped;
	u32 max_operations;
	u64 most;
	struct list_head list;
	u64 looked;
	u64 spent;
	u64 share;
	int blamed;
	u32 over;
	u32 refused;
	struct work_struct work;
	struct kl_abi_suspended suspended;
};

/**
 * struct kl_meter_cpu - CPU time that a session has taken on one CPU
 * @firings: counts the events that may be measured
 * @refused: number of refused events
 * @spent: cycles of the events that count (kl_meter_end)
 * @spent_off: cycles with interrupts off
 * @looked_off: @spent_off when the session was last evaluated
 * @looked_refused: @refused when the session was last evaluated
 */
struct kl_meter_cpu {
	u32 firings;
	u32 refused;
	u64 spent;
	u64 spent_off;
	u64 looked_off;
	u32 looked_refused;
};

/**
 * struct kl_section - an event that is being measured
 * @begun: when it began
 * @outer: cycles measured so far in sections nested in the one that encloses this one
 * @weight: number of events that it represents
 * @off: interrupts are off
 */
struct kl_section {
	u64 begun;
	u64 outer;
	u32 weight;
	bool off;
};

u32 kl_meter_percent(enum kl_meter_kind kind);
bool kl_meter_begin(struct kl_session *s, struct kl_section *section);
void kl_meter_end(struct kl_session *s, const struct kl_section *section);
void kl_meter_note_cost(struct kl_session *s, struct kl_cost cost);

#endif /* KL_CORE_METER_H */
