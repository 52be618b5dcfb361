// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions used as a recorder uses them: set up for one purpose, started, fired, and read in every
 * way to the end. The other operations change such sessions at random; here hardly anything is
 * wrong, so that what only comes after many accepted calls is reached in each sequence.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <netinet/in.h>
#include <arpa/inet.h>

#include "fuzz.h"

#define MASKSET KL_MASKSET_FIRST_USER

/* ----------------------------------------------------------- what is fired */

/* Calls that fire_calls() makes, and some that other threads make. */
static const u16 calls[] = {
	SYS_openat, SYS_close,	SYS_read,    SYS_write,	     SYS_getppid,     SYS_newfstatat,
	SYS_access, SYS_rename, SYS_mmap,    SYS_munmap,     SYS_mprotect,    SYS_execve,
	SYS_clone,  SYS_clone3, SYS_wait4,   SYS_exit_group, SYS_nanosleep,   SYS_clock_nanosleep,
	SYS_futex,  SYS_prctl,	SYS_symlink, SYS_mount,	     SYS_pipe2,	      SYS_sendto,
	SYS_poll,   SYS_ioctl,	SYS_exit,    SYS_vfork,	     SYS_sched_yield,
};

#define CALLS (sizeof(calls) / sizeof(*calls))

/* A path in a page that has not been read yet, which the module meets before the kernel does. */
static const char *late_path(void)
{
	static __thread char *last;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	close(fd);
	if (last)
		munmap(last, 1 << 20);
	last = at == MAP_FAILED ? NULL : at;
	/* cppcheck-suppress memleak ; unmapped by the next call */
	return last ? last + 4096 * below(200) : "/none";
}

static void fire_paths(void)
{
	static const char *const paths[] = {
		"/etc/passwd", "/proc/self/status", "", "/tmp", "/none/and nothing\n\t\"behind\"",
		NULL
	};
	const char *path = paths[below(6)];
	char byte;
	int fd;

	if (one_in(4))
		path = late_path();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, &byte, 1) > 0)
		close(fd);
	me->successes += !access(path, R_OK);
	rename("/none", one_in(2) ? path : (char *)0xffff888000000000);
	syscall(SYS_mount, path, "/none", "none", 0, NULL);
	/* cppcheck-suppress ignoredReturnValue ; it shall fail */
	if (symlink("/none", path))
		return;
}

