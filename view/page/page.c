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
VIEW_EMBED(source, "source.js");
VIEW_EMBED(server, "server.js");
VIEW_EMBED(query, "query.js");
VIEW_EMBED(rows, "rows.js");
VIEW_EMBED(draw, "draw.js");
VIEW_EMBED(panel, "panel.js");
VIEW_EMBED(stacks, "stacks.js");
VIEW_EMBED(calls, "calls.js");
VIEW_EMBED(why, "why.js");
VIEW_EMBED(table, "table.js");
VIEW_EMBED(search, "search.js");
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

int view_served_head_write(int (*write)(void *context, const void *bytes, size_t length),
			   void *context)
{
	static const char none[] = "default-src 'none'", self[] = "; connect-src 'self'";
	const struct view_part head = VIEW_FILE(head);
	const size_t length = (size_t)(head.end - head.text);
	const char *at = memmem(head.text, length, none, sizeof(none) - 1);
	const struct view_part parts[] = { { head.text, at + sizeof(none) - 1 },
					   VIEW_TEXT(self),
					   { at + sizeof(none) - 1, head.end } };

	return view_parts_write(parts, sizeof(parts) / sizeof(*parts), write, context);
}

static const char after_style[] = "</style></head><body>\n", end[] = "</script></body></html>\n";

/* What comes before the data, from the style on, and behind it. */
static int write_before(kl_timeline_fn write, void *context)
{
	const struct view_part parts[] = { VIEW_FILE(style), VIEW_TEXT(after_style),
					   VIEW_FILE(body) };

	return view_parts_write(parts, sizeof(parts) / sizeof(*parts), write, context);
}

static int write_behind(kl_timeline_fn write, void *context)
{
	const struct view_part parts[] = {
		VIEW_TEXT(scripts), VIEW_FILE(data),  VIEW_FILE(source), VIEW_FILE(server),
		VIEW_FILE(query),   VIEW_FILE(rows),  VIEW_FILE(draw),	 VIEW_FILE(panel),
		VIEW_FILE(stacks),  VIEW_FILE(calls), VIEW_FILE(why),	 VIEW_FILE(table),
		VIEW_FILE(search),  VIEW_FILE(main),  VIEW_TEXT(end),
	};

	return view_parts_write(parts, sizeof(parts) / sizeof(*parts), write, context);
}

int view_page_write(struct kl_timeline *timeline, const char *title, kl_timeline_fn write,
		    void *context)
{
	const struct view_part top = VIEW_FILE(head);
	int error = view_parts_write(&top, 1, write, context);

	if (!error)
		error = write_before(write, context);
	if (!error)
		error = kl_timeline_write(timeline, title, write, context);
	return error ? error : write_behind(write, context);
}

int view_served_page_write(const char *about, kl_timeline_fn write, void *context)
{
	static const char begin[] = "<script type=\"application/json\" id=\"about\">",
			  close[] = "</script>\n";
	const struct view_part data[] = { VIEW_TEXT(begin),
					  { about, about + strlen(about) },
					  VIEW_TEXT(close) };
	int error = view_served_head_write(write, context);

	if (!error)
		error = write_before(write, context);
	if (!error)
		error = view_parts_write(data, sizeof(data) / sizeof(*data), write, context);
	return error ? error : write_behind(write, context);
}
