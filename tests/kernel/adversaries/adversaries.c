// SPDX-License-Identifier: GPL-2.0
/*
 * adversaries RECORDS: user A traces everything that its own processes do, in several ways, while
 * another user B and root do the same things with recognizable content. That many of A's records
 * are searched for foreign data and, on a kernel that poisons memory, for uninitialized data; so
 * are whole mapped pages, and the answers of calls that inspect A's processes.
 *
 * Run as root in the guest, with the kernel arguments that tests/kernel/run passes: init_on_alloc=0
 * page_poison=1 slub_debug=P.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../mapped.h"
#include "adversaries.h"

#define BLOCK_BYTES 65536
#define SMALL_BYTES 8192

struct shared *shared;
static u64 wanted;

/* ----------------------------------------------------------- user A's sessions */

enum way {
	WAY_ALL,
	WAY_FIRST_VARIABLES,
	WAY_OTHER_VARIABLES,
	WAY_MAPPED,
	WAY_TASKS,
	WAY_MEMORY,
	WAYS
};

static const char *const way_names[WAYS] = {
	"all events",
	"all events with variables and call traces",
	"other variables, all of them in each record",
	"mapped pages, overwritten, with rules",
	"own tasks",
	"own tasks' system calls with the memory of their arguments",
};

#define ACCESS_own 1
#define ACCESS_parent 1
#define ACCESS_any 1
#define ACCESS_all 0
#define ACCESS_address 0
#define BYTES_task 0
#define BYTES_s8 1
#define BYTES_u8 1
#define BYTES_s16 2
#define BYTES_u16 2
#define BYTES_s32 4
#define BYTES_u32 4
#define BYTES_s64 8
#define BYTES_u64 8
#define BYTES_text 16

