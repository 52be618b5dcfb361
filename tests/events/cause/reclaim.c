// SPDX-License-Identifier: GPL-2.0
/*
 * Memory shortage: in a control group, with swap to a RAM disk; in the whole machine, by having the
 * kernel keep most memory free; and for large blocks, which requires compaction.
 */
#include <linux/fs.h>
#include <sys/swap.h>

#include "cause.h"

#define GROUP "/sys/fs/cgroup/kl-reclaim"
#define FILE_BYTES (24 << 20)

static char buffer[1 << 20];

static long meminfo(const char *name)
{
	char line[256];
	long kb = 0;
	FILE *file = fopen("/proc/meminfo", "re");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			kb = strtol(line + strlen(name) + 1, NULL, 10);
	if (file)
		fclose(file);
	return kb;
}

static void add_swap(void)
{
	MUST_RUN("modprobe", "brd", "rd_nr=1", "rd_size=65536");
	for (int i = 0; access("/dev/ram0", F_OK) && i < 100; i++)
		sleep_ms(10);
	MUST_RUN("mkswap", "-q", "/dev/ram0");
	CHECK(swapon("/dev/ram0", 0));
}

static void exceed_group(void)
{
	pid_t pid;

	try_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	CHECK(mkdir(GROUP, 0755));
	must_write(GROUP "/memory.max", "8388608");
	pid = CHECK(fork());
	if (!pid) {
		char number[16], *memory;

		snprintf(number, sizeof(number), "%d", getpid());
		must_write(GROUP "/cgroup.procs", number);
		memory = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
		if (memory == MAP_FAILED)
			DIE("mmap");
		for (long at = 0; at < 16 << 20; at += 4096)
			memory[at] = 1;
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0));
	CHECK(rmdir(GROUP));
}

static void write_number(const char *path, long number)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", number);
	must_write(path, text);
}

static void read_file(const char *path)
{
	int fd = CHECK(open(path, O_RDONLY | O_CLOEXEC));

	while (read(fd, buffer, sizeof(buffer)) > 0)
		;
	close(fd);
}

/* Files on the RAM disk, which reclaim can drop, unlike those of a tmpfs. */
static void make_files(void)
{
	int fd;

	MUST_RUN("modprobe", "-r", "brd");
	MUST_RUN("modprobe", "brd", "rd_nr=3", "rd_size=65536");
	for (int i = 0; access("/dev/ram2", F_OK) && i < 100; i++)
		sleep_ms(10);
	fd = CHECK(open("/dev/ram1", O_RDWR | O_CLOEXEC));
	for (int i = 0; i < FILE_BYTES / (int)sizeof(buffer); i++)
		CHECK(write(fd, buffer, sizeof(buffer)));
	CHECK(fsync(fd));
	close(fd);
}

/* Reclaims from a group whose pages are all in use. */
static void age_group(void)
{
	pid_t pid;

	/* Uses the active and inactive lists, where the multi-generational LRU can be disabled. */
	try_write("/sys/kernel/mm/lru_gen/enabled", "n");
	CHECK(mkdir(GROUP, 0755));
	pid = CHECK(fork());
	if (!pid) {
		char number[16];

		snprintf(number, sizeof(number), "%d", getpid());
		must_write(GROUP "/cgroup.procs", number);
		/* The last to close the disk would drop its pages. */
		CHECK(open("/dev/ram2", O_RDONLY | O_CLOEXEC));
		for (int i = 0; i < 3; i++)
			read_file("/dev/ram2");
		try_write(GROUP "/memory.reclaim", "8388608");
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0));
	CHECK(rmdir(GROUP));
}

/*
 * The kernel must keep nearly all free memory free, so that every allocation reclaims first. What
 * remains is enough for all processes; otherwise the kernel would kill the largest.
 */
static void shorten_memory(void)
{
	long old = strtol(read_line("/proc/sys/vm/min_free_kbytes"), NULL, 10);
	long free_kb = meminfo("MemFree");
	char *memory;

	write_number("/proc/sys/vm/zone_reclaim_mode", 1);
	write_number("/proc/sys/vm/min_free_kbytes", free_kb * 85 / 100);
	read_file("/dev/ram1");
	memory = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		DIE("mmap");
	write_number("/proc/sys/vm/min_free_kbytes", meminfo("MemFree") * 90 / 100);
	for (long at = 0; at < 4 << 20; at += 4096)
		memory[at] = 1;
	read_file("/dev/ram1");
	/* Blocks of 2 MiB, of which there are not enough. */
	try_write("/proc/sys/vm/nr_hugepages", "64");
	try_write("/proc/sys/vm/nr_hugepages", "0");
	write_number("/proc/sys/vm/min_free_kbytes", old);
	write_number("/proc/sys/vm/zone_reclaim_mode", 0);
	CHECK(munmap(memory, 16 << 20));
}

int main(void)
{
	add_swap();
	exceed_group();
	CHECK(swapoff("/dev/ram0"));
	make_files();
	age_group();
	shorten_memory();
	must_write("/proc/sys/vm/compact_memory", "1");
	must_write("/proc/sys/vm/drop_caches", "3");
	sleep_ms(300);
	return 0;
}
