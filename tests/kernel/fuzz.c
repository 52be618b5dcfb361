// SPDX-License-Identifier: GPL-2.0
/*
 * Does to the device whatever a user can: every call with right, mutated and
 * senseless arguments, read, poll, mmap and munmap in any order, from threads
 * that share descriptors and from forked children, as root and as user 1.
 * fuzz SECONDS [SEED]. A fault shows as a kernel message, a hang, or a write
 * that should not have been possible.
 */
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/uio.h>

#include "kl.h"

#define THREADS 8
#define FDS 24
#define MAPS 24
#define BUFFER_BYTES (256u << 10)

/* What the threads of a process share: descriptors and mappings, closed and reused at will. */
static volatile int fds[FDS];
static struct {
	void *volatile at;
	volatile size_t bytes;
} maps[MAPS];

static double end_time;
static volatile u64 operations, successes;
static const char *volatile broken;
static __thread u64 state;

static u64 any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 2685821657736338717ull;
}

static u32 below(u32 n)
{
	return (any() >> 32) % n;
}

/* Numbers at which code goes wrong. */
static u64 odd_number(void)
{
	static const u64 numbers[] = {
		0,	     1,		 2,
		3,	     4,		 5,
		7,	     8,		 16,
		63,	     64,	 255,
		256,	     4095,	 4096,
		4097,	     8192,	 65535,
		65536,	     1u << 20,	 1u << 21,
		0x7fffffff,  0x80000000, 0xffffffff,
		0x100000000, 1ull << 44, 1ull << 60,
		2ull << 60,  3ull << 60, 0x7fffffffffffffff,
		1ull << 63,  ~0ull,	 ~0ull - 4095,
		~4095ull,    60001,	 1023,
		1024,	     2047,	 2048,
	};

	if (!below(4))
		return any();
	return numbers[below(sizeof(numbers) / sizeof(*numbers))] + below(3) - 1;
}

static volatile int *any_slot(void)
{
	return &fds[below(FDS)];
}

/* ------------------------------------------------------------------- calls */

struct call {
	unsigned long command;
	u32 bytes;
	u32 range; /* of the second word, which is often a number of something; 0: another */
};

#define CALL(command, type, range)                  \
	{                                           \
		command, sizeof(struct type), range \
	}

static const struct call calls[] = {
	CALL(KL_IOC_INFO, kl_abi_info, 0),
	CALL(KL_IOC_TIME, kl_abi_time, 0),
	CALL(KL_IOC_EVENT_INFO, kl_abi_event_info, KL_EV_MAX + 2),
	CALL(KL_IOC_ERROR, kl_abi_error, 0),
	CALL(KL_IOC_STATUS, kl_abi_status, 0),
	CALL(KL_IOC_LIMITS, kl_abi_limits, 4),
	CALL(KL_IOC_SESSION, kl_abi_session, 0),
	CALL(KL_IOC_ATTACH, kl_abi_attach, 1000),
	CALL(KL_IOC_MASKSET_WRITE, kl_abi_maskset, 0),
	CALL(KL_IOC_MASKSET_READ, kl_abi_maskset, 0),
	CALL(KL_IOC_MASKSET_USE, kl_abi_use, 0),
	CALL(KL_IOC_FILTER, kl_abi_filter, 0),
	CALL(KL_IOC_TASKS, kl_abi_tasks, 0),
	{ KL_IOC_START, 0, 0 },
	{ KL_IOC_STOP, 0, 0 },
	CALL(KL_IOC_RESIZE, kl_abi_resize, 32),
	CALL(KL_IOC_READER, kl_abi_reader, 4),
	CALL(KL_IOC_STATS, kl_abi_stats, 4),
	CALL(KL_IOC_COUNTS, kl_abi_counts, 0),
	CALL(KL_IOC_DUMP, kl_abi_dump, 8),
	CALL(KL_IOC_VARIABLE_INFO, kl_abi_variable_info, 1000),
	CALL(KL_IOC_VARIABLES, kl_abi_variables, 0),
	CALL(KL_IOC_RULE, kl_abi_rule, 0),
	CALL(KL_IOC_TABLE, kl_abi_table, 4),
	CALL(KL_IOC_HANDLER_INFO, kl_abi_handler_info, 4),
	CALL(KL_IOC_HANDLER_READ, kl_abi_handler_read, 4),
	CALL(KL_IOC_ALARMS, kl_abi_alarms, 4),
	{ KL_IOC_SNAPSHOT, 0, 0 },
	CALL(KL_IOC_CPUS, kl_abi_cpus, 12),
	CALL(KL_IOC_INSPECT, kl_abi_inspect, 60),
	CALL(KL_IOC_LATENCY, kl_abi_latency, 20),
	CALL(KL_IOC_LATENCY_READ, kl_abi_latency_read, 20),
	CALL(KL_IOC_DETAIL, kl_abi_detail, 300),
	CALL(KL_IOC_SET, kl_abi_set, 3),
	{ KL_IOC_FREEZE, 0, 0 },
};

