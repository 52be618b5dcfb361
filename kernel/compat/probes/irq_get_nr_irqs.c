// SPDX-License-Identifier: GPL-2.0
/* in v6.13: the number of interrupt lines is read through a function */
#include <linux/irqnr.h>

static unsigned int __maybe_unused kl_check_irq_get_nr_irqs(void)
{
	return irq_get_nr_irqs();
}
