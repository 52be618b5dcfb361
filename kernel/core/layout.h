/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the kernel keeps what its headers hide from modules, and which of its text is the
 * scheduler's: found when the module is loaded, constant since. Variables read it.
 */
#ifndef KL_CORE_LAYOUT_H
#define KL_CORE_LAYOUT_H

#include <linux/types.h>

/**
 * struct kl_layout - what was found
 * @nr_running: number of runnable tasks in each CPU's run queue, or NULL
 * @no_run_queue: why that is NULL
 * @link_count: offset of the number of links followed in the kernel's struct for a path walk
 * @link_depth: offset of the number of links that contain the current position
 * @no_path_walk: why these two are not known, else NULL
 * @sched_begin: first address of the scheduler's functions
 * @sched_bytes: their size, or 0 if they are not known
 */
struct kl_layout {
	const u32 __percpu *nr_running;
	const char *no_run_queue;
	u32 link_count;
	u32 link_depth;
	const char *no_path_walk;
	unsigned long sched_begin;
	unsigned long sched_bytes;
};

extern struct kl_layout kl_layout;

void kl_layout_init(void);

#endif /* KL_CORE_LAYOUT_H */
