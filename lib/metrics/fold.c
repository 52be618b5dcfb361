// SPDX-License-Identifier: GPL-2.0
/*
 * How much counters of subjects have grown since the previous read. Fed by readers, which add up
 * the growth of what has no series of its own.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <kernlens/metrics.h>
#include "../base/base.h"
#include "../base/table.h"

/* A subject, followed by the values of its counters. */
struct subject {
	uint64_t key;
	double value[];
};

/**
 * struct kl_fold - two reads
 * @now: subjects of the current read; @before: those of the previous one
 * @reads: number of reads that have begun
 */
struct kl_fold {
	size_t values;
	struct kl_hash now, before;
	uint64_t reads;
};

struct kl_fold *kl_fold_create(size_t values)
{
	struct kl_fold *fold = calloc(1, sizeof(*fold));

	if (!fold) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	fold->values = values;
	fold->now.size = sizeof(struct subject) + values * sizeof(double);
	return fold;
}

void kl_fold_destroy(struct kl_fold *fold)
{
	if (!fold)
		return;
	kl_hash_deinit(&fold->now);
	kl_hash_deinit(&fold->before);
	free(fold);
}

void kl_fold_begin(struct kl_fold *fold)
{
	kl_hash_deinit(&fold->before);
	fold->before = fold->now;
	fold->now = (struct kl_hash){ .size = fold->before.size };
	fold->reads++;
}

int kl_fold_growth(struct kl_fold *fold, uint64_t key, const double *now, bool is_new,
		   double *growth)
{
	const struct subject *before;
	struct subject *subject;

	key = key ? key : 1;
	before = fold->before.count ? kl_hash_find(&fold->before, key) : NULL;
	subject = kl_hash_get(&fold->now, key);
	if (!subject)
		return kl_fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < fold->values; i++) {
		double from = before ? before->value[i] : is_new || fold->reads < 2 ? 0 : now[i];

		subject->value[i] = now[i];
		growth[i] = now[i] > from ? now[i] - from : 0;
	}
	return 0;
}
