/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of the test of details: the process that is inspected, and requests through
 * the library. The witnesses are /proc, lsof, pmap and ss in the same guest.
 */
#ifndef KL_TESTS_DETAILS_H
#define KL_TESTS_DETAILS_H

#include <kernlens/internal.h>

/* kl.h does not use the library and defines functions of the same names. */
#define kl_filter kl_raw_filter
#define kl_use kl_raw_use
#include "../kl.h"
#undef kl_filter
#undef kl_use

#define SUBJECT_FD_MANY 700
#define SUBJECT_MAPS_MANY 3000
#define USER1 60001
#define USER2 60002
#define USER3 60003

extern struct kl_device *device;

/* Starts the subject, which stops itself by SIGSTOP once its setup is complete. */
pid_t start_subject(void);

/*
 * Does the kernel support sockets of @family? Tests of an unsupported family are skipped with a
 * note.
 */
bool has_family(int family);

/* Forks and returns as fork() does, in the child, too. The child ends with the test. */
pid_t fork_child(void);

/* Waits until the task sleeps, according to /proc. Returns false if it does not within 10 s. */
bool wait_asleep(pid_t pid, const char *states);

/* Gets details that must exist. */
struct kl_details get(pid_t pid, uint32_t what);

/*
 * Reads a file of /proc, NUL terminated; its size goes to *@bytes. The next call overwrites the
 * buffer.
 */
char *read_proc(pid_t pid, const char *name, size_t *bytes);

/* Finds the line "Name: value" and returns the value, after the colon and blanks; NULL if none. */
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
