/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of adversaries.c: the owners, the markers that identify their data, and the
 * search for foreign data in everything that an unprivileged owner gets.
 */
#ifndef KL_TESTS_ADVERSARIES_H
#define KL_TESTS_ADVERSARIES_H

#include "../kl.h"

/* The tracing user, another user, and root. The other's user id does not occur by chance. */
#define UID_A 60001u
#define UID_B 0x5ec4e7b2u

/* Thread ids that no other number is likely to equal. */
#define FIRST_TID 3456000u
#define LAST_TID 4194304u

enum owner {
	OWNER_A,
	OWNER_B,
	OWNER_ROOT,
	OWNERS
};

/*
 * Prefix of all names, arguments and memory contents by which an owner can be recognized: 8 bytes.
 * Its first half makes up the secret in buffers.
 */
#define MARKER_BYTES 8
extern const char *const markers[OWNERS];
extern const char *const secrets[OWNERS]; /* 16 bytes */

#define PATH_SUID_ROOT "/tmp/adv-suid0"
#define PATH_SUID_B "/tmp/adv-suid2"

struct shared {
	volatile int stop;
	volatile u32 rounds[OWNERS];
	/* Threads of other owners, one bit each from FIRST_TID on. */
	volatile u8 foreign[(LAST_TID - FIRST_TID) / 8 + 1];
	int sockets[2]; /* descriptors pass through it from B to A */
};

/* Shared by all processes, from main() on. */
extern struct shared *shared;

/* -------------------------------------------------------------------- work */

/* One process of each owner runs this, round after round, until shared->stop. */
void work_as(enum owner owner);
/* Processes of user A that it may not see, or only at times. */
void work_hidden(void);
void work_changing(void);
/* The work of the set-user-id programs. */
int run_suid(enum owner owner);

/* ------------------------------------------------------------------ search */

#define SEARCH_VARIABLES 63

/**
 * struct search - what was found in a session's blocks and in answers
 * @variables: variables in the session's records, in order
 * @own: pieces of data with the owner's own marker
 * @seen: pieces of data with the markers of the others
 * @found: the first thing that should not be there; empty if nothing was found
 * @event_of: for each thread id from FIRST_TID on: an event that carried it, or 0
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
	u64 memory; /* records with memory of arguments */
	u64 seen[OWNERS];
	char found[400];
	u32 *event_of;
};

void search_init(struct search *s);
void search_free(struct search *s);
/* Searches a whole block that was read or mapped: its records, and all of its bytes. */
void search_block(struct search *s, const u8 *block, u32 bytes);
/* Searches bytes regardless of their meaning. */
void search_bytes(struct search *s, const char *what, const void *from, size_t bytes);
/* Checks once the others have recorded all of their threads: was any of these ids seen? */
void search_threads(struct search *s);

/* Prints test lines about the search itself. */
void check_search(void);

#endif /* KL_TESTS_ADVERSARIES_H */
