// SPDX-License-Identifier: GPL-2.0
/* Menus at the left of the list: sort column, user, signal. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

enum {
	MENU_CELLS = 20,
};

void menu_close(struct view *v)
{
	free(v->menu.item);
	v->menu = (struct view_menu){ 0 };
}

static void begin(struct view *v, const char *title, view_chosen_fn chosen)
{
	menu_close(v);
	v->menu.title = title;
	v->menu.chosen = chosen;
}

static void __attribute__((format(printf, 4, 5)))
add_item(struct view *v, int64_t value, bool here, const char *format, ...)
{
	struct view_menu *menu = &v->menu;
	struct view_item *item = reallocarray(menu->item, menu->n + 1, sizeof(*item));
	va_list args;

	if (!item)
		return;
	menu->item = item;
	item += menu->n;
	item->value = value;
	va_start(args, format);
	vsnprintf(item->text, sizeof(item->text), format, args);
	va_end(args);
	if (here)
		menu->at = menu->n;
	menu->n++;
}

static void choose(struct view *v)
{
	view_chosen_fn chosen = v->menu.chosen;
	int64_t value = v->menu.item[v->menu.at].value;

	menu_close(v);
	chosen(v, value);
}

void menu_key(struct view *v, int key)
{
	struct view_menu *menu = &v->menu;
	size_t page = 10, last = menu->n - 1;

	switch (key) {
	case VIEW_KEY_UP:
		menu->at -= menu->at > 0;
		break;
	case VIEW_KEY_DOWN:
		menu->at += menu->at < last;
		break;
	case VIEW_KEY_PAGE_UP:
		menu->at = menu->at > page ? menu->at - page : 0;
		break;
	case VIEW_KEY_PAGE_DOWN:
		menu->at = menu->at + page < last ? menu->at + page : last;
		break;
	case VIEW_KEY_HOME:
		menu->at = 0;
		break;
	case VIEW_KEY_END:
		menu->at = last;
		break;
	case VIEW_KEY_ENTER:
		choose(v);
		break;
	case VIEW_KEY_ESCAPE:
	case 'q':
	case VIEW_KEY_F + 10:
		menu_close(v);
		break;
	default:
		/* Go to the next item that starts with this letter or digit. */
		for (size_t i = 1; i <= menu->n && key > ' ' && key < 127; i++) {
			size_t at = (menu->at + i) % menu->n;
			const char *text = menu->item[at].text + strspn(menu->item[at].text, " ");

			if (*text && (*text | 32) == (key | 32)) {
				menu->at = at;
				break;
			}
		}
	}
}

int menu_draw(struct view *v, int y, int rows)
{
	struct view_menu *menu = &v->menu;
	size_t page = rows > 2 ? (size_t)rows - 1 : 1;
	struct view_line line;

	if (menu->at < menu->top)
		menu->top = menu->at;
	if (menu->at >= menu->top + page)
		menu->top = menu->at - page + 1;
	line_begin(&line);
	line_text(&line, STYLE_HEAD, menu->title);
	line_to(&line, MENU_CELLS, STYLE_HEAD);
	line_draw(&line, y, 0, MENU_CELLS, 0, STYLE_PLAIN);
	for (size_t i = 0; i < page && menu->top + i < menu->n; i++) {
		line_begin(&line);
		line_text(&line, STYLE_PLAIN, menu->item[menu->top + i].text);
		line_draw(&line, y + 1 + (int)i, 0, MENU_CELLS, 0,
			  menu->top + i == menu->at ? STYLE_SELECTED : STYLE_PLAIN);
	}
	return MENU_CELLS + 1;
}

/* ----------------------------------------------------------------- the menus */

static void sort_by(struct view *v, int64_t at)
{
	v->list.sort = (size_t)at;
	/* Names and IDs in ascending order, amounts in descending order. */
	v->list.descending = !column_is_text(v, v->list.sort) &&
			     v->list.sort != v->need[NEED_TID] &&
			     v->list.sort != v->need[NEED_PID] && v->list.sort != v->need[NEED_UID];
	list_arrange(v);
}

void menu_sort(struct view *v)
{
	begin(v, "Sort by", sort_by);
	for (size_t i = 0; i < v->n_columns; i++)
		add_item(v, (int64_t)v->column[i].at, v->column[i].at == v->list.sort, "%s",
			 v->column[i].title);
}

static void choose_user(struct view *v, int64_t uid)
{
	v->list.uid = uid < 0 ? UINT64_MAX : (uint64_t)uid;
	list_arrange(v);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(column_user(*(const uint32_t *)a), column_user(*(const uint32_t *)b));
}

/* List the users that have processes. */
void menu_user(struct view *v)
{
	uint32_t uids[64] = { 0 };
	size_t n = 0;

	for (size_t row = 0; row < kl_processes_count(v->table) && n < 64; row++) {
		uint32_t uid = (uint32_t)column_number(v, row, NEED_UID);
		size_t i = 0;

		while (i < n && uids[i] != uid)
			i++;
		if (i == n)
			uids[n++] = uid;
	}
	qsort(uids, n, sizeof(*uids), compare_names);
	begin(v, "Show processes of:", choose_user);
	add_item(v, -1, v->list.uid == UINT64_MAX, "All users");
	for (size_t i = 0; i < n; i++)
		add_item(v, uids[i], v->list.uid == uids[i], "%s", column_user(uids[i]));
}

static void send_chosen(struct view *v, int64_t signal)
{
	if (signal)
		change_signal(v, (int)signal);
}

void menu_signal(struct view *v)
{
	begin(v, "Send signal:", send_chosen);
	add_item(v, 0, false, " 0 Cancel");
	for (int i = 1; i <= SIGRTMAX; i++) {
		const char *name = kl_signal_name((unsigned int)i);

		if (name)
			add_item(v, i, i == SIGTERM, "%2d %s", i, name);
		else if (i >= SIGRTMIN)
			add_item(v, i, false, "%2d SIGRTMIN%+d", i, i - SIGRTMIN);
	}
}
