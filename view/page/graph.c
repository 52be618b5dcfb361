// SPDX-License-Identifier: GPL-2.0
/* Writes the pages of blocks. Their styles and scripts are part of this object. */
#include "files.h"
#include "graph.h"

VIEW_EMBED(graph_style, "graph.css");
VIEW_EMBED(graph_body, "graph_page.html");
VIEW_EMBED(graph_layout, "graph_layout.js");
VIEW_EMBED(graph_draw, "graph_draw.js");
VIEW_EMBED(graph_panel, "graph_panel.js");
VIEW_EMBED(graph_main, "graph_main.js");
VIEW_EMBED(coverage_style, "coverage.css");
VIEW_EMBED(coverage_body, "coverage_page.html");
VIEW_EMBED(coverage_main, "coverage.js");
VIEW_EMBED(elements, "elements.js");

static const char after_style[] = "</style></head><body>\n",
		  scripts[] = "</script>\n<script>\n'use strict';\n",
		  end[] = "</script></body></html>\n";

int view_graph_write(int (*data)(void *context), view_write_fn write, void *context)
{
	static const char begin[] = "<script id=\"functions\" type=\"application/json\">";
	const struct view_part before[] = { VIEW_FILE(head),	    VIEW_FILE(style),
					    VIEW_FILE(graph_style), VIEW_TEXT(after_style),
					    VIEW_FILE(graph_body),  VIEW_TEXT(begin) };
	const struct view_part behind[] = { VIEW_TEXT(scripts),	     VIEW_FILE(elements),
					    VIEW_FILE(graph_layout), VIEW_FILE(graph_draw),
					    VIEW_FILE(graph_panel),  VIEW_FILE(graph_main),
					    VIEW_TEXT(end) };
	int error = view_parts_write(before, sizeof(before) / sizeof(*before), write, context);

	if (!error)
		error = data(context);
	return error ? error :
		       view_parts_write(behind, sizeof(behind) / sizeof(*behind), write, context);
}

int view_coverage_write(int (*data)(void *context), view_write_fn write, void *context)
{
	static const char begin[] = "<script id=\"coverage\" type=\"application/json\">";
	const struct view_part before[] = { VIEW_FILE(head),	       VIEW_FILE(style),
					    VIEW_FILE(coverage_style), VIEW_TEXT(after_style),
					    VIEW_FILE(coverage_body),  VIEW_TEXT(begin) };
	const struct view_part behind[] = { VIEW_TEXT(scripts), VIEW_FILE(elements),
					    VIEW_FILE(coverage_main), VIEW_TEXT(end) };
	int error = view_parts_write(before, sizeof(before) / sizeof(*before), write, context);

	if (!error)
		error = data(context);
	return error ? error :
		       view_parts_write(behind, sizeof(behind) / sizeof(*behind), write, context);
}
