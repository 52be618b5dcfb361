// SPDX-License-Identifier: GPL-2.0
/* Symbolic names for the arguments of system calls, from the C library's headers. */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/base.h"
#include "words.h"

#ifndef SIGSTKFLT
#define SIGSTKFLT 16
#endif
/* The kernel's value; the C library defines O_LARGEFILE as 0 on x86-64. */
#define KERNEL_O_LARGEFILE 0100000

/* clang-format off: tables read better filled */
static const struct kl_word open_modes[] = { KL_WORD(O_RDONLY), KL_WORD(O_WRONLY),
					     KL_WORD(O_RDWR) };

static const struct kl_word open_flags[] = {
	{ O_TMPFILE, "O_TMPFILE" },
	{ O_SYNC, "O_SYNC" },
	KL_WORD(O_CREAT),
	KL_WORD(O_EXCL),
	KL_WORD(O_NOCTTY),
	KL_WORD(O_TRUNC),
	KL_WORD(O_APPEND),
	KL_WORD(O_NONBLOCK),
	KL_WORD(O_DSYNC),
	KL_WORD(O_ASYNC),
	KL_WORD(O_DIRECT),
	{ KERNEL_O_LARGEFILE, "O_LARGEFILE" },
	KL_WORD(O_DIRECTORY),
	KL_WORD(O_NOFOLLOW),
	KL_WORD(O_NOATIME),
	KL_WORD(O_CLOEXEC),
	KL_WORD(O_PATH),
};

/* The meaning of 0x200 depends on the system call. */
static const struct kl_word at_flags[] = {
	KL_WORD(AT_SYMLINK_NOFOLLOW), { 0x200, "AT_REMOVEDIR/AT_EACCESS" },
	KL_WORD(AT_SYMLINK_FOLLOW),   KL_WORD(AT_NO_AUTOMOUNT),
	KL_WORD(AT_EMPTY_PATH),	      KL_WORD(AT_STATX_FORCE_SYNC),
	KL_WORD(AT_STATX_DONT_SYNC),  { 0x8000, "AT_RECURSIVE" },
};

static const struct kl_word prot_none[] = { KL_WORD(PROT_NONE) };
static const struct kl_word prot[] = {
	KL_WORD(PROT_READ), KL_WORD(PROT_WRITE),     KL_WORD(PROT_EXEC),
	{ 8, "PROT_SEM" },  KL_WORD(PROT_GROWSDOWN), KL_WORD(PROT_GROWSUP),
};

static const struct kl_word map_types[] = { { 1, "MAP_SHARED" },
					    { 2, "MAP_PRIVATE" },
					    { 3, "MAP_SHARED_VALIDATE" } };
static const struct kl_word map_flags[] = {
	KL_WORD(MAP_FIXED),	KL_WORD(MAP_ANONYMOUS),	      { 0x40, "MAP_32BIT" },
	KL_WORD(MAP_GROWSDOWN), KL_WORD(MAP_DENYWRITE),	      KL_WORD(MAP_EXECUTABLE),
	KL_WORD(MAP_LOCKED),	KL_WORD(MAP_NORESERVE),	      KL_WORD(MAP_POPULATE),
	KL_WORD(MAP_NONBLOCK),	KL_WORD(MAP_STACK),	      KL_WORD(MAP_HUGETLB),
	KL_WORD(MAP_SYNC),	KL_WORD(MAP_FIXED_NOREPLACE), { 0x4000000, "MAP_UNINITIALIZED" },
};

static const struct kl_word signals[] = {
	KL_WORD(SIGHUP),    KL_WORD(SIGINT),  KL_WORD(SIGQUIT),	 KL_WORD(SIGILL),  KL_WORD(SIGTRAP),
	KL_WORD(SIGABRT),   KL_WORD(SIGBUS),  KL_WORD(SIGFPE),	 KL_WORD(SIGKILL), KL_WORD(SIGUSR1),
	KL_WORD(SIGSEGV),   KL_WORD(SIGUSR2), KL_WORD(SIGPIPE),	 KL_WORD(SIGALRM), KL_WORD(SIGTERM),
	KL_WORD(SIGSTKFLT), KL_WORD(SIGCHLD), KL_WORD(SIGCONT),	 KL_WORD(SIGSTOP), KL_WORD(SIGTSTP),
	KL_WORD(SIGTTIN),   KL_WORD(SIGTTOU), KL_WORD(SIGURG),	 KL_WORD(SIGXCPU), KL_WORD(SIGXFSZ),
	KL_WORD(SIGVTALRM), KL_WORD(SIGPROF), KL_WORD(SIGWINCH), KL_WORD(SIGIO),   KL_WORD(SIGPWR),
	KL_WORD(SIGSYS),
};

