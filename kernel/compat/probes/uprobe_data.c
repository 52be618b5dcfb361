// SPDX-License-Identifier: GPL-2.0
/* in v6.13: handlers get a word of the consumer's for each call of a function */
#include <linux/uprobes.h>

static int kl_check_handler(struct uprobe_consumer *self, struct pt_regs *regs, __u64 *data)
{
	return 0;
}

static void __maybe_unused kl_check_uprobe_data(struct uprobe_consumer *consumer)
{
	consumer->handler = kl_check_handler;
}
