// SPDX-License-Identifier: GPL-2.0
/*
 * The screen with the list: its keys, and the prompts for search and filter. Other screens are
 * entered from here.
 */
#include <limits.h>
#include <string.h>
#include <wchar.h>

#include "view.h"

static int list_top(const struct view *v)
{
	return meter_rows(v) + tab_rows();
}

static int list_rows(const struct view *v)
{
	return screen_rows() - list_top(v) - 1;
}

/* ------------------------------------------------------------------ drawing */

static char *prompt_text(struct view *v)
{
	return v->list.prompt == PROMPT_SEARCH ? v->list.search : v->list.filter;
}

static void draw_prompt(struct view *v)
{
	static const char *const search[] = { "F3", "Next   ", "S-F3", "Prev   ", "Esc", "Cancel" };
	static const char *const filter[] = { "Enter", "Done  ", "Esc", "Clear  " };
	bool searches = v->list.prompt == PROMPT_SEARCH;
	bool failed = searches && *v->list.search && !v->list.found;
	struct view_line line;

	line_begin(&line);
	if (searches)
		view_add_keys(v, &line, search, sizeof(search) / sizeof(*search));
	else
		view_add_keys(v, &line, filter, sizeof(filter) / sizeof(*filter));
	line_text(&line, STYLE_KEY, searches ? " Search: " : " Filter: ");
	line_text(&line, failed ? STYLE_FAILED : STYLE_LABEL, prompt_text(v));
	line_draw(&line, screen_rows() - 1, 0, screen_columns(), 0, STYLE_PLAIN);
	screen_show(screen_rows() - 1, line.n);
}

static void draw(struct view *v)
{
	const char *const keys[] = {
		"F1",  "Help  ",
		"F2",  "Setup ",
		"F3",  "Search",
		"F4",  *v->list.filter ? "FILTER" : "Filter",
		"F5",  v->list.tree ? "List  " : "Tree  ",
		"F6",  "SortBy",
		"F7",  "Nice -",
		"F8",  "Nice +",
		"F9",  "Kill  ",
		"F10", "Quit",
	};
	static const char *const choice[] = { "Enter", "Choose ", "Esc", "Cancel " };
	static const char *const checks[] = { "Space",	 "Change ", "Enter",
					      "Set    ", "Esc",	    "Cancel " };
	int top = list_top(v), rows = list_rows(v), x = 0;

	meter_draw(v);
	tab_draw(v, top - tab_rows());
	if (v->menu.n)
		x = menu_draw(v, top, rows);
	list_draw(v, top, x, rows);
	if (v->list.prompt) {
		draw_prompt(v);
		return;
	}
	if (v->menu.has_checks)
		view_draw_keys(v, checks, sizeof(checks) / sizeof(*checks));
	else if (v->menu.n)
		view_draw_keys(v, choice, sizeof(choice) / sizeof(*choice));
	else
		view_draw_keys(v, keys, sizeof(keys) / sizeof(*keys));
	screen_show(-1, 0);
}

/* ------------------------------------------------------------------ prompts */

static void begin_prompt(struct view *v, enum view_prompt prompt)
{
	v->list.prompt = prompt;
	if (prompt == PROMPT_SEARCH)
		*v->list.search = 0;
}

/* Remove the last character, however many bytes it has. */
static void take_back(char *text)
{
	size_t length = strlen(text);

	while (length && (text[--length] & 0xc0) == 0x80)
		;
	text[length] = 0;
}

static void type(char *text, int key)
{
	char bytes[MB_LEN_MAX];
	mbstate_t state = { 0 };
	size_t length = wcrtomb(bytes, (wchar_t)key, &state);

	if (length == (size_t)-1 || strlen(text) + length >= VIEW_PROMPT_MAX)
		return;
	strncat(text, bytes, length);
}

static void prompt_changed(struct view *v)
{
	if (v->list.prompt == PROMPT_FILTER)
		list_arrange(v);
	else
		list_search(v, 1, false);
}

