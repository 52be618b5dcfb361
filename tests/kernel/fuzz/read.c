// SPDX-License-Identifier: GPL-2.0
/*
 * Reads what a session has recorded and counted in every way: read(), poll() and mmap() of readers,
 * tables, stack traces, latency profiles, alarms, and the files of /proc.
 */
#include <sys/uio.h>

#include "fuzz.h"

static struct {
	void *volatile at;
	volatile size_t bytes;
} maps[FUZZ_MAPS];

void op_reader(void)
{
	struct kl_abi_reader params = { .size = sizeof(params), .flags = below(4) };

	if (!TRY(session_fd(), KL_IOC_READER, params))
		keep_fd(params.fd, ROLE_READER);
}

void op_read(void)
{
	static const u32 sizes[] = { 0, 1, 4095, 4096, 8192, 65536, FUZZ_BUFFER };
	size_t bytes = one_in(8) ? odd_number() : sizes[below(7)];
	void *to = one_in(8) ? (void *)0xffff888000000000 : room;
	int fd = reader_fd();

	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (to == room && bytes > FUZZ_BUFFER)
		bytes = FUZZ_BUFFER;
	switch (below(5)) {
	case 0:
		pread(fd, to, bytes, odd_number());
		break;
	case 1: {
		struct iovec parts[2] = { { room, 4096 }, { room + 4096, 8192 } };

		readv(fd, parts, 2);
		break;
	}
	case 2: /* half of the buffer is not mapped */
		me->successes += read(fd, room + FUZZ_BUFFER - 2048, 8192) > 0;
		break;
	default:
		me->successes += read(fd, to, bytes) > 0;
	}
}

void op_poll(void)
{
	struct pollfd p[3];

	for (int i = 0; i < 3; i++)
		p[i] = (struct pollfd){ .fd = one_in(2) ? reader_fd() : session_fd(),
					.events = below(64) };
	poll(p, 3, below(3));
}

/* ------------------------------------------------------------------ mapping */

static void drop_map(u32 slot, void *at, size_t bytes)
{
	void *old = __atomic_exchange_n(&maps[slot].at, at, __ATOMIC_RELAXED);
	size_t old_bytes = maps[slot].bytes;

	maps[slot].bytes = bytes;
	if (!old)
		return;
	if (!one_in(3) && old_bytes > 4096) /* in two parts, the later one first */
		munmap((u8 *)old + 4096, old_bytes - 4096);
	munmap(old, old_bytes);
}

static u64 any_offset(void)
{
	switch (below(8)) {
	case 0 ... 1:
		return KL_MMAP_RING(below(3)) + (one_in(4) ? 4096 * below(3) : 0);
	case 2:
		return KL_MMAP_POSITION + (one_in(4) ? 4096 : 0);
	case 3:
		return odd_number() & ~4095ull;
	case 4: /* from one region into the next */
		return ((u64)(1 + below(3)) << 60) - 4096 * (1 + below(2));
	case 5:
		return KL_MMAP_KEEP;
	default:
		return KL_MMAP_BLOCK(below(3), below(24), 4096u << below(4));
	}
}

void op_mmap(void)
{
	static const int prots[] = {
		PROT_READ, PROT_READ, PROT_READ | PROT_WRITE, PROT_NONE, PROT_READ | PROT_EXEC,
		PROT_WRITE
	};
	static const int flags[] = { MAP_SHARED, MAP_SHARED, MAP_SHARED | MAP_POPULATE, MAP_PRIVATE,
				     MAP_SHARED | MAP_NORESERVE };
	size_t bytes = 4096 * (1 + below(one_in(2) ? 2 : 20));
	int prot = prots[below(6)];
	u64 offset = any_offset();
	void *at = mmap(NULL, bytes, prot, flags[below(5)],
			offset == KL_MMAP_KEEP ? any_fd() : reader_fd(), offset);

	if (at == MAP_FAILED)
		return;
	me->successes++;
	if (offset >> 60 == 2 && (offset + bytes - 1) >> 60 != 2 && prot & PROT_WRITE)
		world_broken("a writable mapping that ends in the blocks' region");
	drop_map(below(FUZZ_MAPS), at, bytes);
}

/* Reads and, where possible, writes through a mapping, without signals. */
static void touch(u32 slot)
{
	u8 *at = maps[slot].at, byte[8];
	size_t bytes = maps[slot].bytes;
	u64 garbage = odd_number();
	struct iovec mine = { byte, 8 }, its;

	if (!at || !bytes)
		return;
	its = (struct iovec){ at + (below(bytes) & ~7u), 8 };
	process_vm_readv(getpid(), &mine, 1, &its, 1, 0);
	memcpy(byte, &garbage, 8);
	process_vm_writev(getpid(), &mine, 1, &its, 1, 0);
}

