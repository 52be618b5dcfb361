/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of KL_IOC_DETAIL: detail.c handles the call, each other file some kinds of
 * records, and detail/other.c the search for other processes.
 */
#ifndef KL_DETAIL_DETAIL_H
#define KL_DETAIL_DETAIL_H

#include <linux/fs.h>
#include <linux/sched.h>
#include <net/sock.h>

#include "../../core/session.h"

struct kl_file_batch;

/**
 * struct kl_detail - a call in progress
 * @task: the requested task, with a reference
 * @cred, @may: the rights that count
 * @is_tracer: the caller may trace the task
 * @buffer, @room, @used: the records
 * @cursor: where the next call continues
 * @flags: KL_DETAIL_*
 * @path: buffer for a path, KL_DETAIL_PATH_BYTES_MAX
 * @info: the same for a file's description of itself
 * @files: buffer for a batch of a task's files
 */
struct kl_detail {
	struct kl_abi_detail *call;
	struct task_struct *task;
	const struct cred *cred;
	u32 may;
	bool is_tracer;
	u8 *buffer;
	u32 room;
	u32 used;
	u32 records;
	u64 cursor;
	u32 flags;
	char *path;
	char *info;
	struct kl_file_batch *files;
	struct kl_error *why;
};

/* Adds all records of a kind that fit. Returns 0 or a negative errno. */
typedef int (*kl_detail_fn)(struct kl_detail *d);

/* detail.c */
int kl_detail_read(struct kl_abi_detail *call, const struct cred *cred, u32 may,
		   struct kl_error *why);
void *kl_detail_add(struct kl_detail *d, u32 kind, u32 bytes, u32 text_bytes);
char *kl_detail_put_text(void *record, u32 at, const void *text, u32 bytes);

/* May the caller see a task? The task is held by a reference or RCU. */
static inline bool kl_detail_sees(const struct kl_detail *d, struct task_struct *t)
{
	return kl_access_sees(d->cred, d->may, t);
}

/* detail/task.c: numbers and texts */
int kl_detail_task(struct kl_detail *d);
int kl_detail_command(struct kl_detail *d);
int kl_detail_environment(struct kl_detail *d);
int kl_detail_paths(struct kl_detail *d);
int kl_detail_namespaces(struct kl_detail *d);
int kl_detail_cgroups(struct kl_detail *d);

/* detail/rights.c */
int kl_detail_signals(struct kl_detail *d);
int kl_detail_rights(struct kl_detail *d);
int kl_detail_affinity(struct kl_detail *d);
int kl_detail_limits(struct kl_detail *d);
int kl_detail_io(struct kl_detail *d);

/* detail/file.c */
int kl_detail_files(struct kl_detail *d);
bool kl_detail_read_memory(struct kl_detail *d, u64 at, void *to, u32 bytes);
bool kl_detail_add_file(struct kl_detail *d, u32 record, int fd, struct file *file, u32 flags,
			u32 events);
u32 kl_detail_file_kind(const struct file *file);
int kl_detail_each_file(struct kl_detail *d,
			bool (*take)(struct kl_detail *d, int fd, struct file *file, bool cloexec));

/* detail/socket.c */
int kl_detail_sockets(struct kl_detail *d);
bool kl_detail_add_socket(struct kl_detail *d, u32 record, int fd, struct file *file);

/* detail/memory.c */
int kl_detail_maps(struct kl_detail *d);
int kl_detail_memory(struct kl_detail *d);

/* detail/pages.c */
int kl_detail_pages(struct kl_detail *d);

/* detail/stack.c */

enum kl_stand {
	KL_STAND_STILL, /* it is not running, and did not while it was copied */
	KL_STAND_RUNS,
	KL_STAND_GONE, /* its stack has been freed */
};

/**
 * struct kl_detail_stack - a copy of a kernel stack
 * @base, @sp: of the original stack
 * @switches: the task's number of switches before the copy
 * @copy: THREAD_SIZE bytes, to be freed with kvfree()
 * @regs: of the program, in the copy; NULL if the task has no program
 */
struct kl_detail_stack {
	enum kl_stand stand;
	unsigned long base;
	unsigned long sp;
	unsigned long switches;
	u8 *copy;
	struct pt_regs *regs;
};

int kl_detail_copy_stack(struct task_struct *t, struct kl_detail_stack *stack);
bool kl_detail_stands(struct task_struct *t, const struct kl_detail_stack *stack);
int kl_detail_syscall(struct kl_detail *d);
int kl_detail_stack(struct kl_detail *d);

/* detail/wait.c, detail/wait_call.c */

/**
 * struct kl_detail_sleep - a wait that is being explained
 * @stack: of the waiting task
 * @wait: contents of its record; text and size are added at the end
 * @path: text of that record, or NULL
 * @arg: arguments of the system call
 */
struct kl_detail_sleep {
	struct kl_detail *d;
	const struct kl_detail_stack *stack;
	struct kl_abi_detail_wait wait;
	const char *path;
	u64 arg[6];
};

int kl_detail_wait(struct kl_detail *d);
int kl_detail_explain_call(struct kl_detail_sleep *s);
void kl_detail_wait_done(struct kl_detail_sleep *s);

/* detail/lock.c */
void kl_detail_explain_futex(struct kl_detail_sleep *s);
void kl_detail_explain_flock(struct kl_detail_sleep *s);
void kl_detail_explain_record_lock(struct kl_detail_sleep *s);

/* detail/other.c */

enum kl_match {
	KL_MATCH_FILE, /* the same open file */
	KL_MATCH_PIPE, /* an end of the pipe */
	KL_MATCH_SOCKET, /* a file of the socket */
	KL_MATCH_MIRROR, /* a socket with the same two addresses, swapped */
};

/**
 * struct kl_detail_search - a search for processes that have something open
 * @mode: FMODE_*, for KL_MATCH_PIPE
 * @of: descriptor of the waiting task
 */
struct kl_detail_search {
	enum kl_match match;
	u32 role;
	int of;
	const struct file *file;
	fmode_t mode;
	const struct sock *sk;
};

int kl_detail_children(struct kl_detail *d);
struct task_struct *kl_detail_next_task(pid_t *from);
int kl_detail_search(struct kl_detail *d, const struct kl_detail_search *search);
bool kl_detail_add_other(struct kl_detail *d, struct task_struct *t, u32 role, int fd, int of,
			 u32 flags);
void kl_detail_add_children(struct kl_detail *d, pid_t wanted);
struct task_struct *kl_detail_find_vforked(struct kl_detail *d);

#endif /* KL_DETAIL_DETAIL_H */
