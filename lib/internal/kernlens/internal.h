/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Includes every header of the library, for the command, the views and the tests: the public ones,
 * and those of this folder, which are not installed. What the latter declare is not exported by
 * the shared library, and changes with the command.
 */
#ifndef KERNLENS_INTERNAL_H
#define KERNLENS_INTERNAL_H

#include <kernlens/kernlens.h>

#include <kernlens/address_store.h>
#include <kernlens/analysis.h>
#include <kernlens/ber_reader.h>
#include <kernlens/block.h>
#include <kernlens/btf.h>
#include <kernlens/cgroup.h>
#include <kernlens/cgroup_store.h>
#include <kernlens/clocks.h>
#include <kernlens/compress.h>
#include <kernlens/config.h>
#include <kernlens/crash.h>
#include <kernlens/csv.h>
#include <kernlens/cursor.h>
#include <kernlens/detail.h>
#include <kernlens/export.h>
#include <kernlens/expression.h>
#include <kernlens/filter_any.h>
#include <kernlens/flame.h>
#include <kernlens/growth.h>
#include <kernlens/histogram.h>
#include <kernlens/history.h>
#include <kernlens/id_names.h>
#include <kernlens/inspect.h>
#include <kernlens/io_report.h>
#include <kernlens/irq_report.h>
#include <kernlens/latency.h>
#include <kernlens/lock_holds.h>
#include <kernlens/lock_use.h>
#include <kernlens/locks.h>
#include <kernlens/machine.h>
#include <kernlens/maskset.h>
#include <kernlens/measure.h>
#include <kernlens/memory.h>
#include <kernlens/memory_history.h>
#include <kernlens/metrics.h>
#include <kernlens/mm_report.h>
#include <kernlens/near.h>
#include <kernlens/net_report.h>
#include <kernlens/path.h>
#include <kernlens/plan_blocks.h>
#include <kernlens/plot.h>
#include <kernlens/process_splice.h>
#include <kernlens/processes.h>
#include <kernlens/profile.h>
#include <kernlens/program.h>
#include <kernlens/record_copy.h>
#include <kernlens/sched_report.h>
#include <kernlens/schema_define.h>
#include <kernlens/series.h>
#include <kernlens/session_define.h>
#include <kernlens/set.h>
#include <kernlens/source.h>
#include <kernlens/splice.h>
#include <kernlens/stack_store.h>
#include <kernlens/states_report.h>
#include <kernlens/timeline.h>
#include <kernlens/timeline_index.h>
#include <kernlens/trace_folder.h>
#include <kernlens/trace_items.h>
#include <kernlens/trace_place.h>
#include <kernlens/turns.h>
#include <kernlens/watch.h>
#include <kernlens/why.h>

#endif /* KERNLENS_INTERNAL_H */
