// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of data about processes: start processes that sleep, read the same data of all
 * of them in several ways, and print, for each, the least count of the time stamp counter per
 * process, which counts instructions in a guest started with --icount; then the same for single
 * parameters of one process, one call each; and the state of each page of a process with 64 MiB, per
 * page. Prints lines of
 * "part<TAB>processes<TAB>case<TAB>least<TAB>mean<TAB>processes", like bench/guest.
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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "kernlens.h"

enum {
#define KL_VARIABLE(id, name, ...) V_##name = id,
#include "variables.def"
#undef KL_VARIABLE
};

#define TIMES 5
#define TASKS_MAX 65536
#define PAGES 16384u

/* The numbers that the design of 2015 showed, with the name in place of three others. */
static const __u32 thirteen[] = {
	V_pid,	      V_ppid,	    V_comm,	  V_state,   V_cpu, V_priority, V_nice,
	V_min_faults, V_maj_faults, V_start_time, V_vm_size, V_rss, V_cpu_time,
};
/*
 * One by one, as in the table of 2015, without the links of file names, which the kernel no longer
 * has.
 */
static const struct {
	const char *name;
	__u32 n;
	__u32 id[8]; /* none: its children, by KL_IOC_DETAIL */
} each[] = {
	{ "process name", 1, { V_comm } },
	{ "group id", 1, { V_pid } },
	{ "parent process", 2, { V_ppid, V_parent_comm } },
	{ "group leader", 1, { V_pid } },
	{ "child process", 0, {} },
	{ "memory segments",
	  6,
	  { V_code_start, V_code_end, V_data_start, V_data_end, V_heap_start, V_stack_start } },
	{ "process priority", 3, { V_priority, V_static_priority, V_normal_priority } },
	{ "process state", 1, { V_state } },
	{ "cpu used", 1, { V_cpu } },
	{ "major and minor faults", 2, { V_min_faults, V_maj_faults } },
	{ "start time", 1, { V_start_time } },
};

static int device;
static pid_t a_child;
static char *rows;
static size_t room = 64u << 20;

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

static void put(const char *part, const char *what, unsigned long long least, unsigned int n)
{
	least = (least + n / 2) / n;
	printf("%s\tprocesses\t%s\t%llu\t%llu\t%u\n", part, what, least, least, n);
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
	put("kernlens", what, least, found);
}

static void list_children(__s32 pid)
{
	struct kl_abi_detail call = {
		.size = sizeof(call),
		.pid = pid,
		.what = KL_DETAIL_CHILDREN,
		.buffer = (unsigned long)rows,
		.bytes = KL_DETAIL_BYTES_MIN,
		.proof = -1,
	};

	if (ioctl(device, KL_IOC_DETAIL, &call))
		die("KL_IOC_DETAIL");
}

/* Measures a process without children: its parent's list of children is long. */
static void measure_one(const char *what, const __u32 *variables, unsigned int n)
{
	unsigned long long least = ~0ull;
	__s32 child = a_child;

	for (int i = 0; i < 100 * TIMES; i++) {
		unsigned long long begin = cycles(), took;

		if (n)
			inspect(variables, n, &child);
		else
			list_children(child);
		took = cycles() - begin;
		least = took < least ? took : least;
	}
	put("kernlens", what, least, 1);
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
	put("proc", what, least, n_ids);
}

static void start(unsigned int n)
{
	while (n--) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		a_child = pid;
	}
}

/* ------------------------------------------------------------------- pages */

