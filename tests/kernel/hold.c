// SPDX-License-Identifier: GPL-2.0
/*
 * What must not outlive its user: a session whose own stack traces refer to its files; tasks listed
 * by a call that waits for its caller's memory; more open descriptors and files of /proc/kernlens
 * than a user's limit allows, none of which may reduce what others get; and events that would be
 * recorded in the name of the task that closes a descriptor. Runs as root.
 */
#include <pthread.h>
#include <sys/resource.h>

#include "limits/limits.h"

#define CHILDREN 300
#define ROWS_BYTES (1u << 20)
#define DESCRIPTORS 2000

/* Memory charged to a user's account, as root sees it. */
static u64 memory_of(int fd, u32 uid)
{
	struct kl_abi_limits limits = {};

	for (u32 i = 0;; i++) {
		limits = (struct kl_abi_limits){ .size = sizeof(limits), .index = i };
		if (kl_call(fd, KL_IOC_LIMITS, &limits))
			return 0;
		if (limits.kind == KL_ACCOUNT_USER && limits.uid == uid)
			return limits.used[KL_LIMIT_memory];
	}
}

static u64 sessions_of_all(int fd)
{
	return limits_at(fd, 0).used[KL_LIMIT_sessions];
}

/* ------------------------------------------------------------ stack traces */

/* Calls getppid() with a stack whose next frame returns to @at. Nothing actually returns there. */
static void call_from(u8 *at)
{
	u64 frame[2] __attribute__((aligned(16))) = { 0, (u64)(uintptr_t)at };
	long number = SYS_getppid;

	asm volatile("push %%rbp\n\t"
		     "mov %1, %%rbp\n\t"
		     "syscall\n\t"
		     "pop %%rbp"
		     : "+a"(number)
		     : "r"(frame)
		     : "rcx", "r11", "memory");
}

static void start_stacks(int fd)
{
	struct kl_abi_variables params = { .size = sizeof(params), .n = 1 };
	const u32 events[] = { KL_EV_SYSCALL_ENTRY + SYS_getppid, 0 };

	params.variable[0].variable = VARIABLE_ustack;
	if (kl_call(fd, KL_IOC_VARIABLES, &params) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events) || kl_start(fd))
		bail("session: %s", kl_why(fd));
}

static void user_in_its_reader(void)
{
	int fd = small_session(), reader = kl_reader(fd, 0);
	u8 *at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, reader, KL_MMAP_RING(0));

	if (at == MAP_FAILED)
		bail("the ring cannot be mapped");
	start_stacks(fd);
	for (u32 i = 0; i < 100; i++)
		call_from(at + 8);
}

static void user_in_its_device(void)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	int fd = kl_open();
	u8 *at = mmap(NULL, 4096, PROT_NONE, MAP_SHARED, fd, KL_MMAP_KEEP);

	if (at == MAP_FAILED || kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	start_stacks(fd);
	for (u32 i = 0; i < 100; i++)
		call_from(at + 8);
}

static void check_ends(int fd, void (*run)(void), const char *name)
{
	u64 before = sessions_of_all(fd);

	run_as(run, UID_USER1);
	for (u32 i = 0; i < 50 && sessions_of_all(fd) > before; i++)
		sleep_ms(100);
	tap_result(sessions_of_all(fd) == before, name, "%llu sessions more",
		   (unsigned long long)(sessions_of_all(fd) - before));
}

/* ---------------------------------------------------------- tasks that end */

static long count_tasks(void)
{
	/* Tasks in per-CPU caches do not count. */
	put_file("/sys/kernel/slab/task_struct/shrink", "1");
	return slab_objects("task_struct");
}

/*
 * Shared: 1: the call has been made; 2: it has returned; 10 is added when the children have ended.
 */
static volatile u32 *inspecting;

static void *inspect_all(void *rows)
{
	u32 id = VARIABLE_comm;
	struct kl_abi_inspect params = {
		.size = sizeof(params),
		.flags = KL_INSPECT_ALL,
		.variables = (u64)(uintptr_t)&id,
		.n_variables = 1,
		.rows = (u64)(uintptr_t)rows,
		.room = ROWS_BYTES,
	};

	*inspecting = 1;
	kl_call(kl_open(), KL_IOC_INSPECT, &params);
	*inspecting = 2;
	return NULL;
}

/*
 * Makes a call whose rows go to memory that never arrives; the children that it lists end in the
 * meantime.
 */
static void user_waits_in_inspection(void)
{
	pid_t child[CHILDREN];
	pthread_t thread;
	void *rows;

	for (u32 i = 0; i < CHILDREN; i++) {
		child[i] = fork();
		if (!child[i]) {
			pause();
			_exit(0);
		}
	}
	make_waiting(&rows, ROWS_BYTES);
	pthread_create(&thread, NULL, inspect_all, rows);
	while (!*inspecting)
		sleep_ms(10);
	/* It has listed them by then; otherwise they would not affect the test. */
	sleep_ms(1000);
	for (u32 i = 0; i < CHILDREN; i++)
		kill(child[i], SIGKILL);
	for (u32 i = 0; i < CHILDREN; i++)
		waitpid(child[i], NULL, 0);
	*inspecting += 10;
	pause();
}

