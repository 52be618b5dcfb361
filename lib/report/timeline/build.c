// SPDX-License-Identifier: GPL-2.0
/* Finds the spans of a timeline in the events of a trace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "../states.h"
#include "../values.h"
#include "timeline.h"

/* Key: the id of an event, plus 1. */
struct class_of {
	uint64_t key;
	struct kl_timeline_class class;
};

/* Key: thread ID, plus 1. */
struct thread_of {
	uint64_t key;
	uint64_t number; /* plus 1; 0: new */
};

static struct kl_timeline *create(const struct kl_trace *trace, size_t bytes)
{
	const char *scope = kl_trace_about(trace)->scope;
	struct kl_timeline *t = calloc(1, sizeof(*t));

	if (!t) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	t->trace = trace;
	t->schema = kl_trace_schema(trace);
	t->bytes = bytes;
	t->partial = *scope && strcmp(scope, "all") != 0;
	t->counts.kept = true;
	t->classes.size = sizeof(struct class_of);
	t->threads_by_tid.size = sizeof(struct thread_of);
	t->kstack = kl_schema_find_variable(t->schema, "kstack");
	kl_counters_init(t);
	return t;
}

struct kl_timeline *kl_timeline_create(const struct kl_trace *trace, size_t bytes)
{
	struct kl_timeline *t = create(trace, bytes);

	if (!t || !kl_samples_init(t))
		return t;
	kl_timeline_destroy(t);
	errno = ENOMEM;
	return NULL;
}

struct kl_timeline *kl_timeline_create_stream(const struct kl_trace *trace,
					      const struct kl_timeline_sink *sink)
{
	struct kl_timeline *t = create(trace, 0);

	if (t)
		t->sink = sink;
	return t;
}

int kl_timeline_explain(struct kl_timeline *t)
{
	t->why = kl_why_create(t->schema);
	return t->why ? 0 : -ENOMEM;
}

void kl_timeline_destroy(struct kl_timeline *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->counts.tracks; i++) {
		free(t->track[i]->span);
		free(t->track[i]);
	}
	for (size_t i = 0; i < t->n_threads; i++)
		free(t->thread[i]);
	free(t->track);
	free(t->thread);
	free(t->sums);
	free(t->name);
	kl_hash_deinit(&t->tracks_by_id);
	kl_hash_deinit(&t->threads_by_tid);
	kl_hash_deinit(&t->names_by_text);
	kl_hash_deinit(&t->classes);
	kl_requests_deinit(&t->requests);
	kl_records_deinit(&t->records);
	kl_counters_deinit(t);
	kl_samples_deinit(&t->samples);
	kl_why_destroy(t->why);
	kl_texts_deinit(&t->texts);
	free(t);
}

const struct kl_timeline_counts *kl_timeline_counts(const struct kl_timeline *t)
{
	return &t->counts;
}

uint64_t kl_timeline_time(const struct kl_timeline *t, uint64_t ns)
{
	/* Records may be missing before the first event. */
	return t->first_ns && ns > t->first_ns ? ns - t->first_ns : 0;
}

/* ------------------------------------------------------------------- threads */

/* A text field, in the caller's buffer. */
const char *kl_timeline_text(const struct kl_event *event, const char *name, char text[128])
{
	struct kl_value value;
	size_t length = 0;

	if (!kl_event_field(event, name, &value) && value.bytes)
		length =
			strnlen((const char *)value.bytes, value.length < 127 ? value.length : 127);
	if (length)
		memcpy(text, value.bytes, length);
	text[length] = 0;
	return text;
}

const struct kl_timeline_thread *kl_timeline_find_thread(const struct kl_timeline *t, int32_t tid)
{
	const struct thread_of *entry =
		kl_hash_find(&t->threads_by_tid, (uint64_t)(uint32_t)tid + 1);

	return entry && entry->number ? t->thread[entry->number - 1] : NULL;
}

