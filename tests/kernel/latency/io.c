// SPDX-License-Identifier: GPL-2.0
/*
 * Waits for I/O: reads from a disk that takes 5 ms for each read, namely the kernel's null_blk with
 * a timer. It is read directly, through the page cache, and through a loop device, whose kernel
 * thread reads the disk. Count and sum are compared with the kernel's own delay accounting
 * (taskstats).
 */
#include <linux/genetlink.h>
#include <linux/loop.h>
#include <linux/taskstats.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "latency.h"

#define DISK "/dev/nullb0"
#define READ_MS 5.0
#define READS 40
#define BYTES 4096

/* ---------------------------------------------------------- delay accounting */

struct message {
	struct nlmsghdr head;
	struct genlmsghdr generic;
	char attributes[4096];
};

/* Sends one attribute to the kernel; leaves the answer in @m. */
static void ask(int fd, struct message *m, u16 family, u8 command, u16 type, const void *value,
		u16 bytes)
{
	struct nlattr *attribute = (void *)m->attributes;
	ssize_t got;

	*m = (struct message){
		.head = { .nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST },
		.generic = { .cmd = command, .version = 1 },
	};
	attribute->nla_type = type;
	attribute->nla_len = NLA_HDRLEN + bytes;
	memcpy(m->attributes + NLA_HDRLEN, value, bytes);
	m->head.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN + NLA_ALIGN(attribute->nla_len);
	if (send(fd, m, m->head.nlmsg_len, 0) < 0)
		bail("send");
	got = recv(fd, m, sizeof(*m), 0);
	if (got < (ssize_t)sizeof(m->head) || m->head.nlmsg_type == NLMSG_ERROR)
		bail("the kernel refuses netlink command %u", command);
}

static const void *find_attribute(const char *at, const char *end, u16 type)
{
	while (at < end) {
		const struct nlattr *attribute = (const void *)at;

		if ((attribute->nla_type & NLA_TYPE_MASK) == type)
			return at + NLA_HDRLEN;
		at += NLA_ALIGN(attribute->nla_len);
	}
	bail("no attribute %u", type);
}

static struct taskstats read_delays(u32 tid)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	struct taskstats found;
	struct message m = {};
	const char *answer;
	u16 family;

	ask(fd, &m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME,
	    sizeof(TASKSTATS_GENL_NAME));
	memcpy(&family,
	       find_attribute(m.attributes, (char *)&m + m.head.nlmsg_len, CTRL_ATTR_FAMILY_ID), 2);
	ask(fd, &m, family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, &tid, sizeof(tid));
	answer = find_attribute(m.attributes, (char *)&m + m.head.nlmsg_len,
				TASKSTATS_TYPE_AGGR_PID);
	memcpy(&found, find_attribute(answer, (char *)&m + m.head.nlmsg_len, TASKSTATS_TYPE_STATS),
	       sizeof(found));
	close(fd);
	return found;
}

