/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of the test of limits. */
#ifndef KL_TESTS_LIMITS_H
#define KL_TESTS_LIMITS_H

#include <linux/userfaultfd.h>
#include <sys/syscall.h>

#include "../kl.h"
#include "../memory.h"
#include "../workload.h"

#define MIB (1ull << 20)

static inline struct kl_abi_limits limits_at(int fd, u32 index)
{
	struct kl_abi_limits limits = { .size = sizeof(limits), .index = index };

	if (kl_call(fd, KL_IOC_LIMITS, &limits))
		bail("KL_IOC_LIMITS");
	return limits;
}

/* Usage of the caller's own account, or of the whole machine for root. */
static inline u64 used(int fd, enum kl_limit what)
{
	return limits_at(fd, 0).used[what];
}

/* Does the text of the last failure on @fd contain all of these? */
static inline bool says(int fd, const char *limit, const char *whose, const char *parameter)
{
	const char *why = kl_why(fd);
	bool all = strstr(why, limit) && strstr(why, whose) && strstr(why, " in use, ") &&
		   strstr(why, " wanted; root can raise " KL_PARAMETERS) && strstr(why, parameter);

	if (!all)
		printf("# %s\n", why);
	return all;
}

static inline int small_session(void)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	int fd = kl_open();

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	return fd;
}

/*
 * Creates a session with @mib of buffers over all CPUs. Returns its descriptor, or -errno with the
 * text in @why.
 */
static inline int session_of(u32 mib, char why[KL_ERROR_TEXT_MAX])
{
	struct kl_abi_session params = { .block_bytes = 65536 };
	int fd = kl_open(), error;

	params.blocks = mib * 16 / sysconf(_SC_NPROCESSORS_ONLN);
	params.blocks_max = params.blocks;
	error = kl_session(fd, &params);
	if (!error)
		return fd;
	snprintf(why, KL_ERROR_TEXT_MAX, "%s", kl_why(fd));
	close(fd);
	return error;
}

/* Maps memory whose first access blocks until the returned descriptor is closed. */
static inline int make_waiting(void **memory, u32 bytes)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);

	*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (u64)(uintptr_t)*memory;
	range.range.len = bytes;
	if (uffd < 0 || *memory == MAP_FAILED || ioctl(uffd, UFFDIO_API, &api) ||
	    ioctl(uffd, UFFDIO_REGISTER, &range))
		bail("userfaultfd");
	return uffd;
}

/* Runs @run as another user and adds its failures to ours. */
static inline void run_as(void (*run)(void), u32 uid)
{
	int status, failures = tap.failures;

	tap.failures = 0;
	waitpid(start(run, uid), &status, 0);
	tap.failures = failures + (WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

/* limits_memory.c: run as users, or as root with a descriptor that is not a session's */
void fill_with_tables(void);
void user_with_4_mib(void);
void user_defines(void);
void user_with_10_events(void);
void check_names(int fd);
u32 define_ticks(int fd, u32 n);
int add_stacks(int fd);
int add_reader(int fd);

/* limits_others.c: likewise */
void check_resizers(int fd);
void user_with_3_ticks(void);
void user_pins_pages(void);

#endif /* KL_TESTS_LIMITS_H */
