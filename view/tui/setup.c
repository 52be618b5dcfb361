// SPDX-License-Identifier: GPL-2.0
/*
 * The setup: which columns are shown, and in what order. The columns shown are listed on the left,
 * all known ones on the right.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

enum {
	HALF = 30,
};

/* There is only one setup at a time. */
static struct {
	size_t at[2]; /* selected row on the left and on the right */
	int side;
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
	v->error = list ? column_set_all(v, list) : -ENOMEM;
	return !v->error && view_refresh(v);
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
	size_t n, at = setup.at[0];
	const char *title, *help;
	char *before;

	if (!names)
		return;
	n = names_now(v, names);
	before = join(names, n);
	if (setup.side) {
		const char *last = names[n - 1];

		names[n] = strdup(column_known(setup.at[1], &title, &help));
		/* The command stays last, as it takes the rest of the line. */
		if (!strcmp(last, "comm")) {
			names[n - 1] = names[n];
			names[n] = last;
		}
		n++;
	} else if ((key == VIEW_KEY_DELETE || key == VIEW_KEY_F + 9) && n > 1) {
		free((char *)names[at]);
		memmove(names + at, names + at + 1, (--n - at) * sizeof(*names));
		setup.at[0] -= at == n;
	} else if ((key == '[' || key == VIEW_KEY_F + 7) && at > 0) {
		const char *moved = names[at];

		names[at] = names[at - 1];
		names[at - 1] = moved;
		setup.at[0]--;
	} else if ((key == ']' || key == VIEW_KEY_F + 8) && at + 1 < n) {
		const char *moved = names[at];

		names[at] = names[at + 1];
		names[at + 1] = moved;
		setup.at[0]++;
	}
	apply(v, names, n, before);
	free_names(names, n);
}

/* ------------------------------------------------------------------ drawing */

static size_t top_of(size_t at, size_t rows)
{
	return at >= rows ? at - rows + 1 : 0;
}

static void draw_shown(const struct view *v, size_t rows)
{
	size_t top = top_of(setup.at[0], rows);
	struct view_line line;

	for (size_t i = 0; i < rows && top + i < v->n_columns; i++) {
		line_begin(&line);
		line_text(&line, STYLE_PLAIN, v->column[top + i].title);
		line_draw(&line, 1 + (int)i, 0, HALF - 1, 0,
			  top + i == setup.at[0] && !setup.side ? STYLE_SELECTED : STYLE_PLAIN);
	}
}

static void draw_known(size_t rows)
{
	size_t top = top_of(setup.at[1], rows), n = known();
	const char *title, *help;
	struct view_line line;

	for (size_t i = 0; i < rows && top + i < n; i++) {
		column_known(top + i, &title, &help);
		line_begin(&line);
		line_printf(&line, STYLE_PLAIN, "%-9s %s", title, help);
		line_draw(&line, 1 + (int)i, HALF, screen_columns() - HALF, 0,
			  top + i == setup.at[1] && setup.side ? STYLE_SELECTED : STYLE_PLAIN);
	}
}

static void draw(struct view *v)
{
	static const char *const keys[] = { "Tab", "Other list ", "Enter", "Add   ",
					    "F7",  "Up    ",	  "F8",	   "Down  ",
					    "Del", "Remove ",	  "Esc",   "Done  " };
	size_t rows = screen_rows() > 3 ? (size_t)screen_rows() - 2 : 1;
	struct view_line line;

	line_begin(&line);
	line_text(&line, STYLE_HEAD, "Columns shown");
	line_to(&line, HALF, STYLE_HEAD);
	line_text(&line, STYLE_HEAD, "All columns");
	line_to(&line, screen_columns(), STYLE_HEAD);
	line_draw(&line, 0, 0, screen_columns(), 0, STYLE_PLAIN);
	draw_shown(v, rows);
	draw_known(rows);
	view_draw_keys(v, keys, sizeof(keys) / sizeof(*keys));
	screen_show(-1, 0);
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
	case VIEW_KEY_BACK_TAB:
	case VIEW_KEY_LEFT:
	case VIEW_KEY_RIGHT:
		setup.side = !setup.side;
		break;
	case VIEW_KEY_UP:
	case VIEW_KEY_DOWN:
	case VIEW_KEY_PAGE_UP:
	case VIEW_KEY_PAGE_DOWN:
	case VIEW_KEY_HOME:
	case VIEW_KEY_END:
		move_to(&setup.at[setup.side], setup.side ? known() : v->n_columns, key);
		break;
	case VIEW_KEY_ENTER:
		if (setup.side)
			change(v, key);
		break;
	case '[':
	case ']':
	case VIEW_KEY_F + 7:
	case VIEW_KEY_F + 8:
	case VIEW_KEY_F + 9:
	case VIEW_KEY_DELETE:
		if (!setup.side)
			change(v, key);
		break;
	case VIEW_KEY_ESCAPE:
	case VIEW_KEY_F + 10:
	case 'q':
		view_enter(v, &list_screen);
		break;
	}
}

static void leave(struct view *v)
{
	memset(&setup, 0, sizeof(setup));
}

const struct view_screen setup_screen = { .draw = draw, .key = key, .leave = leave };
