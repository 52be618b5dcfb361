// SPDX-License-Identifier: GPL-2.0
/*
 * Perfetto's protobuf (perfetto.proto). Switches and wakeups of tasks are written as the ftrace
 * events that Perfetto knows, so that it shows CPUs and states in its own way; everything else is
 * track events: system calls and other events on the tracks of threads, the reasons of waits on a
 * track below each, interrupts, disks, marks and losses on tracks of their own. Names are written
 * once (interned).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "../../format/print.h"
#include "../values.h"
#include "perfetto.h"

#define CLOCK_REALTIME_ID 1
#define CLOCK_BOOTTIME_ID 6

/* The first fixed priority that is not real-time, as the scheduler counts them. */
#define PRIO_BASE 100

/* In the upper bits of the number of a track; others are kinds. */
#define TRACK_OF_THREAD 1ULL
#define TRACK_OF_STATES 2ULL
#define TRACK_OF_COUNTER 3ULL
#define TRACK_OF_KIND 16ULL
#define TRACK_SHIFT 56

/* -------------------------------------------------------------------- tracks */

static uint64_t track_number(const struct kl_track *track)
{
	switch (track->kind) {
	case KL_TRACK_THREAD:
		return TRACK_OF_STATES << TRACK_SHIFT | track->id;
	case KL_TRACK_SYSCALL:
	case KL_TRACK_EVENT:
		return TRACK_OF_THREAD << TRACK_SHIFT | track->id;
	default:
		return (TRACK_OF_KIND + track->kind) << TRACK_SHIFT | track->id;
	}
}

static int put_descriptor(struct kl_export *x, Perfetto__TrackDescriptor *track, uint64_t number)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	track->has_uuid = true;
	track->uuid = number;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_DESCRIPTOR;
	packet.track_descriptor = track;
	return kl_perfetto_put(x, &packet);
}

static int put_thread(struct kl_export *x, const struct kl_timeline_thread *thread)
{
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ThreadDescriptor of = PERFETTO__THREAD_DESCRIPTOR__INIT;
	const uint64_t id = (uint64_t)(uint32_t)thread->tid;
	int error;

	of.has_pid = true;
	of.pid = thread->pid ? thread->pid : thread->tid;
	of.has_tid = true;
	of.tid = thread->tid;
	of.thread_name = (char *)kl_export_comm(x, thread);
	track.thread = &of;
	error = put_descriptor(x, &track, TRACK_OF_THREAD << TRACK_SHIFT | id);
	if (error || !thread->state || (x->scan->partial && !thread->followed))
		return error;
	track.thread = NULL;
	track.name = "states and reasons";
	track.has_parent_uuid = true;
	track.parent_uuid = track.uuid;
	return put_descriptor(x, &track, TRACK_OF_STATES << TRACK_SHIFT | id);
}

static int put_track(struct kl_export *x, const struct kl_track *of)
{
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	struct kl_buffer name = { 0 };
	int error = 0;

	kl_export_track_name(of, &name);
	if (name.error)
		return -ENOMEM;
	track.name = name.data;
	/* Perfetto shows what runs on CPUs from the switches. */
	if (*name.data && of->kind != KL_TRACK_CPU)
		error = put_descriptor(x, &track, track_number(of));
	kl_buffer_deinit(&name);
	return error;
}

static int put_counter(struct kl_export *x, size_t number)
{
	const struct kl_counter *counter = &x->scan->counter[number];
	const struct kl_variable *variable = kl_schema_variable(x->schema, counter->variable);
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__CounterDescriptor of = PERFETTO__COUNTER_DESCRIPTOR__INIT;
	char name[96];

	snprintf(name, sizeof(name), "%.64s", variable->name);
	if (x->scan->scope[counter->variable] == KL_COUNTER_CPU)
		snprintf(name, sizeof(name), "CPU %llu %.64s", (unsigned long long)counter->id,
			 variable->name);
	if (x->scan->scope[counter->variable] == KL_COUNTER_THREAD) {
		track.has_parent_uuid = true;
		track.parent_uuid = TRACK_OF_THREAD << TRACK_SHIFT | counter->id;
	}
	if (*variable->unit)
		of.unit_name = (char *)variable->unit;
	track.name = name;
	track.counter = &of;
	return put_descriptor(x, &track, TRACK_OF_COUNTER << TRACK_SHIFT | number);
}

/* --------------------------------------------------------------------- start */

