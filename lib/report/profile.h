/* SPDX-License-Identifier: GPL-2.0 */
/* What a profile consists of; profile.c collects it, profile_rows.c and profile_tree.c read it. */
#ifndef KL_LIB_REPORT_PROFILE_H
#define KL_LIB_REPORT_PROFILE_H

#include <kernlens/profile.h>
#include "../base/table.h"
#include "../base/texts.h"

/**
 * struct kl_profile_frame - a frame of a path
 * @function: number of the function
 * @line: "FILE:LINE", or NULL
 * @body: number of the code that the address is in, plus 1; 0: not known
 * @offset: of the instruction, in this code: of the call, unless the frame is the innermost
 * @inlined: the function is inlined into that of the frame before this one
 */
struct kl_profile_frame {
	uint32_t function;
	const char *line;
	uint32_t body;
	uint32_t offset;
	bool inlined;
};

/* The code of a function. No padding, as elements of lists have none. */
struct kl_profile_body {
	const char *symbol;
	const char *name;
	const char *object;
	const char *build_id;
	uint64_t start;
	uint64_t kernel;
};

/**
 * struct kl_profile_path - the frames of a sample
 * @n: number of frames, at least one
 * @uncertain: one of them is
 * @frame: outermost first
 */
struct kl_profile_path {
	unsigned int n;
	bool uncertain;
	bool no_stack;
	struct kl_profile_frame *frame;
};

/* A task as it was in a sample: one that executes another program is another task. */
struct kl_profile_task {
	const char *comm;
	uint64_t cgroup;
	int32_t pid;
	int32_t tid;
};

/* Samples that have everything in common but the time. @key: of path, task and CPU */
struct kl_profile_sample {
	uint64_t key;
	uint32_t path;
	uint32_t task;
	uint32_t cpu;
	uint64_t count;
};

/* The samples of a slice of time, which are also among those of the profile. */
struct kl_profile_slice {
	struct kl_hash samples;
	struct kl_profile_counts counts;
};

/**
 * struct kl_profile_list - distinct elements, which have no padding that is not zero
 * @element: array
 * @size: of an element
 * @by_hash: their numbers
 */
struct kl_profile_list {
	void *element;
	size_t size;
	size_t n;
	size_t room;
	struct kl_hash by_hash;
};

/**
 * struct kl_profile_stacks - what a path is made from
 * @kernel, @user: ids of stack traces
 * @in_kernel: kernel code was running, whether or not its trace is there
 * @wait: number of the function that stands for what the task waited for, plus 1; 0: it ran
 */
struct kl_profile_stacks {
	uint32_t kernel;
	uint32_t user;
	uint32_t in_kernel;
	uint32_t wait;
};

/**
 * struct kl_profile - samples
 * @ticks: all ticks are samples, else @event, else if it is NULL all events with stack traces
 * @kstack, @ustack, @cgroup: indices of variables of the schema, -1: it has none
 * @texts: names
 * @stacks: struct kl_profile_stacks; has the number of @path
 * @bodies: struct kl_profile_body
 * @slice: oldest first; none before kl_profile_begin_slice()
 * @zoom: samples that are looked at, if @zoomed
 * @off: waits that may be in progress: struct kl_profile_off
 * @partial: not all tasks were selected
 * @weight: of a sample: 1, or with waits, the ns that it stands for
 * @own: processes that are left out; 0: none
 */
struct kl_profile {
	const struct kl_schema *schema;
	bool ticks;
	const struct kl_class *event;
	int kstack;
	int ustack;
	int cgroup;
	struct kl_texts texts;
	struct kl_profile_list stacks;
	struct kl_profile_path *path;
	size_t n_paths;
	size_t paths_room;
	struct kl_profile_list functions;
	struct kl_profile_list bodies;
	struct kl_profile_list tasks;
	struct kl_hash samples;
	struct kl_profile_counts counts;
	struct kl_profile_slice *slice;
	size_t slices;
	size_t slices_room;
	bool zoomed;
	struct kl_profile_zoom zoom;
	const struct kl_class *off_event;
	struct kl_hash off;
	bool partial;
	uint64_t weight;
	int32_t own[2];
};

/* Is an event the tick of a profile? */
bool kl_profile_is_tick(const struct kl_class *event);

/* The number of an element, which is added if it is new, or -ENOMEM. */
int64_t kl_profile_list_add(struct kl_profile_list *list, const void *element);

/*
 * The value of an element, which is added if it is new. *@values is an array of values of @bytes,
 * one for each element of the list, with *@room; that of a new one is zero. Returns NULL if memory
 * is short.
 */
void *kl_profile_list_value(struct kl_profile_list *list, const void *element, void **values,
			    size_t *room, size_t bytes);
void kl_profile_list_deinit(struct kl_profile_list *list);

/* These return a number, which may be new, or -ENOMEM. */
int64_t kl_profile_add_function(struct kl_profile *profile, const char *name, const char *object,
				enum kl_profile_kind kind);
int64_t kl_profile_path(struct kl_profile *profile, const struct kl_profile_stacks *ids);
int64_t kl_profile_add_task(struct kl_profile *profile, const struct kl_event *event);

/* Count @weight in a task's path on a CPU, and add @counts. Returns 0 or -ENOMEM. */
int kl_profile_count(struct kl_profile *profile, int64_t path, int64_t task, uint32_t cpu,
		     uint64_t weight, const struct kl_profile_counts *counts);

/* The path of an event if it is a sample of a task, or -ENOENT, or -ENOMEM. */
int64_t kl_profile_path_of(struct kl_profile *profile, const struct kl_event *event);

/* Note that a task has been selected. Returns 0 or -ENOMEM. */
int kl_profile_follow(struct kl_profile *profile, int32_t tid);

/* A switch of tasks ends a wait and begins one. Returns 0 or -ENOMEM. */
int kl_profile_add_switch(struct kl_profile *profile, const struct kl_event *event);

/* The sample to look at after @sample, or the first if that is NULL. NULL after the last. */
const struct kl_profile_sample *kl_profile_next(const struct kl_profile *profile,
						const struct kl_profile_sample *sample);

static inline bool kl_profile_is_own(const struct kl_profile *profile, int32_t pid)
{
	return pid && (pid == profile->own[0] || pid == profile->own[1]);
}

static inline const struct kl_profile_function *
kl_profile_function_of(const struct kl_profile *profile, const struct kl_profile_frame *frame)
{
	return (const struct kl_profile_function *)profile->functions.element + frame->function;
}

static inline const struct kl_profile_task *
kl_profile_task_of(const struct kl_profile *profile, const struct kl_profile_sample *sample)
{
	return (const struct kl_profile_task *)profile->tasks.element + sample->task;
}

#endif /* KL_LIB_REPORT_PROFILE_H */
