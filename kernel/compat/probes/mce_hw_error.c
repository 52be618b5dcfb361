// SPDX-License-Identifier: GPL-2.0
/* in v6.13: mce_record passes a struct that contains the one before */
#include <linux/tracepoint.h>
#include <trace/events/mce.h>
#include <asm/mce.h>

static void kl_probe_mce_hw_error(void *data, struct mce_hw_err *error)
{
}

static void __maybe_unused kl_check_mce_hw_error(void)
{
	check_trace_callback_type_mce_record(kl_probe_mce_hw_error);
}
