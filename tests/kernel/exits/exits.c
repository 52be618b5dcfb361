// SPDX-License-Identifier: GPL-2.0
/*
 * Processes that are created and end while they are read: exits SECONDS. Runs a swarm of
 * short-lived processes and threads, whose ids are soon reused, and readers, as root and as a user,
 * of everything that reports on processes. Each answer must be about one task, and correct, or
 * state that the task has ended. At the end no task may remain in memory.
 */
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "../memory.h"
#include "exits.h"

#define PID_MAX "800"
#define ALIVE 24
#define KEPT 200 /* tasks that the allocator may keep */
#define LATE 300 /* seconds: with 600 of the test, it ends before tests/kernel/run ends the guest */

struct shared *shared;
struct how *how;

/* ------------------------------------------------------------------ identity */

static u32 sum_of(u32 tid, u32 number)
{
	return (tid * 2654435761u ^ number * 40503u) >> 8 & 0xffff;
}

void give_name(u32 number)
{
	u32 tid = gettid();
	char name[16];

	snprintf(name, sizeof(name), "k%05u%04x%04x", tid % 100000, number & 0xffff,
		 sum_of(tid, number));
	prctl(PR_SET_NAME, name);
}

bool has_name(const char *comm, struct identity *is)
{
	u32 sum;

	return strnlen(comm, KL_COMM_LEN) == 14 &&
	       sscanf(comm, "k%5u%4x%4x", &is->tid, &is->number, &sum) == 3 &&
	       sum == sum_of(is->tid, is->number);
}

/* --------------------------------------------------------------------- swarm */

static void *live_as_thread(void *number)
{
	give_name((uintptr_t)number);
	return NULL;
}

static void become(u32 uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
}

static void live(u32 number)
{
	struct rlimit limit = { OPEN_FILES + number, OPEN_FILES + number };
	pthread_t thread[2];

	if (setrlimit(RLIMIT_NOFILE, &limit) || prctl(PR_SET_TIMERSLACK, SLACK_NS + number) ||
	    setpriority(PRIO_PROCESS, 0, nice_of(number)))
		_exit(1);
	become(uid_of(number));
	/* Threads inherit the name of their creator, so it must not have its own name yet. */
	for (int i = 0; number % 5 / 2 == 1 && i < 2; i++)
		if (pthread_create(&thread[i], NULL, live_as_thread, (void *)(uintptr_t)number))
			_exit(1);
	give_name(number);
	switch (number % 5) {
	case 0:
		_exit(0);
	case 1:
		execl("/bin/true", "true", NULL);
		_exit(1);
	case 2: /* the first thread ends before the others */
		pthread_exit(NULL);
	case 3:
		pthread_join(thread[0], NULL);
		_exit(0);
	default:
		sleep_ms(number % 32);
		_exit(0);
	}
}

static void spawn(void)
{
	u32 alive = 0;

	for (u32 number = 0; !shared->stop; number = (number + 1) & 0xffff) {
		pid_t pid = fork();

		if (!pid)
			live(number);
		if (pid < 0) {
			sleep_ms(1);
		} else {
			shared->newest = pid;
			shared->made++;
			alive++;
		}
		/* Some stay zombies for a while. */
		while (alive > ALIVE - number % 8 && waitpid(-1, NULL, 0) > 0)
			alive--;
	}
	while (wait(NULL) > 0)
		;
	_exit(0);
}

/* --------------------------------------------------------------------- leaks */

static const char *const kinds[] = { "task_struct", "signal_cache", "files_cache", "mm_struct" };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void test_leaks(const long *before)
{
	char title[80];
	long now;

	/* Memory of the last ones is freed after a grace period. */
	sleep_ms(2000);
	for (u32 i = 0; i < KINDS; i++) {
		now = slab_objects(kinds[i]);
		snprintf(title, sizeof(title), "no %s is kept", kinds[i]);
		/* Caches of the same object size may be merged and then have no line. */
		if (i && before[i] < 0)
			tap_skip(title, "the kernel does not count them");
		else
			tap_result(now >= 0 && now < before[i] + KEPT, title, "%ld, %ld before",
				   now, before[i]);
	}
}

/* ---------------------------------------------------------------------- main */

static const struct {
	const char *name;
	void (*read)(bool of_user);
	bool of_user;
} readers[READERS] = {
	{ "variables of all", inspect_all, false },
	{ "variables of all, as a user", inspect_all, true },
	{ "details", ask_details, false },
	{ "details, as a user", ask_details, true },
	{ "profiles, CPUs and /proc/kernlens", read_machine, false },
	{ "the same, as a user", read_machine, true },
};

static pid_t start_reader(u32 i)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "reader");
	how = &shared->how[i];
	/* Leaves some CPU time to the swarm, so that there is something to read. */
	setpriority(PRIO_PROCESS, 0, 5);
	if (readers[i].of_user)
		become(USER1);
	while (!shared->stop)
		readers[i].read(readers[i].of_user);
	_exit(0);
}

/* Has a reader had enough answers to be judged? */
static bool has_enough(u32 i)
{
	const struct how *h = &shared->how[i];

	return h->there > 20 && (i != 2 || h->ended > 20);
}

/*
 * On a busy host readers take longer: extends the run by up to twice its time, and by LATE at most.
 */
static bool goes_on(double end, unsigned int seconds)
{
	double now = now_seconds();
	unsigned int late = 2 * seconds < LATE ? 2 * seconds : LATE;
	bool enough = true;

	for (u32 i = 0; i < READERS; i++)
		enough &= has_enough(i);
	return now < end || (!enough && now < end + late);
}

static void judge(u32 i)
{
	const struct how *h = &shared->how[i];

	printf("# %s: %llu calls, %llu answers about the swarm, %llu about what has ended, %llu to be asked again\n",
	       readers[i].name, (unsigned long long)h->calls, (unsigned long long)h->there,
	       (unsigned long long)h->ended, (unsigned long long)h->again);
	tap_result(!h->wrong && has_enough(i), readers[i].name, "%llu wrong, the first: %s",
		   (unsigned long long)h->wrong, h->said);
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 1 ? atoi(argv[1]) : 20;
	pid_t reader[READERS], swarm;
	double end = now_seconds() + seconds;
	long before[KINDS];
	int status, good = 0;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED ||
	    system("echo " PID_MAX
		   " >/proc/sys/kernel/pid_max; echo 1048576 >/proc/sys/fs/nr_open"))
		bail("no small numbers");
	for (u32 i = 0; i < KINDS; i++)
		before[i] = slab_objects(kinds[i]);
	fflush(stdout);
	swarm = fork();
	if (!swarm)
		spawn();
	shared->spawner = swarm;
	for (u32 i = 0; i < READERS; i++)
		reader[i] = start_reader(i);
	while (goes_on(end, seconds))
		sleep_ms(100);
	shared->stop = true;
	for (u32 i = 0; i < READERS; i++)
		good += waitpid(reader[i], &status, 0) == reader[i] && !status;
	waitpid(swarm, &status, 0);
	/* The default of a machine with few CPUs. */
	good += !system("echo 32768 >/proc/sys/kernel/pid_max");
	printf("# %llu processes in %.0f s\n", (unsigned long long)shared->made,
	       now_seconds() - end + seconds);
	tap_result(good == READERS + 1 && !status, "all readers and the swarm came to their end",
		   "%d", good);
	tap_check(shared->made > seconds * 2ull / kl_slowness(),
		  "processes were made all the while");
	for (u32 i = 0; i < READERS; i++)
		judge(i);
	test_leaks(before);
	return tap_end();
}
