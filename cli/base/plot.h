/* SPDX-License-Identifier: GPL-2.0 */
/* Curves on a terminal, or as a file. */
#ifndef KL_CLI_PLOT_H
#define KL_CLI_PLOT_H

#include <stddef.h>
#include <kernlens/internal.h>

/* Print a curve in dots, or in '#' where the terminal has no Unicode. */
void cli_plot_print(const struct kl_plot_curve *curve);

/* Number of points that are next to each other in the width of the terminal. */
size_t cli_plot_points(void);

/* Write curves as an SVG picture to a file. Returns CLI_OK or CLI_FAILED, after a message. */
int cli_plot_svg(const struct kl_plot_curve *curve, size_t n, const char *path);

#endif /* KL_CLI_PLOT_H */
