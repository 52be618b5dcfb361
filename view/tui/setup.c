// SPDX-License-Identifier: GPL-2.0
/*
 * The setup: which columns are shown, in what order, and options. The columns shown are listed on
 * the left, all known ones on the right; the options have a page of their own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

enum {
	HALF = 30,
};

enum side {
	SIDE_SHOWN,
	SIDE_KNOWN,
	SIDE_OPTIONS,
	SIDE_COUNT,
};

/* There is only one setup at a time. */
static struct {
	size_t at[SIDE_COUNT]; /* selected row of each side */
	enum side side;
} setup;

static size_t known(void)
{
	const char *title, *help;
	size_t n = 0;

	while (column_known(n, &title, &help))
		n++;
	return n;
}

static char *join(const char *const *names, size_t n)
{
	struct kl_buffer list = { 0 };

	for (size_t i = 0; i < n; i++)
		kl_buffer_printf(&list, "%s%s", i ? "," : "", names[i]);
	if (!list.error)
		return list.data;
	kl_buffer_deinit(&list);
	return NULL;
}

/* Returns false if these columns cannot be used. */
static bool use(struct view *v, const char *list)
{
	v->error = list ? column_set_all(v, list, NULL) : -ENOMEM;
	return !v->error && view_refresh_all(v);
}

/* Show other columns, or restore the previous ones if these are unavailable. */
static void apply(struct view *v, const char *const *names, size_t n, char *before)
{
	char *list = join(names, n);

	if (!use(v, list) && before) {
		view_say(v, "%s", kl_error_text());
		use(v, before);
	}
	free(list);
	free(before);
	/* Refresh soon, when rates become known. */
	v->refresh_at = view_now() + 200000000;
}

static size_t names_now(const struct view *v, const char **names)
{
	for (size_t i = 0; i < v->n_columns; i++)
		names[i] = strdup(v->column[i].name);
	return v->n_columns;
}

static void free_names(const char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((char *)names[i]);
	free(names);
}

/* Remove, add or move a column. */
static void change(struct view *v, int key)
{
	const char **names = calloc(v->n_columns + 2, sizeof(*names));
	size_t n, at = setup.at[SIDE_SHOWN];
	const char *title, *help;
	char *before;

	if (!names)
		return;
	n = names_now(v, names);
	before = column_names(v);
	if (setup.side == SIDE_KNOWN) {
		const char *last = names[n - 1];

		names[n] = strdup(column_known(setup.at[SIDE_KNOWN], &title, &help));
		/* The command stays last, as it takes the rest of the line. */
		if (!strcmp(last, "comm")) {
			names[n - 1] = names[n];
			names[n] = last;
		}
		n++;
	} else if ((key == VIEW_KEY_DELETE || key == VIEW_KEY_F + 9) && n > 1) {
		free((char *)names[at]);
		memmove(names + at, names + at + 1, (--n - at) * sizeof(*names));
		setup.at[SIDE_SHOWN] -= at == n;
	} else if ((key == '[' || key == VIEW_KEY_F + 7) && at > 0) {
		const char *moved = names[at];

		names[at] = names[at - 1];
		names[at - 1] = moved;
		setup.at[SIDE_SHOWN]--;
	} else if ((key == ']' || key == VIEW_KEY_F + 8) && at + 1 < n) {
		const char *moved = names[at];

		names[at] = names[at + 1];
		names[at + 1] = moved;
		setup.at[SIDE_SHOWN]++;
	}
	apply(v, names, n, before);
	free_names(names, n);
}

/* ------------------------------------------------------------------ options */

static const char *const options[] = {
	"Update interval",
	"Tree",
	"A row for each thread",
	"Kernel threads",
	"Path of the program",
	"Header with CPUs and memory",
	"Use the mouse (no: leave it to the terminal)",
};

#define OPTIONS (sizeof(options) / sizeof(*options))

static bool *option(struct view *v, size_t at)
{
	bool *const switches[OPTIONS] = {
		NULL,	       &v->list.tree,	&v->list.threads, &v->list.kernel,
		&v->list.path, &v->list.meters, &v->mouse,
	};

	return switches[at];
}

