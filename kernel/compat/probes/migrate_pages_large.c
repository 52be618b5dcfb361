// SPDX-License-Identifier: GPL-2.0
/* in v6.7: mm_migrate_pages passes the number of large folios that were split */
#include <trace/events/migrate.h>

static void kl_probe_migrate_pages_large(void *data, unsigned long succeeded, unsigned long failed,
					 unsigned long thp_succeeded, unsigned long thp_failed,
					 unsigned long thp_split, unsigned long large_folio_split,
					 enum migrate_mode mode, int reason)
{
}

static void __maybe_unused kl_check_migrate_pages_large(void)
{
	check_trace_callback_type_mm_migrate_pages(kl_probe_migrate_pages_large);
}
