// SPDX-License-Identifier: GPL-2.0
/*
 * Prevents a machine from suspending, after all others have been notified that it will. That tests
 * what they do then, and when they are notified that it did not, on machines that would not resume.
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
