// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions that follow a cgroup get every event of the tasks that are in it or below it at that
 * moment, and none of any other task: tasks that enter and leave, children, programs, thousands of
 * threads, a cgroup that is removed and made again, and an ordinary user, who gets only their own.
 * Runs as root in the guest: processes make marked system calls and count them.
 */
#include <pthread.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "decode.h"

#define UID_USER1 60001
#define GROUPS "/sys/fs/cgroup"
#define TOP GROUPS "/klc"
#define OLD "/tmp/kl-cgroup-v1"
/* As kernel/core/cgroup.h. */
#define DEPTH_MAX 63

/* The calls are getpriority(MARK + place, number), which fails at once. */
#define MARK 0x6b6c0000
#define CALL SYS_getpriority

/* Where the process is that makes a call, and whose it is. */
enum place {
	ROOT,
	OTHER,
	IN,
	BELOW,
	DEEP, /* as deep as a cgroup can be followed */
	USERS_IN,
	USERS_OTHER,
	PLACES
};

static const char *const paths[PLACES] = {
	[ROOT] = GROUPS,	 [OTHER] = TOP "/other", [IN] = TOP "/in",
	[BELOW] = TOP "/in/sub", [USERS_IN] = TOP "/in", [USERS_OTHER] = TOP "/other",
};

static char deep[sizeof(TOP) + 2 * DEPTH_MAX + 8];

static struct shared {
	u64 calls[PLACES];
	u64 exits;
	volatile u32 sequence;
	volatile int stop;
} * shared;

/* ------------------------------------------------------------------- tasks */

static void make_calls(enum place place, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		syscall(CALL, MARK + place, i);
		__atomic_fetch_add(&shared->calls[place], 1, __ATOMIC_RELAXED);
	}
}

static void move(pid_t pid, const char *group)
{
	char path[400], text[20];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	snprintf(text, sizeof(text), "%d", pid);
	if (!put_file(path, text))
		bail("%s", path);
}

static const char *path_of(enum place place)
{
	return place == DEEP ? deep : paths[place];
}

static pid_t start_in(enum place place, u32 uid)
{
	pid_t child = fork();

	if (child)
		return child;
	move(0, path_of(place));
	if (uid)
		kl_become(uid);
	return 0;
}

static void finish(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		bail("a child's status is %#x", status);
}

/* Enters and leaves, calling from each place. */
static void move_about(void)
{
	static const enum place turns[] = { OTHER, IN, BELOW, IN, ROOT, BELOW, DEEP, ROOT };

	for (u32 i = 0; i < 25; i++)
		for (u32 k = 0; k < sizeof(turns) / sizeof(*turns); k++) {
			move(0, path_of(turns[k]));
			make_calls(turns[k], 1 + k);
		}
}

/* Children are born in their parent's cgroup, and stay there with another program. */
static void make_family(enum place place, u32 uid)
{
	pid_t child = start_in(place, uid);

	if (child)
		return finish(child);
	for (u32 i = 0; i < 10; i++) {
		child = fork();
		if (!child) {
			char word[20], *arguments[] = { "cgroup", word, NULL };

			make_calls(place, 2);
			fcntl(3, F_SETFD, 0);
			snprintf(word, sizeof(word), "%d", place);
			execv("/proc/self/exe", arguments);
			_exit(1);
		}
		finish(child);
	}
	make_calls(place, 3);
	_exit(0);
}

/* The program that a child executes. */
static int run_program(enum place place)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
	if (shared == MAP_FAILED)
		return 1;
	make_calls(place, 4);
	return 0;
}

/* ------------------------------------------------------------------ sessions */

struct found {
	u64 calls[PLACES];
	u64 other;
	u64 lost;
};

static int filter_fd(int session, int fd)
{
	struct kl_abi_filter filter = { .size = sizeof(filter),
					.kind = KL_FILTER_CGROUP,
					.fd = fd };

	return kl_call(session, KL_IOC_FILTER, &filter);
}

static int filter_path(int session, const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC), error;

	if (fd < 0)
		bail("%s", path);
	error = filter_fd(session, fd);
	close(fd);
	return error;
}

static int create_session(u32 uid)
{
	struct kl_abi_session params = {
		.mode = KL_MODE_DISCARD, .blocks = 32, .blocks_max = 32, .block_bytes = 65536
	};
	u32 events[] = { KL_EV_SYSCALL_ENTRY + CALL, 0 };
	int fd = kl_open_as(uid);

	if (kl_session(fd, &params) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events))
		bail("session: %s", kl_why(fd));
	return fd;
}

