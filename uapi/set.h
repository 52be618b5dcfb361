/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * KL_IOC_SET: the event of a change of a process's parameter (process_set). The change itself
 * is made by the caller with the kernel's own calls, so that it is refused where they
 * refuse. Before it, the caller says what it is about to do (KL_SET_BEGIN): the module
 * takes hold of the task and notes the value. After it, the caller says how the call ended
 * (KL_SET_END): the module reads the value again and fires the event.
 *
 * The old and the new value come from the kernel; `asked` and `error` are the caller's claim.
 * The caller changed the value only if nobody else did in the meantime. One change at a time
 * on a descriptor. A change that is not ended is reported with the error ECANCELED when the
 * next begins or the descriptor is closed.
 *
 * For a task that the caller is not allowed to see, the answer is the same as for a task that
 * does not exist.
 */
#ifndef KL_UAPI_SET_H
#define KL_UAPI_SET_H

#include "types.h"

enum kl_set_what {
#define KL_SETTING(id, macro, name, scope, help) KL_SET_##macro = id,
#include "settings.def"
#undef KL_SETTING
};

#define KL_SET_LIMIT 16 /* and RLIMIT_* */
#define KL_SET_ERROR_MAX 4095

enum kl_set_step {
	KL_SET_BEGIN = 1,
	KL_SET_END = 2,
};

/* out of BEGIN: `start_ns` was given, and no task of that number was started then */
#define KL_SET_ABSENT 0x1u
/* out of END: the values are told, as the caller may see the task */
#define KL_SET_TOLD 0x2u
/* out of END: the task has ended; what is told is what it had */
#define KL_SET_ENDED 0x4u

/*
 * A value is a number and a text, cut at KL_STRING_MAX - 1 bytes:
 *
 *   nice, oom_score_adj, priority   the number
 *   policy         SCHED_*; "fifo:10,reset_on_fork"
 *   affinity       CPUs 0..63 as bits; "0-3,6", of those that are in use
 *   ioprio         as ioprio_get(2) has it; "best-effort:4"
 *   timer_slack    ns
 *   cgroup         id of version 2's; its path, as the caller's cgroup namespace has it
 *   limit.*        soft limit (-1: unlimited); "1024:unlimited"
 */
struct kl_abi_set {
	__u32 size;
	__u32 step; /* enum kl_set_step */
	__s32 id; /* begin: thread or process, in the caller's pid namespace */
	__u32 what; /* begin: enum kl_set_what */
	__u64 start_ns; /* begin: the variable start_time of the task meant; 0: whatever it is */
	__s32 error; /* end: 0 or the errno that the kernel's call answered */
	__u32 flags; /* out: KL_SET_* */
	__s64 old_value; /* out of END */
	__s64 new_value; /* out of END */
	char asked[KL_STRING_MAX]; /* begin: what is to be, ended by NUL */
	char old_text[KL_STRING_MAX]; /* out of END */
	char new_text[KL_STRING_MAX]; /* out of END */
};

KL_ABI_ASSERT(sizeof(struct kl_abi_set) == 48 + 3 * KL_STRING_MAX, "set");

#endif /* KL_UAPI_SET_H */
