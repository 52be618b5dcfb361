/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who makes calls of the device: an open file, or the mailbox on behalf of a debugger. See
 * client.c.
 */
#ifndef KL_DEVICE_CLIENT_H
#define KL_DEVICE_CLIENT_H

#include <linux/mutex.h>

#include "../session/session.h"

/**
 * struct kl_client - a caller with a session of its own, or none
 * @lock: one call at a time; guards @session and @why
 * @payer: charged for the client's own memory, and for that of calls that have no session
 * @session: set once when it is created or attached to, then constant
 * @creator: the session is the client's own, and closes with it
 * @changes: may switch the session's masksets, as a creator may
 * @seen: kl_notify_number() when the statistics were last read
 * @setting: the pending change of a process, or NULL
 */
struct kl_client {
	struct mutex lock; /* one call at a time */
	const struct cred *cred;
	u32 may;
	struct kl_payer payer;
	struct kl_session *session;
	bool creator;
	bool changes;
	u64 seen;
	struct kl_setting *setting;
	struct kl_error why;
};

struct kl_client *kl_client_create(const struct cred *cred);
void kl_client_destroy(struct kl_client *client);
long kl_client_call_user(struct kl_client *client, unsigned int cmd, void __user *user);
int kl_client_call(struct kl_client *client, unsigned int cmd, void *arg, u32 bytes);

#endif /* KL_DEVICE_CLIENT_H */
