// SPDX-License-Identifier: GPL-2.0
/*
 * Limits: each is reached as an ordinary user, and refused with a text that says which it
 * is, what is in use and who can raise it; failed calls and closed descriptors leave sums
 * as they were; subordinate users of a namespace share its owner's; text patches are paid
 * for; and a call that waits in its caller's memory makes nobody else wait. Runs as root.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "kl.h"
#include "workload.h"

#define PARAMETERS "/sys/module/kernlens/parameters/"
#define MIB (1ull << 20)

/* Users whose tokens nothing else takes. */
#define UID_SWITCHING 60003
#define UID_PATCHING 60004

/* ------------------------------------------------------------------ helpers */

static void set_parameter(const char *name, u64 value)
{
	char path[128], text[24];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	if (!put_file(path, text))
		bail("parameter %s", name);
}

static struct kl_abi_limits limits_at(int fd, u32 index)
{
	struct kl_abi_limits limits = { .size = sizeof(limits), .index = index };

	if (kl_call(fd, KL_IOC_LIMITS, &limits))
		bail("KL_IOC_LIMITS");
	return limits;
}

/* Of the caller's own account, or of the machine's for root. */
static u64 used(int fd, enum kl_limit what)
{
	return limits_at(fd, 0).used[what];
}

/* KiB that /proc/meminfo has of a kind. */
static u64 meminfo(const char *what)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, what, strlen(what)))
			sscanf(line + strlen(what), ": %llu", &kib);
	if (file)
		fclose(file);
	return kib;
}

/* Has the last failure on @fd a text with all of these? */
static bool says(int fd, const char *limit, const char *whose, const char *parameter)
{
	const char *why = kl_why(fd);
	bool all = strstr(why, limit) && strstr(why, whose) && strstr(why, " in use, ") &&
		   strstr(why, " wanted; root can raise " PARAMETERS) && strstr(why, parameter);

	if (!all)
		printf("# %s\n", why);
	return all;
}

static int small_session(void)
{
	struct kl_abi_session wish = { .blocks = 4, .block_bytes = 4096 };
	int fd = kl_open();

	if (kl_session(fd, &wish))
		bail("session: %s", kl_why(fd));
	return fd;
}

/* One of @mib of buffers, on all CPUs together; or -errno, with the text in @why. */
static int session_of(u32 mib, char why[KL_ERROR_TEXT_MAX])
{
	struct kl_abi_session wish = { .block_bytes = 65536 };
	int fd = kl_open(), error;

	wish.blocks = mib * 16 / sysconf(_SC_NPROCESSORS_ONLN);
	wish.blocks_max = wish.blocks;
	error = kl_session(fd, &wish);
	if (!error)
		return fd;
	snprintf(why, KL_ERROR_TEXT_MAX, "%s", kl_why(fd));
	close(fd);
	return error;
}

