// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz SECONDS [SEED [PERCENT]]: hostile users do whatever they can to the device, in parallel: two
 * ordinary users and root, each by one process after the other with threads that play sequences of
 * more or less valid calls (fuzz.h). A zoo of processes is there to be inspected, and the machine
 * makes trouble. KL_FUZZ_DEVICE names a second instance of the module. In that case the first
 * instance counts its blocks and guides the fuzzer, which must reach PERCENT of the reachable
 * blocks.
 *
 * A fault shows as a kernel message, a hang, lost memory, or something that should not have been
 * possible.
 */
#include <grp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "../../unit/failing.h"
#include "../memory.h"
#include "fuzz.h"

#define LIFE_SECONDS (4.0 * slowness)
/* In the emulator, it takes many seconds to detach a session with hundreds of events. */
#define STUCK_SECONDS (100.0 * slowness)
#define SET_USER_ID_PATH "/tmp/fuzz-set-user-id"

struct fuzz_common *common;
struct fuzz_user *me;
int rights[2];
u32 slowness = 1;

static const struct operation {
	void (*run)(void);
	u8 weight;
} operations[] = {
	{ op_raw_call, 14 }, { op_open, 2 },	     { op_close, 2 },	       { op_mark, 2 },
	{ op_attach, 3 },    { op_outside, 2 },	     { op_session, 3 },	       { op_program, 4 },
	{ op_events, 4 },    { op_variables, 3 },    { op_rule, 4 },	       { op_maskset, 4 },
	{ op_use, 4 },	     { op_metadata, 2 },     { op_stack_limits, 1 },   { op_latency, 2 },
	{ op_filter, 2 },    { op_start_stop, 4 },   { op_whole_session, 10 }, { op_reader, 4 },
	{ op_read, 6 },	     { op_poll, 2 },	     { op_mmap, 5 },	       { op_map_use, 4 },
	{ op_tables, 4 },    { op_stacks, 4 },	     { op_latency_read, 4 },   { op_news, 2 },
	{ op_proc, 2 },	     { op_inspect, 6 },	     { op_detail, 12 },	       { op_set, 4 },
	{ op_tasks, 4 },     { op_dump, 1 },	     { op_cpus, 2 },	       { op_pass, 3 },
	{ op_fork, 1 },	     { op_namespace, 1 },    { op_set_user_id, 1 },    { op_thread, 1 },
	{ op_trap, 3 },	     { op_work, 6 },	     { op_fail, 3 },	       { op_splice, 1 },
	{ op_recorder, 24 }, { op_every_detail, 8 }, { op_every_variable, 6 }, { op_setting, 4 },
	{ op_places, 4 },    { op_slow_file, 3 },    { op_wrong, 14 },	       { op_waits, 6 },
	{ op_killed, 2 },
};

#define OPERATIONS (sizeof(operations) / sizeof(*operations))

static u32 weights;
static double end_time;
static const char *program_path;

/* ------------------------------------------------------------------ workers */

static void run_operation(void)
{
	u32 at = below(weights);
	const struct operation *o = operations;

	while (at >= o->weight)
		at -= o++->weight;
	o->run();
}

