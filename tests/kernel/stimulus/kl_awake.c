// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps a machine from going to sleep, after all others have been told that it will: what they do then,
 * and when they are told that it has not, can be tested where a sleeping machine would not come back.
 */
#include <linux/module.h>
#include <linux/suspend.h>

static int on_sleep(struct notifier_block *block, unsigned long what, void *data)
{
	return what == PM_SUSPEND_PREPARE || what == PM_HIBERNATION_PREPARE ? NOTIFY_BAD :
									      NOTIFY_DONE;
}

static struct notifier_block block = { .notifier_call = on_sleep, .priority = INT_MIN };

static int __init awake_init(void)
{
	return register_pm_notifier(&block);
}

static void __exit awake_exit(void)
{
	unregister_pm_notifier(&block);
}

module_init(awake_init);
module_exit(awake_exit);

MODULE_DESCRIPTION("Keeps a machine awake for the tests of kernlens");
MODULE_LICENSE("GPL");
