// SPDX-License-Identifier: GPL-2.0
/*
 * A tracepoint that comes and goes with its module: writing a number to the parameter `pass` hits
 * kls_passed that often, with the numbers from 0 on.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/tracepoint.h>

/* From v6.16 on, DECLARE_TRACE appends _tp to the name. */
#ifndef DECLARE_TRACE_EVENT
#define DECLARE_TRACE_EVENT DECLARE_TRACE
#endif

DECLARE_TRACE_EVENT(kls_passed, TP_PROTO(u64 number), TP_ARGS(number));
DEFINE_TRACE(kls_passed, TP_PROTO(u64 number), TP_ARGS(number));

static int set_pass(const char *said, const struct kernel_param *parameter)
{
	u64 times;
	int error = kstrtou64(said, 0, &times);

	for (u64 i = 0; !error && i < times; i++)
		trace_kls_passed(i);
	return error;
}

static const struct kernel_param_ops pass_ops = { .set = set_pass };

module_param_cb(pass, &pass_ops, NULL, 0200);

static int __init passed_init(void)
{
	return 0;
}

static void __exit passed_exit(void)
{
}

module_init(passed_init);
module_exit(passed_exit);

MODULE_DESCRIPTION("A tracepoint for the tests of kernlens");
MODULE_LICENSE("GPL");
