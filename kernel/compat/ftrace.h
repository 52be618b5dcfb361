/* SPDX-License-Identifier: GPL-2.0 */
/* Arguments of a hooked function, whatever the kernel calls the accessor. */
#ifndef KL_COMPAT_FTRACE_H
#define KL_COMPAT_FTRACE_H

#include <linux/ftrace.h>
#include <linux/ptrace.h>

/* The accessor is a macro; before v6.2 the registers are in the struct itself. */
#ifdef ftrace_regs_get_argument
#define kl_ftrace_argument(fregs, n) ftrace_regs_get_argument(fregs, n)
#else
#define kl_ftrace_argument(fregs, n) regs_get_kernel_argument(&(fregs)->regs, n)
#endif

#endif /* KL_COMPAT_FTRACE_H */
