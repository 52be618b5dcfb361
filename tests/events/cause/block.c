// SPDX-License-Identifier: GPL-2.0
/*
 * Requests to a simulated disk (scsi_debug): queued, merged, split, refused, failed, remapped from
 * a partition and from a multipath device.
 */
#include <linux/aio_abi.h>
#include <linux/blkpg.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include "cause.h"

#define DRIVER "/sys/bus/pseudo/drivers/scsi_debug/"
#define DISK "/dev/sda"
#define QUEUE "/sys/block/sda/queue/"
#define UNIT 4096

static char *buffer;

/*
 * Sets how long the disk takes for a request, in ticks of 4 ms. The driver refuses while one is
 * under way, as when the kernel writes pages back on its own.
 */
static void set_delay(const char *ticks)
{
	for (int i = 0; i < 300 && !try_write(DRIVER "delay", ticks); i++) {
		if (errno != EBUSY)
			break;
		sleep_ms(10);
	}
	if (strcmp(read_line(DRIVER "delay"), ticks))
		DIE("the disk's delay cannot be set to %s", ticks);
}

static void wait_for(const char *path)
{
	for (int i = 0; i < 300; i++) {
		if (!access(path, F_OK))
			return;
		sleep_ms(10);
	}
	DIE("%s does not come", path);
}

static void load_disk(void)
{
	MUST_RUN("modprobe", "scsi_debug", "dev_size_mb=16", "delay=2", "opts=0");
	/* On 6.12 the disk driver is a module that udev would load. */
	RUN("modprobe", "sd_mod");
	wait_for(DISK);
	must_write(QUEUE "scheduler", "mq-deadline");
	must_write("/sys/block/sda/device/queue_depth", "1");
}

/* Submits several writes in the given order, in one system call, or each in its own if @apart. */
static void write_at(int fd, const long long *offsets, int count, bool apart)
{
	struct iocb request[16], *list[16];
	struct io_event done[16];
	aio_context_t context = 0;

	CHECK(syscall(SYS_io_setup, 16, &context));
	for (int i = 0; i < count; i++) {
		request[i] = (struct iocb){
			.aio_lio_opcode = IOCB_CMD_PWRITE,
			.aio_fildes = fd,
			.aio_buf = (uintptr_t)buffer,
			.aio_nbytes = UNIT,
			.aio_offset = offsets[i],
		};
		list[i] = &request[i];
	}
	if (apart)
		for (int i = 0; i < count; i++)
			CHECK(syscall(SYS_io_submit, context, 1, &list[i]));
	else
		CHECK(syscall(SYS_io_submit, context, count, list));
	CHECK(syscall(SYS_io_getevents, context, count, count, done, NULL));
	CHECK(syscall(SYS_io_destroy, context));
	for (int i = 0; i < count; i++)
		fact("block_bio_queue dev=0x800000 sector=%lld nr_sector=8 comm=block tid=%d",
		     offsets[i] / 512, getpid());
}

static void merge(int fd)
{
	write_at(fd, (const long long[]){ 0, 4096, 8192, 12288 }, 4, false);
	/* From three requests on, the kernel plugs a list and merges in it. */
	write_at(fd, (const long long[]){ 3 << 20, 36864, 32768 }, 3, false);
	/* The first two keep the disk busy, so that the others meet in the scheduler's queue. */
	write_at(fd, (const long long[]){ 1 << 20, 2 << 20, 65536, 73728, 69632 }, 5, true);
	write_at(fd, (const long long[]){ 1 << 20, 2 << 20, 106496, 102400, 98304 }, 5, true);
}

static void split(int fd)
{
	must_write(QUEUE "max_sectors_kb", "64");
	CHECK(pread(fd, buffer, 256 << 10, 0));
	must_write(QUEUE "max_sectors_kb", "512");
}

static void refuse(int fd)
{
	must_write(DRIVER "opts", "0x8000");
	must_write(DRIVER "every_nth", "2");
	for (int i = 0; i < 6; i++)
		CHECK(pread(fd, buffer, UNIT, i * UNIT));
	must_write(DRIVER "every_nth", "0");
	must_write(DRIVER "opts", "0");
}

static void fail(int fd)
{
	must_write(DRIVER "opts", "2");
	if (pread(fd, buffer, UNIT, 0x1230 * 512) >= 0)
		fprintf(stderr, "block: no error\n");
	must_write(DRIVER "opts", "0");
	fact("block_rq_error error=-61");
}

static void use_partition(int fd)
{
	struct blkpg_partition partition = { .start = 1 << 20, .length = 4 << 20, .pno = 1 };
	struct blkpg_ioctl_arg arg = { .op = BLKPG_ADD_PARTITION,
				       .datalen = sizeof(partition),
				       .data = &partition };
	int part;

	CHECK(ioctl(fd, BLKPG, &arg));
	wait_for(DISK "1");
	part = CHECK(open(DISK "1", O_RDONLY | O_DIRECT | O_CLOEXEC));
	CHECK(pread(part, buffer, UNIT, 8192));
	close(part);
	fact("block_bio_remap dev=0x800000 sector=%d nr_sector=8 old_dev=0x800001 old_sector=16",
	     (1 << 20) / 512 + 16);
	arg.op = BLKPG_DEL_PARTITION;
	CHECK(ioctl(fd, BLKPG, &arg));
}

