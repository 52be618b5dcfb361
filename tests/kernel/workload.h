/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the users of users.c do while they are traced: everything with a name
 * that can be searched for, and every thread noted in shared memory.
 */
#ifndef KL_TESTS_WORKLOAD_H
#define KL_TESTS_WORKLOAD_H

#include "kl.h"

#define UID_USER1 60001
#define UID_USER2 60002
#define TIDS_MAX 8192

/* Thread ids that no other number is likely to be. */
#define FIRST_TID 3456000
#define LAST_TID 4194304
#define STRING_(x) #x
#define STRING(x) STRING_(x)

enum owner {
	OWN,
	OTHER,
	ROOT,
	OWNERS
};

/* Comes first in the names of all that an owner has: its tasks, files, programs. */
static const char *const owner_names[OWNERS] = { "klown1", "klsecret2", "klsecret0" };

#define NAME_SETUID "klsuid1" /* a set-user-id program started by user 1 */
#define NAME_HIDDEN "klnodump1" /* a process of user 1 that is not dumpable */
#define NAME_CHANGED "klown1-changed" /* a process of root's that has become user 1's */
#define NAME_CHANGING0 "klsecret0-ch" /* files of its, while it is root's */
#define NAME_CHANGING2 "klsecret2-ch" /* and user 2's */
#define PATH_SETUID "/tmp/kl-users-suid"
#define PATH_SETUID2 "/tmp/kl-users-suid2" /* user 2's */
#define PATH_SHARED "/tmp/kl-users-fifo"

struct shared {
	volatile int stop;
	volatile u32 tids[OWNERS];
	volatile s32 tid[OWNERS][TIDS_MAX];
	volatile s32 process[OWNERS];
	volatile u32 session[OWNERS];
	volatile u32 rounds[OWNERS];
};

/* Of all processes, from prepare_workload() on. */
extern struct shared *shared;

void prepare_workload(void);
bool is_others_tid(u64 number);
void use_files(const char *name);
int run_setuid(void);
int run_setuid2(void);

/* A process of user @uid (0: root's); its status tells whether one of its checks failed. */
pid_t start(void (*run)(void), u32 uid);

#define WORKERS 5
/* The owners' workloads, and of user 1 what is hidden and what changes; until shared->stop. */
void start_workers(pid_t worker[WORKERS]);

/* users_flags.c */
void check_flags(void);

#endif /* KL_TESTS_WORKLOAD_H */
