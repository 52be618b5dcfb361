// SPDX-License-Identifier: GPL-2.0
/*
 * What a system call waits for, for detail/wait.c: derived from its number and arguments, what
 * they point to in the program's memory, and the files of its descriptors. Locks are in
 * detail/lock.c.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/nospec.h>
#include <linux/pipe_fs_i.h>
#include <linux/poll.h>
#include <linux/sched/task.h>
#include <net/af_unix.h>
#include <net/inet_sock.h>
#include <uapi/linux/wait.h>
#include <asm/unistd.h>

#include "../../compat/socket.h"
#include "../files.h"
#include "detail.h"

#define POLLED_MAX 64
#define POLLED_SEARCHED 4 /* the other ends are searched for at most this many */

enum way {
	OTHERWISE,
	READS, /* the file of argument 0, as are the next ones */
	WRITES,
	ACCEPTS,
	CONNECTS,
	OTHER_ON_FILE,
	SENDS, /* to argument 0 from argument 1 */
	TEES, /* from argument 0 to argument 1 */
	SPLICES, /* from argument 0 to argument 2 */
	OPENS, /* the path in argument 0 */
	OPENS_AT, /* the path in argument 1 */
	FUTEX,
	FUTEXES,
	POLLS,
	SELECTS,
	EPOLLS,
	CHILD,
	CHILD_BY_KIND,
	FORKS,
	SLEEPS,
	ANY_SIGNAL,
	SIGNALS_NOT_IN,
	SIGNALS_IN,
	FLOCKS,
	FCNTL,
	IPC,
};

static const u8 ways[] = {
	[__NR_read] = READS,
	[__NR_pread64] = READS,
	[__NR_readv] = READS,
	[__NR_preadv] = READS,
	[__NR_preadv2] = READS,
	[__NR_recvfrom] = READS,
	[__NR_recvmsg] = READS,
	[__NR_recvmmsg] = READS,
	[__NR_mq_timedreceive] = READS,
	[__NR_write] = WRITES,
	[__NR_pwrite64] = WRITES,
	[__NR_writev] = WRITES,
	[__NR_pwritev] = WRITES,
	[__NR_pwritev2] = WRITES,
	[__NR_sendto] = WRITES,
	[__NR_sendmsg] = WRITES,
	[__NR_sendmmsg] = WRITES,
	[__NR_mq_timedsend] = WRITES,
	[__NR_vmsplice] = WRITES,
	[__NR_accept] = ACCEPTS,
	[__NR_accept4] = ACCEPTS,
	[__NR_connect] = CONNECTS,
	[__NR_ioctl] = OTHER_ON_FILE,
	[__NR_fsync] = OTHER_ON_FILE,
	[__NR_fdatasync] = OTHER_ON_FILE,
	[__NR_ftruncate] = OTHER_ON_FILE,
	[__NR_fallocate] = OTHER_ON_FILE,
	[__NR_getdents] = OTHER_ON_FILE,
	[__NR_getdents64] = OTHER_ON_FILE,
	[__NR_fstat] = OTHER_ON_FILE,
	[__NR_close] = OTHER_ON_FILE,
	[__NR_syncfs] = OTHER_ON_FILE,
	[__NR_sync_file_range] = OTHER_ON_FILE,
	[__NR_io_uring_enter] = OTHER_ON_FILE,
	[__NR_shutdown] = OTHER_ON_FILE,
	[__NR_sendfile] = SENDS,
	[__NR_tee] = TEES,
	[__NR_splice] = SPLICES,
	[__NR_copy_file_range] = SPLICES,
	[__NR_open] = OPENS,
	[__NR_creat] = OPENS,
	[__NR_openat] = OPENS_AT,
	[__NR_openat2] = OPENS_AT,
	[__NR_futex] = FUTEX,
	[__NR_futex_waitv] = FUTEXES,
	[__NR_poll] = POLLS,
	[__NR_ppoll] = POLLS,
	[__NR_select] = SELECTS,
	[__NR_pselect6] = SELECTS,
	[__NR_epoll_wait] = EPOLLS,
	[__NR_epoll_pwait] = EPOLLS,
	[__NR_epoll_pwait2] = EPOLLS,
	[__NR_wait4] = CHILD,
	[__NR_waitid] = CHILD_BY_KIND,
	[__NR_clone] = FORKS,
	[__NR_vfork] = FORKS,
	[__NR_clone3] = FORKS,
	[__NR_nanosleep] = SLEEPS,
	[__NR_clock_nanosleep] = SLEEPS,
	[__NR_pause] = ANY_SIGNAL,
	[__NR_rt_sigsuspend] = SIGNALS_NOT_IN,
	[__NR_rt_sigtimedwait] = SIGNALS_IN,
	[__NR_flock] = FLOCKS,
	[__NR_fcntl] = FCNTL,
	[__NR_msgrcv] = IPC,
	[__NR_msgsnd] = IPC,
	[__NR_semop] = IPC,
	[__NR_semtimedop] = IPC,
};

