// SPDX-License-Identifier: GPL-2.0
/* Draws the view of a profile. */
#include <stdio.h>
#include <string.h>

#include "state.h"

/* Lines above the rows: what the samples are, how they are shown, and the head. */
#define HEAD_ROWS 3

/* Shares from which on rows stand out. */
#define HOT_PERCENT 5
#define WARM_PERCENT 0.5

int top_rows(void)
{
	int rows = screen_rows() - HEAD_ROWS - 1;

	return rows > 0 ? rows : 0;
}

static double percent(const struct top_state *s, uint64_t part)
{
	return s->samples ? 100.0 * (double)part / (double)s->samples : 0;
}

/* ---------------------------------------------------------------------- head */

static const char *key_name(enum kl_profile_key key)
{
	static const char *const names[KL_PROFILE_KEY_COUNT] = {
		[KL_PROFILE_FUNCTION] = "function", [KL_PROFILE_OBJECT] = "object",
		[KL_PROFILE_LINE] = "source line",  [KL_PROFILE_PROCESS] = "process",
		[KL_PROFILE_THREAD] = "thread",	    [KL_PROFILE_CPU] = "CPU",
		[KL_PROFILE_CGROUP] = "cgroup",
	};

	return names[key];
}

static void draw_summary(const struct top_state *s)
{
	struct kl_buffer summary = { 0 };
	struct view_line line;

	s->top->summary(s->top->context, &summary);
	line_begin(&line);
	line_text(&line, STYLE_BOLD, "kernlens top  ");
	line_text(&line, STYLE_PLAIN, summary.data ? summary.data : "");
	line_draw(&line, 0, 0, screen_columns(), 0, STYLE_PLAIN);
	kl_buffer_deinit(&summary);
}

static void draw_way(const struct top_state *s)
{
	struct view_line line;

	line_begin(&line);
	if (s->page == PAGE_TREE) {
		line_text(&line, STYLE_CAPTION,
			  s->direction == KL_PROFILE_CALLERS ? "what calls " :
							       "what is called by ");
		line_text(&line, STYLE_VALUE, s->function);
	} else {
		line_text(&line, STYLE_CAPTION, "by ");
		for (unsigned int i = 0; i < s->n_keys; i++)
			line_printf(&line, STYLE_VALUE, "%s%s", i ? ", " : "", key_name(s->key[i]));
		if (kl_profile_has_frames(s->key, s->n_keys))
			line_printf(&line, STYLE_CAPTION, ", sorted by %s",
				    s->by_total ? "total" : "self");
	}
	if (s->zoomed)
		line_printf(&line, STYLE_VALUE, ", only %s", s->zoom_text);
	if (s->paused)
		line_text(&line, STYLE_BLOCKED, "  paused ");
	line_draw(&line, 1, 0, screen_columns(), 0, STYLE_PLAIN);
}

/* ---------------------------------------------------------------------- rows */

/* Cells of a key's columns, with the blank that follows. */
static int width_of(enum kl_profile_key key)
{
	switch (key) {
	case KL_PROFILE_CPU:
		return 6;
	case KL_PROFILE_PROCESS:
	case KL_PROFILE_THREAD:
		return 26;
	default:
		return 44;
	}
}

/* Object and name of a function; a name that is longer than the other columns moves them. */
static void add_function(struct view_line *line, const char *object, const char *name,
			 enum view_style object_style, enum view_style style)
{
	int begin = line->n;

	line_text(line, object_style, object);
	line_to(line, begin + 19, style);
	line_text(line, style, " ");
	line_text(line, style, name);
}

static void add_numbered(struct view_line *line, const char *number, const char *name,
			 enum view_style number_style, enum view_style style)
{
	line_right(line, 8, number_style, number);
	line_text(line, style, " ");
	line_text(line, style, name);
}

static void add_key(struct view_line *line, enum kl_profile_key key,
		    const struct kl_profile_row *row, const char *text)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", key == KL_PROFILE_THREAD ? row->tid : row->pid);
	if (key == KL_PROFILE_FUNCTION)
		add_function(line, row->function.object, text, STYLE_COMMAND,
			     row->function.kind == KL_PROFILE_KERNEL ? STYLE_HIGH : STYLE_PLAIN);
	else if (key == KL_PROFILE_PROCESS || key == KL_PROFILE_THREAD)
		add_numbered(line, number, text, STYLE_SHADOW, STYLE_PLAIN);
	else
		line_text(line, STYLE_PLAIN, text);
}

static void add_head(struct view_line *line, enum kl_profile_key key)
{
	if (key == KL_PROFILE_FUNCTION)
		add_function(line, "object", "function", STYLE_HEAD, STYLE_HEAD);
	else if (key == KL_PROFILE_PROCESS || key == KL_PROFILE_THREAD)
		add_numbered(line, key == KL_PROFILE_PROCESS ? "PID" : "TID", key_name(key),
			     STYLE_HEAD, STYLE_HEAD);
	else
		line_text(line, STYLE_HEAD, key_name(key));
}

