// SPDX-License-Identifier: GPL-2.0
/*
 * The traced threads, and the address spaces that they share. An address space is only modified
 * while all its threads are stopped by us, or wait in the kernel for a vforked child that is.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../base/base.h"
#include "tracer.h"

#define HOLD_MS 10000
#define SEIZE_TRIES 50
#define GET_RSEQ 0x420f /* PTRACE_GET_RSEQ_CONFIGURATION */
#define OPTIONS                                                                                   \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
	 PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXEC)

struct kl_tracee *kl_tracee_find(struct kl_tracer *k, pid_t tid)
{
	for (size_t i = 0; i < k->tasks; i++)
		if (k->task[i].tid == tid)
			return &k->task[i];
	return NULL;
}

long long kl_tracee_status(pid_t tid, const char *name, int base)
{
	char path[64], line[256];
	size_t length = strlen(name);
	long long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	while (file && value < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && line[length] == ':')
			value = strtoll(line + length + 1, NULL, base);
	if (file)
		fclose(file);
	return value;
}

struct kl_tracee *kl_tracee_add(struct kl_tracer *k, pid_t tid)
{
	struct kl_tracee *grown = kl_array_grow(k->task, k->tasks, &k->task_room, sizeof(*grown));
	long long tgid = kl_tracee_status(tid, "Tgid", 10);

	if (!grown) {
		kl_tracer_fail(k, ENOMEM, "out of memory");
		k->failed = true;
		return NULL;
	}
	k->task = grown;
	grown += k->tasks++;
	*grown = (struct kl_tracee){ .tid = tid, .tgid = tgid > 0 ? (pid_t)tgid : tid };
	return grown;
}

static void leave(struct kl_tracee *t)
{
	if (t->space)
		t->space->tasks--;
	t->space = NULL;
}

void kl_tracee_join(struct kl_tracee *t, struct kl_space *s)
{
	leave(t);
	t->space = s;
	s->tasks++;
}

void kl_tracee_drop(struct kl_tracer *k, pid_t tid)
{
	struct kl_tracee *t = kl_tracee_find(k, tid);

	if (!t)
		return;
	leave(t);
	*t = k->task[--k->tasks];
}

bool kl_tracee_shares(pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

/* Create an address space without tasks. After a fork, it has the same splices as the parent's. */
struct kl_space *kl_space_add(struct kl_tracer *k, const struct kl_space *like)
{
	struct kl_space *s = calloc(1, sizeof(*s));

	if (s)
		s->injection = calloc(k->files + 1, sizeof(*s->injection));
	if (!s || !s->injection) {
		free(s);
		kl_tracer_fail(k, ENOMEM, "out of memory");
		k->failed = true;
		return NULL;
	}
	if (like) {
		memcpy(s->injection, like->injection, k->files * sizeof(*s->injection));
		s->outside = like->outside;
		s->loading = like->loading;
		s->loader = like->loader;
		s->loader_end = like->loader_end;
	}
	s->next = k->space;
	k->space = s;
	return s;
}

/* ------------------------------------------------------------------- attaching */

/*
 * Is there nothing to trace? Exiting threads no longer stop, and those of io_uring only run kernel
 * code.
 */
static bool is_none(pid_t pid, pid_t tid)
{
	char path[64], text[128] = "";
	const char *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return true;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	state = strrchr(text, ')');
	return !state || strchr("ZX", state[2]) || strstr(text, "(iou-");
}

/*
 * Returns 0 if there is nothing to do: the thread is gone, or we already trace it because we trace
 * its parent, and its event has not arrived yet. Seizing a thread that is exiting fails, so try
 * again for a while.
 */
static int try_seize(pid_t pid, pid_t tid)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int error;

	for (int i = 0; i < SEIZE_TRIES; i++) {
		if (!ptrace(PTRACE_SEIZE, tid, NULL, (void *)(long)OPTIONS))
			return 1;
		error = errno;
		if (error == ESRCH || is_none(pid, tid) ||
		    kl_tracee_status(tid, "TracerPid", 10) == getpid())
			return 0;
		nanosleep(&pause, NULL);
	}
	return -error;
}

