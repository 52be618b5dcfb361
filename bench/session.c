// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a command while kernlens sessions are running, with nothing but
 * uapi/kernlens.h in between, so that what is measured is the module alone.
 * Used by bench/guest.
 *
 *	session [-e PATTERN,...] [-c] [-t self|other] [-n SESSIONS] [-d] [-s FILE] -- COMMAND...
 *
 *	-e  events by glob; the default is all of RDEFAULT
 *	-c  count instead of log
 *	-t  follow the command and what it creates, or a task that does nothing
 *	-d  discard mode instead of overwrite
 *	-s  write "RECORDS LOST COUNTED" of the first session there
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernlens.h"

struct name {
	unsigned int id;
	char name[64];
};

#define KL_EVENT(id, name, ...) { id, #name },
static const struct name events[] = {
#include "events.def"
};
#undef KL_EVENT

#define KL_SYSCALL(number, name, ...)                               \
	{ KL_EV_SYSCALL_ENTRY + (number), "syscall_entry_" #name }, \
		{ KL_EV_SYSCALL_EXIT + (number), "syscall_exit_" #name },
static const struct name calls[] = {
#include "syscalls.def"
};
#undef KL_SYSCALL

static void die(int fd, const char *what)
{
	struct kl_abi_error error = { .size = sizeof(error) };

	fprintf(stderr, "session: %s: %s", what, strerror(errno));
	if (fd >= 0 && !ioctl(fd, KL_IOC_ERROR, &error))
		fprintf(stderr, " (%s)", error.text);
	fprintf(stderr, "\n");
	exit(1);
}

static bool is_there(int fd, unsigned int id)
{
	struct kl_abi_event_info info = { .size = sizeof(info), .id = id };

	return !ioctl(fd, KL_IOC_EVENT_INFO, &info) && info.absent == KL_PRESENT;
}

static int select_events(int fd, const struct name *names, size_t n, const char *pattern,
			 __u8 handler, struct kl_abi_maskset *m)
{
	int found = 0;

	for (size_t i = 0; i < n; i++) {
		if (fnmatch(pattern, names[i].name, 0) || !is_there(fd, names[i].id))
			continue;
		m->handler[names[i].id] = handler;
		found++;
	}
	return found;
}

static void use_events(int fd, char *patterns, __u8 handler)
{
	static struct kl_abi_maskset m;
	struct kl_abi_use use = { .size = sizeof(use), .maskset = KL_MASKSET_FIRST_USER };

	memset(&m, 0, sizeof(m));
	m.size = sizeof(m);
	m.id = use.maskset;
	for (char *p = strtok(patterns, ","); p; p = strtok(NULL, ",")) {
		int found =
			select_events(fd, events, sizeof(events) / sizeof(*events), p, handler, &m);

		found += select_events(fd, calls, sizeof(calls) / sizeof(*calls), p, handler, &m);
		if (!found) {
			fprintf(stderr, "session: no event %s\n", p);
			exit(1);
		}
	}
	if (ioctl(fd, KL_IOC_MASKSET_WRITE, &m) || ioctl(fd, KL_IOC_MASKSET_USE, &use))
		die(fd, "maskset");
}

static void follow(int fd, pid_t pid)
{
	struct kl_abi_filter filter = { .size = sizeof(filter), .kind = KL_FILTER_TASKS };
	struct kl_abi_tasks tasks = { .size = sizeof(tasks),
				      .pid = pid,
				      .flags = KL_TASK_ADD | KL_TASK_INHERIT };

	if (ioctl(fd, KL_IOC_FILTER, &filter) || ioctl(fd, KL_IOC_TASKS, &tasks))
		die(fd, "filter");
}

static void write_stats(int fd, const char *path)
{
	static struct kl_abi_counts counts = { .size = sizeof(counts) };
	struct kl_abi_stats stats = { .size = sizeof(stats), .cpu = -1 };
	unsigned long long counted = 0;
	FILE *f;

	if (ioctl(fd, KL_IOC_STATS, &stats) || ioctl(fd, KL_IOC_COUNTS, &counts))
		die(fd, "stats");
	for (int i = 0; i < KL_EV_MAX; i++)
		counted += counts.count[i];
	f = fopen(path, "w");
	if (!f)
		die(-1, path);
	fprintf(f, "%llu %llu %llu\n", (unsigned long long)stats.written,
		(unsigned long long)stats.lost, counted);
	fclose(f);
}

int main(int argc, char **argv)
{
	const char *patterns = NULL, *tasks = NULL, *stats = NULL;
	__u32 mode = KL_MODE_OVERWRITE;
	__u8 handler = KL_HANDLER_log;
	int sessions = 1, fds[16], option, status, go[2];
	pid_t command, idle = 0;
	char byte;

	while ((option = getopt(argc, argv, "+e:ct:n:ds:")) != -1) {
		switch (option) {
		case 'e':
			patterns = optarg;
			break;
		case 'c':
			handler = KL_HANDLER_count;
			break;
		case 't':
			tasks = optarg;
			break;
		case 'n':
			sessions = atoi(optarg);
			break;
		case 'd':
			mode = KL_MODE_DISCARD;
			break;
		case 's':
			stats = optarg;
			break;
		default:
			return 2;
		}
	}
	if (optind >= argc || sessions < 1 || sessions > 16) {
		fprintf(stderr, "usage: session [OPTION...] -- COMMAND...\n");
		return 2;
	}
	/* The command waits until everything is on. */
	if (pipe2(go, O_CLOEXEC))
		die(-1, "pipe");
	command = fork();
	if (!command) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(127);
		execvp(argv[optind], argv + optind);
		perror(argv[optind]);
		_exit(127);
	}
	if (tasks && !strcmp(tasks, "other")) {
		idle = fork();
		if (!idle) {
			pause();
			_exit(0);
		}
	}
	for (int i = 0; i < sessions; i++) {
		struct kl_abi_session s = { .size = sizeof(s), .mode = mode };

		fds[i] = open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC);
		if (fds[i] < 0)
			die(-1, KL_DEVICE_PATH);
		snprintf(s.name, sizeof(s.name), "bench-%d", i);
		if (ioctl(fds[i], KL_IOC_SESSION, &s))
			die(fds[i], "session");
		if (patterns) {
			char *copy = strdup(patterns);

			use_events(fds[i], copy, handler);
			free(copy);
		}
		if (tasks)
			follow(fds[i], idle ? idle : command);
		if (ioctl(fds[i], KL_IOC_START))
			die(fds[i], "start");
	}
	if (write(go[1], "", 1) != 1)
		die(-1, "pipe");
	if (waitpid(command, &status, 0) != command)
		die(-1, "wait");
	for (int i = 0; i < sessions; i++)
		ioctl(fds[i], KL_IOC_STOP);
	if (stats)
		write_stats(fds[0], stats);
	if (idle) {
		kill(idle, SIGKILL);
		waitpid(idle, NULL, 0);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
