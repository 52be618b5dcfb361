/* SPDX-License-Identifier: GPL-2.0 */
/* Variables of any task: what inspect.c passes to the functions of inspect_rows.c. */
#ifndef KL_TASK_INSPECT_ROWS_H
#define KL_TASK_INSPECT_ROWS_H

#include <linux/ptrace.h>
#include <linux/sched.h>

/**
 * struct kl_subject - the task that is being inspected
 * @mm: its memory; NULL if it has none of its own
 * @in_kernel: it was in the kernel while @registers, which are a program's, were read
 * @registers: of its program when it entered the kernel; 0 unless @in_kernel
 */
struct kl_subject {
	struct mm_struct *mm;
	bool in_kernel;
	struct pt_regs registers;
};

typedef u64 (*kl_get_fn)(const struct kl_subject *subject, struct task_struct *t);

/**
 * struct kl_getter - how to get a variable of a task
 * @get: returns its value, or a text's first half; NULL if it is not available without an event
 * @more: returns a text's second half, else NULL
 */
struct kl_getter {
	kl_get_fn get;
	kl_get_fn more;
};

/**
 * struct kl_getter_sum - how a variable of threads becomes a process's
 * @is_summed: it is the sum over all threads
 * @ended: offset in the process of the sum over threads that have ended; 0 if that is lost
 */
struct kl_getter_sum {
	bool is_summed;
	u16 ended;
};

/* Indexed by the variables' ids. */
extern const struct kl_getter kl_getters[];
extern const struct kl_getter_sum kl_getter_sums[];
/* Variables of a CPU that are available for the CPU that the task was last on. */
extern const kl_get_fn kl_cpu_getters[];

void kl_subject_read_registers(struct kl_subject *subject, struct task_struct *t, bool may_trace);

#endif /* KL_TASK_INSPECT_ROWS_H */