/* The next longer or shorter one of the usual intervals. */
static void change_interval(struct view *v, bool longer)
{
	static const uint64_t tenths[] = { 1, 2, 5, 10, 15, 20, 30, 50, 100, 300, 600 };
	const size_t n = sizeof(tenths) / sizeof(*tenths);
	uint64_t now = v->interval_ns / 100000000, next = longer ? tenths[n - 1] : tenths[0];

	for (size_t i = 0; i < n; i++) {
		if (longer && tenths[i] > now) {
			next = tenths[i];
			break;
		}
		if (!longer && tenths[i] < now)
			next = tenths[i];
	}
	v->interval_ns = next * 100000000;
	v->refresh_at = view_now() + v->interval_ns;
}

static void change_option(struct view *v, int key)
{
	bool *on = option(v, setup.at[SIDE_OPTIONS]);

	if (!on) {
		change_interval(v, key != '-');
		return;
	}
	*on = !*on;
	if (on == &v->mouse)
		screen_use_mouse(v->mouse);
	view_refresh(v);
}

static void draw_options(struct view *v)
{
	struct view_line line;

	for (size_t i = 0; i < OPTIONS; i++) {
		const bool *on = option(v, i);

		line_begin(&line);
		if (on)
			line_printf(&line, STYLE_PLAIN, "[%c] %s", *on ? 'x' : ' ', options[i]);
		else
			line_printf(&line, STYLE_PLAIN, "    %s: %.1f s (+ and - change it)",
				    options[i], (double)v->interval_ns / 1e9);
		line_draw(&line, 1 + (int)i, 0, screen_columns(), 0,
			  i == setup.at[SIDE_OPTIONS] ? STYLE_SELECTED : STYLE_PLAIN);
	}
}

/* ------------------------------------------------------------------ drawing */

static size_t top_of(size_t at, size_t rows)
{
	return at >= rows ? at - rows + 1 : 0;
}

static void draw_shown(const struct view *v, size_t rows)
{
	size_t top = top_of(setup.at[SIDE_SHOWN], rows);
	struct view_line line;

	for (size_t i = 0; i < rows && top + i < v->n_columns; i++) {
		line_begin(&line);
		line_text(&line, STYLE_PLAIN, v->column[top + i].title);
		line_draw(&line, 1 + (int)i, 0, HALF - 1, 0,
			  top + i == setup.at[SIDE_SHOWN] && setup.side == SIDE_SHOWN ?
				  STYLE_SELECTED :
				  STYLE_PLAIN);
	}
}

static void draw_known(size_t rows)
{
	size_t top = top_of(setup.at[SIDE_KNOWN], rows), n = known();
	const char *title, *help;
	struct view_line line;

	for (size_t i = 0; i < rows && top + i < n; i++) {
		column_known(top + i, &title, &help);
		line_begin(&line);
		line_printf(&line, STYLE_PLAIN, "%-9s %s", title, help);
		line_draw(&line, 1 + (int)i, HALF, screen_columns() - HALF, 0,
			  top + i == setup.at[SIDE_KNOWN] && setup.side == SIDE_KNOWN ?
				  STYLE_SELECTED :
				  STYLE_PLAIN);
	}
}

static size_t rows_of_page(void)
{
	return screen_rows() > 3 ? (size_t)screen_rows() - 2 : 1;
}

static void draw_columns(const struct view *v)
{
	struct view_line line;

	line_begin(&line);
	line_text(&line, STYLE_HEAD, "Columns shown");
	line_to(&line, HALF, STYLE_HEAD);
	line_text(&line, STYLE_HEAD, "All columns");
	line_to(&line, screen_columns(), STYLE_HEAD);
	line_draw(&line, 0, 0, screen_columns(), 0, STYLE_PLAIN);
	draw_shown(v, rows_of_page());
	draw_known(rows_of_page());
}

