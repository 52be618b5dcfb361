/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Splices in processes by ptrace. A process of its own, the tracer, traces them, so that it can
 * take all back when whoever has asked for it is killed: tracer.c. Who is traced, and how they are
 * stopped: task.c, event.c; system calls that they make for us: remote.c; where there is room:
 * maps.c; what it is given: map.c; what is written: inject.c;
 * and who may come back to it: context.c. docs/design/block.md has the rules.
 */
#ifndef KL_LIB_PTRACE_TRACER_H
#define KL_LIB_PTRACE_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "../block/user_patch.h"

#define KL_TEXT_MAX 256
#define KL_ZONE_BYTES 128 /* below a stack's end, that functions may use */

/* A file whose blocks are counted. */
struct kl_tracer_file {
	const char *path; /* without links */
	dev_t device;
	ino_t inode;
	uint64_t address; /* in its text, and where that lies in the file */
	uint64_t offset;
	struct kl_user_patches patches;
	uint32_t counters;
	uint32_t first; /* of the points that are counted */
};

/* Counters of a process and of those that it has forked since. */
struct kl_tracer_set {
	const struct kl_tracer_file *file;
	uint64_t *counter;
	struct kl_tracer_set *next;
};

/* A file's splices in a memory; not there: @base is 0. */
struct kl_injection {
	uint64_t bias; /* addresses are further than in the file by this */
	uint64_t base; /* patches, counters, KL_MMAP_KEEP if events are fired */
	uint64_t code_bytes;
	uint64_t counter_bytes;
	uint64_t bytes;
	struct kl_tracer_set *set;
};

/* A memory, which threads and processes may share. */
struct kl_space {
	struct kl_space *next;
	unsigned int tasks;
	bool hold; /* who stops stays so */
	bool outside; /* not counted: what runs before a command has been started */
	bool arrived; /* a new program: look at its files at the next stop */
	bool loading; /* its loader may still map a file */
	uint64_t loader, loader_end; /* its text */
	struct kl_injection *injection; /* one a file */
};

struct kl_task {
	pid_t tid;
	pid_t tgid;
	struct kl_space *space; /* NULL: whoever has made it has not said so yet */
	bool held;
	bool vforking; /* waits in the kernel for a child that has its memory */
	int group; /* signal that has stopped all of its process, or 0 */
};

/* What the tracer tells, in memory that is shared with who has asked. */
struct kl_tracer_report {
	int error;
	char text[KL_TEXT_MAX]; /* why it could not be done, or not for some */
	uint32_t placed; /* memories with splices, those that were forked with theirs not */
	uint32_t kept; /* patches that had to stay mapped */
	uint32_t changed; /* places that somebody else has written to since */
	uint64_t count[];
};

struct kl_tracer {
	struct kl_tracer_file *file;
	size_t files;
	uint32_t session; /* whose events are fired */
	struct kl_tracer_report *report;
	struct kl_task *task;
	size_t tasks, task_room;
	struct kl_space *space;
	struct kl_tracer_set *set;
	int signals; /* descriptor */
	bool failed; /* nothing can be done with a task that is still there */
};

/* A mapping of a process. */
struct kl_map {
	uint64_t begin, end, offset;
	dev_t device;
	ino_t inode;
	bool runs, writes, heap, stack;
	char name[128]; /* the end of it is cut off */
};

struct kl_maps {
	struct kl_map *map;
	size_t n, room;
};

/* tracer.c: only the first failure is reported. Returns -@error. */
int kl_tracer_fail(struct kl_tracer *k, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* maps.c */
int kl_maps_read(pid_t tid, struct kl_maps *maps);
void kl_maps_free(struct kl_maps *maps);
const struct kl_map *kl_maps_at(const struct kl_maps *maps, uint64_t address);
const struct kl_map *kl_maps_of(const struct kl_maps *maps, const struct kl_tracer_file *file);
/* Room within reach of a mapping, 0: there is none. */
uint64_t kl_maps_gap(const struct kl_maps *maps, const struct kl_map *near, uint64_t bytes);
/* The address of a system call instruction, 0: there is none. */
uint64_t kl_maps_call(const struct kl_maps *maps, int memory);

/* task.c */
struct kl_task *kl_task_find(struct kl_tracer *k, pid_t tid);
struct kl_task *kl_task_add(struct kl_tracer *k, pid_t tid);
void kl_task_drop(struct kl_tracer *k, pid_t tid);
void kl_task_join(struct kl_task *t, struct kl_space *s);
/* A line of /proc/TID/status as a number in @base; -1: it has none. */
long long kl_task_status(pid_t tid, const char *name, int base);
bool kl_task_shares(pid_t a, pid_t b);
struct kl_space *kl_space_add(struct kl_tracer *k, const struct kl_space *like);
int kl_process_seize(struct kl_tracer *k, pid_t pid, struct kl_space *s);
void kl_task_resume(struct kl_task *t, int signal);
/* Stop all tasks of a memory, also those that come meanwhile. */
int kl_space_hold(struct kl_tracer *k, struct kl_space *s);
void kl_space_release(struct kl_tracer *k, struct kl_space *s);
/* One that can be told to make system calls; NULL: there is none now. */
struct kl_task *kl_space_worker(struct kl_tracer *k, const struct kl_space *s);

/* event.c */
void kl_event_take(struct kl_tracer *k, pid_t tid, int status);
/* What has happened, waiting for it at most so long. */
void kl_events_take(struct kl_tracer *k, int timeout_ms);

/* remote.c: between begin and end a held task makes system calls instead of what it does. */
struct kl_remote {
	struct kl_tracer *k;
	pid_t tid;
	uint64_t at; /* a system call instruction */
	struct user_regs_struct regs;
	uint64_t mask;
};

int kl_remote_begin(struct kl_remote *r, struct kl_tracer *k, struct kl_task *t, uint64_t at);
/* Returns what the call does, or -EIO if it could not be made. */
int64_t kl_remote_call(struct kl_remote *r, long number, uint64_t first, uint64_t second,
		       uint64_t third, uint64_t fourth, int64_t fifth, uint64_t sixth);
int kl_remote_end(struct kl_remote *r);

/* inject.c: in a memory that is held. */
int kl_space_place(struct kl_tracer *k, struct kl_space *s);
bool kl_space_lacks(const struct kl_tracer *k, const struct kl_space *s);
void kl_space_restore(struct kl_tracer *k, struct kl_space *s);

/* context.c: where a thread will go on that was interrupted. */
struct kl_context {
	uint64_t rip, rsp, flags;
};

struct kl_context_move {
	uint64_t begin, bytes; /* only addresses from here on are asked for */
	bool really; /* or only look whether all can be moved */
	bool (*is_inside)(const struct kl_context_move *move, uint64_t address);
	bool (*move)(const struct kl_context_move *move, struct kl_context *context);
};

/*
 * Move the contexts in a thread's memory that are inside. Returns how many addresses that are
 * stay, or a negative errno: -E2BIG if there is too much to look at.
 */
int kl_contexts_move(pid_t tid, int memory, struct kl_context_move *move);

#endif /* KL_LIB_PTRACE_TRACER_H */
