// SPDX-License-Identifier: GPL-2.0
/*
 * Collects the samples of a profile: equal ones are counted once, by the number of their path
 * through the code, of their task and CPU.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../base/base.h"
#include "profile.h"
#include "values.h"

#define TICK "tick:"

/* Frames of both stacks, and one for a wait or what is not known. */
#define FRAMES_MAX (2 * KL_FRAMES_MAX + 1)

struct number {
	uint64_t key;
	uint64_t number; /* plus 1; 0: new */
};

int64_t kl_profile_list_add(struct kl_profile_list *list, const void *element)
{
	uint64_t key = kl_hash_bytes(KL_HASH_START, element, list->size);
	struct number *entry;
	void *grown;

	list->by_hash.size = sizeof(struct number);
	for (;; key++) {
		entry = kl_hash_get(&list->by_hash, key ? key : 1);
		if (!entry)
			return -ENOMEM;
		if (!entry->number)
			break;
		if (!memcmp((char *)list->element + (entry->number - 1) * list->size, element,
			    list->size))
			return (int64_t)entry->number - 1;
	}
	grown = kl_array_grow(list->element, list->n, &list->room, list->size);
	if (!grown)
		return -ENOMEM;
	list->element = grown;
	memcpy((char *)grown + list->n * list->size, element, list->size);
	entry->number = ++list->n;
	return (int64_t)list->n - 1;
}

void *kl_profile_list_value(struct kl_profile_list *list, const void *element, void **values,
			    size_t *room, size_t bytes)
{
	const size_t before = list->n;
	int64_t number = kl_profile_list_add(list, element);
	char *grown = *values;

	if (number < 0)
		return NULL;
	if (list->n > before) {
		grown = kl_array_grow(grown, before, room, bytes);
		if (!grown)
			return NULL;
		*values = grown;
		memset(grown + before * bytes, 0, bytes);
	}
	return grown + (size_t)number * bytes;
}

void kl_profile_list_deinit(struct kl_profile_list *list)
{
	free(list->element);
	kl_hash_deinit(&list->by_hash);
}

/* ------------------------------------------------------------------ creation */

bool kl_profile_is_tick(const struct kl_class *event)
{
	return !strncmp(event->name, TICK, strlen(TICK));
}

/* Which events are samples? */
static int choose_events(struct kl_profile *profile, const char *name)
{
	const struct kl_class *event = NULL;
	unsigned int hz = 0, kinds = 0;

	if (name) {
		profile->event = kl_schema_find(profile->schema, name);
		if (!profile->event)
			return kl_fail(ENOENT, "the trace has no event %s", name);
	}
	while ((event = kl_schema_next(profile->schema, event)))
		if (kl_profile_is_tick(event) && (!name || event == profile->event)) {
			profile->ticks = true;
			hz = (unsigned int)strtoul(event->name + strlen(TICK), NULL, 10);
			kinds++;
		}
	profile->counts.hz = kinds == 1 ? hz : 0;
	return 0;
}

struct kl_profile *kl_profile_create(const struct kl_schema *schema, const char *event)
{
	struct kl_profile *profile = calloc(1, sizeof(*profile));
	int error;

	if (!profile) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	profile->schema = schema;
	profile->weight = 1;
	profile->stacks.size = sizeof(struct kl_profile_stacks);
	profile->samples.size = sizeof(struct kl_profile_sample);
	profile->functions.size = sizeof(struct kl_profile_function);
	profile->bodies.size = sizeof(struct kl_profile_body);
	profile->tasks.size = sizeof(struct kl_profile_task);
	profile->kstack = kl_schema_find_variable(schema, "kstack");
	profile->ustack = kl_schema_find_variable(schema, "ustack");
	profile->cgroup = kl_schema_find_variable(schema, "cgroup");
	error = choose_events(profile, event);
	if (!error && profile->kstack < 0 && profile->ustack < 0)
		error = kl_fail(ENOENT, "the trace has no stack traces; record with "
					"-e tick:99:stack");
	if (!error)
		return profile;
	kl_profile_destroy(profile);
	errno = -error;
	return NULL;
}

