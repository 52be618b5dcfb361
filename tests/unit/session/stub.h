/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of the kernel as kernel/core/record*.c need to run in user space: every kernel header
 * that they include is made to include this one (see unit.mk). A test may "interrupt" at each
 * access to what interrupts share.
 */
#ifndef KL_TESTS_SESSION_STUB_H
#define KL_TESTS_SESSION_STUB_H

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "../../../kernel/ring/platform.h"

typedef __u16 u16;
typedef __s16 s16;
typedef __s32 s32;
typedef struct {
	u32 value;
} kuid_t;
typedef unsigned int gfp_t;
typedef struct {
	s64 counter;
} atomic64_t;
typedef int wait_queue_head_t;
struct page;
struct rcu_head {
	int unused;
};
struct irq_work {
	int unused;
};
struct work_struct {
	long data;
};
typedef void (*work_func_t)(struct work_struct *work);

struct delayed_work {
	int unused;
};
struct list_head {
	int unused;
};
struct mutex {
	int unused;
};
struct rw_semaphore {
	int unused;
};
struct xarray {
	int unused;
};
struct kref {
	int unused;
};
struct cred {
	int unused;
};

#define TASK_COMM_LEN 16
#define PF_KTHREAD 0x00200000
struct task_struct {
	pid_t pid;
	pid_t tgid;
	char comm[TASK_COMM_LEN];
	u32 flags;
	int exit_state;
	const u64 *other, *more; /* targets of variables behind a pointer */
};

extern struct task_struct *current;
extern struct task_struct init_task;
#define EXIT_DEAD 0x10

#define noinline __attribute__((noinline))
#define __aligned(n) __attribute__((aligned(n)))
#define ____cacheline_aligned
#define __maybe_unused __attribute__((unused))
#define __printf(text, first) __attribute__((format(printf, text, first)))
#define __percpu
#define __rcu
#define PID_MAX_LIMIT 4096
#define BITS_TO_LONGS(bits) (((bits) + 63) / 64)
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define DECLARE_STATIC_KEY_TRUE(name) extern bool name
#define static_branch_likely(key) (*(key))

#define barrier() kl_local_barrier()
#define READ_ONCE(x) (kl_ring_test_hook(), *(volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value)                               \
	do {                                               \
		kl_ring_test_hook();                       \
		*(volatile __typeof__(x) *)&(x) = (value); \
		kl_ring_test_hook();                       \
	} while (0)
#define data_race(access) (access)

struct cred;

static inline const struct cred *get_cred(const struct cred *cred)
{
	return cred;
}
#define rcu_dereference_sched(pointer) (pointer)
#define rcu_dereference_raw(pointer) (pointer)

u64 rdtsc(void);
u64 ktime_get_mono_fast_ns(void);

static inline bool test_bit(u32 bit, const unsigned long *bits)
{
	return bits[bit / 64] >> bit % 64 & 1;
}

static inline void assign_bit(u32 bit, unsigned long *bits, bool value)
{
	bits[bit / 64] = (bits[bit / 64] & ~(1ul << bit % 64)) | (unsigned long)value << bit % 64;
}

/* One CPU. */
#define this_cpu_ptr(pointer) (pointer)

static inline u32 __ffs(u64 word)
{
	return __builtin_ctzll(word);
}

static inline bool in_task(void)
{
	return true;
}

static inline bool uid_eq(kuid_t a, kuid_t b)
{
	return a.value == b.value;
}

static inline kuid_t task_uid(const struct task_struct *t)
{
	return (kuid_t){ t->pid };
}

static inline bool wq_has_sleeper(const wait_queue_head_t *wait)
{
	return *wait;
}

static inline void irq_work_queue(struct irq_work *work)
{
	work->unused = 1;
}

#endif /* KL_TESTS_SESSION_STUB_H */
