// SPDX-License-Identifier: GPL-2.0
/*
 * in v6.7: get_file_rcu takes the pointer's address, since files are reused at once
 * ("file: convert to SLAB_TYPESAFE_BY_RCU")
 */
#include <linux/fs.h>

static struct file *__maybe_unused kl_check_get_file_rcu(struct file __rcu **file)
{
	return get_file_rcu(file);
}
