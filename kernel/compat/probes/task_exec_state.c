// SPDX-License-Identifier: GPL-2.0
/* in v7.2: whether a task may be inspected is kept apart from its memory */
#include <linux/sched.h>
#include <linux/sched/exec_state.h>

static bool __maybe_unused kl_check_task_exec_state(struct task_struct *task)
{
	return rcu_dereference(task->exec_state)->dumpable == TASK_DUMPABLE_OWNER;
}
