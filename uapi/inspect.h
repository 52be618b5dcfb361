/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Current values of variables of processes and threads: KL_IOC_INSPECT on any descriptor of the
 * device. Included by kernlens.h.
 */
#ifndef KL_UAPI_INSPECT_H
#define KL_UAPI_INSPECT_H

#include "types.h"

#define KL_INSPECT_ALL 0x1u /* all tasks that the opener may see, instead of those in `ids` */
#define KL_INSPECT_THREADS 0x2u /* one row per thread */

#define KL_INSPECT_VARIABLES_MAX 160
#define KL_INSPECT_IDS_MAX 65536

enum kl_inspected {
	KL_INSPECTED = 0,
	KL_INSPECTED_NOT = 1, /* no task that the opener may see: all values are 0 */
};

/*
 * A row consists of this struct and the values, packed, in the requested order: a number in the
 * bytes of its type, a text in 16 bytes.
 */
struct kl_abi_inspected {
	__s32 id; /* process or thread, in the caller's pid namespace */
	__u32 status; /* enum kl_inspected */
};

KL_ABI_ASSERT(sizeof(struct kl_abi_inspected) == 8, "head of a row");

/*
 * With `ids`, rows are in the order of `ids`. A row is about one process and sums up the use of
 * all its threads, including those that have ended; if the id is that of a thread other than the
 * first, the row is about that thread alone. With THREADS, each id gives one row for each thread
 * of its process. With ALL, rows are in no particular order. As many rows are written as fit.
 * Variables of the scopes task and system are available, and of the others cpu and numa_node.
 */
struct kl_abi_inspect {
	__u32 size;
	__u32 flags; /* KL_INSPECT_* */
	__u32 n_variables;
	__u32 n_ids;
	__u64 variables; /* __u32 *: ids of variables.def, no duplicates */
	__u64 ids; /* __s32 *: in the caller's pid namespace */
	__u64 rows; /* void *: out */
	__u64 room; /* size of `rows` in bytes */
	__u64 monotonic_ns; /* out: when the call began */
	__u32 row_bytes; /* out */
	__u32 n_rows; /* out: rows written */
	__u32 n_there; /* out: existing rows; if more than were written, call again */
	__u32 reserved;
};

#endif /* KL_UAPI_INSPECT_H */