static void prompt_key(struct view *v, int key)
{
	char *text = prompt_text(v);

	switch (key) {
	case VIEW_KEY_ESCAPE:
		*text = 0;
		prompt_changed(v);
		v->list.prompt = PROMPT_NONE;
		return;
	case VIEW_KEY_ENTER:
		v->list.prompt = PROMPT_NONE;
		return;
	case VIEW_KEY_BACKSPACE:
		take_back(text);
		break;
	case VIEW_KEY_F + 3:
		list_search(v, 1, true);
		return;
	case VIEW_KEY_SHIFT_F + 3:
		list_search(v, -1, true);
		return;
	default:
		if (list_move(v, key, list_rows(v)) || key < ' ' || key >= VIEW_KEY_F)
			return;
		type(text, key);
	}
	prompt_changed(v);
}

/* --------------------------------------------------------------------- keys */

static void sort_by(struct view *v, enum view_need need, bool descending)
{
	v->list.sort = v->need[need];
	v->list.descending = descending;
	list_arrange(v);
}

static void toggle_tag(struct view *v)
{
	int32_t id;

	if (!list_selected(v, &id))
		return;
	ids_put(&v->list.tagged, id, !ids_have(&v->list.tagged, id));
	list_select(v, v->list.at + 1);
}

/* Tag the selected process and those below it in the tree. */
static void tag_branch(struct view *v)
{
	size_t at = v->list.at;
	unsigned int depth;

	if (at >= v->list.n)
		return;
	depth = kl_processes_depth(v->table, v->list.shown[at]);
	do {
		ids_put(&v->list.tagged, list_id(v, at), true);
	} while (v->list.tree && ++at < v->list.n &&
		 kl_processes_depth(v->table, v->list.shown[at]) > depth);
}

static void collapse(struct view *v, int key)
{
	int32_t id;

	if (!v->list.tree || !list_selected(v, &id))
		return;
	ids_put(&v->list.collapsed, id,
		key == '-' || (key == '+' && !ids_have(&v->list.collapsed, id)));
	list_arrange(v);
}

/* Collapse all branches, or expand them if any is collapsed. */
static void collapse_all(struct view *v)
{
	struct view_list *list = &v->list;
	size_t rows = kl_processes_count(v->table);
	bool there;

	if (!list->tree)
		return;
	if (list->collapsed.n) {
		ids_clear(&list->collapsed);
	} else {
		for (size_t row = 0; row + 1 < rows; row++)
			if (kl_processes_depth(v->table, row + 1) >
			    kl_processes_depth(v->table, row))
				ids_put(&list->collapsed, kl_processes_row(v->table, row, &there),
					true);
	}
	list_arrange(v);
}

/* The bar follows its process once it has been moved; until then, it stays at the top. */
static void toggle_follow(struct view *v)
{
	int32_t id;

	if (!list_selected(v, &id))
		return;
	v->list.moved = !v->list.moved;
	v->list.selected = id;
	if (v->list.moved)
		view_say(v, "The bar follows process %d", id);
	else
		view_say(v, "The bar stays at its line");
}

/* Digits, typed one after the other, select the process with that ID. */
static void type_id(struct view *v, int digit)
{
	int64_t wanted = v->list.typed * 10 + digit;

	if (wanted > INT32_MAX)
		wanted = digit;
	v->list.typed = wanted;
	for (size_t i = 0; i < v->list.n; i++)
		if (list_id(v, i) == wanted) {
			list_select(v, i);
			return;
		}
}

static void toggle(struct view *v, bool *what)
{
	*what = !*what;
	list_arrange(v);
}

/* Handle keys that change the order. Returns false for other keys. */
static bool order_key(struct view *v, int key)
{
	switch (key) {
	case 'P':
		sort_by(v, NEED_CPU, true);
		return true;
	case 'M':
		sort_by(v, NEED_MEMORY, true);
		return true;
	case 'T':
		sort_by(v, NEED_TIME, true);
		return true;
	case 'N':
		sort_by(v, NEED_TID, false);
		return true;
	case 'I':
		toggle(v, &v->list.descending);
		return true;
	default:
		return false;
	}
}