/* RALL and RDEFAULT, which take a second to attach in the emulator, only now and then. */
static u32 any_maskset(void)
{
	return below(20) ? 3 + below(5) : below(3);
}

/* Ten different ones, mostly of those that everybody may have. */
static void fill_variables(struct kl_abi_variables *variables)
{
	variables->n = below(10);
	for (u32 i = 0; i < variables->n; i++)
		variables->variable[i].variable = 1 + 9 * i + below(9);
	variables->flags = below(2);
}

/* Without programs; of another module, too. */
static void fill_rule(struct kl_abi_rule *rule)
{
	rule->handler = below(KL_HANDLER_external + 2);
	rule->arg = below(KL_FLAGS_MAX);
	rule->entries = below(100);
	strcpy(rule->text, below(2) ? "t_sum" : "t_much");
}

static void fill_detail(struct kl_abi_detail *detail)
{
	static u64 room[65536 / sizeof(u64)];

	if (below(2))
		detail->pid = getpid();
	detail->what = below(KL_DETAIL_KINDS + 1);
	detail->cursor = below(2) ? odd_number() : 0;
	detail->buffer = (u64)(uintptr_t)room;
	detail->bytes = KL_DETAIL_BYTES_MIN + below(sizeof(room) - KL_DETAIL_BYTES_MIN);
	detail->proof = (s32)below(20) - 1;
}

/* An argument that has a chance of being accepted. */
static void fill_sensibly(const struct call *call, void *argument)
{
	struct kl_abi_session *session = argument;
	struct kl_abi_maskset *maskset = argument;
	u32 *words = argument; /* [0] is the size, [1] the id, flags, pid or number */

	memset(argument, 0, call->bytes);
	words[0] = call->bytes;
	words[1] = call->range ? below(call->range) : 0;
	switch (call->command) {
	case KL_IOC_SESSION:
		session->mode = below(2);
		session->block_bytes = 4096u << below(4);
		session->blocks = 4 + below(12);
		session->blocks_max = below(2) * 32;
		memcpy(session->name, "fuzz", 5);
		break;
	case KL_IOC_MASKSET_WRITE:
		maskset->id = 3 + below(5);
		for (u32 n = below(60); n; n--)
			maskset->handler[below(KL_EV_MAX)] = below(8) ? below(3) :
									KL_ACTION_RULE + below(3);
		break;
	case KL_IOC_MASKSET_READ:
	case KL_IOC_MASKSET_USE:
		words[1] = any_maskset();
		break;
	case KL_IOC_FILTER:
		words[1] = below(3);
		words[2] = below(2) * 60001;
		break;
	case KL_IOC_TASKS:
		words[1] = below(2) ? (u32)getpid() : below(300);
		words[2] = 1 + below(2) + (below(8) << 2);
		break;
	case KL_IOC_DETAIL:
		fill_detail(argument);
		break;
	case KL_IOC_SET:
		words[2] = below(2) ? (u32)getpid() : below(300);
		words[3] = below(34);
		break;
	case KL_IOC_RULE:
		fill_rule(argument);
		break;
	case KL_IOC_VARIABLES:
		fill_variables(argument);
		break;
	}
}

static void mutate(void *argument, u32 bytes)
{
	u8 *byte = argument;

	for (u32 n = 1 + below(4); n; n--) {
		u64 number = odd_number();
		u32 width = 1u << below(4), at = below(bytes + 1);

		if (below(3) && bytes > 40)
			at = below(40);
		if (at + width <= bytes)
			memcpy(byte + at, &number, width);
	}
}

/* Keep descriptors that calls give; put them where others are closed. */
static void keep_fd(int fd)
{
	int old = __atomic_exchange_n(any_slot(), fd, __ATOMIC_RELAXED);

	if (old >= 0)
		close(old);
}

static void *odd_pointer(void *near)
{
	switch (below(6)) {
	case 0:
		return NULL;
	case 1:
		return (void *)odd_number();
	case 2:
		return (u8 *)near + below(9);
	case 3:
		return (void *)0xffff888000000000;
	case 4: /* the end of mapped memory */
		return (u8 *)near + BUFFER_BYTES - below(64);
	default:
		return maps[below(MAPS)].at;
	}
}

