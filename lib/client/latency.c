// SPDX-License-Identifier: GPL-2.0
/*
 * Requests a latency profile and reads all of it. Converts cycles to nanoseconds, and makes names
 * printable.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/format.h>
#include <kernlens/latency.h>
#include <kernlens/symbols.h>
#include "../base/base.h"
#include "client.h"

#define AT_ONCE 1024u

int kl_session_latency(struct kl_session *session, struct kl_abi_latency *params)
{
	return kl_client_call(session->fd, KL_IOC_LATENCY, params, sizeof(*params),
			      "request a latency profile");
}

/* Read an array of structs of @size; *@n: their number. */
static int read_array(struct kl_session *session, struct kl_latency *latency, uint32_t what,
		      size_t size, void **array, size_t *n)
{
	struct kl_abi_latency_read call = { .what = what };
	size_t room = 0;
	int ret;

	do {
		if (*n + AT_ONCE > room) {
			void *grown = realloc(*array, (room = 2 * (*n + AT_ONCE)) * size);

			if (!grown)
				return kl_fail(ENOMEM, "out of memory");
			*array = grown;
		}
		call.buffer = (uintptr_t)*array + *n * size;
		call.n = AT_ONCE;
		ret = kl_client_call(session->fd, KL_IOC_LATENCY_READ, &call, sizeof(call),
				     "read the latency profile");
		if (ret)
			return ret;
		*n += call.n;
	} while (call.n);
	latency->about = call;
	return 0;
}

static uint64_t ns_of(uint64_t cycles, uint64_t hz)
{
	return (uint64_t)((unsigned __int128)cycles * 1000000000u / hz);
}

static void convert_sum(struct kl_abi_latency_sum *sum, uint64_t hz)
{
	sum->sum = ns_of(sum->sum, hz);
	sum->worst = ns_of(sum->worst, hz);
}

/* Any user can name a task. The name may fill all of @name, without a NUL. */
static void make_plain(char *name, size_t room)
{
	kl_make_plain(name, strnlen(name, room));
}

static void convert(struct kl_latency *latency, uint64_t hz)
{
	for (size_t i = 0; i < latency->n_sources; i++)
		make_plain(latency->source[i].name, sizeof(latency->source[i].name));
	for (size_t i = 0; i < latency->n_tasks; i++) {
		make_plain(latency->task[i].comm, sizeof(latency->task[i].comm));
		latency->task[i].since = ns_of(latency->task[i].since, hz);
		latency->task[i].until = ns_of(latency->task[i].until, hz);
		for (unsigned int s = 0; s < KL_LATENCY_STATES; s++)
			convert_sum(&latency->task[i].in[s], hz);
	}
	for (size_t i = 0; i < latency->n_entries; i++)
		convert_sum(&latency->entry[i].asleep, hz);
	latency->about.start = ns_of(latency->about.start, hz);
	latency->about.until = ns_of(latency->about.until, hz);
}

static int by_id(const void *a, const void *b)
{
	const struct kl_abi_latency_task *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int longest_first(const void *a, const void *b)
{
	const struct kl_abi_latency_entry *x = a, *y = b;

	if (x->asleep.sum != y->asleep.sum)
		return x->asleep.sum < y->asleep.sum ? 1 : -1;
	return x->task < y->task ? -1 : x->task > y->task;
}

/* Read the entries first: their tasks exist by then, or have been evicted. */
struct kl_latency *kl_latency_read(struct kl_session *session, uint64_t clock_hz)
{
	struct kl_latency *l = calloc(1, sizeof(*l));
	int ret;

	if (!l) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	ret = read_array(session, l, KL_LATENCY_READ_ENTRIES, sizeof(*l->entry), (void **)&l->entry,
			 &l->n_entries);
	if (!ret)
		ret = read_array(session, l, KL_LATENCY_READ_TASKS, sizeof(*l->task),
				 (void **)&l->task, &l->n_tasks);
	if (!ret)
		ret = read_array(session, l, KL_LATENCY_READ_SOURCES, sizeof(*l->source),
				 (void **)&l->source, &l->n_sources);
	if (ret) {
		kl_latency_destroy(l);
		errno = -ret;
		return NULL;
	}
	convert(l, clock_hz);
	qsort(l->task, l->n_tasks, sizeof(*l->task), by_id);
	qsort(l->entry, l->n_entries, sizeof(*l->entry), longest_first);
	return l;
}

void kl_latency_destroy(struct kl_latency *latency)
{
	if (!latency)
		return;
	kl_symbols_close(latency->symbols);
	free(latency->task);
	free(latency->entry);
	free(latency->source);
	free(latency);
}

const struct kl_abi_latency_task *kl_latency_task(const struct kl_latency *latency, uint32_t id)
{
	const struct kl_abi_latency_task key = { .id = id };

	if (!latency->n_tasks)
		return NULL;
	return bsearch(&key, latency->task, latency->n_tasks, sizeof(key), by_id);
}
