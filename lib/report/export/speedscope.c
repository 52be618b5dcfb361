// SPDX-License-Identifier: GPL-2.0
/*
 * speedscope's JSON: the functions, and for each thread its samples in the order of time. Samples
 * are kept until the end, a few bytes each, since the profiles are written one after the other.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "export.h"

/* Paths of a thread's samples. */
struct samples {
	uint32_t *path;
	size_t n;
	size_t room;
};

struct speedscope {
	struct samples *of; /* by the number of the thread */
};

static int begin_speedscope(struct kl_export *x)
{
	struct speedscope *s = x->state;

	s->of = calloc(x->scan->n_threads + 1, sizeof(*s->of));
	return s->of ? 0 : -ENOMEM;
}

static int add_sample(struct kl_export *x, const struct kl_export_sample *sample)
{
	struct speedscope *s = x->state;
	struct samples *of = &s->of[sample->thread->number];
	uint32_t *grown = kl_array_grow(of->path, of->n, &of->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	of->path = grown;
	grown[of->n++] = sample->path;
	return 0;
}

static void write_functions(struct kl_export *x)
{
	const struct kl_profile_function *function = x->profile->functions.element;

	kl_buffer_add_string(&x->out, "\"shared\":{\"frames\":[");
	for (size_t i = 0; i < x->profile->functions.n; i++) {
		kl_buffer_add_string(&x->out, i ? ",\n{\"name\":" : "\n{\"name\":");
		kl_export_json_text(&x->out, function[i].name);
		kl_buffer_add_string(&x->out, ",\"file\":");
		kl_export_json_text(&x->out, function[i].object);
		kl_buffer_add_char(&x->out, '}');
	}
	kl_buffer_add_string(&x->out, "]}");
}

static int write_profile(struct kl_export *x, const struct samples *of,
			 const struct kl_timeline_thread *thread)
{
	const uint64_t period = kl_export_period_ns(x);
	char name[96];
	int error = 0;

	snprintf(name, sizeof(name), "%.64s (%d)", kl_export_comm(x, thread), thread->tid);
	kl_buffer_add_string(&x->out, "{\"type\":\"sampled\",\"name\":");
	kl_export_json_text(&x->out, name);
	kl_buffer_printf(&x->out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%llu",
			 period ? "nanoseconds" : "none",
			 (unsigned long long)(of->n * (period ?: 1)));
	kl_buffer_add_string(&x->out, ",\"samples\":[");
	for (size_t i = 0; i < of->n && !error; i++) {
		const struct kl_profile_path *path = &x->profile->path[of->path[i]];

		for (unsigned int k = 0; k < path->n; k++) {
			kl_buffer_add_string(&x->out, k ? "," : i ? ",[" : "[");
			kl_buffer_add_unsigned(&x->out, path->frame[k].function, 0);
		}
		kl_buffer_add_char(&x->out, ']');
		error = kl_export_flush(x);
	}
	kl_buffer_add_string(&x->out, "],\"weights\":[");
	for (size_t i = 0; i < of->n && !error; i++) {
		kl_buffer_add_string(&x->out, i ? "," : "");
		kl_buffer_add_unsigned(&x->out, period ?: 1, 0);
		error = kl_export_flush(x);
	}
	kl_buffer_add_string(&x->out, "]}");
	return error;
}

static int end_speedscope(struct kl_export *x)
{
	struct speedscope *s = x->state;
	const char *comma = "";
	int error = 0;

	kl_buffer_add_string(&x->out,
			     "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			     "\"exporter\":\"kernlens\",\"name\":");
	kl_export_json_text(&x->out, x->options->title);
	kl_buffer_add_string(&x->out, ",\n");
	write_functions(x);
	kl_buffer_add_string(&x->out, ",\n\"profiles\":[");
	for (size_t i = 0; i < x->scan->n_threads && !error; i++) {
		if (!s->of[i].n)
			continue;
		kl_buffer_add_string(&x->out, comma);
		comma = ",\n";
		error = write_profile(x, &s->of[i], x->scan->thread[i]);
	}
	kl_buffer_add_string(&x->out, "]}\n");
	return error;
}

static void clean_speedscope(struct kl_export *x)
{
	struct speedscope *s = x->state;

	for (size_t i = 0; s->of && i < x->scan->n_threads; i++)
		free(s->of[i].path);
	free(s->of);
}

const struct kl_export_ops kl_export_speedscope = {
	.format = { .name = "speedscope",
		    .extension = "speedscope.json",
		    .help = "stack traces by thread, for speedscope.app" },
	.has_spans = true,
	.needs_samples = true,
	.state_bytes = sizeof(struct speedscope),
	.begin = begin_speedscope,
	.sample = add_sample,
	.end = end_speedscope,
	.clean = clean_speedscope,
};
