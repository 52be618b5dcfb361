// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a contended mutex of the kernel, on one processor: a thread writes into a pipe from
 * memory that userfaultfd has not filled yet, and so sleeps with the pipe's mutex; another one writes
 * into the same pipe, and waits for the mutex; then the memory is filled. Prints the least and the
 * mean of such a round, in ticks of the time stamp counter, which are instructions in a guest started
 * with --icount.
 *
 *	contend [--free] [ROUNDS]
 *
 * --free: without the memory that is missing, and so without contention; a round takes the pipe's
 * mutex three times.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

#define PAGE 4096
#define ROUNDS 2000
#define WARM_UP 100

static int ends[2];
static char *missing;
static sem_t first_turn, second_turn, first_done, second_done;

static void *first(void *unused)
{
	for (;;) {
		sem_wait(&first_turn);
		if (write(ends[1], missing, 8) != 8)
			die("write");
		sem_post(&first_done);
	}
	return NULL;
}

static void *second(void *unused)
{
	for (;;) {
		sem_wait(&second_turn);
		if (write(ends[1], "x", 1) != 1)
			die("write");
		sem_post(&second_done);
	}
	return NULL;
}

static void start(void *(*function)(void *))
{
	struct sched_param param = { .sched_priority = 20 };
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
	pthread_attr_setschedparam(&attributes, &param);
	errno = pthread_create(&thread, &attributes, function, NULL);
	if (errno)
		die("pthread_create");
}

static int watch_faults(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { .start = (unsigned long)missing, .len = PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		die("userfaultfd");
	return fd;
}

/* The threads have a higher priority: they run until they sleep, before this one goes on. */
static void run_round(int faults)
{
	static char data[PAGE] __attribute__((aligned(PAGE)));
	struct uffdio_copy copy = { .dst = (unsigned long)missing,
				    .src = (unsigned long)data,
				    .len = PAGE };
	struct uffd_msg message;
	char got[16];

	sem_post(&first_turn);
	if (faults >= 0 && read(faults, &message, sizeof(message)) != sizeof(message))
		die("a fault");
	sem_post(&second_turn);
	if (faults >= 0 && ioctl(faults, UFFDIO_COPY, &copy))
		die("UFFDIO_COPY");
	sem_wait(&first_done);
	sem_wait(&second_done);
	if (read(ends[0], got, sizeof(got)) != 9)
		die("read");
}

int main(int argc, char **argv)
{
	const bool is_free = argc > 1 && !strcmp(argv[1], "--free");
	struct sched_param param = { .sched_priority = 10 };
	unsigned long rounds = argc > 1 + is_free ? strtoul(argv[1 + is_free], NULL, 0) : ROUNDS;
	unsigned long long least = ~0ull, sum = 0;
	int faults = -1;

	missing = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (missing == MAP_FAILED || pipe(ends) || sched_setscheduler(0, SCHED_FIFO, &param))
		die("contend");
	sem_init(&first_turn, 0, 0);
	sem_init(&second_turn, 0, 0);
	sem_init(&first_done, 0, 0);
	sem_init(&second_done, 0, 0);
	if (!is_free)
		faults = watch_faults();
	start(first);
	start(second);
	for (unsigned long i = 0; i < rounds + WARM_UP; i++) {
		unsigned long long t;

		if (!is_free && madvise(missing, PAGE, MADV_DONTNEED))
			die("madvise");
		t = cycles();
		run_round(faults);
		t = cycles() - t;
		if (i < WARM_UP)
			continue;
		sum += t;
		least = t < least ? t : least;
	}
	printf("%llu %llu\n", least, sum / rounds);
	return 0;
}
