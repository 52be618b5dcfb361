// SPDX-License-Identifier: GPL-2.0
/* Writeback to a file system on a RAM disk (brd); file locks and leases. */
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>

#include "cause.h"

#define DEVICE "/dev/ram0"
#define DIR "/tmp/kl-fs"

static char buffer[1 << 20];

static void make_fs(void)
{
	MUST_RUN("modprobe", "brd", "rd_nr=1", "rd_size=32768");
	for (int i = 0; access(DEVICE, F_OK) && i < 100; i++)
		sleep_ms(10);
	MUST_RUN("mke2fs", "-q", "-t", "ext4", "-F", DEVICE);
	RUN("modprobe", "ext4");
	mkdir(DIR, 0700);
	CHECK(mount(DEVICE, DIR, "ext4", 0, ""));
}

static void write_back(void)
{
	int fd = CHECK(open(DIR "/a", O_RDWR | O_CREAT | O_CLOEXEC, 0600));

	for (int i = 0; i < 8; i++)
		CHECK(write(fd, buffer, sizeof(buffer) / 8));
	CHECK(fsync(fd));
	CHECK(pwrite(fd, buffer, 4096, 0));
	sync();
	close(fd);
}

/* With almost no dirty pages allowed, the writer has to wait. */
static void write_too_much(void)
{
	int fd = CHECK(open(DIR "/b", O_RDWR | O_CREAT | O_CLOEXEC, 0600));

	must_write("/proc/sys/vm/dirty_background_bytes", "65536");
	must_write("/proc/sys/vm/dirty_bytes", "262144");
	for (int i = 0; i < 12; i++)
		CHECK(write(fd, buffer, sizeof(buffer) / 2));
	must_write("/proc/sys/vm/dirty_background_ratio", "10");
	must_write("/proc/sys/vm/dirty_ratio", "20");
	CHECK(fdatasync(fd));
	close(fd);
	/* Shared mapped pages become dirty when they are written to. */
	fd = CHECK(open(DIR "/b", O_RDWR | O_CLOEXEC));
	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		DIE("mmap");
	map[0] = map[4096] = 1;
	CHECK(msync(map, 8192, MS_SYNC));
	CHECK(munmap(map, 8192));
	close(fd);
}

static void lock_files(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 20 };
	int fd = CHECK(open(DIR "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	struct stat st;

	CHECK(fstat(fd, &st));
	CHECK(fcntl(fd, F_SETLK, &lock));
	fact("fcntl_setlk i_ino=%lu s_dev=0x100000 type=1 fl_start=10 fl_end=29 pid=%d ret=0",
	     (unsigned long)st.st_ino, getpid());
	fact("posix_lock_inode i_ino=%lu type=1 fl_start=10 fl_end=29 ret=0",
	     (unsigned long)st.st_ino);
	lock.l_type = F_UNLCK;
	CHECK(fcntl(fd, F_SETLK, &lock));
	lock.l_type = F_RDLCK;
	CHECK(fcntl(fd, F_SETLK, &lock));
	CHECK(flock(fd, LOCK_EX));
	CHECK(flock(fd, LOCK_UN));
	close(fd);
	fact("locks_remove_posix i_ino=%lu type=2 ret=0", (unsigned long)st.st_ino);
	fact("flock_lock_inode i_ino=%lu type=1 ret=0", (unsigned long)st.st_ino);
}

static volatile int lease_fd = -1;
static volatile bool give_back;

static void on_break(int number)
{
	if (give_back)
		fcntl(lease_fd, F_SETLEASE, F_UNLCK);
}

static void open_leased(bool wait)
{
	pid_t pid = CHECK(fork());

	if (!pid) {
		int fd = open(DIR "/lease", O_RDWR | O_CLOEXEC | (wait ? 0 : O_NONBLOCK));

		/* A blocking open succeeds in the end; a non-blocking one fails. */
		_exit((fd < 0) == wait ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	/* The lease's signal may interrupt the wait. */
	while (waitpid(pid, NULL, 0) < 0)
		if (errno != EINTR)
			DIE("waitpid");
}

static void lease_files(void)
{
	int fd = CHECK(open(DIR "/lease", O_RDONLY | O_CREAT | O_CLOEXEC, 0600));

	lease_fd = fd;
	if (sigaction(SIGIO, &(struct sigaction){ .sa_handler = on_break }, NULL))
		DIE("sigaction");
	must_write("/proc/sys/fs/lease-break-time", "1");
	for (int i = 0; i < 2; i++) {
		/* The first lease is released on request; the second is not, and times out. */
		give_back = !i;
		CHECK(fcntl(fd, F_SETLEASE, F_RDLCK));
		if (i)
			open_leased(false);
		open_leased(true);
	}
	must_write("/proc/sys/fs/lease-break-time", "45");
	CHECK(fcntl(fd, F_SETLEASE, F_RDLCK));
	CHECK(fcntl(fd, F_SETLEASE, F_UNLCK));
	close(fd);
}

int main(void)
{
	make_fs();
	write_back();
	write_too_much();
	lock_files();
	lease_files();
	sync();
	/* The flusher thread that writes old dirty data back. */
	must_write("/proc/sys/vm/dirty_writeback_centisecs", "10");
	CHECK(truncate(DIR "/a", 100));
	sleep_ms(300);
	must_write("/proc/sys/vm/dirty_writeback_centisecs", "500");
	CHECK(umount(DIR));
	must_write("/proc/sys/vm/drop_caches", "3");
	RUN("modprobe", "-r", "brd");
	return 0;
}
