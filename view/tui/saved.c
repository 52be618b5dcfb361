// SPDX-License-Identifier: GPL-2.0
/*
 * The setup that is saved when the user quits: a file of lines NAME=VALUE in the user's
 * configuration directory. Each value is checked by itself, and what is not valid keeps its
 * default: the file may be of another version, or anything. What the command line requests is not
 * saved, unless the user has changed it since.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

#define FILE_NAME "proc"
#define FILE_BYTES_MAX 65536
#define INTERVAL_MIN_NS 100000000u
#define INTERVAL_MAX_NS 3600000000000u

enum field {
	FIELD_INTERVAL,
	FIELD_TAB,
	FIELD_TREE,
	FIELD_THREADS,
	FIELD_KERNEL,
	FIELD_PATH,
	FIELD_METERS,
	FIELD_MOUSE,
	FIELD_FILTER,
	FIELD_COLUMNS, /* of the first tab, and so on */
	FIELD_SORT = FIELD_COLUMNS + TAB_COUNT,
	FIELD_COUNT = FIELD_SORT + TAB_COUNT,
};

static const char *const names[] = {
	[FIELD_INTERVAL] = "interval",
	[FIELD_TAB] = "tab",
	[FIELD_TREE] = "tree",
	[FIELD_THREADS] = "threads",
	[FIELD_KERNEL] = "kernel_threads",
	[FIELD_PATH] = "program_path",
	[FIELD_METERS] = "meters",
	[FIELD_MOUSE] = "mouse",
	[FIELD_FILTER] = "filter",
};

/**
 * struct view_saved - values of all fields as texts
 * @file: from the file, or the defaults
 * @start: with what the command line requested
 */
struct view_saved {
	char *file[FIELD_COUNT];
	char *start[FIELD_COUNT];
};

static void free_fields(char *fields[FIELD_COUNT])
{
	for (int i = 0; i < FIELD_COUNT; i++)
		free(fields[i]);
}

void saved_free(struct view *v)
{
	if (!v->saved)
		return;
	free_fields(v->saved->file);
	free_fields(v->saved->start);
	free(v->saved);
	v->saved = NULL;
}

static bool *switch_of(struct view *v, int field)
{
	switch (field) {
	case FIELD_TREE:
		return &v->list.tree;
	case FIELD_THREADS:
		return &v->list.threads;
	case FIELD_KERNEL:
		return &v->list.kernel;
	case FIELD_PATH:
		return &v->list.path;
	case FIELD_METERS:
		return &v->list.meters;
	case FIELD_MOUSE:
		return &v->mouse;
	default:
		return NULL;
	}
}

/* --------------------------------------------------------- fields as texts */

static void print_name(struct kl_buffer *to, int field)
{
	if (field >= FIELD_SORT)
		kl_buffer_printf(to, "%s.sort", tab_name((enum view_tab)(field - FIELD_SORT)));
	else if (field >= FIELD_COLUMNS)
		kl_buffer_printf(to, "%s.columns",
				 tab_name((enum view_tab)(field - FIELD_COLUMNS)));
	else
		kl_buffer_add_string(to, names[field]);
}

static void print_field(struct view *v, struct kl_buffer *to, int field)
{
	const bool *on = switch_of(v, field);
	const struct view_tab_setup *tab;

	if (on) {
		kl_buffer_add_string(to, *on ? "yes" : "no");
	} else if (field >= FIELD_SORT) {
		tab = &v->tabs[field - FIELD_SORT];
		kl_buffer_printf(to, "%s%s", tab->descending ? "-" : "", tab->sort);
	} else if (field >= FIELD_COLUMNS) {
		kl_buffer_add_string(to, v->tabs[field - FIELD_COLUMNS].columns);
	} else if (field == FIELD_INTERVAL) {
		kl_buffer_printf(to, "%.1f", (double)v->interval_ns / 1e9);
	} else if (field == FIELD_TAB) {
		kl_buffer_add_string(to, tab_name(v->tab));
	} else {
		kl_buffer_add_string(to, v->list.filter);
	}
}

static int print_fields(struct view *v, char *fields[FIELD_COUNT])
{
	for (int i = 0; i < FIELD_COUNT; i++) {
		struct kl_buffer text = { 0 };

		print_field(v, &text, i);
		free(fields[i]);
		fields[i] = text.error ? NULL : strndup(text.data ? text.data : "", text.length);
		kl_buffer_deinit(&text);
		if (!fields[i])
			return -ENOMEM;
	}
	return 0;
}

/* ----------------------------------------------------------------- reading */

static bool set_sort(struct view *v, struct view_tab_setup *tab, const char *value)
{
	bool descending = *value == '-';
	char *sort;

	value += descending;
	sort = column_is_valid(v, value) ? strdup(value) : NULL;
	if (!sort)
		return false;
	free(tab->sort);
	tab->sort = sort;
	tab->descending = descending;
	return true;
}

static bool set_interval(struct view *v, const char *value)
{
	char *end;
	double ns = strtod(value, &end) * 1e9;

	if (*end || !(ns >= INTERVAL_MIN_NS && ns <= INTERVAL_MAX_NS))
		return false;
	v->interval_ns = (uint64_t)ns;
	return true;
}

