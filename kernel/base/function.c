// SPDX-License-Identifier: GPL-2.0
/* Finds functions of the kernel by name, as the kernel does not export its own lookup. */
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/uaccess.h>
#include <asm/ibt.h>

#include "function.h"

/*
 * With IBT, the target of an indirect call must begin with a landing pad, which the kernel removes
 * from functions that it only calls directly.
 */
static bool may_be_called(const void *function)
{
#ifdef CONFIG_X86_KERNEL_IBT
	u32 first;

	if (!cpu_feature_enabled(X86_FEATURE_IBT))
		return true;
	return !get_kernel_nofault(first, (const u32 *)function) && first == gen_endbr();
#else
	return true;
#endif
}

/**
 * kl_function_address - address of a function of the kernel
 * @name: its name
 *
 * A kprobe finds a function by name and need not be armed for that. If the function begins with a
 * landing pad, the probe's address is after it. Returns 0 if there is no such function. Context:
 * may sleep.
 */
unsigned long kl_function_address(const char *name)
{
	struct kprobe probe = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };

	if (register_kprobe(&probe))
		return 0;
	unregister_kprobe(&probe);
	return (unsigned long)PTR_ALIGN_DOWN(probe.addr, 8);
}

/**
 * kl_function_find - find a function of the kernel that can be called
 * @name: its name
 *
 * Returns NULL if there is no such function, or if the processor would not allow the call. Context:
 * may sleep.
 */
void *kl_function_find(const char *name)
{
	void *function = (void *)kl_function_address(name);

	return function && may_be_called(function) ? function : NULL;
}
