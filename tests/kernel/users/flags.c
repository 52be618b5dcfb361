// SPDX-License-Identifier: GPL-2.0
/*
 * Flags that a user's rules set reveal nothing about another user's tasks: when a task of user 2
 * wakes a task of user 1, that wakeup is an event of user 1's session, but the running task is user
 * 2's. Called by users.c, as root.
 */
#include "../workload.h"

/* Shared between a task that wakes another and the task that it wakes. */
struct pair {
	int pipe[2];
	volatile u32 wakeups; /* requested so far */
	volatile u32 woken;
};

static struct pair *pair;

/* Pauses for long enough that the other one sleeps again, also on kernels with checkers. */
static void wake_other(void)
{
	for (u32 made = 0;; sleep_ms(1))
		for (; made < pair->wakeups; made++, sleep_ms(20))
			if (write(pair->pipe[1], "", 1) != 1)
				bail("write");
}

static void be_woken(void)
{
	char byte;

	while (read(pair->pipe[0], &byte, 1) == 1)
		pair->woken++;
}

static void wake(u32 n)
{
	double until = now_seconds() + 20;

	pair->wakeups += n;
	while (pair->woken < pair->wakeups && now_seconds() < until)
		sleep_ms(5);
}

#define TID_AT 16 /* in sched_waking, after comm */

/*
 * Adds a filter: the running task has the flag, and wakes @woken. On real-time kernels, an interrupt
 * wakes kernel threads in the name of the task that it interrupts, which may be user 1's own.
 */
static u32 add_filter(int fd, pid_t woken)
{
	struct kl_abi_op ops[] = {
		{ .code = KL_OP_FLAG, .dst = 0 },
		{ .code = KL_OP_FIELD, .dst = 1, .b = KL_NUMBER_S32, .imm = TID_AT },
		{ .code = KL_OP_CONST, .dst = 2, .imm64 = (u64)woken },
		{ .code = KL_OP_ALU, .dst = 1, .a = 2, .b = KL_ALU_EQ },
		{ .code = KL_OP_ALU, .dst = 0, .a = 1, .b = KL_ALU_AND },
		{ .code = KL_OP_END, .a = 0 },
	};
	struct kl_abi_program program = {
		.size = sizeof(program),
		.ops = (u64)(uintptr_t)ops,
		.n_ops = sizeof(ops) / sizeof(ops[0]),
	};

	if (kl_call(fd, KL_IOC_PROGRAM, &program))
		bail("program: %s", kl_why(fd));
	return program.id;
}

/*
 * A session of user 1 in which one maskset sets a flag at a wakeup, and the next records the
 * wakeups of @follow by tasks that have it.
 */
static int flag_session(pid_t follow)
{
	static const u32 waking[] = { KL_EV_sched_waking, 0 };
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	struct kl_abi_rule set = { .size = sizeof(set), .handler = KL_HANDLER_set };
	struct kl_abi_rule log = { .size = sizeof(log), .handler = KL_HANDLER_log };
	int fd = kl_open_as(UID_USER1);

	if (kl_session(fd, &params) || kl_call(fd, KL_IOC_RULE, &set))
		bail("session: %s", kl_why(fd));
	log.filter = add_filter(fd, follow);
	if (kl_call(fd, KL_IOC_RULE, &log) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER + 1, KL_ACTION_RULE + log.rule, waking) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_ACTION_RULE + set.rule, waking) ||
	    kl_filter(fd, KL_FILTER_TASKS, 0) || kl_tasks(fd, follow, KL_TASK_ADD) || kl_start(fd))
		bail("session: %s", kl_why(fd));
	return fd;
}

/* Number of recorded wakeups of user 1's task by a task of user @uid that has a flag. */
static u64 records_with_flag(u32 uid)
{
	pid_t woken, waker;
	u64 written;
	int fd;

	pair = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pair == MAP_FAILED || pipe(pair->pipe))
		bail("pair");
	woken = start(be_woken, UID_USER1);
	waker = start(wake_other, uid);
	wake(1);
	fd = flag_session(woken);
	wake(20);
	if (kl_use(fd, KL_MASKSET_FIRST_USER + 1))
		bail("use: %s", kl_why(fd));
	wake(20);
	written = kl_stats(fd, -1).written;
	close(fd);
	kill(waker, SIGKILL);
	kill(woken, SIGKILL);
	waitpid(waker, NULL, 0);
	waitpid(woken, NULL, 0);
	close(pair->pipe[0]);
	close(pair->pipe[1]);
	munmap(pair, 4096);
	return written;
}

/* Whether two wakeups come from the same task of another user is not user 1's business. */
void check_flags(void)
{
	u64 own = records_with_flag(UID_USER1), others = records_with_flag(UID_USER2);

	tap_result(own >= 15, "a task of user 1's that wakes another has the flag that it got",
		   "%llu of 20 records", (unsigned long long)own);
	tap_result(!others, "a task of user 2's that does so has none", "%llu of 20 records",
		   (unsigned long long)others);
}
