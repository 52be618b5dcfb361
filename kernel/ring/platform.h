/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The platform that the ring needs, for the kernel and for user space, where the unit, stress and
 * ThreadSanitizer tests run. "Local" operations are atomic with respect to interrupts (in user
 * space: signals) on the same CPU (thread), but not to other CPUs, which never write the same word.
 */
#ifndef KL_RING_PLATFORM_H
#define KL_RING_PLATFORM_H

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include <asm/barrier.h>

/*
 * Compare-and-exchange without the lock prefix. On failure, *old is set to the value found. x86-64
 * only, like the module.
 */
static __always_inline bool kl_local_try_cmpxchg(u64 *word, u64 *old, u64 new)
{
	bool done;

	asm volatile("cmpxchgq %[new], %[word]"
		     : "=@ccz"(done), [word] "+m"(*word), "+a"(*old)
		     : [new] "r"(new)
		     : "memory");
	return done;
}

static __always_inline void kl_local_add(u64 *word, u64 n)
{
	asm volatile("addq %[n], %[word]" : [word] "+m"(*word) : [n] "er"(n) : "memory");
}

/*
 * A plain access that an interrupt on this CPU may come into the middle of, if what follows it (the
 * exchange of the position, the state) discards what was read before that interrupt. Unlike kl_load
 * it leaves the compiler its choice of instructions; it marks the race as known, for KCSAN and for
 * the reader of the code. Give the reason at each use.
 */
#define kl_racy(access) data_race(access)

#define kl_exchange(word, value) xchg(&(word), value)
#define kl_try_cmpxchg(word, old, value) try_cmpxchg(&(word), old, value)
#define kl_try_cmpxchg_full(word, old, value) try_cmpxchg(&(word), old, value)
#define kl_load(word) READ_ONCE(word)
#define kl_store(word, value) WRITE_ONCE(word, value)
#define kl_load_acquire(word) smp_load_acquire(&(word))
#define kl_store_release(word, value) smp_store_release(&(word), value)
#define kl_write_barrier() smp_wmb()
#define kl_read_barrier() smp_rmb()
#define kl_local_barrier() barrier()

#else

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>
#include <sys/cdefs.h>

typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

/*
 * With KL_RING_TEST_HOOK the tests supply kl_ring_test_hook() and may "interrupt"
 * there: before each operation, and right after a reservation.
 */
#ifdef KL_RING_TEST_HOOK
void kl_ring_test_hook(void);
#else
static __always_inline void kl_ring_test_hook(void)
{
}
#endif

static __always_inline bool kl_local_try_cmpxchg(u64 *word, u64 *old, u64 new)
{
	bool done;

	kl_ring_test_hook();
	done = __atomic_compare_exchange_n(word, old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
	kl_ring_test_hook();
	return done;
}

static __always_inline void kl_local_add(u64 *word, u64 n)
{
	kl_ring_test_hook();
	__atomic_fetch_add(word, n, __ATOMIC_RELEASE);
}

#define kl_racy(access) (access)
#define kl_exchange(word, value) \
	(kl_ring_test_hook(), __atomic_exchange_n(&(word), value, __ATOMIC_ACQ_REL))
#define kl_try_cmpxchg(word, old, value)                                              \
	(kl_ring_test_hook(), __atomic_compare_exchange_n(&(word), old, value, false, \
							  __ATOMIC_RELEASE, __ATOMIC_RELAXED))
/* Also orders later loads. */
#define kl_try_cmpxchg_full(word, old, value)                                         \
	(kl_ring_test_hook(), __atomic_compare_exchange_n(&(word), old, value, false, \
							  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
#define kl_load(word) (kl_ring_test_hook(), __atomic_load_n(&(word), __ATOMIC_RELAXED))
#define kl_store(word, value) \
	(kl_ring_test_hook(), __atomic_store_n(&(word), value, __ATOMIC_RELAXED))
#define kl_load_acquire(word) (kl_ring_test_hook(), __atomic_load_n(&(word), __ATOMIC_ACQUIRE))
#define kl_store_release(word, value) \
	(kl_ring_test_hook(), __atomic_store_n(&(word), value, __ATOMIC_RELEASE))
#define kl_write_barrier() (kl_ring_test_hook(), __atomic_thread_fence(__ATOMIC_RELEASE))
#define kl_read_barrier() (kl_ring_test_hook(), __atomic_thread_fence(__ATOMIC_ACQUIRE))
#define kl_local_barrier() (kl_ring_test_hook(), __atomic_signal_fence(__ATOMIC_SEQ_CST))

#endif /* __KERNEL__ */
#endif /* KL_RING_PLATFORM_H */
