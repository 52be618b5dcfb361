/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the test of details share: the process that is looked at, and asking
 * by the library. The witnesses are /proc, lsof, pmap and ss in the same guest.
 */
#ifndef KL_TESTS_DETAILS_H
#define KL_TESTS_DETAILS_H

#include <kernlens/kernlens.h>

/* kl.h goes without the library, and has names of its own for the same. */
#define kl_filter kl_raw_filter
#define kl_use kl_raw_use
#include "kl.h"
#undef kl_filter
#undef kl_use

#define SUBJECT_FD_MANY 700
#define SUBJECT_MAPS_MANY 3000
#define USER1 60001
#define USER2 60002
#define USER3 60003

extern struct kl_device *device;

/* Started, and stopped by SIGSTOP when it has all that it shall have. */
pid_t start_subject(void);

/* Does the kernel have sockets of it? A test of one that is not there is left out, and says so. */
bool has_family(int family);

/* Forks; returns in the child, too, as fork() does. Ended with the test. */
pid_t fork_child(void);

/* Wait until the task sleeps, by /proc. False: it does not within 10 s. */
bool wait_asleep(pid_t pid, const char *states);

/* Details that must be there. */
struct kl_details get(pid_t pid, uint32_t what);

/* A file of /proc, NUL ended; its bytes in *@bytes. Static, for the next call. */
char *read_proc(pid_t pid, const char *name, size_t *bytes);

/* "Name: value" of a file of lines: what is behind the colon and blanks; NULL. */
const char *find_line(const char *text, const char *name);

/* Groups of tests. */
void test_numbers(pid_t pid);
void test_lists(pid_t pid);
void test_maps(pid_t pid, const char *what);
void test_files(pid_t pid, const char *what);
void test_tools(pid_t pid);
void test_waits(void);
void test_access(void);
void test_races(unsigned int seconds);
int run_setuid_phase(void);

#endif /* KL_TESTS_DETAILS_H */