static void fuzz_call(u8 *memory)
{
	const struct call *call = &calls[below(sizeof(calls) / sizeof(*calls))];
	unsigned long command = call->command;
	void *argument = memory;
	int fd = *any_slot();

	if (below(8) == 0)
		command = below(2) ? odd_number() : (command ^ 1ull << below(32));
	fill_sensibly(call, memory);
	if (below(2))
		mutate(memory, call->bytes ? call->bytes + 64 : 64);
	if (below(10) == 0)
		argument = odd_pointer(memory);
	if (ioctl(fd, command, argument) < 0)
		return;
	successes++;
	if (command == KL_IOC_READER && argument == memory)
		keep_fd(((struct kl_abi_reader *)memory)->fd);
}

/* ------------------------------------------------------ reading and mapping */

static void fuzz_read(u8 *memory)
{
	static const u32 sizes[] = { 0, 1, 4095, 4096, 8192, 65536, BUFFER_BYTES };
	int fd = *any_slot();
	size_t bytes = below(4) ? sizes[below(7)] : odd_number();
	void *to = below(8) ? memory : odd_pointer(memory);

	fcntl(fd, F_SETFL, O_NONBLOCK);
	/* Into our own memory no more than there is. */
	if (to == memory && bytes > BUFFER_BYTES)
		bytes = BUFFER_BYTES;
	else if (to != memory && bytes > 64 && below(2))
		bytes = 4096;
	if (to != memory && to >= (void *)memory && to < (void *)(memory + BUFFER_BYTES))
		bytes = 4096 <= memory + BUFFER_BYTES - (u8 *)to ? 4096 : 0;
	switch (below(4)) {
	case 0:
		pread(fd, to, bytes, odd_number());
		break;
	case 1: {
		struct iovec parts[2] = { { memory, 4096 }, { memory + 4096, 8192 } };

		readv(fd, parts, 2);
		break;
	}
	default:
		/* Elsewhere it could overwrite this program: only where nothing can be written. */
		if (to == memory || to < (void *)4096 || (u64)to >> 63)
			successes += read(fd, to, bytes) > 0;
	}
	if (!below(16) && write(fd, memory, 64) >= 0)
		broken = "write() to a descriptor worked";
}

static void fuzz_poll(void)
{
	struct pollfd p[3];

	for (int i = 0; i < 3; i++)
		p[i] = (struct pollfd){ .fd = *any_slot(), .events = POLLIN | POLLOUT };
	poll(p, 3, below(3));
}

static void drop_map(u32 slot, void *at, size_t bytes)
{
	void *old = __atomic_exchange_n(&maps[slot].at, at, __ATOMIC_RELAXED);
	size_t old_bytes = maps[slot].bytes;

	maps[slot].bytes = bytes;
	if (!old)
		return;
	if (below(3) && old_bytes > 4096) /* in two parts, the later one first */
		munmap((u8 *)old + 4096, old_bytes - 4096);
	munmap(old, old_bytes);
}

static void fuzz_mmap(void)
{
	static const int prots[] = {
		PROT_READ, PROT_READ, PROT_READ | PROT_WRITE, PROT_NONE, PROT_READ | PROT_EXEC,
		PROT_WRITE
	};
	static const int flags[] = { MAP_SHARED, MAP_SHARED, MAP_SHARED | MAP_POPULATE, MAP_PRIVATE,
				     MAP_SHARED | MAP_NORESERVE };
	size_t bytes = 4096 * (1 + below(below(2) ? 2 : 20));
	int prot = prots[below(6)];
	u64 offset;
	void *at;

	switch (below(5)) {
	case 0:
		offset = KL_MMAP_RING(below(3)) + 4096 * below(3);
		break;
	case 1:
		offset = KL_MMAP_POSITION + 4096 * below(2);
		break;
	case 2:
		offset = odd_number() & ~4095ull;
		break;
	case 3: /* from one region into the next */
		offset = ((u64)(1 + below(3)) << 60) - 4096 * (1 + below(2));
		break;
	default:
		offset = KL_MMAP_BLOCK(below(3), below(24), 4096u << below(4));
	}
	at = mmap(NULL, bytes, prot, flags[below(5)], *any_slot(), offset);
	if (at == MAP_FAILED)
		return;
	successes++;
	if (offset >> 60 == 2 && (offset + bytes - 1) >> 60 != 2 && prot & PROT_WRITE)
		broken = "a writable mapping that ends in the blocks' region";
	drop_map(below(MAPS), at, bytes);
}

/* Read, and where it is possible write, through a mapping, without signals. */
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