static int seize(struct kl_tracer *k, pid_t pid, pid_t tid, struct kl_space *s)
{
	int ret = try_seize(pid, tid);
	struct kl_tracee *t;

	if (ret < 0)
		return kl_tracer_fail(
			k, -ret,
			"cannot trace process %d: %s; it must be yours and not traced already "
			"(see also /proc/sys/kernel/yama/ptrace_scope)",
			pid, strerror(-ret));
	if (!ret)
		return 0;
	t = kl_tracee_add(k, tid);
	if (!t)
		return -ENOMEM;
	kl_tracee_join(t, s);
	return 1;
}

/* Threads created in the meantime are traced because their creators are. */
int kl_process_seize(struct kl_tracer *k, pid_t pid, struct kl_space *s)
{
	char path[64];
	int ret = 1, n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	while (ret > 0) {
		DIR *folder = opendir(path);
		struct dirent *entry;

		if (!folder)
			return kl_tracer_fail(k, ESRCH, "process %d has ended", pid);
		for (ret = 0; ret >= 0 && (entry = readdir(folder));) {
			pid_t tid = (pid_t)atoi(entry->d_name);
			int got = tid > 0 && !kl_tracee_find(k, tid) ? seize(k, pid, tid, s) : 0;

			ret = got < 0 ? got : ret + got;
		}
		closedir(folder);
		n += ret > 0 ? ret : 0;
	}
	if (!ret && !n && !s->tasks)
		return kl_tracer_fail(k, ESRCH, "process %d has ended", pid);
	return ret;
}

/* -------------------------------------------------------------------- stopping */

void kl_tracee_resume(struct kl_tracee *t, int signal)
{
	bool calls = t->space && t->space->loading;

	t->held = false;
	if (t->group && !signal)
		ptrace(PTRACE_LISTEN, t->tid, NULL, NULL);
	else
		ptrace(calls ? PTRACE_SYSCALL : PTRACE_CONT, t->tid, NULL, (void *)(long)signal);
}

static bool is_held(const struct kl_tracer *k, const struct kl_space *s)
{
	for (size_t i = 0; i < k->tasks; i++)
		if (k->task[i].space == s && !k->task[i].held && !k->task[i].vforking)
			return false;
	return true;
}

static int64_t now_ms(void)
{
	return (int64_t)(kl_monotonic_ns() / 1000000);
}

int kl_space_hold(struct kl_tracer *k, struct kl_space *s)
{
	int64_t end = now_ms() + HOLD_MS;

	s->hold = true;
	for (size_t i = 0; i < k->tasks; i++)
		if (k->task[i].space == s && !k->task[i].held)
			ptrace(PTRACE_INTERRUPT, k->task[i].tid, NULL, NULL);
	while (!is_held(k, s)) {
		kl_events_take(k, 50);
		if (now_ms() > end)
			return kl_tracer_fail(
				k, ETIMEDOUT,
				"a thread did not stop: it is in an uninterruptible wait in the "
				"kernel");
	}
	return k->failed ? -ENOMEM : 0;
}

void kl_space_release(struct kl_tracer *k, struct kl_space *s)
{
	s->hold = false;
	for (size_t i = 0; i < k->tasks; i++)
		if (k->task[i].space == s && k->task[i].held)
			kl_tracee_resume(&k->task[i], 0);
}

/*
 * Do not use a thread in a restartable sequence: if the kernel saw it run elsewhere, it would
 * consider the sequence finished instead of aborting it.
 */
static bool is_in_sequence(const struct kl_tracee *t)
{
	struct {
		uint64_t address;
		uint32_t size, signature, flags, pad;
	} rseq = {};
	long sequence;

	if (ptrace(GET_RSEQ, t->tid, sizeof(rseq), &rseq) <= 0 || !rseq.address)
		return false;
	errno = 0;
	sequence = ptrace(PTRACE_PEEKDATA, t->tid, (void *)(rseq.address + 8), NULL);
	return errno || sequence;
}

struct kl_tracee *kl_space_worker(struct kl_tracer *k, const struct kl_space *s)
{
	for (size_t i = 0; i < k->tasks; i++) {
		struct kl_tracee *t = &k->task[i];
		struct user_regs_struct regs;

		/* 0x33: 64-bit code. */
		if (t->space == s && t->held && !is_in_sequence(t) &&
		    !ptrace(PTRACE_GETREGS, t->tid, NULL, &regs) && regs.cs == 0x33)
			return t;
	}
	return NULL;
}
