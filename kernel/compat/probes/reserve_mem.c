// SPDX-License-Identifier: GPL-2.0
/* in v6.12: the argument reserve_mem= reserves memory with a name, by which modules find it */
#include <linux/mm.h>

static int __maybe_unused kl_check_reserve_mem(const char *name, phys_addr_t *start,
					       phys_addr_t *size)
{
	return reserve_mem_find_by_name(name, start, size);
}
