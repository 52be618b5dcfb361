// SPDX-License-Identifier: GPL-2.0
/* Compares two profiles row by row. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "compare.h"

static int compare_texts(const struct kl_profile_row *x, const struct kl_profile_row *y)
{
	int order = 0;

	for (unsigned int i = 0; !order && i < KL_PROFILE_KEYS_MAX && x->key[i] && y->key[i]; i++)
		order = strcmp(x->key[i], y->key[i]);
	if (!order && x->function.name && y->function.name)
		order = strcmp(x->function.object, y->function.object);
	return order;
}

static int by_texts(const void *a, const void *b)
{
	return compare_texts(((const struct cli_profile_change *)a)->row,
			     ((const struct cli_profile_change *)b)->row);
}

static int by_change(const void *a, const void *b)
{
	const struct cli_profile_change *x = a, *y = b;
	double dx = fabs(x->new_percent - x->old_percent);
	double dy = fabs(y->new_percent - y->old_percent);

	if (dx != dy)
		return dx < dy ? 1 : -1;
	return by_texts(a, b);
}

static double share(const struct kl_profile_row *row, const struct kl_profile *profile)
{
	uint64_t samples = kl_profile_counts(profile)->samples;

	return samples ? 100.0 * (double)row->self / (double)samples : 0;
}

/* Merge neighbors with equal texts. Returns how many are left. */
static size_t merge(struct cli_profile_change *change, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (kept && !by_texts(&change[kept - 1], &change[i])) {
			change[kept - 1].old_percent += change[i].old_percent;
			change[kept - 1].new_percent += change[i].new_percent;
		} else {
			change[kept++] = change[i];
		}
	}
	return kept;
}

int cli_profile_compare(const struct cli_profile *report, struct cli_profile_changes *changes)
{
	struct kl_profile *const profile[2] = { report->old, report->profile };
	size_t n[2], at = 0;

	*changes = (struct cli_profile_changes){};
	for (unsigned int k = 0; k < 2; k++) {
		changes->rows[k] = kl_profile_rows(profile[k], report->key, report->n_keys, &n[k]);
		if (!changes->rows[k] && errno) {
			int error = -errno;

			cli_profile_changes_deinit(changes);
			return error;
		}
	}
	changes->change = cli_alloc((n[0] + n[1] + 1) * sizeof(*changes->change));
	for (unsigned int k = 0; k < 2; k++)
		for (size_t i = 0; i < n[k]; i++) {
			const struct kl_profile_row *row = &changes->rows[k][i];
			double percent = share(row, profile[k]);

			changes->change[at++] = (struct cli_profile_change){ row, k ? 0 : percent,
									     k ? percent : 0 };
		}
	qsort(changes->change, at, sizeof(*changes->change), by_texts);
	changes->n = merge(changes->change, at);
	qsort(changes->change, changes->n, sizeof(*changes->change), by_change);
	return 0;
}

void cli_profile_changes_deinit(struct cli_profile_changes *changes)
{
	free(changes->change);
	free(changes->rows[0]);
	free(changes->rows[1]);
}
