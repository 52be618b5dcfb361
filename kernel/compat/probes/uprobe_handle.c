// SPDX-License-Identifier: GPL-2.0
/* in v6.12: uprobe_register returns a handle, and detaching has two steps: start and wait */
#include <linux/uprobes.h>

static void __maybe_unused kl_check_uprobe_handle(struct inode *inode,
						  struct uprobe_consumer *consumer)
{
	struct uprobe *uprobe = uprobe_register(inode, 0, 0, consumer);

	uprobe_unregister_nosync(uprobe, consumer);
	uprobe_unregister_sync();
}