struct dm {
	struct dm_ioctl header;
	struct dm_target_spec target;
	char text[256];
};

static int dm_call(int control, unsigned long call, struct dm *dm, unsigned int flags)
{
	dm->header.version[0] = DM_VERSION_MAJOR;
	dm->header.data_size = sizeof(*dm);
	dm->header.data_start = offsetof(struct dm, target);
	dm->header.flags = flags;
	strcpy(dm->header.name, "kl");
	return ioctl(control, call, dm);
}

static void use_multipath(void)
{
	struct dm dm = {};
	int control, fd;

	if (RUN("modprobe", "dm-multipath") || RUN("modprobe", "dm-round-robin"))
		DIE("no multipath");
	wait_for("/dev/mapper/control");
	control = CHECK(open("/dev/mapper/control", O_RDWR | O_CLOEXEC));
	CHECK(dm_call(control, DM_DEV_CREATE, &dm, 0));
	dm = (struct dm){ .target = { .length = 16384 } };
	dm.header.target_count = 1;
	strcpy(dm.target.target_type, "multipath");
	strcpy(dm.text, "0 0 1 1 round-robin 0 1 1 8:0 1000");
	CHECK(dm_call(control, DM_TABLE_LOAD, &dm, 0));
	dm = (struct dm){};
	CHECK(dm_call(control, DM_DEV_SUSPEND, &dm, 0)); /* resumes: no suspend flag */
	wait_for("/sys/block/dm-0");
	RUN("mknod", "/dev/kl-dm", "b", "253", "0");
	dm = (struct dm){};
	CHECK(dm_call(control, DM_DEV_STATUS, &dm, 0));
	unlink("/dev/kl-dm");
	CHECK(mknod("/dev/kl-dm", S_IFBLK | 0600, dm.header.dev));
	fd = CHECK(open("/dev/kl-dm", O_RDONLY | O_DIRECT | O_CLOEXEC));
	for (int i = 0; i < 4; i++) {
		CHECK(pread(fd, buffer, UNIT, i * UNIT));
		fact("block_rq_remap dev=0x800000 sector=%d nr_sector=8 old_sector=%d", i * 8,
		     i * 8);
	}
	close(fd);
	dm = (struct dm){};
	CHECK(dm_call(control, DM_DEV_REMOVE, &dm, 0));
	close(control);
	unlink("/dev/kl-dm");
}

/* Does a line of a file contain a word? */
static bool is_in(const char *path, const char *word)
{
	FILE *file = fopen(path, "re");
	char line[256];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, word);
	if (file)
		fclose(file);
	return found;
}

/*
 * Makes writing an inode slow while fsync writes it, so that a concurrent writeback has nothing to
 * do but wait for it.
 */
static void write_slowly(void)
{
	static const char dir[] = "/tmp/kl-block";
	char path[64];
	pid_t pid;
	int fd;

	MUST_RUN("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-F", DISK);
	RUN("modprobe", "ext4");
	mkdir(dir, 0700);
	CHECK(mount(DISK, dir, "ext4", 0, ""));
	fd = CHECK(open("/tmp/kl-block/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	CHECK(write(fd, buffer, UNIT));
	sync();
	/* A disk without a write cache gets no flushes. */
	must_write(QUEUE "write_cache", "write through");
	set_delay("40");
	for (int i = 0; i < 3; i++) {
		pid = CHECK(fork());
		if (!pid) {
			CHECK(write(fd, buffer, UNIT));
			CHECK(fsync(fd));
			_exit(0);
		}
		snprintf(path, sizeof(path), "/proc/%d/stack", pid);
		for (int k = 0; k < 2000 && !is_in(path, "writeback_single_inode"); k++)
			sleep_ms(1);
		/* First write what needs no waiting for others, unlike sync. */
		CHECK(syncfs(fd));
		CHECK(waitpid(pid, NULL, 0));
	}
	close(fd);
	set_delay("2");
	CHECK(umount(dir));
}

/* Dirty pages whose writeback fails are kept for the next fsync. */
static void lose_disk(void)
{
	int fd = CHECK(open(DISK, O_RDWR | O_CLOEXEC));

	CHECK(pwrite(fd, buffer, UNIT, 0));
	/* Waits until the page is written. */
	CHECK(fsync(fd));
	CHECK(pwrite(fd, buffer, UNIT, 0));
	must_write("/sys/block/sda/device/state", "offline\n");
	if (!fsync(fd))
		fprintf(stderr, "block: the disk is still there\n");
	close(fd);
	must_write("/sys/block/sda/device/state", "running\n");
}

int main(void)
{
	int fd;

	must_write("/proc/sys/kernel/sched_schedstats", "1");
	if (posix_memalign((void **)&buffer, UNIT, 1 << 20))
		DIE("no memory");
	memset(buffer, 0, 1 << 20);
	load_disk();
	fd = CHECK(open(DISK, O_RDWR | O_DIRECT | O_CLOEXEC));
	for (int i = 0; i < 4; i++)
		CHECK(pread(fd, buffer, UNIT, i * 65536));
	merge(fd);
	split(fd);
	refuse(fd);
	fail(fd);
	use_partition(fd);
	close(fd);
	use_multipath();
	write_slowly();
	lose_disk();
	for (int i = 0; i < 100 && RUN("modprobe", "-r", "scsi_debug"); i++)
		sleep_ms(50);
	return 0;
}