static void *run_thread(void *seed)
{
	tape_seed((u64)seed);
	world_thread_init();
	while (now_seconds() < end_time && !me->broken[0]) {
		tape_begin();
		world_begin();
		for (u32 n = 2 + below(12); n && now_seconds() < end_time; n--)
			run_operation();
		if (guide_look())
			tape_keep();

		__atomic_fetch_add(&me->sequences, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void become(u32 uid)
{
	static const gid_t groups[] = { 60010, 60011, 60012 };

	if (uid && (setgroups(3, groups) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		bail("setuid");
	/*
	 * A change of user makes a process undumpable, so that other processes of the user cannot
	 * inspect it.
	 */
	prctl(PR_SET_DUMPABLE, 1);
}

static void wake_up(int signal)
{
}

/* Interrupts the threads' calls now and then; at the end, those that would wait for ever. */
static void disturb_threads(const pthread_t *threads)
{
	bool ended[FUZZ_THREADS] = {};

	for (u32 i = 0, left = FUZZ_THREADS; left; i = (i + 1) % FUZZ_THREADS) {
		if (ended[i])
			continue;
		if (!pthread_tryjoin_np(threads[i], NULL)) {
			ended[i] = true;
			left--;
			continue;
		}
		sleep_ms(50);
		pthread_kill(threads[i], SIGUSR1);
	}
}

__attribute__((noreturn)) static void run_worker(u32 user, u64 seed)
{
	struct sigaction action = { .sa_handler = wake_up };
	pthread_t threads[FUZZ_THREADS];

	setpgid(0, 0);
	sigaction(SIGUSR1, &action, NULL);
	me = &common->user[user];
	/* Some run in a cgroup with hardly any memory. */
	if (seed % 5 == 0)
		trouble_confine(seed % 1000, seed % 2 ? 24 << 20 : 64 << 20);
	become(me->uid);
	world_init();
	end_time = now_seconds() + LIFE_SECONDS;
	for (u64 i = 0; i < FUZZ_THREADS; i++)
		if (pthread_create(&threads[i], NULL, run_thread,
				   (void *)(seed * FUZZ_THREADS + i + 1)))
			_exit(4);
	disturb_threads(threads);
	_exit(0);
}

/* ------------------------------------------------------------------ manager */

struct worker {
	pid_t pid;
	double begun, moved; /* `moved`: when its user's number of calls was last seen to grow */
	u64 calls;
	bool slow; /* its threads have been printed */
	bool killed;
};

static struct worker workers[FUZZ_USERS];
static u64 seed, deaths, stuck;
static pid_t troubler;
/* Calls of the device may overwrite the numbers in the memory that the workers share. */
static pid_t targets[FUZZ_USERS][ZOO_KINDS];

/* Also while the machine has no memory, or no process number, to spare. */
static pid_t fork_patiently(void)
{
	pid_t pid;

	fflush(stdout);
	for (u32 tries = 0; (pid = fork()) < 0; sleep_ms(100))
		if (tries++ == 1000)
			bail("no process can be created");
	return pid;
}

/* A process group; never all processes, nor our own group. */
static void kill_group(pid_t pid)
{
	if (pid > 1)
		kill(-pid, SIGKILL);
}

static void start_worker(u32 user)
{
	struct worker *w = &workers[user];

	*w = (struct worker){ .pid = fork_patiently() };
	w->begun = w->moved = now_seconds();
	seed++;
	if (!w->pid)
		run_worker(user, seed);
}

static void start_target(u32 user, u32 i)
{
	struct fuzz_user *u = &common->user[user];
	pid_t pid = fork_patiently();

	if (!pid) {
		setpgid(0, 0);
		me = u;
		become(u->uid);
		zoo_run(i, seed);
	}
	targets[user][i] = u->targets[i] = pid;
}

/* Restarts a process that has ended, if it is one that must always exist. */
static void replace(pid_t pid, int status)
{
	for (u32 user = 0; user < FUZZ_USERS; user++) {
		if (workers[user].pid == pid) {
			kill_group(pid);
			deaths += WIFSIGNALED(status) && !workers[user].killed;
			start_worker(user);
			return;
		}
		for (u32 i = 0; i < ZOO_KINDS; i++)
			if (targets[user][i] == pid) {
				kill_group(pid);
				start_target(user, i);
				return;
			}
	}
}

/* Prints what the threads of a hung worker wait for. */
static void tell_where(pid_t pid)
{
	char command[400];

	/* Reading waits for a program that is being executed, maybe from a file that is slow. */
	snprintf(command, sizeof(command),
		 "for t in /proc/%d/task/*; do echo \"# ${t##*/}: $(timeout 5 cat $t/syscall),\" "
		 "state, nice and policy $(cut -d ' ' -f 3,19,41 $t/stat); "
		 "timeout 5 sed 's/^/# /' $t/stack; done",
		 pid);
	fflush(stdout);
	if (system(command))
		printf("# the threads of %d cannot be read\n", pid);
}

/* Returns at once after something that takes long: workers may have ended meanwhile. */
static void look_after(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		replace(pid, status);
	for (u32 user = 0; user < FUZZ_USERS; user++) {
		struct worker *w = &workers[user];

		if (w->calls != common->user[user].calls) {
			w->calls = common->user[user].calls;
			w->moved = now_seconds();
			w->slow = false;
		}
		if (now_seconds() - w->moved > STUCK_SECONDS / 8 && !w->slow) {
			w->slow = true;
			tell_where(w->pid);
			return;
		}
		if (now_seconds() - w->begun > LIFE_SECONDS + STUCK_SECONDS &&
		    now_seconds() - w->moved > STUCK_SECONDS && !w->killed) {
			w->killed = true;
			stuck++;
			tell_where(w->pid);
			kill_group(w->pid);
			kill(w->pid, SIGKILL);
			return;
		}
	}
}

/* Makes trouble about once a second. */
static void start_troubler(void)
{
	u64 state = seed;

	troubler = fork_patiently();
	if (troubler)
		return;
	for (;;) {
		trouble_make(&state);
		sleep_ms(1000);
	}
}

/* Descriptors that no process has received would keep their sessions alive. */
static void drop_passed(void)
{
	char byte;

	while (recv(rights[1], &byte, 1, MSG_DONTWAIT) > 0)
		;
}

static void kill_all(void)
{
	double begun = now_seconds();

	kill(troubler, SIGKILL);
	slow_file_end();
	for (u32 user = 0; user < FUZZ_USERS; user++) {
		kill_group(workers[user].pid);
		for (u32 i = 0; i < ZOO_KINDS; i++)
			kill_group(targets[user][i]);
	}
	/* Includes orphans, which we adopt as a subreaper. */
	while (now_seconds() - begun < 60) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0)
			break;
		if (!pid)
			sleep_ms(20);
		else
			kill_group(pid);
	}
	drop_passed();
}

/* -------------------------------------------------------------- preparation */

static void find_symbols(void)
{
	static const char *const names[FUZZ_SYMBOLS] = {
		"vfs_read",
		"vfs_write",
		"do_sys_openat2",
		"__x64_sys_getppid",
		"kmem_cache_free",
		"dput",
		"wake_up_process",
		"schedule",
		"do_nanosleep",
		"kfree",
		"security_file_open",
		"do_exit",
		"vfs_statx",
		"do_int3",
		"memcpy",
		"jiffies",
		"kls_called",
		"kl_fire_rule",
		"copy_process",
		"mntput",
		"page_fault_oops",
		"ktime_get",
		"pipe_read",
		"do_filp_open",
		"do_sys_open",
		"__x64_sys_getppid",
	};
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long address;
	char line[300], name[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx %*c %255s", &address, name) != 2)
			continue;
		for (u32 i = 0; i < FUZZ_SYMBOLS; i++)
			if (!strcmp(name, names[i]))
				common->symbol[i] = address;
	}
	if (file)
		fclose(file);
}

/* Installs this program as set-user-id root, executable by every user. */
static void make_set_user_id(void)
{
	char command[400];

	snprintf(command, sizeof(command), "cp %s %s && chmod 4755 %s", program_path,
		 SET_USER_ID_PATH, SET_USER_ID_PATH);
	if (system(command))
		printf("# there is no set-user-id program\n");
}

static void prepare(void)
{
	static const u32 uids[FUZZ_USERS] = { 60001, 60002, 0 };
	const char *device = getenv("KL_FUZZ_DEVICE") ?: KL_DEVICE_PATH;

	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (common == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, rights))
		bail("preparation");
	for (u32 i = 0; i < FUZZ_USERS; i++)
		common->user[i].uid = uids[i];
	common->manager = getpid();
	snprintf(common->device, sizeof(common->device), "%s", device);
	for (u32 i = 0; i < OPERATIONS; i++)
		weights += operations[i].weight;
	/* Fails if the kernel has no such parameter. */
	put_file("/proc/sys/vm/unprivileged_userfaultfd", "1");
	put_file("/proc/sys/kernel/unprivileged_userns_clone", "1");
	/*
	 * Each change of the kernel's text waits for an RCU grace period, which takes long on a
	 * slow machine.
	 */
	put_file("/sys/kernel/rcu_expedited", "1");
	close(failing_open());
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	find_symbols();
	make_set_user_id();
}

/* Lines of /proc/meminfo: the first is decisive, the others help to locate a loss. */
static const char *const memory_lines[] = { "MemAvailable", "MemFree",	   "Shmem",  "Slab",
					    "SUnreclaim",   "VmallocUsed", "Percpu", "KernelStack",
					    "PageTables",   "AnonPages" };

#define MEMORY_LINES (sizeof(memory_lines) / sizeof(*memory_lines))

static void read_memory(long *kib)
{
	/* Files in /tmp occupy memory, too. */
	if (system("rm -f /tmp/zoo-*"))
		printf("# /tmp cannot be cleaned\n");
	put_file("/proc/sys/vm/drop_caches", "3");
	kib[0] = available_memory();
	for (u32 i = 1; i < MEMORY_LINES; i++)
		kib[i] = meminfo(memory_lines[i]);
}

/* Is no user charged for memory or a session by the module under test? Prints what is charged. */
static bool is_nothing_charged(void)
{
	long bytes = -1, sessions = -1;
	char text[200];
	FILE *file;

	snprintf(text, sizeof(text), "/proc/%s/limits", common->device + strlen("/dev/"));
	file = fopen(text, "re");
	while (file && fgets(text, sizeof(text), file)) {
		printf("# %s", text);
		sscanf(text, "machine %ld/%*d %ld/", &bytes, &sessions);
	}
	if (file)
		fclose(file);
	return !bytes && !sessions;
}

/*
 * Waits until the memory has been returned, up to a minute: sessions are torn down after their last
 * user has gone, which takes long where changes of the kernel's text do. Returns what is missing.
 */
static long missing_kib(const long *before)
{
	long now[MEMORY_LINES] = {};

	for (u32 i = 0; i < 60; i++) {
		read_memory(now);
		if (before[0] - now[0] < 8 << 10)
			break;
		sleep_ms(1000);
	}
	printf("# memory in KiB, before and after:");
	for (u32 i = 0; i < MEMORY_LINES; i++)
		printf(" %s %ld %ld,", memory_lines[i], before[i], now[i]);
	printf("\n");
	return before[0] - now[0];
}

/* ------------------------------------------------------------------ reports */

static bool has_done_enough(const struct fuzz_user *u)
{
	return u->sequences > 2 && u->successes > 20;
}

/* A busy machine may give a user no processor for seconds. */
static bool is_anyone_behind(void)
{
	for (u32 i = 0; i < FUZZ_USERS; i++)
		if (!has_done_enough(&common->user[i]) && !common->user[i].broken[0])
			return true;
	return false;
}

static void report_users(double seconds)
{
	for (u32 i = 0; i < FUZZ_USERS; i++) {
		const struct fuzz_user *u = &common->user[i];
		char name[120];

		printf("# uid %u: %llu sequences, %llu calls, %llu had an effect\n", u->uid,
		       (unsigned long long)u->sequences, (unsigned long long)u->calls,
		       (unsigned long long)u->successes);
		snprintf(name, sizeof(name), "fuzzing as %s for %.0f s",
			 u->uid ? i ? "user 2" : "user 1" : "root", seconds);
		tap_result(!u->broken[0] && has_done_enough(u), name, "%s",
			   u->broken[0] ? u->broken : "too little happened");
	}
	printf("# accepted by number:");
	for (u32 i = 0; i < FUZZ_CALLS; i++)
		if (common->tried[i])
			printf(" %#x %u/%u", i, common->accepted[i], common->tried[i]);
	printf("\n# trouble:");
	for (u32 i = 0; trouble_names[i]; i++)
		printf(" %s %llu,", trouble_names[i], (unsigned long long)common->trouble[i]);
	printf(" workers killed by a signal %llu, kept tapes %u\n", (unsigned long long)deaths,
	       common->kept);
}

/* Before the other workers exist: covers what happens only while root has the sole session. */
static void run_alone(void)
{
	pid_t child = fork();

	if (!child) {
		me = &common->user[FUZZ_USERS - 1];
		tape_seed(seed);
		world_init();
		world_thread_init();
		for (u32 i = 0; i < 8; i++)
			record_alone(i % 2);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

static void run_for(double seconds)
{
	double begun = now_seconds(), next = begun + 1, most = 4 * seconds + 20;

	slow_file_begin();
	trouble_begin();
	for (u32 i = 0; i < FUZZ_USERS; i++) {
		for (u32 k = 0; k < ZOO_KINDS; k++)
			start_target(i, k);
		start_worker(i);
	}
	start_troubler();
	while (now_seconds() - begun < seconds ||
	       (now_seconds() - begun < most && is_anyone_behind())) {
		look_after();
		if (now_seconds() > next) {
			/* In the middle of anything, with all threads. */
			struct worker *w = &workers[seed % FUZZ_USERS];

			w->killed = true;
			kill_group(w->pid);
			next = now_seconds() + 3 * slowness;
		}
		sleep_ms(10);
	}
	kill_all();
	trouble_end();
}

int main(int argc, char **argv)
{
	double seconds;
	long before[MEMORY_LINES] = {}, missing;
	bool guided;
	int reached, least;
	u32 reserved;

	if (argc > 1 && !strcmp(argv[1], "--set-user-id"))
		return set_user_id_main(argc - 1, argv + 1);
	slowness = kl_slowness();
	if (argc > 1 && !strcmp(argv[1], "--zoo-again")) {
		static struct fuzz_user user;

		me = &user;
		zoo_change_program();
	}
	program_path = argv[0];
	seconds = argc > 1 ? atof(argv[1]) : 10;
	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	least = argc > 3 ? atoi(argv[3]) : 0;
	seed *= 1000003;
	printf("# seed %llu\n", (unsigned long long)seed / 1000003);
	prepare();
	reserved = reserved_blocks();
	guided = strcmp(common->device, KL_DEVICE_PATH) && guide_open(common->device + 5);
	run_alone();
	/* Memory that the kernel caches once such things have happened at all is not a loss. */
	run_for(seconds / 4);
	read_memory(before);
	run_for(seconds * 3 / 4);
	report_users(seconds);
	tap_result(!stuck, "no worker hung", "%llu had to be killed", (unsigned long long)stuck);
	missing = missing_kib(before);
	tap_result(missing < 48 << 10, "the memory has come back", "%ld KiB are missing", missing);
	tap_result(is_nothing_charged(), "and what the module had charged", "some is left");
	check_reserved(reserved);
	reached = guide_report();
	if (guided)
		tap_result(reached >= least * 10, "blocks of the module were reached",
			   "%d.%d %%, wanted are %d", reached / 10, reached % 10, least);
	guide_close();
	put_file("/sys/kernel/rcu_expedited", "0");
	return tap_end();
}
