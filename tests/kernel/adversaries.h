/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of adversaries.c share: who they are, what they can be recognised by, and the
 * search of whatever an owner without privilege gets for what is not its own.
 */
#ifndef KL_TESTS_ADVERSARIES_H
#define KL_TESTS_ADVERSARIES_H

#include "kl.h"

/* The user who traces, another one, and root. The other's user id does not occur by chance. */
#define UID_A 60001u
#define UID_B 0x5ec4e7b2u

/* Thread ids that no other number is likely to be. */
#define FIRST_TID 3456000u
#define LAST_TID 4194304u

enum owner {
	OWNER_A,
	OWNER_B,
	OWNER_ROOT,
	OWNERS
};

/*
 * Begins all names, arguments and memory of an owner that can be told apart: 8 bytes, of which the
 * secret in buffers is the first half.
 */
#define MARKER_BYTES 8
extern const char *const markers[OWNERS];
extern const char *const secrets[OWNERS]; /* 16 bytes */

#define PATH_SUID_ROOT "/tmp/adv-suid0"
#define PATH_SUID_B "/tmp/adv-suid2"

struct shared {
	volatile int stop;
	volatile u32 rounds[OWNERS];
	/* Threads of others, a bit each from FIRST_TID on. */
	volatile u8 foreign[(LAST_TID - FIRST_TID) / 8 + 1];
	int sockets[2]; /* descriptors pass through it, from B to A */
};

/* Of all processes, from main() on. */
extern struct shared *shared;

/* ---------------------------------------------------------------- the work */

/* Round after round until shared->stop; one of the processes of each owner. */
void work_as(enum owner owner);
/* Processes of user A that are not for it to see, or not always. */
void work_hidden(void);
void work_changing(void);
/* What the set-user-id programs do. */
int run_suid(enum owner owner);

/* -------------------------------------------------------------- the search */

#define SEARCH_VARIABLES 63

/**
 * struct search - what was found in a session's blocks and in answers
 * @variables: that the session's records have, in order
 * @own: pieces of data with the owner's own marker
 * @seen: and with those of others
 * @found: the first thing that should not be there; empty: nothing
 * @event_of: of each thread id from FIRST_TID on: an event that carried it, or 0
 */
struct search {
	u32 variables;
	struct {
		const char *name;
		u32 bytes;
	} variable[SEARCH_VARIABLES];
	u64 records;
	u64 blocks;
	u64 bytes;
	u64 own;
	u64 seen[OWNERS];
	char found[400];
	u32 *event_of;
};

void search_init(struct search *s);
void search_free(struct search *s);
/* A whole block that was read or mapped; its records, and all of its bytes. */
void search_block(struct search *s, const u8 *block, u32 bytes);
/* Bytes whose meaning is of no matter. */
void search_bytes(struct search *s, const char *what, const void *from, size_t bytes);
/* When the others have noted all of their threads: has one of them been met? */
void search_threads(struct search *s);

/* Test lines about the search itself. */
void check_search(void);

#endif /* KL_TESTS_ADVERSARIES_H */
