// SPDX-License-Identifier: GPL-2.0
/* The keys, and what the colours of the bars say. */
#include "view.h"

/* Two columns of keys. */
static const char *const lines[][4] = {
	{ "Arrows", "move the bar; left, right: the list", "F5 t", "tree or list" },
	{ "PgUp PgDn", "a page", "+ -", "in the tree: open, close" },
	{ "Home End", "first, last", "F6 > <", "choose what to sort by" },
	{ "0-9", "to the process with this id", "P M T N", "by CPU, memory, time, PID" },
	{ "F3 /", "search; F3: next", "I", "the other way round" },
	{ "F4 \\", "filter by command: a|b", "F7 ]", "nice value - 1 (root)" },
	{ "u", "processes of one user", "F8 [", "nice value + 1" },
	{ "H", "threads", "F9 k", "send a signal" },
	{ "K", "kernel threads", "Enter", "details of the process" },
	{ "Space", "tag; c: with children", "l", "its files" },
	{ "U", "no tags any more", "e", "its events as they happen" },
	{ "Z", "stand still, go on", "s", "its calls, as strace" },
	{ "F2 S", "choose columns", "F10 q", "quit" },
};

#define LINES_NUMBER (sizeof(lines) / sizeof(*lines))

static void draw_legend(int y)
{
	static const struct {
		enum view_style style;
		const char *text;
	} cpu[] = {
		{ STYLE_NICE, "nice" },	      { STYLE_USER, "user" },
		{ STYLE_SYSTEM, "kernel" },   { STYLE_IRQ, "irq" },
		{ STYLE_SOFTIRQ, "softirq" }, { STYLE_STEAL, "steal, guests" },
	}, memory[] = {
		{ STYLE_ANON, "programs" },
		{ STYLE_KERNEL_MEMORY, "kernel" },
		{ STYLE_FILE, "files" },
	};
	struct view_line line;

	line_begin(&line);
	line_text(&line, STYLE_PLAIN, "CPU:    [");
	for (size_t i = 0; i < sizeof(cpu) / sizeof(*cpu); i++)
		line_printf(&line, cpu[i].style, "%s%s", i ? "/" : "", cpu[i].text);
	line_text(&line, STYLE_PLAIN, "   busy%]");
	line_draw(&line, y, 0, screen_columns(), 0, STYLE_PLAIN);
	line_begin(&line);
	line_text(&line, STYLE_PLAIN, "Memory: [");
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++)
		line_printf(&line, memory[i].style, "%s%s", i ? "/" : "", memory[i].text);
	line_text(&line, STYLE_PLAIN, "   not available/all]");
	line_draw(&line, y + 1, 0, screen_columns(), 0, STYLE_PLAIN);
}

static void draw(struct view *v)
{
	struct view_line line;

	line_begin(&line);
	line_text(&line, STYLE_BOLD, "kernlens " KL_VERSION);
	line_text(&line, STYLE_PLAIN, ": processes. More: kernlens-proc-view(7).");
	line_draw(&line, 0, 0, screen_columns(), 0, STYLE_PLAIN);
	draw_legend(2);
	for (size_t i = 0; i < LINES_NUMBER; i++) {
		line_begin(&line);
		line_right(&line, 10, STYLE_VALUE, lines[i][0]);
		line_printf(&line, STYLE_PLAIN, "  %s", lines[i][1]);
		line_to(&line, 46, STYLE_PLAIN);
		line_right(&line, 7, STYLE_VALUE, lines[i][2]);
		line_printf(&line, STYLE_PLAIN, "  %s", lines[i][3]);
		line_draw(&line, 5 + (int)i, 0, screen_columns(), 0, STYLE_PLAIN);
	}
	line_begin(&line);
	line_text(&line, STYLE_BOLD, "Any key goes back.");
	line_draw(&line, 6 + (int)LINES_NUMBER, 0, screen_columns(), 0, STYLE_PLAIN);
	screen_show(-1, 0);
}

static void key(struct view *v, int key)
{
	view_enter(v, &list_screen);
}

const struct view_screen help_screen = { .draw = draw, .key = key };
