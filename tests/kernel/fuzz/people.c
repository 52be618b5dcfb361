// SPDX-License-Identifier: GPL-2.0
/*
 * What users do besides making calls: descriptors are passed to other processes, kept across fork
 * and the exec of a set-user-id program, and used in a user namespace; threads and processes come
 * and go; programs fire events themselves; and allocations fail, on kernels with fault injection.
 */
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>

#include "../../unit/failing.h"
#include "fuzz.h"

#define SET_USER_ID_PATH "/tmp/fuzz-set-user-id"

/*
 * Sends one descriptor to whichever worker receives it next, and receives one that another has
 * sent.
 */
void op_pass(void)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {};
	char byte = 0;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	int fd = one_in(3) ? any_fd() : one_in(2) ? reader_fd() : session_fd();

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	sendmsg(rights[0], &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (one_in(3))
		return;
	message.msg_controllen = sizeof(control);
	if (recvmsg(rights[1], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
		return;
	c = CMSG_FIRSTHDR(&message);
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
		return;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	keep_fd(fd, ROLE_DEVICE + below(3));
}

/* ---------------------------------------------------------------- processes */

static void wait_for(pid_t child)
{
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* Makes long calls in a child that is killed in the middle of one. */
void op_killed(void)
{
	pid_t child = fork();

	if (!child) {
		alarm(5);
		switch (below(4)) {
		case 0:
			for (;;)
				op_every_detail();
		case 1:
			for (;;)
				op_every_variable();
		case 2:
			for (;;)
				op_whole_session();
		default:
			for (;;)
				op_proc();
		}
	}
	usleep(below(one_in(3) ? 30000 : 3000) * slowness);
	if (child > 0)
		kill(child, SIGKILL);
	wait_for(child);
}

/* Makes calls in a child that inherits all descriptors and exits with them open. */
void op_fork(void)
{
	pid_t child = fork();

	if (!child) {
		for (u32 n = below(4); n; n--)
			op_raw_call();
		if (one_in(2))
			op_map_use();
		if (one_in(3))
			op_work();
		_exit(0);
	}
	wait_for(child);
}

/* Capabilities in a user's own namespace give no rights outside. */
void op_namespace(void)
{
	pid_t child;

	if (!one_in(4))
		return;
	child = fork();
	if (!child) {
		u32 uid = getuid();
		char map[40];
		int fd;

		if (unshare(CLONE_NEWUSER | (one_in(2) ? CLONE_NEWPID : 0)))
			_exit(0);
		snprintf(map, sizeof(map), "0 %u 1", uid);
		put_file("/proc/self/uid_map", map);
		fd = open_device(O_RDWR);
		if (fd >= 0 && uid && kl_info(fd).may)
			world_broken("a user namespace gives rights");
		keep_fd(fd, ROLE_DEVICE);
		op_whole_session();
		op_detail();
		op_inspect();
		_exit(0);
	}
	wait_for(child);
}

/* The program inherits descriptors; it has more rights than the task that opened them. */
void op_set_user_id(void)
{
	pid_t child;

	if (!one_in(4))
		return;
	child = fork();
	if (!child) {
		char number[20];
		int fd = one_in(2) ? session_fd() : any_fd();

		fcntl(fd, F_SETFD, 0);
		snprintf(number, sizeof(number), "%d", fd);
		execl(SET_USER_ID_PATH, "fuzz", "--set-user-id", number, NULL);
		_exit(0);
	}
	wait_for(child);
}

/* What that program does with the descriptor. */
int set_user_id_main(int argc, char **argv)
{
	int fd = argc > 2 ? atoi(argv[2]) : -1;
	struct kl_abi_detail detail = { .size = sizeof(detail), .pid = getppid(), .proof = -1 };
	struct kl_abi_stats stats = { .size = sizeof(stats), .cpu = -1 };
	static u8 buffer[65536] __attribute__((aligned(8)));

	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (u32 i = 0; i < 20; i++) {
		detail.buffer = (u64)(uintptr_t)buffer;
		detail.bytes = sizeof(buffer);
		detail.what = i;
		detail.cursor = 0;
		ioctl(fd, KL_IOC_DETAIL, &detail);
		ioctl(fd, KL_IOC_STATS, &stats);
		if (read(fd, buffer, sizeof(buffer)) < 0)
			syscall(SYS_getppid);
	}
	return 0;
}

static void *run_thread(void *unused)
{
	syscall(SYS_getppid);
	return NULL;
}

void op_thread(void)
{
	pthread_t thread[6];
	u32 n = 1 + below(6);

	for (u32 i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, run_thread, NULL))
			n = i;
	for (u32 i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}

/* -------------------------------------------------------------------- work */

/* Triggers events that the sessions of this user record. */
void op_work(void)
{
	for (u32 n = 1 + below(6); n; n--) {
		int fd;

		switch (below(6)) {
		case 0:
			sched_yield();
			break;
		case 1:
			sleep_ms(below(3));
			break;
		case 2:
			fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
			if (fd >= 0 && read(fd, room, 4096) > 0)
				close(fd);
			break;
		case 3:
			kill(getpid(), 0);
			break;
		case 4:
			op_thread();
			break;
		default:
			for (u32 i = 0; i < 20; i++)
				syscall(SYS_getppid);
		}
	}
}

/* Continues after a breakpoint that the module has not handled. */
static void skip_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	uc->uc_mcontext.gregs[REG_RIP] += sizeof(struct kl_abi_trap) - 1;
}

/* As a program with traps does, so that the module stays loaded while there are any. */
static void keep_module(void)
{
	int fd = open_device(O_RDWR);
	void *at;

	if (fd < 0)
		return;
	at = mmap(NULL, 4096, PROT_NONE, MAP_SHARED, fd, KL_MMAP_KEEP);
	me->successes += at != MAP_FAILED;
	close(fd);
	/* cppcheck-suppress memleak ; it stays mapped while the process lives */
}

void run_trap(const struct kl_abi_trap *trap)
{
	static u8 *code;
	struct sigaction action = { .sa_sigaction = skip_trap, .sa_flags = SA_SIGINFO };
	u8 *at;

	if (!code) {
		u8 *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (made == MAP_FAILED)
			return;
		sigaction(SIGTRAP, &action, NULL);
		keep_module();
		code = made;
	}
	/* Threads write the same bytes except for numbers: at worst one executes another's trap. */
	at = code + 64 * below(16);
	memcpy(at, trap, sizeof(*trap));
	at[sizeof(*trap)] = 0xc3; /* ret */
	((void (*)(void))at)();
}

void op_trap(void)
{
	struct kl_abi_trap trap = {
		.opcode = KL_TRAP_OPCODE,
		.magic = KL_TRAP_MAGIC,
		.session = 1 + below(common->session_newest + 2),
		.event = KL_EV_DYNAMIC + below(6),
		.from = one_in(2) ? 0 : (s32)odd_number(),
		.text = below(5),
	};

	run_trap(&trap);
}

/* ----------------------------------------------------------------- failures */

/* Makes one call in which some allocation or copy fails, on kernels with fault injection. */
void op_fail(void)
{
	static __thread int fail_fd = -2;

	if (fail_fd == -2)
		fail_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fail_fd < 0 || !failing_at(fail_fd, 1 + below(one_in(3) ? 60 : 12)))
		return;
	switch (below(5)) {
	case 0:
		op_events();
		break;
	case 1:
		op_rule();
		break;
	case 2:
		op_inspect();
		break;
	case 3:
		op_session();
		break;
	default:
		op_raw_call();
	}
	failing_end(fail_fd);
}

/* Invalid splices: refused, each time at another check. The plans' own fuzzer is in tests/block. */
void op_splice(void)
{
	struct kl_abi_window *window = (void *)room;
	struct kl_abi_point *point = (void *)(room + 8192);
	struct kl_abi_splice params = { .size = sizeof(params), .windows = 1 + below(4) };
	struct kl_abi_splice_counts counts = { .size = sizeof(counts), .n = below(9) };
	struct kl_abi_unsplice all = { .size = sizeof(all) };
	int fd = session_fd();

	memset(room, 0, 16384);
	for (u32 i = 0; i < params.windows; i++) {
		window[i].address = common->symbol[below(FUZZ_SYMBOLS)] + below(8);
		window[i].hash = any();
		window[i].bytes = 5 + below(12);
		window[i].tier = 1 + below(4);
		window[i].moves = one_in(3);
		window[i].points = 1;
		point[i].instrument = 1 + below(2);
	}
	params.points = params.windows;
	params.window = (u64)(uintptr_t)odd_or(window, 4096);
	params.point = (u64)(uintptr_t)odd_or(point, 4096);
	TRY(fd, KL_IOC_SPLICE, params);
	counts.count = (u64)(uintptr_t)room;
	TRY(fd, KL_IOC_SPLICE_COUNTS, counts);
	TRY(fd, KL_IOC_UNSPLICE, all);
}
