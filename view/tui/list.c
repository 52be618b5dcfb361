// SPDX-License-Identifier: GPL-2.0
/*
 * The list of processes: which rows of the table are shown in what order, where the bar is, and how
 * it is all drawn. The bar stays with its process when others come and go.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

#define DEPTH_MAX 63
#define WHEEL_ROWS 3

/* ----------------------------------------------------------------- ids */

bool ids_have(const struct view_ids *ids, int32_t id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (ids->id[i] == id)
			return true;
	return false;
}

void ids_put(struct view_ids *ids, int32_t id, bool in)
{
	for (size_t i = 0; i < ids->n; i++)
		if (ids->id[i] == id) {
			if (!in)
				ids->id[i] = ids->id[--ids->n];
			return;
		}
	if (!in)
		return;
	if (ids->n == ids->room) {
		size_t room = 2 * ids->room + 8;
		int32_t *id_ = reallocarray(ids->id, room, sizeof(*id_));

		if (!id_)
			return;
		ids->id = id_;
		ids->room = room;
	}
	ids->id[ids->n++] = id;
}

void ids_clear(struct view_ids *ids)
{
	free(ids->id);
	*ids = (struct view_ids){ 0 };
}

/* ------------------------------------------------------------ what is shown */

int32_t list_id(const struct view *v, size_t at)
{
	bool there;

	return kl_processes_row(v->table, v->list.shown[at], &there);
}

bool list_selected(const struct view *v, int32_t *id)
{
	if (v->list.at >= v->list.n)
		return false;
	*id = list_id(v, v->list.at);
	return true;
}

/* Does the text contain one of the words between '|', ignoring case? */
static bool matches(const char *text, const char *words)
{
	char *copy = strdupa(words), *word;

	while ((word = strsep(&copy, "|")))
		if (*word && strcasestr(text, word))
			return true;
	return false;
}

static bool is_shown(const struct view *v, size_t row)
{
	const struct view_list *list = &v->list;
	char command[VIEW_CELL_MAX];
	bool there;

	kl_processes_row(v->table, row, &there);
	if (!there)
		return false;
	if (!list->kernel && is_of_kernel(v, row))
		return false;
	if (list->uid != UINT64_MAX && column_number(v, row, NEED_UID) != list->uid)
		return false;
	if (!*list->filter)
		return true;
	column_command(v, row, command);
	return matches(command, list->filter);
}

static bool make_room(struct view *v)
{
	size_t room = kl_processes_count(v->table);
	size_t *shown;
	uint64_t *more;

	if (room <= v->list.room)
		return true;
	shown = calloc(room, sizeof(*shown));
	more = calloc(room, sizeof(*more));
	if (!shown || !more) {
		free(shown);
		free(more);
		v->error = -ENOMEM;
		return false;
	}
	free(v->list.shown);
	free(v->list.more);
	v->list.shown = shown;
	v->list.more = more;
	v->list.room = room;
	return true;
}

void list_free(struct view *v)
{
	free(v->list.shown);
	free(v->list.more);
	ids_clear(&v->list.tagged);
	ids_clear(&v->list.collapsed);
}

static unsigned int depth_of(const struct view *v, size_t at)
{
	unsigned int depth = kl_processes_depth(v->table, v->list.shown[at]);

	return depth < DEPTH_MAX ? depth : DEPTH_MAX;
}

/* From the bottom up, where it is known which levels continue below. */
static void find_branches(struct view *v)
{
	uint64_t levels = 0;

	for (size_t i = v->list.n; i-- > 0;) {
		uint64_t own = 1ull << depth_of(v, i);

		v->list.more[i] = levels;
		levels = (levels & (own - 1)) | own;
	}
}

static void choose_rows(struct view *v)
{
	struct view_list *list = &v->list;
	unsigned int hidden = UINT32_MAX;

	list->n = 0;
	for (size_t row = 0; row < kl_processes_count(v->table); row++) {
		unsigned int depth = kl_processes_depth(v->table, row);
		bool there;

		/* Skip rows below a collapsed one. */
		if (list->tree && depth > hidden)
			continue;
		hidden = UINT32_MAX;
		if (list->tree && list->collapsed.n &&
		    ids_have(&list->collapsed, kl_processes_row(v->table, row, &there)))
			hidden = depth;
		if (is_shown(v, row))
			list->shown[list->n++] = row;
	}
}

