/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The options --cgroup, --unit and --container: which cgroup a user means. Units are found in the
 * tree of cgroups itself, containers there and in the files of their runtimes; neither needs D-Bus
 * or a daemon.
 */
#ifndef KL_CLI_BASE_CGROUP_H
#define KL_CLI_BASE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "cli.h"

/* Rows of a table of options. */
/* clang-format off */
#define CLI_CGROUP_OPTIONS                                                                       \
	{ CLI_KEY_CGROUP, "cgroup", "PATH", "tasks of a cgroup (v2) and of those below it" },    \
	{ CLI_KEY_UNIT, "unit", "NAME", "tasks of a systemd unit, such as ssh or user.slice" },  \
	{ CLI_KEY_CONTAINER, "container", "NAME", "tasks of a container, by name or ID" }
/* clang-format on */

/* What one of these options has selected. */
struct cli_cgroup {
	int key; /* CLI_KEY_CGROUP, _UNIT or _CONTAINER; 0: none of them */
	const char *name;
};

/**
 * cli_cgroup_option - handle an option if it is one of these
 * @cgroup: set
 * @parser: parser, after cli_parse() returned @key
 *
 * Returns false if it is another option.
 */
bool cli_cgroup_option(struct cli_cgroup *cgroup, const struct cli_parser *parser, int key);

/**
 * cli_cgroup_find - find the cgroup that is meant
 * @cgroup: with a key
 *
 * Returns its path below the root of the hierarchy, to be freed, or NULL after an error message,
 * which lists the candidates. Whether there is a cgroup of that path is not checked for --cgroup.
 */
char *cli_cgroup_find(const struct cli_cgroup *cgroup);

/* "cgroup /a", "unit ssh" or "container web"; to be freed. */
char *cli_cgroup_subject(const struct cli_cgroup *cgroup);

/* container.c */
char *cli_container_find(const char *name);

/* Most candidates that an error message lists. */
#define CLI_CANDIDATES_MAX 10

/**
 * struct cli_candidates - names for an error message
 * @text: separated by commas; NULL: none
 * @n: number of names, of which @text has the first CLI_CANDIDATES_MAX
 */
struct cli_candidates {
	char *text;
	size_t n;
};

/* Add a name, formatted as by printf(). */
void cli_candidates_add(struct cli_candidates *candidates, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The list, with the number of those left out; to be freed with cli_candidates_deinit(). */
const char *cli_candidates_text(struct cli_candidates *candidates);
void cli_candidates_deinit(struct cli_candidates *candidates);

#endif /* KL_CLI_BASE_CGROUP_H */
