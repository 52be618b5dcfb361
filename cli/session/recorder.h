/* SPDX-License-Identifier: GPL-2.0 */
/* Print what happens to a trace while it is recorded. */
#ifndef KL_CLI_SESSION_RECORDER_H
#define KL_CLI_SESSION_RECORDER_H

#include <stdbool.h>
#include <kernlens/record.h>

/**
 * cli_recorder_error - print why a trace cannot be created
 * @error: negative errno with the library's error text
 *
 * Returns CLI_FAILED.
 */
int cli_recorder_error(int error);

/**
 * cli_recorder_notice - print a notice; for `notify` of struct kl_recorder_params
 * @context: not used
 * @notice: notice
 */
void cli_recorder_notice(void *context, const struct kl_record_notice *notice);

/**
 * cli_recorder_print_snapshots - print what became of requests for snapshots
 * @recorder: recorder, at the end
 * @path: its trace
 * @quiet: only what was not fulfilled
 */
void cli_recorder_print_snapshots(const struct kl_recorder *recorder, const char *path, bool quiet);

#endif /* KL_CLI_SESSION_RECORDER_H */
