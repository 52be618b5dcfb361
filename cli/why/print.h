/* SPDX-License-Identifier: GPL-2.0 */
/* Output of kernlens why. */
#ifndef KL_CLI_WHY_PRINT_H
#define KL_CLI_WHY_PRINT_H

#include <jansson.h>
#include <stdio.h>
#include <kernlens/internal.h>

/**
 * struct cli_why - an explanation to print
 * @node: it
 * @least: parts with less than this percentage of the time are not shown
 * @lost: records that are missing from the trace
 * @boot_id: of the trace's boot of its machine
 * @interrupts: as kl_why_knows_interrupts()
 */
struct cli_why {
	const struct kl_why_node *node;
	double least;
	uint64_t lost;
	const char *boot_id;
	bool interrupts;
};

/* Print the parts of the time, the chains behind the waits, and a verdict. */
void cli_why_print(const struct cli_why *why, FILE *file);

json_t *cli_why_json(const struct cli_why *why);

#endif /* KL_CLI_WHY_PRINT_H */
