// SPDX-License-Identifier: GPL-2.0
/* Writes the page of curves. Its style and script are part of this object. */
#include "files.h"
#include "plot.h"

VIEW_EMBED(plot_style, "plot.css");
VIEW_EMBED(plot_body, "plot_page.html");
VIEW_EMBED(plot_main, "plot.js");

int view_plot_write(int (*data)(void *context), view_write_fn write, void *context)
{
	static const char after_style[] = "</style></head><body>\n",
			  begin[] = "<script id=\"curves\" type=\"application/json\">",
			  scripts[] = "</script>\n<script>\n'use strict';\n",
			  end[] = "</script></body></html>\n";
	const struct view_part before[] = { VIEW_FILE(head),	   VIEW_FILE(style),
					    VIEW_FILE(plot_style), VIEW_TEXT(after_style),
					    VIEW_FILE(plot_body),  VIEW_TEXT(begin) };
	const struct view_part behind[] = { VIEW_TEXT(scripts), VIEW_FILE(elements),
					    VIEW_FILE(plot_main), VIEW_TEXT(end) };
	int error = view_parts_write(before, sizeof(before) / sizeof(*before), write, context);

	if (!error)
		error = data(context);
	return error ? error :
		       view_parts_write(behind, sizeof(behind) / sizeof(*behind), write, context);
}
