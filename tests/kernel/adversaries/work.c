// SPDX-License-Identifier: GPL-2.0
/*
 * What the adversaries do, round after round, each owner with its own content: names of tasks and
 * files, arguments, memory, registers.
 */
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "adversaries.h"

/* Not for processes that A has started: it knows their ids. */
static void note_thread(enum owner owner)
{
	u32 tid = syscall(SYS_gettid), bit = tid - FIRST_TID;

	if (owner != OWNER_A && tid > FIRST_TID && tid <= LAST_TID)
		__atomic_fetch_or(&shared->foreign[bit / 8], 1 << bit % 8, __ATOMIC_RELAXED);
}

static void set_name(enum owner owner, const char *more)
{
	char name[16];

	snprintf(name, sizeof(name), "%s%s", markers[owner], more);
	prctl(PR_SET_NAME, name);
}

static pid_t fork_as(enum owner owner)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		note_thread(owner);
	}
	return child;
}

static void wait_for(pid_t child)
{
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* ---------------------------------------------------------------- registers */

/* Makes a call while all registers that a call preserves contain the owner's marker. */
static long call_with_marker(long number, enum owner owner)
{
	u64 marker;
	long result = number;

	memcpy(&marker, markers[owner], sizeof(marker));
	asm volatile("push %%rbx\n\tpush %%r12\n\tpush %%r13\n\tpush %%r14\n\tpush %%r15\n\t"
		     "mov %1, %%rbx\n\tmov %1, %%r12\n\tmov %1, %%r13\n\t"
		     "mov %1, %%r14\n\tmov %1, %%r15\n\t"
		     "mov %1, %%r8\n\tmov %1, %%r9\n\tmov %1, %%r10\n\t"
		     "syscall\n\t"
		     "pop %%r15\n\tpop %%r14\n\tpop %%r13\n\tpop %%r12\n\tpop %%rbx"
		     : "+a"(result)
		     : "D"(marker), "S"(marker), "d"(marker)
		     : "rcx", "r8", "r9", "r10", "r11", "memory");
	return result;
}

/* -------------------------------------------------------------------- files */

static void use_files(enum owner owner)
{
	char path[80], other[80], secret[64];
	int fd, ends[2];

	snprintf(path, sizeof(path), "/tmp/%s-file-%d", markers[owner], getpid());
	snprintf(other, sizeof(other), "/tmp/%s-other-%d", markers[owner], getpid());
	for (u32 i = 0; i < sizeof(secret); i += 16)
		memcpy(secret + i, secrets[owner], 16);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (write(fd, secret, sizeof(secret)) > 0)
		pread(fd, secret, sizeof(secret), 0);
	close(fd);
	rename(path, other);
	if (!access(path, R_OK))
		_exit(1);
	unlink(other);
	/* Fails, but the name is an argument. */
	mkdir(path, 0);
	rmdir(path);
	if (!pipe(ends)) {
		if (write(ends[1], secret, sizeof(secret)) > 0)
			read(ends[0], secret, sizeof(secret));
		close(ends[0]);
		close(ends[1]);
	}
}

/* Passes B's descriptors to A, with data that A may have. */
static void pass_descriptors(enum owner owner)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {};
	char text[16];
	struct iovec part = { text, sizeof(text) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	int ends[2], fd;

	if (owner == OWNER_A) {
		if (recvmsg(shared->sockets[1], &message, MSG_DONTWAIT) <= 0)
			return;
		c = CMSG_FIRSTHDR(&message);
		if (!c || c->cmsg_type != SCM_RIGHTS)
			return;
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		if (read(fd, text, sizeof(text)) > 0)
			close(fd);
		return;
	}
	memcpy(text, "for the receiver", sizeof(text));
	if (pipe(ends))
		return;
	if (write(ends[1], text, sizeof(text)) > 0) {
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &ends[0], sizeof(int));
		sendmsg(shared->sockets[0], &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	close(ends[0]);
	close(ends[1]);
}

/* ---------------------------------------------------------------- processes */

static void *run_thread(void *argument)
{
	const enum owner *owner = argument;

	note_thread(*owner);
	set_name(*owner, "-thr");
	for (u32 i = 0; i < 5; i++)
		call_with_marker(SYS_getppid, *owner);
	return NULL;
}

/*
 * Runs programs with the marker in their arguments and environment; as A, also the set-user-id
 * programs.
 */
static void exec_something(enum owner owner, u32 round)
{
	char argument[40], variable[40];
	char *arguments[] = { argument, argument, NULL }, *environment[] = { variable, NULL };
	pid_t child = fork_as(owner);

	if (child) {
		wait_for(child);
		return;
	}
	snprintf(argument, sizeof(argument), "%s-argument", secrets[owner]);
	snprintf(variable, sizeof(variable), "SECRET=%s", secrets[owner]);
	if (owner == OWNER_A && round % 4 == 1)
		execl(PATH_SUID_ROOT, "suid", "--suid-root", NULL);
	if (owner == OWNER_A && round % 4 == 3)
		execl(PATH_SUID_B, "suid", "--suid-other", NULL);
	execve("/bin/true", arguments, environment);
	_exit(0);
}

static void trace_child(enum owner owner)
{
	pid_t child = fork_as(owner);
	int status;

	if (!child) {
		set_name(owner, "-trc");
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		use_files(owner);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return;
	/* Run from system call to system call. */
	for (u32 i = 0; i < 20 && WIFSTOPPED(status); i++)
		if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) ||
		    waitpid(child, &status, 0) != child)
			return;
	if (WIFSTOPPED(status)) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
}

/*
 * A leader that exits before its thread; a child that is killed at work; one that lives in
 * namespaces.
 */
static void end_oddly(enum owner owner)
{
	pthread_t thread;
	pid_t child = fork_as(owner);

	if (!child) {
		if (!pthread_create(&thread, NULL, run_thread, &owner))
			pthread_exit(NULL);
		_exit(0);
	}
	wait_for(child);
	child = fork_as(owner);
	if (!child)
		for (;;)
			call_with_marker(SYS_getppid, owner);
	sleep_ms(1);
	kill(child, SIGKILL);
	wait_for(child);
	child = fork_as(owner);
	if (!child) {
		if (!unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWUTS)) {
			pid_t inner = fork_as(owner);

			if (!inner) {
				use_files(owner);
				_exit(0);
			}
			wait_for(inner);
		}
		_exit(0);
	}
	wait_for(child);
}

