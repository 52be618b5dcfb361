// SPDX-License-Identifier: GPL-2.0
/* in v6.4: class_create takes only the name, no longer the module */
#include <linux/device/class.h>

static struct class *__maybe_unused kl_check_class_create_name(void)
{
	return class_create("kernlens");
}