/* Perfetto takes times as those of the clock since boot; here, that is the wall clock. */
static int put_clocks(struct kl_export *x)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__ClockSnapshot__Clock clock[2], *list[] = { &clock[0], &clock[1] };

	for (unsigned int i = 0; i < KL_ARRAY_SIZE(clock); i++) {
		perfetto__clock_snapshot__clock__init(&clock[i]);
		clock[i].has_clock_id = true;
		clock[i].clock_id = i ? CLOCK_REALTIME_ID : CLOCK_BOOTTIME_ID;
		clock[i].has_timestamp = true;
		clock[i].timestamp = x->scan->first_ns;
	}
	snapshot.n_clocks = KL_ARRAY_SIZE(clock);
	snapshot.clocks = list;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_CLOCK_SNAPSHOT;
	packet.clock_snapshot = &snapshot;
	return kl_perfetto_put(x, &packet);
}

static int put_system(struct kl_export *x)
{
	const struct kl_trace_info *info = kl_trace_about(x->trace);
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__SystemInfo system = PERFETTO__SYSTEM_INFO__INIT;
	Perfetto__Utsname name = PERFETTO__UTSNAME__INIT;

	name.sysname = "Linux";
	name.release = (char *)info->kernel_release;
	name.version = (char *)info->kernel_version;
	name.machine = "x86_64";
	system.utsname = &name;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_SYSTEM_INFO;
	packet.system_info = &system;
	return kl_perfetto_put(x, &packet);
}

static int put_process(struct kl_export *x, const struct kl_timeline_thread *thread)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ProcessTree tree = PERFETTO__PROCESS_TREE__INIT;
	Perfetto__ProcessTree__Process process = PERFETTO__PROCESS_TREE__PROCESS__INIT;
	Perfetto__ProcessTree__Process *one = &process;
	char *comm = (char *)kl_export_comm(x, thread);

	process.has_pid = true;
	process.pid = thread->tid;
	process.n_cmdline = 1;
	process.cmdline = &comm;
	process.has_cmdline_is_comm = true;
	process.cmdline_is_comm = true;
	tree.n_processes = 1;
	tree.processes = &one;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_PROCESS_TREE;
	packet.process_tree = &tree;
	return kl_perfetto_put(x, &packet);
}

static int begin_perfetto(struct kl_export *x)
{
	int error;

	kl_perfetto_init(x->state);
	error = put_clocks(x);
	error = error ?: put_system(x);
	error = error ?: kl_perfetto_categories(x);
	error = error ?: kl_perfetto_fields(x);
	for (size_t i = 0; i < x->scan->n_threads && !error; i++) {
		const struct kl_timeline_thread *thread = x->scan->thread[i];

		if (thread->tid && (!thread->pid || thread->pid == thread->tid))
			error = put_process(x, thread);
		if (thread->tid)
			error = error ?: put_thread(x, thread);
	}
	for (size_t i = 0; i < x->scan->counts.tracks && !error; i++)
		error = put_track(x, x->scan->track[i]);
	for (size_t i = 0; i < x->scan->n_counters && !error; i++)
		error = put_counter(x, i);
	return error;
}

/* -------------------------------------------------------------- ftrace events */

static int put_ftrace(struct kl_export *x, const struct kl_event *event, Perfetto__FtraceEvent *one)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__FtraceEventBundle bundle = PERFETTO__FTRACE_EVENT_BUNDLE__INIT;

	one->has_timestamp = true;
	one->timestamp = event->ns;
	one->has_pid = true;
	one->pid = (uint32_t)event->task.tid;
	bundle.has_cpu = true;
	bundle.cpu = event->cpu;
	bundle.n_event = 1;
	bundle.event = &one;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_FTRACE_EVENTS;
	packet.ftrace_events = &bundle;
	return kl_perfetto_put(x, &packet);
}

/* A command name; texts that are no fields are valid for as long as the trace is written. */
static char *comm_of(struct kl_export *x, const struct kl_event *event, const char *field,
		     char text[128])
{
	return (char *)kl_export_plain(x, kl_timeline_text(event, field, text));
}

static int put_switch(struct kl_export *x, const struct kl_event *event)
{
	Perfetto__FtraceEvent one = PERFETTO__FTRACE_EVENT__INIT;
	Perfetto__SchedSwitch of = PERFETTO__SCHED_SWITCH__INIT;
	char prev[128], next[128];

	of.prev_comm = comm_of(x, event, "prev_comm", prev);
	of.has_prev_pid = true;
	of.prev_pid = (int32_t)kl_number_of(event, "prev_tid");
	of.has_prev_prio = true;
	of.prev_prio = (int32_t)kl_number_of(event, "prev_prio") + PRIO_BASE;
	of.has_prev_state = true;
	of.prev_state = kl_number_of(event, "prev_state");
	of.next_comm = comm_of(x, event, "next_comm", next);
	of.has_next_pid = true;
	of.next_pid = (int32_t)kl_number_of(event, "next_tid");
	of.has_next_prio = true;
	of.next_prio = (int32_t)kl_number_of(event, "next_prio") + PRIO_BASE;
	one.event_case = PERFETTO__FTRACE_EVENT__EVENT_SCHED_SWITCH;
	one.sched_switch = &of;
	return put_ftrace(x, event, &one);
}

