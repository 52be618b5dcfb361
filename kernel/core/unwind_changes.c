// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the changes of executable mappings, so that what is known about addresses of a program can
 * be cached: hooks the kernel's functions that every new, changed or moved mapping goes through
 * while it is still locked. Nothing is hooked while no unwind table is loaded.
 */
#include <linux/atomic.h>
#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "../base/error.h"
#include "../base/function.h"
#include "../compat/ftrace.h"
#include "unwind.h"

atomic_t kl_unwind_changes[1u << KL_UNWIND_CHANGES_BITS];

static DEFINE_MUTEX(watch_lock);
static u32 watchers; /* under watch_lock */

static void count_change(const struct vm_area_struct *vma)
{
	if (vma->vm_flags & VM_EXEC)
		atomic_inc(&kl_unwind_changes[hash_ptr(vma->vm_mm, KL_UNWIND_CHANGES_BITS)]);
}

/* perf_event_mmap(vma): mapped, or its protection changed. */
static void on_map(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		   struct ftrace_regs *fregs)
{
	count_change((const struct vm_area_struct *)kl_ftrace_argument(fregs, 0));
}

/* copy_vma(&vma, ...): about to be moved. */
static void on_move(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		    struct ftrace_regs *fregs)
{
	count_change(*(const struct vm_area_struct *const *)kl_ftrace_argument(fregs, 0));
}

static struct hook {
	const char *function;
	ftrace_func_t handler;
	struct ftrace_ops ops;
} hooks[] = {
	{ .function = "perf_event_mmap", .handler = on_map },
	{ .function = "copy_vma", .handler = on_move },
};

static int hook(struct hook *h)
{
	unsigned long address = (unsigned long)kl_function_find(h->function);
	int error;

	if (!address)
		return -ENOENT;
	/* Freeing a filter leaves pointers to it behind. */
	h->ops = (struct ftrace_ops){ .func = h->handler };
	error = ftrace_set_filter_ip(&h->ops, address, 0, 1);
	if (error)
		return error;
	error = register_ftrace_function(&h->ops);
	if (error)
		ftrace_free_filter(&h->ops);
	return error;
}

static void unhook(struct hook *h)
{
	unregister_ftrace_function(&h->ops);
	ftrace_free_filter(&h->ops);
}

/**
 * kl_unwind_changes_watch - keep the counts of changes up to date
 * @why: set on failure
 *
 * Returns 0 or a negative errno. Context: may sleep.
 */
int kl_unwind_changes_watch(struct kl_error *why)
{
	int error = 0;
	u32 i;

	mutex_lock(&watch_lock);
	for (i = 0; !watchers && i < ARRAY_SIZE(hooks); i++) {
		error = hook(&hooks[i]);
		if (error) {
			kl_fail(why, error, "cannot hook function %s", hooks[i].function);
			while (i--)
				unhook(&hooks[i]);
			break;
		}
	}
	watchers += !error;
	mutex_unlock(&watch_lock);
	return error;
}

/**
 * kl_unwind_changes_unwatch - undo one kl_unwind_changes_watch()
 *
 * Context: may sleep.
 */
void kl_unwind_changes_unwatch(void)
{
	mutex_lock(&watch_lock);
	if (!--watchers)
		for (u32 i = 0; i < ARRAY_SIZE(hooks); i++)
			unhook(&hooks[i]);
	mutex_unlock(&watch_lock);
}