int64_t kl_timeline_thread_of(struct kl_timeline *t, int32_t tid)
{
	struct thread_of *entry = kl_hash_get(&t->threads_by_tid, (uint64_t)(uint32_t)tid + 1);
	struct kl_timeline_thread **grown, *thread;
	int64_t name;

	if (!entry)
		return -ENOMEM;
	if (entry->number)
		return (int64_t)entry->number - 1;
	name = kl_timeline_name(t, "");
	grown = kl_array_grow(t->thread, t->n_threads, &t->threads_room, sizeof(*grown));
	if (!grown || name < 0)
		return -ENOMEM;
	t->thread = grown;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	thread->number = (uint32_t)t->n_threads;
	thread->tid = tid;
	thread->name = (uint32_t)name;
	thread->syscall = -1;
	grown[t->n_threads] = thread;
	entry->number = ++t->n_threads;
	return (int64_t)entry->number - 1;
}

struct kl_timeline_thread *kl_timeline_get_thread(struct kl_timeline *t, int32_t tid, int32_t pid,
						  const char *comm)
{
	int64_t number = kl_timeline_thread_of(t, tid), name;

	if (number < 0)
		return NULL;
	if (pid)
		t->thread[number]->pid = pid;
	/* Most events name a thread as the one before did. */
	if (comm && *comm && strcmp(comm, t->name[t->thread[number]->name]) != 0) {
		name = kl_timeline_name(t, comm);
		if (name < 0)
			return NULL;
		t->thread[number]->name = (uint32_t)name;
	}
	return t->thread[number];
}

struct kl_track *kl_timeline_thread_track(struct kl_timeline *t, struct kl_timeline_thread *thread,
					  enum kl_track_kind kind)
{
	struct kl_track **track = kind == KL_TRACK_THREAD  ? &thread->state :
				  kind == KL_TRACK_SYSCALL ? &thread->calls :
							     &thread->events;

	if (!*track)
		*track = kl_timeline_track(t, kind, (uint64_t)(uint32_t)thread->tid);
	return *track;
}

/* ------------------------------------------------------------------ switches */

static int64_t name_of_wait(struct kl_timeline *t, const struct kl_event *event,
			    const struct kl_timeline_thread *thread, bool uninterruptible)
{
	const struct kl_abi_latency_entry entry = {
		.kstack =
			t->kstack < 0 ?
				0 :
				(uint32_t)kl_event_variable(event, (unsigned int)t->kstack).number,
		.syscall = thread->syscall,
		.state = uninterruptible ? KL_LATENCY_UNINTERRUPTIBLE : KL_LATENCY_INTERRUPTIBLE,
	};

	return kl_timeline_name(t,
				kl_latency_reason(kl_schema_stacks(t->schema), t->schema, &entry));
}

/* A thread that has exited does not return from its system call. */
static int end_call(struct kl_timeline *t, struct kl_timeline_thread *thread, uint64_t ns)
{
	thread->syscall = -1;
	return thread->calls ? kl_track_end(t, thread->calls, ns) : 0;
}

/* The task that ran leaves its CPU. */
static int leave(struct kl_timeline *t, const struct kl_event *event, uint64_t ns)
{
	struct kl_timeline_thread *thread =
		kl_timeline_get_thread(t, event->task.tid, event->task.pid, event->task.comm);
	struct kl_track *track = thread ? kl_timeline_thread_track(t, thread, KL_TRACK_THREAD) :
					  NULL;
	const int64_t state = kl_number_of(event, "prev_state");

	if (!track)
		return -ENOMEM;
	/* No session follows an idle task: the switch was recorded because of the other one. */
	thread->followed |= !kl_number_of(event, "next_tid");
	if (state & KL_STATE_DEAD)
		return kl_track_end(t, track, ns) ?: end_call(t, thread, ns);
	if (!state || state & KL_STATE_PREEMPTED)
		return kl_track_begin(t, track, ns, KL_SPAN_READY, kl_timeline_name(t, "preempted"),
				      0);
	if (state & KL_STATE_STOPPED)
		return kl_track_begin(t, track, ns, KL_SPAN_STOPPED, kl_timeline_name(t, "stopped"),
				      0);
	return kl_track_begin(t, track, ns,
			      state & KL_STATE_UNINTERRUPTIBLE ? KL_SPAN_BLOCKED : KL_SPAN_ASLEEP,
			      name_of_wait(t, event, thread, state & KL_STATE_UNINTERRUPTIBLE), 0);
}

