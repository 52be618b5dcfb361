/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What calls do to sessions: create and find them, start and stop them, change what they record.
 * core/session.h has the struct and what probes need.
 */
#ifndef KL_SESSION_SESSION_H
#define KL_SESSION_SESSION_H

#include "../core/rule.h"
#include "../core/session.h"

struct kl_session *kl_session_create(const struct kl_abi_session *params, const struct cred *cred,
				     u32 may, const struct kl_payer *payer, struct kl_error *why);
struct kl_session *kl_session_find(u32 id, const struct cred *cred, u32 may, struct kl_error *why);
void kl_session_close(struct kl_session *s);
int kl_session_try_start(struct kl_session *s, u32 *delay, struct kl_error *why);
int kl_session_start(struct kl_session *s, struct kl_error *why);
void kl_session_stop(struct kl_session *s);
int kl_session_try_use(struct kl_session *s, u32 maskset, u32 extra, u32 *delay,
		       struct kl_error *why);
void kl_session_stop_locked(struct kl_session *s);
int kl_session_use(struct kl_session *s, u32 maskset, struct kl_error *why);
int kl_session_set_filter(struct kl_session *s, const struct kl_abi_filter *f,
			  struct kl_error *why);
int kl_session_change_tasks(struct kl_session *s, struct kl_abi_tasks *t, struct kl_error *why);
void kl_deferred_work(struct work_struct *work);
void kl_session_stats(struct kl_session *s, struct kl_abi_stats *stats);
void kl_session_fill_status(struct kl_session *s, struct kl_abi_status *status);
int kl_session_counts(struct kl_session *s, struct kl_abi_counts *counts, struct kl_error *why);
int kl_session_status(struct kl_abi_status *status, const struct cred *cred, u32 may);
u32 kl_session_number(const struct cred *cred, u32 may);
u32 kl_sessions_attached(u32 id, const struct cred *cred, u32 may);
int kl_sessions_init(void);
void kl_sessions_deinit(void);

/* maskset.c */
struct kl_actions *kl_actions_create(struct kl_session *s, u32 defined, struct kl_error *why);
void kl_actions_destroy(struct kl_session *s, struct kl_actions *actions);
void kl_actions_retire(struct kl_session *s, struct kl_actions *actions);
struct kl_actions *kl_maskset_compile(struct kl_session *s, u32 id, struct kl_error *why);
void kl_maskset_ask(const struct kl_session *s, struct kl_actions *actions);
int kl_maskset_write(struct kl_session *s, struct kl_abi_maskset *m, struct kl_error *why);
int kl_maskset_read(struct kl_session *s, struct kl_abi_maskset *m, struct kl_error *why);
int kl_maskset_find(struct kl_session *s, const char *name, struct kl_error *why);
void kl_masksets_destroy(struct kl_session *s);

/* patches.c: probes and text patches, charged */
u32 kl_patches_count(struct kl_session *s, const struct kl_actions *wanted);
u32 kl_patches_to_start(struct kl_session *s, const struct kl_actions *actions);
int kl_probe_attach(struct kl_session *s, u32 id, struct kl_error *why);
int kl_probe_attach_syscalls(struct kl_session *s, bool exit, struct kl_error *why);

/* rule.c, define.c, metadata.c: what a session creates for itself */
int kl_session_add_events(struct kl_session *s, struct kl_abi_events *e, struct kl_error *why);
int kl_session_add_program(struct kl_session *s, struct kl_abi_program *p, struct kl_error *why);
int kl_session_add_rule(struct kl_session *s, struct kl_abi_rule *r, struct kl_error *why);
void kl_session_defs_deinit(struct kl_session *s);
void kl_session_defs_init(struct kl_session_defs *c);
int kl_session_get_metadata(struct kl_session *s, struct kl_abi_metadata *m, struct kl_error *why);
bool kl_session_has_flags(const struct kl_session *s);
int kl_session_read_handler(struct kl_session *s, struct kl_abi_handler_read *to,
			    struct kl_error *why);
int kl_session_set_metadata(struct kl_session *s, const struct kl_abi_metadata *m,
			    struct kl_error *why);
int kl_session_table(struct kl_session *s, struct kl_abi_table *t, struct kl_error *why);
void kl_metadata_put(struct kl_metadata *m);

#endif /* KL_SESSION_SESSION_H */
