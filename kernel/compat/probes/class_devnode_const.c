// SPDX-License-Identifier: GPL-2.0
/* in v6.2: a class's devnode callback takes a const device */
#include <linux/device.h>

static char *kl_probe_devnode(const struct device *dev, umode_t *mode)
{
	return NULL;
}

static void __maybe_unused kl_check_class_devnode_const(struct class *class)
{
	class->devnode = kl_probe_devnode;
}
