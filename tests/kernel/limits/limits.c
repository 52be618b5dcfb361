// SPDX-License-Identifier: GPL-2.0
/*
 * Limits: each is reached as an ordinary user and refused with a text that names the limit, the
 * usage and who can raise it. Failed calls and closed descriptors leave the sums unchanged;
 * subordinate users of a namespace share its owner's limits; text patches consume tokens; and a
 * call that blocks on its caller's memory makes no other caller wait. Runs as root.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "../ticks.h"
#include "limits.h"

/* Users whose tokens no other test consumes. */
#define UID_SWITCHING 60003
#define UID_PATCHING 60004

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
	int fd[2] = { small_session(), small_session() };

	pause();
	close(fd[0]);
	close(fd[1]);
}

static void check_all_users(int fd)
{
	pid_t holder;

	kl_set_parameter("sessions_all_users", 3);
	holder = start(hold_2_sessions, UID_USER1);
	while (used(fd, KL_LIMIT_sessions) < 2)
		sleep_ms(10);
	run_as(user_among_3_sessions, UID_USER2);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	kl_set_parameter("sessions_all_users", 256);
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

/* Runs in the namespace, as one of its users. */
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
	error = ticks_start(kl_open(), 600);
	if (write(ready[1], &error, sizeof(error)) != sizeof(error))
		bail("pipe");
	pause();
}

static int tell_error(void)
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
	int session[2], ticks[2];

	if (unshare(CLONE_NEWUSER) || write(go[1], &c, 1) != 1 || read(ready[0], &c, 1) != 1)
		bail("user namespace");
	for (u32 i = 0; i < 2; i++) {
		child[i] = fork();
		if (!child[i])
			make_one_session(1 + i, 6);
		session[i] = tell_error();
		ticks[i] = tell_error();
	}
	tap_result(!session[0] && session[1] == -EDQUOT,
		   "subordinate users share what the owner of their namespace may have",
		   "%d, then %d", session[0], session[1]);
	tap_result(!ticks[0] && ticks[1] == -EDQUOT, "and the ticks that it may have",
		   "%d, then %d", ticks[0], ticks[1]);
	for (u32 i = 0; i < 2; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
}

static void map_ids(pid_t child, const char *what)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", child, what);
	snprintf(text, sizeof(text), "0 %d 1\n1 200000 100\n", UID_USER1);
	if (!put_file(path, text))
		bail("%s", path);
}

/* The owner itself uses 6 MiB of 16: there is room for 6 more. */
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

/*
 * Users that a logged-in user can become, by set-user-id programs for one: they are other users,
 * but not in a namespace.
 */
static void check_logged_in(void)
{
	int session[2], ticks[2];
	pid_t child[2];

	if (access("/proc/self/loginuid", W_OK)) {
		tap_skip("users that a user becomes",
			 "this kernel does not know who has logged in");
		return;
	}
	for (u32 i = 0; i < 2; i++) {
		child[i] = fork();
		if (!child[i]) {
			if (!put_file("/proc/self/loginuid", STRING(UID_USER1)))
				bail("loginuid");
			make_one_session(200001 + i, 6);
		}
		session[i] = tell_error();
		ticks[i] = tell_error();
	}
	tap_result(!session[0] && session[1] == -EDQUOT,
		   "users that a user becomes share what who has logged in may have", "%d, then %d",
		   session[0], session[1]);
	tap_result(!ticks[0] && ticks[1] == -EDQUOT, "and the ticks that that user may have",
		   "%d, then %d", ticks[0], ticks[1]);
	for (u32 i = 0; i < 2; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
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
	check_logged_in();
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
			  strstr(kl_why(fd), "1 text patches per second") &&
			  strstr(kl_why(fd), KL_PARAMETERS "patches_per_second_per_user"),
		  "another session does not begin with full tokens");
	printf("# all events are %llu patches, start and stop; %.1f s\n",
	       (unsigned long long)limits_at(fd, 0).patches, now_seconds() - began);
	tap_check(!kl_use(fd, KL_MASKSET_RNOTHING) && !kl_start(fd),
		  "a start that patches nothing takes none");
	close(fd);
}

/* The steps of a user and of root, which wait for each other. */
enum stage {
	MADE,
	STARTED,
	POOR,
	LOOKED,
	RICH
};

static volatile enum stage *stage;

static void await_stage(enum stage wanted)
{
	while (*stage != wanted)
		sleep_ms(10);
}

/* A switch that the handler `use` requests while there are no tokens. */
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
	tap_check(kl_stats(fd, -1).maskset == 4 && !kl_stats(fd, -1).unswitched, "and is not lost");
	tap_check(limits_at(fd, 0).work_us, "the worker's time is charged");
	close(fd);
}

