// SPDX-License-Identifier: GPL-2.0
/* The tabs of the list: sets of columns, each with an order of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

#define COLUMNS_MAX 48

static const struct {
	const char *name, *title;
	const char *columns, *sort;
} tabs[TAB_COUNT] = {
	[TAB_MAIN] = { "main", "Main",
		       "tid,uid,priority,nice,vm_size,rss,shared,state,cpu%,mem%,cpu_time,comm",
		       "cpu%" },
	[TAB_IO] = { "io", "I/O",
		     "tid,uid,ioprio,io/s,io_read_bytes/s,io_write_bytes/s,io_bytes,swapin_delay/s,"
		     "blkio_delay/s,comm",
		     "io/s" },
};

const char *tab_name(enum view_tab tab)
{
	return tabs[tab].name;
}

/* Only those that can be shown, each once. */
static char *valid_columns(struct view *v, const char *names)
{
	char *list = strdupa(names), *name, *seen[COLUMNS_MAX];
	struct kl_buffer columns = { 0 };
	size_t n = 0;

	while ((name = strsep(&list, ",")) && n < COLUMNS_MAX) {
		size_t i = 0;

		while (i < n && strcmp(seen[i], name))
			i++;
		if (i < n || !column_is_valid(v, name))
			continue;
		kl_buffer_printf(&columns, "%s%s", n ? "," : "", name);
		seen[n++] = name;
	}
	if (!columns.error)
		return columns.data;
	kl_buffer_deinit(&columns);
	return NULL;
}

bool tab_set_columns(struct view *v, enum view_tab tab, const char *names)
{
	char *columns = valid_columns(v, names);

	if (!columns)
		return false;
	free(v->tabs[tab].columns);
	v->tabs[tab].columns = columns;
	return true;
}

int tab_init(struct view *v)
{
	for (int i = 0; i < TAB_COUNT; i++) {
		v->tabs[i].sort = strdup(tabs[i].sort);
		v->tabs[i].descending = true;
		if (!v->tabs[i].sort || !tab_set_columns(v, (enum view_tab)i, tabs[i].columns))
			return -ENOMEM;
	}
	return 0;
}

void tab_free(struct view *v)
{
	for (int i = 0; i < TAB_COUNT; i++) {
		free(v->tabs[i].columns);
		free(v->tabs[i].sort);
	}
}

void tab_store(struct view *v)
{
	struct view_tab_setup *tab = &v->tabs[v->tab];
	char *columns = column_names(v), *sort = strdup(column_sorted(v));

	if (!columns || !sort) {
		free(columns);
		free(sort);
		return;
	}
	free(tab->columns);
	free(tab->sort);
	tab->columns = columns;
	tab->sort = sort;
	tab->descending = v->list.descending;
}

/* Delays are shown as N/A while the kernel does not count them. */
static void explain_delays(struct view *v)
{
	if (!kl_machine_state(v->machine)->has_delays && !v->explained) {
		v->explained = true;
		view_say(v, "IOD%% and SWPD%% need sysctl kernel.task_delayacct=1 when a process "
			    "starts");
	}
}

void tab_show(struct view *v, enum view_tab tab)
{
	if (tab == v->tab)
		return;
	tab_store(v);
	v->tab = tab;
	v->list.left = 0;
	v->list.descending = v->tabs[tab].descending;
	v->error = column_set_all(v, v->tabs[tab].columns, v->tabs[tab].sort);
	if (!v->error && view_refresh_all(v) && tab == TAB_IO)
		explain_delays(v);
}

/* ------------------------------------------------------------------ drawing */

int tab_rows(void)
{
	return screen_rows() < 12 ? 0 : 1;
}

void tab_draw(const struct view *v, int y)
{
	struct view_line line;

	if (!tab_rows())
		return;
	line_begin(&line);
	for (int i = 0; i < TAB_COUNT; i++)
		line_printf(&line, i == (int)v->tab ? STYLE_HEAD : STYLE_CAPTION, " %s ",
			    tabs[i].title);
	line_draw(&line, y, 0, screen_columns(), 0, STYLE_PLAIN);
}

void tab_click(struct view *v, int x)
{
	int begin = 0;

	for (int i = 0; i < TAB_COUNT; i++) {
		int end = begin + text_width(tabs[i].title) + 2;

		if (x >= begin && x < end) {
			tab_show(v, (enum view_tab)i);
			return;
		}
		begin = end;
	}
}
