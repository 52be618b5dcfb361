/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One probe per row of events.def: kl_probe_NAME(session, the row's prototype...). Called by the
 * kernel's tracepoints, and by kernel/source and kernel/task for the events that the module fires
 * itself. A second one serves all sessions with a gate: kl_hub_NAME(hub, the row's prototype...).
 * Context: any, preemption off.
 */
#ifndef KL_SOURCE_PROBES_H
#define KL_SOURCE_PROBES_H

#include "event_values.h"
#include "events_present.h"
#include "prototypes.h"
#include "trace_headers.h"

#define KL_TP(target, ...) , ##__VA_ARGS__
#define KL_FN(target, ...) , ##__VA_ARGS__
#define KL_OWN(...) , ##__VA_ARGS__
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings) \
	KL_ROW_##name(void kl_probe_##name(void *data source);)               \
		KL_ROW_##name(void kl_hub_##name(void *data source);)
#include "../../uapi/events.def"
#undef KL_EVENT
#undef KL_TP
#undef KL_FN
#undef KL_OWN

#endif /* KL_SOURCE_PROBES_H */
