// SPDX-License-Identifier: GPL-2.0
/*
 * Drops the privileges of the child that reads ELF files, so that a file which takes it over gains
 * little. The child can only open files for reading, as user "nobody" if root started it, and
 * answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/base.h"
#include "elf_rights.h"

#define NOBODY 65534
#define MEMORY_BYTES (2ull << 30) /* on top of what it has at the start */

/*
 * System calls that the C library, libelf and libdw need to read files, allocate, answer, and exit.
 */
static const uint16_t allowed[] = {
	SYS_read,
	SYS_pread64,
	SYS_readv,
	SYS_preadv,
	SYS_lseek,
	SYS_close,
	SYS_fcntl,
	SYS_dup,
	SYS_fstat,
	SYS_stat,
	SYS_lstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_access,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_readlink,
	SYS_readlinkat,
	SYS_getcwd,
	SYS_getdents64,
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_brk,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_sendto,
	SYS_sendmsg,
	SYS_write,
	SYS_writev,
	SYS_futex,
	SYS_getrandom,
	SYS_alarm,
	SYS_setitimer,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_getpid,
	SYS_gettid,
	SYS_geteuid,
	SYS_getuid,
	SYS_sysinfo,
	SYS_clock_gettime,
	SYS_sched_getaffinity,
	SYS_sched_yield,
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
};

#define N_ALLOWED KL_ARRAY_SIZE(allowed)
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define JUMP(how, value, yes, no) \
	BPF_JUMP(BPF_JMP | BPF_K | (how), (value), (uint8_t)(yes), (uint8_t)(no))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))

/*
 * The last two instructions return the verdicts; jump offsets count from the next instruction. The
 * system call numbers of x32 are not in the list. On a kernel without seccomp filters, the process
 * goes on unfiltered.
 */
static void filter_calls(void)
{
	const struct sock_filter first[] = {
		LOAD(arch),
		JUMP(BPF_JEQ, AUDIT_ARCH_X86_64, 0, N_ALLOWED + 4),
		LOAD(nr),
		JUMP(BPF_JEQ, SYS_openat, 0, 2),
		/* The low half of the flags, which contains all of WRITES. */
		LOAD(args[2]),
		JUMP(BPF_JSET, WRITES, N_ALLOWED, N_ALLOWED + 1),
	};
	struct sock_filter code[KL_ARRAY_SIZE(first) + N_ALLOWED + 2];
	struct sock_fprog program = { KL_ARRAY_SIZE(code), code };
	struct sock_filter *to = code + KL_ARRAY_SIZE(first);

	memcpy(code, first, sizeof(first));
	for (size_t i = 0; i < N_ALLOWED; i++)
		*to++ = (struct sock_filter)JUMP(BPF_JEQ, allowed[i], N_ALLOWED - i, 0);
	*to++ = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM);
	*to = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* Bytes of private writable memory. */
static uint64_t count_memory(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file && fscanf(file, "%*s %*s %*s %*s %*s %llu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Root becomes nobody; a former root user cannot become root again. */
static bool give_up_ids(void)
{
	uid_t user = geteuid();
	gid_t group = getegid();

	if (!user) {
		if (setgroups(0, NULL))
			return false;
		user = NOBODY;
		group = NOBODY;
	}
	return !setresgid(group, group, group) && !setresuid(user, user, user);
}

bool kl_elf_give_up_rights(void)
{
	const uint64_t bytes = MEMORY_BYTES + count_memory();
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
	const struct rlimit memory = { bytes, bytes }, nothing = { 0, 0 };

	setrlimit(RLIMIT_DATA, &memory);
	setrlimit(RLIMIT_CORE, &nothing);
	setrlimit(RLIMIT_FSIZE, &nothing);
	if (!give_up_ids() || syscall(SYS_capset, &header, none))
		return false;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NAME, "kernlens-names", 0, 0, 0);
	filter_calls();
	return true;
}
