// SPDX-License-Identifier: GPL-2.0
/* until v6.3: the callback for symbols also takes the module */
#include <linux/kallsyms.h>

static int kl_check_visitor(void *data, const char *name, struct module *module, unsigned long at)
{
	return 0;
}

static int __maybe_unused kl_check_each_symbol(void)
{
	return kallsyms_on_each_symbol(kl_check_visitor, NULL);
}