static bool set_tab(struct view *v, const char *value)
{
	for (int i = 0; i < TAB_COUNT; i++)
		if (!strcmp(value, tab_name((enum view_tab)i))) {
			v->tab = (enum view_tab)i;
			return true;
		}
	return false;
}

static bool set_filter(struct view *v, const char *value)
{
	if (strlen(value) >= VIEW_PROMPT_MAX)
		return false;
	for (const char *at = value; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 127)
			return false;
	strcpy(v->list.filter, value);
	return true;
}

/* Returns false if the value is not valid. */
static bool set_field(struct view *v, int field, const char *value)
{
	bool *on = switch_of(v, field);

	if (on) {
		*on = !strcmp(value, "yes");
		return *on || !strcmp(value, "no");
	}
	if (field >= FIELD_SORT)
		return set_sort(v, &v->tabs[field - FIELD_SORT], value);
	if (field >= FIELD_COLUMNS)
		return tab_set_columns(v, (enum view_tab)(field - FIELD_COLUMNS), value);
	if (field == FIELD_INTERVAL)
		return set_interval(v, value);
	return field == FIELD_TAB ? set_tab(v, value) : set_filter(v, value);
}

/* Returns false if the line is not valid. Unknown names may come from a later version. */
static bool take_line(struct view *v, char *line)
{
	char *value = strchr(line, '=');
	bool valid = true;

	if (!*line || *line == '#')
		return true;
	if (!value)
		return false;
	*value++ = 0;
	for (int i = 0; i < FIELD_COUNT; i++) {
		struct kl_buffer name = { 0 };

		print_name(&name, i);
		if (name.data && strlen(line) == name.length &&
		    !memcmp(line, name.data, name.length))
			valid = set_field(v, i, value);
		kl_buffer_deinit(&name);
	}
	return valid;
}

static void read_file(struct view *v)
{
	struct kl_buffer text = { 0 };
	int ret = kl_config_read(FILE_NAME, FILE_BYTES_MAX, &text), number = 0;
	char *rest = ret || text.error ? NULL : text.data, *line;

	if (ret && ret != -ENOENT && ret != -ENOTDIR)
		view_say(v, "The saved setup is not used: %s", kl_error_text());
	if (rest && memchr(rest, 0, text.length)) {
		view_say(v, "The saved setup is not used: it is not a text");
		rest = NULL;
	}
	/* The buffer has a NUL behind its text. */
	while (rest && (line = strsep(&rest, "\n"))) {
		number++;
		if (!take_line(v, line))
			view_say(v, "Line %d of the saved setup is not valid", number);
	}
	kl_buffer_deinit(&text);
	kl_error_clear();
}

/* ---------------------------------------------------------- load and store */

/* What the command line requests takes precedence. */
static int take_options(struct view *v)
{
	const struct view_options *o = v->options;

	if (o->interval_ns)
		v->interval_ns = o->interval_ns;
	if (o->threads)
		v->list.threads = true;
	if (o->no_mouse)
		v->mouse = false;
	if (!o->columns)
		return 0;
	v->tab = TAB_MAIN;
	free(v->tabs[TAB_MAIN].columns);
	v->tabs[TAB_MAIN].columns = strdup(o->columns);
	return v->tabs[TAB_MAIN].columns ? 0 : -ENOMEM;
}

int saved_load(struct view *v)
{
	struct view_tab_setup *tab;
	int ret;

	v->saved = calloc(1, sizeof(*v->saved));
	if (!v->saved)
		return -ENOMEM;
	if (!v->options->no_setup)
		read_file(v);
	ret = print_fields(v, v->saved->file);
	if (!ret)
		ret = take_options(v);
	tab = &v->tabs[v->tab];
	if (!ret)
		ret = column_set_all(v, tab->columns, tab->sort);
	v->list.descending = tab->descending;
	/* The list has its columns from now on: write them as it does. */
	if (!ret)
		tab_store(v);
	return ret ? ret : print_fields(v, v->saved->start);
}

static void print_file(struct kl_buffer *to, char *const fields[FIELD_COUNT])
{
	kl_buffer_add_string(to, "# Setup of `kernlens proc`, written when it quits.\n");
	for (int i = 0; i < FIELD_COUNT; i++) {
		print_name(to, i);
		kl_buffer_printf(to, "=%s\n", fields[i]);
	}
}

/* A field that has not changed keeps its value of the file. Returns 0 or a negative errno. */
static int merge(struct view *v, char *now[FIELD_COUNT], bool *changed)
{
	for (int i = 0; i < FIELD_COUNT; i++) {
		if (strcmp(now[i], v->saved->start[i])) {
			*changed |= strcmp(now[i], v->saved->file[i]) != 0;
			continue;
		}
		free(now[i]);
		now[i] = strdup(v->saved->file[i]);
		if (!now[i])
			return -ENOMEM;
	}
	return 0;
}

void saved_store(struct view *v)
{
	char *now[FIELD_COUNT] = { 0 };
	struct kl_buffer text = { 0 };
	bool changed = false;

	if (v->options->no_setup)
		return;
	tab_store(v);
	if (!print_fields(v, now) && !merge(v, now, &changed) && changed) {
		print_file(&text, now);
		/* Without a home directory, there is no place for it. */
		if (!text.error && kl_config_write(FILE_NAME, text.data, text.length) == -ENOENT)
			kl_error_clear();
	}
	kl_buffer_deinit(&text);
	free_fields(now);
}
