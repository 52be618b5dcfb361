// SPDX-License-Identifier: GPL-2.0
/*
 * A session on the events of one process, created and ended by a thread of its own: both patch the
 * kernel's text and wait for all CPUs, and keys must not wait for that. Read by the events screen.
 * The lock protects the states of all sessions; the rest of a session belongs to its thread, except
 * between FOLLOW_READY and follow_end().
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"

#define BLOCK_BYTES (64u << 10)
#define BLOCKS 16

/**
 * struct follow - a session
 * @dropped: no longer used: the thread frees it
 */
struct follow {
	struct kl_device *device;
	int32_t pid;
	bool syscalls;
	struct kl_schema *schema;
	struct kl_session *session;
	struct kl_reader *reader;
	struct kl_live *live;
	struct kl_timebase timebase;
	enum follow_state state;
	bool dropped;
	char why[160];
};

static pthread_mutex_t lock;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned int threads;

/* Select the events: RDEFAULT, or all system calls. */
static int choose_events(struct follow *f)
{
	uint8_t map[KL_EV_MAX] = { 0 };

	if (!f->syscalls)
		return kl_session_use_maskset(f->session, KL_MASKSET_RDEFAULT);
	memset(map + KL_EV_SYSCALL_ENTRY, KL_HANDLER_log, KL_EV_MAX - KL_EV_SYSCALL_ENTRY);
	for (unsigned int id = KL_EV_SYSCALL_ENTRY; id < KL_EV_MAX; id++)
		if (!kl_schema_class(f->schema, id))
			map[id] = KL_HANDLER_nothing;
	map[KL_EV_syscall_late_string] = KL_HANDLER_log;
	return kl_session_write_maskset(f->session, KL_MASKSET_FIRST_USER, "view", map) ?:
		       kl_session_use_maskset(f->session, KL_MASKSET_FIRST_USER);
}

static int make_session(struct follow *f)
{
	struct kl_abi_session config = {
		.mode = KL_MODE_OVERWRITE,
		.block_bytes = BLOCK_BYTES,
		.blocks = BLOCKS,
		.blocks_max = BLOCKS,
	};
	int ret;

	snprintf(config.name, sizeof(config.name), "proc %d", f->pid);
	f->schema = kl_schema_create();
	if (!f->schema)
		return -ENOMEM;
	f->session = kl_session_create(f->device, &config);
	if (!f->session)
		return -errno;
	ret = choose_events(f);
	if (!ret)
		ret = kl_session_filter(f->session, KL_FILTER_TASKS, 0);
	if (!ret)
		ret = kl_session_tasks(f->session, f->pid,
				       KL_TASK_ADD | KL_TASK_PROCESS | KL_TASK_INHERIT);
	return ret < 0 ? ret : 0;
}

static int start_reading(struct follow *f)
{
	struct kl_abi_time time;
	int ret = kl_device_time(f->device, &time), fd;

	if (ret)
		return ret;
	kl_timebase_fit(&f->timebase, &time, NULL);
	fd = kl_session_reader(f->session, 0);
	if (fd < 0)
		return fd;
	f->reader =
		kl_reader_create(fd, kl_device_info(f->device)->cpus, BLOCK_BYTES, KL_BACKEND_MMAP);
	if (f->reader)
		f->live = kl_live_create(f->reader, f->schema, &f->timebase);
	return f->live ? kl_session_start(f->session) : -errno;
}

static void free_all(struct follow *f)
{
	kl_live_destroy(f->live);
	kl_reader_destroy(f->reader);
	kl_session_close(f->session);
	kl_schema_destroy(f->schema);
	free(f);
}

static void *run(void *data)
{
	struct follow *f = data;
	int ret = make_session(f);

	if (!ret)
		ret = start_reading(f);
	if (ret) {
		const char *text = kl_error_text();

		snprintf(f->why, sizeof(f->why), "%s", *text ? text : strerror(-ret));
	}
	pthread_mutex_lock(&lock);
	f->state = ret ? FOLLOW_FAILED : FOLLOW_READY;
	while (!f->dropped)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	free_all(f);
	pthread_mutex_lock(&lock);
	threads--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Signals are handled by the thread that waits for keys. */
static int start_thread(struct follow *f)
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, run, f);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error)
		pthread_detach(thread);
	return error;
}

static void init_lock(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&changed, NULL);
}

struct follow *follow_begin(struct kl_device *device, int32_t pid, bool syscalls)
{
	struct follow *f = calloc(1, sizeof(*f));
	int error;

	if (!f)
		return NULL;
	f->device = device;
	f->pid = pid;
	f->syscalls = syscalls;
	pthread_once(&once, init_lock);
	pthread_mutex_lock(&lock);
	threads++;
	pthread_mutex_unlock(&lock);
	error = start_thread(f);
	if (!error)
		return f;
	pthread_mutex_lock(&lock);
	threads--;
	pthread_mutex_unlock(&lock);
	free(f);
	return NULL;
}

enum follow_state follow_state(const struct follow *f)
{
	enum follow_state state;

	pthread_mutex_lock(&lock);
	state = f->state;
	pthread_mutex_unlock(&lock);
	return state;
}

struct kl_live *follow_live(const struct follow *f)
{
	return f->live;
}

const char *follow_why(const struct follow *f)
{
	return f->why;
}

void follow_end(struct follow *f)
{
	pthread_mutex_lock(&lock);
	f->dropped = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void follow_wait_all(void)
{
	/* Needed if no session was ever started. */
	pthread_once(&once, init_lock);
	pthread_mutex_lock(&lock);
	while (threads)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}