void kl_profile_destroy(struct kl_profile *profile)
{
	if (!profile)
		return;
	for (size_t i = 0; i < profile->n_paths; i++)
		free(profile->path[i].frame);
	free(profile->path);
	kl_profile_list_deinit(&profile->functions);
	kl_profile_list_deinit(&profile->bodies);
	kl_profile_list_deinit(&profile->tasks);
	kl_profile_list_deinit(&profile->stacks);
	kl_hash_deinit(&profile->samples);
	kl_hash_deinit(&profile->off);
	for (size_t i = 0; i < profile->slices; i++)
		kl_hash_deinit(&profile->slice[i].samples);
	free(profile->slice);
	kl_texts_deinit(&profile->texts);
	free(profile);
}

const struct kl_profile_counts *kl_profile_counts(const struct kl_profile *profile)
{
	return &profile->counts;
}

/* --------------------------------------------------------------------- paths */

int64_t kl_profile_add_function(struct kl_profile *profile, const char *name, const char *object,
				enum kl_profile_kind kind)
{
	struct kl_profile_function function;

	memset(&function, 0, sizeof(function));
	function.name = name;
	function.object = object;
	function.kind = kind;
	if (kl_texts_keep(&profile->texts, &function.name) ||
	    kl_texts_keep(&profile->texts, &function.object))
		return -ENOMEM;
	return kl_profile_list_add(&profile->functions, &function);
}

static int keep(struct kl_profile *profile, const char **text)
{
	return *text ? kl_texts_keep(&profile->texts, text) : 0;
}

/* Note where in the code of which function a frame is. @exact: its address is the instruction's. */
static int add_body(struct kl_profile *profile, struct kl_profile_frame *to,
		    const struct kl_frame *frame, bool kernel, bool exact)
{
	struct kl_profile_body body;
	int64_t number;

	to->inlined = frame->inlined;
	to->body = 0;
	if (frame->inlined || !frame->symbol || frame->offset > UINT32_MAX ||
	    (!kernel && (!frame->object || frame->place < frame->offset)))
		return 0;
	memset(&body, 0, sizeof(body));
	body.symbol = frame->symbol;
	body.name = frame->name;
	body.object = frame->object;
	body.build_id = frame->build_id;
	body.start = (kernel ? frame->address : frame->place) - frame->offset;
	body.kernel = kernel;
	if (keep(profile, &body.symbol) || keep(profile, &body.name) ||
	    keep(profile, &body.object) || keep(profile, &body.build_id))
		return -ENOMEM;
	number = kl_profile_list_add(&profile->bodies, &body);
	if (number < 0)
		return (int)number;
	to->body = (uint32_t)number + 1;
	to->offset = (uint32_t)frame->offset - (!exact && frame->offset);
	return 0;
}

static int add_frame(struct kl_profile *profile, struct kl_profile_frame *to,
		     const struct kl_frame *frame, bool kernel)
{
	const char *object = frame->object ? kl_file_of(frame->object) :
			     kernel	   ? "kernel" :
					     "unknown";
	char text[256], line[4096 + 16];
	int64_t number;

	number = kl_profile_add_function(profile, kl_frame_label(frame, text, sizeof(text)), object,
					 kernel ? KL_PROFILE_KERNEL : KL_PROFILE_PROGRAM);
	if (number < 0)
		return (int)number;
	to->function = (uint32_t)number;
	to->line = NULL;
	if (!frame->source)
		return 0;
	snprintf(line, sizeof(line), "%s:%u", frame->source, frame->line);
	to->line = line;
	return kl_texts_keep(&profile->texts, &to->line);
}

