// SPDX-License-Identifier: GPL-2.0
/*
 * lock_waits: a thread waits for each kind of lock that another one holds for 20 ms, and for what is
 * not a lock. Prints "LOCK PROCESS HOLDER", the thread that holds all locks.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HELD_US 20000

static atomic_int taker; /* the thread that is about to take a lock; 0: none */
#define NOINLINE __attribute__((noinline, noipa))

/* Between two members, so that its name has an offset. */
struct account {
	long number;
	pthread_mutex_t mutex;
};

static struct account account = { 1, PTHREAD_MUTEX_INITIALIZER };
static pthread_mutex_t *allocated;
pthread_mutex_t inheriting;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t slots;
static pthread_mutex_t condition_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t turn;
static int done;

/* Between a call and the return, so that the function is in the stack trace. */
#define AFTER __asm__ volatile("" ::: "memory")

NOINLINE static void take_account(void)
{
	pthread_mutex_lock(&account.mutex);
	AFTER;
	pthread_mutex_unlock(&account.mutex);
}

NOINLINE static void take_allocated(void)
{
	pthread_mutex_lock(allocated);
	AFTER;
	pthread_mutex_unlock(allocated);
}

NOINLINE static void take_inheriting(void)
{
	pthread_mutex_lock(&inheriting);
	AFTER;
	pthread_mutex_unlock(&inheriting);
}

NOINLINE static void read_table(void)
{
	pthread_rwlock_rdlock(&table_lock);
	AFTER;
	pthread_rwlock_unlock(&table_lock);
}

NOINLINE static void write_table(void)
{
	pthread_rwlock_wrlock(&table_lock);
	AFTER;
	pthread_rwlock_unlock(&table_lock);
}

NOINLINE static void take_slot(void)
{
	sem_wait(&slots);
	AFTER;
}

NOINLINE static void wait_for_condition(void)
{
	pthread_mutex_lock(&condition_mutex);
	while (!done)
		pthread_cond_wait(&condition, &condition_mutex);
	pthread_mutex_unlock(&condition_mutex);
}

static void *wait_for_all(void *unused)
{
	static void (*const take[])(void) = { take_account,	 take_allocated, take_inheriting,
					      read_table,	 write_table,	 take_slot,
					      wait_for_condition };

	for (size_t i = 0; i < sizeof(take) / sizeof(*take); i++) {
		pthread_barrier_wait(&turn);
		atomic_store(&taker, gettid());
		take[i]();
		atomic_store(&taker, 0);
		pthread_barrier_wait(&turn);
	}
	return unused;
}

/* Hold what the other thread takes next. */
static void hold(int i)
{
	if (i == 0)
		pthread_mutex_lock(&account.mutex);
	else if (i == 1)
		pthread_mutex_lock(allocated);
	else if (i == 2)
		pthread_mutex_lock(&inheriting);
	else if (i == 3)
		pthread_rwlock_wrlock(&table_lock);
	else if (i == 4)
		pthread_rwlock_rdlock(&table_lock);
}

static void release(int i)
{
	if (i == 0)
		pthread_mutex_unlock(&account.mutex);
	else if (i == 1)
		pthread_mutex_unlock(allocated);
	else if (i == 2)
		pthread_mutex_unlock(&inheriting);
	else if (i == 3 || i == 4)
		pthread_rwlock_unlock(&table_lock);
	else if (i == 5)
		sem_post(&slots);
}

/* Wait until the other thread sleeps in what it takes. */
static void await_taker(void)
{
	char path[64], state = 0;
	FILE *file;
	int tid;

	while (state != 'S') {
		usleep(1000);
		tid = atomic_load(&taker);
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
		file = tid ? fopen(path, "r") : NULL;
		if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		if (file)
			fclose(file);
	}
}

static void signal_condition(void)
{
	pthread_mutex_lock(&condition_mutex);
	done = 1;
	pthread_cond_signal(&condition);
	/* The other one is woken for the condition, then waits for the mutex. */
	usleep(HELD_US);
	pthread_mutex_unlock(&condition_mutex);
}

int main(void)
{
	pthread_mutexattr_t inherit;
	pthread_t thread;

	allocated = malloc(sizeof(*allocated));
	pthread_mutex_init(allocated, NULL);
	pthread_mutexattr_init(&inherit);
	pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inheriting, &inherit);
	sem_init(&slots, 0, 0);
	pthread_barrier_init(&turn, NULL, 2);
	if (pthread_create(&thread, NULL, wait_for_all, NULL))
		return 1;
	for (int i = 0; i < 7; i++) {
		hold(i);
		pthread_barrier_wait(&turn);
		await_taker();
		usleep(HELD_US);
		if (i == 6)
			signal_condition();
		else
			release(i);
		pthread_barrier_wait(&turn);
	}
	pthread_join(thread, NULL);
	printf("%p %d\n", (void *)allocated, getpid());
	return 0;
}
