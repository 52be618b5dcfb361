/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of the test of hostile users: an ordinary user builds the largest of
 * everything that the device's calls process, and no call may keep the CPU from other tasks.
 */
#ifndef KL_TESTS_HOSTILE_H
#define KL_TESTS_HOSTILE_H

#include <sys/prctl.h>

#include "../kl.h"

#define USER1 60001
#define USER2 60002

/**
 * struct watch - a real-time process on the CPU of the calls, woken every half millisecond
 * @worst_ns: the longest that it waited for the CPU since this was set to 0
 * @wakes: number of wakeups
 */
struct watch {
	volatile u64 worst_ns;
	volatile u64 wakes;
};

extern struct watch *watch;
extern int device;

u64 now_ns(void);

/* Pins the caller to one CPU. */

/* Becomes an ordinary user that processes of the same user may inspect; reopens the device. */
void become(u32 uid);

/*
 * Starts a process that does @work as user 1 and adds its results to the caller's. Returns its pid.
 */
pid_t start_user(void (*work)(void), int cpu);

/* Waits for that process and takes over its test results. */
void finish_user(pid_t pid);

/* Forks a child that sleeps until it is killed; it dies with its parent. */
pid_t fork_sleeper(void);
void end_child(pid_t pid);

/* A buffer for the output of calls. */
#define ROOM (1u << 20)
extern u8 *room;

struct kl_abi_detail detail_of(pid_t pid, u32 what);
int read_detail(struct kl_abi_detail *call);

/* Reads all records of one kind of details. Returns 0 or -errno. */
int read_all(pid_t pid, u32 what);

struct kl_abi_inspect inspect_of(pid_t *pid, const u32 *variables, u32 n);

/* A session of user 1 that follows tasks; started if @start. */
int make_session(bool start);

void *in_thread(void *unused);
void make_threads(u32 n);
void make_deep_folder(u32 levels);

void test_time(void);
void test_kill(void);
void test_locks(void);
void test_churn(void);
void test_visible(void);
void test_device_memory(void);

#endif /* KL_TESTS_HOSTILE_H */
