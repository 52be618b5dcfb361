/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A profile: events of a trace that have stack traces, usually ticks, taken as samples of where
 * time goes. Add every item of the trace, then ask for rows, trees and differences.
 */
#ifndef KERNLENS_PROFILE_H
#define KERNLENS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <kernlens/buffer.h>
#include <kernlens/flame.h>
#include <kernlens/schema.h>
#include <kernlens/trace.h>

/* Number of keys that rows can have at a time. */
#define KL_PROFILE_KEYS_MAX 4

struct kl_profile;

/*
 * What samples are grouped by. The first three are properties of each frame, the others of the
 * task.
 */
enum kl_profile_key {
	KL_PROFILE_FUNCTION,
	KL_PROFILE_OBJECT, /* kernel, module, program or library */
	KL_PROFILE_LINE, /* source line, or function if unknown */
	KL_PROFILE_PROCESS,
	KL_PROFILE_THREAD,
	KL_PROFILE_CPU,
	KL_PROFILE_CGROUP,
};

#define KL_PROFILE_KEY_COUNT (KL_PROFILE_CGROUP + 1)

/**
 * kl_profile_key_is_frame - is a key a property of each frame?
 * @key: key
 *
 * Then, a sample belongs to several rows.
 */
static inline bool kl_profile_key_is_frame(enum kl_profile_key key)
{
	return key <= KL_PROFILE_LINE;
}

/**
 * kl_profile_has_frames - is any of these keys a property of each frame?
 * @key: keys
 * @n_keys: number of keys
 */
static inline bool kl_profile_has_frames(const enum kl_profile_key *key, unsigned int n_keys)
{
	bool any = false;

	for (unsigned int i = 0; i < n_keys; i++)
		any |= kl_profile_key_is_frame(key[i]);
	return any;
}

/* What a function is part of. */
enum kl_profile_kind {
	KL_PROFILE_PROGRAM,
	KL_PROFILE_KERNEL,
	KL_PROFILE_WAIT, /* it stands for what a task waited for */
};

/**
 * struct kl_profile_function - a function that occurs in stack traces
 * @name: as kl_frame_label() gives it
 * @object: name of the module, program or library without its folder; "kernel" for the kernel
 *          itself
 * @kind: what it is part of
 */
struct kl_profile_function {
	const char *name;
	const char *object;
	enum kl_profile_kind kind;
};

/**
 * struct kl_profile_row - samples with equal keys
 * @key: texts, in the order of the keys requested
 * @function: of the key KL_PROFILE_FUNCTION; else its name is NULL
 * @pid: of the keys KL_PROFILE_PROCESS and KL_PROFILE_THREAD; else 0
 * @tid: of the key KL_PROFILE_THREAD; else 0
 * @cpu: of the key KL_PROFILE_CPU; else 0
 * @cgroup: ID, of the key KL_PROFILE_CGROUP; else 0
 * @self: samples in the innermost frame; without a key of frames, all samples
 * @total: samples in any frame
 */
struct kl_profile_row {
	const char *key[KL_PROFILE_KEYS_MAX];
	struct kl_profile_function function;
	int32_t pid;
	int32_t tid;
	uint32_t cpu;
	uint64_t cgroup;
	uint64_t self;
	uint64_t total;
};

/**
 * struct kl_profile_counts - what a profile consists of, in samples; with waits, in ns
 * @samples: samples of tasks
 * @idle: samples of idle CPUs, which are in no row
 * @kernel: samples in kernel code
 * @modes: samples of which is known whether they are in kernel code; the events of users who may
 *         not see kernel addresses do not say so
 * @no_stack: samples without any stack trace
 * @uncertain: samples of which a frame is uncertain
 * @waits: the part of @samples in which tasks did not run
 * @hz: ticks per second and CPU, if the samples are ticks of one frequency; else 0
 * @first_ns: wall time of the first sample
 * @last_ns: wall time of the last sample
 */
struct kl_profile_counts {
	uint64_t samples;
	uint64_t idle;
	uint64_t kernel;
	uint64_t modes;
	uint64_t no_stack;
	uint64_t uncertain;
	uint64_t waits;
	unsigned int hz;
	uint64_t first_ns;
	uint64_t last_ns;
};

