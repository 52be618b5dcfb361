// SPDX-License-Identifier: GPL-2.0
/* Control groups of v1 and v2: created, entered, frozen, renamed, removed. */
#include <signal.h>
#include <sys/mount.h>

#include "cause.h"

#define TOP "/sys/fs/cgroup/kl"
#define OLD "/tmp/kl-cgroup"

static pid_t start_sleeper(void)
{
	pid_t pid = CHECK(fork());

	if (!pid) {
		for (;;)
			pause();
	}
	return pid;
}

static void stop_sleeper(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0));
}

static void enter(const char *dir, pid_t pid, const char *file)
{
	char path[256], number[16];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	snprintf(number, sizeof(number), "%d", pid);
	must_write(path, number);
}

static unsigned long id_of(const char *path)
{
	struct stat st;

	CHECK(stat(path, &st));
	return st.st_ino;
}

static void use_new(void)
{
	pid_t pid = start_sleeper();
	unsigned long id;

	CHECK(mkdir(TOP, 0755));
	id = id_of(TOP);
	fact("cgroup_mkdir root=0 id=%lu level=1 path=/kl", id);
	enter(TOP, pid, "cgroup.procs");
	fact("cgroup_attach_task dst_root=0 dst_id=%lu dst_level=1 tid=%d comm=cgroup "
	     "dst_path=/kl",
	     id, pid);
	must_write(TOP "/cgroup.freeze", "1");
	sleep_ms(50);
	fact("cgroup_freeze id=%lu path=/kl", id);
	fact("cgroup_notify_frozen id=%lu path=/kl val=1", id);
	must_write(TOP "/cgroup.freeze", "0");
	sleep_ms(50);
	fact("cgroup_unfreeze id=%lu path=/kl", id);
	stop_sleeper(pid);
	sleep_ms(50);
	fact("cgroup_notify_populated id=%lu path=/kl val=1", id);
	fact("cgroup_notify_populated id=%lu path=/kl val=0", id);
	CHECK(rmdir(TOP));
	fact("cgroup_rmdir id=%lu path=/kl", id);
}

/* A v1 hierarchy with a name and no controller. */
static void use_old(void)
{
	mkdir(OLD, 0755);
	CHECK(mount("kl", OLD, "cgroup", 0, "none,name=kl"));
	fact("cgroup_setup_root ss_mask=0 name=kl");
	CHECK(mount("kl", OLD, "cgroup", MS_REMOUNT, "none,name=kl"));
	fact("cgroup_remount ss_mask=0 name=kl");
	CHECK(mkdir(OLD "/a", 0755));
	CHECK(rename(OLD "/a", OLD "/b"));
	fact("cgroup_rename level=1 path=/b");
	CHECK(rmdir(OLD "/b"));
	/* A hierarchy that still has a group, even a dying one, is not destroyed. */
	sleep_ms(500);
	CHECK(umount(OLD));
	fact("cgroup_destroy_root ss_mask=0 name=kl");
}

/* The only CPU of a group goes offline: the kernel moves its tasks to the parent. */
static void lose_cpu(void)
{
	pid_t pid = start_sleeper();

	if (mount("cpuset", OLD, "cgroup", 0, "cpuset")) {
		fprintf(stderr, "cgroup: no cpuset: %s\n", strerror(errno));
		stop_sleeper(pid);
		return;
	}
	CHECK(mkdir(OLD "/c", 0755));
	must_write(OLD "/c/cpuset.cpus", "1");
	must_write(OLD "/c/cpuset.mems", "0");
	enter(OLD "/c", pid, "tasks");
	must_write("/sys/devices/system/cpu/cpu1/online", "0");
	sleep_ms(300);
	must_write("/sys/devices/system/cpu/cpu1/online", "1");
	fact("cgroup_transfer_tasks tid=%d dst_level=0 dst_path=/", pid);
	stop_sleeper(pid);
	sleep_ms(50);
	rmdir(OLD "/c");
	CHECK(umount(OLD));
}

int main(void)
{
	use_new();
	use_old();
	lose_cpu();
	/* Groups and hierarchies are freed by workers after a grace period. */
	sleep_ms(500);
	return 0;
}