static const struct kl_word clone_flags[] = {
	{ 0x80, "CLONE_NEWTIME" },
	KL_WORD(CLONE_VM),
	KL_WORD(CLONE_FS),
	KL_WORD(CLONE_FILES),
	KL_WORD(CLONE_SIGHAND),
	KL_WORD(CLONE_PIDFD),
	KL_WORD(CLONE_PTRACE),
	KL_WORD(CLONE_VFORK),
	KL_WORD(CLONE_PARENT),
	KL_WORD(CLONE_THREAD),
	KL_WORD(CLONE_NEWNS),
	KL_WORD(CLONE_SYSVSEM),
	KL_WORD(CLONE_SETTLS),
	KL_WORD(CLONE_PARENT_SETTID),
	KL_WORD(CLONE_CHILD_CLEARTID),
	KL_WORD(CLONE_DETACHED),
	KL_WORD(CLONE_UNTRACED),
	KL_WORD(CLONE_CHILD_SETTID),
	KL_WORD(CLONE_NEWCGROUP),
	KL_WORD(CLONE_NEWUTS),
	KL_WORD(CLONE_NEWIPC),
	KL_WORD(CLONE_NEWUSER),
	KL_WORD(CLONE_NEWPID),
	KL_WORD(CLONE_NEWNET),
	KL_WORD(CLONE_IO),
	{ 0x100000000ull, "CLONE_CLEAR_SIGHAND" },
	{ 0x200000000ull, "CLONE_INTO_CGROUP" },
};

static const struct kl_word whence[] = {
	KL_WORD(SEEK_SET),  KL_WORD(SEEK_CUR),	KL_WORD(SEEK_END),
	KL_WORD(SEEK_DATA), KL_WORD(SEEK_HOLE),
};

static const struct kl_word families[] = {
	KL_WORD(AF_UNSPEC),	KL_WORD(AF_UNIX),      KL_WORD(AF_INET),  KL_WORD(AF_AX25),
	KL_WORD(AF_IPX),	KL_WORD(AF_APPLETALK), KL_WORD(AF_INET6), KL_WORD(AF_KEY),
	KL_WORD(AF_NETLINK),	KL_WORD(AF_PACKET),    KL_WORD(AF_RDS),	  KL_WORD(AF_PPPOX),
	KL_WORD(AF_IB),		KL_WORD(AF_MPLS),      KL_WORD(AF_CAN),	  KL_WORD(AF_TIPC),
	KL_WORD(AF_BLUETOOTH),	KL_WORD(AF_IUCV),      KL_WORD(AF_RXRPC), KL_WORD(AF_PHONET),
	KL_WORD(AF_IEEE802154), KL_WORD(AF_ALG),       KL_WORD(AF_NFC),	  KL_WORD(AF_VSOCK),
	KL_WORD(AF_KCM),	KL_WORD(AF_QIPCRTR),   KL_WORD(AF_SMC),	  KL_WORD(AF_XDP),
	{ 45, "AF_MCTP" },
};

static const struct kl_word socket_types[] = {
	KL_WORD(SOCK_STREAM),	 KL_WORD(SOCK_DGRAM), KL_WORD(SOCK_RAW),    KL_WORD(SOCK_RDM),
	KL_WORD(SOCK_SEQPACKET), KL_WORD(SOCK_DCCP),  KL_WORD(SOCK_PACKET),
};

static const struct kl_word socket_flags[] = { KL_WORD(SOCK_CLOEXEC), KL_WORD(SOCK_NONBLOCK) };

