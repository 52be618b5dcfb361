/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A call of the device that faults.c makes fail at each fault point, and the state in which it is
 * made. The calls that define things are in faults_define.c.
 */
#ifndef KL_TESTS_FAULTS_H
#define KL_TESTS_FAULTS_H

#include "../text.h"

/* How much of the world is set up before a call. */
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
	int made; /* descriptor that the call has returned */
	u32 id;
	u64 answer[4096]; /* room for the largest struct */
};

struct call {
	const char *name;
	enum level level;
	int (*run)(struct world *w); /* 0, a descriptor, or -errno */
	bool (*undone)(struct world *w); /* after -ENOMEM: is all as before? */
	u32 most; /* the last fault point tried one by one; 0: all are */
	void (*prepare)(struct world *w); /* additional setup before the call */
};

extern const struct call define_calls[];
extern const u32 n_define_calls;

struct kl_abi_status status_of(struct world *w);

#endif /* KL_TESTS_FAULTS_H */
