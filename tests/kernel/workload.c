// SPDX-License-Identifier: GPL-2.0
/*
 * See workload.h. Each round exercises as many of the kernel's subsystems as an unprivileged
 * program can: files, processes, threads, signals, pipes, sockets, memory, timers.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "workload.h"

struct shared *shared;

static void copy_program(const char *from, const char *to, int mode)
{
	char command[300];

	snprintf(command, sizeof(command), "cp %s %s && chmod %o %s", from, to, mode, to);
	if (system(command))
		bail("%s", command);
}

void prepare_workload(void)
{
	char path[80], self[200];

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		bail("mmap");
	for (int owner = 0; owner < OWNERS; owner++) {
		snprintf(path, sizeof(path), "/tmp/%s-exe", owner_names[owner]);
		copy_program("/bin/true", path, 0755);
	}
	self[readlink("/proc/self/exe", self, sizeof(self) - 1)] = 0;
	copy_program(self, PATH_SETUID, 04755);
	copy_program(self, PATH_SETUID2, 0755);
	if (chown(PATH_SETUID2, UID_USER2, UID_USER2) || chmod(PATH_SETUID2, 04755))
		bail("chown");
	unlink(PATH_SHARED);
	if (mkfifo(PATH_SHARED, 0666) || chmod(PATH_SHARED, 0666))
		bail("mkfifo");
	if (!put_file("/proc/sys/kernel/pid_max", STRING(LAST_TID)) ||
	    !put_file("/proc/sys/kernel/ns_last_pid", STRING(FIRST_TID)))
		bail("pid_max");
}

bool is_others_tid(u64 number)
{
	if (number <= FIRST_TID || number > LAST_TID)
		return false;
	for (int owner = OTHER; owner <= ROOT; owner++)
		for (u32 i = 0; i < shared->tids[owner] && i < TIDS_MAX; i++)
			if ((u64)shared->tid[owner][i] == number)
				return true;
	return false;
}

static void note_tid(enum owner owner)
{
	u32 at = __atomic_fetch_add(&shared->tids[owner], 1, __ATOMIC_RELAXED);

	if (at >= TIDS_MAX)
		_exit(0);
	shared->tid[owner][at] = syscall(SYS_gettid);
}

/* The files are this process's alone: two processes of the same name may do this at once. */
void use_files(const char *name)
{
	char path[80], other[80], text[100];
	struct stat st;
	void *at;
	int fd, pid = getpid();

	snprintf(path, sizeof(path), "/tmp/%s-file%d", name, pid);
	snprintf(other, sizeof(other), "/tmp/%s-renamed%d", name, pid);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (write(fd, path, sizeof(path)) > 0 && pread(fd, text, sizeof(text), 0) > 0)
		fstat(fd, &st);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED) {
		*(volatile char *)at = 1;
		munmap(at, 4096);
	}
	fsync(fd);
	close(fd);
	rename(path, other);
	stat(other, &st);
	unlink(other);
	snprintf(path, sizeof(path), "/tmp/%s-dir%d", name, pid);
	mkdir(path, 0700);
	rmdir(path);
	if (!access(path, R_OK))
		_exit(1);
}

static void use_network(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t bytes = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), fd;
	char text[16] = "hello";

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!bind(server, (void *)&address, sizeof(address)) && !listen(server, 1) &&
	    !getsockname(server, (void *)&address, &bytes) &&
	    !connect(client, (void *)&address, bytes)) {
		fd = accept(server, NULL, NULL);
		if (write(client, text, sizeof(text)) > 0)
			read(fd, text, sizeof(text));
		close(fd);
	}
	close(client);
	close(server);
}

/* The kernel's wakeups and writes between two users go through this file. */
static void use_shared(void)
{
	int fd = open(PATH_SHARED, O_RDWR | O_NONBLOCK);
	char byte = 1;

	if (fd < 0)
		return;
	if (write(fd, &byte, 1) < 0 || read(fd, &byte, 1) < 0) {
		/* Another process was faster, which is fine. */
	}
	close(fd);
}

/* Makes a mark in every trace that records marks, as far as it may see this process. */
static void make_mark(const char *name)
{
	struct kl_abi_mark mark = { .size = sizeof(mark), .value = getpid() };
	int fd = open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	snprintf(mark.text, sizeof(mark.text), "%s-mark", name);
	if (fd < 0 || kl_call(fd, KL_IOC_MARK, &mark))
		_exit(1);
	close(fd);
}

