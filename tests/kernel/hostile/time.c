// SPDX-License-Identifier: GPL-2.0
/*
 * How long calls keep other tasks from the CPU, on one CPU whose clock counts instructions, so all
 * figures are the same in each run. A real-time process gets the CPU as soon as the kernel allows
 * it; on Debian's kernels, which are not preemptible in kernel mode, that is where a call offers to
 * reschedule.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "hostile.h"

/* A million instructions of the emulator: a third of a millisecond on a real processor. */
#define BOUND_NS 1000000
#define THREADS 10000
#define GENERATIONS 200
#define FOLDERS 1900
#define DEEP_FILES 500
#define PIPES 199500
#define MAPS 1000

#define KL_VARIABLE(id, name, ...) V_##name = id,
enum {
#include "variables.def"
};
#undef KL_VARIABLE

/* Usage of threads; a process's value is the sum over its threads. */
static const u32 sums[] = {
	V_cpu_time,   V_utime,	    V_stime,	     V_run_delay,
	V_runs,	      V_migrations, V_nvcsw,	     V_nivcsw,
	V_min_faults, V_maj_faults, V_io_read_bytes, V_io_write_bytes,
	V_io_reads,   V_io_writes,  V_io_read_chars, V_io_write_chars,
};
#define SUMS (sizeof(sums) / sizeof(*sums))

static pid_t target; /* the process that the calls are about */
static int session;

static void measure(const char *name, int (*call)(void), int wanted)
{
	u64 begun, took, worst;
	char title[120];
	int got;

	sleep_ms(5);
	watch->worst_ns = 0;
	begun = now_ns();
	got = call();
	took = now_ns() - begun;
	sleep_ms(5);
	worst = watch->worst_ns;
	snprintf(title, sizeof(title), "%s: returns the requested result", name);
	tap_result(got == wanted, title, "%d, not %d; %s", got, wanted, kl_why(device));
	snprintf(title, sizeof(title), "%s: others get the CPU meanwhile", name);
	tap_result(worst < BOUND_NS, title, "not for %llu us", (unsigned long long)worst / 1000);
	printf("# %s: %llu us, others waited %llu us at most\n", name,
	       (unsigned long long)took / 1000, (unsigned long long)worst / 1000);
}

static int do_nothing(void)
{
	u64 until = now_ns() + 20000000;

	while (now_ns() < until)
		;
	return 0;
}

/* ------------------------------------------------------------------- threads */

static int inspect(pid_t *pid, u32 flags)
{
	struct kl_abi_inspect call = inspect_of(pid, sums, SUMS);
	int error;

	call.flags |= flags;
	error = kl_call(device, KL_IOC_INSPECT, &call);
	return error ?: (int)call.n_there;
}

static int inspect_one(void)
{
	return inspect(&target, 0);
}

static int inspect_threads(void)
{
	return inspect(&target, KL_INSPECT_THREADS);
}

static int inspect_all(void)
{
	return inspect(NULL, KL_INSPECT_THREADS) > THREADS;
}

static int inspect_no_room(void)
{
	struct kl_abi_inspect call = inspect_of(NULL, sums, SUMS);

	call.flags |= KL_INSPECT_THREADS;
	call.room = 0;
	return kl_call(device, KL_IOC_INSPECT, &call) ?: call.n_there > THREADS;
}

static int inspect_same(void)
{
	static u32 same[KL_INSPECT_VARIABLES_MAX];
	struct kl_abi_inspect call = inspect_of(&target, same, KL_INSPECT_VARIABLES_MAX);

	for (u32 i = 0; i < KL_INSPECT_VARIABLES_MAX; i++)
		same[i] = V_cpu_time;
	return kl_call(device, KL_IOC_INSPECT, &call);
}

static int count_cpus(void)
{
	struct kl_abi_cpus call = { .size = sizeof(call) };

	return kl_call(device, KL_IOC_CPUS, &call) ?: call.threads > THREADS;
}

static int read_top(void)
{
	char text[4096];
	int fd = open("/proc/kernlens/top_cpu", O_RDONLY), got;

	got = read(fd, text, sizeof(text));
	close(fd);
	return got > 0;
}

static int read_task(void)
{
	return read_all(target, KL_DETAIL_TASK);
}

static int read_io(void)
{
	return read_all(target, KL_DETAIL_IO);
}

static int read_wait(void)
{
	return read_all(target, KL_DETAIL_WAIT);
}

static int read_children(void)
{
	return read_all(target, KL_DETAIL_CHILDREN);
}

static int change_tasks(u32 flags)
{
	struct kl_abi_tasks call = { .size = sizeof(call), .pid = target, .flags = flags };

	return kl_call(session, KL_IOC_TASKS, &call) ?: (int)call.count;
}

static int add_process(void)
{
	return change_tasks(KL_TASK_ADD | KL_TASK_PROCESS);
}

static int add_tree(void)
{
	return change_tasks(KL_TASK_ADD | KL_TASK_TREE | KL_TASK_INHERIT);
}

static int remove_tree(void)
{
	return change_tasks(KL_TASK_REMOVE | KL_TASK_TREE);
}

/*
 * Starts a process with many threads, the first of which waits for one of the others, and @above
 * processes above it, each the child of the one before. Returns the pid of the first of these.
 */
