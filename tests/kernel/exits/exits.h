/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the parts of the test of exits: the processes that are read, and the results. */
#ifndef KL_TESTS_EXITS_H
#define KL_TESTS_EXITS_H

#include <kernlens/internal.h>

/* kl.h does not use the library and defines functions of the same names. */
#define kl_filter kl_raw_filter
#define kl_use kl_raw_use
#include "../kl.h"
#undef kl_filter
#undef kl_use

#define USER1 60001
#define SLACK_NS 50000
#define OPEN_FILES 1000
#define READERS 6

/**
 * struct how - the results of a reader, for the test to judge
 * @there: answers about a process of the swarm
 * @ended: answers that the process has ended or does not exist
 * @wrong: answers that cannot be true; @said: the first of these
 */
struct how {
	u64 calls, there, ended, again, wrong;
	char said[200];
};

struct shared {
	volatile bool stop;
	volatile u64 made;
	volatile u32 newest;
	pid_t spawner;
	struct how how[READERS];
};

extern struct shared *shared;
extern struct how *how; /* this reader's */

/*
 * A task of the swarm gets its name only after all its other properties have been set. The name
 * consists of its tid, its sequence number, and a checksum of both, so an answer that has the name
 * must match it in everything else.
 */
struct identity {
	u32 tid;
	u32 number;
};

void give_name(u32 number);
bool has_name(const char *comm, struct identity *is);
static inline u32 uid_of(u32 number)
{
	return USER1 + (number & 1);
}
static inline int nice_of(u32 number)
{
	return 1 + number % 4;
}

/* exits_read.c */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
void inspect_all(bool of_user);
void ask_details(bool of_user);
void read_machine(bool of_user);

#endif /* KL_TESTS_EXITS_H */
