/* SPDX-License-Identifier: GPL-2.0 */
/* The full-screen view of processes as part of the command. */
#ifndef KL_CLI_PROC_VIEW_H
#define KL_CLI_PROC_VIEW_H

#include "../../view/tui/tui.h"

/* Run the view, with colors and sections filled in. Returns the exit status, after a message. */
int cli_proc_view(struct kl_device *device, struct view_options *options);

#endif /* KL_CLI_PROC_VIEW_H */
