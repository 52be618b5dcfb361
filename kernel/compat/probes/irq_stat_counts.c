// SPDX-License-Identifier: GPL-2.0
/* in v7.1: a CPU's counts of interrupts are an array */
#include <linux/hardirq.h>

static unsigned int __maybe_unused kl_check_irq_stat_counts(void)
{
	return this_cpu_read(irq_stat.counts[IRQ_COUNT_APIC_TIMER]);
}