static bool read_memory(struct kl_detail_sleep *s, u64 at, void *to, u32 bytes)
{
	return kl_detail_read_memory(s->d, at, to, bytes);
}

/* ------------------------------------------------------------ the other side */

static void search_socket(struct kl_detail_sleep *s, int fd, struct file *file)
{
	struct kl_detail_search search = { .role = KL_OTHER_PEER, .of = fd };
	struct socket *sock = sock_from_file(file);
	struct sock *peer;

	if (!sock || !sock->sk)
		return;
	if (sock->sk->sk_family == AF_UNIX) {
		peer = unix_peer_get(sock->sk);
		if (!peer)
			return;
		search.match = KL_MATCH_SOCKET;
		search.sk = peer;
		kl_detail_search(s->d, &search);
		sock_put(peer);
	} else if (sock->sk->sk_family == AF_INET || sock->sk->sk_family == AF_INET6) {
		search.match = KL_MATCH_MIRROR;
		search.sk = sock->sk;
		kl_detail_search(s->d, &search);
	}
}

/* @doing: FMODE_READ or FMODE_WRITE, the access that the task waits for. */
static void search_others(struct kl_detail_sleep *s, int fd, struct file *file, fmode_t doing)
{
	struct kl_detail_search search = { .of = fd, .file = file };

	switch (kl_detail_file_kind(file)) {
	case KL_DETAIL_FILE_PIPE:
	case KL_DETAIL_FILE_FIFO:
		search.match = KL_MATCH_PIPE;
		search.mode = doing & FMODE_READ ? FMODE_WRITE : FMODE_READ;
		search.role = doing & FMODE_READ ? KL_OTHER_WRITER : KL_OTHER_READER;
		kl_detail_search(s->d, &search);
		break;
	case KL_DETAIL_FILE_SOCKET:
		search_socket(s, fd, file);
		break;
	case KL_DETAIL_FILE_EVENTFD:
		search.match = KL_MATCH_FILE;
		search.role = KL_OTHER_HOLDER;
		kl_detail_search(s->d, &search);
		break;
	}
}

static bool add_waited_for(struct kl_detail_sleep *s, int fd, struct file *file, u32 events)
{
	if (!kl_detail_add_file(s->d, KL_DETAIL_RECORD_WAIT_ON, fd, file, 0, events))
		return false;
	return kl_detail_file_kind(file) != KL_DETAIL_FILE_SOCKET ||
	       kl_detail_add_socket(s->d, KL_DETAIL_RECORD_WAIT_SOCKET, fd, file);
}

static void explain_fd(struct kl_detail_sleep *s, int fd, fmode_t doing)
{
	struct file *file = kl_files_get(s->d->task, fd);

	if (!file)
		return;
	add_waited_for(s, fd, file, 0);
	if (doing)
		search_others(s, fd, file, doing);
	fput(file);
}

static void explain_file(struct kl_detail_sleep *s, u32 reason, fmode_t doing)
{
	s->wait.reason = reason;
	kl_detail_wait_done(s);
	explain_fd(s, s->arg[0], doing);
}

/* The task may be waiting for either file. */
static void explain_two(struct kl_detail_sleep *s, int in, int out)
{
	s->wait.reason = KL_WAIT_FILE;
	kl_detail_wait_done(s);
	explain_fd(s, in, FMODE_READ);
	explain_fd(s, out, FMODE_WRITE);
}

/* ----------------------------------------------------------- several files */

struct polled {
	struct pollfd of[POLLED_MAX];
	u32 n;
};

