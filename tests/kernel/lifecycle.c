// SPDX-License-Identifier: GPL-2.0
/*
 * Loading and unloading the module, and what remains afterwards. Runs in the guest as root with
 * kl_stimulus.ko loaded: lifecycle KERNLENS.KO [CYCLES]. The module may be loaded at the start and
 * is loaded at the end.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include "memory.h"
#include "text.h"

static const char *module_path;
static int stimulus;

/* Returns 0 or -errno. */
static int load(void)
{
	int fd = open(module_path, O_RDONLY | O_CLOEXEC), error;

	if (fd < 0)
		bail("cannot open %s", module_path);
	error = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	/* Accessible to all users again, as vm/guest left it. */
	if (!error && chmod(KL_DEVICE_PATH, 0666))
		bail("cannot change the mode of " KL_DEVICE_PATH);
	return error;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "kernlens", O_NONBLOCK) ? -errno : 0;
}

static bool is_in_use(int error)
{
	return error == -EBUSY || error == -EAGAIN;
}

/* The kernel may still be releasing a descriptor that was just closed. */
static int unload_soon(void)
{
	int error = unload();

	for (int i = 0; i < 100 && is_in_use(error); i++) {
		usleep(20000);
		error = unload();
	}
	return error;
}

static int open_session(u32 maskset, struct kl_abi_session *params)
{
	int fd = kl_open();

	params->mode = KL_MODE_OVERWRITE;
	if (kl_session(fd, params) || kl_use(fd, maskset))
		bail("session: %s", kl_why(fd));
	return fd;
}

/* Generates events for the tracer; ends with its parent. */
static pid_t start_load(void)
{
	pid_t child = fork();

	if (child)
		return child;
	for (;;) {
		pid_t grandchild = fork();
		int fd;

		if (!grandchild)
			_exit(0);
		fd = open("/tmp/kl-lifecycle", O_RDWR | O_CREAT, 0600);
		if (write(fd, "x", 1) == 1)
			unlink("/tmp/kl-lifecycle");
		close(fd);
		waitpid(grandchild, NULL, 0);
		/*
		 * With one thread for both CPUs, the emulator leaves a busy one only every 100 ms,
		 * and each change of text waits for both.
		 */
		usleep(200);
	}
}

