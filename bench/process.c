// SPDX-License-Identifier: GPL-2.0
/*
 * What figures of processes cost: starts processes that sleep, then reads the same
 * figures of all of them in several ways and prints, for each, the least count of the
 * time stamp counter a process, which in a guest that is started with --icount counts
 * instructions; parts of the way in, the call alone, and with what a library makes of it.
 * Used by bench/guest.
 *
 *	process [NUMBER]
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernlens.h"

enum {
#define KL_VARIABLE(id, name, ...) V_##name = id,
#include "variables.def"
#undef KL_VARIABLE
};

#define TIMES 5
#define TASKS_MAX 65536

/* What the design of 2015 showed, as far as it is numbers, and the name in place of three. */
static const __u32 thirteen[] = {
	V_pid,	      V_ppid,	    V_comm,	  V_state,   V_cpu, V_priority, V_nice,
	V_min_faults, V_maj_faults, V_start_time, V_vm_size, V_rss, V_cpu_time,
};
/* One by one, as the table of 2015 has them. */
static const struct {
	const char *name;
	__u32 id;
} each[] = {
	{ "process id", V_pid },
	{ "name", V_comm },
	{ "parent", V_ppid },
	{ "state", V_state },
	{ "CPU last used", V_cpu },
	{ "dynamic priority", V_priority },
	{ "static priority", V_static_priority },
	{ "normal priority", V_normal_priority },
	{ "minor faults", V_min_faults },
	{ "major faults", V_maj_faults },
	{ "start time", V_start_time },
	{ "begin of the code", V_code_start },
	{ "mappings", V_mappings },
};

static int device;
static char *rows;
static size_t room = 64u << 20;

static unsigned long long cycles(void)
{
	unsigned int low, high;

	__asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (unsigned long long)high << 32 | low;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ------------------------------------------------------------------ kernlens */

static unsigned int inspect(const __u32 *variables, unsigned int n, const __s32 *id)
{
	struct kl_abi_inspect call = {
		.size = sizeof(call),
		.flags = id ? 0 : KL_INSPECT_ALL,
		.n_variables = n,
		.variables = (unsigned long)variables,
		.n_ids = !!id,
		.ids = (unsigned long)id,
		.rows = (unsigned long)rows,
		.room = room,
	};

	if (ioctl(device, KL_IOC_INSPECT, &call) || call.n_rows != call.n_there)
		die("KL_IOC_INSPECT");
	return call.n_rows;
}

/* ------------------------------------------------------------------- /proc */

static pid_t ids[TASKS_MAX];
static unsigned int n_ids;

static void list_proc(void)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	n_ids = 0;
	if (!folder)
		die("/proc");
	while ((entry = readdir(folder)) && n_ids < TASKS_MAX)
		if (*entry->d_name > '0' && *entry->d_name <= '9')
			ids[n_ids++] = atoi(entry->d_name);
	closedir(folder);
}

static void read_file(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		die(path);
	while (read(fd, rows, 65536) > 0)
		;
	close(fd);
}

static void read_files(const char *const *names)
{
	for (unsigned int i = 0; i < n_ids; i++)
		for (const char *const *name = names; *name; name++)
			read_file(ids[i], *name);
}

/* --------------------------------------------------------------- measuring */

static void put(const char *what, unsigned long long least, unsigned int n)
{
	printf("%s\t%llu\t%u\n", what, (least + n / 2) / n, n);
}

static void measure_inspect(const char *what, const __u32 *variables, unsigned int n)
{
	unsigned long long least = ~0ull;
	unsigned int found = 0;

	for (int i = 0; i < TIMES; i++) {
		unsigned long long begin = cycles(), took;

		found = inspect(variables, n, NULL);
		took = cycles() - begin;
		least = took < least ? took : least;
	}
	put(what, least, found);
}

static void measure_one(const char *what, __u32 variable)
{
	unsigned long long least = ~0ull;
	__s32 self = getpid();

	for (int i = 0; i < 100 * TIMES; i++) {
		unsigned long long begin = cycles(), took;

		inspect(&variable, 1, &self);
		took = cycles() - begin;
		least = took < least ? took : least;
	}
	put(what, least, 1);
}

static void measure_proc(const char *what, const char *const *names)
{
	unsigned long long least = ~0ull;

	list_proc();
	for (int i = 0; i < TIMES; i++) {
		unsigned long long begin = cycles(), took;

		read_files(names);
		took = cycles() - begin;
		least = took < least ? took : least;
	}
	put(what, least, n_ids);
}

static void start(unsigned int n)
{
	while (n--) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			for (;;)
				pause();
		}
	}
}

int main(int argc, char **argv)
{
	static const char *const stat[] = { "stat", NULL }, *const status[] = { "status", NULL },
				 *const maps[] = { "maps", NULL },
				 *const all[] = { "stat", "status", "maps", NULL };
	char what[80];

	rows = malloc(room);
	memset(rows, 0, room);
	device = open(KL_DEVICE_PATH, O_RDWR);
	if (device < 0)
		die(KL_DEVICE_PATH);
	signal(SIGTERM, SIG_IGN);
	setpgid(0, 0);
	start(argc > 1 ? (unsigned int)atoi(argv[1]) : 1000);
	sleep(1);
	measure_inspect("kernlens: 13 variables", thirteen, sizeof(thirteen) / sizeof(*thirteen));
	measure_inspect("kernlens: process id", thirteen, 1);
	measure_proc("/proc/PID/stat", stat);
	measure_proc("/proc/PID/status", status);
	measure_proc("/proc/PID/maps", maps);
	measure_proc("/proc: stat, status and maps", all);
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		snprintf(what, sizeof(what), "one process: %s", each[i].name);
		measure_one(what, each[i].id);
	}
	fflush(stdout);
	kill(0, SIGKILL);
	return 0;
}
