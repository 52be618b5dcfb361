// SPDX-License-Identifier: GPL-2.0
/*
 * A process with known files, threads and mappings, and what /proc shows of it. collect.py starts
 * it before it records, so that the state dump finds it.
 */
#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "cause.h"

static void *wait_long(void *data)
{
	*(pid_t *)data = syscall(SYS_gettid);
	pause();
	return NULL;
}

static void tell_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		char link[64], target[256] = "", info[64];
		unsigned int flags = 0;
		FILE *file;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(dir))
			continue;
		snprintf(link, sizeof(link), "/proc/self/fd/%.16s", entry->d_name);
		snprintf(info, sizeof(info), "/proc/self/fdinfo/%.16s", entry->d_name);
		CHECK(readlink(link, target, sizeof(target) - 1));
		file = fopen(info, "r");
		if (!file || fscanf(file, "pos: %*d flags: %o", &flags) != 1)
			DIE("%s", info);
		fclose(file);
		if (target[0] == '/')
			fact("lttng_statedump_file_descriptor pid=%d tid=%d fd=%s flags=%u "
			     "filename=%s fmode&3=%u",
			     getpid(), getpid(), entry->d_name, flags & ~(unsigned int)O_CLOEXEC,
			     target, (flags & O_ACCMODE) + 1);
	}
	closedir(dir);
}

/* A file on an overlay, which maps one from another directory. */
static void map_overlay(void)
{
	static const char *const folders[] = { "/tmp/kl-lower", "/tmp/kl-lowest",
					       "/tmp/kl-merged" };
	static void *mapped;
	int fd;

	for (int i = 0; i < 3; i++)
		if (mkdir(folders[i], 0755) && errno != EEXIST)
			DIE("mkdir");
	fd = open("/tmp/kl-lower/mapped", O_RDWR | O_CREAT, 0644);
	CHECK(ftruncate(fd, 4096));
	close(fd);
	CHECK(mount("overlay", folders[2], "overlay", 0, "lowerdir=/tmp/kl-lower:/tmp/kl-lowest"));
	fd = open("/tmp/kl-merged/mapped", O_RDONLY);
	mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED)
		DIE("no mapping of an overlay's file");
	close(fd);
}

static void tell_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset, inode;
	char line[512], path[256], rights[5];

	if (!file)
		DIE("no maps");
	while (fgets(line, sizeof(line), file)) {
		path[0] = 0;
		if (sscanf(line, "%lx-%lx %4s %lx %*s %lu %255s", &start, &end, rights, &offset,
			   &inode, path) < 5)
			DIE("maps: %s", line);
		if (path[0] == '/')
			fact("lttng_statedump_vm_map pid=%d start=%lu end=%lu pgoff=%lu inode=%lu "
			     "filename=%s flags&0x87=%d",
			     getpid(), start, end, offset, inode, path,
			     (rights[0] == 'r') | (rights[1] == 'w') << 1 |
				     (rights[2] == 'x') << 2 | (rights[3] == 's') << 7);
	}
	fclose(file);
}

int main(void)
{
	pid_t tid = 0;
	pthread_t thread;
	char text[64] = "";

	CHECK(readlink("/proc/self/ns/pid", text, sizeof(text) - 1));
	if (pthread_create(&thread, NULL, wait_long, &tid))
		DIE("pthread_create");
	while (!*(volatile pid_t *)&tid)
		sleep_ms(1);
	map_overlay();
	tell_files();
	tell_mappings();
	fact("lttng_statedump_process_state tid=%d vtid=%d pid=%d vpid=%d ppid=%d vppid=%d "
	     "name=statedump type=0 ns_level=0 ns_inum=%s",
	     getpid(), getpid(), getpid(), getpid(), getppid(), getppid(),
	     strtok(strchr(text, '[') + 1, "]"));
	fact("lttng_statedump_process_state tid=%d pid=%d name=statedump", tid, getpid());
	puts("ready");
	fflush(stdout);
	pthread_join(thread, NULL);
	return 0;
}