static int add_switch(struct kl_timeline *t, const struct kl_event *event)
{
	struct kl_track *cpu = kl_timeline_track(t, KL_TRACK_CPU, event->cpu), *track;
	const int32_t next = (int32_t)kl_number_of(event, "next_tid");
	const uint64_t ns = kl_timeline_time(t, event->ns);
	struct kl_timeline_thread *thread;
	char comm[128];
	int error = cpu ? 0 : -ENOMEM;

	if (!error && event->task.tid)
		error = leave(t, event, ns);
	if (error || !next)
		return error ?: kl_track_end(t, cpu, ns);
	thread = kl_timeline_get_thread(t, next, 0, kl_timeline_text(event, "next_comm", comm));
	track = thread ? kl_timeline_thread_track(t, thread, KL_TRACK_THREAD) : NULL;
	if (!track)
		return -ENOMEM;
	thread->followed |= !event->task.tid;
	error = kl_track_begin(t, track, ns, KL_SPAN_RUNNING, thread->name, event->cpu + 1);
	return error ?:
		       kl_track_begin(t, cpu, ns, KL_SPAN_RUNNING, thread->name,
				      thread->number + 1);
}

/* What wakes a task: an interrupt of this CPU, or the task that runs. */
static int64_t name_of_waker(struct kl_timeline *t, const struct kl_event *event, uint32_t *by)
{
	static const enum kl_track_kind kinds[] = { KL_TRACK_IRQ, KL_TRACK_SOFTIRQ };

	*by = 0;
	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++) {
		const struct kl_track *track = kl_timeline_track(t, kinds[i], event->cpu);

		if (!track)
			return -ENOMEM;
		if (track->open)
			return track->now.name;
	}
	if (!event->task.tid)
		return kl_timeline_name(t, "interrupt");
	*by = (uint32_t)kl_timeline_thread_of(t, event->task.tid) + 1;
	return kl_timeline_name(t, event->task.comm);
}

static int add_wakeup(struct kl_timeline *t, const struct kl_event *event)
{
	struct kl_timeline_thread *thread;
	struct kl_track *track;
	char comm[128];
	int64_t name;
	uint32_t by;

	thread = kl_timeline_get_thread(t, (int32_t)kl_number_of(event, "tid"), 0,
					kl_timeline_text(event, "comm", comm));
	track = thread ? kl_timeline_thread_track(t, thread, KL_TRACK_THREAD) : NULL;
	if (!track)
		return -ENOMEM;
	if (track->open && track->now.class <= KL_SPAN_READY)
		return 0;
	name = name_of_waker(t, event, &by);
	return kl_track_begin(t, track, kl_timeline_time(t, event->ns), KL_SPAN_READY, name, by);
}

static int add_fork(struct kl_timeline *t, const struct kl_event *event)
{
	char comm[128];

	return kl_timeline_get_thread(t, (int32_t)kl_number_of(event, "child_tid"),
				      (int32_t)kl_number_of(event, "child_pid"),
				      kl_timeline_text(event, "child_comm", comm)) ?
		       0 :
		       -ENOMEM;
}

/* --------------------------------------------------------------- system calls */

static int enter_call(struct kl_timeline *t, const struct kl_event *event)
{
	struct kl_timeline_thread *thread = kl_timeline_get_thread(t, event->task.tid, 0, NULL);
	struct kl_track *track = thread ? kl_timeline_thread_track(t, thread, KL_TRACK_SYSCALL) :
					  NULL;

	if (!track)
		return -ENOMEM;
	thread->syscall = event->event_class->syscall;
	thread->followed = true;
	return kl_track_begin(t, track, kl_timeline_time(t, event->ns), KL_SPAN_RUNNING,
			      kl_timeline_name(t,
					       event->event_class->name + strlen("syscall_entry_")),
			      0);
}

static int leave_call(struct kl_timeline *t, const struct kl_event *event)
{
	const int64_t ret = kl_number_of(event, "ret");
	struct kl_timeline_thread *thread = kl_timeline_get_thread(t, event->task.tid, 0, NULL);
	struct kl_track *track = thread ? kl_timeline_thread_track(t, thread, KL_TRACK_SYSCALL) :
					  NULL;

	if (!track)
		return -ENOMEM;
	thread->syscall = -1;
	thread->followed = true;
	if (track->open && ret < 0 && ret > -4096)
		track->now.class = KL_SPAN_FAILED;
	return kl_track_end(t, track, kl_timeline_time(t, event->ns));
}

/* ------------------------------------------------------------ instants, losses */

