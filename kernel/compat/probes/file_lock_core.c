// SPDX-License-Identifier: GPL-2.0
/*
 * in v6.9: locks and leases share a struct
 * ("filelock: split common fields into struct file_lock_core")
 */
#include <linux/filelock.h>

static unsigned char __maybe_unused kl_check_file_lock_core(const struct file_lock *lock)
{
	return lock->c.flc_type;
}
