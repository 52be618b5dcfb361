// SPDX-License-Identifier: GPL-2.0
/*
 * The states of tasks over time as SVG: a row for each task, in it a stack for each slice of time
 * whose parts are as high as the shares of the states.
 */
#include <errno.h>
#include <string.h>

#include <kernlens/states_report.h>
#include "../base/base.h"
#include "svg.h"

#define LEFT 190.0
#define WIDTH 1000.0
#define MARGIN 12.0
#define TOP 74
#define ROW 26
#define BAR 22
#define TICKS 10

/* From the bottom to the top of a stack; the colors differ in lightness, too. */
static const struct {
	enum kl_run_state state;
	const char *name;
	const char *color;
} shown[] = {
	{ KL_RUN_RUNNING, "running", "#2a7f3f" },   { KL_RUN_PREEMPTED, "preempted", "#c2410c" },
	{ KL_RUN_WOKEN, "ready", "#f59e0b" },	    { KL_RUN_BLOCKED, "blocked", "#7c3aed" },
	{ KL_RUN_SLEEPING, "sleeping", "#dbe3ec" }, { KL_RUN_STOPPED, "stopped", "#6b7280" },
};

static void draw_legend(struct kl_buffer *to)
{
	double x = LEFT;

	for (size_t i = 0; i < KL_ARRAY_SIZE(shown); i++) {
		kl_buffer_printf(to,
				 "<rect x=\"%.1f\" y=\"34\" width=\"11\" height=\"11\" "
				 "fill=\"%s\"/><text x=\"%.1f\" y=\"44\">%s</text>\n",
				 x, shown[i].color, x + 15, shown[i].name);
		x += 15 + 7.0 * (double)strlen(shown[i].name) + 16;
	}
}

static void draw_axis(struct kl_buffer *to, uint64_t ns, unsigned int bottom)
{
	for (unsigned int i = 0; i <= TICKS; i++) {
		const double x = LEFT + WIDTH * i / TICKS;

		kl_buffer_printf(to,
				 "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%u\" "
				 "stroke=\"#e5e7eb\"/><text x=\"%.1f\" y=\"%d\" "
				 "text-anchor=\"middle\">%.3f s</text>\n",
				 x, x, TOP - 6, bottom, x, TOP - 10, (double)ns * i / TICKS / 1e9);
	}
}

static void draw_row(struct kl_buffer *to, const struct kl_states_counts *counts,
		     const struct kl_states_row *row, unsigned int y)
{
	const double width =
		WIDTH * (double)counts->slice_ns / (double)(counts->end_ns - counts->begin_ns);

	kl_buffer_printf(to, "<text x=\"%.1f\" y=\"%u\" text-anchor=\"end\">", LEFT - 8, y + 15);
	kl_svg_add_text(to, row->task.comm, SIZE_MAX);
	kl_buffer_printf(to, "-%d</text><g><title>", row->task.tid);
	kl_svg_add_text(to, row->task.comm, SIZE_MAX);
	kl_buffer_printf(to, "-%d:", row->task.tid);
	for (size_t i = 0; i < KL_ARRAY_SIZE(shown); i++)
		kl_buffer_printf(to, " %s %.6f s%s", shown[i].name,
				 (double)row->ns[shown[i].state] / 1e9,
				 i + 1 < KL_ARRAY_SIZE(shown) ? "," : "");
	kl_buffer_add_string(to, "</title>\n");
	for (size_t i = 0; i < KL_ARRAY_SIZE(shown); i++) {
		bool any = false;

		/* One path for each state keeps the file small. */
		for (unsigned int j = 0; j < counts->slices; j++) {
			double below = 0, x = LEFT + width * j, right = x + width;
			double high = (double)row->slice[j][shown[i].state] /
				      (double)counts->slice_ns * BAR;

			if (high < 0.01)
				continue;
			for (size_t k = 0; k < i; k++)
				below += (double)row->slice[j][shown[k].state];
			below = below / (double)counts->slice_ns * BAR;
			right = right > LEFT + WIDTH ? LEFT + WIDTH : right;
			kl_buffer_printf(to, "%sM%.2f %.2fH%.2fV%.2fH%.2fz",
					 any ? "" : "<path d=\"", x, y + BAR - below, right,
					 y + BAR - below - high, x);
			any = true;
		}
		if (any)
			kl_buffer_printf(to, "\" fill=\"%s\"/>\n", shown[i].color);
	}
	kl_buffer_add_string(to, "</g>\n");
}

int kl_states_svg(struct kl_buffer *buffer, const struct kl_states_counts *counts,
		  const struct kl_states_row *rows, size_t n, const char *title)
{
	const unsigned int height = TOP + (unsigned int)n * ROW + 16;
	const double width = LEFT + WIDTH + MARGIN + 20;

	kl_buffer_printf(buffer,
			 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %u\" "
			 "width=\"%.0f\" height=\"%u\">\n<style>text{font:12px system-ui,"
			 "sans-serif;fill:#1b1b1b}.h{font-weight:600;font-size:15px}</style>\n"
			 "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
			 "<text class=\"h\" x=\"%.0f\" y=\"22\">",
			 width, height, width, height, MARGIN);
	kl_svg_add_text(buffer, "States of tasks: ", SIZE_MAX);
	kl_svg_add_text(buffer, title, SIZE_MAX);
	kl_buffer_add_string(buffer, "</text>\n");
	draw_legend(buffer);
	if (counts->slices)
		draw_axis(buffer, counts->end_ns - counts->begin_ns, height - 12);
	for (size_t i = 0; i < n && counts->slices; i++)
		draw_row(buffer, counts, &rows[i], TOP + (unsigned int)i * ROW);
	kl_buffer_add_string(buffer, "</svg>\n");
	return buffer->error ? -ENOMEM : 0;
}