static void fire_child(void)
{
	pid_t child = one_in(2) ? vfork() : fork();

	if (!child) {
		char *const arguments[] = { "sh", "-c", ":", NULL };

		if (one_in(3))
			_exit(1);
		execve(one_in(3) ? "/none" : "/bin/true", arguments, NULL);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* Packets through the loopback interface: UDP, and a TCP connection, of both families. */
static void fire_packets(void)
{
	int family = one_in(2) ? AF_INET : AF_INET6, server, client;
	struct sockaddr_storage address = { .ss_family = family };
	socklen_t bytes = family == AF_INET ? sizeof(struct sockaddr_in) :
					      sizeof(struct sockaddr_in6);
	int type = one_in(2) ? SOCK_STREAM : SOCK_DGRAM;

	if (family == AF_INET)
		((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_loopback;
	server = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	client = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (!bind(server, (void *)&address, bytes) &&
	    !getsockname(server, (void *)&address, &bytes)) {
		listen(server, 1);
		if (!connect(client, (void *)&address, bytes) || errno == EINPROGRESS)
			send(client, "some bytes", 10, MSG_NOSIGNAL);
		sched_yield();
	}
	close(client);
	close(server);
}

static void *end_thread(void *unused)
{
	prctl(PR_SET_NAME, "fuzz thread");
	return NULL;
}

static void fire_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, end_thread, NULL))
		pthread_join(thread, NULL);
}

/* A call of the 32-bit table: getpid. */
static void fire_compat(void)
{
	long number = 20;

	asm volatile("int $0x80" : "+a"(number) : : "r8", "r9", "r10", "r11", "memory");
}

static void fire_calls(void)
{
	for (u32 n = 1 + below(4); n; n--) {
		switch (below(8)) {
		case 7:
			fire_compat();
			break;
		case 0 ... 1:
			fire_paths();
			break;
		case 2:
			fire_child();
			break;
		case 3:
			fire_thread();
			break;
		case 4:
			fire_packets();
			break;
		case 5:
			prctl(PR_SET_NAME, one_in(2) ? "fuzz" : "another name");
			sleep_ms(below(3));
			break;
		default:
			/* A few blocks full. */
			for (u32 i = below(200); i; i--)
				syscall(SYS_getppid);
		}
	}
}

/* ------------------------------------------------------------ what is read */

/* A child with a reader of its own, that waits for blocks until a signal ends it. */
static void wait_for_block(int fd)
{
	pid_t child = fork();

	if (!child) {
		int reader = kl_reader(fd, below(4));

		alarm(1);
		for (u32 n = 0; n < 3 && read(reader, room, FUZZ_BUFFER) > 0; n++)
			;
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

static void read_blocks(int reader)
{
	struct pollfd wait = { .fd = reader, .events = POLLIN | POLLPRI };
	struct iovec parts[2] = { { room, 8192 }, { room + 65536, 65536 } };

	poll(&wait, 1, below(2));
	fcntl(reader, F_SETFL, O_NONBLOCK);
	for (u32 n = 1 + below(6); n; n--) {
		ssize_t got = one_in(4) ? readv(reader, parts, 2) : read(reader, room, FUZZ_BUFFER);

		if (got <= 0)
			break;
		me->successes++;
	}
}

/* Bytes of a mapping, or an error: never a signal. */
static void peek(void *at, size_t bytes)
{
	u8 byte[64];
	struct iovec mine = { byte, sizeof(byte) }, its = { at, sizeof(byte) };

	process_vm_readv(getpid(), &mine, 1, &its, 1, 0);
	its.iov_base = (u8 *)at + bytes - sizeof(byte);
	process_vm_readv(getpid(), &mine, 1, &its, 1, 0);
}

/* As a reader by mmap does it: the ring says where blocks are, the position what is done with. */
static void map_blocks(int reader, u32 block_bytes)
{
	struct kl_abi_ring ring = {};
	struct iovec mine = { &ring, sizeof(ring) }, its;
	u32 cpu = below(2), index = 0;
	u64 next;
	u8 *position =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, reader, KL_MMAP_POSITION);
	u8 *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, reader, KL_MMAP_RING(cpu)), *block;

	if (map != MAP_FAILED) {
		its = (struct iovec){ map, sizeof(ring) };
		process_vm_readv(getpid(), &mine, 1, &its, 1, 0);
		its = (struct iovec){ map + sizeof(ring) + 4 * below(8), 4 };
		mine = (struct iovec){ &index, 4 };
		process_vm_readv(getpid(), &mine, 1, &its, 1, 0);
		munmap(map, 4096);
	}
	block = mmap(NULL, block_bytes, PROT_READ, MAP_SHARED | (one_in(2) ? MAP_POPULATE : 0),
		     reader, KL_MMAP_BLOCK(cpu, index, block_bytes));
	if (block != MAP_FAILED) {
		me->successes++;
		if (one_in(3))
			op_start_stop(); /* what is mapped may go meanwhile */
		peek(block, block_bytes);
		munmap(block, block_bytes);
	}
	if (position == MAP_FAILED)
		return;
	next = one_in(4) ? odd_number() : ring.head;
	mine = (struct iovec){ &next, 8 };
	its = (struct iovec){ position + 8 * cpu, 8 };
	process_vm_writev(getpid(), &mine, 1, &its, 1, 0);
	munmap(position, 4096);
}

static void read_stacks(int fd)
{
	for (u32 what = KL_STACKS_TRACES; what <= KL_STACKS_OBJECT; what++) {
		struct kl_abi_stacks call = { .what = what, .first = 1 };

		for (u32 n = 0; n < 6; n++) {
			call.size = sizeof(call);
			call.buffer = (u64)(uintptr_t)room;
			call.bytes = one_in(6) ? below(300) : FUZZ_BUFFER;
			if (TRY(fd, KL_IOC_STACKS, call) || !call.n)
				break;
			if (what == KL_STACKS_OBJECT) {
				const struct kl_abi_object *object = (void *)room;

				if (object->fd > 2 && call.buffer == (u64)(uintptr_t)room)
					close(object->fd);
				call.first++;
			}
		}
	}
}

static void read_tables(int fd, u32 rules)
{
	struct kl_abi_counts *counts = (void *)memory;

	for (u32 rule = 0; rule < rules; rule++) {
		struct kl_abi_table table = { .rule = rule, .cpu = below(2), .n = 256 };
		struct kl_abi_handler_read said = { .rule = rule, .bytes = FUZZ_BUFFER };

		table.size = sizeof(table);
		table.entry = (u64)(uintptr_t)room;
		if (TRY(fd, KL_IOC_TABLE, table)) {
			/* Only tables of histograms have buckets. */
			table.size = sizeof(table);
			table.n = 256;
			table.bucket = (u64)(uintptr_t)(room + 65536);
			TRY(fd, KL_IOC_TABLE, table);
		}
		said.text = (u64)(uintptr_t)room;
		TRY(fd, KL_IOC_HANDLER_READ, said);
	}
	memset(counts, 0, sizeof(*counts));
	counts->size = sizeof(*counts);
	counts->n_dynamic = one_in(2) ? 64 : 0;
	counts->dynamic = counts->n_dynamic ? (u64)(uintptr_t)room : 0;
	me->successes += !ioctl(fd, KL_IOC_COUNTS, counts);
}

static void read_latency(int fd)
{
	for (u32 what = KL_LATENCY_READ_TASKS; what <= KL_LATENCY_READ_SOURCES; what++) {
		struct kl_abi_latency_read call = { .what = what };

		for (u32 n = 0; n < 4; n++) {
			call.size = sizeof(call);
			call.buffer = (u64)(uintptr_t)room;
			call.n = one_in(4) ? 1 + below(5) : 256;
			if (TRY(fd, KL_IOC_LATENCY_READ, call) || !call.n)
				break;
		}
	}
}

static void read_metadata(int fd)
{
	struct kl_abi_metadata metadata = { .size = sizeof(metadata), .bytes = FUZZ_BUFFER };

	metadata.text = (u64)(uintptr_t)room;
	TRY(fd, KL_IOC_METADATA_GET, metadata);
}

static void read_all(int fd, int reader, u32 rules, u32 block_bytes)
{
	struct kl_abi_stats stats = { .size = sizeof(stats), .cpu = (s32)below(3) - 1 };

	if (reader >= 0) {
		map_blocks(reader, block_bytes);
		read_blocks(reader);
	}
	if (one_in(30))
		wait_for_block(fd);
	TRY(fd, KL_IOC_STATS, stats);
	op_news();
	read_tables(fd, rules);
	read_stacks(fd);
	read_latency(fd);
	read_metadata(fd);
}

/* ----------------------------------------------------------------- purposes */

/* What the session is for. */
enum purpose {
	RECORDS_CALLS,
	RECORDS_VALUES, /* with many variables */
	RULES_AT_CALLS,
	RULES_AT_TABLE, /* rows of the tables */
	DEFINED_EVENTS,
	PROFILES,
	MACHINE, /* what only root may see */
	PURPOSES
};

static u8 any_action(u32 rules)
{
	if (rules && below(4))
		return KL_ACTION_RULE + below(rules);
	return one_in(4) ? KL_HANDLER_count : KL_HANDLER_log;
}

static void set_events(struct kl_abi_maskset *m, enum purpose purpose, u32 rules)
{
	static const u16 table[] = {
		KL_EV_sched_switch,
		KL_EV_sched_wakeup,
		KL_EV_sched_waking,
		KL_EV_sched_process_fork,
		KL_EV_sched_process_exec,
		KL_EV_sched_process_exit,
		KL_EV_signal_generate,
		KL_EV_sched_wakeup_new,
		KL_EV_sched_migrate_task,
		KL_EV_sched_stat_runtime,
		KL_EV_sched_process_wait,
		KL_EV_signal_deliver,
		KL_EV_mark,
		KL_EV_sched_process_free,
	};

	if (purpose == RULES_AT_TABLE || one_in(4))
		for (u32 i = 0; i < sizeof(table) / sizeof(*table); i++)
			m->handler[table[i]] = any_action(rules);
	if (purpose == MACHINE && !me->uid)
		for (u32 n = 12; n; n--)
			m->handler[one_in(2) ? KL_EV_net_dev_queue + below(30) : 1 + below(400)] =
				any_action(rules);
	for (u32 i = 0; purpose != PROFILES && i < CALLS; i++) {
		u32 n = calls[one_in(2) ? i : below(CALLS)];

		m->handler[KL_EV_SYSCALL_ENTRY + n] = any_action(rules);
		m->handler[KL_EV_SYSCALL_EXIT + n] = any_action(rules);
	}
}

static void write_maskset(int fd, u32 id, enum purpose purpose, u32 rules, u32 defined)
{
	struct kl_abi_maskset *m = (void *)memory;

	memset(m, 0, sizeof(*m));
	m->size = sizeof(*m);
	m->id = id;
	snprintf(m->name, sizeof(m->name), "set %u", id);
	set_events(m, purpose, rules);
	for (u32 i = 0; i < defined; i++)
		room[i] = any_action(rules);
	m->dynamic = (u64)(uintptr_t)room;
	m->n_dynamic = defined;
	me->calls++;
	me->successes += !ioctl(fd, KL_IOC_MASKSET_WRITE, m);
}

/* A program that is just the event's first field of 64 bits, or the running task's id. */
static u32 make_simple(int fd)
{
	struct kl_abi_op op[3] = { { .code = KL_OP_FIELD, .b = KL_NUMBER_U64 },
				   { .code = KL_OP_END } };
	struct kl_abi_program program = { .size = sizeof(program), .n_ops = 2 };

	if (one_in(3))
		op[0] = (struct kl_abi_op){ .code = KL_OP_VARIABLE, .imm = VARIABLE_tid };
	program.ops = (u64)(uintptr_t)op;
	return TRY(fd, KL_IOC_PROGRAM, program) ? 0 : program.id;
}

/* How many rules there are then. */
static u32 make_rules(int fd)
{
	u32 rules = 0;

	for (u32 n = 2 + below(6); n; n--)
		rules += make_rule(fd, one_in(3) ? make_simple(fd) : make_program(fd, false));
	return rules;
}

static void set_up(int fd, enum purpose purpose, u32 *rules, u32 *defined)
{
	u32 puts;

	if (one_in(4))
		limit_stacks(fd);
	if (purpose == DEFINED_EVENTS) {
		puts = make_program(fd, true);
		*defined = make_events(fd, puts);
	}
	if (purpose == RECORDS_VALUES)
		make_variables(fd, make_program(fd, false));
	if (purpose == PROFILES)
		make_latency(fd);
	if (purpose != RECORDS_CALLS && purpose != RECORDS_VALUES)
		*rules = make_rules(fd);
	if (one_in(4)) {
		struct kl_abi_metadata metadata = { .size = sizeof(metadata) };

		metadata.bytes = below(5000);
		metadata.text = (u64)(uintptr_t)room;
		TRY(fd, KL_IOC_METADATA_SET, metadata);
	}
	if (one_in(3)) {
		kl_filter(fd, KL_FILTER_TASKS, 0);
		kl_tasks(fd, getpid(), KL_TASK_ADD | KL_TASK_PROCESS | (below(4) << 3));
	} else if (one_in(4)) {
		set_filter(fd);
	}
}

/* A running session's changes. */
static void change_session(int fd)
{
	struct kl_abi_resize resize = { .size = sizeof(resize), .blocks = 4 + below(20) };
	struct kl_abi_mark mark = { .size = sizeof(mark), .value = below(100), .text = "mark" };
	struct kl_abi_dump dump = { .size = sizeof(dump), .what = below(8) };

	switch (below(8)) {
	case 0:
		kl_use(fd, MASKSET + 1);
		break;
	case 1:
		TRY(fd, KL_IOC_RESIZE, resize);
		break;
	case 2:
		me->successes += !ioctl(fd, KL_IOC_SNAPSHOT, 0);
		break;
	case 3:
		me->successes += !ioctl(fd, KL_IOC_FREEZE, 0);
		break;
	case 4:
		if (one_in(3))
			TRY(fd, KL_IOC_DUMP, dump);
		break;
	case 5:
		kl_stop(fd);
		kl_start(fd);
		break;
	default:
		TRY(fd, KL_IOC_MARK, mark);
	}
}

void op_recorder(void)
{
	enum purpose purpose = below(PURPOSES);
	struct kl_abi_session wish = { .mode = below(2),
				       .block_bytes = 4096u << below(2),
				       .blocks = 4 + below(4),
				       .blocks_max = 32 };
	u32 rules = 0, defined = 0;
	int fd = open_device(O_RDWR), reader;

	if (fd < 0)
		return;
	snprintf(wish.name, sizeof(wish.name), "recorder %u", below(100));
	if (TRY(fd, KL_IOC_SESSION, wish)) {
		close(fd);
		return;
	}
	common->session_newest = wish.id;
	set_up(fd, purpose, &rules, &defined);
	write_maskset(fd, MASKSET, purpose, rules, defined);
	write_maskset(fd, MASKSET + 1, below(PURPOSES), rules, defined);
	kl_use(fd, MASKSET);
	reader = kl_reader(fd, below(4));
	me->successes += !kl_start(fd);
	for (u32 n = 1 + below(3); n; n--) {
		fire_calls();
		if (one_in(2))
			change_session(fd);
		read_all(fd, reader, rules, wish.block_bytes ?: 4096);
	}
	if (one_in(3)) {
		kl_stop(fd);
		read_all(fd, reader, rules, wish.block_bytes ?: 4096);
	}
	keep_fd(fd, ROLE_SESSION);
	keep_fd(reader, ROLE_READER);
}
