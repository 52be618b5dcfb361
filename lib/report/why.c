// SPDX-License-Identifier: GPL-2.0
/* Collects what tasks and CPUs did, from switches, wakeups, interrupts and timers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../base/base.h"
#include "states.h"
#include "why.h"

#define CPUS_MAX (1u << 16)

/* ------------------------------------------------------------------- threads */

/* Returns its index, or KL_WHY_NO_TASK if there is no memory. */
static uint32_t add_thread(struct kl_why *why, int32_t tid, uint64_t ns)
{
	struct kl_why_thread *grown =
		kl_array_grow(why->thread, why->n, &why->room, sizeof(*grown));

	if (!grown)
		return KL_WHY_NO_TASK;
	why->thread = grown;
	grown[why->n] = (struct kl_why_thread){ .is = { .tid = tid, .comm = "", .begin_ns = ns },
						.parent = KL_WHY_NO_TASK,
						.call = -1 };
	return (uint32_t)why->n++;
}

/* The thread that has an ID now; @fresh: it has just been created. */
static struct kl_why_thread *thread_of(struct kl_why *why, int64_t tid, uint64_t ns, bool fresh)
{
	struct kl_why_number *entry = kl_hash_get(&why->by_tid, (uint64_t)(uint32_t)tid + 1);
	uint32_t index;

	if (!entry)
		return NULL;
	if (!entry->number || fresh) {
		/* The trace may have lost the end of an earlier thread with this ID. */
		if (entry->number && !why->thread[entry->number - 1].is.end_ns)
			why->thread[entry->number - 1].is.end_ns = ns;
		index = add_thread(why, (int32_t)tid, fresh ? ns : why->first_ns);
		if (index == KL_WHY_NO_TASK)
			return NULL;
		entry->number = index + 1;
	}
	return &why->thread[entry->number - 1];
}

/* The segment that has not ended; there is one. */
static struct kl_why_segment *last_of(const struct kl_why_thread *thread)
{
	return &thread->segment[thread->n - 1];
}

