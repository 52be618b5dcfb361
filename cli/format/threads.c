// SPDX-License-Identifier: GPL-2.0
/*
 * Prints a trace with several threads. Each does the same: it takes the next items of the trace,
 * one thread at a time; formats them, all threads at once; and writes what has become of them when
 * all before has been written. So the output is that of one thread, and no item waits for another
 * thread's attention.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "../base/common.h"
#include "../base/output.h"
#include "format.h"

/* Reading alone takes a tenth of the time: more threads than this would wait for it. */
#define THREADS_MAX 8

/**
 * struct work - what the threads share
 * @reading: held while items are taken
 * @taken: how often items have been taken
 * @ended: there are no more, or the output has failed
 * @writing: guards the following members
 * @next: signaled when @written changes
 * @written: how many times @taken has been written
 * @good: so far
 * @failure: of the write that failed, as errno
 */
struct work {
	struct cli_printer *printer;
	struct kl_trace *trace;
	bool (*is_wanted)(void *context, const struct kl_item *item);
	void *context;
	pthread_mutex_t reading;
	uint64_t taken;
	bool ended;
	pthread_mutex_t writing;
	pthread_cond_t next;
	uint64_t written;
	bool good;
	int failure;
};

/* Takes items. Returns false at the end. */
static bool take(struct work *work, struct kl_items *items, uint64_t *turn, int *error)
{
	bool got = false;

	pthread_mutex_lock(&work->reading);
	if (!work->ended) {
		*error = kl_items_read(items, work->trace, work->is_wanted, work->context);
		work->ended = *error <= 0;
		*turn = work->taken++;
		got = true;
	}
	pthread_mutex_unlock(&work->reading);
	return got;
}

static void stop_reading(struct work *work)
{
	pthread_mutex_lock(&work->reading);
	work->ended = true;
	pthread_mutex_unlock(&work->reading);
}

/* Write in turn. What comes after a failure is dropped. */
static void write_out(struct work *work, struct kl_buffer *text, uint64_t turn, int error)
{
	bool good;

	pthread_mutex_lock(&work->writing);
	while (work->written != turn)
		pthread_cond_wait(&work->next, &work->writing);
	if (work->good && error < 0) {
		cli_library_error(error, NULL);
		work->good = false;
	}
	if (work->good && !cli_write_buffer(text, work->printer->file)) {
		work->failure = errno;
		work->good = false;
	}
	work->written++;
	good = work->good;
	pthread_cond_broadcast(&work->next);
	pthread_mutex_unlock(&work->writing);
	if (!good)
		stop_reading(work);
}

static void *run(void *context)
{
	struct work *work = context;
	struct cli_printer own = *work->printer;
	struct kl_items *items = kl_items_create();
	uint64_t turn;
	int error;

	own.buffer = (struct kl_buffer){ 0 };
	while (items && take(work, items, &turn, &error)) {
		for (size_t i = 0; i < items->n; i++)
			own.format->add(&own, &items->item[i]);
		write_out(work, &own.buffer, turn, error);
	}
	kl_buffer_deinit(&own.buffer);
	kl_items_destroy(items);
	return NULL;
}

static bool print_with(struct work *work, unsigned int n)
{
	pthread_t thread[THREADS_MAX];
	unsigned int started = 0;

	pthread_mutex_init(&work->reading, NULL);
	pthread_mutex_init(&work->writing, NULL);
	pthread_cond_init(&work->next, NULL);
	while (started < n - 1 && cli_start_thread(&thread[started], run, work))
		started++;
	run(work);
	for (unsigned int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	pthread_cond_destroy(&work->next);
	pthread_mutex_destroy(&work->writing);
	pthread_mutex_destroy(&work->reading);
	if (!work->ended)
		cli_error(-ENOMEM, "out of memory");
	/* How the end of the output's reader is distinguished from other failures. */
	errno = work->failure;
	return work->good && work->ended;
}

static unsigned int count_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned int)CPU_COUNT(&set);
}

bool cli_printer_add_all(struct cli_printer *printer, struct kl_trace *trace,
			 bool (*is_wanted)(void *context, const struct kl_item *item),
			 void *context)
{
	const unsigned int cpus = count_cpus();
	struct work work = {
		.printer = printer,
		.trace = trace,
		.is_wanted = is_wanted,
		.context = context,
		.good = true,
	};
	struct kl_item item;
	bool good = true;

	if (cpus > 1 && printer->format->is_independent && kl_trace_is_complete(trace))
		return cli_printer_flush(printer) &&
		       print_with(&work, cpus < THREADS_MAX ? cpus : THREADS_MAX);
	while (good && kl_trace_next(trace, &item) > 0)
		if (is_wanted(context, &item))
			good = cli_printer_add(printer, &item);
	return good;
}
