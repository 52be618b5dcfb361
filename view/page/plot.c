// SPDX-License-Identifier: GPL-2.0
/* Writes the page of curves. Its style and script are part of this object. */
#include "files.h"
#include "plot.h"

VIEW_EMBED(plot_style, "plot.css");
VIEW_EMBED(plot_body, "plot_page.html");
VIEW_EMBED(plot_main, "plot.js");

int view_plot_write(int (*data)(void *context), view_write_fn write, void *context)
{
	static const struct view_part script = VIEW_FILE(plot_main);
	static const struct view_data_page page = {
		.style = VIEW_FILE(plot_style),
		.body = VIEW_FILE(plot_body),
		.id = "curves",
		.script = &script,
		.n_scripts = 1,
	};

	return view_data_page_write(&page, data, write, context);
}
