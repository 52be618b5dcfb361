// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a control group runs out, twice: once the victim's exit frees it before the reaper
 * comes, once a thread of the victim hangs on a frozen file system and the reaper does it.
 */
#include <linux/fs.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include "cause.h"

#define GROUP "/sys/fs/cgroup/kl-oom"
#define DIR "/tmp/kl-oom"
#define LIMIT (8 << 20)

static void eat(void)
{
	char *memory =
		mmap(NULL, 4 * LIMIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		DIE("mmap");
	for (long at = 0; at < 4 * LIMIT; at += 4096)
		memory[at] = 1;
	exit(0);
}

static void *write_frozen(void *data)
{
	CHECK(write(*(int *)data, "x", 1));
	return NULL;
}

static void die_of_hunger(bool hang)
{
	pid_t pid = CHECK(fork());

	if (!pid) {
		int fd = CHECK(open(DIR "/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
		int dir = CHECK(open(DIR, O_RDONLY | O_CLOEXEC));
		pthread_t thread;
		char number[16];

		must_write("/proc/self/oom_score_adj", "500");
		snprintf(number, sizeof(number), "%d", getpid());
		must_write(GROUP "/cgroup.procs", number);
		if (hang) {
			CHECK(ioctl(dir, FIFREEZE, 0));
			if (pthread_create(&thread, NULL, write_frozen, &fd))
				DIE("pthread_create");
			sleep_ms(100);
		}
		eat();
	}
	if (hang) {
		int dir;

		sleep_ms(4000);
		dir = CHECK(open(DIR, O_RDONLY | O_CLOEXEC));
		CHECK(ioctl(dir, FITHAW, 0));
		close(dir);
	}
	CHECK(waitpid(pid, NULL, 0));
	fact("mark_victim tid=%d comm=oom uid=0 oom_score_adj=500", pid);
	fact("wake_reaper tid=%d", pid);
	if (hang) {
		fact("start_task_reaping tid=%d", pid);
		fact("finish_task_reaping tid=%d", pid);
	}
}

int main(void)
{
	char limit[32];

	MUST_RUN("modprobe", "brd", "rd_nr=1", "rd_size=16384");
	for (int i = 0; access("/dev/ram0", F_OK) && i < 100; i++)
		sleep_ms(10);
	MUST_RUN("mke2fs", "-q", "-t", "ext4", "-F", "/dev/ram0");
	mkdir(DIR, 0700);
	CHECK(mount("/dev/ram0", DIR, "ext4", 0, ""));
	try_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	CHECK(mkdir(GROUP, 0755));
	snprintf(limit, sizeof(limit), "%d", LIMIT);
	must_write(GROUP "/memory.max", limit);
	try_write(GROUP "/memory.swap.max", "0");
	die_of_hunger(false);
	sleep_ms(2500);
	die_of_hunger(true);
	CHECK(umount(DIR));
	CHECK(rmdir(GROUP));
	RUN("modprobe", "-r", "brd");
	return 0;
}
