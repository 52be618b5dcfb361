// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of control groups runs out in three cases. The victim's exit frees it. A thread of the
 * victim hangs on a frozen file system and the reaper frees it. A thread hangs with the address
 * space locked and the reaper has to skip it.
 */
#include <linux/fs.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include "cause.h"

#define GROUP "/sys/fs/cgroup/kl-oom-"
#define DIR "/tmp/kl-oom"
#define DEVICE "/dev/kl_cause"
#define LIMIT (8 << 20)

static char buffer[1 << 20];

static void eat_memory(void)
{
	char *memory =
		mmap(NULL, 4 * LIMIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		DIE("mmap");
	for (long at = 0; at < 4 * LIMIT; at += 4096)
		memory[at] = 1;
	exit(0);
}

/* Fills page cache, without a need for anonymous pages of its own. */
static void eat_files(void)
{
	int fd = CHECK(open("/dev/shm/kl-oom", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));

	unlink("/dev/shm/kl-oom");
	for (int i = 0; i < 4 * LIMIT / (int)sizeof(buffer); i++)
		if (write(fd, buffer, sizeof(buffer)) < 0)
			break;
	exit(0);
}

static void *write_frozen(void *data)
{
	CHECK(write(*(int *)data, "x", 1));
	return NULL;
}

static void *map_slowly(void *data)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, *(int *)data, 0);

	if (page != MAP_FAILED)
		DIE("mapped");
	return NULL;
}

static const char *path_in(const char *group, const char *file)
{
	static char path[256];

	snprintf(path, sizeof(path), GROUP "%s/%s", group, file);
	return path;
}

/* Starts the process that will run out of memory; @group selects the case. */
static pid_t start(const char *group)
{
	bool frozen = !strcmp(group, "frozen"), locked = !strcmp(group, "locked");
	char text[32];
	pid_t pid;

	CHECK(mkdir(path_in(group, ""), 0755));
	snprintf(text, sizeof(text), "%d", LIMIT);
	must_write(path_in(group, "memory.max"), text);
	try_write(path_in(group, "memory.swap.max"), "0");
	pid = CHECK(fork());
	if (!pid) {
		int fd = CHECK(
			open(locked ? DEVICE : DIR "/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
		int dir = CHECK(open(DIR, O_RDONLY | O_CLOEXEC));
		pthread_t thread;

		memset(buffer, 1, sizeof(buffer));
		must_write("/proc/self/oom_score_adj", "500");
		snprintf(text, sizeof(text), "%d", getpid());
		must_write(path_in(group, "cgroup.procs"), text);
		if (frozen)
			CHECK(ioctl(dir, FIFREEZE, 0));
		if (frozen || locked) {
			if (pthread_create(&thread, NULL, frozen ? write_frozen : map_slowly, &fd))
				DIE("pthread_create");
			sleep_ms(200);
		}
		if (locked)
			eat_files();
		eat_memory();
	}
	return pid;
}

/* Waits until the kernel has killed a process of the group. */
static void wait_for_kill(const char *group)
{
	for (int i = 0; i < 2000; i++) {
		FILE *file = fopen(path_in(group, "memory.events"), "re");
		char line[128];
		long kills = 0;

		if (!file)
			DIE("no memory.events");
		while (fgets(line, sizeof(line), file))
			if (!strncmp(line, "oom_kill ", 9))
				kills = strtol(line + 9, NULL, 10);
		fclose(file);
		if (kills)
			return;
		sleep_ms(10);
	}
	DIE("%s: nobody was killed", group);
}

static void finish(const char *group, pid_t pid)
{
	CHECK(waitpid(pid, NULL, 0));
	fact("mark_victim tid=%d comm=oom uid=0 oom_score_adj=500", pid);
	for (int i = 0; rmdir(path_in(group, "")) && i < 100; i++)
		sleep_ms(10);
}

int main(void)
{
	pid_t frozen, locked;
	int fd;

	MUST_RUN("modprobe", "brd", "rd_nr=1", "rd_size=16384");
	for (int i = 0; access("/dev/ram0", F_OK) && i < 100; i++)
		sleep_ms(10);
	MUST_RUN("mke2fs", "-q", "-t", "ext4", "-F", "/dev/ram0");
	MUST_RUN("sh", "-c", "insmod ${KL_BUILD:-build}/$(uname -r)/kl_cause.ko what=slowmap");
	mkdir(DIR, 0700);
	CHECK(mount("/dev/ram0", DIR, "ext4", 0, ""));
	try_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	finish("free", start("free"));
	frozen = start("frozen");
	wait_for_kill("frozen");
	locked = start("locked");
	wait_for_kill("locked");
	/*
	 * The reaper starts after two seconds; for the second victim it retries ten times in a
	 * second.
	 */
	sleep_ms(3500);
	CHECK(fd = open(DIR, O_RDONLY | O_CLOEXEC));
	CHECK(ioctl(fd, FITHAW, 0));
	close(fd);
	must_write(DEVICE, "x");
	finish("frozen", frozen);
	fact("wake_reaper tid=%d", frozen);
	fact("start_task_reaping tid=%d", frozen);
	fact("finish_task_reaping tid=%d", frozen);
	finish("locked", locked);
	fact("wake_reaper tid=%d", locked);
	fact("skip_task_reaping tid=%d", locked);
	CHECK(umount(DIR));
	MUST_RUN("rmmod", "kl_cause");
	RUN("modprobe", "-r", "brd");
	return 0;
}
