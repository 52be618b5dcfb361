/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a session's rules want its owner to know at once: see notify.c.
 */
#ifndef KL_CORE_NOTIFY_H
#define KL_CORE_NOTIFY_H

#include <linux/irq_work.h>

#include "../../uapi/kernlens.h"
#include "waiters.h"

struct kl_error;
struct kl_rule;
struct kl_session;

/**
 * struct kl_alarm - an alarm that has been sounded
 * @busy: somebody writes it
 * @number: which it is, from 1; 0: none, or just being written
 * @time: clock cycles
 * @event: at which
 * @tid: of the running task; it, @pid and @comm are zero if the owner may not see it
 * @pid: its process
 * @comm: its name
 * @rule: has the text; stays until the session ends
 */
struct kl_alarm {
	u32 busy;
	u64 number;
	u64 time;
	u32 event;
	s32 tid;
	s32 pid;
	char comm[KL_COMM_LEN];
	const struct kl_rule *rule;
};

/**
 * struct kl_notify - alarms and requests of a session's rules
 * @irq: wakes who waits, from a context where a probe cannot
 * @waiters: those who poll the session's descriptor
 * @alarms: that were sounded
 * @snapshots: that were asked for
 * @kept: the last KL_ALARMS_KEPT of @alarms; NULL until a rule has that handler
 */
struct kl_notify {
	struct irq_work irq;
	struct kl_waiters waiters;
	atomic64_t alarms;
	atomic64_t snapshots;
	struct kl_alarm *kept;
};

void kl_notify_init(struct kl_notify *notify);
void kl_notify_deinit(struct kl_notify *notify);
int kl_notify_prepare(struct kl_session *s, struct kl_error *why);
void kl_notify_alarm(struct kl_session *s, u32 event, const struct kl_rule *r);
void kl_notify_snapshot(struct kl_session *s);
int kl_notify_request_snapshot(struct kl_session *s, struct kl_error *why);
void kl_notify_wake(struct kl_session *s);
u64 kl_notify_number(const struct kl_session *s);
int kl_notify_read(struct kl_session *s, struct kl_abi_alarms *alarms, struct kl_error *why);

#endif /* KL_CORE_NOTIFY_H */