/* Run as another user, and count what fails there. */
static void run_as(void (*run)(void), u32 uid)
{
	int status, failures = tap.failures;

	tap.failures = 0;
	waitpid(start(run, uid), &status, 0);
	tap.failures = failures + (WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

/* ------------------------------------------------------------------- memory */

/* A rule with a table of 65,536 entries on each CPU. */
static int add_table(int fd, u32 key)
{
	struct kl_abi_rule rule = { .size = sizeof(rule),
				    .handler = KL_HANDLER_count,
				    .n_keys = 1,
				    .key = { key },
				    .entries = 1 << 16 };

	return kl_call(fd, KL_IOC_RULE, &rule);
}

static void fill_with_tables(void)
{
	u64 available = meminfo("MemAvailable"), before, now;
	int fd = small_session(), error = 0;
	u32 key, n = 0;

	key = kl_program(fd, (struct kl_abi_op){ .code = KL_OP_CONST, .imm64 = 1 });
	before = used(fd, KL_LIMIT_memory);
	while (n < 48 && !error) {
		now = used(fd, KL_LIMIT_memory);
		error = add_table(fd, key);
		n += !error;
	}
	tap_result(error == -EDQUOT && n, "tables beyond the limit of memory are refused",
		   "%u tables, error %d", n, error);
	tap_check(says(fd, "64 MiB of memory", "of a user", "memory_mb_per_user"),
		  "the refusal says which limit, what is in use and who can raise it");
	tap_result(used(fd, KL_LIMIT_memory) == now && now > before && now <= 64 * MIB,
		   "a refused call leaves the sum as it was", "%llu, then %llu",
		   (unsigned long long)now, (unsigned long long)used(fd, KL_LIMIT_memory));
	available -= meminfo("MemAvailable");
	tap_result((s64)available < 64 * 1024 * 5 / 4 + 8192,
		   "the kernel has no more memory than the limit allows", "%lld KiB more",
		   (long long)available);
	close(fd);
}

/* Everything else that has memory, until there is none. */
static int add_program(int fd)
{
	struct kl_abi_op ops[KL_PROGRAM_OPS_MAX] = {};
	struct kl_abi_program program = { .size = sizeof(program),
					  .ops = (u64)(uintptr_t)ops,
					  .n_ops = KL_PROGRAM_OPS_MAX };

	for (u32 i = 0; i < KL_PROGRAM_OPS_MAX - 1; i++)
		ops[i].code = KL_OP_CONST;
	ops[KL_PROGRAM_OPS_MAX - 1].code = KL_OP_END;
	return kl_call(fd, KL_IOC_PROGRAM, &program);
}

static int add_metadata(int fd)
{
	static char text[12 << 20];
	struct kl_abi_metadata metadata = { .size = sizeof(metadata),
					    .bytes = sizeof(text),
					    .text = (u64)(uintptr_t)text };

	return kl_call(fd, KL_IOC_METADATA_SET, &metadata);
}

static int add_flag(int fd)
{
	static u32 flag;
	struct kl_abi_rule rule = { .size = sizeof(rule),
				    .handler = KL_HANDLER_set,
				    .arg = flag++ % 32 };

	return kl_call(fd, KL_IOC_RULE, &rule);
}

static int add_stacks(int fd)
{
	struct kl_abi_latency wish = { .size = sizeof(wish),
				       .flags = KL_LATENCY_USER_STACKS,
				       .tasks = 1024 };

	return kl_call(fd, KL_IOC_LATENCY, &wish);
}

static int add_filter(int fd)
{
	return kl_filter(fd, KL_FILTER_TASKS, 0);
}

static int add_maskset(int fd)
{
	static struct kl_abi_maskset m;
	static u32 id = KL_MASKSET_FIRST_USER;

	m.size = sizeof(m);
	m.id = id++;
	return kl_call(fd, KL_IOC_MASKSET_WRITE, &m);
}

static int add_reader(int fd)
{
	int reader = kl_reader(fd, 0);

	if (reader >= 0)
		close(reader);
	return reader < 0 ? reader : 0;
}

static const struct {
	const char *name;
	int (*add)(int fd);
} kinds[] = {
	{ "programs", add_program },	  { "metadata", add_metadata },
	{ "flags of tasks", add_flag },	  { "a latency profile", add_stacks },
	{ "a set of tasks", add_filter }, { "masksets", add_maskset },
};

/* With 4 MiB each kind comes to its end or fits in; what a failed call took it gives back. */
static void check_kinds(void)
{
	for (u32 i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int fd = small_session(), error = 0;
		u64 before = used(fd, KL_LIMIT_memory), last = before;
		u32 n = 0;

		for (; n < 2000 && !error; n++) {
			last = used(fd, KL_LIMIT_memory);
			error = kinds[i].add(fd);
			if (n && !error && used(fd, KL_LIMIT_memory) == last)
				break;
		}
		if (error == -EDQUOT)
			tap_result(says(fd, "4 MiB of memory", "of a user", "memory_mb_per_user") &&
					   used(fd, KL_LIMIT_memory) == last,
				   kinds[i].name, "%llu of %llu after it",
				   (unsigned long long)used(fd, KL_LIMIT_memory),
				   (unsigned long long)last);
		else
			tap_result(used(fd, KL_LIMIT_memory) > before && n, kinds[i].name,
				   "error %d after %u", error, n);
		close(fd);
	}
}

/* A resize that does not fit, and one that does. */
static void check_resize(void)
{
	struct kl_abi_session wish = { .blocks = 8, .block_bytes = 4096, .blocks_max = 4096 };
	int fd = kl_open();
	u64 before;

	if (kl_session(fd, &wish))
		bail("session: %s", kl_why(fd));
	before = used(fd, KL_LIMIT_memory);
	tap_check(kl_resize(fd, 4096) == -EDQUOT && used(fd, KL_LIMIT_memory) == before,
		  "a buffer beyond the limit is refused and not charged");
	tap_check(!kl_resize(fd, 16) && used(fd, KL_LIMIT_memory) >= before + 8 * 4096,
		  "a larger one is charged");
	close(fd);
}

static void *map_block(int reader, u32 index)
{
	return mmap(NULL, 4096, PROT_READ, MAP_SHARED, reader, KL_MMAP_BLOCK(0, index, 4096));
}

/* Blocks that the session gives away while a reader has them mapped take memory still. */
static void check_mapped(void)
{
	static const u32 calls[] = { KL_EV_SYSCALL_ENTRY + SYS_getppid, 0 };
	struct kl_abi_session wish = { .mode = KL_MODE_OVERWRITE,
				       .blocks = 32,
				       .block_bytes = 4096 };
	int fd = kl_open(), reader, mapped = 0;
	u64 before, kept, after;
	void *block[32];
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu) || kl_session(fd, &wish) ||
	    kl_use_events(fd, 3, KL_HANDLER_log, calls) || kl_start(fd))
		bail("session: %s", kl_why(fd));
	reader = kl_reader(fd, 0);
	for (u32 i = 0; i < 32; i++) {
		block[i] = map_block(reader, i);
		mapped += block[i] != MAP_FAILED;
	}
	before = used(fd, KL_LIMIT_memory);
	if (kl_resize(fd, 4))
		bail("resize: %s", kl_why(fd));
	for (u32 i = 0; i < 20000; i++)
		syscall(SYS_getppid);
	kl_resize(fd, 5);
	kept = used(fd, KL_LIMIT_memory);
	for (u32 i = 0; i < 32; i++)
		if (block[i] != MAP_FAILED)
			munmap(block[i], 4096);
	kl_resize(fd, 4);
	after = used(fd, KL_LIMIT_memory);
	tap_result(mapped == 32 && kept >= before && after + 20 * 4096 <= kept,
		   "blocks stay charged while they are mapped",
		   "%d mapped; %lld, %lld, %lld", mapped, (long long)before, (long long)kept,
		   (long long)after);
	close(reader);
	close(fd);
}

