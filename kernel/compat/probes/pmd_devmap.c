// SPDX-License-Identifier: GPL-2.0
/* until v6.16: pages of device memory are marked as such in page tables */
#include <linux/mm.h>
#include <linux/pgtable.h>

static int __maybe_unused kl_check_pmd_devmap(pmd_t pmd)
{
	return pmd_devmap(pmd);
}
