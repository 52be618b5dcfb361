// SPDX-License-Identifier: GPL-2.0
/* Writes the page that shows a timeline. Its style and scripts are part of this object. */
#include <string.h>

#include "files.h"
#include "page.h"

/* Nothing may be loaded, and nothing is sent anywhere: its policy forbids it. */
VIEW_EMBED(head, "head.html");
VIEW_EMBED(style, "page.css");
VIEW_EMBED(body, "page.html");
VIEW_EMBED(data, "data.js");
VIEW_EMBED(rows, "rows.js");
VIEW_EMBED(draw, "draw.js");
VIEW_EMBED(panel, "panel.js");
VIEW_EMBED(stacks, "stacks.js");
VIEW_EMBED(main, "main.js");

static const char scripts[] = "<script>\n'use strict';\n";

int view_parts_write(const struct view_part *part, size_t n,
		     int (*write)(void *context, const void *bytes, size_t length), void *context)
{
	int error = 0;

	for (size_t i = 0; i < n && !error; i++)
		error = write(context, part[i].text, (size_t)(part[i].end - part[i].text));
	return error;
}

int view_page_write(struct kl_timeline *timeline, const char *title, kl_timeline_fn write,
		    void *context)
{
	static const char after_style[] = "</style></head><body>\n",
			  end[] = "</script></body></html>\n";
	const struct view_part before[] = { VIEW_FILE(head), VIEW_FILE(style),
					    VIEW_TEXT(after_style), VIEW_FILE(body) };
	const struct view_part behind[] = { VIEW_TEXT(scripts), VIEW_FILE(data),  VIEW_FILE(rows),
					    VIEW_FILE(draw),	VIEW_FILE(panel), VIEW_FILE(stacks),
					    VIEW_FILE(main),	VIEW_TEXT(end) };
	int error = view_parts_write(before, sizeof(before) / sizeof(*before), write, context);

	if (!error)
		error = kl_timeline_write(timeline, title, write, context);
	return error ? error :
		       view_parts_write(behind, sizeof(behind) / sizeof(*behind), write, context);
}
