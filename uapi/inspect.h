/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Variables of processes and threads, now: KL_IOC_INSPECT on any descriptor of the
 * device. Included by kernlens.h.
 */
#ifndef KL_UAPI_INSPECT_H
#define KL_UAPI_INSPECT_H

#include "types.h"

#define KL_INSPECT_ALL 0x1u /* all that the opener may see, not those of `ids` */
#define KL_INSPECT_THREADS 0x2u /* a row a thread */

#define KL_INSPECT_VARIABLES_MAX 160
#define KL_INSPECT_IDS_MAX 65536

enum kl_inspected {
	KL_INSPECTED = 0,
	KL_INSPECTED_NOT = 1, /* none that the opener is allowed to see: values are 0 */
};

/*
 * A row is this and the values, in the order asked for, packed: a number in the bytes
 * of its type, a text in 16.
 */
struct kl_abi_inspected {
	__s32 id; /* of the process, or of the thread, in the caller's pid namespace */
	__u32 status; /* enum kl_inspected */
};

KL_ABI_ASSERT(sizeof(struct kl_abi_inspected) == 8, "head of a row");

/*
 * Rows of `ids` come in their order. Each is one process, with what its threads, also
 * those that have ended, have used together; of a thread that is not its process's
 * first, it is that thread alone. With THREADS each id gives a row for each thread of its process.
 * ALL gives them in no order. As many rows are written as there is room for. Variables may have
 * the scopes task and system; of the others there are cpu and numa_node.
 */
struct kl_abi_inspect {
	__u32 size;
	__u32 flags; /* KL_INSPECT_* */
	__u32 n_variables;
	__u32 n_ids;
	__u64 variables; /* __u32 *: ids of variables.def, each once */
	__u64 ids; /* __s32 *: in the caller's pid namespace */
	__u64 rows; /* void *: written */
	__u64 room; /* bytes of it */
	__u64 monotonic_ns; /* out: when it was begun */
	__u32 row_bytes; /* out */
	__u32 n_rows; /* out: written */
	__u32 n_there; /* out: rows that exist; if more than written, call again */
	__u32 reserved;
};

#endif /* KL_UAPI_INSPECT_H */
