// SPDX-License-Identifier: GPL-2.0
/* Menus at the left of the list: sort column, user, signal, I/O priority, CPUs. */
#include <errno.h>
#include <linux/ioprio.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* The process that tags, or else the bar, select for a change; 0: none. */
static int32_t subject(const struct view *v)
{
	int32_t id = 0;

	if (v->list.tagged.n)
		return v->list.tagged.id[0];
	list_selected(v, &id);
	return id;
}

static uint64_t start_of_selected(const struct view *v)
{
	return v->list.at < v->list.n ? column_number(v, v->list.shown[v->list.at], NEED_START) : 0;
}

/* The bar stays on the process that the menu is about; if that exits, it is on another one. */
static void begin_about(struct view *v, const char *title, view_chosen_fn chosen)
{
	begin(v, title, chosen);
	if (v->list.tagged.n)
		return;
	v->menu.about = subject(v);
	v->menu.about_start = start_of_selected(v);
	v->list.selected = v->menu.about;
	v->list.moved = true;
}

static bool has_lost_it(const struct view *v)
{
	return v->menu.about &&
	       (v->menu.about != subject(v) || v->menu.about_start != start_of_selected(v));
}

static void choose(struct view *v)
{
	if (has_lost_it(v))
		view_say(v, "Process %d is gone: nothing was done", v->menu.about);
	else
		v->menu.chosen(v, v->menu.item[v->menu.at].value);
	menu_close(v);
}

/* Choose the item that is selected already, or select it; of a menu with checks, change it. */
static void click(struct view *v, size_t at)
{
	struct view_menu *menu = &v->menu;

	if (menu->has_checks)
		menu->item[at].on = !menu->item[at].on;
	else if (menu->at == at)
		choose(v);
	/* If it was chosen, the menu has gone. */
	if (menu->n)
		menu->at = at;
}

void menu_mouse(struct view *v, const struct view_mouse *mouse)
{
	struct view_menu *menu = &v->menu;
	int row = mouse->y - menu->y - 1;

	if (mouse->kind == MOUSE_WHEEL_UP)
		menu->at -= menu->at > 0;
	else if (mouse->kind == MOUSE_WHEEL_DOWN)
		menu->at += menu->at + 1 < menu->n;
	else if (mouse->x >= MENU_CELLS || row < -1)
		menu_close(v);
	else if (row >= 0 && menu->top + (size_t)row < menu->n)
		click(v, menu->top + (size_t)row);
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
	case ' ':
		if (menu->has_checks)
			menu->item[menu->at].on = !menu->item[menu->at].on;
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
	menu->y = y;
	line_begin(&line);
	line_text(&line, STYLE_HEAD, menu->title);
	line_to(&line, MENU_CELLS, STYLE_HEAD);
	line_draw(&line, y, 0, MENU_CELLS, 0, STYLE_PLAIN);
	for (size_t i = 0; i < page && menu->top + i < menu->n; i++) {
		const struct view_item *item = &menu->item[menu->top + i];

		line_begin(&line);
		if (menu->has_checks)
			line_text(&line, STYLE_PLAIN, item->on ? "[x] " : "[ ] ");
		line_text(&line, STYLE_PLAIN, item->text);
		line_draw(&line, y + 1 + (int)i, 0, MENU_CELLS, 0,
			  menu->top + i == menu->at ? STYLE_SELECTED : STYLE_PLAIN);
	}
	return MENU_CELLS + 1;
}

/* ----------------------------------------------------------------- the menus */

static void sort_by(struct view *v, int64_t at)
{
	list_sort(v, (size_t)at, false);
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
	begin_about(v, "Send signal:", send_chosen);
	add_item(v, 0, false, " 0 Cancel");
	for (int i = 1; i <= SIGRTMAX; i++) {
		const char *name = kl_signal_name((unsigned int)i);

		if (name)
			add_item(v, i, i == SIGTERM, "%2d %s", i, name);
		else if (i >= SIGRTMIN)
			add_item(v, i, false, "%2d SIGRTMIN%+d", i, i - SIGRTMIN);
	}
}

