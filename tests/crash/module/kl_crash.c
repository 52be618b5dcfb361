// SPDX-License-Identifier: GPL-2.0
/*
 * Crashes the machine in the way that the parameter `kind` names, when it is loaded. For
 * tests/crash/run.
 */
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/smp.h>

#include <asm/desc_defs.h>

static char *kind = "";
module_param(kind, charp, 0);

static void die_in_interrupt(struct irq_work *work)
{
	BUG();
}

static struct irq_work in_interrupt;

/* Not a loop for the compiler, nor a tail call; it does not know that this has no end. */
static noinline int recurse(volatile u8 *above, volatile int *left)
{
	volatile u8 room[256];

	room[0] = above[0];
	return *left ? recurse(room, left) + room[0] : 0;
}

/* A fault whose handler finds no stack. */
static void fault_twice(void)
{
	local_irq_disable();
	asm volatile("xor %%esp, %%esp\n\tmov %%rax, (%%rsp)" ::: "memory");
}

/* A fault, for which there is no handler, nor for that: the processor resets the machine. */
static void fault_thrice(void)
{
	const struct desc_ptr none = {};

	local_irq_disable();
	asm volatile("lidt %0\n\tmov 0, %%al" : : "m"(none) : "al", "memory");
}

static void spin(void *unused)
{
	local_irq_disable();
	for (;;)
		cpu_relax();
}

static int __init kl_crash_init(void)
{
	volatile int one = 1;
	volatile u8 zero = 0;

	if (!strcmp(kind, "null")) {
		*(volatile int *)8 = 1;
	} else if (!strcmp(kind, "interrupt")) {
		init_irq_work(&in_interrupt, die_in_interrupt);
		irq_work_queue(&in_interrupt);
		irq_work_sync(&in_interrupt);
	} else if (!strcmp(kind, "stack")) {
		recurse(&zero, &one);
	} else if (!strcmp(kind, "double")) {
		fault_twice();
	} else if (!strcmp(kind, "triple")) {
		fault_thrice();
	} else if (!strcmp(kind, "panic")) {
		panic("kl_crash");
	} else if (!strcmp(kind, "hang")) {
		preempt_disable();
		smp_call_function(spin, NULL, 0);
		spin(NULL);
	} else {
		return -EINVAL;
	}
	return 0;
}

module_init(kl_crash_init);

MODULE_DESCRIPTION("crashes the machine, for tests");
MODULE_LICENSE("GPL");