/* With a rate of 1, the events of all sessions have consumed more tokens than there can be. */
static void check_switch(void)
{
	int status, failures = tap.failures;
	pid_t child;

	stage = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stage == MAP_FAILED)
		bail("shared memory");
	*stage = MADE;
	tap.failures = 0;
	kl_set_parameter("patches_per_second_per_user", 20);
	child = start(user_waits_for_tokens, UID_SWITCHING);
	await_stage(STARTED);
	kl_set_parameter("patches_per_second_per_user", 1);
	*stage = POOR;
	await_stage(LOOKED);
	kl_set_parameter("patches_per_second_per_user", 200);
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

static void check_waiting(int fd, int second, void *(*call)(void *), const char *name)
{
	struct blocked b = { .fd = second }, other = { .fd = fd, .memory = malloc(4096) };
	int uffd = make_waiting(&b.memory, 4096);
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
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	struct kl_abi_attach attach = { .size = sizeof(attach) };
	int fd = kl_open(), second = kl_open();

	if (kl_session(fd, &params) || define_ticks(fd, 6))
		bail("session: %s", kl_why(fd));
	attach.id = params.id;
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
	struct kl_abi_session params = { .blocks = 4,
					 .block_bytes = 4096,
					 .name = "a\nb \033[31m" };
	char text[4096] = "";
	int fd = kl_open();
	FILE *file;

	if (kl_session(fd, &params) || add_stacks(fd))
		bail("session: %s", kl_why(fd));
	file = fopen("/proc/kernlens/latency", "re");
	if (!file || !fread(text, 1, sizeof(text) - 1, file))
		bail("/proc/kernlens/latency");
	fclose(file);
	tap_result(strstr(text, " a\\012b\\040\\033[31m:") && !strchr(text, '\033'),
		   "a session's name is a word in /proc/kernlens/latency", "%.200s", text);
	close(fd);
}

/* Parameters that the test lowers; they are restored for other tests in the same guest. */
static const char *const lowered[] = { "memory_mb_machine", "memory_mb_all_users",
				       "memory_mb_per_user", "events_per_user",
				       "readers_per_user" };
#define LOWERED (sizeof(lowered) / sizeof(*lowered))

static u64 parameter(const char *name)
{
	unsigned long long value;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), KL_PARAMETERS "%s", name);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%llu", &value) != 1)
		bail("parameter %s", name);
	fclose(file);
	return value;
}

int main(void)
{
	int fd = kl_open();
	u64 before[KL_LIMITS], was[LOWERED];

	for (u32 i = 0; i < KL_LIMITS; i++)
		before[i] = used(fd, i);
	for (u32 i = 0; i < LOWERED; i++)
		was[i] = parameter(lowered[i]);
	kl_set_parameter("memory_mb_all_users", 256);
	kl_set_parameter("memory_mb_per_user", 64);
	run_as(fill_with_tables, UID_USER1);
	run_as(user_sees_itself, UID_USER1);
	kl_set_parameter("memory_mb_per_user", 4);
	run_as(user_with_4_mib, UID_USER1);
	kl_set_parameter("memory_mb_per_user", 16);
	check_subordinates();
	kl_set_parameter("memory_mb_per_user", 64);
	run_as(user_defines, UID_USER1);
	kl_set_parameter("events_per_user", 10);
	run_as(user_with_10_events, UID_USER1);
	kl_set_parameter("readers_per_user", 4);
	run_as(user_with_4_readers, UID_USER1);
	kl_set_parameter("probes_per_user", 20);
	run_as(user_with_20_probes, UID_USER1);
	kl_set_parameter("probes_per_user", 4096);
	check_all_users(fd);
	check_switch();
	kl_set_parameter("patches_per_second_per_user", 1);
	run_as(user_with_1_patch, UID_PATCHING);
	kl_set_parameter("patches_per_second_per_user", 200);
	check_names(fd);
	check_callers_memory();
	check_resizers(fd);
	run_as(user_with_3_ticks, UID_USER1);
	run_as(user_pins_pages, UID_USER1);
	check_name();
	for (u32 i = 0; i < KL_LIMITS; i++)
		tap_result(used(fd, i) == before[i], "at the end nothing is charged",
			   "%u: %lld more", i, (long long)(used(fd, i) - before[i]));
	for (u32 i = 0; i < LOWERED; i++)
		kl_set_parameter(lowered[i], was[i]);
	close(fd);
	return tap.failures ? 1 : 0;
}