static const struct {
	u16 id;
	u8 bytes;
	bool may;
	const char *name;
} variables[] = {
#define KL_VARIABLE(id, name, scope, type, unit, format, access, ...) \
	{ id, BYTES_##type, ACCESS_##access, #name },
#include "variables.def"
#undef KL_VARIABLE
};

#define VARIABLES (sizeof(variables) / sizeof(*variables))

/* Sets every second variable that A may use, as many as fit. */
static void set_variables(int fd, u32 first, u32 flags, struct search *s)
{
	struct kl_abi_variables params = { .size = sizeof(params), .flags = flags };
	struct kl_abi_variable_info info;
	u32 bytes = 0;

	for (u32 i = first; i < VARIABLES && params.n < 40; i += 2) {
		info = (struct kl_abi_variable_info){ .size = sizeof(info), .id = variables[i].id };
		if (!variables[i].bytes || !variables[i].may || bytes + variables[i].bytes > 400 ||
		    kl_call(fd, KL_IOC_VARIABLE_INFO, &info) || info.absent)
			continue;
		bytes += variables[i].bytes;
		s->variable[params.n].name = variables[i].name;
		s->variable[params.n].bytes = variables[i].bytes;
		params.variable[params.n++].variable = variables[i].id;
	}
	s->variables = params.n;
	if (kl_call(fd, KL_IOC_VARIABLES, &params))
		bail("variables: %s", kl_why(fd));
}

/* Adds two rules: a table by the task's name, and an alarm. */
static void set_rules(int fd)
{
	struct kl_abi_rule rule = { .size = sizeof(rule),
				    .handler = KL_HANDLER_count,
				    .n_keys = 2 };
	struct kl_abi_op half = { .code = KL_OP_VARIABLE, .imm = 3 }; /* comm */

	rule.key[0] = kl_program(fd, half);
	half.b = 1;
	rule.key[1] = kl_program(fd, half);
	if (kl_call(fd, KL_IOC_RULE, &rule))
		bail("rule: %s", kl_why(fd));
	rule = (struct kl_abi_rule){ .size = sizeof(rule),
				     .handler = KL_HANDLER_alarm,
				     .text = "an alarm" };
	if (kl_call(fd, KL_IOC_RULE, &rule))
		bail("rule: %s", kl_why(fd));
}

static bool is_there(int fd, u32 event)
{
	struct kl_abi_event_info info = { .size = sizeof(info), .id = event };

	return !kl_call(fd, KL_IOC_EVENT_INFO, &info) && !info.absent;
}

/* A maskset that logs all system calls, to which more is added before it is used. */
static struct kl_abi_maskset calls_maskset(int fd)
{
	struct kl_abi_maskset m = { .size = sizeof(m), .id = KL_MASKSET_FIRST_USER };

	for (u32 id = KL_EV_SYSCALL_ENTRY; id < KL_EV_MAX; id++)
		m.handler[id] = is_there(fd, id) ? KL_HANDLER_log : KL_HANDLER_nothing;
	return m;
}

static void use_maskset(int fd, struct kl_abi_maskset *m)
{
	if (kl_call(fd, KL_IOC_MASKSET_WRITE, m) || kl_use(fd, m->id))
		bail("maskset: %s", kl_why(fd));
}

static void use_rules(int fd)
{
	struct kl_abi_maskset m = calls_maskset(fd);

	m.handler[KL_EV_sched_switch] = KL_ACTION_RULE;
	m.handler[KL_EV_sched_wakeup] = KL_HANDLER_log;
	m.handler[KL_EV_sched_process_exec] = KL_ACTION_RULE + 1;
	m.handler[KL_EV_sched_process_exit] = KL_HANDLER_log;
	m.handler[KL_EV_mark] = KL_HANDLER_log;
	use_maskset(fd, &m);
}

/* What `record --strace` requests. */
static void use_memory(int fd)
{
	struct kl_abi_maskset m = calls_maskset(fd);

	for (u32 id = KL_EV_strace_memory; id <= KL_EV_strace_exit; id++)
		m.handler[id] = KL_HANDLER_log;
	use_maskset(fd, &m);
}

static void set_up(int fd, enum way way, struct search *s)
{
	struct kl_abi_latency latency = { .size = sizeof(latency),
					  .flags = KL_LATENCY_USER_STACKS | KL_LATENCY_WAKERS |
						   KL_LATENCY_OWNERS };
	int error = 0;

	if (way == WAY_FIRST_VARIABLES)
		set_variables(fd, 1, 0, s);
	if (way == WAY_OTHER_VARIABLES)
		set_variables(fd, 2, KL_VARIABLES_FULL, s);
	if (way == WAY_MAPPED) {
		set_rules(fd);
		use_rules(fd);
		error = kl_call(fd, KL_IOC_LATENCY, &latency);
	} else if (way == WAY_MEMORY) {
		use_memory(fd);
	} else {
		error = kl_use(fd, KL_MASKSET_RALL);
	}
	if (!error && (way == WAY_TASKS || way == WAY_MEMORY)) {
		error = kl_filter(fd, KL_FILTER_TASKS, 0);
		/*
		 * The workers have the first ids; a task of another user is refused as if it did
		 * not exist.
		 */
		for (u32 pid = FIRST_TID; pid < FIRST_TID + 40; pid++)
			kl_tasks(fd, pid,
				 KL_TASK_ADD | KL_TASK_PROCESS | KL_TASK_TREE | KL_TASK_INHERIT);
	}
	if (error)
		bail("%s: %s", way_names[way], kl_why(fd));
}

/* ------------------------------------------------------------------ answers */

static u8 answer[1 << 20] __attribute__((aligned(8)));

/* Searches every detail of each working thread of A. */
static void search_details(struct search *s, int fd)
{
	for (u32 pid = FIRST_TID; pid < FIRST_TID + 60; pid++)
		for (u32 what = 1; what < KL_DETAIL_KINDS; what++) {
			struct kl_abi_detail call = { .size = sizeof(call),
						      .pid = pid,
						      .what = what,
						      .buffer = (u64)(uintptr_t)answer,
						      .bytes = 65536,
						      .proof = -1 };

			if (!kl_call(fd, KL_IOC_DETAIL, &call))
				search_bytes(s, "details", answer, call.bytes);
			search_bytes(s, "a call for details", &call, sizeof(call));
		}
}

/* Searches all variables of all threads that A may see. */
static void search_rows(struct search *s, int fd)
{
	static u32 ids[VARIABLES];
	struct kl_abi_inspect call = { .size = sizeof(call),
				       .flags = KL_INSPECT_ALL | KL_INSPECT_THREADS };

	for (u32 i = 1; i < VARIABLES; i++) {
		ids[0] = variables[i].id;
		call.n_variables = 1;
		call.variables = (u64)(uintptr_t)ids;
		call.rows = (u64)(uintptr_t)answer;
		call.room = sizeof(answer);
		if (!kl_call(fd, KL_IOC_INSPECT, &call))
			search_bytes(s, variables[i].name, answer,
				     (size_t)call.n_rows * call.row_bytes);
	}
}

static void search_latency(struct search *s, int fd)
{
	static const u32 bytes[] = { sizeof(struct kl_abi_latency_task),
				     sizeof(struct kl_abi_latency_entry),
				     sizeof(struct kl_abi_latency_source) };

	for (u32 what = 0; what < 3; what++) {
		struct kl_abi_latency_read call = { .what = what };

		do {
			call.size = sizeof(call);
			call.buffer = (u64)(uintptr_t)answer;
			call.n = 1000;
			if (kl_call(fd, KL_IOC_LATENCY_READ, &call))
				break;
			search_bytes(s, "a latency profile", answer, call.n * bytes[what]);
		} while (call.n);
	}
}

static void search_session(struct search *s, int fd)
{
	struct kl_abi_alarms alarms = { .size = sizeof(alarms), .n = KL_ALARMS_KEPT };
	struct kl_abi_stacks stacks = { .first = 1 };
	struct kl_abi_table table = { .n = 4000 };

	alarms.alarm = (u64)(uintptr_t)answer;
	if (!kl_call(fd, KL_IOC_ALARMS, &alarms))
		search_bytes(s, "alarms", answer, alarms.n * sizeof(struct kl_abi_alarm));
	do {
		stacks.size = sizeof(stacks);
		stacks.buffer = (u64)(uintptr_t)answer;
		stacks.bytes = sizeof(answer);
		if (kl_call(fd, KL_IOC_STACKS, &stacks))
			break;
		search_bytes(s, "call traces", answer, stacks.bytes);
	} while (stacks.n);
	for (u32 cpu = 0; cpu < 2; cpu++) {
		table.size = sizeof(table);
		table.cpu = cpu;
		table.n = 4000;
		table.entry = (u64)(uintptr_t)answer;
		if (!kl_call(fd, KL_IOC_TABLE, &table))
			search_bytes(s, "a table", answer,
				     (table.n < 4000 ? table.n : 4000) *
					     sizeof(struct kl_abi_entry));
	}
}

static void search_files(struct search *s)
{
	static const char *const names[] = { "processes", "figures", "latency", "limits" };
	char path[80];

	for (u32 i = 0; i < 4; i++) {
		ssize_t got;
		int fd;

		snprintf(path, sizeof(path), "/proc/kernlens/%s", names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		while ((got = read(fd, answer, sizeof(answer))) > 0)
			search_bytes(s, path, answer, got);
		close(fd);
	}
}

static void search_answers(struct search *s, int fd)
{
	search_details(s, fd);
	search_rows(s, fd);
	search_latency(s, fd);
	search_session(s, fd);
	search_files(s);
}

/* -------------------------------------------------------------------- tracing */

static void read_some(struct search *s, int reader, u32 block_bytes)
{
	ssize_t got = read(reader, answer, sizeof(answer));

	for (ssize_t at = 0; at < got; at += block_bytes)
		search_block(s, answer + at, block_bytes);
	if (got <= 0)
		sleep_ms(5);
}

/* Accessing a block that was freed before it was touched raises SIGBUS. */
__attribute__((noinline)) static void search_mapping(struct search *s, const u8 *at)
{
	if (!sigsetjmp(mapped_escape, 0))
		search_bytes(s, "a mapped block", at, SMALL_BYTES);
}

/* Searches the rings' whole pages and all blocks, full or not, used or not. */
static void search_pages(struct search *s, struct mapped *m, u32 cpus, u32 blocks)
{
	for (u32 cpu = 0; cpu < cpus; cpu++) {
		search_bytes(s, "a ring's page", m->cpu[cpu].ring, m->cpu[cpu].ring_bytes);
		for (u32 i = 0; i < blocks; i++) {
			u8 *at = mmap(NULL, SMALL_BYTES, PROT_READ, MAP_SHARED | MAP_POPULATE,
				      m->fd, KL_MMAP_BLOCK(cpu, i, SMALL_BYTES));

			if (at == MAP_FAILED)
				continue;
			search_mapping(s, at);
			munmap(at, SMALL_BYTES);
		}
	}
}

static void trace_mapped(struct search *s, int fd, int reader, u64 until_records, double until)
{
	static struct mapped m;
	static u8 block[SMALL_BYTES];
	u32 cpus = sysconf(_SC_NPROCESSORS_ONLN);

	mapped_init();
	if (!mapped_open(&m, reader, cpus, SMALL_BYTES))
		bail("mmap");
	search_pages(s, &m, cpus, 16);
	if (kl_start(fd))
		bail("start: %s", kl_why(fd));
	for (u32 n = 0; s->records < until_records && now_seconds() < until; n++) {
		bool any = false;

		for (u32 cpu = 0; cpu < cpus; cpu++)
			while (mapped_next(&m, cpu, block)) {
				search_block(s, block, SMALL_BYTES);
				any = true;
			}
		if (n % 256 == 255)
			search_pages(s, &m, cpus, 16);
		if (!any)
			sleep_ms(2);
	}
	search_pages(s, &m, cpus, 16);
	mapped_close(&m);
}

/* @until_memory: records with memory of the caller, which depend on who of A runs how often */
static void trace_read(struct search *s, int fd, int reader, u64 until_records, u64 until_memory,
		       double until)
{
	struct kl_abi_dump dump = { .size = sizeof(dump),
				    .what = KL_DUMP_PROCESSES | KL_DUMP_FILES | KL_DUMP_MAPPINGS };

	if (kl_start(fd))
		bail("start: %s", kl_why(fd));
	if (kl_call(fd, KL_IOC_DUMP, &dump))
		bail("dump: %s", kl_why(fd));
	while ((s->records < until_records || s->memory < until_memory) && now_seconds() < until)
		read_some(s, reader, BLOCK_BYTES);
}

static void trace_in_way(enum way way)
{
	struct kl_abi_session params = {
		.mode = way == WAY_MAPPED ? KL_MODE_OVERWRITE : KL_MODE_DISCARD,
		.blocks = way == WAY_MAPPED ? 16 : 32,
		.block_bytes = way == WAY_MAPPED ? SMALL_BYTES : BLOCK_BYTES
	};
	const u64 memory = way == WAY_MEMORY ? wanted / WAYS / 20 : 0;
	double begun = now_seconds();
	struct kl_abi_stats stats;
	int fd = kl_open(), reader;
	struct search s;
	char name[120];

	search_init(&s);
	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	set_up(fd, way, &s);
	reader = kl_reader(fd, way == WAY_MAPPED ? 0 : KL_READER_HOLD);
	fcntl(reader, F_SETFL, O_NONBLOCK);
	if (way == WAY_MAPPED)
		trace_mapped(&s, fd, reader, wanted / WAYS, begun + wanted / 200 + 60);
	else
		trace_read(&s, fd, reader, wanted / WAYS, memory, begun + wanted / 200 + 60);
	stats = kl_stats(fd, -1);
	search_answers(&s, fd);
	search_threads(&s);
	snprintf(name, sizeof(name), "%s: nothing of others, nothing unwritten", way_names[way]);
	tap_result(!s.found[0], name, "%s", s.found);
	snprintf(name, sizeof(name), "%s: enough records, with own content", way_names[way]);
	tap_result(s.records >= wanted / WAYS && s.own > 5 && s.memory >= memory, name,
		   "%llu of %llu, own %llu, memory %llu", (unsigned long long)s.records,
		   (unsigned long long)wanted / WAYS, (unsigned long long)s.own,
		   (unsigned long long)s.memory);
	printf("# %.1f s: searched %llu records in %llu blocks, %llu MiB in all; lost %llu, "
	       "suspended %u\n",
	       now_seconds() - begun, (unsigned long long)s.records, (unsigned long long)s.blocks,
	       (unsigned long long)s.bytes >> 20, (unsigned long long)stats.lost,
	       stats.suspended.times);
	close(reader);
	close(fd);
	search_free(&s);
}

/* Root sees everything: the same search finds data of every owner. */
static void check_root(void)
{
	struct kl_abi_session params = { .blocks = 32, .block_bytes = BLOCK_BYTES };
	int fd = kl_open(), reader;
	struct search s;

	search_init(&s);
	if (kl_session(fd, &params) || kl_use(fd, KL_MASKSET_RDEFAULT))
		bail("session: %s", kl_why(fd));
	reader = kl_reader(fd, KL_READER_HOLD);
	fcntl(reader, F_SETFL, O_NONBLOCK);
	trace_read(&s, fd, reader, 30000, 0, now_seconds() + 60);
	tap_result(s.own && s.seen[OWNER_B] && s.seen[OWNER_ROOT],
		   "root's session, searched in the same way, shows all of them",
		   "own %llu, user 2 %llu, root %llu of %llu", (unsigned long long)s.own,
		   (unsigned long long)s.seen[OWNER_B], (unsigned long long)s.seen[OWNER_ROOT],
		   (unsigned long long)s.records);
	close(reader);
	close(fd);
	search_free(&s);
}

/* ------------------------------------------------------------------ processes */

/* B and root trace, too, with their own names and texts. */
static void trace_as(enum owner owner)
{
	struct kl_abi_session params = { .mode = KL_MODE_OVERWRITE,
					 .blocks = 4,
					 .block_bytes = 16384 };
	struct kl_abi_metadata metadata = { .size = sizeof(metadata), .bytes = 16 };
	int fd = kl_open();

	snprintf(params.name, sizeof(params.name), "%s", secrets[owner]);
	metadata.text = (u64)(uintptr_t)secrets[owner];
	if (kl_session(fd, &params) || kl_call(fd, KL_IOC_METADATA_SET, &metadata) ||
	    kl_use(fd, KL_MASKSET_RDEFAULT) || kl_start(fd))
		bail("session of %s: %s", markers[owner], kl_why(fd));
}

enum role {
	ROLE_WORK,
	ROLE_HIDDEN,
	ROLE_CHANGING,
	ROLE_TRACER,
};

/*
 * Starts a process that dies with its parent. It drops root's name before it becomes its user, so
 * that no process of A ever has that name.
 */
static pid_t start(enum role role, enum owner owner)
{
	static const u32 uids[OWNERS] = { UID_A, UID_B, 0 };
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "adversary");
	if (uids[owner])
		kl_become(uids[owner]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	switch (role) {
	case ROLE_HIDDEN:
		work_hidden();
		break;
	case ROLE_CHANGING:
		work_changing();
		break;
	case ROLE_WORK:
		if (owner != OWNER_A)
			trace_as(owner);
		work_as(owner);
		break;
	case ROLE_TRACER:
		/* What it searches for passes through its registers: it must not see itself. */
		prctl(PR_SET_DUMPABLE, 0);
		tap.failures = 0;
		for (u32 way = 0; way < WAYS; way++)
			trace_in_way(way);
	}
	fflush(stdout);
	_exit(tap.failures > 100 ? 100 : tap.failures);
}

static void prepare(void)
{
	char command[400], self[200] = "";

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_DGRAM, 0, shared->sockets) ||
	    readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		bail("preparation");
	snprintf(command, sizeof(command),
		 "cp %s %s && cp %s %s && chown %u %s && chmod 4755 %s %s && chmod 1777 /tmp", self,
		 PATH_SUID_ROOT, self, PATH_SUID_B, UID_B, PATH_SUID_B, PATH_SUID_ROOT,
		 PATH_SUID_B);
	if (system(command))
		bail("%s", command);
	/* Sessions must not be suspended or delayed because the machine is slow. */
	put_file("/sys/module/kernlens/parameters/cpu_percent_unprivileged", "0");
	put_file("/sys/module/kernlens/parameters/patches_per_second_per_user", "0");
	put_file("/sys/module/kernlens/parameters/patches_per_second_all_users", "0");
	put_file("/proc/sys/kernel/unprivileged_userns_clone", "1");
	if (!put_file("/proc/sys/kernel/pid_max", "4194304") ||
	    !put_file("/proc/sys/kernel/ns_last_pid", "3456000"))
		bail("pid_max");
}

static bool is_poisoned(void)
{
	char line[4096] = "";
	int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);

	if (read(fd, line, sizeof(line) - 1) < 0)
		bail("/proc/cmdline");
	close(fd);
	return strstr(line, "page_poison=1") && strstr(line, "slub_debug=") &&
	       strstr(line, "init_on_alloc=0");
}

