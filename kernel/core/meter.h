/* SPDX-License-Identifier: GPL-2.0 */
/* What a session's probes take: see meter.c. */
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
 * @allowed_cycles: of a window, by kind of session; ~0: any
 * @is_looking: somebody compares what has been measured; no bool, as gcc instruments READ_ONCE of
 *              one as a plain access (KCSAN)
 * @waking: has that begin
 */
struct kl_meters {
	u64 window_cycles;
	u64 allowed_cycles[KL_METER_KINDS];
	u32 is_looking;
	struct irq_work waking;
};

extern struct kl_meters kl_meters;

/**
 * struct kl_meter - how a session is measured, and what was found
 * @each: each firing is measured and may be refused
 * @stopped: it is to be suspended: nothing more is done for it
 * @dearest: operations of its dearest program
 * @most: cycles that a firing counts at most: more is not its doing
 * @list: of the sessions that run
 * @looked: when it was looked at last
 * @spent: cycles until then
 * @share: in the period before that, in thousandths of all CPU time
 * @blamed: CPU on which firings were refused then on its account; -1: none
 * @over: of an owner with privilege: periods in a row in which it took too much
 * @refused: periods in a row in which firings were refused on its account
 * @work: suspends it
 * @suspended: what the last suspension was for, and how many there were
 */
struct kl_meter {
	bool each;
	bool stopped;
	u32 dearest;
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
 * struct kl_meter_cpu - what a session has taken on one CPU
 * @firings: counts those that may be measured
 * @refused: firings that were not done
 * @spent: cycles of those that count (kl_meter_end)
 * @spent_off: of those with interrupts off
 * @looked_off: @spent_off when it was looked at last
 * @looked_refused: the same of @refused
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
 * struct kl_section - a firing that is being measured
 * @begun: when
 * @outer: what was measured inside the section that this one has interrupted, or is in
 * @weight: firings that it stands for
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
