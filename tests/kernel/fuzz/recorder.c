// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions used as a recorder uses them: set up for one purpose, started, fired, and read
 * completely in every way. The other operations change such sessions at random; here hardly
 * anything is invalid, so that each sequence reaches code that runs only after many accepted calls.
 */
#include <sys/syscall.h>
#include <sys/uio.h>

#include "fuzz.h"

#define MASKSET KL_MASKSET_FIRST_USER

/* System calls made by fire_calls(), and some made by other threads. */
static const u16 calls[] = {
	SYS_openat, SYS_close,	SYS_read,    SYS_write,	     SYS_getppid,     SYS_newfstatat,
	SYS_access, SYS_rename, SYS_mmap,    SYS_munmap,     SYS_mprotect,    SYS_execve,
	SYS_clone,  SYS_clone3, SYS_wait4,   SYS_exit_group, SYS_nanosleep,   SYS_clock_nanosleep,
	SYS_futex,  SYS_prctl,	SYS_symlink, SYS_mount,	     SYS_pipe2,	      SYS_sendto,
	SYS_poll,   SYS_ioctl,	SYS_exit,    SYS_vfork,	     SYS_sched_yield,
};

#define CALLS (sizeof(calls) / sizeof(*calls))

/* ----------------------------------------------------------------- reading */

/* A child with its own reader, which waits for blocks until a signal ends it. */
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

/* Reads bytes of a mapping, or gets an error, but never a signal. */
static void peek(void *at, size_t bytes)
{
	u8 byte[64];
	struct iovec mine = { byte, sizeof(byte) }, its = { at, sizeof(byte) };

	process_vm_readv(getpid(), &mine, 1, &its, 1, 0);
	its.iov_base = (u8 *)at + bytes - sizeof(byte);
	process_vm_readv(getpid(), &mine, 1, &its, 1, 0);
}

/*
 * Like a reader by mmap: the ring tells where blocks are; the position marks what has been
 * processed.
 */
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
			op_start_stop(); /* the mapped memory may be freed in the meantime */
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

/* Finds the number of the file that some frame lies in, among the stack traces that were read. */
static u32 find_object(u32 bytes)
{
	const u64 *word = (u64 *)room;
	u32 n = bytes / sizeof(*word), from = n ? below(n) : 0;

	for (u32 i = 0; i < n; i++) {
		u64 number = word[(from + i) % n] >> KL_STACK_PLACE_SHIFT;

		if (number && number <= KL_STACK_OBJECTS_MAX)
			return number;
	}
	return 1 + below(KL_STACK_OBJECTS_MAX);
}

