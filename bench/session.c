// SPDX-License-Identifier: GPL-2.0
/*
 * Run a command while kernlens sessions are running, using nothing but uapi/kernlens.h, so that the
 * module alone is measured. Used by bench/guest.
 *
 *	session [-e PATTERN,...] [-v NAME,...] [-c] [-r RULE] [-t self|other|former] [-n SESSIONS] [-d] [-s FILE] [-l FLAGS]
 *		[-p NUMBER,TRACEPOINT,...] [-u UID] -- COMMAND...
 *
 *	-e  events by glob; the default is all of RDEFAULT
 *	-v  variables to record with each event
 *	-f  record them each time, changed or not
 *	-c  count instead of log
 *	-r  a rule instead: count,VARIABLE: by its values, such as pid; hist,ret or sum,ret: of
 *	    an exit's value;
 *	    log,reject: with a filter on the first field that rejects everything;
 *	    log,next: the same for sched_switch, on next_tid
 *	-t  follow the command and what it creates, or a task that does nothing; `former`: that
 *	    task, and the command until shortly before it is executed
 *	-d  discard mode instead of overwrite
 *	-l  a latency profile with these KL_LATENCY_* flags in hexadecimal
 *	-p  NUMBER events of each session's own, which count, at these tracepoints in turn
 *	-u  sessions of this user, without privilege, who also owns the task of -t other
 *	-s  write "RECORDS LOST COUNTED" of the first session to FILE
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernlens.h"

#define SESSIONS_MAX 256

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

#define KL_VARIABLE(id, name, ...) { id, #name },
static const struct name variables[] = {
#include "variables.def"
};
#undef KL_VARIABLE

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

/* Define events of the session's own, all counted, from "NUMBER,TRACEPOINT,...". */
static void define_events(int fd, char *text)
{
	static struct kl_abi_event event[256];
	static struct kl_abi_maskset m;
	static __u8 handler[256];
	struct kl_abi_events events = { .size = sizeof(events), .event = (__u64)(uintptr_t)event };
	struct kl_abi_use use = { .size = sizeof(use), .maskset = KL_MASKSET_FIRST_USER };
	char *names[8], *name;
	int n = 0;

	events.n = atoi(strtok(text, ","));
	while (n < 8 && (name = strtok(NULL, ",")))
		names[n++] = name;
	if (!n || events.n > 256) {
		fprintf(stderr, "session: at most 256 events at up to 8 tracepoints\n");
		exit(2);
	}
	for (__u32 i = 0; i < events.n; i++) {
		event[i].kind = KL_SOURCE_KIND_TRACEPOINT;
		event[i].name = (__u64)(uintptr_t)names[i % n];
		handler[i] = KL_HANDLER_count;
	}
	if (ioctl(fd, KL_IOC_EVENTS, &events))
		die(fd, "events");
	m.size = sizeof(m);
	m.id = use.maskset;
	m.dynamic = (__u64)(uintptr_t)handler;
	m.n_dynamic = events.n;
	if (ioctl(fd, KL_IOC_MASKSET_WRITE, &m) || ioctl(fd, KL_IOC_MASKSET_USE, &use))
		die(fd, "maskset");
}

static __u32 add_program(int fd, const struct kl_abi_op *ops, __u32 n)
{
	struct kl_abi_program p = { .size = sizeof(p), .n_ops = n, .ops = (__u64)(uintptr_t)ops };

	if (ioctl(fd, KL_IOC_PROGRAM, &p))
		die(fd, "program");
	return p.id;
}

static __u32 variable_id(const char *name)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		if (!strcmp(name, variables[i].name))
			return variables[i].id;
	return 0;
}

