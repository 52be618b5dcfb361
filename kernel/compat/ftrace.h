/* SPDX-License-Identifier: GPL-2.0 */
/* Arguments of a hooked function, whatever the accessor's name; guards against recursion. */
#ifndef KL_COMPAT_FTRACE_H
#define KL_COMPAT_FTRACE_H

#include <linux/ftrace.h>
#include <linux/ptrace.h>
#include <linux/trace_recursion.h>

/* The accessor is a macro; before v6.2 the registers are in the struct itself. */
#ifdef ftrace_regs_get_argument
#define kl_ftrace_argument(fregs, n) ftrace_regs_get_argument(fregs, n)
#else
#define kl_ftrace_argument(fregs, n) regs_get_kernel_argument(&(fregs)->regs, n)
#endif

/*
 * As the kernel's own functions, which change a word of the running task that a call in an
 * interrupt may read at the same time: that call restores the word.
 */
static __always_inline int kl_recursion_enter(unsigned long ip, unsigned long parent)
{
	return data_race(ftrace_test_recursion_trylock(ip, parent));
}

static __always_inline void kl_recursion_leave(int bit)
{
	data_race((ftrace_test_recursion_unlock(bit), 0));
}

#endif /* KL_COMPAT_FTRACE_H */