static void stop_load(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* ------------------------------------------------------- off costs nothing */

/*
 * Is the text unchanged? The kernel patches its other switches (of networking, say) into the text
 * as well, and does so late: retry before giving a verdict.
 */
static bool text_is(const struct text *before)
{
	for (int try = 0; try < 3; try++) {
		struct text now = read_text();
		u32 changes = count_changes(before, &now, try == 2);

		free(now.copy);
		if (!changes)
			return true;
		sleep_ms(300);
	}
	return false;
}

static void test_text(void)
{
	struct kl_abi_session params = {};
	struct text before, during;
	u32 probes, hooks, probes_before, hooks_before, changes;
	int fd;

	/* Load and unload once, so that one-time effects have happened. */
	unload_soon();
	if (load() || unload_soon())
		bail("the module does not load or unload");
	before = read_text();
	probes_before = probes_now(stimulus);
	hooks_before = hooks_now();
	if (load())
		bail("load");
	tap_check(text_is(&before), "kernel text is unchanged by loading the module");
	fd = open_session(KL_MASKSET_RALL, &params);
	tap_check(text_is(&before) && probes_now(stimulus) == probes_before &&
			  hooks_now() == hooks_before,
		  "and by a session that is not started: no probe, no hook");
	if (kl_start(fd))
		bail("start: %s", kl_why(fd));
	during = read_text();
	probes = probes_now(stimulus);
	hooks = hooks_now();
	changes = count_changes(&before, &during, false);
	tap_result(changes > 100 && probes > probes_before + 100,
		   "while RALL runs it is changed: this test can see it", "%u changes %u probes",
		   changes, probes);
	printf("# text of %zu bytes, changed in %u places; %u probes, %u hooked functions\n",
	       before.bytes, changes, probes, hooks);
	kl_stop(fd);
	tap_check(text_is(&before), "kernel text is as before after the stop");
	tap_check(probes_now(stimulus) == probes_before && hooks_now() == hooks_before,
		  "no probe and no hook is left after the stop");
	kl_start(fd);
	close(fd);
	tap_check(text_is(&before) && probes_now(stimulus) == probes_before,
		  "nor after closing a running session");
	tap_check(!unload_soon(), "the module unloads");
	tap_check(text_is(&before) && probes_now(stimulus) == probes_before &&
			  hooks_now() == hooks_before,
		  "kernel text is byte for byte as before the module");
	free(before.copy);
	free(during.copy);
	if (load())
		bail("load");
}

/* -------------------------------------------------------------- unloading */

static void test_refusal(void)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	int fd = open_session(KL_MASKSET_RDEFAULT, &params), reader;
	void *ring, *block;
	pid_t worker;

	tap_check(is_in_use(unload()), "unloading is refused: session open");
	worker = start_load();
	if (kl_start(fd))
		bail("start");
	tap_check(is_in_use(unload()), "unloading is refused: being written");
	reader = kl_reader(fd, KL_READER_HOLD);
	ring = mmap(NULL, 4096, PROT_READ, MAP_SHARED, reader, KL_MMAP_RING(0));
	block = mmap(NULL, 4096, PROT_READ, MAP_SHARED, reader, KL_MMAP_BLOCK(0, 0, 4096));
	close(fd);
	stop_load(worker);
	tap_check(is_in_use(unload()), "unloading is refused: reader open");
	close(reader);
	tap_check(is_in_use(unload()), "unloading is refused: mapped, all descriptors closed");
	tap_check(ring != MAP_FAILED && block != MAP_FAILED &&
			  *(volatile u32 *)block == KL_CTF_MAGIC,
		  "what is mapped stays readable after all descriptors are closed");
	munmap(ring, 4096);
	tap_check(is_in_use(unload()), "unloading is refused: still one mapping");
	munmap(block, 4096);
	tap_check(!unload_soon(), "unloading works once all is closed");
	tap_check(access(KL_DEVICE_PATH, F_OK), "and the device is gone");
	if (load())
		bail("load");
}

/* A refused call changes nothing. */
static void test_refused_calls(void)
{
	struct kl_abi_session params = {};
	int fd = open_session(KL_MASKSET_RDEFAULT, &params);
	u64 written;

	kl_filter(fd, KL_FILTER_UID, getuid());
	tap_check(kl_filter(fd, KL_FILTER_UID, ~0u) == -EINVAL, "no filter for an invalid user");
	if (kl_start(fd))
		bail("start: %s", kl_why(fd));
	sleep_ms(20);
	written = kl_stats(fd, -1).written;
	tap_check(written > 0, "the filter for a valid one stays in force");
	tap_check(kl_start(fd) == -EALREADY, "a session that runs is not started again");
	sleep_ms(20);
	tap_check(kl_stats(fd, -1).running && kl_stats(fd, -1).written > written,
		  "and goes on running");
	close(fd);
}

/* A tracer that is killed in the middle of everything. */
static void trace_and_die(u32 maskset)
{
	struct kl_abi_session params = { .blocks = 8 };
	int fd = open_session(maskset, &params), reader;
	char *buffer = malloc(params.block_bytes);
	const void *ring;

	if (kl_start(fd))
		_exit(1);
	reader = kl_reader(fd, 0);
	/* Stays mapped until the process exits. */
	ring = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_POPULATE, reader, KL_MMAP_RING(0));
	if (ring == MAP_FAILED)
		_exit(1);
	for (;;)
		if (read(reader, buffer, params.block_bytes) < 0)
			_exit(1);
}

