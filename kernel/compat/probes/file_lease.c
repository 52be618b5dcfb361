// SPDX-License-Identifier: GPL-2.0
/* in v6.9: leases have their own struct; its member c is what they share with locks */
#include <linux/filelock.h>

static fl_owner_t __maybe_unused kl_check_file_lease(const struct file_lease *lease,
						     const struct file_lock *lock)
{
	return lease->c.flc_type == lock->c.flc_type ? lease->c.flc_owner : NULL;
}
