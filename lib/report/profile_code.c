// SPDX-License-Identifier: GPL-2.0
/* Where in the code of a function the samples of a profile are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../base/base.h"
#include "profile.h"

/* An instruction of one of the functions. @seen: the last sample that it has counted */
struct instruction {
	uint64_t key; /* number of the function, plus 1, << 32 | offset */
	uint64_t self;
	uint64_t total;
	uint64_t seen;
};

/**
 * struct search - functions of a name
 * @code: results
 * @of: for each body of the profile, the number of its result, plus 1; 0: it has another name
 * @seen: for each result, the last sample that it has counted
 * @sample: number of the sample that is counted
 */
struct search {
	const struct kl_profile *profile;
	struct kl_profile_code *code;
	size_t n;
	size_t room;
	size_t *of;
	uint64_t *seen;
	uint64_t sample;
	struct kl_hash instructions;
};

static int add_code(struct search *s, const struct kl_profile_body *body, size_t number)
{
	struct kl_profile_code *grown = kl_array_grow(s->code, s->n, &s->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	s->code = grown;
	grown[s->n++] = (struct kl_profile_code){
		.symbol = body->symbol,
		.name = body->name,
		.object = body->object,
		.build_id = body->build_id,
		.start = body->start,
		.kernel = body->kernel,
		.body = (uint32_t)number,
	};
	return 0;
}

static int find_codes(struct search *s, const char *function)
{
	const struct kl_profile_body *body = s->profile->bodies.element;
	size_t bodies = s->profile->bodies.n;
	int error = 0;

	s->of = calloc(bodies + 1, sizeof(*s->of));
	if (!s->of)
		return kl_fail(ENOMEM, "out of memory");
	for (size_t i = 0; !error && i < bodies; i++) {
		if (strcmp(body[i].symbol, function) &&
		    (!body[i].name || strcmp(body[i].name, function)))
			continue;
		error = add_code(s, &body[i], i);
		s->of[i] = s->n;
	}
	s->seen = calloc(s->n + 1, sizeof(*s->seen));
	return error || s->seen ? error : kl_fail(ENOMEM, "out of memory");
}

/* Count a sample that a frame is of. @self: the frame is the innermost that is not inlined */
static int count_frame(struct search *s, const struct kl_profile_frame *frame, uint64_t count,
		       bool self)
{
	size_t number = frame->body ? s->of[frame->body - 1] : 0;
	struct kl_profile_code *code;
	struct instruction *in;

	if (!number)
		return 0;
	code = &s->code[number - 1];
	in = kl_hash_get(&s->instructions, (uint64_t)number << 32 | frame->offset);
	if (!in)
		return -ENOMEM;
	if (s->seen[number - 1] != s->sample)
		code->total += count;
	s->seen[number - 1] = s->sample;
	if (in->seen != s->sample)
		in->total += count;
	in->seen = s->sample;
	code->self += self ? count : 0;
	in->self += self ? count : 0;
	return 0;
}

/* The index of the innermost frame that is not inlined. */
static unsigned int inner_of(const struct kl_profile_path *path)
{
	unsigned int inner = path->n - 1;

	while (inner && path->frame[inner].inlined)
		inner--;
	return inner;
}

static int count_samples(struct search *s)
{
	const struct kl_profile_sample *sample = NULL;
	int error = 0;

	while (!error && (sample = kl_profile_next(s->profile, sample))) {
		const struct kl_profile_path *path = &s->profile->path[sample->path];
		unsigned int inner = inner_of(path);

		s->sample++;
		for (unsigned int i = 0; !error && i <= inner; i++)
			error = count_frame(s, &path->frame[i], sample->count, i == inner);
	}
	return error;
}

static int compare_places(const void *left, const void *right)
{
	const struct kl_profile_place *a = left, *b = right;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Give each function its instructions. */
static int distribute(struct search *s)
{
	const struct instruction *in = NULL;

	while ((in = kl_hash_next(&s->instructions, in)))
		s->code[(in->key >> 32) - 1].n++;
	for (size_t i = 0; i < s->n; i++) {
		s->code[i].place = calloc(s->code[i].n + 1, sizeof(*s->code[i].place));
		if (!s->code[i].place)
			return kl_fail(ENOMEM, "out of memory");
		s->code[i].n = 0;
	}
	while ((in = kl_hash_next(&s->instructions, in))) {
		struct kl_profile_code *code = &s->code[(in->key >> 32) - 1];

		code->place[code->n++] = (struct kl_profile_place){ .offset = (uint32_t)in->key,
								    .self = in->self,
								    .total = in->total };
	}
	for (size_t i = 0; i < s->n; i++)
		qsort(s->code[i].place, s->code[i].n, sizeof(*s->code[i].place), compare_places);
	return 0;
}

static int compare_codes(const void *left, const void *right)
{
	const struct kl_profile_code *a = left, *b = right;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return (a->start > b->start) - (a->start < b->start);
}

/* Functions whose samples are not looked at, or are forgotten, come last. */
static void drop_empty(struct search *s)
{
	while (s->n && !s->code[s->n - 1].total)
		free(s->code[--s->n].place);
}

struct kl_profile_code *kl_profile_code(struct kl_profile *profile, const char *function, size_t *n)
{
	struct search s = { .profile = profile, .instructions.size = sizeof(struct instruction) };
	int error = find_codes(&s, function);

	if (!error)
		error = count_samples(&s);
	if (!error)
		error = distribute(&s);
	if (!error && s.n)
		qsort(s.code, s.n, sizeof(*s.code), compare_codes);
	if (!error)
		drop_empty(&s);
	if (!error && !s.n)
		error = kl_fail(ENOENT, "no sample in a function %s", function);
	free(s.of);
	free(s.seen);
	kl_hash_deinit(&s.instructions);
	*n = s.n;
	if (!error)
		return s.code;
	kl_profile_code_free(s.code, s.n);
	errno = -error;
	return NULL;
}

int kl_profile_code_groups(struct kl_profile *profile, const struct kl_profile_code *code,
			   size_t (*group_of)(const void *context, uint64_t offset),
			   const void *context, struct kl_profile_place *place, size_t n)
{
	const struct kl_profile_sample *sample = NULL;
	uint64_t *seen = calloc(n, sizeof(*seen)), number = 0;

	if (!seen)
		return kl_fail(ENOMEM, "out of memory");
	memset(place, 0, n * sizeof(*place));
	while ((sample = kl_profile_next(profile, sample))) {
		const struct kl_profile_path *path = &profile->path[sample->path];
		unsigned int inner = inner_of(path);

		number++;
		for (unsigned int i = 0; i <= inner; i++) {
			size_t group;

			if (path->frame[i].body != code->body + 1)
				continue;
			group = group_of(context, path->frame[i].offset);
			if (seen[group] != number)
				place[group].total += sample->count;
			seen[group] = number;
			place[group].self += i == inner ? sample->count : 0;
		}
	}
	free(seen);
	return 0;
}

void kl_profile_code_free(struct kl_profile_code *code, size_t n)
{
	for (size_t i = 0; code && i < n; i++)
		free(code[i].place);
	free(code);
}
