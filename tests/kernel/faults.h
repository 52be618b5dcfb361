/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A call of the device that faults.c lets fail at each place, and the world it is made in.
 * faults_define.c has those of what a session defines.
 */
#ifndef KL_TESTS_FAULTS_H
#define KL_TESTS_FAULTS_H

#include "text.h"

/* How far the world is made before a call. */
enum level {
	NOTHING,
	OPENED,
	MADE,
	FOLLOWING,
	USED,
	RUNNING
};

struct world {
	int fd; /* the session's, or the device */
	int second; /* another descriptor of the device */
	int made; /* what the call has returned */
	u32 id;
	u64 answer[4096]; /* room for the largest struct */
};

struct call {
	const char *name;
	enum level level;
	int (*run)(struct world *w); /* 0, a descriptor, or -errno */
	bool (*undone)(struct world *w); /* after -ENOMEM: is all as before? */
	u32 most; /* the last place tried one by one; 0: all */
	void (*prepare)(struct world *w); /* what else comes before it */
};

extern const struct call define_calls[];
extern const u32 n_define_calls;

struct kl_abi_status status_of(struct world *w);

#endif /* KL_TESTS_FAULTS_H */
