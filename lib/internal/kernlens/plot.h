/* SPDX-License-Identifier: GPL-2.0 */
/* Curves over time, as pictures: of a history, and of what a trace has. */
#ifndef KERNLENS_PLOT_H
#define KERNLENS_PLOT_H

#include <stddef.h>
#include <kernlens/buffer.h>

/**
 * struct kl_plot_point - a period of a curve
 * @at: when it begins, in the unit of the axis
 * @low, @mean, @high: least, mean and greatest value in it
 */
struct kl_plot_point {
	double at;
	double low;
	double mean;
	double high;
};

/**
 * struct kl_plot_curve - a curve
 * @name, @help: shown above it; any text
 * @first, @last: ends of the axis
 * @first_label, @last_label: their names
 * @most: end of the other axis, above 0, which begins with 0
 * @most_label: its name
 * @gap: points that are farther apart are not connected; 0: all are
 * @n: number of points, at least one, in the order of @at
 */
struct kl_plot_curve {
	const char *name;
	const char *help;
	double first;
	double last;
	const char *first_label;
	const char *last_label;
	double most;
	const char *most_label;
	double gap;
	struct kl_plot_point *point;
	size_t n;
};

/**
 * kl_plot_place - where a point is on the axis
 * @curve: curve
 * @i: number of the point
 *
 * Returns a number from 0 to 1.
 */
static inline double kl_plot_place(const struct kl_plot_curve *curve, size_t i)
{
	const double length = curve->last - curve->first;

	return length > 0 ? (curve->point[i].at - curve->first) / length : 0;
}

/**
 * kl_plot_svg - draw curves below each other, as an SVG picture
 * @buffer: appended to
 * @curve: curves
 * @n: number of curves
 */
void kl_plot_svg(struct kl_buffer *buffer, const struct kl_plot_curve *curve, size_t n);

#endif /* KERNLENS_PLOT_H */
