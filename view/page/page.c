// SPDX-License-Identifier: GPL-2.0
/* Writes the page that shows a timeline. Its style and scripts are part of this object. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "page.h"

/* Nothing may be loaded, and nothing is sent anywhere: its policy forbids it. */
VIEW_EMBED(head, "head.html");
VIEW_EMBED(style, "page.css");
VIEW_EMBED(body, "page.html");
VIEW_EMBED(data, "data.js");
VIEW_EMBED(machines, "machines.js");
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
		VIEW_TEXT(scripts), VIEW_FILE(data),   VIEW_FILE(machines), VIEW_FILE(source),
		VIEW_FILE(server),  VIEW_FILE(query),  VIEW_FILE(rows),	    VIEW_FILE(draw),
		VIEW_FILE(panel),   VIEW_FILE(stacks), VIEW_FILE(calls),    VIEW_FILE(why),
		VIEW_FILE(table),   VIEW_FILE(search), VIEW_FILE(main),	    VIEW_TEXT(end),
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
		error = kl_timeline_write(timeline, title, "", write, context);
	return error ? error : write_behind(write, context);
}

/* ------------------------------------------------------------------ machines */

static void add_bound(struct kl_buffer *to, bool known, int64_t ns)
{
	if (known)
		kl_buffer_printf(to, "%lld", (long long)ns);
	else
		kl_buffer_add_string(to, "null");
}

/* By how much later the same moment is on the timeline at another machine, at least and at most. */
static void add_bounds(struct kl_buffer *to, const struct kl_clocks *clocks, size_t from, size_t of)
{
	const struct kl_clock_bounds is = kl_clocks_between(clocks, from, of);
	const int64_t moved = kl_clocks_ahead(clocks, of) - kl_clocks_ahead(clocks, from);

	kl_buffer_add_string(to, of ? ",[" : "[");
	add_bound(to, is.has_least, is.least_ns - moved);
	kl_buffer_add_string(to, ",");
	add_bound(to, is.has_most, is.most_ns - moved);
	kl_buffer_printf(to, ",%llu]", (unsigned long long)is.packets);
}

static void add_machine(struct kl_buffer *to, const struct view_machine *machine, int64_t ahead)
{
	const struct kl_trace_clock *clock = machine->clock;

	kl_buffer_add_string(to, "{\"host\":");
	kl_timeline_add_string(to, machine->host);
	kl_buffer_printf(to, ",\"ahead\":\"%lld\",\"clock\":", (long long)ahead);
	if (clock->known)
		kl_buffer_printf(to,
				 "{\"synchronized\":%s,\"offset\":%lld,\"maxError\":%llu,"
				 "\"estimatedError\":%llu}}",
				 clock->synchronized ? "true" : "false",
				 (long long)clock->offset_ns,
				 (unsigned long long)clock->max_error_ns,
				 (unsigned long long)clock->estimated_error_ns);
	else
		kl_buffer_add_string(to, "null}");
}

static void add_machines(struct kl_buffer *to, const struct view_machine *machine, size_t n,
			 const struct kl_clocks *clocks, const char *title)
{
	kl_buffer_add_string(to, "<script type=\"application/json\" id=\"about\">{\"title\":");
	kl_timeline_add_string(to, title);
	kl_buffer_printf(to, ",\"conflict\":%d,\"machines\":[", kl_clocks_conflict(clocks));
	for (size_t i = 0; i < n; i++) {
		kl_buffer_add_string(to, i ? ",\n" : "\n");
		add_machine(to, &machine[i], kl_clocks_ahead(clocks, i));
	}
	kl_buffer_add_string(to, "],\n\"bounds\":[");
	for (size_t i = 0; i < n; i++) {
		kl_buffer_add_string(to, i ? ",\n[" : "\n[");
		for (size_t k = 0; k < n; k++)
			add_bounds(to, clocks, i, k);
		kl_buffer_add_string(to, "]");
	}
	kl_buffer_add_string(to, "]}</script>\n");
}

int view_machines_write(const struct view_machine *machine, size_t n,
			const struct kl_clocks *clocks, const char *title, kl_timeline_fn write,
			void *context)
{
	const struct view_part top = VIEW_FILE(head);
	struct kl_buffer about = { 0 };
	int error = view_parts_write(&top, 1, write, context);
	char prefix[32];

	if (!error)
		error = write_before(write, context);
	add_machines(&about, machine, n, clocks, title);
	if (!error)
		error = about.error ? -ENOMEM : write(context, about.data, about.length);
	kl_buffer_deinit(&about);
	for (size_t i = 0; i < n && !error; i++) {
		snprintf(prefix, sizeof(prefix), "m%zu-", i);
		error = kl_timeline_write(machine[i].timeline, machine[i].host, prefix, write,
					  context);
	}
	return error ? error : write_behind(write, context);
}

/* -------------------------------------------------------------------- served */

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
