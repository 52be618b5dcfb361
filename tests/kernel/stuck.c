// SPDX-License-Identifier: GPL-2.0
/*
 * Processes whose memory, locks and files never arrive, because they come from a file system whose
 * server does not answer. A task that inspects them, or unloads the module, must not wait for that.
 * As root in the guest.
 */
#include <linux/vm_sockets.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "fuse.h"

#define FOLDER "/tmp/stuck"
#define STUCK_FILE FOLDER "/file"
#define ROOM (1u << 20)
#define USER 60001
#define OTHER 60002
#define PATIENCE_MS (10000 * kl_slowness())
#define PORT 5000

static volatile u32 *reads; /* that the server still answers */
static volatile u32 *ready;
static volatile u32 *unanswered;
static u8 *room;

static int decide(u32 opcode, u32 number)
{
	if (opcode == FUSE_READ && *reads) {
		--*reads;
		return 0;
	}
	if (opcode != FUSE_READ && opcode != FUSE_FLUSH)
		return 0;
	++*unanswered;
	return FUSE_NEVER;
}

static u8 *map_file(void)
{
	/* Stays open: closing it would be a call that is not answered. */
	static int fd;
	u8 *at;

	fd = open(STUCK_FILE, O_RDWR);
	if (fd < 0)
		bail(STUCK_FILE);
	at = mmap(NULL, FUSE_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		bail("mapping");
	return at;
}

/* Starts a process that does something that never ends; returns once it is in the middle of it. */
static pid_t start_stuck(void (*run)(void), u32 wanted)
{
	pid_t pid;

	*ready = 0;
	*unanswered = 0;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		kl_become(USER);
		run();
		_exit(0);
	}
	for (u32 i = 0; i < 200 && (!*ready || *unanswered < wanted); i++)
		sleep_ms(20);
	if (!*ready || *unanswered < wanted)
		bail("the process does not get stuck: %u, %u calls", *ready, *unanswered);
	sleep_ms(200);
	return pid;
}

/* Milliseconds that @run takes; more than PATIENCE_MS if it does not end. */
static u32 time_of(int (*run)(pid_t), pid_t argument, int *result)
{
	double begun = now_seconds();
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		status = run(argument);
		_exit(status < 0 ? -status : status);
	}
	*result = -1;
	while (waitpid(pid, &status, WNOHANG) != pid) {
		sleep_ms(10);
		if (now_seconds() - begun < PATIENCE_MS / 1e3)
			continue;
		kill(pid, SIGKILL);
		return 2 * PATIENCE_MS;
	}
	*result = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return (now_seconds() - begun) * 1e3;
}

static void check(int (*run)(pid_t), pid_t argument, int wanted, const char *name)
{
	int result;
	u32 ms = time_of(run, argument, &result);

	tap_result(ms < PATIENCE_MS && result == wanted, name, "%u ms, result %d", ms, result);
	printf("# %s: %u ms\n", name, ms);
}

/* ----------------------------------------------------------------- inspectors */

static int detail(pid_t pid, u32 what)
{
	struct kl_abi_detail call = { .size = sizeof(call),
				      .what = what,
				      .pid = pid,
				      .buffer = (u64)(uintptr_t)room,
				      .bytes = ROOM };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	call.proof = open(path, O_RDONLY | O_CLOEXEC);
	return kl_call(kl_open(), KL_IOC_DETAIL, &call);
}

/* With the right to see the process, but not to trace it: 0 if the call gives nothing. */
static int look_at_environment(pid_t pid)
{
	struct kl_abi_detail call = { .size = sizeof(call),
				      .what = KL_DETAIL_ENVIRONMENT,
				      .pid = pid,
				      .buffer = (u64)(uintptr_t)room,
				      .bytes = ROOM,
				      .proof = -1 };
	int error;

	kl_become_with(OTHER, CAP_PERFMON);
	error = kl_call(kl_open(), KL_IOC_DETAIL, &call);
	if (error == -EACCES)
		return 0;
	return error ?: (int)call.records;
}

static int look_at_wait(pid_t pid)
{
	return detail(pid, KL_DETAIL_WAIT);
}

static int look_at_sockets(pid_t pid)
{
	return detail(pid, KL_DETAIL_SOCKETS);
}

static int dump(pid_t pid)
{
	struct kl_abi_session params = { .mode = KL_MODE_OVERWRITE, .blocks = 4 };
	struct kl_abi_dump call = { .size = sizeof(call),
				    .what = KL_DUMP_PROCESSES | KL_DUMP_FILES | KL_DUMP_MAPPINGS };
	int fd = kl_open();

	return kl_session(fd, &params)		   ?:
		       kl_use(fd, KL_MASKSET_RALL) ?:
		       kl_start(fd)		   ?:
						     kl_call(fd, KL_IOC_DUMP, &call);
}

/*
 * Only the read holds the module. That it does is all that the test can check without losing the
 * module.
 */
static int count_holders(pid_t pid)
{
	FILE *file = fopen("/sys/module/kernlens/refcnt", "re");
	int n = -1;

	if (file && fscanf(file, "%d", &n) != 1)
		n = -1;
	if (file)
		fclose(file);
	return n;
}

