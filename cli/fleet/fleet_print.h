/* SPDX-License-Identifier: GPL-2.0 */
/* Results of kernlens fleet. Each function returns an exit status. */
#ifndef KL_CLI_FLEET_FLEET_PRINT_H
#define KL_CLI_FLEET_FLEET_PRINT_H

#include <jansson.h>
#include <stdint.h>

#include "../base/numbers.h"

#define CLI_FLEET_CLOCK_MAX (CLI_NUMBER_MAX + 8)

/* What a capture says of its host's clock: "within 1.2 ms", "not synchronized" or "unknown". */
const char *cli_fleet_clock(char text[CLI_FLEET_CLOCK_MAX], const json_t *about);

/* When a capture was taken; 0: unknown. */
uint64_t cli_fleet_time(const json_t *row);

/* Compares captures by time, for cli_fleet_sort(). */
int cli_fleet_compare_times(const void *a, const void *b);

/* The same rows, sorted; releases @rows. @compare: as for qsort() of json_t * */
json_t *cli_fleet_sort(json_t *rows, int (*compare)(const void *, const void *));

int cli_fleet_print_captures(json_t *rows);
int cli_fleet_print_status(json_t *rows);

/* @capture: the ID that the request had. It fails if no host has frozen. */
int cli_fleet_print_freeze(json_t *rows, const char *capture);

#endif /* KL_CLI_FLEET_FLEET_PRINT_H */
