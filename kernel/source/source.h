/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where events come from: the table built from events.def, and attaching a session to an event.
 * Fed by the kernel's tracepoints, ftrace and notifiers; fires through the probes in probes.c.
 * Attaching and detaching need the session's lock.
 */
#ifndef KL_SOURCE_SOURCE_H
#define KL_SOURCE_SOURCE_H

#include <linux/types.h>

#include "../../uapi/kernlens.h"
#include "../base/tracepoint.h"
#include "../core/rights.h"

struct kl_session;
struct kl_change;
struct kl_error;
struct task_struct;
struct tracepoint;

enum kl_set {
	KL_SET_DEFAULT,
	KL_SET_ALL,
	KL_SET_REQUEST,
};

/**
 * struct kl_event - one row of events.def
 * @source: enum kl_source
 * @access: enum kl_access
 * @target: name of the tracepoint or function
 * @probe: the probe to attach; its first argument is the session
 * @hub: the probe to register for all sessions with a gate; NULL if none
 * @function: the function's address; NULL if this kernel does not export it or the row has none
 * @absent: why this build has no probe for it; empty if it has one
 */
struct kl_event {
	u16 id;
	u8 source;
	u8 access;
	u8 set;
	const char *name;
	const char *target;
	void *probe;
	void *hub;
	void *function;
	const char *absent;
};

/* All rows, in the table's order. */
extern const struct kl_event kl_events[];
extern const u32 kl_event_count;

const struct kl_event *kl_event_of(u32 id);
bool kl_event_is_syscall(u32 id);
bool kl_event_is_fired_by_syscalls(u32 id, bool *exit);
u8 kl_event_set(u32 id);
const void *kl_event_place(u32 id, const char **name);
bool kl_event_is_allowed(u32 may, u32 id, struct kl_error *why);
u32 kl_event_absent(u32 id, char reason[KL_ERROR_TEXT_MAX]);

int kl_source_init(void);
void kl_source_deinit(void);
int kl_source_attach(struct kl_session *s, u32 id, struct kl_error *why);
void kl_source_detach(struct kl_session *s, u32 id);
void *kl_source_hub(const struct tracepoint *tp);

/* hub.c */
void kl_source_synchronize(void);

/* syscall.c: the entries of all calls share a tracepoint, and so do the exits */
int kl_syscalls_attach(struct kl_session *s, bool exit, struct kl_error *why);
void kl_syscalls_detach(struct kl_session *s, bool exit);
bool kl_syscall_is_known(u32 number);
bool kl_syscall_executes(u32 number);
u32 kl_syscall_strings_number(u32 number);
bool kl_syscall_memory_rows(u32 number);
const struct tracepoint *kl_syscall_tracepoint(bool exit);
int kl_syscall_init(void);
void kl_syscall_deinit(void);

/* function.c */
int kl_function_attach(struct kl_session *s, const struct kl_event *e, struct kl_error *why);
void kl_function_detach(struct kl_session *s, const struct kl_event *e);

/* notifier.c */
int kl_notifier_attach(struct kl_session *s, const struct kl_event *e, struct kl_error *why);
void kl_notifier_detach(struct kl_session *s, const struct kl_event *e);
void kl_mark_fire(u64 value, const char *text);
void kl_splice_fire(const char *session, u32 windows, u32 points);
void kl_unsplice_fire(const char *session, u32 windows, u32 lost);
void kl_set_fire(struct task_struct *t, const struct kl_change *change, bool told);

/* follow.c: a session's task set follows forks */
int kl_follow_attach(struct kl_session *s, struct kl_error *why);
void kl_follow_detach(struct kl_session *s);

#endif /* KL_SOURCE_SOURCE_H */