static void check_inspection(void)
{
	long before = count_tasks(), after = before;
	pid_t user;

	inspecting = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (inspecting == MAP_FAILED || !put_file("/proc/sys/vm/unprivileged_userfaultfd", "1"))
		bail("preparation");
	user = start(user_waits_in_inspection, UID_USER1);
	while (*inspecting < 10)
		sleep_ms(50);
	for (u32 i = 0; i < 50; i++) {
		after = count_tasks();
		if (after < before + CHILDREN / 4)
			break;
		sleep_ms(100);
	}
	tap_check(*inspecting == 11, "a call waits for its caller's memory");
	tap_result(before > 0 && after < before + CHILDREN / 4,
		   "tasks that end meanwhile are freed",
		   "%ld tasks, then %ld, of %u that have ended", before, after, CHILDREN);
	kill(user, SIGKILL);
	waitpid(user, NULL, 0);
	put_file("/proc/sys/vm/unprivileged_userfaultfd", "0");
}

/* ------------------------------------------------------------- descriptors */

/*
 * Returns how many times a user can open @path, and the errno of the next try. All of them stay
 * open.
 */
static u32 count_opens(const char *path, int flags, int *error)
{
	struct rlimit many = { 4096, 4096 };
	static int opened[DESCRIPTORS];
	u32 n = 0;

	setrlimit(RLIMIT_NOFILE, &many);
	while (n < DESCRIPTORS && (opened[n] = open(path, flags | O_CLOEXEC)) >= 0)
		n++;
	*error = n < DESCRIPTORS ? errno : 0;
	return n;
}

static void user_opens(void)
{
	int error, fd = kl_open();
	u32 n = count_opens(KL_DEVICE_PATH, O_RDWR, &error);

	tap_result(error == EDQUOT && n < 400, "a user's open descriptors are limited",
		   "%u opened, errno %d", n, error);
	tap_check(used(fd, KL_LIMIT_memory) > 4 * MIB,
		  "beyond the limit of memory, so that it can be looked at");
	pause();
}

static void user_opens_lists(void)
{
	int error;
	u32 n = count_opens("/proc/kernlens/top_cpu", O_RDONLY, &error);

	tap_result(error == EDQUOT, "a user's open lists of /proc/kernlens are limited",
		   "%u opened, errno %d", n, error);
}

static void user_opens_limits(void)
{
	int error;
	u32 n = count_opens("/proc/kernlens/limits", O_RDONLY, &error);

	tap_result(error == EDQUOT && n < 400, "a user's open lists of limits are limited",
		   "%u opened, errno %d", n, error);
}

static void user_beside_descriptors(void)
{
	char why[KL_ERROR_TEXT_MAX] = "";
	int fd = session_of(1, why);

	tap_result(fd >= 0, "which takes nothing from others", "%d %s", fd, why);
}

static void check_descriptors(int fd)
{
	u64 before, own;
	pid_t holder;

	/* Sessions of the previous test may still be ending. */
	for (u32 i = 0; i < 100 && memory_of(fd, UID_USER1); i++)
		sleep_ms(50);
	before = limits_at(fd, 1).used[KL_LIMIT_memory];
	own = memory_of(fd, UID_USER1);
	holder = start(user_opens, UID_USER1);
	for (u32 i = 0; i < 100 && memory_of(fd, UID_USER1) < own + 3 * MIB; i++)
		sleep_ms(50);
	sleep_ms(500);
	tap_result(limits_at(fd, 1).used[KL_LIMIT_memory] == before,
		   "the accounts that users share are not charged for descriptors", "%llu, %llu",
		   (unsigned long long)before,
		   (unsigned long long)limits_at(fd, 1).used[KL_LIMIT_memory]);
	run_as(user_beside_descriptors, UID_USER2);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	run_as(user_opens_lists, UID_USER1);
	run_as(user_opens_limits, UID_USER1);
}

/* ------------------------------------------------------- changes of other processes */

static u64 changes_of(int fd)
{
	static struct kl_abi_counts counts;

	memset(&counts, 0, sizeof(counts));
	counts.size = sizeof(counts);
	if (kl_call(fd, KL_IOC_COUNTS, &counts))
		bail("KL_IOC_COUNTS");
	return counts.count[KL_EV_process_set];
}

/* Returns a descriptor of user 1 on which another process of that user has begun a change. */
static int begun_elsewhere(void)
{
	struct kl_abi_set set = {
		.size = sizeof(set), .step = KL_SET_BEGIN, .what = KL_SET_NICE, .asked = "forged"
	};
	int fd = kl_open_as(UID_USER1), status;
	pid_t child = fork();

	if (!child) {
		kl_become(UID_USER1);
		set.id = getpid();
		_exit(kl_call(fd, KL_IOC_SET, &set) ? 1 : 0);
	}
	if (waitpid(child, &status, 0) != child || status)
		bail("a change: %s", kl_why(fd));
	return fd;
}

static void check_changes(void)
{
	const u32 events[] = { KL_EV_process_set, 0 };
	struct kl_abi_set end = { .size = sizeof(end), .step = KL_SET_END };
	int fd = small_session(), begun = begun_elsewhere();
	u64 before;

	if (kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_count, events) || kl_start(fd))
		bail("session: %s", kl_why(fd));
	before = changes_of(fd);
	close(begun);
	tap_result(changes_of(fd) == before, "closing a descriptor ends no other process's change",
		   "%llu events", (unsigned long long)(changes_of(fd) - before));
	begun = begun_elsewhere();
	tap_check(kl_call(begun, KL_IOC_SET, &end) == -EINVAL, "nor does another process's call");
	close(begun);
	close(fd);
}

int main(void)
{
	int fd = kl_open();

	check_ends(fd, user_in_its_reader, "a session ends though its stacks lead to its reader");
	check_ends(fd, user_in_its_device, "and if they lead to the device's file");
	check_inspection();
	kl_set_parameter("memory_mb_per_user", 4);
	check_descriptors(fd);
	kl_set_parameter("memory_mb_per_user", 256);
	check_changes();
	close(fd);
	return tap_end();
}
