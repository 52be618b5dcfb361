// SPDX-License-Identifier: GPL-2.0
/* Writes pages that show data in JSON, with the script for elements that they share. */
#include <stdio.h>
#include <string.h>

#include "files.h"

VIEW_EMBED(elements, "elements.js");

int view_data_page_write(const struct view_data_page *page, int (*data)(void *context),
			 int (*write)(void *context, const void *bytes, size_t length),
			 void *context)
{
	static const char after_style[] = "</style></head><body>\n",
			  scripts[] = "</script>\n<script>\n'use strict';\n",
			  end[] = "</script></body></html>\n";
	const struct view_part head = VIEW_FILE(head);
	const struct view_part before[] = { VIEW_FILE(style), page->style, VIEW_TEXT(after_style),
					    page->body };
	const struct view_part behind[] = { VIEW_TEXT(scripts), VIEW_FILE(elements) };
	const struct view_part last = VIEW_TEXT(end);
	char begin[64];
	int error = page->served ? view_served_head_write(write, context) :
				   view_parts_write(&head, 1, write, context);

	snprintf(begin, sizeof(begin), "<script id=\"%s\" type=\"application/json\">", page->id);
	if (!error)
		error = view_parts_write(before, sizeof(before) / sizeof(*before), write, context);
	if (!error)
		error = write(context, begin, strlen(begin));
	if (!error)
		error = data(context);
	if (!error)
		error = view_parts_write(behind, sizeof(behind) / sizeof(*behind), write, context);
	if (!error)
		error = view_parts_write(page->script, page->n_scripts, write, context);
	return error ? error : view_parts_write(&last, 1, write, context);
}