static int begin(struct kl_why_thread *thread, enum kl_why_state state, uint64_t ns)
{
	struct kl_why_segment *grown =
		kl_array_grow(thread->segment, thread->n, &thread->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	thread->segment = grown;
	grown[thread->n++] = (struct kl_why_segment){ .ns = ns,
						      .state = state,
						      .comm = thread->is.comm,
						      .by = { .kind = KL_WHY_UNKNOWN,
							      .thread = KL_WHY_NO_TASK } };
	return 0;
}

/* What a task that is older than the trace did until its first event, which tells. */
static int begin_first(struct kl_why_thread *thread, enum kl_why_state state)
{
	int error = thread->n ? 0 : begin(thread, state, thread->is.begin_ns);

	if (!error && last_of(thread)->state == KL_WHY_STATE_ASLEEP && !last_of(thread)->reason)
		last_of(thread)->reason = "unknown";
	return error;
}

struct kl_why_thread *kl_why_running(struct kl_why *why, const struct kl_event *event, int64_t tid)
{
	struct kl_why_thread *thread = thread_of(why, tid, event->ns, false);
	const char *comm = event->task.comm;

	if (thread && !thread->n && !kl_texts_keep(&why->texts, &comm))
		thread->is.comm = comm;
	return thread && !begin_first(thread, KL_WHY_STATE_RUNNING) ? thread : NULL;
}

int kl_why_keep_text(struct kl_why *why, const struct kl_event *event, const char *field,
		     const char **text)
{
	struct kl_buffer buffer = { 0 };
	struct kl_value value;
	const char *kept;
	int error;

	if (kl_event_field(event, field, &value))
		return 0;
	if (value.field->type == KL_TYPE_TEXT || value.field->type == KL_TYPE_STRING)
		kl_buffer_add(&buffer, value.bytes, value.length);
	else
		kl_print_value(&buffer, &value);
	kept = buffer.data ? buffer.data : "";
	error = buffer.error ? buffer.error : kl_texts_keep(&why->texts, &kept);
	kl_buffer_deinit(&buffer);
	if (!error)
		*text = kept;
	return error;
}

/* --------------------------------------------------------------------- CPUs */

struct kl_why_cpu *kl_why_cpu(struct kl_why *why, uint32_t cpu)
{
	struct kl_why_cpu *grown;

	if (cpu < why->n_cpus)
		return &why->cpu[cpu];
	if (cpu >= CPUS_MAX) {
		kl_fail(ENOMEM, "too many CPUs");
		return NULL;
	}
	grown = reallocarray(why->cpu, cpu + 1, sizeof(*grown));
	if (!grown) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	memset(grown + why->n_cpus, 0, (cpu + 1 - why->n_cpus) * sizeof(*grown));
	why->cpu = grown;
	why->n_cpus = cpu + 1;
	return &grown[cpu];
}

static int add_turn(struct kl_why *why, const struct kl_event *event, uint32_t thread,
		    const char *comm)
{
	struct kl_why_cpu *cpu = kl_why_cpu(why, event->cpu);
	struct kl_why_turn *grown =
		cpu ? kl_array_grow(cpu->turn, cpu->n, &cpu->room, sizeof(*grown)) : NULL;

	if (!grown)
		return -ENOMEM;
	cpu->turn = grown;
	grown[cpu->n++] = (struct kl_why_turn){ event->ns, comm, thread };
	return 0;
}

/* ------------------------------------------------------------------ switches */

/*
 * From the stack trace, if there is one, else from where the task waits and its system call: the
 * variable or, if the trace does not have it, the last one of which it has the entry.
 */
static const char *reason_of(const struct kl_why *why, const struct kl_event *event, int32_t call)
{
	const struct kl_abi_latency_entry entry = {
		.kstack = (uint32_t)kl_variable_of(event, why->kstack),
		.syscall = why->syscall < 0 ? call : (int32_t)kl_variable_of(event, why->syscall),
		.state = KL_LATENCY_INTERRUPTIBLE,
	};
	const struct kl_address *place;
	const char *reason;

	if (entry.kstack)
		return kl_latency_reason(kl_schema_stacks(why->schema), why->schema, &entry);
	place = kl_addresses_get(kl_schema_addresses(why->schema),
				 kl_variable_of(event, why->wchan));
	reason = kl_latency_reason_at(why->schema, place ? place->symbol : NULL, entry.syscall);
	return reason ? reason : "something in the kernel";
}

static int leave_cpu(struct kl_why *why, const struct kl_event *event, int64_t tid)
{
	struct kl_why_thread *thread = thread_of(why, tid, event->ns, false);
	struct kl_value value;
	uint64_t state;
	int error;

	if (!thread || kl_event_field(event, "prev_state", &value))
		return -ENOMEM;
	state = value.number;
	error = kl_why_keep_text(why, event, "prev_comm", &thread->is.comm);
	if (!error)
		error = begin_first(thread, KL_WHY_STATE_RUNNING);
	if (error)
		return error;
	/* It may have executed another program in its turn. */
	last_of(thread)->comm = thread->is.comm;
	if (!state || state & KL_STATE_PREEMPTED)
		return begin(thread, KL_WHY_STATE_RUNNABLE, event->ns);
	if (state & KL_STATE_DEAD)
		return 0;
	if (state & KL_STATE_STOPPED)
		return begin(thread, KL_WHY_STATE_STOPPED, event->ns);
	error = begin(thread, KL_WHY_STATE_ASLEEP, event->ns);
	if (!error)
		last_of(thread)->reason = reason_of(why, event, thread->call);
	return error;
}

static int take_cpu(struct kl_why *why, const struct kl_event *event, int64_t tid)
{
	struct kl_why_thread *thread = thread_of(why, tid, event->ns, false);
	int error = thread ? kl_why_keep_text(why, event, "next_comm", &thread->is.comm) : -ENOMEM;

	if (!error)
		error = begin_first(thread, KL_WHY_STATE_RUNNABLE);
	if (error)
		return error;
	if (last_of(thread)->state == KL_WHY_STATE_ASLEEP && thread->woken)
		last_of(thread)->state = KL_WHY_STATE_RUNNABLE;
	if (last_of(thread)->state == KL_WHY_STATE_RUNNABLE)
		last_of(thread)->cpu = event->cpu;
	thread->woken = false;
	error = begin(thread, KL_WHY_STATE_RUNNING, event->ns);
	if (error)
		return error;
	last_of(thread)->cpu = event->cpu;
	return add_turn(why, event, kl_why_index(why, thread), thread->is.comm);
}

/* Thread 0 is each CPU's idle task, which has no timeline. */
static int add_switch(struct kl_why *why, const struct kl_event *event)
{
	struct kl_value prev, next;
	int error = 0;

	if (kl_event_field(event, "prev_tid", &prev) || kl_event_field(event, "next_tid", &next))
		return 0;
	error = kl_why_leave_interrupts(why, event);
	if (!error && prev.number)
		error = leave_cpu(why, event, (int64_t)prev.number);
	if (error)
		return error;
	return next.number ? take_cpu(why, event, (int64_t)next.number) :
			     add_turn(why, event, KL_WHY_NO_TASK, "");
}

/* ------------------------------------------------------------------- wakeups */

static int add_waking(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_thread *thread;
	struct kl_why_segment *wait;
	struct kl_why_cause cause;
	struct kl_value tid;

	if (kl_event_field(event, "tid", &tid))
		return 0;
	if (kl_why_cause_of(why, event, &cause))
		return -ENOMEM;
	thread = thread_of(why, (int64_t)tid.number, event->ns, false);
	if (!thread || begin_first(thread, KL_WHY_STATE_ASLEEP))
		return -ENOMEM;
	wait = last_of(thread);
	if (wait->state == KL_WHY_STATE_RUNNING || wait->state == KL_WHY_STATE_RUNNABLE) {
		thread->woken = true;
		return 0;
	}
	wait->by = cause;
	return begin(thread, KL_WHY_STATE_RUNNABLE, event->ns);
}

/* ------------------------------------------------------- creation and end */

static int add_fork(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_thread *child, *parent;
	struct kl_value tid, pid, parent_tid;
	int error;

	if (kl_event_field(event, "child_tid", &tid) || kl_event_field(event, "child_pid", &pid) ||
	    kl_event_field(event, "parent_tid", &parent_tid))
		return 0;
	if (!kl_why_running(why, event, (int64_t)parent_tid.number))
		return -ENOMEM;
	child = thread_of(why, (int64_t)tid.number, event->ns, true);
	if (!child)
		return -ENOMEM;
	parent = thread_of(why, (int64_t)parent_tid.number, event->ns, false);
	child->parent = kl_why_index(why, parent);
	child->is.pid = (int32_t)pid.number;
	error = kl_why_keep_text(why, event, "child_comm", &child->is.comm);
	return error ? error : begin(child, KL_WHY_STATE_RUNNABLE, event->ns);
}

static int add_exit(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_thread *thread;
	struct kl_value tid;

	if (kl_event_field(event, "tid", &tid))
		return 0;
	thread = kl_why_running(why, event, (int64_t)tid.number);
	if (!thread)
		return -ENOMEM;
	/* It runs a little longer: its parent is woken by what it does after this. */
	thread->is.end_ns = event->ns;
	return 0;
}

/* -------------------------------------------------------------- system calls */

static int enter_call(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_thread *thread = kl_why_running(why, event, event->task.tid);

	if (!thread)
		return -ENOMEM;
	thread->call = (int32_t)(event->event_class->id - KL_EV_SYSCALL_ENTRY);
	return 0;
}

static int leave_call(struct kl_why *why, const struct kl_event *event)
{
	struct kl_why_thread *thread = kl_why_running(why, event, event->task.tid);

	if (!thread)
		return -ENOMEM;
	thread->call = -1;
	return 0;
}

/* rt_sigreturn() goes back to what the signal interrupted; the kernel reports no exit. */
static void choose_calls(struct kl_why *why)
{
	const struct kl_class *event = NULL;

	while ((event = kl_schema_next(why->schema, event))) {
		if (!strcmp(event->name, "syscall_entry_rt_sigreturn") ||
		    !strncmp(event->name, "syscall_exit_", strlen("syscall_exit_")))
			why->add[event->id] = leave_call;
		else if (!strncmp(event->name, "syscall_entry_", strlen("syscall_entry_")))
			why->add[event->id] = enter_call;
	}
}

/* ------------------------------------------------------------------ creation */

void kl_why_choose(struct kl_why *why, const struct kl_why_adder *adder, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct kl_class *event = kl_schema_find(why->schema, adder[i].name);

		if (event)
			why->add[event->id] = adder[i].add;
	}
}

