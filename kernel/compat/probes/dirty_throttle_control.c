// SPDX-License-Identifier: GPL-2.0
/* in v6.17: balance_dirty_pages passes a struct that has the thresholds */
#include <linux/writeback.h>

static unsigned long __maybe_unused
kl_check_dirty_throttle_control(const struct dirty_throttle_control *dtc)
{
	return dtc->thresh + dtc->wb_thresh;
}