static void make_mark(enum owner owner)
{
	struct kl_abi_mark mark = { .size = sizeof(mark), .value = getpid() };
	int fd = open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	snprintf(mark.text, sizeof(mark.text), "%s-mark", secrets[owner]);
	ioctl(fd, KL_IOC_MARK, &mark);
	close(fd);
}

void work_as(enum owner owner)
{
	pthread_t thread;

	note_thread(owner);
	set_name(owner, "");
	for (u32 round = 0; !shared->stop; round++) {
		for (u32 i = 0; i < 20; i++)
			use_files(owner);
		for (u32 i = 0; i < 100; i++)
			call_with_marker(SYS_getppid, owner);
		pass_descriptors(owner);
		make_mark(owner);
		if (!pthread_create(&thread, NULL, run_thread, &owner))
			pthread_join(thread, NULL);
		exec_something(owner, round);
		if (round % 2)
			trace_child(owner);
		else
			end_oddly(owner);
		sleep_ms(1);
		shared->rounds[owner]++;
	}
}

/*
 * Processes of A that it may not see: they use another owner's content only while they are not
 * dumpable.
 */
void work_hidden(void)
{
	while (!shared->stop) {
		pid_t child = fork();

		if (!child) {
			prctl(PR_SET_DUMPABLE, 0);
			set_name(OWNER_ROOT, "-hid");
			use_files(OWNER_ROOT);
			call_with_marker(SYS_getppid, OWNER_ROOT);
			_exit(0);
		}
		wait_for(child);
		sleep_ms(5);
	}
}

/* First root's with root's content, then A's with A's. */
void work_changing(void)
{
	while (!shared->stop) {
		pid_t child = fork();

		if (!child) {
			set_name(OWNER_ROOT, "-chg");
			use_files(OWNER_ROOT);
			set_name(OWNER_A, "-chg");
			if (setgroups(0, NULL) || setresgid(UID_A, UID_A, UID_A) ||
			    setresuid(UID_A, UID_A, UID_A))
				_exit(1);
			prctl(PR_SET_DUMPABLE, 1);
			use_files(OWNER_A);
			_exit(0);
		}
		wait_for(child);
		sleep_ms(5);
	}
}

/* What A may not see, although A has started it. */
int run_suid(enum owner owner)
{
	set_name(owner, "-suid");
	use_files(owner);
	call_with_marker(SYS_getppid, owner);
	if (owner == OWNER_B) {
		/* It was user B's: not to be inspected until it executes another program. */
		if (setresuid(getuid(), getuid(), getuid()))
			return 1;
		use_files(owner);
	}
	return 0;
}