static void test_cycles(u32 cycles)
{
	pid_t worker = start_load();
	u32 done;

	for (done = 0; done < cycles; done++) {
		struct kl_abi_session params = { .blocks = 8 };
		pid_t tracer = done & 1 ? fork() : 0;
		u64 written = 1;

		if (done & 1 && !tracer)
			trace_and_die(KL_MASKSET_RALL);
		if (tracer) {
			sleep_ms(500 + 200 * done % 900);
			stop_load(tracer);
		} else {
			int fd = open_session(KL_MASKSET_RALL, &params);

			if (kl_start(fd))
				break;
			sleep_ms(100);
			written = kl_stats(fd, -1).written;
			close(fd);
		}
		if (!written || unload() || load())
			break;
	}
	stop_load(worker);
	tap_result(done == cycles, "unload and reload between recordings of RALL under load",
		   "%u of %u", done, cycles);
}

/* ------------------------------------------------------------------- leaks */

/* A line of /proc/meminfo; for MemAvailable, including free memory that the line does not count. */
static long memory(const char *name)
{
	if (strcmp(name, "MemAvailable"))
		return meminfo(name);
	printf("# %ld kB are free on the CPUs' lists, %ld are shadow of freed addresses\n",
	       on_cpu_lists(), shadow_of_freed());
	return available_memory();
}

static void settle(void)
{
	sync();
	put_file("/proc/sys/vm/drop_caches", "3");
	sleep_ms(300);
}

static void one_session(bool fails)
{
	struct kl_abi_session params = { .blocks = 32, .blocks_max = 64 };
	static const u32 events[] = { 1, 2, 3, KL_EV_SYSCALL_ENTRY + 1, 0 };
	int fd = open_session(KL_MASKSET_RNOTHING, &params), readers[3];
	char *buffer = malloc(params.block_bytes);

	kl_use_events(fd, 3, KL_HANDLER_log, events);
	kl_use_events(fd, 4, KL_HANDLER_count, events);
	kl_use(fd, 3);
	kl_filter(fd, KL_FILTER_TASKS, 0);
	kl_tasks(fd, getpid(), KL_TASK_ADD | KL_TASK_INHERIT);
	for (u32 i = 0; i < 3; i++)
		readers[i] = kl_reader(fd, i & KL_READER_HOLD);
	kl_start(fd);
	kl_resize(fd, 64);
	kl_resize(fd, 8);
	sleep_ms(2);
	if (fails)
		kl_session(fd, &params);
	kl_stop(fd);
	while (read(readers[0], buffer, params.block_bytes) > 0)
		;
	free(buffer);
	for (u32 i = 0; i < 3; i++)
		close(readers[i]);
	close(fd);
}

static void test_leaks(u32 cycles)
{
	static const struct {
		const char *name;
		long tolerance; /* kB; a session has 16 MB of blocks */
	} kinds[] = {
		{ "Percpu", 32 }, { "VmallocUsed", 64 }, { "Slab", 1500 }, { "MemAvailable", 3000 }
	};
	long before[4];

	for (u32 i = 0; i < 10; i++)
		one_session(i & 1);
	settle();
	for (u32 i = 0; i < 4; i++)
		before[i] = memory(kinds[i].name);
	for (u32 i = 0; i < cycles; i++)
		one_session(i & 1);
	settle();
	for (u32 i = 0; i < 4; i++) {
		long after = memory(kinds[i].name), grown = after - before[i];
		char name[100];

		if (i == 3)
			grown = -grown;
		snprintf(name, sizeof(name), "no leak in %u sessions: %s", cycles, kinds[i].name);
		tap_result(grown <= kinds[i].tolerance, name, "%ld kB more than before", grown);
		printf("# %s: %ld kB, %+ld\n", kinds[i].name, after, after - before[i]);
	}
}

int main(int argc, char **argv)
{
	u32 cycles = argc > 2 ? atoi(argv[2]) : 4;

	if (argc < 2)
		bail("usage: lifecycle KERNLENS.KO [CYCLES]");
	module_path = argv[1];
	stimulus = open(KLS_DEVICE, O_RDWR | O_CLOEXEC);
	if (stimulus < 0)
		bail("cannot open " KLS_DEVICE);
	test_text();
	test_refusal();
	test_refused_calls();
	test_leaks(50);
	test_cycles(cycles);
	return tap_end();
}