static void user_with_4_mib(void)
{
	int fd = kl_open();
	u64 before = used(fd, KL_LIMIT_memory);

	check_kinds();
	check_resize();
	check_mapped();
	tap_result(used(fd, KL_LIMIT_memory) == before && !used(fd, KL_LIMIT_sessions) &&
			   !used(fd, KL_LIMIT_readers),
		   "nothing is charged after the sessions", "%llu bytes more",
		   (unsigned long long)(used(fd, KL_LIMIT_memory) - before));
}

/* -------------------------------------------------------------- definitions */

static void user_defines(void)
{
	static char name[5000];
	struct kl_abi_event event = { .kind = KL_SOURCE_KIND_TRACEPOINT,
				      .name = (u64)(uintptr_t)name };
	struct kl_abi_events events = { .size = sizeof(events),
					.n = KL_EV_DYNAMIC_MAX,
					.event = 4096 };
	int fd = small_session();
	u64 before = used(fd, KL_LIMIT_memory);

	tap_check(kl_call(fd, KL_IOC_EVENTS, &events) == -ENOSPC,
		  "more events than there may be are refused before they are read");
	memset(name, 'x', 4000);
	events.n = 1;
	events.event = (u64)(uintptr_t)&event;
	tap_check(kl_call(fd, KL_IOC_EVENTS, &events) == -EINVAL && strstr(kl_why(fd), "255"),
		  "a tracepoint's name of 4000 bytes is refused");
	tap_check(used(fd, KL_LIMIT_memory) == before, "neither is charged");
	close(fd);
}

static u32 define_ticks(int fd, u32 n)
{
	struct kl_abi_event event[64];
	struct kl_abi_events events = { .size = sizeof(events),
					.n = n,
					.event = (u64)(uintptr_t)event };

	for (u32 i = 0; i < n; i++)
		event[i] = (struct kl_abi_event){ .kind = KL_SOURCE_KIND_TICK, .arg = 1 };
	return kl_call(fd, KL_IOC_EVENTS, &events);
}

