// SPDX-License-Identifier: GPL-2.0
/* Draws curves as an SVG picture, below each other. */
#include <string.h>

#include <kernlens/plot.h>
#include "svg.h"

#define WIDTH 900.0
#define HEIGHT 180.0
#define LEFT 90.0
#define RIGHT 20.0
#define TOP 30.0
#define BOTTOM 40.0

static const char style[] =
	"<style>text{font:12px sans-serif;fill:#333}.head{font-weight:bold}"
	".y{text-anchor:end}.axis{fill:none;stroke:#999}.range{fill:#9cc3e6;stroke:#9cc3e6}"
	".mean{fill:none;stroke:#1f5f99;stroke-width:1.5}</style>\n"
	"<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";

static double x_of(const struct kl_plot_curve *curve, size_t i)
{
	return LEFT + kl_plot_place(curve, i) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct kl_plot_curve *curve, double number)
{
	return HEIGHT - BOTTOM - number / curve->most * (HEIGHT - TOP - BOTTOM);
}

static void add_text(struct kl_buffer *to, const char *class, double x, double y, const char *text)
{
	kl_buffer_printf(to, "<text class=\"%s\" x=\"%.0f\" y=\"%.0f\">", class, x, y);
	kl_svg_add_text(to, text, strlen(text));
	kl_buffer_add_string(to, "</text>\n");
}

/* End of the points that are connected with @i. */
static size_t unbroken(const struct kl_plot_curve *curve, size_t i)
{
	while (++i < curve->n)
		if (curve->gap > 0 && curve->point[i].at - curve->point[i - 1].at > curve->gap)
			break;
	return i;
}

static void add_part(struct kl_buffer *to, const struct kl_plot_curve *curve, size_t from,
		     size_t end)
{
	/* A line needs two points. */
	if (end - from == 1)
		kl_buffer_printf(to, "<circle class=\"mean\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>\n",
				 x_of(curve, from), y_of(curve, curve->point[from].mean));
	kl_buffer_add_string(to, "<polygon class=\"range\" points=\"");
	for (size_t i = from; i < end; i++)
		kl_buffer_printf(to, "%.1f,%.1f ", x_of(curve, i),
				 y_of(curve, curve->point[i].high));
	for (size_t i = end; i-- > from;)
		kl_buffer_printf(to, "%.1f,%.1f ", x_of(curve, i),
				 y_of(curve, curve->point[i].low));
	kl_buffer_add_string(to, "\"/>\n<polyline class=\"mean\" points=\"");
	for (size_t i = from; i < end; i++)
		kl_buffer_printf(to, "%.1f,%.1f ", x_of(curve, i),
				 y_of(curve, curve->point[i].mean));
	kl_buffer_add_string(to, "\"/>\n");
}

static void add_curve(struct kl_buffer *to, const struct kl_plot_curve *curve, size_t at)
{
	const double bottom = HEIGHT - BOTTOM, right = WIDTH - RIGHT;
	struct kl_buffer head = { 0 };

	kl_buffer_printf(&head, "%s%s%s", curve->name, *curve->help ? ": " : "", curve->help);
	kl_buffer_add_char(&head, 0);
	to->error = to->error ? to->error : head.error;
	kl_buffer_printf(to, "<g transform=\"translate(0,%.0f)\">\n", HEIGHT * (double)at);
	add_text(to, "head", LEFT, TOP - 10, head.error ? "" : head.data);
	kl_buffer_printf(to, "<path class=\"axis\" d=\"M%.0f,%.0f V%.0f H%.0f\"/>\n", LEFT, TOP,
			 bottom, right);
	add_text(to, "y", LEFT - 6, TOP + 4, curve->most_label);
	add_text(to, "y", LEFT - 6, bottom, "0");
	add_text(to, "x", LEFT, bottom + 16, curve->first_label);
	add_text(to, "y", right, bottom + 16, curve->last_label);
	for (size_t i = 0, end; i < curve->n; i = end) {
		end = unbroken(curve, i);
		add_part(to, curve, i, end);
	}
	kl_buffer_add_string(to, "</g>\n");
	kl_buffer_deinit(&head);
}

void kl_plot_svg(struct kl_buffer *buffer, const struct kl_plot_curve *curve, size_t n)
{
	kl_buffer_printf(buffer,
			 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\">\n",
			 WIDTH, HEIGHT * (double)n);
	kl_buffer_add_string(buffer, style);
	for (size_t i = 0; i < n; i++)
		add_curve(buffer, &curve[i], i);
	kl_buffer_add_string(buffer, "</svg>\n");
}
