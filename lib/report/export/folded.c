// SPDX-License-Identifier: GPL-2.0
/* Folded stack traces: a line for each that differs, with how often it occurred. */
#include <errno.h>

#include "export.h"

static int add_sample(struct kl_export *x, const struct kl_export_sample *sample)
{
	return kl_profile_add(x->profile, sample->event);
}

static int end_folded(struct kl_export *x)
{
	struct kl_flame *flame = kl_profile_flame(x->profile);

	if (!flame)
		return -ENOMEM;
	kl_flame_folded(flame, &x->out);
	kl_flame_destroy(flame);
	return 0;
}

const struct kl_export_ops kl_export_folded = {
	.format = { .name = "folded",
		    .extension = "folded",
		    .help = "stack traces, a line each, for flame graph scripts" },
	.needs_samples = true,
	.sample = add_sample,
	.end = end_folded,
};
