// SPDX-License-Identifier: GPL-2.0
/* Kernel locks, taken, released, and contended. */
#include <pthread.h>

#include "cause.h"

#define THREADS 4
#define TIMES 100

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

int main(void)
{
	pthread_t thread[THREADS];

	CHECK(pipe(pipes));
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			DIE("pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
