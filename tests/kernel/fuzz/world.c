// SPDX-License-Identifier: GPL-2.0
/*
 * What the threads of a worker share, and where arguments may be: in mapped memory, in memory that
 * ends in the middle of them, in kernel addresses, in a mapping of the device, or in pages that
 * another thread provides with a delay (userfaultfd).
 */
#include <dirent.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "fuzz.h"

#define SLOW_PAGES 8

__thread u8 *memory;
__thread u8 *room;
static __thread struct slot local[FUZZ_LOCAL];
static struct slot shared[FUZZ_SHARED];

/* Pages that arrive late: they are missing until give_pages() provides them. */
static u8 *slow;
static int slow_fd = -1;

/* Provides each page after a while; world_begin() drops them all now and then. */
static void *give_pages(void *unused)
{
	static u8 page[4096] __attribute__((aligned(4096)));
	struct uffd_msg message;

	for (u32 n = 0; read(slow_fd, &message, sizeof(message)) == sizeof(message); n++) {
		struct uffdio_copy copy = {
			.dst = message.arg.pagefault.address & ~4095ull,
			.src = (u64)(uintptr_t)page,
			.len = 4096,
		};

		if (message.event != UFFD_EVENT_PAGEFAULT)
			continue;
		sleep_ms(n % 5);
		ioctl(slow_fd, UFFDIO_COPY, &copy);
	}
	return NULL;
}

