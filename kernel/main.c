// SPDX-License-Identifier: GPL-2.0
/*
 * Wiring: sets everything up when the module is loaded, and undoes it in reverse order. The
 * kernel's text is only changed while there is a session.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "compat/clock.h"
#include "core/counter.h"
#include "core/layout.h"
#include "core/lsm.h"
#include "core/stack.h"
#include "device/device.h"
#include "device/proc.h"
#include "handler/dispatch.h"
#include "session/session.h"
#include "session/watchdog.h"
#include "source/dynamic/dynamic.h"
#include "source/source.h"
#include "splice/splice.h"

static int __init kernlens_init(void)
{
	int error;

	kl_clock_init();
	kl_lsm_init();
	kl_layout_init();
	kl_accounts_init();
	kl_watchdog_init();
	error = kl_source_init();
	if (error)
		return error;
	error = kl_counters_init();
	if (error)
		goto deinit_source;
	error = kl_sessions_init();
	if (error)
		goto deinit_counters;
	error = kl_stacks_init();
	if (error)
		goto deinit_sessions;
	error = kl_fire_init();
	if (error)
		goto deinit_stacks;
	error = kl_dynevent_init();
	if (error)
		goto deinit_fire;
	error = kl_splices_init();
	if (error)
		goto deinit_defined;
	error = kl_proc_init();
	if (error)
		goto deinit_splices;
	error = kl_device_init();
	if (error)
		goto deinit_proc;
	return 0;

deinit_proc:
	kl_proc_deinit();
deinit_splices:
	kl_splices_deinit();
deinit_defined:
	kl_dynevent_deinit();
deinit_fire:
	kl_fire_deinit();
deinit_stacks:
	kl_stacks_deinit();
deinit_sessions:
	kl_sessions_deinit();
deinit_counters:
	kl_counters_deinit();
deinit_source:
	kl_source_deinit();
	return error;
}

static void __exit kernlens_exit(void)
{
	kl_device_deinit();
	kl_proc_deinit();
	kl_splices_deinit();
	kl_dynevent_deinit();
	kl_fire_deinit();
	kl_stacks_deinit();
	kl_sessions_deinit();
	kl_counters_deinit();
	kl_source_deinit();
	kl_watchdog_deinit();
	kl_accounts_deinit();
	/* Wait for the RCU callbacks that free sessions' actions and probes' arrays. */
	rcu_barrier();
}

module_init(kernlens_init);
module_exit(kernlens_exit);

MODULE_DESCRIPTION("kernlens: kernel tracer");
MODULE_AUTHOR("The kernlens developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(KL_VERSION);
