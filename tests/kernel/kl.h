/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The least that a kernel-side test needs: calls of the device through uapi/kernlens.h alone (not
 * through libkernlens, so that the tests are an independent witness), TAP lines, and a few wrappers
 * that end the program when the test itself, rather than what it tests, cannot continue.
 */
#ifndef KL_TESTS_KL_H
#define KL_TESTS_KL_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../unit/file.h"
#include "kernlens.h"

typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

enum {
#define KL_VARIABLE(id, name, ...) VARIABLE_##name = id,
#include "variables.def"
#undef KL_VARIABLE
};

/* ---------------------------------------------------------------------- TAP */

struct tap {
	int tests;
	int failures;
};

__attribute__((weak)) struct tap tap;

/* Prints one line; @why explains a failure. */
__attribute__((format(printf, 3, 4))) static inline bool tap_result(bool ok, const char *name,
								    const char *why, ...)
{
	tap.tests++;
	tap.failures += !ok;
	printf("%s %d - %s\n", ok ? "ok" : "not ok", tap.tests, name);
	if (!ok && why[0]) {
		va_list args;

		va_start(args, why);
		printf("# ");
		vprintf(why, args);
		printf("\n");
		va_end(args);
	}
	fflush(stdout);
	return ok;
}

#define tap_check(condition, name) \
	tap_result(condition, name, "%s:%d: %s, errno %d", __FILE__, __LINE__, #condition, errno)

/* About how many times slower than a stock kernel this one is: kernels with checkers are. */
static inline u32 kl_slowness(void)
{
	struct utsname name;

	if (!uname(&name) && (strstr(name.release, "-debug") || strstr(name.release, "-kcsan")))
		return 5;
	return 1;
}

static inline void tap_skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap.tests, name, why);
	fflush(stdout);
}

static inline int tap_end(void)
{
	printf("1..%d\n", tap.tests);
	fflush(stdout);
	return tap.failures ? 1 : 0;
}

/* Ends the program: the test cannot continue. */
#define bail(...)                                                \
	do {                                                     \
		printf("Bail out! %s:%d: ", __FILE__, __LINE__); \
		printf(__VA_ARGS__);                             \
		printf(" (%s)\n", strerror(errno));              \
		fflush(stdout);                                  \
		_exit(1);                                        \
	} while (0)

#define KL_PARAMETERS "/sys/module/kernlens/parameters/"

/* Sets a parameter of the module. */
static inline void kl_set_parameter(const char *name, u64 value)
{
	char path[128], text[24];

	snprintf(path, sizeof(path), KL_PARAMETERS "%s", name);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	if (!put_file(path, text))
		bail("parameter %s", name);
}

/* ------------------------------------------------------------------- device */

/* Returns the kernel's result: 0 or -errno. */
static inline int kl_call(int fd, unsigned long command, void *argument)
{
	return ioctl(fd, command, argument) < 0 ? -errno : 0;
}