static int put_wakeup(struct kl_export *x, const struct kl_event *event,
		      Perfetto__FtraceEvent__EventCase kind)
{
	Perfetto__FtraceEvent one = PERFETTO__FTRACE_EVENT__INIT;
	Perfetto__SchedWakeup of = PERFETTO__SCHED_WAKEUP__INIT;
	char comm[128];

	of.comm = comm_of(x, event, "comm", comm);
	of.has_pid = true;
	of.pid = (int32_t)kl_number_of(event, "tid");
	of.has_prio = true;
	of.prio = (int32_t)kl_number_of(event, "prio") + PRIO_BASE;
	of.has_success = true;
	of.success = 1;
	of.has_target_cpu = true;
	of.target_cpu = (int32_t)kl_number_of(event, "target_cpu");
	one.event_case = kind;
	one.sched_waking = &of;
	return put_ftrace(x, event, &one);
}

/* The case of an event that Perfetto knows; PERFETTO__FTRACE_EVENT__EVENT__NOT_SET: none */
static Perfetto__FtraceEvent__EventCase case_of(const struct kl_event *event)
{
	static const struct {
		const char *name;
		Perfetto__FtraceEvent__EventCase number;
	} cases[] = {
		{ "sched_switch", PERFETTO__FTRACE_EVENT__EVENT_SCHED_SWITCH },
		{ "sched_waking", PERFETTO__FTRACE_EVENT__EVENT_SCHED_WAKING },
		{ "sched_wakeup", PERFETTO__FTRACE_EVENT__EVENT_SCHED_WAKEUP },
		{ "sched_wakeup_new", PERFETTO__FTRACE_EVENT__EVENT_SCHED_WAKEUP_NEW },
	};
	const char *name = event->event_class->name;

	if (strncmp(name, "sched_", 6) != 0)
		return PERFETTO__FTRACE_EVENT__EVENT__NOT_SET;
	for (size_t i = 0; i < KL_ARRAY_SIZE(cases); i++)
		if (!strcmp(name, cases[i].name))
			return cases[i].number;
	return PERFETTO__FTRACE_EVENT__EVENT__NOT_SET;
}

static int add_record(struct kl_export *x, const struct kl_event *event)
{
	const Perfetto__FtraceEvent__EventCase number = case_of(event);

	return number == PERFETTO__FTRACE_EVENT__EVENT_SCHED_SWITCH ? put_switch(x, event) :
								      put_wakeup(x, event, number);
}

/* -------------------------------------------------------------- track events */

static int put_event(struct kl_export *x, Perfetto__TrackEvent *event, uint64_t ns)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.has_timestamp = true;
	packet.timestamp = ns;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT;
	packet.track_event = event;
	return kl_perfetto_put(x, &packet);
}

/* The arguments of a span. Returns 0 or -errno; texts are in @text, which must not move. */
static int annotate(struct kl_export *x, const struct kl_export_args *args,
		    Perfetto__DebugAnnotation *to, struct kl_buffer *text)
{
	if (!kl_buffer_reserve(text, args->text.length + args->n))
		return -ENOMEM;
	for (unsigned int i = 0; i < args->n; i++) {
		const struct kl_export_arg arg = kl_export_arg_of(args, i);
		const uint64_t name = kl_perfetto_field(x, arg.name);

		perfetto__debug_annotation__init(&to[i]);
		to[i].name_field_case = PERFETTO__DEBUG_ANNOTATION__NAME_FIELD_NAME_IID;
		to[i].name_iid = name;
		/* The event was recorded after the trace had been read first. */
		if (!name) {
			to[i].name_field_case = PERFETTO__DEBUG_ANNOTATION__NAME_FIELD_NAME;
			to[i].name = (char *)arg.name;
		}
		if (arg.type == KL_EXPORT_TEXT) {
			to[i].value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE;
			to[i].string_value = text->data + text->length;
			kl_buffer_add(text, arg.text, arg.length);
			kl_buffer_add_char(text, 0);
		} else if (arg.type == KL_EXPORT_SIGNED) {
			to[i].value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_INT_VALUE;
			to[i].int_value = (int64_t)arg.number;
		} else {
			to[i].value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
			to[i].uint_value = arg.number;
		}
	}
	return text->error ? -ENOMEM : 0;
}