static void choose(struct kl_why *why)
{
	static const struct kl_why_adder adders[] = { { "sched_switch", add_switch },
						      { "sched_waking", add_waking },
						      { "sched_process_fork", add_fork },
						      { "sched_process_exit", add_exit } };

	kl_why_choose(why, adders, sizeof(adders) / sizeof(*adders));
	kl_why_choose_later(why);
}

struct kl_why *kl_why_create(const struct kl_schema *schema)
{
	struct kl_why *why = calloc(1, sizeof(*why));

	if (!why) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	why->schema = schema;
	choose(why);
	why->by_tid.size = sizeof(struct kl_why_number);
	why->kstack = kl_schema_find_variable(schema, "kstack");
	why->ustack = kl_schema_find_variable(schema, "ustack");
	why->wchan = kl_schema_find_variable(schema, "wchan");
	why->syscall = kl_schema_find_variable(schema, "syscall");
	why->in_irq = kl_schema_find_variable(schema, "in_irq");
	if (why->syscall < 0)
		choose_calls(why);
	return why;
}

void kl_why_free_timeline(struct kl_why_thread *thread)
{
	free(thread->segment);
	free(thread->work);
	free(thread->sample);
	thread->segment = NULL;
	thread->work = NULL;
	thread->sample = NULL;
	thread->n = 0;
	thread->room = 0;
	thread->n_works = 0;
	thread->works_room = 0;
	thread->n_samples = 0;
	thread->samples_room = 0;
}

