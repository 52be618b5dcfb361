/* SPDX-License-Identifier: GPL-2.0 */
/* A session on the events of one process, which nobody waits for. */
#ifndef KL_VIEW_FOLLOW_H
#define KL_VIEW_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include <kernlens/kernlens.h>

enum follow_state {
	FOLLOW_STARTING,
	FOLLOW_READY,
	FOLLOW_FAILED,
};

struct follow;

/**
 * follow_begin - begin to make and start a session
 * @device: stays open until follow_wait_all()
 * @pid: whose events, with those of its threads and of processes that it makes
 * @syscalls: all system calls, instead of the maskset RDEFAULT
 *
 * Returns NULL without memory.
 */
struct follow *follow_begin(struct kl_device *device, int32_t pid, bool syscalls);

/* How far it is. FOLLOW_READY and FOLLOW_FAILED are for good. */
enum follow_state follow_state(const struct follow *follow);

/* The reader, when it is FOLLOW_READY. */
struct kl_live *follow_live(const struct follow *follow);

/* Why it FOLLOW_FAILED. */
const char *follow_why(const struct follow *follow);

/* Let it go, at any time; the session ends meanwhile. */
void follow_end(struct follow *follow);

/* Wait until all that were let go have ended. */
void follow_wait_all(void);

#endif /* KL_VIEW_FOLLOW_H */
