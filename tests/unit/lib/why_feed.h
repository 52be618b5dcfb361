/* SPDX-License-Identifier: GPL-2.0 */
/* Makes the events of tasks, interrupts, packets and work items, and adds them to timelines. */
#ifndef KL_TESTS_UNIT_LIB_WHY_FEED_H
#define KL_TESTS_UNIT_LIB_WHY_FEED_H

#include <kernlens/internal.h>

/* States of sched_switch, and values of in_irq. */
enum {
	RUNS = 0,
	SLEEPS = 1,
	STOPS = 4,
	DIES = 0x80,
};

enum {
	IN_TASK,
	IN_SOFTIRQ,
	IN_IRQ,
};

#define MAIN 10
#define HELPER 11
#define CHILD 12
#define OTHER 13

/* The schema of the events, and the timelines of the present test. */
extern struct kl_schema *schema;
extern struct kl_why *why;

/* Timelines that are given the same events, or NULL. */
extern struct kl_why *twin;

/* The value of in_irq, and whether the schema has that variable, its first. */
extern uint8_t in_irq;
extern bool has_in_irq;

/* Fields are packed in the order of the class. */
struct payload {
	uint8_t bytes[256];
	uint32_t n;
};

void put(struct payload *p, const void *bytes, size_t n);
void put_number(struct payload *p, int64_t number, size_t n);
void put_comm(struct payload *p, const char *comm);

/* An event at a time, in a task; the first returns an error, the other does not. */
int try_add(const char *event, uint64_t us, unsigned int cpu, int tid, const struct payload *p);
void add(const char *event, uint64_t us, unsigned int cpu, int tid, const struct payload *p);

void change(uint64_t us, unsigned int cpu, int from, int64_t state, int to);
void wake(uint64_t us, unsigned int cpu, int waker, int tid);

/* @name: of a device; NULL: softirq NET_RX, or no name */
void interrupt(const char *event, uint64_t us, unsigned int cpu, const char *name);

/* A packet of the loopback device, in its numbers only the address. */
void packet(const char *event, uint64_t us, unsigned int cpu, int tid, uint64_t address,
	    const char *device);
void work(const char *event, uint64_t us, unsigned int cpu, int tid, uint64_t address);
void fork_at(uint64_t us, int parent, int child);
void exit_at(uint64_t us, unsigned int cpu, int tid);

/* Begin a test, with empty timelines. */
void begin(void);

/* To be freed. */
struct kl_why_node *explain(int tid, uint64_t from_us, uint64_t to_us);

/* 0 for none. */
uint64_t us_of(const struct kl_why_node *node);

/* The first part of a kind, with this text; NULL: any. */
const struct kl_why_node *part(const struct kl_why_node *node, enum kl_why_kind kind,
			       const char *text);

/* Do the parts of each node add up to it? */
bool adds_up(const struct kl_why_node *node);

#endif /* KL_TESTS_UNIT_LIB_WHY_FEED_H */