static void user_with_10_events(void)
{
	int fd = small_session(), other = small_session();

	tap_check(!define_ticks(fd, 6) && used(fd, KL_LIMIT_events) == 6, "events are counted");
	tap_check(define_ticks(other, 6) == (u32)-EDQUOT &&
			  says(other, "10 events", "of a user", "events_per_user"),
		  "those of all sessions of a user are limited");
	close(fd);
	tap_check(!define_ticks(other, 6), "and possible when the others have gone");
	close(other);
}

/* 100 MB of names, as root: refused by the machine's limit as they come. */
static void check_names(int fd)
{
	u32 n = 25000;
	struct kl_abi_event *event = calloc(n, sizeof(*event));
	struct kl_abi_events events = { .size = sizeof(events),
					.n = n,
					.event = (u64)(uintptr_t)event };
	int other = small_session();
	static char name[4096];
	u64 before = used(fd, KL_LIMIT_memory);

	memset(name, '/', 4000);
	for (u32 i = 0; i < n; i++)
		event[i] = (struct kl_abi_event){ .kind = KL_SOURCE_KIND_UPROBE,
						  .name = (u64)(uintptr_t)name };
	set_parameter("memory_mb_machine", (before >> 20) + 33);
	tap_check(kl_call(other, KL_IOC_EVENTS, &events) == -ENOSPC &&
			  says(other, "MiB of memory", "of the machine", "memory_mb_machine") &&
			  events.bad > 1000 && events.bad < 10000,
		  "names are charged as they are copied, also root's");
	tap_check(used(fd, KL_LIMIT_memory) == before, "and given back");
	set_parameter("memory_mb_machine", 512);
	free(event);
	close(other);
}

/* ------------------------------------------------------------------- numbers */

static void user_with_4_readers(void)
{
	int fd = small_session(), reader[5], error = 0;

	for (u32 i = 0; i < 5; i++) {
		reader[i] = kl_reader(fd, 0);
		error = reader[i] < 0 ? reader[i] : 0;
	}
	tap_check(error == -EDQUOT && says(fd, "4 readers", "of a user", "readers_per_user"),
		  "readers are limited");
	for (u32 i = 0; i < 4; i++)
		close(reader[i]);
	tap_check(!used(fd, KL_LIMIT_readers) && !add_reader(fd), "until they are closed");
	close(fd);
}

static void user_with_20_probes(void)
{
	int fd = small_session();

	tap_check(!kl_use(fd, KL_MASKSET_RALL) && kl_start(fd) == -EDQUOT &&
			  says(fd, "20 probes", "of a user", "probes_per_user"),
		  "probes are limited");
	tap_check(!used(fd, KL_LIMIT_probes), "a start that fails has none");
	tap_check(!kl_use(fd, KL_MASKSET_RNOTHING) && !kl_start(fd), "a smaller one starts");
	close(fd);
}

static void user_among_3_sessions(void)
{
	char why[KL_ERROR_TEXT_MAX] = "";
	int fd = small_session(), error;

	error = session_of(1, why);
	tap_result(error == -ENOSPC && strstr(why, "3 sessions of all users") &&
			   strstr(why, "sessions_all_users"),
		   "sessions of all users together are limited", "%d %s", error, why);
	close(fd);
}

static void hold_2_sessions(void)
{
	small_session();
	small_session();
	pause();
}

static void check_all_users(int fd)
{
	pid_t holder;

	set_parameter("sessions_all_users", 3);
	holder = start(hold_2_sessions, UID_USER1);
	while (used(fd, KL_LIMIT_sessions) < 2)
		sleep_ms(10);
	run_as(user_among_3_sessions, UID_USER2);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	set_parameter("sessions_all_users", 256);
}

static void user_sees_itself(void)
{
	struct kl_abi_limits limits = { .size = sizeof(limits), .index = 1 };
	FILE *file = fopen("/proc/kernlens/limits", "re");
	int fd = small_session(), lines = 0, own = 0;
	char line[256];

	limits = limits_at(fd, 0);
	tap_check(limits.kind == KL_ACCOUNT_USER && limits.uid == UID_USER1 &&
			  limits.used[KL_LIMIT_sessions] == 1,
		  "a user sees its own account");
	limits.index = 1;
	tap_check(kl_call(fd, KL_IOC_LIMITS, &limits) == -ENOENT, "and no other");
	while (file && fgets(line, sizeof(line), file)) {
		lines++;
		own += !strncmp(line, "user:60001 ", 11);
	}
	tap_result(lines == 2 && own == 1, "nor in /proc/kernlens/limits", "%d lines", lines);
	close(fd);
}

