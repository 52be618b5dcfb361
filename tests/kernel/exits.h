/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the test of exits share: who is read, and how that went. */
#ifndef KL_TESTS_EXITS_H
#define KL_TESTS_EXITS_H

#include <kernlens/kernlens.h>

/* kl.h goes without the library, and has names of its own for the same. */
#define kl_filter kl_raw_filter
#define kl_use kl_raw_use
#include "kl.h"
#undef kl_filter
#undef kl_use

#define USER1 60001
#define SLACK_NS 50000
#define OPEN_FILES 1000
#define READERS 6

/**
 * struct how - a reader's work, told to the test
 * @there: answers about a process of the swarm
 * @ended: answers that it has ended or is not there
 * @wrong: what nobody can have seen; @said: the first of it
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
 * A task of the swarm is named when all else that it is has been set: by its number, how many
 * were made before it, and a sum of both. So what else is told of it must belong to that.
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
