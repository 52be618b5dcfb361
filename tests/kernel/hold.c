// SPDX-License-Identifier: GPL-2.0
/*
 * What outlives its user: nothing of a session that its own stack traces lead to; no task for as
 * long as a call waits for its caller's memory; no more open descriptors and files of
 * /proc/kernlens than a user's limit admits, none of which takes from others; and no event in the
 * name of whoever closes a descriptor. Runs as root.
 */
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "limits.h"

#define FOLDER "/tmp/hold"
#define CHILDREN 300
#define DESCRIPTORS 2000

enum {
#define KL_VARIABLE(id, name, ...) VARIABLE_##name = id,
#include "variables.def"
#undef KL_VARIABLE
};

/* Of a user's account, as root sees it. */
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

/* getppid() with a stack whose next frame returns to @at: nothing returns there. */
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
	struct kl_abi_variables wish = { .size = sizeof(wish), .n = 1 };
	const u32 events[] = { KL_EV_SYSCALL_ENTRY + SYS_getppid, 0 };

	wish.variable[0].variable = VARIABLE_ustack;
	if (kl_call(fd, KL_IOC_VARIABLES, &wish) ||
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
	struct kl_abi_session wish = { .blocks = 4, .block_bytes = 4096 };
	int fd = kl_open();
	u8 *at = mmap(NULL, 4096, PROT_NONE, MAP_SHARED, fd, KL_MMAP_KEEP);

	if (at == MAP_FAILED || kl_session(fd, &wish))
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

static u64 tasks_of_slab(void)
{
	unsigned long long active;
	u64 found = 0;
	char line[256];
	FILE *file;

	/* What CPUs keep of it does not count. */
	put_file("/sys/kernel/slab/task_struct/shrink", "1");
	file = fopen("/proc/slabinfo", "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "task_struct %llu", &active) == 1)
			found = active;
	if (!file || !found)
		bail("/proc/slabinfo");
	fclose(file);
	return found;
}

static int fuse = -1;

static void send_answer(u64 unique, int error, const void *answer, u32 bytes)
{
	struct fuse_out_header head = { .unique = unique, .error = error };
	u8 message[256];

	head.len = sizeof(head) + bytes;
	memcpy(message, &head, sizeof(head));
	if (bytes)
		memcpy(message + sizeof(head), answer, bytes);
	if (write(fuse, message, head.len) < 0)
		return;
}

/* One file, /, which can be mapped, and whose pages never come. */
__attribute__((noreturn)) static void serve(void)
{
	static u8 message[256 << 10] __attribute__((aligned(8)));
	const struct fuse_in_header *head = (const void *)message;
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .max_write = 65536 };
	struct fuse_attr_out attr = {
		.attr = { .ino = 1, .mode = S_IFREG | 0666, .nlink = 1, .size = 1 << 20 }
	};
	struct fuse_open_out opened = { .fh = 1 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fuse, message, sizeof(message)) > 0) {
		init.minor = ((const struct fuse_init_in *)(head + 1))->minor;
		if (head->opcode == FUSE_INIT)
			send_answer(head->unique, 0, &init, sizeof(init));
		else if (head->opcode == FUSE_GETATTR)
			send_answer(head->unique, 0, &attr, sizeof(attr));
		else if (head->opcode == FUSE_OPEN)
			send_answer(head->unique, 0, &opened, sizeof(opened));
		else if (head->opcode != FUSE_READ && head->opcode != FUSE_FORGET &&
			 head->opcode != FUSE_INTERRUPT)
			send_answer(head->unique, -ENOSYS, NULL, 0);
	}
	_exit(0);
}