/* ------------------------------------------------------------ user namespaces */

static int ready[2], go[2];

/* In the namespace, as one of its users. */
static void make_one_session(u32 id, u32 mib)
{
	char why[KL_ERROR_TEXT_MAX] = "";
	int error;

	if (setresgid(id, id, id) || setresuid(id, id, id))
		bail("ids of the namespace");
	error = session_of(mib, why);
	error = error < 0 ? error : 0;
	if (write(ready[1], &error, sizeof(error)) != sizeof(error))
		bail("pipe");
	pause();
}

static int tell_session(void)
{
	int error;

	if (read(ready[0], &error, sizeof(error)) != sizeof(error))
		bail("pipe");
	return error;
}

static void in_namespace(void)
{
	char c = 0;
	pid_t child[2];
	int first = 0, second = 0;

	if (unshare(CLONE_NEWUSER) || write(go[1], &c, 1) != 1 || read(ready[0], &c, 1) != 1)
		bail("user namespace");
	for (u32 i = 0; i < 2; i++) {
		child[i] = fork();
		if (!child[i])
			make_one_session(1 + i, 6);
		if (i)
			second = tell_session();
		else
			first = tell_session();
	}
	tap_result(!first && second == -EDQUOT,
		   "subordinate users share what the owner of their namespace may have",
		   "%d, then %d", first, second);
	for (u32 i = 0; i < 2; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
}

static void map_ids(pid_t child, const char *what)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", child, what);
	snprintf(text, sizeof(text), "0 %u 1\n1 200000 100\n", UID_USER1);
	if (!put_file(path, text))
		bail("%s", path);
}

