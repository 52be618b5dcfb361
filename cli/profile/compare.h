/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between two profiles. */
#ifndef KL_CLI_PROFILE_COMPARE_H
#define KL_CLI_PROFILE_COMPARE_H

#include "print.h"

/**
 * struct cli_profile_change - a row of two profiles
 * @row: of the new profile, or of the old one if only that has it
 * @old_percent: its share of the old profile's samples
 * @new_percent: its share of the new profile's samples
 */
struct cli_profile_change {
	const struct kl_profile_row *row;
	double old_percent;
	double new_percent;
};

/**
 * struct cli_profile_changes - all rows of two profiles
 * @change: largest change first
 * @n: number of changes
 * @rows: of the old and the new profile, which @change points into
 */
struct cli_profile_changes {
	struct cli_profile_change *change;
	size_t n;
	struct kl_profile_row *rows[2];
};

/**
 * cli_profile_compare - shares of rows in two profiles
 * @report: has both profiles
 * @changes: filled in; to be freed with cli_profile_changes_deinit()
 *
 * Processes and threads are the same if they have the same name, whatever their IDs. Returns 0 or a
 * negative errno with an error text.
 */
int cli_profile_compare(const struct cli_profile *report, struct cli_profile_changes *changes);

void cli_profile_changes_deinit(struct cli_profile_changes *changes);

#endif /* KL_CLI_PROFILE_COMPARE_H */
