// SPDX-License-Identifier: GPL-2.0
/*
 * Memory provided by a FUSE file system: one file, whose pages are read when a call accesses them,
 * and which arrive when the server sends them. This way a caller can keep a copy in the module
 * waiting for as long as it wants, or make it fail in the middle.
 */
#include "../fuse.h"
#include "fuzz.h"

#define FOLDER "/tmp/fuzz-slow"
#define SLOW_FILE FOLDER "/file"

static pid_t server;

/* Usually answers immediately, sometimes late, now and then with an error. */
static int decide(u32 opcode, u32 number)
{
	if (opcode != FUSE_READ)
		return 0;
	sleep_ms(number % 16 == 3 ? 150 : number % 4);
	return number % 8 == 5 ? -EIO : 0;
}

void slow_file_begin(void)
{
	server = fuse_start(FOLDER, decide);
}

void slow_file_end(void)
{
	fuse_stop(FOLDER, server);
	server = 0;
}

/* ------------------------------------------------------------------ workers */

static u8 *volatile mapped[2]; /* [0]: readable, [1]: also writable */

/* Opening the file makes the kernel drop its cached pages. */
static void map_file(bool writable)
{
	int fd = open(SLOW_FILE, writable ? O_RDWR | O_CLOEXEC : O_RDONLY | O_CLOEXEC);
	u8 *at;

	if (fd < 0)
		return;
	at = mmap(NULL, FUSE_FILE_BYTES, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		  fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return;
	at = __atomic_exchange_n(&mapped[writable], at, __ATOMIC_RELAXED);
	/* If another thread's call is just using it, that call gets -EFAULT. */
	if (at)
		munmap(at, FUSE_FILE_BYTES);
}

void *slow_file_memory(u32 bytes, bool writable)
{
	u8 *at = mapped[writable];

	if (!at || one_in(10))
		map_file(writable);
	at = mapped[writable];
	if (!at || bytes >= FUSE_FILE_BYTES / 2)
		return NULL;
	/* At the start of a page, or from one page into the next. */
	return at + 4096 * (1 + below(100)) - (one_in(2) ? below(bytes + 1) : 0);
}

bool slow_file_has(const void *at)
{
	return mapped[1] && (const u8 *)at >= mapped[1] &&
	       (const u8 *)at < mapped[1] + FUSE_FILE_BYTES;
}

/* Calls whose memory lies completely in the file. */
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
	case 2: /* operations of zeroes, which are ENDs */
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
