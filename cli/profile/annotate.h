/* SPDX-License-Identifier: GPL-2.0 */
/* The basic blocks of a function, with the samples of a profile in each. */
#ifndef KL_CLI_PROFILE_ANNOTATE_H
#define KL_CLI_PROFILE_ANNOTATE_H

#include "print.h"

/**
 * struct cli_annotation - what to print
 * @function: name of the function; NULL: none
 * @counts: file with execution counts: a result of kernlens count, path or coverage with --json;
 *          NULL: none
 * @instructions: print the instructions, too
 * @about: of the trace that the profile is from
 */
struct cli_annotation {
	const char *function;
	const char *counts;
	bool instructions;
	const struct kl_trace_info *about;
};

/*
 * Print all functions that have the name, or with --json, write them to stdout. Returns CLI_OK, or
 * another status after an error message.
 */
int cli_profile_annotate(const struct cli_profile *report, const struct cli_annotation *annotation,
			 FILE *file);

#endif /* KL_CLI_PROFILE_ANNOTATE_H */