static int follow(u32 uid, const char *path)
{
	int fd = create_session(uid);

	if (filter_path(fd, path) || kl_start(fd))
		bail("%s: %s", path, kl_why(fd));
	return fd;
}

static void take_record(void *data, const struct record *r)
{
	struct found *f = data;
	u32 place = r->id == KL_EV_SYSCALL_ENTRY + CALL ? r->value[0].number - MARK : PLACES;

	if (place < PLACES)
		f->calls[place]++;
	else
		f->other++;
}

static struct found read_session(int fd)
{
	struct found f = {};

	if (kl_stop(fd))
		bail("stop: %s", kl_why(fd));
	decode_session(fd, take_record, &f);
	f.lost = kl_stats(fd, -1).lost;
	close(fd);
	return f;
}

/* --------------------------------------------------------------------- tests */

#define BIT(place) (1u << (place))
#define ALL_IN (BIT(IN) | BIT(BELOW) | BIT(DEEP) | BIT(USERS_IN))

static const struct {
	const char *name;
	u32 uid;
	const char *path;
	u32 places; /* that it must get, one bit each */
} plans[] = {
	{ "root's, a cgroup", 0, TOP "/in", ALL_IN },
	{ "root's, the same one", 0, TOP "/in", ALL_IN },
	{ "root's, one below it", 0, TOP "/in/sub", BIT(BELOW) | BIT(DEEP) },
	{ "root's, the one above it", 0, TOP, ALL_IN | BIT(OTHER) | BIT(USERS_OTHER) },
	{ "root's, as deep as can be", 0, deep, BIT(DEEP) },
	{ "root's, the root of the hierarchy", 0, GROUPS, BIT(PLACES) - 1 },
	{ "a user's, a cgroup", UID_USER1, TOP "/in", BIT(USERS_IN) },
	{ "a user's, one in which the user has no task", UID_USER1, TOP "/in/sub", 0 },
	{ "a user's, the root of the hierarchy", UID_USER1, GROUPS,
	  BIT(USERS_IN) | BIT(USERS_OTHER) },
};

#define SESSIONS (sizeof(plans) / sizeof(*plans))

static void check_session(u32 i, const struct found *f)
{
	u64 foreign = f->other, wrong = 0;
	char name[120];

	for (u32 place = 0; place < PLACES; place++) {
		if (plans[i].places >> place & 1)
			wrong += f->calls[place] != shared->calls[place];
		else
			foreign += f->calls[place];
		if (f->calls[place])
			printf("# %s: %u: %llu of %llu calls\n", plans[i].name, place,
			       (unsigned long long)f->calls[place],
			       (unsigned long long)shared->calls[place]);
	}
	snprintf(name, sizeof(name), "%s: nothing from elsewhere", plans[i].name);
	tap_result(!foreign, name, "%llu records", (unsigned long long)foreign);
	snprintf(name, sizeof(name), "%s: every call", plans[i].name);
	tap_result(!wrong && !f->lost, name, "%llu places differ, lost %llu",
		   (unsigned long long)wrong, (unsigned long long)f->lost);
}

static void check_places(void)
{
	int fds[SESSIONS];
	bool seen = true;
	struct found f;
	pid_t child;

	for (u32 i = 0; i < SESSIONS; i++)
		fds[i] = follow(plans[i].uid, plans[i].path);
	child = fork();
	if (!child) {
		move_about();
		_exit(0);
	}
	finish(child);
	for (enum place place = ROOT; place < USERS_IN; place++)
		make_family(place, 0);
	make_family(USERS_IN, UID_USER1);
	make_family(USERS_OTHER, UID_USER1);
	for (u32 i = 0; i < SESSIONS; i++) {
		f = read_session(fds[i]);
		check_session(i, &f);
	}
	for (u32 place = 0; place < PLACES; place++)
		seen &= shared->calls[place] >= 63;
	tap_check(seen, "there was something to see everywhere");
}

/* ------------------------------------------------------- moved by another process */

#define ROUNDS 60

