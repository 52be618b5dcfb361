/* SPDX-License-Identifier: GPL-2.0 */
/* Instructions of the kernel's text, and what a breakpoint does in the place of one. */
#ifndef KL_COMPAT_TEXT_H
#define KL_COMPAT_TEXT_H

#include <linux/ptrace.h>
#include <asm/ibt.h>
#include <asm/text-patching.h>

#include "compat_config.h"

/* Is a function's first word a landing pad, or one that the kernel has sealed? */
static inline bool kl_is_endbr(u32 word)
{
#if !HAS_KERNEL_IBT
	return false;
#elif defined(KL_HAVE_ENDBR_WORD)
	return __is_endbr(word);
#else
	return is_endbr(word);
#endif
}

/* Continue in a function as if the instruction of the breakpoint had called it. */
static __always_inline void kl_emulate_call(struct pt_regs *regs, unsigned long function)
{
#ifdef KL_HAVE_INT3_CALL_RETURN
	int3_emulate_call(regs, regs->ip - INT3_INSN_SIZE + CALL_INSN_SIZE, function);
#else
	int3_emulate_call(regs, function);
#endif
}

#endif /* KL_COMPAT_TEXT_H */
