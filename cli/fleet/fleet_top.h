/* SPDX-License-Identifier: GPL-2.0 */
/* What many machines and their processes use, from the figures that Prometheus has of them. */
#ifndef KL_CLI_FLEET_FLEET_TOP_H
#define KL_CLI_FLEET_FLEET_TOP_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct cli_fleet_top - a request
 * @prometheus: URL
 * @login, @ca: files, or NULL
 * @hosts: patterns, separated by commas
 * @by: word for what processes are sorted by
 * @top: how many processes
 * @window_ns: over which rates are taken
 */
struct cli_fleet_top {
	const char *prometheus, *login, *ca, *hosts, *by;
	uint64_t top, window_ns;
};

/* Is it a word for @by? */
bool cli_fleet_can_sort(const char *by);

/* Query, and print tables or JSON. Returns an exit status. */
int cli_fleet_print_top(const struct cli_fleet_top *top);

#endif /* KL_CLI_FLEET_FLEET_TOP_H */