/* Column 42 of /proc/PID/stat, in hundredths of a second. */
static u64 read_ticks(int tid)
{
	char path[64], line[1024];
	const char *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		bail("%s", path);
	fclose(file);
	at = strrchr(line, ')');
	for (int column = 2; at && column < 42; column++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : ~0ull;
}

/* ------------------------------------------------------------------- reading */

static void run(const char *command)
{
	if (system(command))
		bail("%s", command);
}

static void *aligned(void)
{
	void *to = NULL;

	if (posix_memalign(&to, BYTES, BYTES))
		bail("memory");
	return to;
}

/*
 * @first: the first page to read, not read by any other test; @by_thread: a kernel thread, not the
 * timer, ends the waits
 */
struct disk {
	const char *what, *path;
	int flags, first;
	bool by_thread;
};

/* Reads single pages far apart, so that there is no readahead; then waits to be killed. */
static int start_reader(const struct disk *disk, int done)
{
	int pid = fork(), fd;
	char *to;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	kl_pin(0);
	to = aligned();
	fd = open(disk->path, O_RDONLY | disk->flags);
	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		_exit(1);
	for (int i = 0; i < READS; i++)
		if (pread(fd, to, BYTES, (i * 64l + disk->first) * BYTES) != BYTES)
			_exit(1);
	if (write(done, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* How a reader's waits for I/O ended. */
struct ended {
	u64 waits, by_timer, by_thread, by_softirq;
	s32 syscall;
	bool stacks;
};

static bool is_timer(const struct kl_abi_latency_hop *hop, u64 function)
{
	for (u32 i = 0; i < n_sources; i++)
		if (sources[i].id == hop->id && sources[i].number == function)
			return hop->kind == KL_LATENCY_WAKER_TIMER;
	return false;
}

static bool is_softirq(const struct kl_abi_latency_hop *hop, const char *name)
{
	for (u32 i = 0; i < n_sources; i++)
		if (sources[i].id == hop->id && !strcmp(sources[i].name, name))
			return hop->kind == KL_LATENCY_WAKER_SOFTIRQ;
	return false;
}

/* Is this hop a kernel thread that waited for the disk's timer and did no other work in between? */
static bool is_thread(const struct kl_abi_latency_hop *hop, u64 function)
{
	for (u32 i = 0; i < n_tasks; i++)
		if (hop->kind == KL_LATENCY_WAKER_TASK && tasks[i].id == hop->id)
			return !strncmp(tasks[i].comm, "kworker", 7) &&
			       is_timer(hop + 1, function) &&
			       !(hop[1].flags & KL_LATENCY_HOP_UNCERTAIN);
	return false;
}

static struct ended how_ended(u32 id, u64 function)
{
	struct ended is = { .syscall = -1, .stacks = true };

	for (u32 i = 0; i < n_entries; i++) {
		const struct kl_abi_latency_entry *e = &entries[i];

		if (e->task != id || e->state != KL_LATENCY_IO)
			continue;
		is.waits += e->asleep.count;
		is.stacks &= e->kstack && e->ustack;
		is.syscall = e->syscall;
		if (is_timer(e->hop, function))
			is.by_timer += e->asleep.count;
		else if (is_thread(e->hop, function))
			is.by_thread += e->asleep.count;
		else if (is_softirq(e->hop, "BLOCK"))
			is.by_softirq += e->asleep.count;
		else
			print_entry("not by the disk", e);
	}
	return is;
}

static u64 address_of(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], found[256];
	u64 address = 0;

	while (file && !address && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx %*c %255s", &address, found) != 2 || strcmp(found, name))
			address = 0;
	if (file)
		fclose(file);
	return address;
}

/* Compares the profile's data about the reader with the kernel's accounting. */
static void compare(const char *what, const struct kl_abi_latency_task *t,
		    const struct taskstats *delays, u64 ticks)
{
	const struct kl_abi_latency_sum *io = &t->in[KL_LATENCY_IO];
	double theirs = delays->blkio_delay_total / 1e6, ours = ms(io->sum);
	double most = ms(t->in[KL_LATENCY_RUNNING].sum + t->in[KL_LATENCY_RUNNABLE].sum);
	char title[120];

	printf("# %s: %llu waits, %.6f ms; the kernel: %llu, %.6f ms, %llu ticks\n", what,
	       (unsigned long long)io->count, ours, (unsigned long long)delays->blkio_count, theirs,
	       (unsigned long long)ticks);
	snprintf(title, sizeof(title), "%s: as many waits for I/O as delay accounting has", what);
	/* With two processors a read may complete before the reader starts to wait. */
	tap_result(io->count == delays->blkio_count && io->count >= (exact ? READS : READS * 3 / 4),
		   title, "%llu, %llu", (unsigned long long)io->count,
		   (unsigned long long)delays->blkio_count);
	/*
	 * The kernel's measurement begins before the switch, while the task is running, and ends
	 * after the wakeup's tracepoint, while it is runnable.
	 */
	snprintf(title, sizeof(title), "%s: as long as that", what);
	tap_result(exact ? theirs >= ours && theirs - ours <= 0.02 * io->count :
			   theirs >= ours && theirs - ours <= most,
		   title, "%.6f of %.6f ms", ours, theirs);
	snprintf(title, sizeof(title), "%s: as /proc says it in hundredths of a second", what);
	tap_check(ticks == delays->blkio_delay_total / 10000000, title);
	snprintf(title, sizeof(title), "%s: as long as the disk takes", what);
	tap_result(ours > (exact ? READS : io->count) * READ_MS * (exact ? 0.99 : 0.8) &&
			   (!exact || ours < READS * READ_MS * 1.05),
		   title, "%.3f ms", ours);
}

/*
 * With one processor the loop device's kernel thread ends the wait itself; otherwise it leaves that
 * to a softirq.
 */
static void judge(const struct disk *disk, const struct ended *is, u64 count)
{
	u64 right = disk->by_thread ? is->by_thread + (exact ? 0 : is->by_softirq) : is->by_timer;
	char title[120];

	snprintf(title, sizeof(title), "%s: in the call, with both stacks", disk->what);
	tap_result(is->syscall == SYS_pread64 && is->stacks, title, "%d", is->syscall);
	snprintf(title, sizeof(title), "%s: woken by %s alone", disk->what,
		 disk->by_thread ? "the kernel thread that waited for the disk" :
				   "the disk's timer");
	tap_result(right == count && is->waits == count, title,
		   "timer %llu, thread %llu, softirq %llu of %llu, in entries %llu",
		   (unsigned long long)is->by_timer, (unsigned long long)is->by_thread,
		   (unsigned long long)is->by_softirq, (unsigned long long)count,
		   (unsigned long long)is->waits);
}

static void read_disk(struct disk disk, u64 function)
{
	int fd = open_profile(ALL_FLAGS, 0, 0), done[2], reader;
	const struct kl_abi_latency_task *t;
	struct taskstats delays;
	struct ended is;
	char byte;
	u64 ticks;

	if (pipe(done))
		bail("pipe");
	start(fd);
	reader = start_reader(&disk, done[1]);
	close(done[1]);
	if (read(done[0], &byte, 1) != 1)
		bail("the reader of %s has failed", disk.path);
	sleep_ms(20);
	stop(fd);
	delays = read_delays(reader);
	ticks = read_ticks(reader);
	fetch(fd);
	t = task_of(reader);
	if (!t)
		bail("the reader is not there");
	print_task(disk.what, t);
	compare(disk.what, t, &delays, ticks);
	is = how_ended(t->id, function);
	judge(&disk, &is, t->in[KL_LATENCY_IO].count);
	tap_check(add_up(), "states add up");
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
	close(done[0]);
	close(fd);
}

void test_io(void)
{
	u64 function;

	if (system("modprobe -nq null_blk")) {
		tap_skip("waits for I/O", "this kernel has no null_blk");
		return;
	}
	/* A task has the data for it only if accounting was on when the task was created. */
	run("echo 1 >/proc/sys/kernel/task_delayacct");
	/* Since 6.12 delay accounting misses waits of tasks that are not dequeued immediately. */
	if (!system("grep -qs DELAY_DEQUEUE /sys/kernel/debug/sched/features"))
		run("echo NO_DELAY_DEQUEUE >/sys/kernel/debug/sched/features");
	run("modprobe null_blk irqmode=2 completion_nsec=5000000 gb=1");
	run("modprobe loop && losetup /dev/loop0 " DISK);
	function = address_of("null_cmd_timer_expired");
	if (!function)
		bail("no function of null_blk's timer");
	read_disk((struct disk){ "a disk", DISK, O_DIRECT, 0, false }, function);
	read_disk((struct disk){ "through the page cache", DISK, 0, 1, false }, function);
	read_disk((struct disk){ "a loop device", "/dev/loop0", O_DIRECT, 2, true }, function);
	run("losetup -d /dev/loop0");
	run("echo 0 >/proc/sys/kernel/task_delayacct");
	run("rmmod null_blk loop");
	if (!system("grep -qs DELAY_DEQUEUE /sys/kernel/debug/sched/features"))
		run("echo DELAY_DEQUEUE >/sys/kernel/debug/sched/features");
}