static int add_instant(struct kl_timeline *t, struct kl_track *track, uint64_t ns,
		       enum kl_span_class class, int64_t name)
{
	int error = track ? kl_track_begin(t, track, ns, class, name, 0) : -ENOMEM;

	return error ?: kl_track_end(t, track, ns);
}

static int add_mark(struct kl_timeline *t, const struct kl_event *event)
{
	char text[128];

	return add_instant(t, kl_timeline_track(t, KL_TRACK_MARK, 0),
			   kl_timeline_time(t, event->ns), KL_SPAN_RUNNING,
			   kl_timeline_name(t, kl_timeline_text(event, "text", text)));
}

/* Any other event belongs to the task that ran. */
static int add_other(struct kl_timeline *t, const struct kl_event *event)
{
	struct kl_timeline_thread *thread;

	if (!event->task.tid)
		return 0;
	thread = kl_timeline_get_thread(t, event->task.tid, 0, NULL);
	if (!thread)
		return -ENOMEM;
	return add_instant(t, kl_timeline_thread_track(t, thread, KL_TRACK_EVENT),
			   kl_timeline_time(t, event->ns), KL_SPAN_RUNNING,
			   kl_timeline_name(t, event->event_class->name));
}

/* What was in progress may have ended where records are missing. */
static int end_all(struct kl_timeline *t, uint64_t ns)
{
	int error = 0;

	for (size_t i = 0; i < t->counts.tracks && !error; i++)
		error = kl_track_end(t, t->track[i], ns);
	kl_requests_clear(&t->requests);
	for (size_t i = 0; i < t->n_threads; i++)
		t->thread[i]->syscall = -1;
	return error;
}

static int add_loss(struct kl_timeline *t, const struct kl_loss *loss)
{
	struct kl_track *track =
		kl_timeline_track(t, KL_TRACK_LOSS,
				  loss->kind == KL_LOSS_UNSEEN ? 0 : loss->cpu + 1);
	const uint64_t begin = loss->begin_ns ? kl_timeline_time(t, loss->begin_ns) : 0;
	char name[64];
	int error;

	if (loss->kind != KL_LOSS_UNSEEN) {
		t->counts.lost += loss->records;
		if (end_all(t, begin ? begin : t->last_ns))
			return -ENOMEM;
	}
	snprintf(name, sizeof(name), "%llu %s", (unsigned long long)loss->records,
		 loss->kind == KL_LOSS_UNSEEN ? "events missed, such as late ticks" :
						"records missing");
	error = track ? kl_track_begin(t, track, begin, KL_SPAN_FAILED, kl_timeline_name(t, name),
				       0) :
			-ENOMEM;
	return error ?:
		       kl_track_end(t, track,
				    loss->end_ns ? kl_timeline_time(t, loss->end_ns) : t->last_ns);
}

/* ------------------------------------------------------------------ all events */

static const struct {
	const char *name;
	kl_timeline_add_fn add;
} adders[] = {
	{ "sched_switch", add_switch },
	{ "sched_waking", add_wakeup },
	{ "sched_wakeup", add_wakeup },
	{ "sched_wakeup_new", add_wakeup },
	{ "sched_process_fork", add_fork },
	{ "irq_handler_entry", kl_timeline_enter_irq },
	{ "irq_handler_exit", kl_timeline_leave_irq },
	{ "irq_softirq_entry", kl_timeline_enter_softirq },
	{ "irq_softirq_exit", kl_timeline_leave_softirq },
	{ "block_rq_issue", kl_timeline_issue },
	{ "block_rq_complete", kl_timeline_complete },
	{ "mark", add_mark },
};

static kl_timeline_add_fn adder_of(const struct kl_class *class)
{
	const char *name = class->name;
	const size_t length = strlen(name);

	if (class->kind == KL_CLASS_SYSCALL_ENTRY)
		return enter_call;
	if (class->kind == KL_CLASS_SYSCALL_EXIT)
		return leave_call;
	for (size_t i = 0; i < KL_ARRAY_SIZE(adders); i++)
		if (!strcmp(name, adders[i].name))
			return adders[i].add;
	if (!strncmp(name, "x86_irq_vectors_", 16) && length > 22 &&
	    !strcmp(name + length - 6, "_entry"))
		return kl_timeline_enter_vector;
	if (!strncmp(name, "x86_irq_vectors_", 16) && !strcmp(name + length - 5, "_exit"))
		return kl_timeline_leave_irq;
	return add_other;
}

