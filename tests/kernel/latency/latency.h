/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the parts of the test of latency profiles; latency_profile.c defines it. */
#ifndef KL_TESTS_LATENCY_H
#define KL_TESTS_LATENCY_H

#include "../kl.h"

#define ALL_FLAGS (KL_LATENCY_FLAGS)
#define TASKS_MAX 40000
#define ENTRIES_MAX 100000

/* The result of fetch(). */
extern struct kl_abi_latency_task tasks[TASKS_MAX];
extern struct kl_abi_latency_entry entries[ENTRIES_MAX];
extern struct kl_abi_latency_source sources[256];
extern struct kl_abi_latency_times times[KL_LATENCY_STATES + 1];
extern u32 n_tasks, n_entries, n_sources, n_times;
extern struct kl_abi_latency_read told;
extern double cycles_per_ns;
/*
 * Time advances only with executed instructions: the host never takes a processor from the machine.
 */
extern bool exact;

void fetch(int fd);
const struct kl_abi_latency_task *task_of(int tid);
double ms(u64 cycles);
bool add_up(void);
void print_task(const char *what, const struct kl_abi_latency_task *t);
void print_entry(const char *what, const struct kl_abi_latency_entry *e);
const struct kl_abi_latency_entry *longest(u32 id, u32 state);
int open_profile(u32 flags, u32 n, u32 e);
void start(int fd);
void stop(int fd);
u64 now_ns(void);
void burn_ms(unsigned int time);
bool near(double a, double b, double share, double least);

/* latency_wakers.c */
extern int links[3][2];
void make_links(void);
void drop_links(void);
void pass(int from, int to, unsigned int late_ms, unsigned int burn);
int link_process(int from, int to, unsigned int late_ms, unsigned int burn, int cpu);
void test_chain(unsigned int late_ms, unsigned int burn, bool certain);
void test_pingpong(void);
void test_owner(void);
void test_pi_owner(bool hands_on);

/* latency_io.c */
void test_io(void);

#endif /* KL_TESTS_LATENCY_H */