/* Creates the slow pages, if the kernel lets this user do so. */
static void make_slow_pages(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register params = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t thread;

	slow_fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (slow_fd < 0 || ioctl(slow_fd, UFFDIO_API, &api))
		return;
	slow = mmap(NULL, SLOW_PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	params.range.start = (u64)(uintptr_t)slow;
	params.range.len = SLOW_PAGES * 4096;
	if (slow == MAP_FAILED || ioctl(slow_fd, UFFDIO_REGISTER, &params) ||
	    pthread_create(&thread, NULL, give_pages, NULL))
		slow = NULL;
}

void world_init(void)
{
	for (u32 i = 0; i < FUZZ_SHARED; i++)
		shared[i].fd = -1;
	make_slow_pages();
}

static u8 *make_buffer(void)
{
	u8 *at = mmap(NULL, FUZZ_BUFFER + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);

	if (at == MAP_FAILED)
		_exit(3);
	/* The page after it is inaccessible. */
	mprotect(at + FUZZ_BUFFER, 4096, PROT_NONE);
	return at;
}

void world_thread_init(void)
{
	memory = make_buffer();
	room = make_buffer();
	for (u32 i = 0; i < FUZZ_LOCAL; i++)
		local[i].fd = -1;
}

/* Usually a sequence starts with none of its own descriptors open, so that it can be replayed. */
void world_begin(void)
{
	if (one_in(5))
		return;
	for (u32 i = 0; i < FUZZ_LOCAL; i++) {
		if (local[i].fd >= 0)
			close(local[i].fd);
		local[i].fd = -1;
	}
	if (slow && one_in(3))
		madvise(slow, SLOW_PAGES * 4096, MADV_DONTNEED);
}

void world_broken(const char *what)
{
	if (!me->broken[0])
		snprintf(me->broken, sizeof(me->broken), "%s", what);
}

/* ------------------------------------------------------------- descriptors */

struct slot *any_slot(void)
{
	return one_in(5) ? &shared[below(FUZZ_SHARED)] : &local[below(FUZZ_LOCAL)];
}

int open_device(int flags)
{
	return open(common->device, flags | O_CLOEXEC);
}

/* Returns an open descriptor, if there is one in a nearby slot. */
int any_fd(void)
{
	struct slot *slot = any_slot();

	for (u32 i = 0; slot->fd < 0 && i < FUZZ_LOCAL; i++)
		slot = &local[i];
	if (slot->fd < 0)
		*slot = (struct slot){ .fd = open_device(O_RDWR) };
	return slot->fd;
}

static int find_fd(enum role role)
{
	u32 from = below(FUZZ_LOCAL);

	for (u32 i = 0; i < FUZZ_LOCAL; i++) {
		const struct slot *slot = &local[(from + i) % FUZZ_LOCAL];

		if (slot->fd >= 0 && slot->role == role)
			return slot->fd;
	}
	return -1;
}

int session_fd(void)
{
	int fd;

	if (one_in(10))
		return any_fd();
	fd = find_fd(ROLE_SESSION);
	if (fd >= 0)
		return fd;
	op_whole_session();
	fd = find_fd(ROLE_SESSION);
	return fd >= 0 ? fd : any_fd();
}

int reader_fd(void)
{
	int fd = one_in(10) ? any_fd() : find_fd(ROLE_READER);

	if (fd < 0)
		fd = kl_reader(session_fd(), below(4));
	if (fd < 0)
		return any_fd();
	if (find_fd(ROLE_READER) != fd)
		keep_fd(fd, ROLE_READER);
	return fd;
}

void keep_fd(int fd, enum role role)
{
	struct slot *slot = any_slot();
	int old;

	if (fd < 0)
		return;
	slot->role = role;
	old = __atomic_exchange_n(&slot->fd, fd, __ATOMIC_RELAXED);
	if (old >= 0)
		close(old);
}

/*
 * Returns one of a process's children, which usually are the ones that wait; or the process itself.
 */
static s32 child_of(s32 pid)
{
	char path[60], text[300];
	ssize_t bytes;
	char *at = text;
	u32 n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return pid;
	bytes = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (bytes <= 0)
		return pid;
	text[bytes] = 0;
	for (u32 i = 0; text[i]; i++)
		n += text[i] == ' ';
	for (n = below(n); n && strchr(at, ' '); n--)
		at = strchr(at, ' ') + 1;
	return atoi(at) ?: pid;
}

/* Returns one of a process's threads. */
static s32 thread_of(s32 pid)
{
	struct dirent *one;
	char path[60];
	s32 tid = pid;
	DIR *all;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	all = opendir(path);
	if (!all)
		return pid;
	for (u32 n = 1 + below(5); n && (one = readdir(all)); n--)
		if (atoi(one->d_name))
			tid = atoi(one->d_name);
	closedir(all);
	return tid;
}

s32 any_pid(void)
{
	s32 pid;

	switch (below(8)) {
	case 0:
		return getpid();
	case 1:
		return below(400);
	case 2:
		return odd_number();
	case 3: /* of another user */
		pid = common->user[below(FUZZ_USERS)].targets[below(ZOO_KINDS)];
		break;
	default:
		pid = me->targets[below(ZOO_KINDS)];
	}
	if (pid <= 0)
		return getpid();
	if (one_in(2))
		pid = child_of(pid);
	return one_in(4) ? thread_of(pid) : pid;
}

s32 waiting_pid(void)
{
	s32 pid = child_of(me->targets[below(ZOO_WAITING)]);

	return one_in(4) ? child_of(pid) : pid;
}

/* --------------------------------------------------------------- arguments */

void mutate(void *argument, u32 bytes)
{
	u8 *byte = argument;

	for (u32 n = 1 + below(4); n; n--) {
		u64 number = odd_number();
		u32 width = 1u << below(4), to = below(bytes + 1);

		if (below(3) && bytes > 40)
			to = below(40);
		if (to + width <= bytes)
			memcpy(byte + to, &number, width);
	}
}

void *odd_place(void *own, u32 bytes)
{
	switch (below(8)) {
	case 0:
		return NULL;
	case 1:
		return (void *)odd_number();
	case 2:
		return (u8 *)own + below(9);
	case 3:
		return (void *)0xffff888000000000;
	case 4: /* the end of mapped memory */
		return memory + FUZZ_BUFFER - below(64);
	case 5: /* starts in one missing page and ends in the next */
		if (slow && bytes < 4096)
			return slow + 4096 * (1 + below(SLOW_PAGES - 1)) - below(bytes + 1);
		break;
	case 6: /* memory of a file that another process serves */
		return slow_file_memory(bytes, true) ?: own;
	default:
		if (slow && bytes <= SLOW_PAGES * 4096)
			return slow;
	}
	return own;
}

/*
 * Is it in the slow pages? Arguments are copied only to these and to the slow file: other odd
 * places belong to the kernel, to nothing, or to something that is in use here.
 */
static bool is_slow(const void *at)
{
	return slow && (u8 *)at >= slow && (u8 *)at < slow + SLOW_PAGES * 4096;
}

/* Writes to memory whose pages arrive late, without a signal if they do not arrive. */
static void put_at(void *to, const void *from, u32 bytes)
{
	struct iovec mine = { (void *)from, bytes }, its = { to, bytes };

	if ((is_slow(to) && (u8 *)to + bytes <= slow + SLOW_PAGES * 4096) || slow_file_has(to))
		process_vm_writev(getpid(), &mine, 1, &its, 1, 0);
}

int try_call(int fd, unsigned long command, void *argument, u32 bytes)
{
	void *at = argument;
	u32 *words = argument;

	me->calls++;
	if (bytes >= sizeof(u32) && !words[0])
		words[0] = bytes;
	if (bytes && one_in(14))
		mutate(argument, bytes);
	if (bytes && one_in(24)) {
		at = odd_place(argument, bytes);
		put_at(at, argument, bytes);
	}
	if (bytes && bytes < 4096 && at != argument && !is_slow(at) && (u8 *)at >= (u8 *)argument &&
	    (u8 *)at < (u8 *)argument + bytes)
		at = memcpy(memory, argument, bytes); /* there is no room after it on the stack */
	common->tried[_IOC_NR(command) % FUZZ_CALLS]++;
	if (ioctl(fd, command, at) < 0)
		return -errno;
	me->successes++;
	common->accepted[_IOC_NR(command) % FUZZ_CALLS]++;
	return 0;
}