/* Create the rule, and return its action for a maskset. */
static __u8 make_rule(int fd, const char *what)
{
	const struct kl_abi_op key[] = { { .code = KL_OP_VARIABLE,
					   .imm = variable_id(strchr(what, ',') + 1) },
					 { .code = KL_OP_END } };
	const struct kl_abi_op field[] = { { .code = KL_OP_FIELD, .b = KL_NUMBER_S64 },
					   { .code = KL_OP_END } };
	/* No measured event begins with these 8 bytes. */
	const struct kl_abi_op reject[] = {
		{ .code = KL_OP_FIELD, .b = KL_NUMBER_S64 },
		{ .code = KL_OP_CONST, .dst = 1, .imm64 = 0x123456789abcdefull },
		{ .code = KL_OP_ALU, .a = 1, .b = KL_ALU_EQ },
		{ .code = KL_OP_END },
	};
	const struct kl_abi_op next[] = {
		{ .code = KL_OP_FIELD, .b = KL_NUMBER_S32, .imm = 48 },
		{ .code = KL_OP_CONST, .dst = 1, .imm64 = 123456789 },
		{ .code = KL_OP_ALU, .a = 1, .b = KL_ALU_EQ },
		{ .code = KL_OP_END },
	};
	struct kl_abi_rule rule = { .size = sizeof(rule), .handler = KL_HANDLER_count };

	if (!strncmp(what, "count,", 6)) {
		rule.n_keys = 1;
		rule.key[0] = add_program(fd, key, 2);
	} else if (!strncmp(what, "log,", 4)) {
		rule.handler = KL_HANDLER_log;
		rule.filter = add_program(fd, strcmp(what, "log,next") ? reject : next, 4);
	} else {
		rule.handler = !strcmp(what, "hist,ret") ? KL_HANDLER_hist : KL_HANDLER_sum;
		rule.value = add_program(fd, field, 2);
	}
	if (ioctl(fd, KL_IOC_RULE, &rule))
		die(fd, "rule");
	return KL_ACTION_RULE + rule.rule;
}

static void use_variables(int fd, char *names, __u32 flags)
{
	static struct kl_abi_variables list = { .size = sizeof(list) };

	list.n = 0;
	list.flags = flags;
	for (char *name = strtok(names, ","); name; name = strtok(NULL, ","))
		for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
			if (!strcmp(name, variables[i].name))
				list.variable[list.n++].variable = variables[i].id;
	if (ioctl(fd, KL_IOC_VARIABLES, &list))
		die(fd, "variables");
}

static void change_tasks(int fd, pid_t pid, __u32 flags)
{
	struct kl_abi_tasks tasks = { .size = sizeof(tasks), .pid = pid, .flags = flags };

	if (ioctl(fd, KL_IOC_TASKS, &tasks))
		die(fd, "tasks");
}

static void set_filter(int fd, __u32 kind, uid_t uid, int cgroup)
{
	struct kl_abi_filter filter = {
		.size = sizeof(filter), .kind = kind, .uid = uid, .fd = cgroup
	};

	if (ioctl(fd, KL_IOC_FILTER, &filter))
		die(fd, "filter");
}

/* @what: "uid:USER", "cgroup:DIRECTORY", or tasks, of which @pid is one */
static void follow(int fd, const char *what, pid_t pid)
{
	int cgroup;

	if (!strncmp(what, "uid:", 4))
		return set_filter(fd, KL_FILTER_UID, atoi(what + 4), 0);
	if (strncmp(what, "cgroup:", 7) != 0) {
		set_filter(fd, KL_FILTER_TASKS, 0, 0);
		return change_tasks(fd, pid, KL_TASK_ADD | KL_TASK_INHERIT);
	}
	cgroup = open(what + 7, O_PATH | O_CLOEXEC);
	if (cgroup < 0)
		die(-1, what);
	set_filter(fd, KL_FILTER_CGROUP, 0, cgroup);
	close(cgroup);
}

static void profile(int fd, __u32 flags)
{
	struct kl_abi_latency latency = { .size = sizeof(latency), .flags = flags };
	struct kl_abi_use use = { .size = sizeof(use), .maskset = KL_MASKSET_RNOTHING };

	if (ioctl(fd, KL_IOC_LATENCY, &latency) || ioctl(fd, KL_IOC_MASKSET_USE, &use))
		die(fd, "latency");
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

/* Values of the options. */
struct options {
	const char *patterns;
	const char *variables;
	__u32 flags;
	const char *rule;
	const char *tasks;
	const char *stats;
	const char *latency;
	const char *probes;
	uid_t uid;
	__u32 mode;
	__u8 handler;
	int sessions;
};

static int parse(struct options *options, int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "+e:v:fcr:t:n:ds:l:p:u:")) != -1) {
		switch (option) {
		case 'e':
			options->patterns = optarg;
			break;
		case 'v':
			options->variables = optarg;
			break;
		case 'f':
			options->flags = KL_VARIABLES_FULL;
			break;
		case 'c':
			options->handler = KL_HANDLER_count;
			break;
		case 'r':
			options->rule = optarg;
			break;
		case 't':
			options->tasks = optarg;
			break;
		case 'n':
			options->sessions = atoi(optarg);
			break;
		case 'd':
			options->mode = KL_MODE_DISCARD;
			break;
		case 'l':
			options->latency = optarg;
			break;
		case 'p':
			options->probes = optarg;
			break;
		case 'u':
			options->uid = atoi(optarg);
			break;
		case 's':
			options->stats = optarg;
			break;
		default:
			return -1;
		}
	}
	return optind >= argc || options->sessions < 1 || options->sessions > SESSIONS_MAX ? -1 : 0;
}