/* A session of root's alone, and of a user's: the latter finds its tasks in another way. */
static void check_moved(u32 uid)
{
	int fd = follow(uid, TOP "/in"), stopped = follow(uid, TOP "/in");
	u64 least = 0, most = 0;
	char name[120];
	struct found f;
	pid_t child;

	/* The first session still follows the cgroup. */
	read_session(stopped);
	shared->stop = 0;
	child = fork();
	if (!child) {
		if (uid)
			kl_become(uid);
		while (!shared->stop) {
			syscall(CALL, MARK + IN, 0);
			if (++shared->sequence % 8 == 0)
				usleep(50);
		}
		_exit(0);
	}
	for (u32 i = 0; i < ROUNDS; i++) {
		u32 before = shared->sequence, entered, leaving;

		move(child, TOP "/in");
		entered = shared->sequence;
		while ((leaving = shared->sequence) - entered < 10)
			sleep_ms(1);
		move(child, TOP "/other");
		/* The call in progress at each of these moments may count or not. */
		least += leaving - entered - 1;
		most += shared->sequence - before + 1;
		sleep_ms(2);
	}
	shared->stop = 1;
	finish(child);
	f = read_session(fd);
	snprintf(name, sizeof(name), "%s session: a task that is moved in and out while it runs",
		 uid ? "a user's" : "root's");
	tap_result(f.calls[IN] >= least && f.calls[IN] <= most && !f.lost, name,
		   "%llu calls, at least %llu, at most %llu", (unsigned long long)f.calls[IN],
		   (unsigned long long)least, (unsigned long long)most);
	printf("# %llu calls, of %llu to %llu, of %u\n", (unsigned long long)f.calls[IN],
	       (unsigned long long)least, (unsigned long long)most, shared->sequence);
}

/* ------------------------------------------------------------ thousands of tasks */

#define PROCESSES 8
#define THREADS 250

static void *run_thread(void *barrier)
{
	syscall(CALL, MARK + IN, 0);
	pthread_barrier_wait(barrier);
	pause();
	return NULL;
}

static void run_threads(void)
{
	pthread_barrier_t barrier;
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 32768);
	for (u32 i = 0; i < THREADS; i++)
		if (pthread_create(&thread, &attributes, run_thread, &barrier))
			_exit(1);
	pthread_barrier_wait(&barrier);
	__atomic_fetch_add(&shared->sequence, 1, __ATOMIC_RELAXED);
	while (!shared->stop)
		sleep_ms(20);
	_exit(0);
}

static u32 lines_of(const char *path)
{
	FILE *file = fopen(path, "re");
	u32 n = 0;

	for (int c; file && (c = getc(file)) != EOF;)
		n += c == '\n';
	if (file)
		fclose(file);
	return n;
}

/* Half of the threads are in the cgroup, the others beside it. */
static void check_many(void)
{
	int fd = follow(0, TOP "/in");
	double until = now_seconds() + 60;
	pid_t child[PROCESSES];
	struct found f;
	u32 threads;

	shared->stop = 0;
	shared->sequence = 0;
	for (u32 i = 0; i < PROCESSES; i++) {
		child[i] = start_in(i % 2 ? OTHER : IN, 0);
		if (!child[i])
			run_threads();
	}
	while (shared->sequence < PROCESSES && now_seconds() < until)
		sleep_ms(20);
	threads = lines_of(TOP "/in/cgroup.threads");
	shared->stop = 1;
	for (u32 i = 0; i < PROCESSES; i++)
		finish(child[i]);
	f = read_session(fd);
	tap_result(threads == PROCESSES / 2 * (THREADS + 1) &&
			   f.calls[IN] == threads - PROCESSES / 2 && !f.lost,
		   "a thousand threads in it, as many beside it",
		   "%llu calls of %u threads, sequence %u", (unsigned long long)f.calls[IN],
		   threads, shared->sequence);
}

/* -------------------------------------------------------------- removed cgroups */

static void call_from(const char *path)
{
	pid_t child = fork();

	if (!child) {
		move(0, path);
		syscall(CALL, MARK + IN, 0);
		_exit(0);
	}
	finish(child);
}

