// SPDX-License-Identifier: GPL-2.0
/*
 * What root makes the machine do to the module while it is fuzzed: CPUs go offline and come back,
 * modules are loaded and unloaded, memory runs short, cgroups end, and limits change.
 */
#include <dirent.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "fuzz.h"

#define GROUPS "/sys/fs/cgroup"
/* A cgroup v1 hierarchy, with two controllers that v2 does not have. */
#define OLD_GROUPS "/tmp/fuzz-groups"

const char *const trouble_names[] = { "CPU hotplug", "module load", "memory pressure",
				      "group",	     "caches",	    "limits",
				      NULL };

static u32 pick(u64 *state, u32 n)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (*state >> 33) % n;
}

/* Uses the second CPU: the first cannot go offline. */
static void plug_cpu(void)
{
	put_file("/sys/devices/system/cpu/cpu1/online", "0");
	sleep_ms(100);
	put_file("/sys/devices/system/cpu/cpu1/online", "1");
}

static void insert_module(const char *name)
{
	const char *build = getenv("KL_BUILD") ?: "build";
	char path[300], release[80];
	int fd = open("/proc/sys/kernel/osrelease", O_RDONLY | O_CLOEXEC);
	ssize_t bytes = read(fd, release, sizeof(release) - 1);

	close(fd);
	if (bytes < 2)
		return;
	release[bytes - 1] = 0;
	snprintf(path, sizeof(path), "%s/%s/%s.ko", build, release, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	syscall(SYS_finit_module, fd, "", 0);
	close(fd);
}

/* A module with functions comes and goes; one with a tracepoint goes and comes back. */
static void load_module(void)
{
	insert_module("kl_places");
	sleep_ms(150);
	syscall(SYS_delete_module, "kl_places", O_NONBLOCK);
	syscall(SYS_delete_module, "kl_passed", O_NONBLOCK);
	sleep_ms(50);
	insert_module("kl_passed");
}

static bool make_group(const char *name, u64 limit_bytes)
{
	char path[200], text[40];

	put_file(GROUPS "/cgroup.subtree_control", "+memory");
	snprintf(path, sizeof(path), GROUPS "/%s", name);
	if (mkdir(path, 0755) && errno != EEXIST)
		return false;
	snprintf(path, sizeof(path), GROUPS "/%s/memory.max", name);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)limit_bytes);
	put_file(path, text);
	snprintf(path, sizeof(path), GROUPS "/%s/cgroup.procs", name);
	return put_file(path, "0");
}

bool trouble_confine(u32 number, u64 limit_bytes)
{
	char name[40];

	snprintf(name, sizeof(name), "fuzz-%u", number);
	return make_group(name, limit_bytes);
}

/* Uses as much memory as its cgroup allows, and is killed for it. */
static void press_memory(void)
{
	pid_t child = fork();

	if (!child) {
		make_group("fuzz-memory", 48 << 20);
		put_file("/proc/self/oom_score_adj", "1000");
		for (u32 i = 0; i < 64; i++) {
			u8 *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

			if (at == MAP_FAILED)
				break;
		}
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* Removes the cgroups of workers that have ended. */
static void remove_groups(void)
{
	DIR *all = opendir(GROUPS);
	struct dirent *one;
	char path[300];

	while (all && (one = readdir(all))) {
		if (strncmp(one->d_name, "fuzz-", 5))
			continue;
		snprintf(path, sizeof(path), GROUPS "/%s", one->d_name);
		rmdir(path);
	}
	if (all)
		closedir(all);
}

static void set_limit(const char *name, u32 value)
{
	char path[200], text[20];

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", common->device + 5, name);
	snprintf(text, sizeof(text), "%u", value);
	put_file(path, text);
}

static void set_usual_limits(void)
{
	set_limit("sessions_per_user", 64);
	set_limit("buffer_mb_per_user", 256);
	set_limit("patches_per_second_per_user", 100000);
	set_limit("patches_per_second_all_users", 100000);
	set_limit("work_percent_per_user", 50);
	set_limit("cpu_percent_unprivileged", 30);
}

/* Some limits are so low that little works, so only for a moment. */
static void set_low_limits(u64 *state)
{
	set_limit("sessions_per_user", 1 + pick(state, 8));
	set_limit("buffer_mb_per_user", 1 + pick(state, 64));
	set_limit("patches_per_second_per_user", 1 + pick(state, 20));
	set_limit("patches_per_second_all_users", 1 + pick(state, 20));
	set_limit("work_percent_per_user", 1 + pick(state, 10));
	set_limit("cpu_percent_unprivileged", 1 + pick(state, 3));
	sleep_ms(2500);
	set_usual_limits();
}

/*
 * Raises limits that would keep a slow machine from doing anything else; set_low_limits() lowers
 * them at times. Also provides some things to processes that a machine need not have.
 */
void trouble_begin(void)
{
	insert_module("kl_passed");
	mkdir(OLD_GROUPS, 0755);
	mount("none", OLD_GROUPS, "cgroup", 0, "net_cls,net_prio");
	put_file("/proc/sys/vm/nr_hugepages", "6");
	/* So that larger packets are fragmented. */
	put_file("/sys/class/net/lo/mtu", "1500");
	set_usual_limits();
}

void trouble_make(u64 *state)
{
	u32 what = pick(state, 6);

	common->trouble[what]++;
	switch (what) {
	case 0:
		plug_cpu();
		break;
	case 1:
		load_module();
		break;
	case 2:
		press_memory();
		break;
	case 3:
		remove_groups();
		break;
	case 4:
		put_file("/proc/sys/vm/drop_caches", "3");
		put_file("/proc/sys/vm/compact_memory", "1");
		break;
	default:
		set_low_limits(state);
	}
}

void trouble_end(void)
{
	put_file("/sys/devices/system/cpu/cpu1/online", "1");
	syscall(SYS_delete_module, "kl_places", O_NONBLOCK);
	syscall(SYS_delete_module, "kl_passed", O_NONBLOCK);
	set_limit("sessions_per_user", 16);
	set_limit("buffer_mb_per_user", 256);
	set_limit("patches_per_second_per_user", 200);
	set_limit("patches_per_second_all_users", 1000);
	set_limit("work_percent_per_user", 10);
	set_limit("cpu_percent_unprivileged", 10);
	remove_groups();
	umount(OLD_GROUPS);
	put_file("/proc/sys/vm/nr_hugepages", "0");
	put_file("/sys/class/net/lo/mtu", "65536");
}