static int compare_ids(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Another process may get the ID of one that has exited: it must not be tagged then. */
static void untag_exited(struct view *v)
{
	struct view_ids *tagged = &v->list.tagged;
	size_t rows = kl_processes_count(v->table), n = 0, kept = 0;
	int32_t *ids = tagged->n ? calloc(rows + 1, sizeof(*ids)) : NULL;
	bool there;

	for (size_t row = 0; ids && row < rows; row++) {
		ids[n] = kl_processes_row(v->table, row, &there);
		n += there;
	}
	if (ids)
		qsort(ids, n, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < tagged->n; i++)
		if (ids && bsearch(&tagged->id[i], ids, n, sizeof(*ids), compare_ids))
			tagged->id[kept++] = tagged->id[i];
	tagged->n = kept;
	free(ids);
}

static void place_bar(struct view *v)
{
	struct view_list *list = &v->list;

	if (list->moved)
		for (size_t i = 0; i < list->n; i++)
			if (list_id(v, i) == list->selected) {
				list->at = i;
				return;
			}
	/* Its process has exited: select the row that took its place. */
	if (list->at >= list->n)
		list->at = list->n ? list->n - 1 : 0;
	list_selected(v, &list->selected);
}

void list_arrange(struct view *v)
{
	struct view_list *list = &v->list;

	if (!make_room(v))
		return;
	kl_processes_sort(v->table, list->sort, list->descending);
	if (list->tree && kl_processes_sort_tree(v->table)) {
		v->error = -ENOMEM;
		return;
	}
	choose_rows(v);
	if (list->tree)
		find_branches(v);
	untag_exited(v);
	place_bar(v);
}

void list_sort(struct view *v, size_t at, bool reverse)
{
	struct view_list *list = &v->list;

	/* Names and IDs in ascending order, amounts in descending order. */
	list->descending = reverse && at == list->sort ?
				   !list->descending :
				   !column_is_text(v, at) && at != v->need[NEED_TID] &&
					   at != v->need[NEED_PID] && at != v->need[NEED_UID];
	list->sort = at;
	list_arrange(v);
}

/* ------------------------------------------------------------------ the bar */

void list_select(struct view *v, size_t at)
{
	struct view_list *list = &v->list;

	list->moved = true;
	list->at = at < list->n ? at : list->n ? list->n - 1 : 0;
	list_selected(v, &list->selected);
}

bool list_move(struct view *v, int key, int rows)
{
	struct view_list *list = &v->list;
	size_t page = rows > 1 ? (size_t)rows - 1 : 1;

	switch (key) {
	case VIEW_KEY_UP:
		list_select(v, list->at ? list->at - 1 : 0);
		return true;
	case VIEW_KEY_DOWN:
		list_select(v, list->at + 1);
		return true;
	case VIEW_KEY_PAGE_UP:
		list->top = list->top > page ? list->top - page : 0;
		list_select(v, list->at > page ? list->at - page : 0);
		return true;
	case VIEW_KEY_PAGE_DOWN:
		list->top += page;
		list_select(v, list->at + page);
		return true;
	case VIEW_KEY_HOME:
		list_select(v, 0);
		return true;
	case VIEW_KEY_END:
		list_select(v, SIZE_MAX);
		return true;
	case VIEW_KEY_LEFT:
		list->left = list->left > 8 ? list->left - 8 : 0;
		return true;
	case VIEW_KEY_RIGHT:
		list->left += list->left < 400 ? 8 : 0;
		return true;
	default:
		return false;
	}
}

/* Scroll the list; the bar moves only to stay visible. */
static void scroll(struct view *v, bool down)
{
	struct view_list *list = &v->list;
	size_t most = list->n > list->page ? list->n - list->page : 0;

	if (down)
		list->top = list->top + WHEEL_ROWS < most ? list->top + WHEEL_ROWS : most;
	else
		list->top = list->top > WHEEL_ROWS ? list->top - WHEEL_ROWS : 0;
	if (list->at < list->top)
		list_select(v, list->top);
	else if (list->page && list->at >= list->top + list->page)
		list_select(v, list->top + list->page - 1);
}

/* Columns have fixed places in the head; the last one takes the rest of the line. */
static void click_head(struct view *v, int cell)
{
	int end = 0;

	for (size_t i = 0; i < v->n_columns; i++) {
		end += v->column[i].width + 1;
		if (cell < end || i + 1 == v->n_columns) {
			list_sort(v, v->column[i].at, true);
			return;
		}
	}
}

static void click_row(struct view *v, size_t at)
{
	struct view_list *list = &v->list;

	if (at >= list->n)
		return;
	list_select(v, at);
	if (list->selected != list->clicked) {
		list->clicked = list->selected;
		return;
	}
	list->clicked = 0;
	details_enter(v, NULL);
}

bool list_mouse(struct view *v, const struct view_mouse *mouse)
{
	struct view_list *list = &v->list;
	int row = mouse->y - list->y;

	if (mouse->kind != MOUSE_CLICK)
		scroll(v, mouse->kind == MOUSE_WHEEL_DOWN);
	else if (row == -1 && tab_rows())
		tab_click(v, mouse->x);
	else if (!row && mouse->x >= list->x)
		click_head(v, mouse->x - list->x + list->left);
	else if (row > 0 && (size_t)row <= list->page)
		click_row(v, list->top + (size_t)row - 1);
	return true;
}

void list_search(struct view *v, int step, bool from_next)
{
	struct view_list *list = &v->list;
	size_t at = list->at;
	char command[VIEW_CELL_MAX];

	list->found = false;
	for (size_t i = 0; i < list->n && *list->search; i++) {
		if (i || from_next)
			at = (at + list->n + (size_t)(ssize_t)step) % list->n;
		column_command(v, list->shown[at], command);
		if (!matches(command, list->search))
			continue;
		list->found = true;
		list_select(v, at);
		return;
	}
}

/* ------------------------------------------------------------------ drawing */

static void draw_head(struct view *v, int y, int x, int width)
{
	const struct view_list *list = &v->list;
	struct view_line line;

	line_begin(&line);
	for (size_t i = 0; i < v->n_columns; i++) {
		const struct view_column *c = &v->column[i];
		enum view_style style = c->at == list->sort ? STYLE_HEAD_SORTED : STYLE_HEAD;
		int begin = line.n;

		if (c->left)
			line_text(&line, style, c->title);
		else
			line_right(&line, c->width, style, c->title);
		if (c->at == list->sort && screen_is_unicode())
			line_text(&line, style, list->descending ? "▽" : "△");
		line_to(&line, begin + c->width + 1,
			c->left && i + 1 < v->n_columns ? style : STYLE_HEAD);
	}
	line_to(&line, list->left + width, STYLE_HEAD);
	line_draw(&line, y, x, width, list->left, STYLE_PLAIN);
}

static void add_branch(const struct view *v, size_t at, struct view_line *line)
{
	unsigned int depth = depth_of(v, at);
	bool collapsed = ids_have(&v->list.collapsed, list_id(v, at));
	bool unicode = screen_is_unicode();

	for (unsigned int i = 1; i < depth; i++)
		line_text(line, STYLE_TREE,
			  !(v->list.more[at] >> i & 1) ? "   " :
			  unicode		       ? "│  " :
							 "|  ");
	if (!depth && collapsed)
		line_text(line, STYLE_TREE, "+ ");
	if (!depth)
		return;
	if (unicode)
		line_text(line, STYLE_TREE, v->list.more[at] >> depth & 1 ? "├" : "└");
	else
		line_text(line, STYLE_TREE, v->list.more[at] >> depth & 1 ? "|" : "`");
	line_text(line, STYLE_TREE, collapsed ? "+ " : unicode ? "─ " : "- ");
}

static void draw_row(struct view *v, size_t at, int y, int x, int width, bool bar)
{
	const struct view_list *list = &v->list;
	enum view_style style, over = STYLE_PLAIN;
	struct view_line line;

	line_begin(&line);
	for (size_t i = 0; i < v->n_columns; i++) {
		const struct view_column *c = &v->column[i];

		if (list->tree && c->at == v->need[NEED_COMM])
			add_branch(v, at, &line);
		column_print(v, c, list->shown[at], &line, &style);
		line_to(&line, line.n + 1, STYLE_PLAIN);
	}
	if (bar)
		over = STYLE_SELECTED;
	else if (ids_have(&list->tagged, list_id(v, at)))
		over = STYLE_TAGGED;
	line_draw(&line, y, x, width, list->left, over);
}

void list_draw(struct view *v, int y, int x, int rows)
{
	struct view_list *list = &v->list;
	int width = screen_columns() - x;
	size_t page = rows > 2 ? (size_t)rows - 1 : 1;

	if (width <= 0)
		return;
	if (list->at < list->top)
		list->top = list->at;
	if (list->at >= list->top + page)
		list->top = list->at - page + 1;
	if (list->top + page > list->n)
		list->top = list->n > page ? list->n - page : 0;
	list->y = y;
	list->x = x;
	list->page = page;
	draw_head(v, y, x, width);
	for (size_t i = 0; i < page && list->top + i < list->n; i++)
		draw_row(v, list->top + i, y + 1 + (int)i, x, width, list->top + i == list->at);
}