/**
 * kl_profile_create - create an empty profile
 * @schema: of the trace; must outlive the profile, with its stack traces
 * @event: the event whose records are samples; NULL: ticks if the trace has any, else all events
 *         with stack traces
 *
 * Returns NULL with errno: ENOMEM, or ENOENT (no such event, or no stack traces) with an error
 * text.
 */
struct kl_profile *kl_profile_create(const struct kl_schema *schema, const char *event);

/**
 * kl_profile_destroy - free a profile
 * @profile: or NULL
 */
void kl_profile_destroy(struct kl_profile *profile);

/**
 * kl_profile_add - add an event if it is a sample
 * @profile: profile
 * @event: any event of the trace
 *
 * Returns 0 or -ENOMEM.
 */
int kl_profile_add(struct kl_profile *profile, const struct kl_event *event);

/**
 * kl_profile_include_waits - also take the time in which tasks do not run
 * @profile: empty; its samples must be ticks of one frequency
 * @partial: not all tasks were selected. Tasks are left out if nothing shows that they were: a
 *           tick, or a switch to or from an idle task
 *
 * Then everything is in ns: a tick stands for its period. A wait has the stack traces of the
 * switch to another task, and within them a function that stands for what the task waited for.
 *
 * Returns 0 or -ENOENT with an error text: the trace has no such ticks, or no sched_switch.
 */
int kl_profile_include_waits(struct kl_profile *profile, bool partial);

/**
 * kl_profile_leave_out - leave out the samples of processes
 * @profile: profile
 * @pid: processes; 0: none
 */
void kl_profile_leave_out(struct kl_profile *profile, const pid_t pid[2]);

/**
 * kl_profile_add_loss - note that records are missing here
 * @profile: profile
 *
 * A wait in progress may have ended, so it is not counted.
 */
void kl_profile_add_loss(struct kl_profile *profile);

/**
 * kl_profile_finish - count waits that have not ended when the trace does, until its end
 * @profile: profile
 *
 * Returns 0 or -ENOMEM.
 */
int kl_profile_finish(struct kl_profile *profile);

/**
 * kl_profile_begin_slice - begin a new slice of time
 * @profile: profile
 * @keep: number of slices before it that are kept; the samples of older ones are forgotten
 *
 * For a profile of what happened last. Names of what is forgotten stay in memory. Returns 0 or
 * -ENOMEM.
 */
int kl_profile_begin_slice(struct kl_profile *profile, size_t keep);

/**
 * kl_profile_names - number of things that a profile remembers: names, tasks, stack traces, and
 * samples that differ
 * @profile: profile
 *
 * It never forgets any.
 */
size_t kl_profile_names(const struct kl_profile *profile);

/**
 * struct kl_profile_zoom - samples that are looked at
 * @key: KL_PROFILE_PROCESS, KL_PROFILE_THREAD, KL_PROFILE_CPU or KL_PROFILE_CGROUP
 * @row: a row with this key, of which only the number of the key matters
 */
struct kl_profile_zoom {
	enum kl_profile_key key;
	struct kl_profile_row row;
};

/**
 * kl_profile_zoom - restrict rows, trees and flame graphs to some samples
 * @profile: profile
 * @zoom: which, copied; NULL: all
 *
 * The totals stay those of all samples.
 */
void kl_profile_zoom(struct kl_profile *profile, const struct kl_profile_zoom *zoom);

/**
 * kl_profile_counts - totals
 * @profile: profile
 */
const struct kl_profile_counts *kl_profile_counts(const struct kl_profile *profile);

/**
 * kl_profile_rows - samples by keys
 * @profile: profile
 * @key: keys, all different, of which at most one is a property of frames
 * @n_keys: 1 to KL_PROFILE_KEYS_MAX
 * @count: out: number of rows
 *
 * Most samples in their own frames first, then most in total. Texts belong to the profile. Returns
 * an array that the caller frees, or NULL with errno: ENOMEM, or 0 if there are no samples.
 */
struct kl_profile_row *kl_profile_rows(struct kl_profile *profile, const enum kl_profile_key *key,
				       unsigned int n_keys, size_t *count);