static void add_polled(struct kl_detail_sleep *s, const struct polled *p)
{
	s->wait.reason = KL_WAIT_POLL;
	kl_detail_wait_done(s);
	for (u32 i = 0; i < p->n; i++) {
		const struct pollfd *of = &p->of[i];
		struct file *file;
		bool room;

		if (of->fd < 0)
			continue;
		file = kl_files_get(s->d->task, of->fd);
		if (!file)
			continue;
		room = add_waited_for(s, of->fd, file, (u16)of->events);
		if (room && p->n <= POLLED_SEARCHED)
			search_others(s, of->fd, file,
				      of->events & POLLIN ? FMODE_READ : FMODE_WRITE);
		fput(file);
		if (!room)
			break;
	}
}

static void note_polled(struct kl_detail_sleep *s, struct polled *p, int fd, u32 events)
{
	if (p->n < POLLED_MAX)
		p->of[p->n++] = (struct pollfd){ .fd = fd, .events = events };
	else
		s->d->flags |= KL_DETAIL_CUT;
}

static void explain_poll(struct kl_detail_sleep *s)
{
	struct polled p = { .n = min_t(u64, s->arg[1], POLLED_MAX) };

	if (s->arg[1] > POLLED_MAX)
		s->d->flags |= KL_DETAIL_CUT;
	if (!read_memory(s, s->arg[0], p.of, p.n * sizeof(*p.of)))
		p.n = 0;
	add_polled(s, &p);
}

/* The three sets are as the program passed them until the call returns. */
static void explain_select(struct kl_detail_sleep *s)
{
	static const short events[3] = { POLLIN, POLLOUT, POLLPRI };
	u64 set[3][1024 / 64] = {};
	struct polled p = {};
	u32 n = min_t(u64, s->arg[0], 1024);

	for (u32 i = 0; i < 3; i++)
		if (s->arg[i + 1])
			read_memory(s, s->arg[i + 1], set[i], DIV_ROUND_UP(n, 64) * sizeof(u64));
	for (u32 fd = 0; fd < n; fd++) {
		u32 wanted = 0;

		for (u32 i = 0; i < 3; i++)
			wanted |= set[i][fd / 64] >> fd % 64 & 1 ? events[i] : 0;
		if (wanted)
			note_polled(s, &p, fd, wanted);
	}
	add_polled(s, &p);
}

/* epoll lists the files that it watches in its description of itself (fdinfo). */
static void explain_epoll(struct kl_detail_sleep *s)
{
	struct file *file = kl_files_get(s->d->task, s->arg[0]);
	struct kl_abi_detail_file *to = NULL;
	struct polled p = {};
	u32 at = s->d->used;
	char *line, *rest;

	if (file && kl_detail_file_kind(file) == KL_DETAIL_FILE_EPOLL &&
	    kl_detail_add_file(s->d, KL_DETAIL_RECORD_WAIT_ON, s->arg[0], file, 0, 0)) {
		/* Used only for its text: the record of the wait must come first. */
		to = (void *)(s->d->buffer + at);
		memcpy(s->d->info, (char *)(to + 1) + to->text_bytes + 1, to->info_bytes + 1);
		if (to->record.flags & KL_DETAIL_CUT)
			s->d->flags |= KL_DETAIL_CUT;
		s->d->used = at;
		s->d->records--;
	}
	if (file)
		fput(file);
	for (rest = to ? s->d->info : NULL; (line = strsep(&rest, "\n"));) {
		u32 events;
		int fd;

		if (sscanf(line, "tfd: %d events: %x", &fd, &events) == 2)
			note_polled(s, &p, fd, events & 0xffff & ~(POLLERR | POLLHUP));
	}
	add_polled(s, &p);
}

/* -------------------------------------------------------------------- the rest */

static void explain_open(struct kl_detail_sleep *s, u64 at)
{
	char *path = s->d->path;
	int got = 0;

	/* Read up to the end of a page, as the next one may not be present. */
	while (got < KL_DETAIL_PATH_BYTES_MAX - 1 && !memchr(path, 0, got)) {
		u32 bytes = min_t(u32, PAGE_SIZE - offset_in_page(at + got),
				  KL_DETAIL_PATH_BYTES_MAX - 1 - got);

		if (!read_memory(s, at + got, path + got, bytes))
			break;
		got += bytes;
	}
	path[got] = 0;
	s->path = path;
	s->wait.reason = KL_WAIT_OPEN;
	kl_detail_wait_done(s);
}

static void explain_children(struct kl_detail_sleep *s, pid_t wanted)
{
	s->wait.reason = KL_WAIT_CHILD;
	s->wait.value = wanted;
	kl_detail_wait_done(s);
	kl_detail_add_children(s->d, wanted);
}

