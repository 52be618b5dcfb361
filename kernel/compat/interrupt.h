/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt lines, counts of interrupts, and timers. */
#ifndef KL_COMPAT_INTERRUPT_H
#define KL_COMPAT_INTERRUPT_H

#include <linux/hardirq.h>
#include <linux/hrtimer.h>
#include <linux/irqnr.h>
#include <linux/percpu.h>

#include "compat_config.h"
#ifdef KL_HAVE_HRTIMER_IS_QUEUED
#include <linux/hrtimer_bases.h>
#endif

/* Number of interrupt lines that may exist. */
static inline unsigned int kl_nr_irqs(void)
{
#ifdef KL_HAVE_IRQ_GET_NR_IRQS
	return irq_get_nr_irqs();
#else
	return nr_irqs;
#endif
}

/* Interrupts of this CPU's local timer. Context: any. */
static inline u32 kl_timer_interrupts(void)
{
#if !defined(CONFIG_X86_LOCAL_APIC)
	return 0;
#elif defined(KL_HAVE_IRQ_STAT_COUNTS)
	return this_cpu_read(irq_stat.counts[IRQ_COUNT_APIC_TIMER]);
#else
	return this_cpu_read(irq_stat.apic_timer_irqs);
#endif
}

static inline void kl_hrtimer_setup(struct hrtimer *timer,
				    enum hrtimer_restart (*function)(struct hrtimer *),
				    clockid_t clock, enum hrtimer_mode mode)
{
#ifdef KL_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

/* Does a timer, or what may be one, say that it is started? Context: any. */
static inline bool kl_hrtimer_is_queued(const struct hrtimer *timer)
{
#ifdef KL_HAVE_HRTIMER_IS_QUEUED
	/* Other words than 0 and 1 are no bool. */
	return *(const u8 *)&timer->is_queued == 1;
#else
	return timer->state == HRTIMER_STATE_ENQUEUED;
#endif
}

#endif /* KL_COMPAT_INTERRUPT_H */