static void read_stacks(int fd)
{
	u32 object = 1;

	for (u32 what = KL_STACKS_TRACES; what <= KL_STACKS_OBJECT; what++) {
		struct kl_abi_stacks call = { .what = what, .first = object };

		for (u32 n = 0; n < 6; n++) {
			call.size = sizeof(call);
			call.buffer = (u64)(uintptr_t)room;
			call.bytes = one_in(6) ? below(300) : FUZZ_BUFFER;
			if (TRY(fd, KL_IOC_STACKS, call) || !call.n)
				break;
			if (what == KL_STACKS_OBJECT) {
				const struct kl_abi_object *found = (void *)room;

				if (found->fd > 2 && call.buffer == (u64)(uintptr_t)room)
					close(found->fd);
				break;
			}
			object = find_object(call.bytes < FUZZ_BUFFER ? call.bytes : 0);
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

/* Reads the running profiles as text, for root. */
static void show_latency(void)
{
	char path[60];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/latency", common->device + 5);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while (read(fd, room, FUZZ_BUFFER) > 0)
		me->successes++;
	close(fd);
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

enum purpose {
	RECORDS_CALLS,
	RECORDS_VALUES, /* with many variables */
	RECORDS_STACKS, /* with stack traces */
	DUMPS, /* the state at the start */
	RULES_AT_CALLS,
	RULES_AT_TABLE, /* events of the table */
	DEFINED_EVENTS,
	PROFILES,
	MACHINE, /* events that only root may see */
	PACKETS, /* likewise */
	PURPOSES
};

/* The module refuses a whole maskset if this kernel lacks one of its events. */
static bool is_here(int fd, u32 id)
{
	struct kl_abi_event_info info = { .size = sizeof(info), .id = id };

	return !ioctl(fd, KL_IOC_EVENT_INFO, &info) && !info.absent;
}

static u8 any_action(u32 rules)
{
	if (rules && below(4))
		return KL_ACTION_RULE + below(rules);
	return one_in(4) ? KL_HANDLER_count : KL_HANDLER_log;
}

static void set_events(int fd, struct kl_abi_maskset *m, enum purpose purpose, u32 rules)
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
		KL_EV_process_set,
	};

	for (u32 id = KL_EV_lttng_statedump_start; purpose == DUMPS; id++) {
		m->handler[id] = KL_HANDLER_log;
		if (id == KL_EV_lttng_statedump_cpu_topology)
			return;
	}
	/* A user is not allowed to have stack traces of scheduler events. */
	if (purpose == RULES_AT_TABLE || (purpose != RECORDS_STACKS && one_in(4)))
		for (u32 i = 0; i < sizeof(table) / sizeof(*table); i++)
			m->handler[table[i]] = any_action(rules);
	if (purpose == MACHINE && !me->uid)
		for (u32 n = 12; n; n--) {
			u32 id = 1 + below(350);

			if (is_here(fd, id))
				m->handler[id] = any_action(rules);
		}
	if (purpose == PACKETS && !me->uid)
		for (u32 i = 0; i < 30; i++)
			if (is_here(fd, KL_EV_net_dev_queue + i))
				m->handler[KL_EV_net_dev_queue + i] = any_action(rules);
	m->handler[KL_EV_syscall_late_string] = KL_HANDLER_log;
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
	set_events(fd, m, purpose, rules);
	for (u32 i = 0; i < defined; i++)
		room[i] = any_action(rules);
	m->dynamic = (u64)(uintptr_t)room;
	m->n_dynamic = defined;
	me->calls++;
	me->successes += !ioctl(fd, KL_IOC_MASKSET_WRITE, m);
}

/*
 * A program of one value: the event's first field of 64 bits, an id, or the time since a flag was
 * set.
 */
static u32 make_simple(int fd)
{
	struct kl_abi_op op[3] = { { .code = KL_OP_FIELD, .b = KL_NUMBER_U64 },
				   { .code = KL_OP_END } };
	struct kl_abi_program program = { .size = sizeof(program), .n_ops = 2 };

	if (one_in(3))
		op[0] = (struct kl_abi_op){ .code = KL_OP_VARIABLE, .imm = VARIABLE_tid };
	else if (one_in(3))
		op[0] = (struct kl_abi_op){ .code = KL_OP_SINCE, .imm = any_flag() };
	program.ops = (u64)(uintptr_t)op;
	return TRY(fd, KL_IOC_PROGRAM, program) ? 0 : program.id;
}

/* Returns the number of rules. */
static u32 make_rules(int fd)
{
	u32 rules = 0;

	for (u32 n = 2 + below(6); n; n--)
		rules += make_rule(fd, one_in(2) ? make_simple(fd) : make_program(fd, false));
	return rules;
}

/* A child that a session awaits and that executes a program when it is released. */
struct awaited {
	pid_t pid; /* 0: none */
	int go;
};

static void await_exec(int fd, struct awaited *a)
{
	int ends[2];
	char byte;

	if (pipe2(ends, O_CLOEXEC))
		return;
	a->go = ends[1];
	a->pid = fork();
	if (!a->pid) {
		alarm(5);
		close(ends[1]);
		if (!read(ends[0], &byte, 1))
			execl(one_in(3) ? "/none" : "/bin/true", "true", NULL);
		_exit(0);
	}
	close(ends[0]);
	kl_tasks(fd, a->pid, KL_TASK_ADD | KL_TASK_EXEC | (one_in(2) ? KL_TASK_INHERIT : 0));
}

static void let_go(struct awaited *a)
{
	if (a->pid <= 0)
		return;
	close(a->go);
	waitpid(a->pid, NULL, 0);
}

static void set_up(int fd, enum purpose purpose, u32 *rules, u32 *defined, struct awaited *awaited)
{
	u32 puts;

	if (one_in(4))
		limit_stacks(fd);
	if (purpose == DEFINED_EVENTS) {
		puts = make_program(fd, true);
		*defined = make_events(fd, puts);
	}
	if (purpose == RECORDS_VALUES && one_in(3))
		make_plain_variables(fd);
	else if (purpose == RECORDS_VALUES)
		make_variables(fd, make_program(fd, false));
	if (purpose == RECORDS_STACKS)
		make_stacks(fd);
	if (purpose == PROFILES)
		make_latency(fd);
	if (purpose > DUMPS)
		*rules = make_rules(fd);
	if (one_in(4)) {
		struct kl_abi_metadata metadata = { .size = sizeof(metadata) };

		metadata.kind = below(KL_METADATA_KINDS);
		metadata.bytes = below(5000);
		metadata.text = (u64)(uintptr_t)room;
		TRY(fd, KL_IOC_METADATA_SET, metadata);
	}
	if (one_in(3)) {
		kl_filter(fd, KL_FILTER_TASKS, 0);
		if (one_in(2))
			await_exec(fd, awaited);
		else
			kl_tasks(fd, getpid(), KL_TASK_ADD | KL_TASK_PROCESS | (below(4) << 3));
	} else if (one_in(4)) {
		set_filter(fd);
	}
}

static void dump_state(int fd)
{
	struct kl_abi_dump dump = { .size = sizeof(dump), .what = below(8) };

	TRY(fd, KL_IOC_DUMP, dump);
}

/* Changes a running session. */
static void change_session(int fd)
{
	struct kl_abi_resize resize = { .size = sizeof(resize), .blocks = 4 + below(20) };
	struct kl_abi_mark mark = { .size = sizeof(mark), .value = below(100), .text = "mark" };

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
			dump_state(fd);
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
	enum purpose purpose = !me->uid && one_in(4) ? PACKETS : below(PURPOSES);
	struct kl_abi_session params = { .mode = below(2),
					 .block_bytes = 4096u << below(2),
					 .blocks = 4 + below(4),
					 .blocks_max = 32 };
	struct awaited awaited = {};
	u32 rules = 0, defined = 0;
	int fd = open_device(O_RDWR), reader;

	if (fd < 0)
		return;
	snprintf(params.name, sizeof(params.name), "recorder %u", below(100));
	if (begin_session(fd, &params)) {
		close(fd);
		return;
	}
	set_up(fd, purpose, &rules, &defined, &awaited);
	write_maskset(fd, MASKSET, purpose, rules, defined);
	write_maskset(fd, MASKSET + 1, below(PURPOSES), rules, defined);
	kl_use(fd, MASKSET);
	reader = kl_reader(fd, below(4));
	me->successes += !kl_start(fd);
	if (purpose == DUMPS)
		dump_state(fd);
	let_go(&awaited);
	for (u32 n = 1 + below(3); n; n--) {
		if (purpose == PACKETS) {
			fire_packets();
			fire_frames();
		}
		fire_calls();
		if (one_in(2))
			change_session(fd);
		read_all(fd, reader, rules, params.block_bytes ?: 4096);
		if (purpose == PROFILES && !me->uid)
			show_latency();
	}
	if (one_in(3)) {
		kl_stop(fd);
		read_all(fd, reader, rules, params.block_bytes ?: 4096);
	}
	keep_fd(fd, ROLE_SESSION);
	keep_fd(reader, ROLE_READER);
}

void record_alone(bool values)
{
	struct kl_abi_session params = { .block_bytes = 4096, .blocks = 8 };
	int fd = open_device(O_RDWR);

	if (fd < 0)
		return;
	if (!TRY(fd, KL_IOC_SESSION, params)) {
		if (values)
			make_plain_variables(fd);
		kl_filter(fd, KL_FILTER_TASKS, 0);
		kl_tasks(fd, getpid(), KL_TASK_ADD | KL_TASK_INHERIT);
		write_maskset(fd, MASKSET, RECORDS_STACKS, 0, 0);
		kl_use(fd, MASKSET);
		me->successes += !kl_start(fd);
		fire_calls();
		read_all(fd, kl_reader(fd, 0), 0, 4096);
	}
	close(fd);
}
