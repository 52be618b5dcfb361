// SPDX-License-Identifier: GPL-2.0
/* in v7.1: the reason of mm_migrate_pages_start is an enum */
#include <linux/tracepoint.h>
#include <trace/events/migrate.h>

static void kl_probe_migrate_reason_enum(void *data, enum migrate_mode mode,
					 enum migrate_reason reason)
{
}

static void __maybe_unused kl_check_migrate_reason_enum(void)
{
	check_trace_callback_type_mm_migrate_pages_start(kl_probe_migrate_reason_enum);
}
