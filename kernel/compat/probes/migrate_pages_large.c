// SPDX-License-Identifier: GPL-2.0
/* in v6.7: mm_migrate_pages passes the number of large folios that were split */
#include <linux/migrate_mode.h>
#include <linux/tracepoint.h>
#include <trace/events/migrate.h>

static void __maybe_unused kl_check_migrate_pages_large(void)
{
	trace_mm_migrate_pages(0, 0, 0, 0, 0, 0, MIGRATE_ASYNC, MR_COMPACTION);
}
