/* SPDX-License-Identifier: GPL-2.0 */
/* Suspends sessions whose probes take too much CPU time: see watchdog.c. */
#ifndef KL_SESSION_WATCHDOG_H
#define KL_SESSION_WATCHDOG_H

#include <linux/types.h>

struct kl_session;

void kl_watchdog_init_session(struct kl_session *s);
void kl_watchdog_start(struct kl_session *s);
void kl_watchdog_stop(struct kl_session *s);
void kl_watchdog_forget(struct kl_session *s);
void kl_watchdog_init(void);
void kl_watchdog_deinit(void);

#endif /* KL_SESSION_WATCHDOG_H */
