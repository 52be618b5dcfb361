// SPDX-License-Identifier: GPL-2.0
/* in v6.16: text comes from read-only pages that are shared, to be written with text_poke */
#include <linux/execmem.h>

static void *__maybe_unused kl_check_execmem_read_only(void)
{
	return execmem_alloc_rw(EXECMEM_MODULE_TEXT, PAGE_SIZE);
}