/* Start the command, which waits until everything is attached. */
static pid_t start_command(char **argv, int go[2])
{
	pid_t command;
	char byte;

	if (pipe2(go, O_CLOEXEC))
		die(-1, "pipe");
	command = fork();
	if (command)
		return command;
	close(go[1]);
	if (read(go[0], &byte, 1) != 1)
		_exit(127);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

/* Start a process that exists only to be followed; it has its user when this returns. */
static pid_t start_idle(uid_t uid)
{
	int ready[2];
	pid_t idle;
	char byte;

	if (pipe2(ready, O_CLOEXEC))
		die(-1, "pipe");
	idle = fork();
	if (!idle) {
		if (uid && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
			    prctl(PR_SET_DUMPABLE, 1)))
			_exit(1);
		/* After the change of user, which clears the death signal. */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		die(-1, "the process to be followed");
	close(ready[0]);
	return idle;
}

/* The rights of a session are those of the user that opens the device. */
static int open_as(uid_t uid)
{
	int fd;

	if (uid &&
	    (chmod(KL_DEVICE_PATH, 0666) || setresgid(-1, uid, -1) || setresuid(-1, uid, -1)))
		die(-1, "setresuid");
	fd = open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die(-1, KL_DEVICE_PATH);
	if (uid && (setresuid(-1, 0, -1) || setresgid(-1, 0, -1)))
		die(-1, "setresuid");
	return fd;
}

static int start_session(const struct options *options, int number, pid_t followed)
{
	struct kl_abi_session s = { .size = sizeof(s), .mode = options->mode };
	int fd = open_as(options->uid);

	snprintf(s.name, sizeof(s.name), "bench-%d", number);
	/* With the default size, hundreds of sessions would not fit into a small guest. */
	if (options->sessions > 16) {
		s.block_bytes = 4096;
		s.blocks = 4;
	}
	if (ioctl(fd, KL_IOC_SESSION, &s))
		die(fd, "session");
	if (options->patterns) {
		char *copy = strdup(options->patterns);

		use_events(fd, copy,
			   options->rule ? make_rule(fd, options->rule) : options->handler);
		free(copy);
	}
	if (options->probes) {
		char *copy = strdup(options->probes);

		define_events(fd, copy);
		free(copy);
	}
	if (options->variables) {
		char *copy = strdup(options->variables);

		use_variables(fd, copy, options->flags);
		free(copy);
	}
	if (options->latency)
		profile(fd, strtoul(options->latency, NULL, 16));
	if (options->tasks)
		follow(fd, options->tasks, followed);
	if (ioctl(fd, KL_IOC_START))
		die(fd, "start");
	return fd;
}

int main(int argc, char **argv)
{
	struct options options = { .mode = KL_MODE_OVERWRITE,
				   .handler = KL_HANDLER_log,
				   .sessions = 1 };
	int fds[SESSIONS_MAX], status, go[2];
	pid_t command, idle = 0;
	bool former;

	if (parse(&options, argc, argv)) {
		fprintf(stderr, "usage: session [OPTION...] -- COMMAND...\n");
		return 2;
	}
	command = start_command(argv + optind, go);
	former = options.tasks && !strcmp(options.tasks, "former");
	if (former || (options.tasks && !strcmp(options.tasks, "other")))
		idle = start_idle(options.uid);
	for (int i = 0; i < options.sessions; i++)
		fds[i] = start_session(&options, i, idle ? idle : command);
	for (int i = 0; former && i < options.sessions; i++) {
		change_tasks(fds[i], command, KL_TASK_ADD | KL_TASK_INHERIT);
		change_tasks(fds[i], command, KL_TASK_REMOVE);
	}
	/* The module notices a little later that the command is no longer followed. */
	if (former)
		sleep(1);
	if (write(go[1], "", 1) != 1)
		die(-1, "pipe");
	if (waitpid(command, &status, 0) != command)
		die(-1, "wait");
	for (int i = 0; i < options.sessions; i++)
		ioctl(fds[i], KL_IOC_STOP);
	if (options.stats)
		write_stats(fds[0], options.stats);
	if (idle) {
		kill(idle, SIGKILL);
		waitpid(idle, NULL, 0);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
