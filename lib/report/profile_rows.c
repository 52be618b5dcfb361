// SPDX-License-Identifier: GPL-2.0
/* A profile's samples by keys. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../base/base.h"
#include "profile.h"

/* What distinguishes rows: two words for each key. */
struct identity {
	uint64_t word[2 * KL_PROFILE_KEYS_MAX];
};

/**
 * struct table - rows being made
 * @identities: as many as @row has elements
 * @seen: the last sample that a row has counted, plus 1
 */
struct table {
	struct kl_profile *profile;
	const enum kl_profile_key *key;
	unsigned int n_keys;
	struct kl_profile_list identities;
	struct kl_profile_row *row;
	uint64_t *seen;
	size_t room;
};

static void identify(const struct table *t, const struct kl_profile_sample *sample,
		     const struct kl_profile_frame *frame, struct identity *id)
{
	const struct kl_profile_task *task = kl_profile_task_of(t->profile, sample);
	const struct kl_profile_function *function = kl_profile_function_of(t->profile, frame);

	memset(id, 0, sizeof(*id));
	for (unsigned int i = 0; i < t->n_keys; i++) {
		uint64_t *word = &id->word[2 * i];

		switch (t->key[i]) {
		case KL_PROFILE_FUNCTION:
			word[0] = frame->function;
			break;
		case KL_PROFILE_OBJECT:
			word[0] = (uintptr_t)function->object;
			break;
		case KL_PROFILE_LINE:
			word[0] = (uintptr_t)(frame->line ? frame->line : function->name);
			break;
		case KL_PROFILE_PROCESS:
			word[0] = (uint32_t)task->pid;
			word[1] = (uintptr_t)task->comm;
			break;
		case KL_PROFILE_THREAD:
			word[0] = (uint32_t)task->tid;
			word[1] = (uintptr_t)task->comm;
			break;
		case KL_PROFILE_CPU:
			word[0] = sample->cpu;
			break;
		case KL_PROFILE_CGROUP:
			word[0] = task->cgroup;
			break;
		}
	}
}

/* A number or a path as a text of the profile. NULL if there is no memory. */
static const char *keep(struct kl_profile *profile, struct kl_buffer *buffer)
{
	const char *text;

	kl_buffer_add_char(buffer, 0);
	text = buffer->data;
	if (buffer->error || kl_texts_keep(&profile->texts, &text))
		text = NULL;
	kl_buffer_deinit(buffer);
	return text;
}

static const char *cgroup_text(struct kl_profile *profile, uint64_t id)
{
	struct kl_buffer buffer = { 0 };

	if (!kl_print_cgroup(&buffer, kl_schema_cgroups(profile->schema), id))
		kl_buffer_printf(&buffer, "%llu", (unsigned long long)id);
	return keep(profile, &buffer);
}

static const char *cpu_text(struct kl_profile *profile, uint32_t cpu)
{
	struct kl_buffer buffer = { 0 };

	kl_buffer_printf(&buffer, "%u", cpu);
	return keep(profile, &buffer);
}

/* Returns false if there is no memory. */
static bool describe(const struct table *t, const struct kl_profile_sample *sample,
		     const struct kl_profile_frame *frame, struct kl_profile_row *row)
{
	const struct kl_profile_task *task = kl_profile_task_of(t->profile, sample);
	const struct kl_profile_function *function = kl_profile_function_of(t->profile, frame);

	memset(row, 0, sizeof(*row));
	for (unsigned int i = 0; i < t->n_keys; i++) {
		const char **text = &row->key[i];

		switch (t->key[i]) {
		case KL_PROFILE_FUNCTION:
			*text = function->name;
			row->function = *function;
			break;
		case KL_PROFILE_OBJECT:
			*text = function->object;
			break;
		case KL_PROFILE_LINE:
			*text = frame->line ? frame->line : function->name;
			break;
		case KL_PROFILE_PROCESS:
			*text = task->comm;
			row->pid = task->pid;
			break;
		case KL_PROFILE_THREAD:
			*text = task->comm;
			row->pid = task->pid;
			row->tid = task->tid;
			break;
		case KL_PROFILE_CPU:
			*text = cpu_text(t->profile, sample->cpu);
			row->cpu = sample->cpu;
			break;
		case KL_PROFILE_CGROUP:
			*text = cgroup_text(t->profile, task->cgroup);
			row->cgroup = task->cgroup;
			break;
		}
		if (!*text)
			return false;
	}
	return true;
}

static int grow(struct table *t)
{
	size_t n = t->room ? 2 * t->room : 256;
	struct kl_profile_row *row = reallocarray(t->row, n, sizeof(*row));
	uint64_t *seen;

	if (row)
		t->row = row;
	seen = row ? reallocarray(t->seen, n, sizeof(*seen)) : NULL;
	if (!seen)
		return kl_fail(ENOMEM, "out of memory");
	t->seen = seen;
	t->room = n;
	return 0;
}

/* The row of a frame of a sample, or NULL. */
static struct kl_profile_row *find_row(struct table *t, const struct kl_profile_sample *sample,
				       const struct kl_profile_frame *frame, uint64_t **seen)
{
	size_t n = t->identities.n;
	struct identity id;
	int64_t number;

	identify(t, sample, frame, &id);
	number = kl_profile_list_add(&t->identities, &id);
	if (number < 0)
		return NULL;
	if ((size_t)number == n) {
		if (n == t->room && grow(t))
			return NULL;
		if (!describe(t, sample, frame, &t->row[n]))
			return NULL;
		t->seen[n] = 0;
	}
	*seen = &t->seen[number];
	return &t->row[number];
}

/* @number: of the sample, from 1 */
static int add_sample(struct table *t, const struct kl_profile_sample *sample, uint64_t number)
{
	const struct kl_profile_path *path = &t->profile->path[sample->path];
	unsigned int outermost = kl_profile_has_frames(t->key, t->n_keys) ? 0 : path->n - 1;
	uint64_t *seen = NULL;

	for (unsigned int i = path->n; i-- > outermost;) {
		struct kl_profile_row *row = find_row(t, sample, &path->frame[i], &seen);

		if (!row)
			return -ENOMEM;
		row->self += i == path->n - 1 ? sample->count : 0;
		row->total += *seen == number ? 0 : sample->count;
		*seen = number;
	}
	return 0;
}

static int by_samples(const void *a, const void *b)
{
	const struct kl_profile_row *x = a, *y = b;
	int order = 0;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	for (unsigned int i = 0; !order && i < KL_PROFILE_KEYS_MAX && x->key[i] && y->key[i]; i++)
		order = strcmp(x->key[i], y->key[i]);
	return order ? order : x->tid != y->tid ? x->tid - y->tid : x->pid - y->pid;
}

struct kl_profile_row *kl_profile_rows(struct kl_profile *profile, const enum kl_profile_key *key,
				       unsigned int n_keys, size_t *count)
{
	struct table t = { .profile = profile, .key = key, .n_keys = n_keys };
	const struct kl_profile_sample *sample = NULL;
	uint64_t number = 0;
	int error = 0;

	t.identities.size = sizeof(struct identity);
	while (!error && (sample = kl_profile_next(profile, sample)))
		error = add_sample(&t, sample, ++number);
	*count = t.identities.n;
	kl_profile_list_deinit(&t.identities);
	free(t.seen);
	if (error) {
		free(t.row);
		t.row = NULL;
	} else if (*count) {
		qsort(t.row, *count, sizeof(*t.row), by_samples);
	}
	errno = -error;
	return t.row;
}
