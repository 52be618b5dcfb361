// SPDX-License-Identifier: GPL-2.0
/* in v6.13: a tracepoint declares whether its probes may fault, so some run with preemption on */
#include <linux/tracepoint.h>

static inline bool probe_tracepoint_faultable(struct tracepoint *tp)
{
	return tracepoint_is_faultable(tp);
}
