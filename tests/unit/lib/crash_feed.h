/* SPDX-License-Identifier: GPL-2.0 */
/* A session's records in the memory of a machine, and what is extracted of them. */
#ifndef KL_TESTS_UNIT_LIB_CRASH_FEED_H
#define KL_TESTS_UNIT_LIB_CRASH_FEED_H

#include "machine.h"

#define CRASH_BEGIN 100000ull
#define CRASH_BASE 0x100000ull
#define CRASH_RECORDS_MAX 4000u

/* What was recorded, by number; @torn: was not finished. */
struct crash_made {
	struct machine m;
	unsigned int n;
	uint64_t time[CRASH_RECORDS_MAX];
	uint32_t cpu[CRASH_RECORDS_MAX];
	bool torn[CRASH_RECORDS_MAX];
	struct kl_abi_block *last[MACHINE_CPUS];
};

/* What was extracted. @wrong: was not recorded, or not finished, or is out of order. */
struct crash_got {
	int error;
	unsigned int notices;
	unsigned int sessions;
	unsigned int events;
	unsigned int wrong;
	uint64_t missing; /* as the trace says */
	unsigned int stacks; /* traces of which all frames are right */
	unsigned int named; /* frames with a name, each of which is right */
	bool cgroup; /* the path of one is there */
	bool has[CRASH_RECORDS_MAX];
};

/* Call before all others; returns the schema of the records, or NULL. crash_end() frees everything. */
const struct kl_schema *crash_begin(void);
void crash_end(void);

/* A machine with a session, whose memory begins at @base. */
struct crash_made *crash_make(uint64_t base);
void crash_forget(struct crash_made *made);

/* The file that the memory is written to. */
const char *crash_image(void);

/* Extract from a file, or from the memory as an ELF core. What is returned is valid until the next. */
struct crash_got *crash_extract(const struct crash_made *made, const char *path);
struct crash_got *crash_extract_elf(const struct crash_made *made);

/* Was everything extracted? Prints what is not. */
bool crash_is_whole(const struct crash_made *made, const struct crash_got *got);

#endif /* KL_TESTS_UNIT_LIB_CRASH_FEED_H */
