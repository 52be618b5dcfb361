// SPDX-License-Identifier: GPL-2.0
/* in v6.4: each type of a module's memory is separate */
#include <linux/module.h>

static const void __maybe_unused *kl_check_module_mem(const struct module *module)
{
	return module->mem[MOD_TEXT].base;
}
