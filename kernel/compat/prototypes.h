/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoint arguments that differ between supported kernels. Rows of events.def have the newest
 * form; what exists on one side of a change only is written, with the generated macros, as
 *
 *	KL_NEW_x(...)	exists since the change that compat/probes/x.c tests for
 *	KL_OLD_x(...)	exists before it
 *
 * A value that a kernel does not pass is written as 0 or "" there.
 */
#ifndef KL_COMPAT_PROTOTYPES_H
#define KL_COMPAT_PROTOTYPES_H

#include "compat/compat_config.h"

/* What mm_vmscan_direct_reclaim_begin and mm_vmscan_memcg_reclaim_begin pass. */
#ifdef KL_HAVE_VMSCAN_MEMCG
#define KL_VMSCAN_BEGIN gfp_t gfp_flags, int order, struct mem_cgroup *memcg
#else
#define KL_VMSCAN_BEGIN int order, gfp_t gfp_flags
#endif

/* in v6.9: a lease is a struct of its own; it and a lock share a core */
#ifdef KL_HAVE_FILE_LEASE
#define KL_FILE_LEASE file_lease
#define KL_LOCK_CORE(lock, member) ((lock)->c.flc_##member)
#else
#define KL_FILE_LEASE file_lock
#define KL_LOCK_CORE(lock, member) ((lock)->fl_##member)
#endif

#endif /* KL_COMPAT_PROTOTYPES_H */
