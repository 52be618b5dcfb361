// SPDX-License-Identifier: GPL-2.0
/*
 * The tracer process. It exits when its parent closes a pipe, which also happens when the parent is
 * killed, and restores everything. It runs in a session of its own, so that Ctrl-C does not reach
 * it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/base.h"
#include "ptrace.h"
#include "tracer.h"

int kl_tracer_fail(struct kl_tracer *k, int error, const char *format, ...)
{
	va_list args;

	if (k->report->error)
		return -error;
	va_start(args, format);
	vsnprintf(k->report->text, sizeof(k->report->text), format, args);
	va_end(args);
	k->report->error = error;
	return -error;
}

/* ------------------------------------------------------------------- attaching */

/* Processes that share the address space would execute the text while it is modified. */
static int seize_sharers(struct kl_tracer *k, pid_t pid, struct kl_space *s)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	int ret = 0;

	while (folder && !ret && (entry = readdir(folder))) {
		pid_t other = (pid_t)atoi(entry->d_name);

		if (other > 0 && other != pid && !kl_tracee_find(k, other) &&
		    kl_tracee_shares(pid, other))
			ret = kl_process_seize(k, other, s);
	}
	if (folder)
		closedir(folder);
	return ret;
}

static int attach(struct kl_tracer *k, pid_t pid, bool command)
{
	struct kl_space *s = kl_tracee_find(k, pid) ? NULL : kl_space_add(k, NULL);
	int ret;

	/* Already traced as a thread of another process, or because it shares an address space. */
	if (!s)
		return k->failed ? -ENOMEM : 0;
	s->outside = command;
	ret = kl_process_seize(k, pid, s);
	if (ret || command)
		return ret;
	if (!kl_tracee_shares(pid, pid))
		return kl_tracer_fail(k, ENOSYS, "the kernel cannot compare address spaces (kcmp)");
	ret = kl_space_hold(k, s);
	if (!ret)
		ret = seize_sharers(k, pid, s);
	if (!ret)
		ret = kl_space_hold(k, s);
	if (!ret)
		ret = kl_space_place(k, s);
	if (!ret && !k->report->placed)
		ret = kl_tracer_fail(k, ENOENT, "process %d has not mapped %s", pid,
				     k->file[0].path);
	kl_space_release(k, s);
	return ret;
}

/* --------------------------------------------------------------------- leaving */

/* Running threads are detached when the tracer exits. */
static void detach(struct kl_tracer *k, struct kl_space *s)
{
	for (size_t i = 0; i < k->tasks; i++)
		if (k->task[i].space == s && k->task[i].held)
			ptrace(PTRACE_DETACH, k->task[i].tid, NULL, NULL);
	for (size_t i = k->tasks; i-- > 0;)
		if (k->task[i].space == s)
			kl_tracee_drop(k, k->task[i].tid);
}

/* A process that does not stop in time keeps its splices, which are safe to run. */
static void leave(struct kl_tracer *k)
{
	for (struct kl_space *s = k->space; s; s = s ? s->next : k->space) {
		if (!s->tasks)
			continue;
		s->arrived = false;
		s->loading = false;
		if (kl_space_hold(k, s)) {
			for (size_t i = 0; i < k->files; i++)
				k->report->kept += s->injection[i].base != 0;
			kl_space_release(k, s);
		} else {
			kl_space_restore(k, s);
		}
		detach(k, s);
		/* New children are at the head of the list, so start over. */
		s = NULL;
	}
}

static void add_counts(struct kl_tracer *k)
{
	for (const struct kl_tracer_set *set = k->set; set; set = set->next)
		for (uint32_t i = 0; set->counter && i < set->file->counters; i++)
			k->report->count[set->file->first + i] +=
				__atomic_load_n(&set->counter[i], __ATOMIC_RELAXED);
}

/* --------------------------------------------------------------------- process */

static void set_signals(struct kl_tracer *k)
{
	sigset_t set;

	for (int i = 1; i < SIGRTMIN; i++)
		if (i != SIGCHLD)
			signal(i, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
	k->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void serve(struct kl_tracer *k, int asked)
{
	struct pollfd polls[] = {
		{ .fd = asked, .events = POLLIN },
		{ .fd = k->signals, .events = POLLIN },
	};

	while (!k->failed) {
		kl_events_take(k, 0);
		if (poll(polls, 2, -1) > 0 && polls[0].revents)
			return;
	}
}

static void run_tracer(struct kl_tracer *k, const struct kl_process_request *request, int asked,
		       int told)
{
	int ret = 0;

	setsid();
	prctl(PR_SET_NAME, "kernlens-tracer");
	set_signals(k);
	for (size_t i = 0; i < request->pids && !ret; i++)
		ret = attach(k, request->pid[i], false);
	if (!ret && request->command)
		ret = attach(k, request->command, true);
	if (!ret && write(told, "", 1) == 1)
		serve(k, asked);
	leave(k);
	add_counts(k);
	close(told);
	_exit(0);
}

/* ------------------------------------------------------------------ the parent */

struct kl_process_tracer {
	pid_t pid;
	int ask;
	size_t bytes;
	struct kl_tracer_report *report;
};

static int start(struct kl_process_tracer *tracer, struct kl_tracer *k,
		 const struct kl_process_request *request)
{
	int ask[2], tell[2];
	char byte;

	if (pipe2(ask, O_CLOEXEC))
		return kl_fail_system(errno, "pipe");
	if (pipe2(tell, O_CLOEXEC)) {
		close(ask[0]);
		close(ask[1]);
		return kl_fail_system(errno, "pipe");
	}
	tracer->pid = fork();
	if (!tracer->pid) {
		close(ask[1]);
		close(tell[0]);
		run_tracer(k, request, ask[0], tell[1]);
	}
	close(ask[0]);
	close(tell[1]);
	tracer->ask = ask[1];
	if (tracer->pid < 0) {
		close(tell[0]);
		return kl_fail_system(errno, "fork");
	}
	while (read(tell[0], &byte, 1) < 0 && errno == EINTR)
		;
	close(tell[0]);
	return 0;
}

struct kl_process_tracer *kl_process_keep(struct kl_tracer_file *file, size_t files,
					  uint32_t counters,
					  const struct kl_process_request *request)
{
	struct kl_process_tracer *tracer = calloc(1, sizeof(*tracer));
	struct kl_tracer k = {
		.file = file,
		.files = files,
		.session = request->session,
	};
	int ret;

	if (!tracer) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	tracer->ask = -1;
	tracer->bytes = sizeof(*k.report) + counters * sizeof(uint64_t);
	tracer->report = mmap(NULL, tracer->bytes, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tracer->report == MAP_FAILED) {
		free(tracer);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	k.report = tracer->report;
	ret = start(tracer, &k, request);
	if (!ret && tracer->report->error)
		ret = kl_fail(tracer->report->error, "%s", tracer->report->text);
	if (!ret)
		return tracer;
	kl_process_leave(tracer);
	kl_process_free(tracer);
	errno = -ret;
	return NULL;
}

const struct kl_tracer_report *kl_process_leave(struct kl_process_tracer *tracer)
{
	if (tracer->ask >= 0)
		close(tracer->ask);
	tracer->ask = -1;
	while (tracer->pid > 0 && waitpid(tracer->pid, NULL, 0) < 0 && errno == EINTR)
		;
	tracer->pid = 0;
	return tracer->report;
}

void kl_process_free(struct kl_process_tracer *tracer)
{
	if (!tracer)
		return;
	munmap(tracer->report, tracer->bytes);
	free(tracer);
}
