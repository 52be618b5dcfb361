// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of a timeline: events with stack traces, ticks if the trace has any. Of too many, each
 * second one is left out.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/error.h>
#include "../../base/base.h"
#include "../profile.h"
#include "timeline.h"

#define SAMPLES_MAX 500000

#define PART 4 /* of the page, for samples */
#define SAMPLES_FEW 10000

int kl_samples_init(struct kl_timeline *t)
{
	t->samples.every = 1;
	t->samples.profile = kl_profile_create(t->schema, NULL);
	/* Without stack traces, there are no samples. */
	if (!t->samples.profile && errno != ENOENT)
		return -ENOMEM;
	kl_error_clear();
	return 0;
}

static void thin_out(struct kl_samples *samples)
{
	for (size_t i = 0; i < samples->n / 2; i++)
		samples->sample[i] = samples->sample[2 * i];
	samples->n /= 2;
	samples->every *= 2;
}

int kl_samples_add(struct kl_timeline *t, const struct kl_event *event, uint32_t thread)
{
	struct kl_samples *samples = &t->samples;
	struct kl_sample *grown;
	int64_t path;

	if (kl_timeline_time(t, event->ns) < t->keep_ns)
		return 0;
	path = samples->profile ? kl_profile_path_of(samples->profile, event) : -ENOENT;
	if (path < 0)
		return path == -ENOENT ? 0 : (int)path;
	if (samples->seen++ % samples->every)
		return 0;
	if (samples->n == SAMPLES_MAX || samples->n > t->bytes / PART / KL_SAMPLE_BYTES)
		thin_out(samples);
	grown = kl_array_grow(samples->sample, samples->n, &samples->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	samples->sample = grown;
	grown[samples->n++] =
		(struct kl_sample){ kl_timeline_time(t, event->ns), thread, (uint32_t)path };
	return 0;
}

/* Is the page too large, not counting the records, which are left out then? */
static bool is_large(const struct kl_timeline *t)
{
	return t->counts.spans * KL_SPAN_BYTES + t->n_points * KL_POINT_BYTES +
		       t->samples.n * KL_SAMPLE_BYTES >
	       t->bytes;
}

/* For each path the number of its frames, and of each, outermost first, its name and kind. */
int kl_samples_finish(struct kl_timeline *t)
{
	const struct kl_profile *profile = t->samples.profile;
	struct kl_buffer *paths = &t->samples.paths;

	kl_buffer_reset(paths);
	while (is_large(t) && t->samples.n > SAMPLES_FEW)
		thin_out(&t->samples);
	for (size_t i = 0; profile && i < profile->n_paths; i++) {
		kl_add_varint(paths, profile->path[i].n);
		for (unsigned int k = 0; k < profile->path[i].n; k++) {
			const struct kl_profile_function *function =
				kl_profile_function_of(profile, &profile->path[i].frame[k]);
			const int64_t name = kl_timeline_name(t, function->name);

			if (name < 0)
				return -ENOMEM;
			kl_add_varint(paths,
				      (uint64_t)name << 1 | (function->kind == KL_PROFILE_KERNEL));
		}
	}
	return paths->error ? -ENOMEM : 0;
}

size_t kl_samples_paths(const struct kl_timeline *t)
{
	return t->samples.profile ? t->samples.profile->n_paths : 0;
}

unsigned int kl_samples_hz(const struct kl_timeline *t)
{
	return t->samples.profile ? kl_profile_counts(t->samples.profile)->hz : 0;
}

void kl_samples_deinit(struct kl_samples *samples)
{
	kl_profile_destroy(samples->profile);
	kl_buffer_deinit(&samples->paths);
	free(samples->sample);
}