/* The innermost frame may be several, with functions that are inlined. */
static bool is_exact(const struct kl_stack *stack, unsigned int i)
{
	while (i && stack->frame[i - 1].inlined)
		i--;
	return !i && stack->flags & KL_STACK_EXACT;
}

static int add_stack(struct kl_profile *profile, struct kl_profile_path *path,
		     const struct kl_stack *stack, bool kernel)
{
	int error = 0;

	for (unsigned int i = stack ? stack->n : 0; i-- && !error;) {
		if (kernel && kl_frame_is_tracing(&stack->frame[i]))
			continue;
		path->uncertain |= stack->frame[i].uncertain;
		error = add_frame(profile, &path->frame[path->n], &stack->frame[i], kernel);
		if (!error)
			error = add_body(profile, &path->frame[path->n], &stack->frame[i], kernel,
					 is_exact(stack, i));
		path->n++;
	}
	return error;
}

static int add_frames(struct kl_profile *profile, struct kl_profile_path *path,
		      const struct kl_profile_stacks *ids)
{
	const struct kl_stacks *stacks = kl_schema_stacks(profile->schema);
	const struct kl_stack *kernel = kl_stacks_get(stacks, ids->kernel);
	int error = add_stack(profile, path, kl_stacks_get(stacks, ids->user), false);
	int64_t number;

	path->no_stack = !path->n && !kernel;
	if (!error)
		error = add_stack(profile, path, kernel, true);
	if (error)
		return error;
	if (ids->wait) {
		path->frame[path->n++] = (struct kl_profile_frame){ .function = ids->wait - 1 };
		return 0;
	}
	if (path->n && (kernel || !ids->in_kernel))
		return 0;
	/* The table of stack traces was full, or the user may not see those of the kernel. */
	number = ids->in_kernel ?
			 kl_profile_add_function(profile, "[kernel]", "kernel", KL_PROFILE_KERNEL) :
			 kl_profile_add_function(profile, "[unknown]", "unknown",
						 KL_PROFILE_PROGRAM);
	path->frame[path->n++] = (struct kl_profile_frame){ .function = (uint32_t)number };
	return number < 0 ? (int)number : 0;
}