static pid_t start_family(u32 above, pid_t *last)
{
	pid_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t first = fork();
	pthread_t thread;

	if (!first) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (u32 i = 0; i < above; i++) {
			pid_t child = fork();

			if (child < 0)
				bail("fork");
			if (child)
				in_thread(NULL);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		}
		make_threads(THREADS - 2);
		if (pthread_create(&thread, NULL, in_thread, NULL))
			bail("thread");
		*(volatile pid_t *)shared = getpid();
		pthread_join(thread, NULL);
	}
	while (!*(volatile pid_t *)shared)
		sleep_ms(5);
	sleep_ms(50);
	*last = *shared;
	return first;
}

/*
 * The kernel walks all threads when the first session starts to trace system calls, and when the
 * last one stops: the user that causes this pays more tokens for it than for a patch.
 */
static int trace_calls(void)
{
	const u32 events[] = { KL_EV_SYSCALL_ENTRY + SYS_getppid, 0 };
	struct kl_abi_limits before = { .size = sizeof(before) }, after = before;
	int fd = make_session(false), error;

	error = kl_call(fd, KL_IOC_LIMITS, &before)					   ?:
			kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_count, events) ?:
			kl_start(fd)							   ?:
			kl_call(fd, KL_IOC_STOP, NULL)					   ?:
			kl_call(fd, KL_IOC_LIMITS, &after);
	close(fd);
	return error ?: after.patches - before.patches >= 2 * (1 + THREADS / 1024);
}

static void ask_about_threads(void)
{
	pid_t first, last;

	measure("nothing", do_nothing, 0);
	first = start_family(GENERATIONS, &last);
	target = last;
	session = make_session(false);
	measure("variables of a process with many threads", inspect_one, 1);
	measure("variables of its threads", inspect_threads, THREADS);
	measure("variables of all threads", inspect_all, true);
	measure("variables of all threads, buffer full", inspect_no_room, true);
	measure("one variable many times", inspect_same, -EINVAL);
	measure("CPUs and numbers of tasks", count_cpus, true);
	measure("/proc/kernlens/top_cpu", read_top, true);
	measure("a process with many threads", read_task, 0);
	measure("what it has read and written", read_io, 0);
	measure("which thread it waits for", read_wait, 0);
	measure("its children", read_children, 0);
	measure("beginning and ending to trace system calls", trace_calls, true);
	measure("following a process with many threads", add_process, THREADS);
	target = first;
	measure("following a deep tree", add_tree, THREADS + GENERATIONS);
	measure("no longer following it", remove_tree, THREADS + GENERATIONS);
	end_child(first);
}

/* ----------------------------------------------------------------- descriptors */

static int read_files(void)
{
	return read_all(target, KL_DETAIL_FILES);
}

static int read_sockets(void)
{
	return read_all(target, KL_DETAIL_SOCKETS);
}

static int read_maps(void)
{
	return read_all(target, KL_DETAIL_MAPS);
}

static int dump(u32 what)
{
	struct kl_abi_dump call = { .size = sizeof(call), .what = KL_DUMP_PROCESSES | what };

	return kl_call(session, KL_IOC_DUMP, &call);
}

static int dump_files(void)
{
	return dump(KL_DUMP_FILES);
}

static int dump_maps(void)
{
	return dump(KL_DUMP_MAPPINGS);
}

static void open_many(int pipe_end)
{
	for (u32 i = 0; i < DEEP_FILES; i++)
		/* cppcheck-suppress leakReturnValNotUsed ; they are to stay open */
		if (open("file", O_RDWR | O_CREAT, 0600) < 0)
			bail("file %u", i);
	for (u32 i = 0; i < PIPES; i++)
		if (dup(pipe_end) < 0)
			bail("dup %u", i);
}

static void map_many(void)
{
	int fd = open("file", O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, 8192))
		bail("file to be mapped");
	for (u32 i = 0; i < MAPS; i++)
		/* cppcheck-suppress leakReturnValNotUsed ; they are to stay there */
		if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 0) == MAP_FAILED)
			bail("mapping %u", i);
}

/*
 * Starts a process with many descriptors or mappings that waits for a pipe to which only its own
 * processes can write.
 */
static pid_t start_owner(bool maps)
{
	int waited[2], ready[2], many[2];
	char byte;
	pid_t pid;

	if (pipe(waited) || pipe(ready) || pipe(many))
		bail("pipe");
	pid = fork();
	if (pid) {
		if (pid < 0 || read(ready[0], &byte, 1) != 1)
			bail("owner of much");
		sleep_ms(20);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	make_deep_folder(FOLDERS);
	if (maps)
		map_many();
	else
		open_many(many[0]);
	if (write(ready[1], "", 1) != 1 || read(waited[0], &byte, 1) != 1)
		bail("pipe");
	_exit(0);
}

static void ask_about_files(void)
{
	session = make_session(true);
	target = start_owner(false);
	/* The kernel is still tearing down the threads of the previous process. */
	sleep_ms(500);
	measure("nothing", do_nothing, 0);
	measure("many descriptors of deep files", read_files, 0);
	measure("sockets among many descriptors", read_sockets, 0);
	measure("the process at the other end of a pipe", read_wait, 0);
	measure("a state dump with files", dump_files, 0);
	end_child(target);
	target = start_owner(true);
	measure("many mappings of a deep file", read_maps, 0);
	measure("a state dump with mappings", dump_maps, 0);
	end_child(target);
}

void test_time(void)
{
	finish_user(start_user(ask_about_threads, 0));
	finish_user(start_user(ask_about_files, 0));
}
