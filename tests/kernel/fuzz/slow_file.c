// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a file system in user space provides: one file, whose pages are read when a call
 * touches them, and which come when the server likes. A caller can keep a copy in the module
 * waiting this way for as long as it wants, or make it fail in the middle.
 *
 * The server speaks the protocol of linux/fuse.h by itself: LOOKUP, GETATTR, OPEN, READ and WRITE
 * of one file are all it needs.
 */
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "fuzz.h"

#define FOLDER "/tmp/fuzz-slow"
#define SLOW_FILE FOLDER "/file"
#define FILE_NODE 2
#define FILE_BYTES (1u << 20)

static pid_t server;

/* ------------------------------------------------------------------- server */

static void reply(int fd, u64 unique, int error, const void *answer, u32 bytes)
{
	static u8 message[FILE_BYTES + 4096];
	struct fuse_out_header head = { .unique = unique, .error = error };

	head.len = sizeof(head) + (error ? 0 : bytes);
	memcpy(message, &head, sizeof(head));
	if (!error && bytes)
		memcpy(message + sizeof(head), answer, bytes);
	/* The caller may have been killed meanwhile. */
	if (write(fd, message, head.len) < 0)
		return;
}

static struct fuse_attr attributes(u64 node)
{
	return (struct fuse_attr){ .ino = node,
				   .size = node == FILE_NODE ? FILE_BYTES : 0,
				   .mode = node == FILE_NODE ? S_IFREG | 0666 : S_IFDIR | 0755,
				   .nlink = 1,
				   .blksize = 4096 };
}

/* Mostly at once, sometimes late, now and then not at all. */
static void answer_read(int fd, const struct fuse_in_header *head, const struct fuse_read_in *in,
			const u8 *content, u32 number)
{
	u32 bytes = in->size;

	if (in->offset >= FILE_BYTES)
		bytes = 0;
	else if (bytes > FILE_BYTES - in->offset)
		bytes = FILE_BYTES - in->offset;
	sleep_ms(number % 16 == 3 ? 150 : number % 4);
	reply(fd, head->unique, number % 8 == 5 ? -EIO : 0, content + in->offset, bytes);
}

static void answer_init(int fd, const struct fuse_in_header *head, const struct fuse_init_in *in)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_readahead = 4096,
				     .max_write = 65536 };

	if (in->minor < out.minor)
		out.minor = in->minor;
	reply(fd, head->unique, 0, &out, sizeof(out));
}

static void answer(int fd, const u8 *message, u8 *content, u32 number)
{
	const struct fuse_in_header *head = (const void *)message;
	const void *in = message + sizeof(*head);
	struct fuse_entry_out entry = { .nodeid = FILE_NODE, .attr = attributes(FILE_NODE) };
	struct fuse_attr_out attr = { .attr = attributes(head->nodeid) };
	struct fuse_open_out opened = { .fh = 1 };
	struct fuse_write_out written = {};

	switch (head->opcode) {
	case FUSE_INIT:
		return answer_init(fd, head, in);
	case FUSE_LOOKUP:
		return reply(fd, head->unique, strcmp(in, "file") ? -ENOENT : 0, &entry,
			     sizeof(entry));
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		return reply(fd, head->unique, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
		return reply(fd, head->unique, 0, &opened, sizeof(opened));
	case FUSE_READ:
		return answer_read(fd, head, in, content, number);
	case FUSE_WRITE: {
		const struct fuse_write_in *wish = in;

		if (wish->offset + wish->size <= FILE_BYTES)
			memcpy(content + wish->offset, wish + 1, wish->size);
		written.size = wish->size;
		return reply(fd, head->unique, 0, &written, sizeof(written));
	}
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	case FUSE_RELEASE:
	case FUSE_FLUSH:
	case FUSE_FSYNC:
		return reply(fd, head->unique, 0, NULL, 0);
	}
	reply(fd, head->unique, -ENOSYS, NULL, 0);
}

__attribute__((noreturn)) static void serve(int fd)
{
	static u8 message[256 << 10] __attribute__((aligned(8))), content[FILE_BYTES];

	for (u32 number = 0;; number++) {
		ssize_t got = read(fd, message, sizeof(message));

		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			answer(fd, message, content, number);
		else if (got < 0 && errno == ENODEV)
			_exit(0);
	}
}

void slow_file_begin(void)
{
	char options[100];
	int fd;

	if (system("modprobe fuse 2>/dev/null"))
		printf("# modprobe fuse has failed\n");
	mkdir(FOLDER, 0755);
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		printf("# there is no FUSE: %s\n", strerror(errno));
		return;
	}
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other",
		 fd);
	if (mount("fuzz", FOLDER, "fuse", MS_NOSUID | MS_NODEV, options)) {
		printf("# FUSE cannot be mounted: %s\n", strerror(errno));
		close(fd);
		return;
	}
	server = fork();
	if (!server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		serve(fd);
	}
	close(fd);
}

