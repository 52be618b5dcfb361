/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the users of users.c do while they are traced: everything has a name that can be searched
 * for, and every thread is recorded in shared memory.
 */
#ifndef KL_TESTS_WORKLOAD_H
#define KL_TESTS_WORKLOAD_H

#include "kl.h"

#define UID_USER1 60001
#define UID_USER2 60002
#define TIDS_MAX 8192

/* Thread ids that no other number is likely to equal. */
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

/* Prefix of the names of everything that an owner has: tasks, files, programs. */
static const char *const owner_names[OWNERS] = { "klown1", "klsecret2", "klsecret0" };

#define NAME_SETUID "klsuid1" /* a set-user-id program started by user 1 */
#define NAME_HIDDEN "klnodump1" /* a process of user 1 that is not dumpable */
#define NAME_CHANGED "klown1-changed" /* a process of root that has become user 1's */
#define NAME_CHANGING0 "klsecret0-ch" /* the files that it uses as root */
#define NAME_CHANGING2 "klsecret2-ch" /* the files that it uses as user 2 */
#define PATH_SETUID "/tmp/kl-users-suid"
#define PATH_SETUID2 "/tmp/kl-users-suid2" /* owned by user 2 */
#define PATH_SHARED "/tmp/kl-users-fifo"

struct shared {
	volatile int stop;
	volatile u32 tids[OWNERS];
	volatile s32 tid[OWNERS][TIDS_MAX];
	volatile s32 process[OWNERS];
	volatile u32 session[OWNERS];
	volatile u32 rounds[OWNERS];
};

/* Shared by all processes, from prepare_workload() on. */
extern struct shared *shared;

void prepare_workload(void);
bool is_others_tid(u64 number);
void use_files(const char *name);
int run_setuid(void);
int run_setuid2(void);

/* Starts a process of user @uid (0: root); its exit status tells whether a check failed. */
pid_t start(void (*run)(void), u32 uid);

#define WORKERS 5
/*
 * Starts the owners' workloads and user 1's hidden and changing processes; they run until
 * shared->stop.
 */
void start_workers(pid_t worker[WORKERS]);

/* users_flags.c */
void check_flags(void);

#endif /* KL_TESTS_WORKLOAD_H */