static void explain_fork(struct kl_detail_sleep *s)
{
	struct task_struct *child = kl_detail_find_vforked(s->d);

	s->wait.reason = child ? KL_WAIT_VFORK : KL_WAIT_SYSCALL;
	if (child && kl_detail_sees(s->d, child))
		s->wait.pid = task_tgid_vnr(child);
	kl_detail_wait_done(s);
	if (child) {
		kl_detail_add_other(s->d, child, KL_OTHER_CHILD, -1, -1, 0);
		put_task_struct(child);
	}
}

static void explain_signal(struct kl_detail_sleep *s, u64 value, u32 flags)
{
	s->wait.reason = KL_WAIT_SIGNAL;
	s->wait.value = value;
	s->wait.flags |= flags;
	kl_detail_wait_done(s);
}

static void explain_signal_set(struct kl_detail_sleep *s, bool is_in)
{
	u64 set;

	if (!read_memory(s, s->arg[0], &set, sizeof(set)))
		set = is_in ? 0 : ~0ull;
	explain_signal(s, is_in ? set : ~set, KL_WAIT_FROM_MEMORY);
}

static void explain_other(struct kl_detail_sleep *s, u32 reason, u64 value)
{
	s->wait.reason = reason;
	s->wait.value = value;
	kl_detail_wait_done(s);
}

static void explain_on_file(struct kl_detail_sleep *s, enum way way)
{
	switch (way) {
	case READS:
		explain_file(s, KL_WAIT_READ, FMODE_READ);
		break;
	case WRITES:
		explain_file(s, KL_WAIT_WRITE, FMODE_WRITE);
		break;
	case ACCEPTS:
		explain_file(s, KL_WAIT_ACCEPT, 0);
		break;
	case CONNECTS:
		explain_file(s, KL_WAIT_CONNECT, FMODE_READ);
		break;
	case SENDS:
		explain_two(s, s->arg[1], s->arg[0]);
		break;
	case TEES:
		explain_two(s, s->arg[0], s->arg[1]);
		break;
	case SPLICES:
		explain_two(s, s->arg[0], s->arg[2]);
		break;
	default:
		explain_file(s, KL_WAIT_FILE, 0);
		break;
	}
}

static void explain_several(struct kl_detail_sleep *s, enum way way)
{
	if (way == POLLS)
		explain_poll(s);
	else if (way == SELECTS)
		explain_select(s);
	else
		explain_epoll(s);
}

/**
 * kl_detail_explain_call - write the records of a wait in a system call
 * @s: the wait; its system call and arguments are set
 *
 * Returns 0.
 */
int kl_detail_explain_call(struct kl_detail_sleep *s)
{
	u32 number = s->wait.syscall;
	enum way way = OTHERWISE;

	if (number < ARRAY_SIZE(ways))
		way = ways[array_index_nospec(number, ARRAY_SIZE(ways))];
	switch (way) {
	case READS ... SPLICES:
		explain_on_file(s, way);
		break;
	case OPENS:
	case OPENS_AT:
		explain_open(s, s->arg[way == OPENS_AT]);
		break;
	case FUTEX:
	case FUTEXES:
		kl_detail_explain_futex(s);
		break;
	case POLLS ... EPOLLS:
		explain_several(s, way);
		break;
	case CHILD:
		explain_children(s, max_t(int, s->arg[0], 0));
		break;
	case CHILD_BY_KIND:
		explain_children(s, (int)s->arg[0] == P_PID ? s->arg[1] : 0);
		break;
	case FORKS:
		explain_fork(s);
		break;
	case SLEEPS:
		explain_other(s, KL_WAIT_TIME, 0);
		break;
	case ANY_SIGNAL:
		explain_signal(s, ~s->d->task->blocked.sig[0], 0);
		break;
	case SIGNALS_NOT_IN:
	case SIGNALS_IN:
		explain_signal_set(s, way == SIGNALS_IN);
		break;
	case FLOCKS:
		kl_detail_explain_flock(s);
		break;
	case FCNTL:
		kl_detail_explain_record_lock(s);
		break;
	case IPC:
		explain_other(s, KL_WAIT_IPC, s->arg[0]);
		break;
	default:
		explain_other(s, KL_WAIT_SYSCALL, 0);
		break;
	}
	return 0;
}
