/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Handles kernels that call a tracepoint's probes with preemption on. What a probe reads is per CPU
 * or protected by RCU, so each function that is registered with a tracepoint begins with
 * kl_probe_begin and ends with kl_probe_end. These are empty if the kernel has preemption off.
 */
#ifndef KL_COMPAT_PREEMPT_H
#define KL_COMPAT_PREEMPT_H

#include <linux/bug.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>

#include "compat/compat_config.h"

/*
 * in v6.13: probes of system calls run with preemption on, and in v7.0 all of them.
 *
 * KL_PROBES_PREEMPTIBLE builds the same code for older kernels. With the value 2 it also undoes
 * what such a kernel does before it calls the probe: tests/kernel/run tests this module in the same
 * way as the regular one. On newer kernels both are the same.
 */
#ifdef KL_HAVE_TRACEPOINT_FAULTABLE
#undef KL_PROBES_PREEMPTIBLE
#define KL_PROBES_PREEMPTIBLE 1
#endif

#ifdef KL_PROBES_PREEMPTIBLE

static inline bool kl_probes_are_preemptible(void)
{
	return true;
}

/* The first call in a probe: fails that test if a function lacks kl_probe_begin. */
static __always_inline void kl_probe_check(void)
{
#if KL_PROBES_PREEMPTIBLE == 2
	WARN_ONCE(preemptible(), "a probe runs with preemption on");
#endif
}

static __always_inline void kl_probe_begin(void)
{
#if KL_PROBES_PREEMPTIBLE == 2
	preempt_enable_notrace();
#endif
	preempt_disable_notrace();
}

/*
 * Uses preempt_enable_notrace instead of the variant that does not reschedule: kernels that turn
 * preemption off for probes turn it on again in the same way, in the same places. It schedules only
 * if nothing else has preemption or interrupts off, so never from within the scheduler, and it may
 * be called before the kernel has noted that a task has left user mode.
 */
static __always_inline void kl_probe_end(void)
{
	preempt_enable_notrace();
#if KL_PROBES_PREEMPTIBLE == 2
	preempt_disable_notrace();
#endif
}

#else

static inline bool kl_probes_are_preemptible(void)
{
	return false;
}

static __always_inline void kl_probe_check(void)
{
}

static __always_inline void kl_probe_begin(void)
{
}

static __always_inline void kl_probe_end(void)
{
}

#endif /* KL_PROBES_PREEMPTIBLE */

#endif /* KL_COMPAT_PREEMPT_H */
