// SPDX-License-Identifier: GPL-2.0
/* in v6.10: memory for text is allocated by its purpose */
#include <linux/execmem.h>

static void __maybe_unused *kl_check_execmem(void)
{
	return execmem_alloc(EXECMEM_MODULE_TEXT, PAGE_SIZE);
}
