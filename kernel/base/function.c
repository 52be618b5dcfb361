// SPDX-License-Identifier: GPL-2.0
/* Finds functions of the kernel by name, as the kernel does not export its own lookup. */
#include <linux/kprobes.h>

#include "function.h"

/**
 * kl_function_find - find a function of the kernel
 * @name: its name
 *
 * A kprobe finds a function by name and need not be armed for that. If the function begins with a
 * landing pad, the probe's address is after it. Returns NULL if there is no such function. Call it
 * as function.h says, not through this pointer. Context: may sleep.
 */
void *kl_function_find(const char *name)
{
	struct kprobe probe = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };
	void *function;

	if (register_kprobe(&probe))
		return NULL;
	function = PTR_ALIGN_DOWN(probe.addr, 8);
	unregister_kprobe(&probe);
	return function;
}