/* The owner has 6 MiB of 16 itself: there is room for 6 more. */
static void check_namespace(void)
{
	int status;
	pid_t child;
	char c = 0;

	if (pipe(ready) || pipe(go))
		bail("pipes");
	child = start(in_namespace, UID_USER1);
	if (read(go[0], &c, 1) != 1)
		bail("pipe");
	map_ids(child, "uid_map");
	map_ids(child, "gid_map");
	if (write(ready[1], &c, 1) != 1)
		bail("pipe");
	waitpid(child, &status, 0);
	tap.failures += WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void owner_in_16_mib(void)
{
	char why[KL_ERROR_TEXT_MAX];
	int fd = session_of(6, why);

	if (fd < 0)
		bail("session: %s", why);
	pause();
}

static void check_subordinates(void)
{
	pid_t owner = start(owner_in_16_mib, UID_USER1);
	int fd = kl_open();

	while (used(fd, KL_LIMIT_memory) < 6 * MIB)
		sleep_ms(10);
	check_namespace();
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	close(fd);
}

/* ------------------------------------------------------------------- patches */

static void user_with_1_patch(void)
{
	int fd = small_session();
	double began;

	tap_check(!kl_use(fd, KL_MASKSET_RALL) && !kl_start(fd),
		  "a start may patch more than there are tokens");
	began = now_seconds();
	tap_check(!kl_stop(fd) && !limits_at(fd, 0).patches_left, "a stop never waits");
	close(fd);
	fd = small_session();
	tap_check(!kl_use(fd, KL_MASKSET_RALL) && kl_start(fd) == -EDQUOT &&
			  strstr(kl_why(fd), "1 text patches a second") &&
			  strstr(kl_why(fd), PARAMETERS "patches_per_second_per_user"),
		  "another session does not begin with full tokens");
	printf("# all events are %llu patches, start and stop; %.1f s\n",
	       (unsigned long long)limits_at(fd, 0).patches, now_seconds() - began);
	tap_check(!kl_use(fd, KL_MASKSET_RNOTHING) && !kl_start(fd),
		  "a start that patches nothing takes none");
	close(fd);
}

/* What a user and root wait for of each other. */
enum stage { MADE, STARTED, POOR, LOOKED, RICH };

static volatile enum stage *stage;

static void await_stage(enum stage wanted)
{
	while (*stage != wanted)
		sleep_ms(10);
}

/* A switch that the handler `use` asks for while there are no tokens. */
static void user_waits_for_tokens(void)
{
	struct kl_abi_rule rule = { .size = sizeof(rule), .handler = KL_HANDLER_use, .arg = 4 };
	static struct kl_abi_maskset m;
	int fd = small_session(), other = small_session();

	m.size = sizeof(m);
	m.id = 4;
	m.handler[KL_EV_SYSCALL_ENTRY + SYS_getsid] = KL_HANDLER_log;
	if (kl_call(fd, KL_IOC_RULE, &rule) || kl_call(fd, KL_IOC_MASKSET_WRITE, &m))
		bail("rule: %s", kl_why(fd));
	m.id = 3;
	m.handler[KL_EV_SYSCALL_ENTRY + SYS_getppid] = KL_ACTION_RULE + rule.rule;
	m.handler[KL_EV_sched_switch] = KL_HANDLER_log;
	if (kl_call(fd, KL_IOC_MASKSET_WRITE, &m) || kl_use(fd, 3) || kl_start(fd))
		bail("start: %s", kl_why(fd));
	if (kl_use(other, KL_MASKSET_RALL) || kl_start(other))
		bail("start: %s", kl_why(other));
	close(other);
	*stage = STARTED;
	await_stage(POOR);
	syscall(SYS_getppid);
	for (int i = 0; i < 100 && !limits_at(fd, 0).waits; i++)
		sleep_ms(100);
	tap_check(kl_stats(fd, -1).maskset == 3 && limits_at(fd, 0).waits &&
			  !limits_at(fd, 0).patches_left,
		  "a switch waits for tokens");
	*stage = LOOKED;
	await_stage(RICH);
	for (int i = 0; i < 300 && kl_stats(fd, -1).maskset != 4; i++)
		sleep_ms(100);
	tap_check(kl_stats(fd, -1).maskset == 4 && !kl_stats(fd, -1).unswitched,
		  "and is not lost");
	tap_check(limits_at(fd, 0).work_us, "the worker's time is charged");
	close(fd);
}

/* With a rate of 1 the events of all sessions have taken more tokens than there can be. */
static void check_switch(void)
{
	int status, failures = tap.failures;
	pid_t child;

	stage = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stage == MAP_FAILED)
		bail("shared memory");
	*stage = MADE;
	tap.failures = 0;
	set_parameter("patches_per_second_per_user", 20);
	child = start(user_waits_for_tokens, UID_SWITCHING);
	await_stage(STARTED);
	set_parameter("patches_per_second_per_user", 1);
	*stage = POOR;
	await_stage(LOOKED);
	set_parameter("patches_per_second_per_user", 200);
	*stage = RICH;
	waitpid(child, &status, 0);
	tap.failures = failures + (WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

/* --------------------------------------------------------- callers' memory */

struct blocked {
	int fd;
	void *memory;
	volatile bool done;
};

static void *read_metadata(void *data)
{
	struct blocked *b = data;
	struct kl_abi_metadata metadata = { .size = sizeof(metadata),
					    .bytes = 4096,
					    .text = (u64)(uintptr_t)b->memory };

	kl_call(b->fd, KL_IOC_METADATA_GET, &metadata);
	b->done = true;
	return NULL;
}

static void *read_maskset(void *data)
{
	struct blocked *b = data;
	struct kl_abi_maskset *m = calloc(1, sizeof(*m));

	m->size = sizeof(*m);
	m->id = KL_MASKSET_FIRST_USER;
	m->dynamic = (u64)(uintptr_t)b->memory;
	m->n_dynamic = 6;
	kl_call(b->fd, KL_IOC_MASKSET_READ, m);
	free(m);
	b->done = true;
	return NULL;
}

/* Memory whose first access waits until the descriptor is closed. */
static int make_waiting(void **memory)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);

	*memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (u64)(uintptr_t)*memory;
	range.range.len = 4096;
	if (uffd < 0 || *memory == MAP_FAILED || ioctl(uffd, UFFDIO_API, &api) ||
	    ioctl(uffd, UFFDIO_REGISTER, &range))
		bail("userfaultfd");
	return uffd;
}