static pid_t start_large(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		char *memory = mmap(NULL, PAGES * 4096ul, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED || madvise(memory, PAGES * 4096ul, MADV_NOHUGEPAGE))
			die("mmap");
		for (unsigned int i = 0; i < PAGES; i++)
			memory[i * 4096ul] = 1;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void read_details(__s32 pid, __u32 what)
{
	struct kl_abi_detail call = {
		.size = sizeof(call),
		.pid = pid,
		.what = what,
		.buffer = (unsigned long)rows,
		.bytes = KL_DETAIL_BYTES_MAX,
		.proof = -1,
	};

	do {
		if (ioctl(device, KL_IOC_DETAIL, &call))
			die("KL_IOC_DETAIL");
		call.bytes = KL_DETAIL_BYTES_MAX;
	} while (call.flags & KL_DETAIL_MORE);
}

static void kernlens_frames(pid_t pid)
{
	read_details(pid, KL_DETAIL_MAPS);
	read_details(pid, KL_DETAIL_FRAMES);
}

static void kernlens_pages(pid_t pid)
{
	read_details(pid, KL_DETAIL_MAPS);
	read_details(pid, KL_DETAIL_PAGES);
}

static void smaps(pid_t pid)
{
	read_file(pid, "smaps");
}

static int open_proc(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		die(path);
	return fd;
}

/* What pagemap has of a mapping, with the flags and counts of each page, in runs of frames. */
static void read_mapping(const int fd[3], unsigned long start, unsigned long end)
{
	static unsigned long long entry[PAGES], flags[PAGES], count[PAGES];
	const unsigned long long frame = (1ull << 55) - 1;

	for (unsigned long at = start / 4096; at < end / 4096;) {
		size_t n = end / 4096 - at < PAGES ? end / 4096 - at : PAGES, next;

		if (pread(fd[0], entry, n * 8, (off_t)at * 8) != (ssize_t)n * 8)
			return;
		at += n;
		for (size_t i = 0; i < n; i = next) {
			for (next = i + 1;
			     next < n && (entry[next] & frame) == (entry[next - 1] & frame) + 1;)
				next++;
			if (!(entry[i] >> 63))
				continue;
			if (pread(fd[1], flags, (next - i) * 8, (off_t)(entry[i] & frame) * 8) <
				    0 ||
			    pread(fd[2], count, (next - i) * 8, (off_t)(entry[i] & frame) * 8) < 0)
				die("kpageflags");
		}
	}
}

static void smaps_and_pages(pid_t pid)
{
	unsigned long start, end;
	char path[64], line[512];
	FILE *maps;
	int fd[3];

	smaps(pid);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd[0] = open_proc(path);
	fd[1] = open_proc("/proc/kpageflags");
	fd[2] = open_proc("/proc/kpagecount");
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	if (!maps)
		die(path);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start < 1ul << 47)
			read_mapping(fd, start, end);
	fclose(maps);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
}

static void measure_pages(const char *part, const char *what, void (*read_all)(pid_t), pid_t pid)
{
	unsigned long long least = ~0ull;

	for (int i = 0; i < TIMES; i++) {
		unsigned long long begin = cycles(), took;

		read_all(pid);
		took = cycles() - begin;
		least = took < least ? took : least;
	}
	put(part, what, least, PAGES);
}

int main(int argc, char **argv)
{
	pid_t large;

	static const char *const stat[] = { "stat", NULL }, *const status[] = { "status", NULL },
				 *const maps[] = { "maps", NULL },
				 *const all[] = { "stat", "status", "maps", NULL };

	rows = malloc(room);
	memset(rows, 0, room);
	device = open(KL_DEVICE_PATH, O_RDWR);
	if (device < 0)
		die(KL_DEVICE_PATH);
	start(argc > 1 ? (unsigned int)atoi(argv[1]) : 1000);
	sleep(1);
	measure_inspect("13 variables", thirteen, sizeof(thirteen) / sizeof(*thirteen));
	measure_inspect("1 variable", thirteen, 1);
	measure_proc("stat", stat);
	measure_proc("status", status);
	measure_proc("maps", maps);
	measure_proc("stat, status and maps", all);
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		measure_one(each[i].name, each[i].id, each[i].n);
	large = start_large();
	sleep(2);
	measure_pages("kernlens", "pages", kernlens_pages, large);
	measure_pages("kernlens", "pages and frames", kernlens_frames, large);
	measure_pages("proc", "smaps", smaps, large);
	measure_pages("proc", "smaps and pages", smaps_and_pages, large);
	return 0;
}
