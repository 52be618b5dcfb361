// SPDX-License-Identifier: GPL-2.0
/*
 * The help screen: the keys, and the meaning of the bars' colors. A window that is too small shows
 * a part, which can be scrolled.
 */
#include <stdlib.h>

#include "view.h"

/* Two columns of keys. */
static const char *const lines[][4] = {
	{ "Arrows", "move the bar; left, right: scroll", "F5 t", "tree or list" },
	{ "PgUp PgDn", "a page", "+ - *", "expand, collapse; all" },
	{ "Home End", "first, last", "F6 > <", "choose what to sort by" },
	{ "0-9", "go to the process with this ID", "P M T N", "by CPU, memory, time, PID" },
	{ "F3 /", "search; F3: next", "I", "reverse the order" },
	{ "F4 \\", "filter by command: a|b", "F7 ]", "nice value - 1 (root)" },
	{ "u", "processes of one user", "F8 [", "nice value + 1" },
	{ "H", "threads", "i", "I/O priority" },
	{ "K", "kernel threads", "a", "CPUs that it may run on" },
	{ "p", "path of the program", "F9 k", "send a signal" },
	{ "F", "the bar follows, or stays", "Enter", "details of the process" },
	{ "Space", "tag; c: with children", "w", "its command line, wrapped" },
	{ "U", "untag all", "l", "its files" },
	{ "Tab", "processes or I/O", "x", "its locks on files" },
	{ "#", "header", "e", "its events as they happen" },
	{ "Z", "pause, resume", "s", "its system calls (strace)" },
	{ "Mouse", "click: select, sort, key", "", "again: details, reverse" },
	{ "F2 S C", "columns and options", "F10 q", "quit; saves the setup" },
};

#define LINES_NUMBER (sizeof(lines) / sizeof(*lines))

enum {
	LEGEND_AT = 2,
	KEYS_AT = 5,
	ROWS = KEYS_AT + (int)LINES_NUMBER,
};

struct legend {
	enum view_style style;
	const char *text;
};

/* Print the names of a bar's parts in their styles. */
static void add_legend(struct view_line *line, const struct legend *part, size_t n)
{
	for (size_t i = 0; i < n; i++)
		line_printf(line, part[i].style, "%s%s", i ? "/" : "", part[i].text);
}

static void add_cpu(struct view_line *line)
{
	static const struct legend parts[] = {
		{ STYLE_NICE, "nice" },	      { STYLE_USER, "user" },
		{ STYLE_SYSTEM, "kernel" },   { STYLE_IRQ, "irq" },
		{ STYLE_SOFTIRQ, "softirq" }, { STYLE_STEAL, "steal, guests" },
	};

	line_text(line, STYLE_PLAIN, "CPU:    [");
	add_legend(line, parts, sizeof(parts) / sizeof(*parts));
	line_text(line, STYLE_PLAIN, "   busy%]");
}

static void add_memory(struct view_line *line)
{
	static const struct legend parts[] = {
		{ STYLE_ANON, "programs" },
		{ STYLE_KERNEL_MEMORY, "kernel" },
		{ STYLE_SHARED, "shared" },
		{ STYLE_FILE, "cache" },
	};

	line_text(line, STYLE_PLAIN, "Memory: [");
	add_legend(line, parts, sizeof(parts) / sizeof(*parts));
	line_text(line, STYLE_PLAIN, "   used/total]");
}

static void add_row(struct view_line *line, int row)
{
	const char *const *keys;

	if (!row) {
		line_text(line, STYLE_BOLD, "kernlens " KL_VERSION);
		line_text(line, STYLE_PLAIN, ": processes. More: kernlens-proc-view(7).");
	} else if (row == LEGEND_AT) {
		add_cpu(line);
	} else if (row == LEGEND_AT + 1) {
		add_memory(line);
	} else if (row >= KEYS_AT) {
		keys = lines[row - KEYS_AT];
		line_right(line, 10, STYLE_VALUE, keys[0]);
		line_printf(line, STYLE_PLAIN, "  %s", keys[1]);
		line_to(line, 46, STYLE_PLAIN);
		line_right(line, 7, STYLE_VALUE, keys[2]);
		line_printf(line, STYLE_PLAIN, "  %s", keys[3]);
	}
}

/* All lines of the window but the last. */
static int page_rows(void)
{
	return screen_rows() > 1 ? screen_rows() - 1 : 0;
}

static void draw(struct view *v)
{
	static const char *const keys[] = { "Arrows", " move  ", "Any other key", " goes back" };
	struct view_text *place = v->data;
	int page = page_rows();
	struct view_line line;

	text_clamp(place, ROWS, page);
	for (int i = 0; i < page && (int)place->top + i < ROWS; i++) {
		line_begin(&line);
		add_row(&line, (int)place->top + i);
		line_draw(&line, i, 0, screen_columns(), place->left, STYLE_PLAIN);
	}
	view_draw_keys(v, keys, sizeof(keys) / sizeof(*keys));
	screen_show(-1, 0);
}

static void key(struct view *v, int key)
{
	if (!text_key(v->data, key, page_rows()))
		view_enter(v, &list_screen);
}

static void leave(struct view *v)
{
	free(v->data);
	v->data = NULL;
}

static const struct view_screen help_screen = { .draw = draw, .key = key, .leave = leave };

void help_enter(struct view *v)
{
	struct view_text *place = calloc(1, sizeof(*place));

	if (!place)
		return;
	view_enter(v, &help_screen);
	v->data = place;
}
