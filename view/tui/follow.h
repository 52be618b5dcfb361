/* SPDX-License-Identifier: GPL-2.0 */
/* A session on the events of one process, created and ended in the background. */
#ifndef KL_VIEW_FOLLOW_H
#define KL_VIEW_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include <kernlens/internal.h>

enum follow_state {
	FOLLOW_STARTING,
	FOLLOW_READY,
	FOLLOW_FAILED,
};

struct follow;

/**
 * follow_begin - start to create a session
 * @device: must stay open until follow_wait_all()
 * @pid: process whose events are read, with its threads and the processes that it creates
 * @syscalls: all system calls, instead of the maskset RDEFAULT
 *
 * Returns NULL if the memory or the thread cannot be allocated.
 */
struct follow *follow_begin(struct kl_device *device, int32_t pid, bool syscalls);

/* The current state. FOLLOW_READY and FOLLOW_FAILED are final. */
enum follow_state follow_state(const struct follow *follow);

/* The reader, valid in state FOLLOW_READY. */
struct kl_live *follow_live(const struct follow *follow);

/* Why the state is FOLLOW_FAILED. */
const char *follow_why(const struct follow *follow);

/* Give up the session, at any time; it ends in the background. */
void follow_end(struct follow *follow);

/* Wait until all sessions that were given up have ended. */
void follow_wait_all(void);

#endif /* KL_VIEW_FOLLOW_H */