/* Handle keys that change what is shown. Returns false for other keys. */
static bool show_key(struct view *v, int key)
{
	struct view_list *list = &v->list;

	switch (key) {
	case VIEW_KEY_F + 5:
	case 't':
		toggle(v, &list->tree);
		return true;
	case 'K':
		toggle(v, &list->kernel);
		return true;
	case 'H':
		list->threads = !list->threads;
		view_refresh(v);
		return true;
	case 'Z':
		list->paused = !list->paused;
		view_say(v, list->paused ? "Paused: Z resumes" : "Resumed");
		return true;
	case '+':
	case '-':
	case '=':
		collapse(v, key);
		return true;
	case '*':
		collapse_all(v);
		return true;
	case 'F':
		toggle_follow(v);
		return true;
	case 'p':
		toggle(v, &list->path);
		return true;
	case '#':
		list->meters = !list->meters;
		return true;
	case VIEW_KEY_TAB:
	case VIEW_KEY_BACK_TAB:
		/* There are two. */
		tab_show(v, v->tab == TAB_MAIN ? TAB_IO : TAB_MAIN);
		return true;
	default:
		return false;
	}
}

static void enter_events(struct view *v, bool as_strace)
{
	char command[VIEW_CELL_MAX];
	int32_t id;

	if (!list_selected(v, &id))
		return;
	column_command(v, v->list.shown[v->list.at], command);
	events_enter(v, id, command, as_strace);
}

/* Handle keys about the selected or tagged processes. Returns false for other keys. */
static bool act_key(struct view *v, int key)
{
	switch (key) {
	case VIEW_KEY_F + 7:
	case ']':
		change_nice(v, -1);
		return true;
	case VIEW_KEY_F + 8:
	case '[':
		change_nice(v, 1);
		return true;
	case VIEW_KEY_F + 9:
	case 'k':
		menu_signal(v);
		return true;
	case ' ':
		toggle_tag(v);
		return true;
	case 'c':
		tag_branch(v);
		return true;
	case 'U':
		ids_clear(&v->list.tagged);
		return true;
	case VIEW_KEY_ENTER:
		details_enter(v, NULL);
		return true;
	case 'l':
		details_enter(v, "Files");
		return true;
	case 'x':
		details_enter(v, "Locks");
		return true;
	case 'w':
		details_enter(v, "Command");
		return true;
	case 'a':
		menu_affinity(v);
		return true;
	case 'i':
		menu_ioprio(v);
		return true;
	case 'e':
	case 's':
		enter_events(v, key == 's');
		return true;
	default:
		return false;
	}
}

static void other_key(struct view *v, int key)
{
	switch (key) {
	case VIEW_KEY_F + 1:
	case 'h':
	case '?':
		help_enter(v);
		break;
	case VIEW_KEY_F + 2:
	case 'S':
	case 'C':
		view_enter(v, &setup_screen);
		break;
	case VIEW_KEY_F + 3:
	case '/':
		begin_prompt(v, PROMPT_SEARCH);
		break;
	case VIEW_KEY_F + 4:
	case '\\':
		begin_prompt(v, PROMPT_FILTER);
		break;
	case VIEW_KEY_F + 6:
	case '>':
	case '<':
	case '.':
	case ',':
		menu_sort(v);
		break;
	case 'u':
		menu_user(v);
		break;
	case VIEW_KEY_F + 10:
	case 'q':
		v->over = true;
		break;
	}
}

static void key(struct view *v, int key)
{
	if (v->list.prompt) {
		prompt_key(v, key);
		return;
	}
	if (key >= '0' && key <= '9') {
		type_id(v, key - '0');
		return;
	}
	v->list.typed = 0;
	v->list.clicked = 0;
	if (!list_move(v, key, list_rows(v)) && !order_key(v, key) && !show_key(v, key) &&
	    !act_key(v, key))
		other_key(v, key);
}

const struct view_screen list_screen = { .draw = draw, .key = key, .mouse = list_mouse };