static const struct kl_word futex_ops[] = {
	KL_WORD(FUTEX_WAIT),	       KL_WORD(FUTEX_WAKE),	   KL_WORD(FUTEX_FD),
	KL_WORD(FUTEX_REQUEUE),	       KL_WORD(FUTEX_CMP_REQUEUE), KL_WORD(FUTEX_WAKE_OP),
	KL_WORD(FUTEX_LOCK_PI),	       KL_WORD(FUTEX_UNLOCK_PI),   KL_WORD(FUTEX_TRYLOCK_PI),
	KL_WORD(FUTEX_WAIT_BITSET),    KL_WORD(FUTEX_WAKE_BITSET), KL_WORD(FUTEX_WAIT_REQUEUE_PI),
	KL_WORD(FUTEX_CMP_REQUEUE_PI), { 13, "FUTEX_LOCK_PI2" },
};

static const struct kl_word futex_flags[] = { KL_WORD(FUTEX_PRIVATE_FLAG),
					      KL_WORD(FUTEX_CLOCK_REALTIME) };

static const struct kl_word clocks[] = {
	KL_WORD(CLOCK_REALTIME),
	KL_WORD(CLOCK_MONOTONIC),
	KL_WORD(CLOCK_PROCESS_CPUTIME_ID),
	KL_WORD(CLOCK_THREAD_CPUTIME_ID),
	KL_WORD(CLOCK_MONOTONIC_RAW),
	KL_WORD(CLOCK_REALTIME_COARSE),
	KL_WORD(CLOCK_MONOTONIC_COARSE),
	KL_WORD(CLOCK_BOOTTIME),
	KL_WORD(CLOCK_REALTIME_ALARM),
	KL_WORD(CLOCK_BOOTTIME_ALARM),
	KL_WORD(CLOCK_TAI),
};

static const struct kl_word fcntl_commands[] = {
	KL_WORD(F_DUPFD),      KL_WORD(F_GETFD),       KL_WORD(F_SETFD),
	KL_WORD(F_GETFL),      KL_WORD(F_SETFL),       KL_WORD(F_GETLK),
	KL_WORD(F_SETLK),      KL_WORD(F_SETLKW),      KL_WORD(F_SETOWN),
	KL_WORD(F_GETOWN),     KL_WORD(F_SETSIG),      KL_WORD(F_GETSIG),
	KL_WORD(F_SETOWN_EX),  KL_WORD(F_GETOWN_EX),   KL_WORD(F_OFD_GETLK),
	KL_WORD(F_OFD_SETLK),  KL_WORD(F_OFD_SETLKW),  KL_WORD(F_SETLEASE),
	KL_WORD(F_GETLEASE),   KL_WORD(F_NOTIFY),      KL_WORD(F_DUPFD_CLOEXEC),
	KL_WORD(F_SETPIPE_SZ), KL_WORD(F_GETPIPE_SZ),  KL_WORD(F_ADD_SEALS),
	KL_WORD(F_GET_SEALS),  KL_WORD(F_GET_RW_HINT), KL_WORD(F_SET_RW_HINT),
};

static const struct kl_word advice[] = {
	KL_WORD(MADV_NORMAL),	  KL_WORD(MADV_RANDOM),		KL_WORD(MADV_SEQUENTIAL),
	KL_WORD(MADV_WILLNEED),	  KL_WORD(MADV_DONTNEED),	KL_WORD(MADV_FREE),
	KL_WORD(MADV_REMOVE),	  KL_WORD(MADV_DONTFORK),	KL_WORD(MADV_DOFORK),
	KL_WORD(MADV_MERGEABLE),  KL_WORD(MADV_UNMERGEABLE),	KL_WORD(MADV_HUGEPAGE),
	KL_WORD(MADV_NOHUGEPAGE), KL_WORD(MADV_DONTDUMP),	KL_WORD(MADV_DODUMP),
	KL_WORD(MADV_WIPEONFORK), KL_WORD(MADV_KEEPONFORK),	KL_WORD(MADV_COLD),
	KL_WORD(MADV_PAGEOUT),	  { 22, "MADV_POPULATE_READ" }, { 23, "MADV_POPULATE_WRITE" },
	{ 25, "MADV_COLLAPSE" },  KL_WORD(MADV_HWPOISON),
};