void kl_why_destroy(struct kl_why *why)
{
	if (!why)
		return;
	for (size_t i = 0; i < why->n; i++)
		kl_why_free_timeline(&why->thread[i]);
	for (uint32_t i = 0; i < why->n_cpus; i++)
		free(why->cpu[i].turn);
	free(why->thread);
	free(why->cpu);
	free(why->task);
	kl_hash_deinit(&why->by_tid);
	kl_hash_deinit(&why->packets);
	kl_hash_deinit(&why->works);
	kl_texts_deinit(&why->texts);
	free(why);
}

/* ------------------------------------------------------------------- events */

int kl_why_add(struct kl_why *why, const struct kl_event *event)
{
	kl_why_add_fn add = why->add[event->event_class->id];

	if (!why->first_ns)
		why->first_ns = event->ns;
	why->last_ns = event->ns;
	return add ? add(why, event) : 0;
}

bool kl_why_find(const struct kl_why *why, int32_t tid, size_t *task)
{
	const struct kl_why_number *entry = kl_hash_find(&why->by_tid, (uint64_t)(uint32_t)tid + 1);

	if (!entry || !entry->number)
		return false;
	*task = entry->number - 1;
	return true;
}

void kl_why_advance(struct kl_why *why, uint64_t ns)
{
	if (ns > why->last_ns)
		why->last_ns = ns;
}

const struct kl_why_task *kl_why_tasks(struct kl_why *why, size_t *count)
{
	struct kl_why_task *grown = reallocarray(why->task, why->n + 1, sizeof(*grown));

	*count = 0;
	if (!grown)
		return NULL;
	why->task = grown;
	for (size_t i = 0; i < why->n; i++) {
		grown[i] = why->thread[i].is;
		if (!grown[i].end_ns)
			grown[i].end_ns = why->last_ns;
	}
	*count = why->n;
	return grown;
}