static const struct kl_timeline_class *class_of(struct kl_timeline *t, const struct kl_event *event)
{
	struct class_of *entry = kl_hash_get(&t->classes, (uint64_t)event->id + 1);
	int64_t name;

	if (!entry || entry->class.known)
		return entry ? &entry->class : NULL;
	name = kl_timeline_name(t, event->event_class->name);
	if (name < 0)
		return NULL;
	entry->class.name = (uint32_t)name;
	entry->class.add = adder_of(event->event_class);
	entry->class.known = true;
	return &entry->class;
}

void kl_timeline_select(struct kl_timeline *t, const int32_t *pid, size_t n)
{
	memcpy(t->selected, pid, n * sizeof(*pid));
	t->n_selected = n;
}

static bool is_selected(const struct kl_timeline *t, const struct kl_timeline_thread *thread)
{
	for (size_t i = 0; i < t->n_selected; i++)
		if (t->selected[i] == thread->tid || t->selected[i] == thread->pid)
			return true;
	return !t->n_selected;
}

/* What is kept of an event besides spans. */
static int add_of_thread(struct kl_timeline *t, const struct kl_event *event,
			 const struct kl_timeline_thread *thread, uint32_t name)
{
	int error = t->sink ? 0 : kl_records_add(t, event, thread->number, name);

	error = error ?: kl_counters_add(t, event);
	return error ?: t->sink ? 0 : kl_samples_add(t, event, thread->number);
}

int kl_timeline_add(struct kl_timeline *t, const struct kl_item *item)
{
	const struct kl_event *event = item->event;
	const struct kl_timeline_class *class;
	struct kl_timeline_thread *thread;
	int error;

	if (item->kind == KL_ITEM_LOSS)
		return add_loss(t, item->loss);
	if (!t->first_ns)
		t->first_ns = event->ns;
	if (kl_timeline_time(t, event->ns) > t->last_ns)
		t->last_ns = kl_timeline_time(t, event->ns);
	class = class_of(t, event);
	thread = class ? kl_timeline_get_thread(t, event->task.tid, event->task.pid,
						event->task.comm) :
			 NULL;
	if (!thread)
		return -ENOMEM;
	t->counts.records++;
	error = t->series ? kl_series_add(t->series, event) : 0;
	if (!error && t->why)
		error = kl_chains_add(t, event);
	if (!error && is_selected(t, thread))
		error = add_of_thread(t, event, thread, class->name);
	return error ?: class->add(t, event);
}

bool kl_timeline_hides(const struct kl_timeline *t, const struct kl_track *track)
{
	const struct kl_timeline_thread *thread = NULL;

	if (track->kind == KL_TRACK_THREAD || track->kind == KL_TRACK_SYSCALL ||
	    track->kind == KL_TRACK_EVENT)
		thread = kl_timeline_find_thread(t, (int32_t)track->id);
	if (!thread)
		return false;
	return !is_selected(t, thread) ||
	       (track->kind == KL_TRACK_THREAD && t->partial && !thread->followed);
}

static void omit(struct kl_timeline *t, struct kl_track *track)
{
	if (!track)
		return;
	t->counts.spans -= track->n;
	track->omitted = true;
	track->n = 0;
}

/*
 * The trace has only some switches of tasks that were not selected when it was recorded. Nothing is
 * shown of those that are not selected now.
 */
static void omit_others(struct kl_timeline *t)
{
	for (size_t i = 0; i < t->n_threads; i++) {
		struct kl_timeline_thread *thread = t->thread[i];
		const bool selected = is_selected(t, thread);

		if (selected && (!t->partial || thread->followed))
			continue;
		t->counts.omitted += thread->state ? 1 : 0;
		omit(t, thread->state);
		if (!selected) {
			omit(t, thread->calls);
			omit(t, thread->events);
		}
	}
}

int kl_timeline_finish(struct kl_timeline *t)
{
	int error = end_all(t, t->last_ns);

	if (t->partial || t->n_selected)
		omit_others(t);
	if (error || t->sink)
		return error;
	error = kl_counters_finish(t);
	error = error ?: kl_samples_finish(t);
	return error ?: kl_records_finish(t);
}
