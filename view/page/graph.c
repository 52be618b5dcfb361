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
VIEW_EMBED(graph_server, "graph_server.js");
VIEW_EMBED(coverage_style, "coverage.css");
VIEW_EMBED(coverage_body, "coverage_page.html");
VIEW_EMBED(coverage_main, "coverage.js");

static int write_graphs(bool served, int (*data)(void *context), view_write_fn write, void *context)
{
	/* The last one starts the page. Without a server, the first one has no use. */
	static const struct view_part scripts[] = { VIEW_FILE(graph_server),
						    VIEW_FILE(graph_layout), VIEW_FILE(graph_draw),
						    VIEW_FILE(graph_panel), VIEW_FILE(graph_main) };
	const size_t left_out = served ? 0 : 1;
	const struct view_data_page page = {
		.style = VIEW_FILE(graph_style),
		.body = VIEW_FILE(graph_body),
		.id = "functions",
		.script = scripts + left_out,
		.n_scripts = sizeof(scripts) / sizeof(*scripts) - left_out,
		.served = served,
	};

	return view_data_page_write(&page, data, write, context);
}

int view_graph_write(int (*data)(void *context), view_write_fn write, void *context)
{
	return write_graphs(false, data, write, context);
}

int view_served_graph_write(int (*data)(void *context), view_write_fn write, void *context)
{
	return write_graphs(true, data, write, context);
}

int view_coverage_write(int (*data)(void *context), view_write_fn write, void *context)
{
	static const struct view_part script = VIEW_FILE(coverage_main);
	static const struct view_data_page page = {
		.style = VIEW_FILE(coverage_style),
		.body = VIEW_FILE(coverage_body),
		.id = "coverage",
		.script = &script,
		.n_scripts = 1,
	};

	return view_data_page_write(&page, data, write, context);
}
