/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work of several threads whose results are in order. Each thread does the same: it takes the next
 * item, one thread at a time; works on it, all threads at once; and puts the result when all items
 * before have been put. So the results are those of one thread.
 */
#ifndef KERNLENS_TURNS_H
#define KERNLENS_TURNS_H

#include <pthread.h>
#include <stdbool.h>

/* More threads than this would wait for the one that takes items. */
#define KL_TURNS_THREADS_MAX 8

/**
 * struct kl_turns_ops - what the threads do
 * @create: an item, of which each thread has one; NULL: out of memory
 * @destroy: it
 * @take: fill an item with what comes next. Returns 1, or 0 if nothing comes after it
 * @work: on an item; calls of different threads overlap
 * @put: its result, in the order in which items were taken. Returns 0, or a negative errno, which
 *       ends the work: nothing is put after it
 *
 * What happens in @take and @put of one item happens in the same thread, which blocks all signals
 * unless it is the caller's. @context is that of kl_turns_run().
 */
struct kl_turns_ops {
	void *(*create)(void *context);
	void (*destroy)(void *context, void *item);
	int (*take)(void *context, void *item);
	void (*work)(void *context, void *item);
	int (*put)(void *context, void *item);
};

/**
 * kl_thread_start - start a thread that gets no signals: they are for the others
 * @thread: set
 * @entry: what it runs
 * @context: passed to it
 *
 * Returns whether it runs.
 */
bool kl_thread_start(pthread_t *thread, void *(*entry)(void *context), void *context);

/**
 * kl_turns_threads - how many threads to use
 *
 * Returns the number of CPUs that the caller may run on, at most KL_TURNS_THREADS_MAX.
 */
unsigned int kl_turns_threads(void);

/**
 * kl_turns_run - take, work on and put all items
 * @ops: what the threads do
 * @context: passed to all of it
 * @threads: how many threads, of which the caller is one; if fewer can be started, there are fewer
 *
 * Returns 0, what @put has returned, or -ENOMEM if there was no memory for an item.
 */
int kl_turns_run(const struct kl_turns_ops *ops, void *context, unsigned int threads);

#endif /* KERNLENS_TURNS_H */
