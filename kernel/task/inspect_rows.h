/* SPDX-License-Identifier: GPL-2.0 */
/* Variables of any task: what inspect.c gives the functions of inspect_rows.c. */
#ifndef KL_TASK_INSPECT_ROWS_H
#define KL_TASK_INSPECT_ROWS_H

#include <linux/ptrace.h>
#include <linux/sched.h>

/**
 * struct kl_subject - a task that is being looked at
 * @mm: its memory; NULL if it has none of its own
 * @in_kernel: it is in the kernel and stays there long enough for @registers, which
 *	are a program's
 * @registers: of its program as it entered the kernel; 0 unless @in_kernel
 */
struct kl_subject {
	struct mm_struct *mm;
	bool in_kernel;
	struct pt_regs registers;
};

typedef u64 (*kl_get_fn)(const struct kl_subject *subject, struct task_struct *t);

/**
 * struct kl_getter - how a variable is told of a task
 * @get: its value, or a text's first half; NULL: it cannot be told without an event
 * @more: a text's second half, else NULL
 */
struct kl_getter {
	kl_get_fn get;
	kl_get_fn more;
};

/**
 * struct kl_getter_sum - how a variable of threads becomes a process's
 * @is_summed: it is what all its threads have together
 * @ended: offset in the process of what threads that have ended had of it; 0: that is lost
 */
struct kl_getter_sum {
	bool is_summed;
	u16 ended;
};

/* By id. */
extern const struct kl_getter kl_getters[];
extern const struct kl_getter_sum kl_getter_sums[];
/* Of variables of a CPU those that are told of the CPU that the task was last on. */
extern const kl_get_fn kl_cpu_getters[];

void kl_subject_read_registers(struct kl_subject *subject, struct task_struct *t);

#endif /* KL_TASK_INSPECT_ROWS_H */