static void check_waiting(int fd, int second, void *(*call)(void *), const char *name)
{
	struct blocked b = { .fd = second }, other = { .fd = fd, .memory = malloc(4096) };
	int uffd = make_waiting(&b.memory);
	pthread_t one, two;

	pthread_create(&one, NULL, call, &b);
	sleep_ms(200);
	pthread_create(&two, NULL, call, &other);
	for (int i = 0; i < 100 && !other.done; i++)
		sleep_ms(100);
	tap_result(other.done && !b.done, name, "others %s, the caller %s",
		   other.done ? "go on" : "wait", b.done ? "went on" : "waits");
	close(uffd);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	munmap(b.memory, 4096);
	free(other.memory);
}

static void check_callers_memory(void)
{
	static u8 handlers[6];
	static struct kl_abi_maskset m;
	char text[100] = "metadata";
	struct kl_abi_metadata metadata = { .size = sizeof(metadata),
					    .bytes = sizeof(text),
					    .text = (u64)(uintptr_t)text };
	struct kl_abi_session wish = { .blocks = 4, .block_bytes = 4096 };
	struct kl_abi_attach attach = { .size = sizeof(attach) };
	int fd = kl_open(), second = kl_open();

	if (kl_session(fd, &wish) || define_ticks(fd, 6))
		bail("session: %s", kl_why(fd));
	attach.id = wish.id;
	m.size = sizeof(m);
	m.id = KL_MASKSET_FIRST_USER;
	m.dynamic = (u64)(uintptr_t)handlers;
	m.n_dynamic = 6;
	if (kl_call(second, KL_IOC_ATTACH, &attach) ||
	    kl_call(fd, KL_IOC_METADATA_SET, &metadata) || kl_call(fd, KL_IOC_MASKSET_WRITE, &m))
		bail("session: %s", kl_why(fd));
	check_waiting(fd, second, read_metadata, "one who reads metadata makes nobody wait");
	check_waiting(fd, second, read_maskset, "nor one who reads a maskset");
	close(second);
	close(fd);
}

/* --------------------------------------------------------------------- names */

static void check_name(void)
{
	struct kl_abi_session wish = { .blocks = 4,
				       .block_bytes = 4096,
				       .name = "a\nb \033[31m" };
	char text[4096] = "";
	int fd = kl_open();
	FILE *file;

	if (kl_session(fd, &wish) || add_stacks(fd))
		bail("session: %s", kl_why(fd));
	file = fopen("/proc/kernlens/latency", "re");
	if (!file || !fread(text, 1, sizeof(text) - 1, file))
		bail("/proc/kernlens/latency");
	fclose(file);
	tap_result(strstr(text, " a\\012b\\040\\033[31m:") && !strchr(text, '\033'),
		   "a session's name is a word in /proc/kernlens/latency", "%.200s", text);
	close(fd);
}

int main(void)
{
	int fd = kl_open();
	u64 before[KL_LIMITS];

	for (u32 i = 0; i < KL_LIMITS; i++)
		before[i] = used(fd, i);
	set_parameter("memory_mb_all_users", 256);
	set_parameter("memory_mb_per_user", 64);
	run_as(fill_with_tables, UID_USER1);
	run_as(user_sees_itself, UID_USER1);
	set_parameter("memory_mb_per_user", 4);
	run_as(user_with_4_mib, UID_USER1);
	set_parameter("memory_mb_per_user", 16);
	check_subordinates();
	set_parameter("memory_mb_per_user", 64);
	run_as(user_defines, UID_USER1);
	set_parameter("events_per_user", 10);
	run_as(user_with_10_events, UID_USER1);
	set_parameter("readers_per_user", 4);
	run_as(user_with_4_readers, UID_USER1);
	set_parameter("probes_per_user", 20);
	run_as(user_with_20_probes, UID_USER1);
	set_parameter("probes_per_user", 4096);
	check_all_users(fd);
	check_switch();
	set_parameter("patches_per_second_per_user", 1);
	run_as(user_with_1_patch, UID_PATCHING);
	set_parameter("patches_per_second_per_user", 200);
	check_names(fd);
	check_callers_memory();
	check_name();
	for (u32 i = 0; i < KL_LIMITS; i++)
		tap_result(used(fd, i) == before[i], "at the end nothing is charged",
			   "%u: %lld more", i, (long long)(used(fd, i) - before[i]));
	close(fd);
	return tap.failures ? 1 : 0;
}
