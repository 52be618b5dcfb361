// SPDX-License-Identifier: GPL-2.0
/*
 * play FILE DISK: plays programs whose critical path is known by construction. A program is a line
 * "program NUMBER", a line "ACTOR OP..." for each of its processes, and a line "end". Actor 0 runs
 * first; the others are forked. Operations:
 *
 *   cN  compute for N ms          fN  fork actor N
 *   sN  sleep for N ms            jN  wait until actor N has ended
 *   wN  write to channel N        lN  lock mutex N, shared between the processes
 *   rN  read from channel N       uN  unlock it
 *   dN  read block N of the disk
 *
 * Channel N is a pipe, a pair of Unix sockets, an eventfd or a TCP connection, by N % 4. Actor N has the command name aN.
 * Prints a line "actor PROGRAM ACTOR PID PARENT" for each process, and a line
 * "did PROGRAM ACTOR OP ARGUMENT BEGIN END" for each operation, with times of CLOCK_MONOTONIC.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	ACTORS = 32,
	OPS = 64,
	CHANNELS = 32,
	LOCKS = 32,
};

struct op {
	char kind;
	int number;
	uint64_t begin;
	uint64_t end;
};

struct actor {
	int parent;
	pid_t pid;
	int n;
	struct op op[OPS];
};

/* Shared by the processes. */
struct stage {
	struct actor actor[ACTORS];
	pthread_mutex_t lock[LOCKS];
};

static struct stage *stage;
static int channel[CHANNELS][2];
static int disk;

static void die(const char *what)
{
	fprintf(stderr, "play: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Through the loopback device. Returns 0, or -1 with errno. */
static int connect_tcp(int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || ends[1] < 0 ||
	    bind(listener, (const struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&address, &length) ||
	    connect(ends[1], (const struct sockaddr *)&address, length))
		die("TCP connection");
	ends[0] = accept(listener, NULL, NULL);
	close(listener);
	return ends[0] < 0 ? -1 : 0;
}

static void act(int index);

static void compute(int ms)
{
	uint64_t end = now() + (uint64_t)ms * 1000000;

	while (now() < end)
		;
}

static void nap(int ms)
{
	const struct timespec t = { .tv_nsec = ms * 1000000L };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void fork_actor(int parent, int index)
{
	stage->actor[index].parent = parent;
	stage->actor[index].pid = fork();
	if (stage->actor[index].pid < 0)
		die("fork");
	if (!stage->actor[index].pid) {
		act(index);
		_exit(0);
	}
}

/* An eventfd takes eight bytes, the others any number. */
static void transfer(const struct op *op)
{
	uint64_t one = 1;
	ssize_t n = op->kind == 'w' ? write(channel[op->number][1], &one, sizeof(one)) :
				      read(channel[op->number][0], &one, sizeof(one));

	if (n != sizeof(one))
		die("channel");
}

static void read_disk(int block)
{
	void *buffer = NULL;

	if (posix_memalign(&buffer, 4096, 4096) ||
	    pread(disk, buffer, 4096, (off_t)block * 4096) != 4096)
		die("disk");
	free(buffer);
}

static void perform(int actor, const struct op *op)
{
	switch (op->kind) {
	case 'c':
		compute(op->number);
		break;
	case 's':
		nap(op->number);
		break;
	case 'w':
	case 'r':
		transfer(op);
		break;
	case 'd':
		read_disk(op->number);
		break;
	case 'f':
		fork_actor(actor, op->number);
		break;
	case 'j':
		if (waitpid(stage->actor[op->number].pid, NULL, 0) < 0)
			die("waitpid");
		break;
	case 'l':
		pthread_mutex_lock(&stage->lock[op->number]);
		break;
	case 'u':
		pthread_mutex_unlock(&stage->lock[op->number]);
		break;
	default:
		die("unknown operation");
	}
}

static void act(int index)
{
	struct actor *self = &stage->actor[index];
	char name[16];

	snprintf(name, sizeof(name), "a%d", index);
	prctl(PR_SET_NAME, name);
	self->pid = getpid();
	for (int i = 0; i < self->n; i++) {
		self->op[i].begin = now();
		perform(index, &self->op[i]);
		self->op[i].end = now();
	}
}

static void open_channels(void)
{
	for (int i = 0; i < CHANNELS; i++) {
		int *ends = channel[i];
		int failed = i % 4 == 0 ? pipe(ends) :
			     i % 4 == 1 ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) :
			     i % 4 == 2 ? (ends[0] = ends[1] = eventfd(0, 0)) < 0 :
					  connect_tcp(ends);

		if (failed)
			die("channel");
	}
}

static void init_locks(void)
{
	pthread_mutexattr_t shared;

	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&stage->lock[i], &shared);
}

static void parse_actor(char *line)
{
	char *rest = line, *word = strsep(&rest, " \n");
	int index = atoi(word);
	struct actor *actor;

	if (index < 0 || index >= ACTORS)
		die("too many actors");
	actor = &stage->actor[index];
	while ((word = strsep(&rest, " \n"))) {
		if (!*word)
			continue;
		if (actor->n == OPS)
			die("too many operations");
		actor->op[actor->n++] = (struct op){ .kind = *word, .number = atoi(word + 1) };
	}
}

static void play(int program)
{
	pid_t first = fork();

	if (first < 0)
		die("fork");
	if (!first) {
		act(0);
		_exit(0);
	}
	waitpid(first, NULL, 0);
	for (int i = 0; i < ACTORS; i++) {
		const struct actor *actor = &stage->actor[i];

		if (!actor->n)
			continue;
		printf("actor %d %d %d %d\n", program, i, actor->pid, actor->parent);
		for (int k = 0; k < actor->n; k++)
			printf("did %d %d %c %d %llu %llu\n", program, i, actor->op[k].kind,
			       actor->op[k].number, (unsigned long long)actor->op[k].begin,
			       (unsigned long long)actor->op[k].end);
	}
	memset(stage->actor, 0, sizeof(stage->actor));
}

int main(int argc, char **argv)
{
	FILE *file = argc == 3 ? fopen(argv[1], "r") : NULL;
	int program = -1;
	char line[4096];

	if (!file) {
		fprintf(stderr, "usage: play FILE DISK\n");
		return 2;
	}
	disk = open(argv[2], O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (disk < 0)
		die(argv[2]);
	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (stage == MAP_FAILED)
		die("mmap");
	open_channels();
	init_locks();
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "program ", 8))
			program = atoi(line + 8);
		else if (!strncmp(line, "end", 3))
			play(program);
		else
			parse_actor(line);
	}
	fclose(file);
	return 0;
}