void op_map_use(void)
{
	u32 slot = below(FUZZ_MAPS);
	void *at = maps[slot].at, *moved;
	size_t bytes = maps[slot].bytes;

	if (!at)
		return;
	switch (below(6)) {
	case 0:
		mprotect(at, bytes, PROT_READ | PROT_WRITE);
		break;
	case 1:
		mprotect(at, bytes, PROT_READ | PROT_EXEC);
		break;
	case 2:
		moved = mremap(at, bytes, bytes * (1 + below(3)), MREMAP_MAYMOVE);
		if (moved != MAP_FAILED)
			maps[slot].at = moved;
		break;
	case 3:
		madvise(at, bytes, below(24));
		break;
	case 4:
		drop_map(slot, NULL, 0);
		break;
	default:
		touch(slot);
	}
}

/* -------------------------------------------------------- counts and tables */

void op_tables(void)
{
	struct kl_abi_table table = { .size = sizeof(table), .rule = below(4), .cpu = below(3) };
	struct kl_abi_handler_read said = { .size = sizeof(said), .rule = below(4) };
	struct kl_abi_counts *counts = (void *)memory;
	int fd = session_fd();

	table.n = below(300);
	table.entry = (u64)(uintptr_t)odd_or(room, 300 * sizeof(struct kl_abi_entry));
	table.bucket = one_in(2) ? (u64)(uintptr_t)(room + 65536) : 0;
	TRY(fd, KL_IOC_TABLE, table);
	said.text = (u64)(uintptr_t)room;
	said.bytes = one_in(2) ? FUZZ_BUFFER : below(200);
	TRY(fd, KL_IOC_HANDLER_READ, said);
	memset(counts, 0, sizeof(*counts));
	counts->size = sizeof(*counts);
	counts->n_dynamic = below(9);
	counts->dynamic = (u64)(uintptr_t)room;
	me->calls++;
	me->successes += !ioctl(fd, KL_IOC_COUNTS, counts);
}

void op_stacks(void)
{
	struct kl_abi_stacks call = { .size = sizeof(call), .what = below(2), .first = 1 };
	int fd = session_fd();

	call.first = one_in(3) ? below(40) : 1;
	call.buffer = (u64)(uintptr_t)odd_or(room, 8192);
	call.bytes = one_in(3) ? below(5000) : FUZZ_BUFFER;
	if (TRY(fd, KL_IOC_STACKS, call) || call.what != KL_STACKS_OBJECT)
		return;
	/* An object may come with a descriptor of its file. */
	if (call.n && call.buffer == (u64)(uintptr_t)room) {
		const struct kl_abi_object *object = (void *)room;

		if (object->fd > 2)
			close(object->fd);
	}
}

void op_latency_read(void)
{
	struct kl_abi_latency_read call = { .size = sizeof(call), .what = below(3) };
	int fd = session_fd();

	for (u32 n = 1 + below(4); n; n--) {
		call.buffer = (u64)(uintptr_t)odd_or(room, 65536);
		call.n = one_in(4) ? below(5) : 256;
		if (TRY(fd, KL_IOC_LATENCY_READ, call) || !call.n)
			break;
	}
}

void op_news(void)
{
	struct kl_abi_alarms alarms = { .size = sizeof(alarms), .n = below(70), .first = below(4) };
	struct kl_abi_stats stats = { .size = sizeof(stats), .cpu = (s32)below(4) - 1 };
	int fd = session_fd();

	alarms.alarm = (u64)(uintptr_t)odd_or(room, 70 * sizeof(struct kl_abi_alarm));
	TRY(fd, KL_IOC_ALARMS, alarms);
	TRY(fd, KL_IOC_STATS, stats);
}

void op_proc(void)
{
	static const char *const files[] = { "processes",  "figures", "latency",    "top_cpu",
					     "top_memory", "top_io",  "top_faults", "limits",
					     ".",	   "kept" };
	char path[120];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/%s", common->device + 5, files[below(10)]);
	fd = open(path, (one_in(3) ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (fd < 0)
		return;
	if (one_in(4))
		me->successes += write(fd, "forget\n", one_in(2) ? 7 : below(8)) > 0;
	for (u32 n = 1 + below(4); n && read(fd, room, one_in(3) ? 100 : 16384) > 0; n--)
		me->successes++;
	if (one_in(3))
		lseek(fd, odd_number(), SEEK_SET);
	read(fd, room, 4096);
	close(fd);
}