int main(int argc, char **argv)
{
	pid_t workers[6], tracer;
	int status;

	if (argc > 1 && !strcmp(argv[1], "--suid-root"))
		return run_suid(OWNER_ROOT);
	if (argc > 1 && !strcmp(argv[1], "--suid-other"))
		return run_suid(OWNER_B);
	wanted = argc > 1 ? strtoull(argv[1], NULL, 0) : 200000;
	prepare();
	tap_check(is_poisoned(), "the kernel poisons memory that is free or new");
	check_search();
	/* A may not see the parent of all these processes either. */
	prctl(PR_SET_NAME, markers[OWNER_ROOT]);
	workers[0] = start(ROLE_WORK, OWNER_A);
	workers[1] = start(ROLE_WORK, OWNER_A);
	workers[2] = start(ROLE_WORK, OWNER_B);
	workers[3] = start(ROLE_WORK, OWNER_ROOT);
	workers[4] = start(ROLE_HIDDEN, OWNER_A);
	workers[5] = start(ROLE_CHANGING, OWNER_ROOT);
	check_root();
	tracer = start(ROLE_TRACER, OWNER_A);
	if (waitpid(tracer, &status, 0) == tracer)
		tap.failures += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
	shared->stop = 1;
	for (u32 i = 0; i < 6; i++)
		waitpid(workers[i], NULL, 0);
	for (u32 i = 0; i < OWNERS; i++)
		printf("# rounds of %s: %u\n", markers[i], shared->rounds[i]);
	return tap.failures ? 1 : 0;
}
