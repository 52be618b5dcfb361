// SPDX-License-Identifier: GPL-2.0
/* in v7.1: the address to return to is passed */
#include <linux/ptrace.h>
#include <asm/text-patching.h>

static void __maybe_unused kl_check_int3_call_return(struct pt_regs *regs)
{
	int3_emulate_call(regs, regs->ip, 0);
}
