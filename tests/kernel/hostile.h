/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the test of hostile users share: an ordinary user builds the largest of
 * everything that calls of the device look at, and no call may keep a CPU from others.
 */
#ifndef KL_TESTS_HOSTILE_H
#define KL_TESTS_HOSTILE_H

#include <sys/prctl.h>

#include "kl.h"

#define USER1 60001
#define USER2 60002

/**
 * struct watch - a real-time process on the CPU of the calls, woken every half millisecond
 * @worst_ns: the latest that it got the CPU since it was set to 0
 * @wakes: so often has it been woken
 */
struct watch {
	volatile u64 worst_ns;
	volatile u64 wakes;
};

extern struct watch *watch;
extern int device;

u64 now_ns(void);

/* Run on one CPU only. */
void stay_on(int cpu);

/* As an ordinary user, whom others of the same user may look at; the device is opened anew. */
void become(u32 uid);

/* A process that does @work as user 1 and adds its results to the caller's. Returns its pid. */
pid_t start_user(void (*work)(void), int cpu);

/* Wait for it: its tests are the caller's. */
void finish_user(pid_t pid);

/* A child of a test that sleeps until it is killed; it is killed when its parent dies. */
pid_t fork_sleeper(void);
void end_child(pid_t pid);

/* A buffer for what calls write. */
#define ROOM (1u << 20)
extern u8 *room;

struct kl_abi_detail detail_of(pid_t pid, u32 what);
int read_detail(struct kl_abi_detail *call);

/* All records of a kind of details. Returns 0 or -errno. */
int read_all(pid_t pid, u32 what);

struct kl_abi_inspect inspect_of(pid_t *pid, const u32 *variables, u32 n);

/* A session of user 1 that follows tasks, running if @start. */
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