void slow_file_end(void)
{
	if (server <= 0)
		return;
	kill(server, SIGKILL);
	umount2(FOLDER, MNT_DETACH);
	server = 0;
}

/* ------------------------------------------------------------------ workers */

static u8 *volatile mapped[2]; /* readable, and writable, too */

/* Opening the file makes the kernel forget its pages. */
static void map_file(bool writable)
{
	int fd = open(SLOW_FILE, writable ? O_RDWR | O_CLOEXEC : O_RDONLY | O_CLOEXEC);
	u8 *at;

	if (fd < 0)
		return;
	at = mmap(NULL, FILE_BYTES, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd,
		  0);
	close(fd);
	if (at == MAP_FAILED)
		return;
	at = __atomic_exchange_n(&mapped[writable], at, __ATOMIC_RELAXED);
	/* Another thread's call may just use it: that meets with -EFAULT. */
	if (at)
		munmap(at, FILE_BYTES);
}

void *slow_file_memory(u32 bytes, bool writable)
{
	u8 *at = mapped[writable];

	if (!at || one_in(10))
		map_file(writable);
	at = mapped[writable];
	if (!at || bytes >= FILE_BYTES / 2)
		return NULL;
	/* At the beginning of a page, or from one into the next. */
	return at + 4096 * (1 + below(100)) - (one_in(2) ? below(bytes + 1) : 0);
}

bool slow_file_has(const void *at)
{
	return mapped[1] && (const u8 *)at >= mapped[1] && (const u8 *)at < mapped[1] + FILE_BYTES;
}

/* Calls all of whose memory is there. */
void op_slow_file(void)
{
	struct kl_abi_detail detail = { .size = sizeof(detail), .pid = any_pid(), .proof = -1 };
	struct kl_abi_inspect inspect = { .size = sizeof(inspect), .flags = KL_INSPECT_ALL };
	struct kl_abi_program program = { .size = sizeof(program), .n_ops = 1 + below(8) };
	struct kl_abi_metadata metadata = { .size = sizeof(metadata), .bytes = 1 + below(9000) };
	u8 *at = slow_file_memory(65536, true);
	u32 id = variable_at(below(100));
	int fd = session_fd();

	if (!at)
		return;
	switch (below(7)) {
	case 0:
		detail.what = 1 + below(KL_DETAIL_KINDS - 1);
		detail.buffer = (u64)(uintptr_t)at & ~7ull;
		detail.bytes = 16384;
		TRY(fd, KL_IOC_DETAIL, detail);
		break;
	case 1:
		inspect.n_variables = 1;
		inspect.variables = (u64)(uintptr_t)&id;
		inspect.rows = (u64)(uintptr_t)at;
		inspect.room = 8192;
		TRY(fd, KL_IOC_INSPECT, inspect);
		break;
	case 2: /* operations of zeroes: ENDs */
		program.ops = (u64)(uintptr_t)at;
		TRY(fd, KL_IOC_PROGRAM, program);
		break;
	case 3:
		metadata.text = (u64)(uintptr_t)at;
		TRY(fd, KL_IOC_METADATA_SET, metadata);
		metadata.text = (u64)(uintptr_t)(at + 100);
		TRY(fd, KL_IOC_METADATA_GET, metadata);
		break;
	case 4:
		me->successes += read(reader_fd(), at, 65536) > 0;
		break;
	case 5:
		ioctl(fd, KL_IOC_MASKSET_WRITE, at);
		ioctl(fd, KL_IOC_COUNTS, at);
		break;
	default:
		ioctl(fd, KL_IOC_STATS, at);
		ioctl(fd, KL_IOC_ERROR, at);
	}
}
