/* SPDX-License-Identifier: GPL-2.0 */
/* Notifications that a session's rules send to its owner: see notify.c. */
#ifndef KL_CORE_NOTIFY_H
#define KL_CORE_NOTIFY_H

#include <linux/irq_work.h>

#include "../../uapi/kernlens.h"
#include "waiters.h"

struct kl_error;
struct kl_rule;
struct kl_session;

/**
 * struct kl_alarm - an alarm that a rule has raised
 * @busy: a probe is writing it
 * @number: sequence number, from 1; 0: unused, or being written
 * @time: clock cycles
 * @event: id of the event that raised it
 * @tid: thread id of the running task; @tid, @pid and @comm are zero if the owner may not see it
 * @pid: process id of that task
 * @comm: name of that task
 * @rule: has the text; exists until the session ends
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
 * struct kl_notify - alarms and snapshot requests of a session's rules, and missing unwind tables
 * @irq: wakes waiting tasks, from a context where that is allowed
 * @waiters: tasks that poll the session's descriptor
 * @alarms: number of alarms raised
 * @snapshots: number of snapshots requested
 * @files: number of files that lacked an unwind table in a stack trace
 * @kept: the last KL_ALARMS_KEPT alarms; NULL until a rule raises alarms
 */
struct kl_notify {
	struct irq_work irq;
	struct kl_waiters waiters;
	atomic64_t alarms;
	atomic64_t snapshots;
	atomic64_t files;
	struct kl_alarm *kept;
};

void kl_notify_init(struct kl_notify *notify);
void kl_notify_deinit(struct kl_notify *notify);
int kl_notify_prepare(struct kl_session *s, struct kl_error *why);
void kl_notify_alarm(struct kl_session *s, u32 event, const struct kl_rule *r);
void kl_notify_snapshot(struct kl_session *s);
void kl_notify_file(struct kl_session *s);
int kl_notify_check_snapshot(const struct kl_session *s, struct kl_error *why);
int kl_notify_request_snapshot(struct kl_session *s, struct kl_error *why);
void kl_notify_wake(struct kl_session *s);
u64 kl_notify_number(const struct kl_session *s);
int kl_notify_read(struct kl_session *s, struct kl_abi_alarms *alarms, struct kl_error *why);

#endif /* KL_CORE_NOTIFY_H */