static pid_t mount_fuse(void)
{
	char options[100];
	pid_t server;
	int file;

	if (system("modprobe fuse"))
		bail("modprobe fuse");
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	file = open(FOLDER, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
	snprintf(options, sizeof(options), "fd=%d,rootmode=100666,user_id=0,group_id=0,allow_other",
		 fuse);
	if (fuse < 0 || file < 0 || mount("hold", FOLDER, "fuse", 0, options))
		bail("FUSE");
	close(file);
	server = fork();
	if (!server)
		serve();
	return server;
}

static volatile u32 *inspecting;

/* A call with rows for memory that does not come; the children that it lists end meanwhile. */
static void user_waits_in_inspection(void)
{
	u32 id = VARIABLE_comm;
	struct kl_abi_inspect wish = { .size = sizeof(wish), .flags = KL_INSPECT_ALL };
	int file = open(FOLDER, O_RDWR | O_CLOEXEC), fd = kl_open();
	u8 *rows = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	pid_t child[CHILDREN];
	struct stat about;

	close(fuse);
	/* The kernel asks for its size. */
	if (rows == MAP_FAILED || fstat(file, &about))
		bail("the file cannot be mapped");
	for (u32 i = 0; i < CHILDREN; i++) {
		child[i] = fork();
		if (!child[i]) {
			pause();
			_exit(0);
		}
	}
	wish.variables = (u64)(uintptr_t)&id;
	wish.n_variables = 1;
	wish.rows = (u64)(uintptr_t)rows;
	wish.room = 1 << 20;
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		*inspecting = 1;
		kl_call(fd, KL_IOC_INSPECT, &wish);
		*inspecting = 2;
		_exit(0);
	}
	while (!*inspecting)
		sleep_ms(10);
	/* It has listed them by then, or they would not be in the way of the test. */
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
	pid_t server = mount_fuse(), user;
	u64 before = tasks_of_slab(), after = before;

	inspecting = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (inspecting == MAP_FAILED)
		bail("shared memory");
	user = start(user_waits_in_inspection, UID_USER1);
	while (*inspecting < 10)
		sleep_ms(50);
	for (u32 i = 0; i < 50; i++) {
		after = tasks_of_slab();
		if (after < before + CHILDREN / 4)
			break;
		sleep_ms(100);
	}
	tap_check(*inspecting == 11, "a call waits for its caller's memory");
	tap_result(after < before + CHILDREN / 4, "tasks that end meanwhile are freed",
		   "%llu tasks, then %llu, of %u that have ended", (unsigned long long)before,
		   (unsigned long long)after, CHILDREN);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	close(fuse);
	umount2(FOLDER, MNT_DETACH);
	kill(user, SIGKILL);
	waitpid(user, NULL, 0);
}

/* ------------------------------------------------------------- descriptors */

/* How many times a user can open @path, and the errno after that. They stay open. */
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

	/* Those of the test before may still be ending. */
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
}

/* ------------------------------------------------------- passed descriptors */

/* As user 1: begin a change of this process and pass the descriptor to root. */
static void begin_change(int to)
{
	struct kl_abi_set set = {
		.size = sizeof(set), .step = KL_SET_BEGIN, .what = KL_SET_NICE, .asked = "forged"
	};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec byte = { "", 1 };
	struct msghdr message = { .msg_iov = &byte,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fd = kl_open();

	set.id = getpid();
	if (kl_call(fd, KL_IOC_SET, &set))
		bail("a change: %s", kl_why(fd));
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (sendmsg(to, &message, 0) != 1)
		bail("sendmsg");
}

static int receive(int from)
{
	char room[CMSG_SPACE(sizeof(int))], byte;
	struct iovec one = { &byte, 1 };
	struct msghdr message = { .msg_iov = &one,
				  .msg_iovlen = 1,
				  .msg_control = room,
				  .msg_controllen = sizeof(room) };
	int fd = -1;

	if (recvmsg(from, &message, 0) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

static u64 changes_of(int fd)
{
	static struct kl_abi_counts counts;

	memset(&counts, 0, sizeof(counts));
	counts.size = sizeof(counts);
	if (kl_call(fd, KL_IOC_COUNTS, &counts))
		bail("KL_IOC_COUNTS");
	return counts.count[KL_EV_process_set];
}

static void check_changes(void)
{
	const u32 events[] = { KL_EV_process_set, 0 };
	struct kl_abi_set end = { .size = sizeof(end), .step = KL_SET_END };
	int fd = small_session(), pair[2], passed[2];
	u64 before;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_count, events) || kl_start(fd))
		bail("session: %s", kl_why(fd));
	child = fork();
	if (!child) {
		kl_become(UID_USER1);
		begin_change(pair[1]);
		begin_change(pair[1]);
		pause();
	}
	passed[0] = receive(pair[0]);
	passed[1] = receive(pair[0]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	before = changes_of(fd);
	close(passed[0]);
	tap_result(changes_of(fd) == before, "no change in the name of who closes a descriptor",
		   "%llu events", (unsigned long long)(changes_of(fd) - before));
	tap_check(passed[1] >= 0 && kl_call(passed[1], KL_IOC_SET, &end) == -EINVAL,
		  "nor of another that ends it");
	close(passed[1]);
	close(fd);
}

int main(void)
{
	int fd = kl_open();

	check_ends(fd, user_in_its_reader, "a session ends though its stacks lead to its reader");
	check_ends(fd, user_in_its_device, "and if they lead to the device's file");
	check_inspection();
	set_parameter("memory_mb_per_user", 4);
	check_descriptors(fd);
	set_parameter("memory_mb_per_user", 256);
	check_changes();
	close(fd);
	return tap_end();
}
