// SPDX-License-Identifier: GPL-2.0
/* in v6.19: the state of an inode is read through functions */
#include <linux/fs.h>

static u64 __maybe_unused kl_check_inode_state_read(struct inode *inode)
{
	return inode_state_read_once(inode);
}
