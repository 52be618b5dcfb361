// SPDX-License-Identifier: GPL-2.0
/* in v6.19: entries of page tables that are not present are leaves of several kinds */
#include <linux/leafops.h>

static bool __maybe_unused kl_check_softleaf(pte_t pte)
{
	softleaf_t entry = softleaf_from_pte(pte);

	return softleaf_is_swap(entry) || softleaf_is_migration(entry);
}