static void draw(struct view *v)
{
	static const char *const shown[] = { "Tab", "Next list ", "F7",	 "Up     ", "F8", "Down   ",
					     "Del", "Remove ",	  "Esc", "Done   " };
	static const char *const all[] = { "Tab", "Next list ", "Enter", "Add ", "Esc", "Done   " };
	static const char *const page[] = { "Tab",     "Next list ", "Space",
					    "Change ", "Esc",	     "Done   " };
	struct view_line line;

	if (setup.side == SIDE_OPTIONS) {
		line_begin(&line);
		line_text(&line, STYLE_HEAD, "Options");
		line_to(&line, screen_columns(), STYLE_HEAD);
		line_draw(&line, 0, 0, screen_columns(), 0, STYLE_PLAIN);
		draw_options(v);
		view_draw_keys(v, page, sizeof(page) / sizeof(*page));
	} else {
		draw_columns(v);
		if (setup.side == SIDE_SHOWN)
			view_draw_keys(v, shown, sizeof(shown) / sizeof(*shown));
		else
			view_draw_keys(v, all, sizeof(all) / sizeof(*all));
	}
	screen_show(-1, 0);
}

static size_t rows_of(const struct view *v, enum side side)
{
	return side == SIDE_SHOWN ? v->n_columns : side == SIDE_KNOWN ? known() : OPTIONS;
}

/* Select a row; if it is selected already, add its column or change its option. */
static bool take_mouse(struct view *v, const struct view_mouse *mouse)
{
	enum side side = setup.side == SIDE_OPTIONS ? SIDE_OPTIONS :
			 mouse->x < HALF	    ? SIDE_SHOWN :
						      SIDE_KNOWN;
	size_t at;

	if (mouse->kind != MOUSE_CLICK)
		return false;
	if (mouse->y < 1)
		return true;
	at = (size_t)mouse->y - 1;
	if (side != SIDE_OPTIONS)
		at += top_of(setup.at[side], rows_of_page());
	if (at >= rows_of(v, side))
		return true;
	if (side == setup.side && at == setup.at[side])
		view_take_key(v, VIEW_KEY_ENTER);
	setup.side = side;
	setup.at[side] = at;
	return true;
}

static void move_to(size_t *at, size_t n, int key)
{
	size_t page = screen_rows() > 4 ? (size_t)screen_rows() - 3 : 1;

	if (key == VIEW_KEY_UP)
		*at -= *at > 0;
	else if (key == VIEW_KEY_DOWN)
		*at += *at + 1 < n;
	else if (key == VIEW_KEY_PAGE_UP)
		*at = *at > page ? *at - page : 0;
	else if (key == VIEW_KEY_PAGE_DOWN)
		*at = *at + page < n ? *at + page : n - 1;
	else if (key == VIEW_KEY_HOME)
		*at = 0;
	else
		*at = n - 1;
}

static void key(struct view *v, int key)
{
	switch (key) {
	case VIEW_KEY_TAB:
		setup.side = (setup.side + 1) % SIDE_COUNT;
		break;
	case VIEW_KEY_BACK_TAB:
		setup.side = (setup.side + SIDE_COUNT - 1) % SIDE_COUNT;
		break;
	case VIEW_KEY_LEFT:
	case VIEW_KEY_RIGHT:
		if (setup.side != SIDE_OPTIONS)
			setup.side = setup.side == SIDE_SHOWN ? SIDE_KNOWN : SIDE_SHOWN;
		break;
	case VIEW_KEY_UP:
	case VIEW_KEY_DOWN:
	case VIEW_KEY_PAGE_UP:
	case VIEW_KEY_PAGE_DOWN:
	case VIEW_KEY_HOME:
	case VIEW_KEY_END:
		move_to(&setup.at[setup.side], rows_of(v, setup.side), key);
		break;
	case VIEW_KEY_ENTER:
	case ' ':
	case '+':
	case '-':
		if (setup.side == SIDE_OPTIONS)
			change_option(v, key);
		else if (setup.side == SIDE_KNOWN && key == VIEW_KEY_ENTER)
			change(v, key);
		break;
	case '[':
	case ']':
	case VIEW_KEY_F + 7:
	case VIEW_KEY_F + 8:
	case VIEW_KEY_F + 9:
	case VIEW_KEY_DELETE:
		if (setup.side == SIDE_SHOWN)
			change(v, key);
		break;
	default:
		view_return(v, key);
	}
}

static void leave(struct view *v)
{
	memset(&setup, 0, sizeof(setup));
}

const struct view_screen setup_screen = {
	.draw = draw,
	.key = key,
	.mouse = take_mouse,
	.leave = leave,
};