static int add_path(struct kl_profile *profile, const struct kl_profile_stacks *ids)
{
	struct kl_profile_frame frames[FRAMES_MAX];
	struct kl_profile_path path = { .frame = frames }, *grown;
	int error = add_frames(profile, &path, ids);

	if (error)
		return error;
	grown = kl_array_grow(profile->path, profile->n_paths, &profile->paths_room,
			      sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	profile->path = grown;
	path.frame = malloc(path.n * sizeof(*path.frame));
	if (!path.frame)
		return kl_fail(ENOMEM, "out of memory");
	memcpy(path.frame, frames, path.n * sizeof(*path.frame));
	grown[profile->n_paths++] = path;
	return 0;
}

int64_t kl_profile_path(struct kl_profile *profile, const struct kl_profile_stacks *ids)
{
	int64_t number = kl_profile_list_add(&profile->stacks, ids);
	int error = number == (int64_t)profile->n_paths ? add_path(profile, ids) : 0;

	return error ? error : number;
}

/* ------------------------------------------------------------------- samples */

int64_t kl_profile_add_task(struct kl_profile *profile, const struct kl_event *event)
{
	struct kl_profile_task task;

	memset(&task, 0, sizeof(task));
	task.comm = event->task.comm;
	task.pid = event->task.pid;
	task.tid = event->task.tid;
	task.cgroup = kl_variable_of(event, profile->cgroup);
	if (kl_texts_keep(&profile->texts, &task.comm))
		return -ENOMEM;
	return kl_profile_list_add(&profile->tasks, &task);
}

/* Paths and tasks have at most 2^24 numbers, CPUs 2^15. */
static int64_t sample_key(int64_t path, int64_t task, uint32_t cpu)
{
	if (path >= 1 << 24 || task >= 1 << 24)
		return kl_fail(ENOMEM, "too many different samples");
	return 1 + (path | task << 24 | (int64_t)cpu << 48);
}

static int count(struct kl_hash *samples, const struct kl_profile_sample *of)
{
	struct kl_profile_sample *sample = kl_hash_get(samples, of->key);

	if (!sample)
		return -ENOMEM;
	sample->path = of->path;
	sample->task = of->task;
	sample->cpu = of->cpu;
	sample->count += of->count;
	return 0;
}

/* Was the kernel running? Ticks say so, other events happen there. */
static void note_mode(const struct kl_profile *profile, const struct kl_event *event,
		      struct kl_profile_stacks *ids, struct kl_profile_counts *counts)
{
	struct kl_value user = { .number = 0 };

	if (profile->ticks && kl_event_field(event, "user", &user))
		return;
	ids->in_kernel = !user.number;
	counts->modes = 1;
	counts->kernel = ids->in_kernel;
}

static bool is_sample(const struct kl_profile *profile, const struct kl_event *event,
		      const struct kl_profile_stacks *ids)
{
	if (profile->event)
		return event->event_class == profile->event;
	return profile->ticks ? kl_profile_is_tick(event->event_class) : ids->kernel || ids->user;
}

static void add_counts(struct kl_profile_counts *to, const struct kl_profile_counts *of)
{
	to->samples += of->samples;
	to->idle += of->idle;
	to->kernel += of->kernel;
	to->modes += of->modes;
	to->no_stack += of->no_stack;
	to->uncertain += of->uncertain;
	to->waits += of->waits;
	if (!to->first_ns)
		to->first_ns = of->first_ns;
	to->last_ns = of->last_ns;
}

static void note(struct kl_profile *profile, const struct kl_profile_counts *counts)
{
	add_counts(&profile->counts, counts);
	if (profile->slices)
		add_counts(&profile->slice[profile->slices - 1].counts, counts);
}

int kl_profile_count(struct kl_profile *profile, int64_t path, int64_t task, uint32_t cpu,
		     uint64_t weight, const struct kl_profile_counts *counts)
{
	int64_t key = sample_key(path, task, cpu);
	const struct kl_profile_sample one = { .key = (uint64_t)key,
					       .path = (uint32_t)path,
					       .task = (uint32_t)task,
					       .cpu = cpu,
					       .count = weight };
	int error = key < 0 ? (int)key : count(&profile->samples, &one);

	note(profile, counts);
	if (!error && profile->slices)
		error = count(&profile->slice[profile->slices - 1].samples, &one);
	return error;
}

int64_t kl_profile_path_of(struct kl_profile *profile, const struct kl_event *event)
{
	struct kl_profile_counts counts = { 0 };
	struct kl_profile_stacks ids = { .kernel = (uint32_t)kl_variable_of(event, profile->kstack),
					 .user = (uint32_t)kl_variable_of(event, profile->ustack) };

	if (!event->task.tid || !is_sample(profile, event, &ids))
		return -ENOENT;
	note_mode(profile, event, &ids, &counts);
	return kl_profile_path(profile, &ids);
}

int kl_profile_add(struct kl_profile *profile, const struct kl_event *event)
{
	struct kl_profile_counts counts = { .first_ns = event->ns, .last_ns = event->ns };
	struct kl_profile_stacks ids = { .kernel = (uint32_t)kl_variable_of(event, profile->kstack),
					 .user = (uint32_t)kl_variable_of(event, profile->ustack) };
	const uint64_t weight = profile->weight;
	int64_t path, task;

	if (profile->off_event && event->event_class == profile->off_event)
		return kl_profile_add_switch(profile, event);
	if (!is_sample(profile, event, &ids) || kl_profile_is_own(profile, event->task.pid))
		return 0;
	if (!event->task.tid && profile->ticks) {
		counts.idle = weight;
		note(profile, &counts);
		return 0;
	}
	note_mode(profile, event, &ids, &counts);
	path = kl_profile_path(profile, &ids);
	task = path < 0 ? path : kl_profile_add_task(profile, event);
	if (task < 0)
		return (int)task;
	if (profile->off_event && kl_profile_follow(profile, event->task.tid))
		return -ENOMEM;
	counts.samples = weight;
	counts.kernel *= weight;
	counts.modes *= weight;
	counts.no_stack = profile->path[path].no_stack ? weight : 0;
	counts.uncertain = profile->path[path].uncertain ? weight : 0;
	return kl_profile_count(profile, path, task, event->cpu, weight, &counts);
}

/* -------------------------------------------------------------------- slices */

/* Takes the oldest slice's samples out. Those that are left without any stay, with a count of 0. */
static void forget(struct kl_profile *profile)
{
	struct kl_profile_slice *oldest = profile->slice;
	const struct kl_profile_sample *sample = NULL;
	const unsigned int hz = profile->counts.hz;

	while ((sample = kl_hash_next(&oldest->samples, sample))) {
		struct kl_profile_sample *sum = kl_hash_get(&profile->samples, sample->key);

		if (sum)
			sum->count -= sample->count;
	}
	kl_hash_deinit(&oldest->samples);
	memmove(oldest, oldest + 1, --profile->slices * sizeof(*oldest));
	profile->counts = (struct kl_profile_counts){ .hz = hz };
	for (size_t i = 0; i < profile->slices; i++)
		add_counts(&profile->counts, &profile->slice[i].counts);
}

/* All samples so far become a slice. */
static int make_first(struct kl_profile *profile, struct kl_profile_slice *slice)
{
	const struct kl_profile_sample *sample = NULL;
	int error = 0;

	slice->counts = profile->counts;
	while (!error && (sample = kl_hash_next(&profile->samples, sample)))
		error = count(&slice->samples, sample);
	return error;
}

int kl_profile_begin_slice(struct kl_profile *profile, size_t keep)
{
	const struct kl_profile_slice empty = { .samples.size = sizeof(struct kl_profile_sample) };
	struct kl_profile_slice *grown;

	/* The first time, there are two. */
	grown = kl_array_grow(profile->slice, profile->slices + 1, &profile->slices_room,
			      sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	profile->slice = grown;
	if (!profile->slices) {
		grown[profile->slices++] = empty;
		if (make_first(profile, grown))
			return -ENOMEM;
	}
	grown[profile->slices++] = empty;
	while (profile->slices > keep + 1)
		forget(profile);
	return 0;
}

size_t kl_profile_names(const struct kl_profile *profile)
{
	return profile->functions.n + profile->bodies.n + profile->tasks.n + profile->n_paths +
	       profile->samples.count;
}

/* ---------------------------------------------------------------------- zoom */

void kl_profile_zoom(struct kl_profile *profile, const struct kl_profile_zoom *zoom)
{
	profile->zoomed = zoom;
	if (zoom)
		profile->zoom = *zoom;
}

static bool is_looked_at(const struct kl_profile *profile, const struct kl_profile_sample *sample)
{
	const struct kl_profile_task *task = kl_profile_task_of(profile, sample);
	const struct kl_profile_row *row = &profile->zoom.row;

	if (!sample->count || !profile->zoomed)
		return sample->count;
	switch (profile->zoom.key) {
	case KL_PROFILE_PROCESS:
		return task->pid == row->pid;
	case KL_PROFILE_THREAD:
		return task->tid == row->tid;
	case KL_PROFILE_CPU:
		return sample->cpu == row->cpu;
	case KL_PROFILE_CGROUP:
		return task->cgroup == row->cgroup;
	default:
		return true;
	}
}

const struct kl_profile_sample *kl_profile_next(const struct kl_profile *profile,
						const struct kl_profile_sample *sample)
{
	do
		sample = kl_hash_next(&profile->samples, sample);
	while (sample && !is_looked_at(profile, sample));
	return sample;
}
