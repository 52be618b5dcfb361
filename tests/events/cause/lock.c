// SPDX-License-Identifier: GPL-2.0
/* Kernel locks, taken, released, and contended. */
#include <pthread.h>

#include "cause.h"

#define THREADS 4
#define TIMES 100
#define LONG_BYTES (32u << 20)

static int pipes[2];

static void *work(void *data)
{
	char buffer[512] = "";
	long number = (long)data;

	for (int i = 0; i < TIMES; i++) {
		void *page;

		/* The pipe's mutex, and the address space's lock for reading and writing. */
		if (number & 1)
			CHECK(write(pipes[1], buffer, sizeof(buffer)));
		else
			CHECK(read(pipes[0], buffer, sizeof(buffer)));
		page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
		if (page == MAP_FAILED)
			DIE("mmap");
		*(char *)page = 1;
		CHECK(munmap(page, 65536));
	}
	return NULL;
}

/*
 * A process writes much into a file, which holds the file's lock; then this one writes, too. On the
 * same CPU, it does not spin for the lock.
 */
static void wait_for_owner(void)
{
	char *data = calloc(1, LONG_BYTES);
	int fd = memfd_create("contended", 0);
	cpu_set_t cpus;
	pid_t owner;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (!data)
		DIE("calloc");
	CHECK(fd);
	CHECK(sched_setaffinity(0, sizeof(cpus), &cpus));
	owner = fork();
	CHECK(owner);
	for (int i = 0; i < 4; i++)
		if (!owner) {
			CHECK(pwrite(fd, data, LONG_BYTES, 0));
		} else {
			usleep(20000);
			CHECK(pwrite(fd, data, 1, 0));
		}
	if (!owner)
		_exit(0);
	fact("contention_begin owner_tid=%d", owner);
	CHECK(waitpid(owner, NULL, 0));
	close(fd);
	free(data);
}

int main(void)
{
	pthread_t thread[THREADS];

	CHECK(pipe(pipes));
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			DIE("pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	wait_for_owner();
	return 0;
}