static void *run_thread(void *argument)
{
	const enum owner *owner = argument;
	struct timespec t = { 0, 300000 };

	note_tid(*owner);
	nanosleep(&t, NULL);
	return NULL;
}

static void use_processes(enum owner owner)
{
	char program[80];
	pthread_t thread;
	pid_t child;

	if (!pthread_create(&thread, NULL, run_thread, &owner))
		pthread_join(thread, NULL);
	snprintf(program, sizeof(program), "/tmp/%s-exe", owner_names[owner]);
	child = fork();
	if (!child) {
		char *arguments[] = { program, NULL };

		note_tid(owner);
		execv(program, arguments);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	child = fork();
	if (!child) {
		note_tid(owner);
		pause();
		_exit(0);
	}
	kill(child, SIGTERM);
	waitpid(child, NULL, 0);
}

/*
 * Runs round after round until stopped. All owners share CPU 0, so that they switch to each other.
 */
static void run_workload(enum owner owner)
{
	shared->process[owner] = getpid();
	note_tid(owner);
	prctl(PR_SET_NAME, owner_names[owner]);
	kl_pin(0);
	while (!shared->stop) {
		use_files(owner_names[owner]);
		use_shared();
		use_network();
		use_processes(owner);
		make_mark(owner_names[owner]);
		sleep_ms(1);
		shared->rounds[owner]++;
	}
}

/* Also user 1's, but not dumpable, or set-user-id: each takes its name only after that. */
static void run_hidden(void)
{
	while (!shared->stop) {
		pid_t child = fork();

		if (!child) {
			prctl(PR_SET_DUMPABLE, 0);
			prctl(PR_SET_NAME, NAME_HIDDEN);
			for (int i = 0; i < 3; i++) {
				use_files(NAME_HIDDEN);
				sleep_ms(1);
			}
			_exit(0);
		}
		waitpid(child, NULL, 0);
		child = fork();
		if (!child) {
			char *arguments[] = { PATH_SETUID, "suid", NULL };

			execv(PATH_SETUID, arguments);
			_exit(1);
		}
		waitpid(child, NULL, 0);
	}
}

/*
 * First root's, then user 1's, then user 2's, then user 1's again without executing another
 * program: it takes each name before its user changes.
 */
static void run_changing(void)
{
	while (!shared->stop) {
		pid_t child = fork();

		if (!child) {
			char *arguments[] = { PATH_SETUID2, "suid2", NULL };

			prctl(PR_SET_NAME, owner_names[ROOT]);
			use_files(NAME_CHANGING0);
			make_mark(owner_names[ROOT]);
			prctl(PR_SET_NAME, NAME_CHANGED);
			kl_become(UID_USER1);
			use_files(NAME_CHANGED);
			make_mark(NAME_CHANGED);
			sleep_ms(1);
			execv(PATH_SETUID2, arguments);
			_exit(1);
		}
		waitpid(child, NULL, 0);
	}
}

/* The set-user-id program of user 2. */
int run_setuid2(void)
{
	prctl(PR_SET_NAME, owner_names[OTHER]);
	if (geteuid() != UID_USER2)
		return 1;
	use_files(NAME_CHANGING2);
	make_mark(owner_names[OTHER]);
	/* It was user 2's: not to be inspected until it executes another program. */
	if (setresuid(UID_USER1, UID_USER1, UID_USER1))
		return 1;
	use_files(NAME_CHANGING2);
	make_mark(owner_names[OTHER]);
	sleep_ms(1);
	return 0;
}

/* The set-user-id program of root. */
int run_setuid(void)
{
	prctl(PR_SET_NAME, NAME_SETUID);
	if (geteuid())
		return 1;
	for (int i = 0; i < 3; i++) {
		use_files(NAME_SETUID);
		sleep_ms(1);
	}
	return 0;
}

/* ---------------------------------------------------------------- processes */

pid_t start(void (*run)(void), u32 uid)
{
	pid_t child = fork();

	if (child < 0)
		bail("fork");
	if (child)
		return child;
	if (uid)
		kl_become(uid);
	run();
	fflush(stdout);
	_exit(tap.failures ? 1 : 0);
}

static void run_own(void)
{
	run_workload(OWN);
}

static void run_other(void)
{
	run_workload(OTHER);
}

static void run_root(void)
{
	run_workload(ROOT);
}

void start_workers(pid_t worker[WORKERS])
{
	worker[0] = start(run_own, UID_USER1);
	worker[1] = start(run_other, UID_USER2);
	worker[2] = start(run_root, 0);
	worker[3] = start(run_hidden, UID_USER1);
	worker[4] = start(run_changing, 0);
}
