// SPDX-License-Identifier: GPL-2.0
/*
 * What the program is doing while a call of the library takes long: a line on stderr, which a
 * thread writes, so that the call need not report its progress.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "output.h"

#define SILENT_NS 700000000

/* Initialized with the thread. */
static pthread_mutex_t lock;
static pthread_cond_t changed;
static const char *doing;
static uint64_t since_ns;
static bool running, shown;

/* Not through stdio: a process that is forked meanwhile must not find its lock taken. */
static void show(void)
{
	unsigned int seconds = (unsigned int)((cli_now_ns() - since_ns) / 1000000000);

	shown = true;
	if (seconds)
		dprintf(STDERR_FILENO, "\r\033[K%s (%u s)", doing, seconds);
	else
		dprintf(STDERR_FILENO, "\r\033[K%s ...", doing);
}

static void *run(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += SILENT_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (!doing)
			pthread_cond_wait(&changed, &lock);
		else if (pthread_cond_timedwait(&changed, &lock, &until) && doing)
			show();
	}
	return NULL;
}

static bool start_thread(void)
{
	pthread_t thread;

	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&changed, NULL);
	running = kl_thread_start(&thread, run, NULL);
	if (running)
		pthread_detach(thread);
	return running;
}

void cli_busy(const char *what)
{
	if (!running && (!what || !cli_has_screen(stderr) || !start_thread()))
		return;
	pthread_mutex_lock(&lock);
	if (!doing)
		since_ns = cli_now_ns();
	doing = what;
	if (!what && shown)
		dprintf(STDERR_FILENO, "\r\033[K");
	if (!what)
		shown = false;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}