static inline int kl_open(void)
{
	int fd = open(KL_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		bail("cannot open " KL_DEVICE_PATH);
	return fd;
}

/* Opens the device as user @uid: a session has the rights of the user that opened the device. */
static inline int kl_open_as(u32 uid)
{
	int fd;

	if (uid && (setresgid(-1, uid, -1) || setresuid(-1, uid, -1)))
		bail("setresuid");
	fd = kl_open();
	if (uid && (setresuid(-1, 0, -1) || setresgid(-1, 0, -1)))
		bail("setresuid");
	return fd;
}

/* Why the last call on @fd failed, as reported by the module. */
static inline const char *kl_why(int fd)
{
	static __thread struct kl_abi_error error;

	memset(&error, 0, sizeof(error));
	error.size = sizeof(error);
	return kl_call(fd, KL_IOC_ERROR, &error) ? "no reason given" : error.text;
}

static inline struct kl_abi_info kl_info(int fd)
{
	struct kl_abi_info info = { .size = sizeof(info) };

	if (kl_call(fd, KL_IOC_INFO, &info))
		bail("KL_IOC_INFO");
	return info;
}

/* Creates a session on @fd; @params receives the actual parameters. */
static inline int kl_session(int fd, struct kl_abi_session *params)
{
	params->size = sizeof(*params);
	return kl_call(fd, KL_IOC_SESSION, params);
}

static inline int kl_use(int fd, u32 maskset)
{
	struct kl_abi_use use = { .size = sizeof(use), .maskset = maskset };

	return kl_call(fd, KL_IOC_MASKSET_USE, &use);
}

/* Writes and uses a maskset that gives the listed events (terminated by 0) one handler. */
static inline int kl_use_events(int fd, u32 maskset, u8 handler, const u32 *events)
{
	static __thread struct kl_abi_maskset m;
	int error;

	memset(&m, 0, sizeof(m));
	m.size = sizeof(m);
	m.id = maskset;
	for (; *events; events++)
		m.handler[*events] = handler;
	error = kl_call(fd, KL_IOC_MASKSET_WRITE, &m);
	return error ? error : kl_use(fd, maskset);
}

/* Adds a program of one operation; returns its number. */
static inline u32 kl_program(int fd, struct kl_abi_op op)
{
	struct kl_abi_op ops[2] = { op, { .code = KL_OP_END } };
	struct kl_abi_program program = {
		.size = sizeof(program),
		.ops = (u64)(uintptr_t)ops,
		.n_ops = 2,
	};

	if (kl_call(fd, KL_IOC_PROGRAM, &program))
		bail("program: %s", kl_why(fd));
	return program.id;
}

static inline int kl_filter(int fd, u32 kind, u32 uid)
{
	struct kl_abi_filter filter = { .size = sizeof(filter), .kind = kind, .uid = uid };

	return kl_call(fd, KL_IOC_FILTER, &filter);
}

static inline int kl_tasks(int fd, int pid, u32 flags)
{
	struct kl_abi_tasks tasks = { .size = sizeof(tasks), .pid = pid, .flags = flags };

	return kl_call(fd, KL_IOC_TASKS, &tasks);
}

static inline int kl_resize(int fd, u32 blocks)
{
	struct kl_abi_resize resize = { .size = sizeof(resize), .blocks = blocks };

	return kl_call(fd, KL_IOC_RESIZE, &resize);
}

/* Returns a reader's descriptor, or -errno. */
static inline int kl_reader(int fd, u32 flags)
{
	struct kl_abi_reader reader = { .size = sizeof(reader), .flags = flags };
	int error = kl_call(fd, KL_IOC_READER, &reader);

	return error ? error : reader.fd;
}

static inline struct kl_abi_stats kl_stats(int fd, int cpu)
{
	struct kl_abi_stats stats = { .size = sizeof(stats), .cpu = cpu };

	if (kl_call(fd, KL_IOC_STATS, &stats))
		bail("KL_IOC_STATS: %s", kl_why(fd));
	return stats;
}

static inline int kl_start(int fd)
{
	return kl_call(fd, KL_IOC_START, NULL);
}

static inline int kl_stop(int fd)
{
	return kl_call(fd, KL_IOC_STOP, NULL);
}

/* ------------------------------------------------------------------- others */

/*
 * Memory that this program shares with those that it executes, which find it at descriptor 3; any
 * user may open the file.
 */
static inline void *kl_share(const char *path, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	void *shared;

	if (fd < 0 || fchmod(fd, 0666) || ftruncate(fd, (off_t)bytes) ||
	    (fd != 3 && dup2(fd, 3) != 3))
		bail("shared memory");
	fcntl(3, F_SETFD, FD_CLOEXEC);
	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
	if (shared == MAP_FAILED)
		bail("mmap");
	return shared;
}

static inline double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Seconds per instruction, by the guest's clock. */
static inline double kl_instruction_seconds(void)
{
	double begun = now_seconds();
	u64 n = 10000000;

	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n));
	return (now_seconds() - begun) / 20000000;
}

static inline void sleep_ms(unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&t, NULL);
}

/* Keeps the calling thread on one CPU. */
static inline void kl_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		bail("sched_setaffinity");
}

/* Permanently becomes user @uid. */
static inline void kl_become(u32 uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		bail("cannot become user %u", uid);
	/* The change of ids has cleared it; a test has nothing to protect. */
	prctl(PR_SET_DUMPABLE, 1);
}

/* Gives up all capabilities except @capability; all of them if it is negative. */
static inline void kl_keep_capability(s32 capability)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = {};

	if (capability >= 0) {
		data[capability / 32].permitted = 1u << capability % 32;
		data[capability / 32].effective = 1u << capability % 32;
	}
	if (syscall(SYS_capset, &head, data))
		bail("capset");
}

/* Becomes an ordinary user that keeps one capability. */
static inline void kl_become_with(u32 uid, s32 capability)
{
	prctl(PR_SET_KEEPCAPS, 1);
	kl_become(uid);
	kl_keep_capability(capability);
	prctl(PR_SET_DUMPABLE, 1);
}

/* A system call from the function's own text: the first frame of a user stack trace is there. */
#define KL_CALL_HERE()                                  \
	do {                                            \
		long result;                            \
		asm volatile("syscall"                  \
			     : "=a"(result)             \
			     : "a"(SYS_getppid)         \
			     : "rcx", "r11", "memory"); \
	} while (0)

/* Offset of a function in the file that it is mapped from; 0 if no file maps it. */
static inline u64 kl_file_offset(const void *function)
{
	unsigned long begin, end, offset, at = (unsigned long)function;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	u64 found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &begin, &end, &offset) == 3 && at >= begin &&
		    at < end)
			found = at - begin + offset;
	if (maps)
		fclose(maps);
	return found;
}

#endif /* KL_TESTS_KL_H */