static void fuzz_map_use(void)
{
	u32 slot = below(MAPS);
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

/* ------------------------------------------------------------- descriptors */

static void fuzz_open(void)
{
	static const int flags[] = { O_RDWR, O_RDWR, O_RDONLY, O_WRONLY, O_RDWR | O_NONBLOCK };

	if (below(3))
		keep_fd(open(KL_DEVICE_PATH, flags[below(5)] | O_CLOEXEC));
	else
		keep_fd(dup(*any_slot()));
}

/* A whole session in order, so that the deeper states are reached often. */
static void fuzz_session(u8 *memory)
{
	struct kl_abi_session wish = { .mode = below(2),
				       .blocks = 4 + below(8),
				       .block_bytes = 4096u << below(3),
				       .blocks_max = 16 };
	int fd = open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC), reader;

	u32 few[] = { 1 + below(13), 10, KL_EV_SYSCALL_ENTRY + below(300), 0 };

	if (fd < 0)
		return;
	if (kl_session(fd, &wish) || kl_use_events(fd, 3, 1 + below(2), few)) {
		close(fd);
		return;
	}
	if (!below(30))
		kl_use(fd, any_maskset());
	if (below(2) && !kl_filter(fd, KL_FILTER_TASKS, 0))
		kl_tasks(fd, getpid(), KL_TASK_ADD | KL_TASK_INHERIT | KL_TASK_PROCESS);
	kl_start(fd);
	reader = kl_reader(fd, below(4));
	for (u32 n = below(20); n; n--) {
		sched_yield();
		if (below(2))
			kl_resize(fd, 4 + below(12));
	}
	fcntl(reader, F_SETFL, O_NONBLOCK);
	successes += read(reader, memory, BUFFER_BYTES) > 0;
	switch (below(4)) { /* who goes first */
	case 0:
		close(reader);
		close(fd);
		break;
	case 1:
		kl_stop(fd);
		close(fd);
		close(reader);
		break;
	case 2:
		keep_fd(fd);
		keep_fd(reader);
		break;
	default:
		close(fd);
		keep_fd(reader);
	}
}

static void fuzz_fork(void)
{
	pid_t child = fork();

	if (!child) {
		for (u32 i = 0; i < MAPS; i++)
			touch(i);
		for (u32 i = 0; i < FDS; i++)
			if (below(2))
				close(fds[i]);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

static void *run_thread(void *seed)
{
	u8 *memory = mmap(NULL, BUFFER_BYTES + 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		bail("mmap");
	/* What comes behind is not there. */
	mprotect(memory + BUFFER_BYTES, 4096, PROT_NONE);
	state = (u64)seed * 0x9e3779b97f4a7c15ull | 1;
	while (now_seconds() < end_time && !broken) {
		switch (below(20)) {
		case 0:
			fuzz_open();
			break;
		case 1:
			fuzz_session(memory);
			break;
		case 2:
			if (!below(20))
				fuzz_fork();
			break;
		case 3 ... 5:
			fuzz_read(memory);
			break;
		case 6:
			fuzz_poll();
			break;
		case 7 ... 9:
			fuzz_mmap();
			break;
		case 10 ... 11:
			fuzz_map_use();
			break;
		case 12:
			if (!below(3))
				keep_fd(-1);
			break;
		default:
			fuzz_call(memory);
		}
		operations++;
	}
	return NULL;
}

/* A generation: threads that share descriptors, for a few seconds, then a new process. */
static int run_process(u32 uid, u64 seed)
{
	pthread_t threads[THREADS];

	if (uid && (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		bail("setuid");
	for (u32 i = 0; i < FDS; i++)
		fds[i] = i < FDS / 2 ? open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC) : -1;
	for (u64 i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_thread, (void *)(seed * THREADS + i + 1));
	for (u32 i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("# uid %u seed %llu: %llu operations, %llu had an effect%s%s\n", uid,
	       (unsigned long long)seed, (unsigned long long)operations,
	       (unsigned long long)successes, broken ? ": " : "", broken ?: "");
	fflush(stdout);
	return broken ? 2 : operations > 50 && successes ? 0 : 1;
}

static void report(u32 uid, int worst, double seconds)
{
	char name[120];

	snprintf(name, sizeof(name), "fuzzing as %s for %.0f s", uid ? "user 1" : "root", seconds);
	tap_result(!worst, name,
		   worst == 2 ? "something was possible that should not be" :
				"too little happened, or a process was killed");
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 10, begun = now_seconds();
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	static const u32 uids[] = { 60001, 0 };
	int worst[2] = {};

	printf("# seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	for (u32 turn = 0; now_seconds() - begun < seconds; turn++, seed++) {
		pid_t child = fork();
		int status;

		if (!child) {
			end_time = now_seconds() + (seconds < 20 ? seconds / 4 : 5);
			_exit(run_process(uids[turn & 1], seed));
		}
		waitpid(child, &status, 0);
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		if (status > worst[turn & 1])
			worst[turn & 1] = status;
	}
	for (int i = 0; i < 2; i++)
		report(uids[i], worst[i], seconds / 2);
	return tap_end();
}
