// SPDX-License-Identifier: GPL-2.0
/* Writes the page about the memory of a process. Its style and scripts are part of this object. */
#include "files.h"
#include "memory.h"

VIEW_EMBED(memory_style, "memory.css");
VIEW_EMBED(memory_body, "memory_page.html");
VIEW_EMBED(memory_map, "memory_map.js");
VIEW_EMBED(memory_time, "memory_time.js");
VIEW_EMBED(memory_code, "memory_code.js");
VIEW_EMBED(memory_main, "memory_main.js");

int view_memory_write(int (*data)(void *context), view_write_fn write, void *context)
{
	static const struct view_part scripts[] = { VIEW_FILE(memory_map), VIEW_FILE(memory_time),
						    VIEW_FILE(memory_code),
						    VIEW_FILE(memory_main) };
	static const struct view_data_page page = {
		.style = VIEW_FILE(memory_style),
		.body = VIEW_FILE(memory_body),
		.id = "memory",
		.script = scripts,
		.n_scripts = sizeof(scripts) / sizeof(*scripts),
	};

	return view_data_page_write(&page, data, write, context);
}
