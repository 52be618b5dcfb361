/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * KL_IOC_SET: reports a change of a process's parameter as the event process_set. The caller
 * makes the change itself with the kernel's own calls, so it is refused where they refuse it.
 * Before the change, the caller announces it (KL_SET_BEGIN): the module takes a reference to the
 * task and reads the old value. Afterwards, the caller reports the result of its call
 * (KL_SET_END): the module reads the value again and fires the event.
 *
 * The old and the new value come from the kernel; `asked` and `error` are claims of the caller.
 * The caller is the cause of the change only if no other task changed the value concurrently. One
 * change at a time per descriptor. A change that is not ended is reported with the error
 * ECANCELED when the next one begins or the descriptor is closed.
 *
 * A task that the caller is not allowed to see gives the same result as one that does not exist.
 */
#ifndef KL_UAPI_SET_H
#define KL_UAPI_SET_H

#include "types.h"

enum kl_set_what {
#define KL_SETTING(id, macro, name, scope, help) KL_SET_##macro = id,
#include "settings.def"
#undef KL_SETTING
};

#define KL_SET_LIMIT 16 /* plus RLIMIT_* */
#define KL_SET_ERROR_MAX 4095

enum kl_set_step {
	KL_SET_BEGIN = 1,
	KL_SET_END = 2,
};

/* out of BEGIN: `start_ns` was set, and the task with that id was not started then */
#define KL_SET_ABSENT 0x1u
/* out of END: the values are filled in, because the caller may see the task */
#define KL_SET_TOLD 0x2u
/* out of END: the task has ended; the values are its last ones */
#define KL_SET_ENDED 0x4u

/*
 * A value is a number and a text, truncated to KL_STRING_MAX - 1 bytes:
 *
 *   nice, oom_score_adj, priority   the number
 *   policy         SCHED_*; "fifo:10,reset_on_fork"
 *   affinity       CPUs 0..63 as bits; "0-3,6", of the CPUs in use
 *   ioprio         as for ioprio_get(2); "best-effort:4"
 *   timer_slack    ns
 *   cgroup         id in cgroup v2; its path as seen from the caller's cgroup namespace
 *   limit.*        soft limit (-1: unlimited); "1024:unlimited"
 */
struct kl_abi_set {
	__u32 size;
	__u32 step; /* enum kl_set_step */
	__s32 id; /* begin: thread or process, in the caller's pid namespace */
	__u32 what; /* begin: enum kl_set_what */
	__u64 start_ns; /* begin: variable start_time of the task; 0: do not check */
	__s32 error; /* end: 0 or the errno of the kernel's call */
	__u32 flags; /* out: KL_SET_* */
	__s64 old_value; /* out of END */
	__s64 new_value; /* out of END */
	char asked[KL_STRING_MAX]; /* begin: the requested value, terminated by a NUL */
	char old_text[KL_STRING_MAX]; /* out of END */
	char new_text[KL_STRING_MAX]; /* out of END */
};

KL_ABI_ASSERT(sizeof(struct kl_abi_set) == 48 + 3 * KL_STRING_MAX, "set");

#endif /* KL_UAPI_SET_H */
