/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Splices in processes, by ptrace. A separate process, the tracer, traces them, so that it can
 * remove the splices even if its parent is killed: tracer.c. The traced threads, and how they are
 * stopped: task.c, event.c. System calls that they make for us: remote.c. Free space: maps.c.
 * Memory: map.c. Text: inject.c. Saved contexts: context.c. docs/design/block.md has the rules.
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
#define KL_ZONE_BYTES 128 /* the red zone: below the stack pointer, used by leaf functions */

/* A file whose blocks are instrumented. */
struct kl_tracer_file {
	const char *path; /* resolved, without symbolic links */
	dev_t device;
	ino_t inode;
	uint64_t address; /* an address in its text, and its offset in the file */
	uint64_t offset;
	struct kl_user_patches patches;
	uint32_t counters;
	uint32_t first; /* index of the first in the report */
};

/* Counters of a process and of those that it has forked since. */
struct kl_tracer_set {
	const struct kl_tracer_file *file;
	uint64_t *counter;
	struct kl_tracer_set *next;
};

/* A file's splices in an address space; @base is 0 if there are none. */
struct kl_injection {
	uint64_t bias; /* load address minus the address in the file */
	uint64_t base; /* patches, counters, and KL_MMAP_KEEP if events are emitted */
	uint64_t code_bytes;
	uint64_t counter_bytes;
	uint64_t bytes;
	struct kl_tracer_set *set;
};

/* An address space, which threads and processes may share. */
struct kl_space {
	struct kl_space *next;
	unsigned int tasks;
	bool hold; /* tasks that stop stay stopped */
	bool outside; /* not instrumented: what runs before a command is executed */
	bool arrived; /* a new program: look for files at the next stop */
	bool loading; /* its loader may still map a file */
	uint64_t loader, loader_end; /* bounds of the loader's text */
	struct kl_injection *injection; /* one for each file */
};

struct kl_tracee {
	pid_t tid;
	pid_t tgid;
	struct kl_space *space; /* NULL: its creator's event has not arrived yet */
	bool held;
	bool vforking; /* waits in the kernel for a vforked child */
	int group; /* signal that stopped the whole process, or 0 */
};

/* The tracer's results, in memory shared with its parent. */
struct kl_tracer_report {
	int error;
	char text[KL_TEXT_MAX]; /* the first failure */
	uint32_t placed; /* address spaces with splices, not counting those inherited by fork */
	uint32_t kept; /* patches that had to stay mapped */
	uint32_t changed; /* places that others have modified since */
	uint64_t count[];
};

struct kl_tracer {
	struct kl_tracer_file *file;
	size_t files;
	uint32_t session; /* the session that records the events */
	struct kl_tracer_report *report;
	struct kl_tracee *task;
	size_t tasks, task_room;
	struct kl_space *space;
	struct kl_tracer_set *set;
	int signals; /* descriptor */
	bool failed; /* out of memory: a task cannot be handled */
};

/* A mapping of a process. */
struct kl_mapping {
	uint64_t begin, end, offset;
	dev_t device;
	ino_t inode;
	bool runs, writes, heap, stack;
	char name[128]; /* long names are cut at the end */
};

struct kl_maps {
	struct kl_mapping *map;
	size_t n, room;
};

/* tracer.c: only the first failure is reported. Returns -@error. */
int kl_tracer_fail(struct kl_tracer *k, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* maps.c */
int kl_maps_read(pid_t tid, struct kl_maps *maps);
void kl_maps_free(struct kl_maps *maps);
const struct kl_mapping *kl_maps_at(const struct kl_maps *maps, uint64_t address);
const struct kl_mapping *kl_maps_of(const struct kl_maps *maps, const struct kl_tracer_file *file);
/* Free space within reach of a mapping; 0: none. */
uint64_t kl_maps_gap(const struct kl_maps *maps, const struct kl_mapping *near, uint64_t bytes);
/* Address of a system call instruction; 0: none. */
uint64_t kl_maps_call(const struct kl_maps *maps, int memory);

/* task.c */
struct kl_tracee *kl_tracee_find(struct kl_tracer *k, pid_t tid);
struct kl_tracee *kl_tracee_add(struct kl_tracer *k, pid_t tid);
void kl_tracee_drop(struct kl_tracer *k, pid_t tid);
void kl_tracee_join(struct kl_tracee *t, struct kl_space *s);
/* A line of /proc/TID/status as a number in @base; -1: missing. */
long long kl_tracee_status(pid_t tid, const char *name, int base);
bool kl_tracee_shares(pid_t a, pid_t b);
struct kl_space *kl_space_add(struct kl_tracer *k, const struct kl_space *like);
int kl_process_seize(struct kl_tracer *k, pid_t pid, struct kl_space *s);
void kl_tracee_resume(struct kl_tracee *t, int signal);
/* Stop all tasks of an address space, including those created in the meantime. */
int kl_space_hold(struct kl_tracer *k, struct kl_space *s);
void kl_space_release(struct kl_tracer *k, struct kl_space *s);
/* A task that can make system calls for us; NULL: none at the moment. */
struct kl_tracee *kl_space_worker(struct kl_tracer *k, const struct kl_space *s);

/* event.c */
/* Handle the pending events, waiting for them up to the timeout. */
void kl_events_take(struct kl_tracer *k, int timeout_ms);

/* remote.c: between begin and end, a held task makes system calls for us. */
struct kl_remote {
	struct kl_tracer *k;
	pid_t tid;
	uint64_t at; /* a system call instruction */
	struct user_regs_struct regs;
	uint64_t mask;
};

int kl_remote_begin(struct kl_remote *r, struct kl_tracer *k, struct kl_tracee *t, uint64_t at);
/* Returns the result of the system call, or -EIO if it could not be made. */
int64_t kl_remote_call(struct kl_remote *r, long number, uint64_t first, uint64_t second,
		       uint64_t third, uint64_t fourth, int64_t fifth, uint64_t sixth);
int kl_remote_end(struct kl_remote *r);

/* inject.c: for an address space that is held. */
int kl_space_place(struct kl_tracer *k, struct kl_space *s);
void kl_space_restore(struct kl_tracer *k, struct kl_space *s);

/* context.c: where an interrupted thread will continue. */
struct kl_context {
	uint64_t rip, rsp, flags;
};

struct kl_context_move {
	uint64_t begin, bytes; /* only addresses in this range are checked */
	bool really; /* false: only check whether all can be moved */
	bool (*is_inside)(const struct kl_context_move *move, uint64_t address);
	bool (*move)(const struct kl_context_move *move, struct kl_context *context);
};

/*
 * Move the contexts in a process's memory that are inside. Returns how many such addresses could
 * not be moved, or a negative errno: -E2BIG if there is too much memory to scan.
 */
int kl_contexts_move(pid_t tid, int memory, struct kl_context_move *move);

#endif /* KL_LIB_PTRACE_TRACER_H */