/* WUNTRACED and WSTOPPED are the same bit. */
static const struct kl_word wait_options[] = {
	KL_WORD(WNOHANG),	  KL_WORD(WUNTRACED),	      KL_WORD(WEXITED),
	KL_WORD(WCONTINUED),	  KL_WORD(WNOWAIT),	      { 0x20000000, "__WNOTHREAD" },
	{ 0x40000000, "__WALL" }, { 0x80000000, "__WCLONE" },
};

static const struct kl_word poll_events[] = {
	KL_WORD(POLLIN),     KL_WORD(POLLPRI),	  KL_WORD(POLLOUT),    KL_WORD(POLLERR),
	KL_WORD(POLLHUP),    KL_WORD(POLLNVAL),	  KL_WORD(POLLRDNORM), KL_WORD(POLLRDBAND),
	KL_WORD(POLLWRNORM), KL_WORD(POLLWRBAND), KL_WORD(POLLMSG),    KL_WORD(POLLRDHUP),
};

static const struct kl_word limits[] = {
	KL_WORD(RLIMIT_CPU),	  KL_WORD(RLIMIT_FSIZE),  KL_WORD(RLIMIT_DATA),
	KL_WORD(RLIMIT_STACK),	  KL_WORD(RLIMIT_CORE),	  KL_WORD(RLIMIT_RSS),
	KL_WORD(RLIMIT_NPROC),	  KL_WORD(RLIMIT_NOFILE), KL_WORD(RLIMIT_MEMLOCK),
	KL_WORD(RLIMIT_AS),	  KL_WORD(RLIMIT_LOCKS),  KL_WORD(RLIMIT_SIGPENDING),
	KL_WORD(RLIMIT_MSGQUEUE), KL_WORD(RLIMIT_NICE),	  KL_WORD(RLIMIT_RTPRIO),
	KL_WORD(RLIMIT_RTTIME),
};

#define CHOICE(words, mask) .choices = words, .n_choices = KL_ARRAY_SIZE(words), .choice_mask = mask
#define FLAGS(words) .flags = words, .n_flags = KL_ARRAY_SIZE(words)

const struct kl_words kl_words_call[KL_FORMAT_COUNT] = {
	[KL_FORMAT_open_flags] = { CHOICE(open_modes, O_ACCMODE), FLAGS(open_flags) },
	[KL_FORMAT_at_flags] = { FLAGS(at_flags) },
	[KL_FORMAT_prot] = { CHOICE(prot_none, ~0ull), FLAGS(prot) },
	[KL_FORMAT_map_flags] = { CHOICE(map_types, 0xf), FLAGS(map_flags) },
	[KL_FORMAT_signal] = { CHOICE(signals, ~0ull) },
	[KL_FORMAT_clone_flags] = { CHOICE(signals, 0x7f), FLAGS(clone_flags) },
	[KL_FORMAT_whence] = { CHOICE(whence, ~0ull) },
	[KL_FORMAT_family] = { CHOICE(families, ~0ull) },
	[KL_FORMAT_sock_family] = { CHOICE(families, ~0ull) },
	[KL_FORMAT_socktype] = { CHOICE(socket_types, 0xf), FLAGS(socket_flags) },
	[KL_FORMAT_futex_op] = { CHOICE(futex_ops, 0x7f), FLAGS(futex_flags) },
	[KL_FORMAT_clockid] = { CHOICE(clocks, ~0ull) },
	[KL_FORMAT_fcntl_cmd] = { CHOICE(fcntl_commands, ~0ull) },
	[KL_FORMAT_madvise] = { CHOICE(advice, ~0ull) },
	[KL_FORMAT_wait_options] = { FLAGS(wait_options) },
	[KL_FORMAT_poll_events] = { FLAGS(poll_events) },
	[KL_FORMAT_rlimit] = { CHOICE(limits, ~0ull) },
};

/* clang-format on */

const char *kl_word_find(const struct kl_word *words, size_t n, uint64_t number)
{
	for (size_t i = 0; i < n; i++)
		if (words[i].number == number)
			return words[i].text;
	return NULL;
}

const char *kl_signal_name(unsigned int number)
{
	return kl_word_find(signals, KL_ARRAY_SIZE(signals), number);
}