static int put_slice(struct kl_export *x, const struct kl_export_span *span,
		     Perfetto__TrackEvent *event)
{
	Perfetto__TrackEvent end = PERFETTO__TRACK_EVENT__INIT;
	const bool instant = span->track->kind == KL_TRACK_EVENT ||
			     span->track->kind == KL_TRACK_MARK;
	int error;

	event->type = instant ? PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT :
				PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
	error = put_event(x, event, span->begin_ns);
	if (error || instant)
		return error;
	end.has_type = true;
	end.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
	end.has_track_uuid = true;
	end.track_uuid = event->track_uuid;
	return put_event(x, &end, span->end_ns);
}

static int add_span(struct kl_export *x, const struct kl_export_span *span)
{
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	Perfetto__DebugAnnotation args[KL_EXPORT_ARGS_MAX], *list[KL_EXPORT_ARGS_MAX];
	uint64_t category = (uint64_t)span->track->kind + 1;
	struct kl_buffer text = { 0 };
	int error;

	error = span->args ? annotate(x, span->args, args, &text) : 0;
	for (unsigned int i = 0; i < KL_EXPORT_ARGS_MAX; i++)
		list[i] = &args[i];
	event.n_category_iids = 1;
	event.category_iids = &category;
	event.n_debug_annotations = span->args ? span->args->n : 0;
	event.debug_annotations = list;
	event.has_type = true;
	event.has_track_uuid = true;
	event.track_uuid = track_number(span->track);
	event.name_field_case = PERFETTO__TRACK_EVENT__NAME_FIELD_NAME_IID;
	event.name_iid = span->name_number + 1ULL;
	error = error ?: put_slice(x, span, &event);
	kl_buffer_deinit(&text);
	return error;
}

static int add_point(struct kl_export *x, const struct kl_export_point *point)
{
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;

	event.has_type = true;
	event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER;
	event.has_track_uuid = true;
	event.track_uuid = TRACK_OF_COUNTER << TRACK_SHIFT | point->number;
	event.counter_value_field_case = PERFETTO__TRACK_EVENT__COUNTER_VALUE_FIELD_COUNTER_VALUE;
	event.counter_value = point->value;
	return put_event(x, &event, point->ns);
}

static int add_sample(struct kl_export *x, const struct kl_export_sample *sample)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__PerfSample of = PERFETTO__PERF_SAMPLE__INIT;

	of.has_cpu = true;
	of.cpu = sample->event->cpu;
	of.has_pid = true;
	of.pid = (uint32_t)sample->event->task.pid;
	of.has_tid = true;
	of.tid = (uint32_t)sample->event->task.tid;
	of.has_callstack_iid = true;
	of.callstack_iid = sample->path + 1ULL;
	packet.has_timestamp = true;
	packet.timestamp = sample->event->ns;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_PERF_SAMPLE;
	packet.perf_sample = &of;
	return kl_perfetto_put(x, &packet);
}

/* A state of running has nothing that Perfetto does not show from the switches. */
static int note_span(struct kl_export *x, const struct kl_export_span *span)
{
	if (span->track->kind == KL_TRACK_CPU ||
	    (span->track->kind == KL_TRACK_THREAD && span->class == KL_SPAN_RUNNING))
		return 0;
	return kl_perfetto_name(x, span->name_number) ?: 1;
}

static int note_perfetto(struct kl_export *x, struct kl_export_call *call)
{
	switch (call->what) {
	case KL_EXPORT_RECORD:
		return case_of(call->event) != PERFETTO__FTRACE_EVENT__EVENT__NOT_SET;
	case KL_EXPORT_SPAN:
		return note_span(x, &call->span);
	case KL_EXPORT_SAMPLE:
		return kl_perfetto_path(x, call->sample.path) ?: 1;
	default:
		return 1;
	}
}

static void clean_perfetto(struct kl_export *x)
{
	kl_perfetto_clean(x->state);
}

const struct kl_export_ops kl_export_perfetto = {
	.format = { .name = "perfetto",
		    .extension = "pftrace",
		    .help = "Perfetto's protobuf, for ui.perfetto.dev and trace_processor" },
	.has_spans = true,
	.has_args = true,
	.state_bytes = sizeof(struct perfetto),
	.in_batches = true,
	.note = note_perfetto,
	.begin = begin_perfetto,
	.record = add_record,
	.span = add_span,
	.point = add_point,
	.sample = add_sample,
	.clean = clean_perfetto,
};
