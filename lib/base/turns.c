// SPDX-License-Identifier: GPL-2.0
/* Threads that take items and put them in turn. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>

#include <kernlens/turns.h>

/**
 * struct turns - what the threads share
 * @taking: held while an item is taken; guards the following members
 * @taken: how many items have been taken
 * @ended: nothing comes after these, or putting has failed
 * @putting: guards the following members, and is held while an item is put
 * @next: signaled when @put changes
 * @put: how many items have been put
 * @error: of putting
 */
struct turns {
	const struct kl_turns_ops *ops;
	void *context;
	pthread_mutex_t taking;
	uint64_t taken;
	bool ended;
	pthread_mutex_t putting;
	pthread_cond_t next;
	uint64_t put;
	int error;
};

static bool take(struct turns *turns, void *item, uint64_t *turn)
{
	bool got;

	pthread_mutex_lock(&turns->taking);
	got = !turns->ended;
	if (got) {
		turns->ended = turns->ops->take(turns->context, item) <= 0;
		*turn = turns->taken++;
	}
	pthread_mutex_unlock(&turns->taking);
	return got;
}

static void put(struct turns *turns, void *item, uint64_t turn)
{
	int error;

	pthread_mutex_lock(&turns->putting);
	while (turns->put != turn)
		pthread_cond_wait(&turns->next, &turns->putting);
	if (!turns->error)
		turns->error = turns->ops->put(turns->context, item);
	error = turns->error;
	turns->put++;
	pthread_cond_broadcast(&turns->next);
	pthread_mutex_unlock(&turns->putting);
	if (!error)
		return;
	pthread_mutex_lock(&turns->taking);
	turns->ended = true;
	pthread_mutex_unlock(&turns->taking);
}

static void *run(void *context)
{
	struct turns *turns = context;
	void *item = turns->ops->create(turns->context);
	uint64_t turn;

	if (!item)
		return NULL;
	while (take(turns, item, &turn)) {
		turns->ops->work(turns->context, item);
		put(turns, item, turn);
	}
	turns->ops->destroy(turns->context, item);
	return NULL;
}

bool kl_thread_start(pthread_t *thread, void *(*entry)(void *context), void *context)
{
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	started = !pthread_create(thread, NULL, entry, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

unsigned int kl_turns_threads(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return n < KL_TURNS_THREADS_MAX ? (unsigned int)n : KL_TURNS_THREADS_MAX;
}

int kl_turns_run(const struct kl_turns_ops *ops, void *context, unsigned int threads)
{
	struct turns turns = { .ops = ops, .context = context };
	pthread_t thread[KL_TURNS_THREADS_MAX];
	unsigned int started = 0;

	pthread_mutex_init(&turns.taking, NULL);
	pthread_mutex_init(&turns.putting, NULL);
	pthread_cond_init(&turns.next, NULL);
	while (started + 1 < threads && started < KL_TURNS_THREADS_MAX &&
	       kl_thread_start(&thread[started], run, &turns))
		started++;
	run(&turns);
	for (unsigned int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	pthread_cond_destroy(&turns.next);
	pthread_mutex_destroy(&turns.putting);
	pthread_mutex_destroy(&turns.taking);
	/* No thread had memory for an item. */
	return turns.ended ? turns.error : -ENOMEM;
}