/* ---------------------------------------------------------------- parameters */

static void set_ioprio(struct view *v, int64_t value)
{
	static const char *const classes[] = { "none", "realtime", "best-effort", "idle" };
	int class = (int)value >> IOPRIO_CLASS_SHIFT, level = (int)value & 7;
	struct kl_setting setting;
	char text[40];

	if (class == IOPRIO_CLASS_RT || class == IOPRIO_CLASS_BE)
		snprintf(text, sizeof(text), "ioprio=%s:%d", classes[class], level);
	else
		snprintf(text, sizeof(text), "ioprio=%s", classes[class]);
	if (!kl_setting_parse(&setting, text))
		change_setting(v, &setting);
}

static void add_ioprio(struct view *v, long now, int class, int level, const char *text)
{
	int value = class << IOPRIO_CLASS_SHIFT | level;
	bool has_level = class == IOPRIO_CLASS_RT || class == IOPRIO_CLASS_BE;

	add_item(v, value, now >> IOPRIO_CLASS_SHIFT == class && (!has_level || (now & 7) == level),
		 "%s", text);
}

static void add_levels(struct view *v, long now, int class, const char *name)
{
	char text[32];

	for (int level = 0; level < 8; level++) {
		snprintf(text, sizeof(text), "%s %d%s", name, level,
			 !level	    ? " (high)" :
			 level == 7 ? " (low)" :
				      "");
		add_ioprio(v, now, class, level, text);
	}
}

void menu_ioprio(struct view *v)
{
	int32_t id = subject(v);
	long now = id ? syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, id) : -1;

	if (now < 0) {
		view_say(v, "Cannot read the I/O priority of %d: %s", id, strerror(errno));
		return;
	}
	begin_about(v, "I/O priority:", set_ioprio);
	add_ioprio(v, now, IOPRIO_CLASS_NONE, 0, "By nice value");
	add_levels(v, now, IOPRIO_CLASS_RT, "Realtime");
	add_levels(v, now, IOPRIO_CLASS_BE, "Best-effort");
	add_ioprio(v, now, IOPRIO_CLASS_IDLE, 0, "Idle");
}

/* The checked CPUs, as taskset(1) writes them. */
static void set_affinity(struct view *v, int64_t value)
{
	struct kl_buffer list = { 0 };
	struct kl_setting setting;
	bool any = false;

	kl_buffer_add_string(&list, "affinity=");
	for (size_t i = 0; i < v->menu.n; i++)
		if (v->menu.item[i].on) {
			kl_buffer_printf(&list, "%s%lld", any ? "," : "",
					 (long long)v->menu.item[i].value);
			any = true;
		}
	if (!any)
		view_say(v, "A process needs at least one CPU");
	else if (!list.error && !kl_setting_parse(&setting, list.data))
		change_setting(v, &setting);
	kl_buffer_deinit(&list);
}

void menu_affinity(struct view *v)
{
	unsigned long cpus[KL_SETTING_CPUS / 8 / sizeof(unsigned long)] = { 0 };
	const size_t bits = 8 * sizeof(*cpus);
	int32_t id = subject(v);
	const struct kl_machine_cpu *cpu;

	if (!id || syscall(SYS_sched_getaffinity, id, sizeof(cpus), cpus) < 0) {
		view_say(v, "Cannot read the CPU affinity of %d: %s", id, strerror(errno));
		return;
	}
	begin_about(v, "CPU affinity:", set_affinity);
	v->menu.has_checks = true;
	for (size_t i = 0; (cpu = kl_machine_cpu(v->machine, i)); i++) {
		if (!cpu->online || cpu->cpu >= KL_SETTING_CPUS)
			continue;
		add_item(v, cpu->cpu, false, "CPU %u", cpu->cpu);
		v->menu.item[v->menu.n - 1].on = cpus[cpu->cpu / bits] >> cpu->cpu % bits & 1;
	}
}