static void check_removed(void)
{
	int fd[2], dir;
	struct found f[2];

	if (mkdir(TOP "/gone", 0755))
		bail("mkdir");
	dir = open(TOP "/gone", O_PATH);
	fd[0] = follow(0, TOP "/gone");
	call_from(TOP "/gone");
	if (rmdir(TOP "/gone") || mkdir(TOP "/gone", 0755))
		bail("rmdir");
	fd[1] = create_session(0);
	tap_check(filter_fd(fd[1], dir) == -ENOENT && strstr(kl_why(fd[1]), "removed"),
		  "a cgroup that has been removed cannot be followed");
	close(dir);
	if (filter_path(fd[1], TOP "/gone") || kl_start(fd[1]))
		bail("gone: %s", kl_why(fd[1]));
	call_from(TOP "/gone");
	call_from(TOP "/gone");
	for (u32 i = 0; i < 2; i++)
		f[i] = read_session(fd[i]);
	tap_result(f[0].calls[IN] == 1 && f[1].calls[IN] == 2,
		   "a new cgroup of the same name is another one", "%llu and %llu calls",
		   (unsigned long long)f[0].calls[IN], (unsigned long long)f[1].calls[IN]);
	rmdir(TOP "/gone");
}

/* ---------------------------------------------------------------------- mistakes */

static void check_mistakes(void)
{
	struct kl_abi_filter filter = { .size = sizeof(filter), .kind = KL_FILTER_UID, .fd = 1 };
	int session = create_session(UID_USER1), fd;
	char path[sizeof(deep) + 8];

	tap_check(filter_fd(session, -1) == -EBADF && filter_fd(session, 9999) == -EBADF,
		  "no such descriptor");
	tap_check(filter_fd(session, session) == -EBADF && filter_path(session, "/tmp") == -EBADF &&
			  strstr(kl_why(session), "not a directory of the cgroup v2"),
		  "not a cgroup");
	tap_check(filter_path(session, GROUPS "/cgroup.procs") == -EBADF, "a file of a cgroup");
	mkdir(OLD, 0755);
	if (mount("kl", OLD, "cgroup", 0, "none,name=klc")) {
		tap_skip("a cgroup of version 1", "this kernel has none");
	} else {
		tap_check(filter_path(session, OLD) == -EBADF, "a cgroup of version 1");
		umount(OLD);
	}
	snprintf(path, sizeof(path), "%s/d", deep);
	if (mkdir(path, 0755))
		bail("mkdir");
	tap_check(filter_path(session, path) == -EINVAL && strstr(kl_why(session), "64 levels"),
		  "a cgroup that is too deep");
	rmdir(path);
	tap_check(kl_call(session, KL_IOC_FILTER, &filter) == -EINVAL,
		  "a descriptor, but no cgroup");
	fd = open(TOP "/in", O_RDONLY);
	tap_check(!filter_fd(session, fd) && !kl_start(session), "by a readable descriptor");
	tap_check(filter_fd(session, fd) == -EBUSY, "not while it runs");
	close(fd);
	close(session);
}

/* --------------------------------------------------------------------- set-up */

static void prepare(void)
{
	int length;

	shared = kl_share("/tmp/kl-cgroup-shared", sizeof(*shared));
	if (access(GROUPS "/cgroup.procs", F_OK) && mount("none", GROUPS, "cgroup2", 0, NULL))
		bail("no cgroups");
	if (mkdir(TOP, 0755) || mkdir(paths[IN], 0755) || mkdir(paths[BELOW], 0755) ||
	    mkdir(paths[OTHER], 0755) || chmod(KL_DEVICE_PATH, 0666) ||
	    !put_file("/proc/sys/kernel/pid_max", "32768"))
		bail("mkdir");
	length = snprintf(deep, sizeof(deep), "%s", paths[BELOW]);
	for (u32 depth = 3; depth < DEPTH_MAX; depth++) {
		length += snprintf(deep + length, sizeof(deep) - length, "/d");
		if (mkdir(deep, 0755))
			bail("%s", deep);
	}
}

/* Leaves nothing behind for the next test. */
static void clean_up(void)
{
	for (u32 depth = 3; depth < DEPTH_MAX; depth++) {
		rmdir(deep);
		*strrchr(deep, '/') = 0;
	}
	rmdir(paths[BELOW]);
	rmdir(paths[IN]);
	rmdir(paths[OTHER]);
	tap_check(!rmdir(TOP), "all cgroups can be removed");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return run_program(atoi(argv[1]));
	prepare();
	check_places();
	check_moved(0);
	check_moved(UID_USER1);
	check_many();
	check_removed();
	check_mistakes();
	clean_up();
	return tap_end();
}