/**
 * struct kl_profile_node - a function in a tree of calls
 * @function: NULL in the root; valid until the next sample is added
 * @self: samples whose path ends here
 * @total: samples whose path goes through here
 * @child: callees or callers, most samples first
 * @n: number of children
 */
struct kl_profile_node {
	const struct kl_profile_function *function;
	uint64_t self;
	uint64_t total;
	struct kl_profile_node **child;
	size_t n;
	size_t room;
};

enum kl_profile_direction {
	KL_PROFILE_CALLEES,
	KL_PROFILE_CALLERS,
};

/**
 * kl_profile_tree - who calls whom
 * @profile: profile
 * @direction: of the tree: from callers to their callees, or the reverse
 * @function: name of a function; only samples in it or what it calls, from there on. NULL: all
 *            samples; the tree starts at the outermost frames, or at the innermost for
 *            KL_PROFILE_CALLERS
 *
 * A recursive function counts once for each sample. Returns the root, to be freed with
 * kl_profile_tree_destroy(), or NULL with errno: ENOMEM, or ENOENT with an error text if no sample
 * has the function.
 */
struct kl_profile_node *kl_profile_tree(struct kl_profile *profile,
					enum kl_profile_direction direction, const char *function);

/**
 * kl_profile_tree_destroy - free a tree
 * @root: or NULL
 */
void kl_profile_tree_destroy(struct kl_profile_node *root);

/**
 * struct kl_profile_place - an instruction
 * @offset: bytes from the start of the function
 * @self: samples in it
 * @total: samples in it, or in what it has called; each counts once
 */
struct kl_profile_place {
	uint64_t offset;
	uint64_t self;
	uint64_t total;
};

/**
 * struct kl_profile_code - the code of a function, and where the samples are in it
 * @symbol: as in the symbol table
 * @name: the demangled name if it differs and was requested; else NULL
 * @object: path of the program or library; the kernel module; NULL: the kernel itself
 * @build_id: of the program or library, in hexadecimal; NULL: unknown
 * @start: address of the function in the kernel; of a program: its place in the file
 * @kernel: it is part of the kernel or of a module
 * @body: number of it in the profile
 * @self: samples in it, also in functions that are inlined
 * @total: samples in it or in what it has called; each counts once
 * @place: instructions that have samples, by address
 * @n: number of these
 */
struct kl_profile_code {
	const char *symbol;
	const char *name;
	const char *object;
	const char *build_id;
	uint64_t start;
	bool kernel;
	uint32_t body;
	uint64_t self;
	uint64_t total;
	struct kl_profile_place *place;
	size_t n;
};

/**
 * kl_profile_code - where in its code the samples of a function are
 * @profile: profile
 * @function: its symbol or demangled name
 * @n: out: number of results
 *
 * Several functions may have the name. Texts belong to the profile. Returns an array, most samples
 * in their own code first, to be freed with kl_profile_code_free(), or NULL with errno: ENOMEM, or
 * ENOENT with an error text if no sample has such a function, other than inlined.
 */
struct kl_profile_code *kl_profile_code(struct kl_profile *profile, const char *function,
					size_t *n);

/**
 * kl_profile_code_groups - samples by groups of instructions, such as basic blocks
 * @profile: profile
 * @code: result of kl_profile_code(), with the same zoom
 * @group_of: the number of the group that an instruction is in, less than @n
 * @context: for @group_of
 * @place: out: one for each group; offsets are 0
 * @n: number of groups
 *
 * A sample counts once in a group's total, even if the function has called itself. Returns 0 or
 * -ENOMEM.
 */
int kl_profile_code_groups(struct kl_profile *profile, const struct kl_profile_code *code,
			   size_t (*group_of)(const void *context, uint64_t offset),
			   const void *context, struct kl_profile_place *place, size_t n);

/**
 * kl_profile_code_free - free a result of kl_profile_code()
 * @code: or NULL
 * @n: number of its elements
 */
void kl_profile_code_free(struct kl_profile_code *code, size_t n);

/**
 * kl_profile_flame - a flame graph of all samples, by command name
 * @profile: profile
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_flame *kl_profile_flame(struct kl_profile *profile);

#endif /* KERNLENS_PROFILE_H */