static void draw_head(const struct top_state *s)
{
	bool frames = kl_profile_has_frames(s->key, s->n_keys);
	struct view_line line;

	line_begin(&line);
	line_right(&line, 8, frames && !s->by_total ? STYLE_HEAD_SORTED : STYLE_HEAD,
		   frames ? "self" : "share");
	if (frames)
		line_right(&line, 9, s->by_total ? STYLE_HEAD_SORTED : STYLE_HEAD, "total");
	line_text(&line, STYLE_HEAD, "  ");
	for (unsigned int i = 0; i < s->n_keys; i++) {
		int begin = line.n;

		add_head(&line, s->key[i]);
		line_to(&line, begin + width_of(s->key[i]), STYLE_HEAD);
	}
	line_to(&line, s->left + screen_columns(), STYLE_HEAD);
	line_draw(&line, 2, 0, screen_columns(), s->left, STYLE_PLAIN);
}

static void add_share(struct view_line *line, int width, double share)
{
	char text[16];

	snprintf(text, sizeof(text), "%.2f%%", share);
	line_right(line, width,
		   share >= HOT_PERCENT	 ? STYLE_HIGH :
		   share >= WARM_PERCENT ? STYLE_LOW :
					   STYLE_PLAIN,
		   text);
}

static void draw_row(const struct top_state *s, size_t at, int y)
{
	const struct kl_profile_row *row = &s->row[at];
	struct view_line line;

	line_begin(&line);
	add_share(&line, 8, percent(s, row->self));
	if (kl_profile_has_frames(s->key, s->n_keys))
		add_share(&line, 9, percent(s, row->total));
	line_text(&line, STYLE_PLAIN, "  ");
	for (unsigned int i = 0; i < s->n_keys; i++) {
		int begin = line.n;

		add_key(&line, s->key[i], row, row->key[i]);
		if (i + 1 < s->n_keys)
			line_text(&line, STYLE_PLAIN, " ");
		line_to(&line, begin + width_of(s->key[i]), STYLE_PLAIN);
	}
	line_draw(&line, y, 0, screen_columns(), s->left,
		  at == s->at ? STYLE_SELECTED : STYLE_PLAIN);
}

static void draw_rows(struct top_state *s)
{
	size_t rows = (size_t)top_rows();
	struct view_line line;

	draw_head(s);
	if (s->at < s->first)
		s->first = s->at;
	if (rows && s->at >= s->first + rows)
		s->first = s->at - rows + 1;
	for (size_t i = 0; i < rows && s->first + i < s->n; i++)
		draw_row(s, s->first + i, HEAD_ROWS + (int)i);
	if (s->n || !rows)
		return;
	line_begin(&line);
	line_text(&line, STYLE_SHADOW, "  no samples yet");
	line_draw(&line, HEAD_ROWS, 0, screen_columns(), 0, STYLE_PLAIN);
}

/* ---------------------------------------------------------------------- page */

static void draw_keys(const struct top_state *s)
{
	static const char *const rows[] = { "F1",    "Help ",  "Enter", "Open ",	 "Esc",
					    "Back ", "s",      "Sort ", "f o l p t c g", "By ",
					    "Space", "Pause ", "z",	"Reset ",	 "q",
					    "Quit" };
	static const char *const tree[] = { "Tab",    "Callers/callees ",
					    "Arrows", "Scroll ",
					    "Space",  "Pause ",
					    "Esc",    "Back ",
					    "q",      "Quit" };
	static const char *const help[] = { "Arrows", "Scroll ", "Esc", "Back ", "q", "Quit" };
	const char *const *keys = s->page == PAGE_ROWS ? rows : s->page == PAGE_TREE ? tree : help;
	size_t n = s->page == PAGE_ROWS ? sizeof(rows) / sizeof(*rows) :
		   s->page == PAGE_TREE ? sizeof(tree) / sizeof(*tree) :
					  sizeof(help) / sizeof(*help);
	struct view_line line;

	line_begin(&line);
	for (size_t i = 0; i < n; i += 2) {
		line_text(&line, STYLE_KEY, keys[i]);
		line_text(&line, STYLE_LABEL, keys[i + 1]);
	}
	line_to(&line, screen_columns(), STYLE_LABEL);
	line_draw(&line, screen_rows() - 1, 0, screen_columns(), 0, STYLE_PLAIN);
}

void top_help(struct view_text *text)
{
	static const char *const lines[] = {
		"Each row shows the share of the samples of the last seconds: `self` in the",
		"function itself, `total` also in what it has called. Functions of the kernel",
		"are marked.",
		"",
		"  arrows, PgUp, PgDn, Home, End   move the bar; left and right scroll",
		"  Enter    a function: what calls it; a process, thread, CPU or cgroup: only its",
		"           samples",
		"  Esc      back",
		"  Tab      in a tree: what calls the function, or what it calls",
		"  f o l    rows are functions, objects (programs, libraries, modules), source lines",
		"  p t c g  rows are processes, threads, CPUs, cgroups",
		"  s        sort by `self` or by `total`",
		"  Space    pause and go on",
		"  z        forget the samples so far",
		"  q F10    quit",
		"",
		"See kernlens-top(1).",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		text_add(text, lines[i], strlen(lines[i]), SIZE_MAX);
}

void top_draw(struct top_state *s)
{
	screen_erase();
	draw_summary(s);
	if (s->page != PAGE_HELP)
		draw_way(s);
	if (s->page == PAGE_ROWS)
		draw_rows(s);
	else
		text_draw(&s->text, HEAD_ROWS, top_rows());
	draw_keys(s);
	screen_show(-1, 0);
}