static int unload(pid_t pid)
{
	int holders = count_holders(pid);

	if (holders != 1) {
		printf("# %d holders, instead of only the read\n", holders);
		fflush(stdout);
		return 0;
	}
	return syscall(SYS_delete_module, "kernlens", O_NONBLOCK) ? errno : 0;
}

/* ----------------------------------------------------------- stuck processes */

/* The page is present when the call begins, and dropped during the call. */
static void *forget(void *unused)
{
	int fd;

	sleep_ms(100);
	fd = open(STUCK_FILE, O_RDWR);
	*reads = 0;
	*ready = fd >= 0;
	close(fd);
	return NULL;
}

static void stuck_in_poll(void)
{
	struct pollfd *poll_at;
	pthread_t thread;

	/* Enough for the kernel's readahead. */
	*reads = 1000;
	poll_at = (struct pollfd *)map_file();
	pthread_create(&thread, NULL, forget, NULL);
	syscall(SYS_poll, poll_at, 1, -1);
}

/* At its end, a task walks its list of robust locks, before it gives up its memory. */
static void stuck_in_exit(void)
{
	u8 *at = map_file();

	if (syscall(SYS_set_robust_list, at + 32 * 4096, 24))
		bail("set_robust_list");
	*ready = 1;
	_exit(0);
}

static void stuck_in_exec(void)
{
	int fd = open(STUCK_FILE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		bail(STUCK_FILE);
	*ready = 1;
	execl("/bin/true", "true", NULL);
	close(fd);
}

static void *read_itself(void *at)
{
	int fd = open("/proc/self/mem", O_RDONLY);
	u8 byte;

	*ready = 1;
	if (pread(fd, &byte, 1, (off_t)(uintptr_t)at) < 0)
		printf("# a read of its own memory has ended\n");
	close(fd);
	return NULL;
}

/*
 * One thread reads its own memory from the file with mmap_lock held; another waits to take it for
 * writing.
 */
static void stuck_in_memory(void)
{
	u8 *at = map_file();
	pthread_t thread;

	pthread_create(&thread, NULL, read_itself, at + 8 * 4096);
	while (!*unanswered)
		sleep_ms(10);
	munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
}

static void stuck_in_send(void)
{
	struct sockaddr_vm address = { .svm_family = AF_VSOCK,
				       .svm_cid = VMADDR_CID_LOCAL,
				       .svm_port = PORT };
	int listener = socket(AF_VSOCK, SOCK_STREAM, 0), fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	u8 *at = map_file();

	if (listener < 0 || bind(listener, (void *)&address, sizeof(address)) ||
	    listen(listener, 1) || connect(fd, (void *)&address, sizeof(address)))
		bail("vsock");
	*ready = 1;
	send(fd, at + 16 * 4096, 4096, 0);
	close(fd);
	close(listener);
}

static void stuck_in_proc(void)
{
	u8 *at = map_file();
	int fd = open("/proc/kernlens/limits", O_RDONLY);

	*ready = fd >= 0;
	if (read(fd, at + 24 * 4096, 100) < 0)
		printf("# a read of /proc/kernlens/limits has ended\n");
	close(fd);
}

/* Each case has its own server: a stuck one keeps other processes from opening the file. */
static void check_stuck(void (*run)(void), u32 wanted, int (*look)(pid_t), int result,
			const char *name)
{
	pid_t server = fuse_start(FOLDER, decide), pid;

	if (!server)
		bail("no FUSE");
	pid = start_stuck(run, wanted);
	check(look, pid, result, name);
	kill(pid, SIGKILL);
	fuse_stop(FOLDER, server);
	waitpid(pid, NULL, 0);
}

/* As a module, or built in. */
static bool has_vsock(void)
{
	int error = system("modprobe -q vsock_loopback"), fd = socket(AF_VSOCK, SOCK_STREAM, 0);

	if (fd >= 0)
		close(fd);
	else
		printf("# no vsock, and modprobe has ended with %d\n", error);
	return fd >= 0;
}

int main(void)
{
	reads = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reads == MAP_FAILED || room == MAP_FAILED)
		bail("memory");
	ready = reads + 1;
	unanswered = reads + 2;
	check_stuck(stuck_in_poll, 0, look_at_wait, 0,
		    "what a process waits for, in memory that does not come");
	if (has_vsock())
		check_stuck(stuck_in_send, 1, look_at_sockets, 0,
			    "a socket whose lock is held for ever");
	check_stuck(stuck_in_exec, 1, dump, 0,
		    "a state dump with a process that never gets to its program");
	check_stuck(stuck_in_memory, 1, dump, 0,
		    "a state dump with a process whose memory is locked for ever");
	check_stuck(stuck_in_exit, 1, look_at_environment, 0,
		    "the environment of a process that never gets to its end");
	check_stuck(stuck_in_proc, 1, unload, EWOULDBLOCK, "the module says that it is in use");
	return tap_end();
}
