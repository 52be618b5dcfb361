// SPDX-License-Identifier: GPL-2.0
/* The view of a profile that goes on: its keys, and its loop. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "state.h"

/* How often samples are taken, and keys looked at. */
#define WAIT_MS 100

#define TREE_LINES_MAX 100000

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct kl_profile *profile_of(const struct top_state *s)
{
	return s->top->profile(s->top->context);
}

/* ---------------------------------------------------------------------- rows */

/* What a row is recognized by in the next refresh, when it is another one. */
static void label(const struct top_state *s, const struct kl_profile_row *row, char *text,
		  size_t size)
{
	size_t at = (size_t)snprintf(text, size, "%d %d", row->pid, row->tid);

	for (unsigned int i = 0; i < s->n_keys && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, " %s", row->key[i]);
}

static int by_total(const void *a, const void *b)
{
	const struct kl_profile_row *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->self == y->self ? strcmp(x->key[0], y->key[0]) : x->self < y->self ? 1 : -1;
}

static void find_selected(struct top_state *s)
{
	char text[sizeof(s->selected)];

	for (size_t i = 0; *s->selected && i < s->n; i++) {
		label(s, &s->row[i], text, sizeof(text));
		if (!strcmp(text, s->selected)) {
			s->at = i;
			return;
		}
	}
	if (s->at >= s->n)
		s->at = s->n ? s->n - 1 : 0;
}

static void make_tree(struct top_state *s)
{
	struct kl_buffer lines = { 0 };

	s->top->tree(s->top->context, s->direction, s->function, &lines);
	text_clear(&s->text);
	text_add_lines(&s->text, lines.data, lines.length, TREE_LINES_MAX);
	kl_buffer_deinit(&lines);
}

/* Take what is shown from the profile as it is now. */
static void arrange(struct top_state *s)
{
	kl_profile_zoom(profile_of(s), s->zoomed ? &s->zoom : NULL);
	free(s->row);
	s->row = kl_profile_rows(profile_of(s), s->key, s->n_keys, &s->n);
	if (!s->row)
		s->n = 0;
	s->samples = kl_profile_counts(profile_of(s))->samples;
	if (s->by_total && s->n)
		qsort(s->row, s->n, sizeof(*s->row), by_total);
	find_selected(s);
	if (s->page == PAGE_TREE)
		make_tree(s);
}

/* ---------------------------------------------------------------------- keys */

static void show_page(struct top_state *s, enum top_page page)
{
	s->page = page;
	text_clear(&s->text);
	s->text.top = 0;
	s->text.left = 0;
	if (page == PAGE_HELP)
		top_help(&s->text);
	else if (page == PAGE_TREE)
		make_tree(s);
}

static void show_by(struct top_state *s, enum kl_profile_key key)
{
	s->key[0] = key;
	s->n_keys = 1;
	s->at = 0;
	s->first = 0;
	*s->selected = 0;
	arrange(s);
}

/* Look at the samples of the row's process, thread, CPU or cgroup only, by function. */
static void zoom_in(struct top_state *s, const struct kl_profile_row *row)
{
	static const char *const words[KL_PROFILE_KEY_COUNT] = {
		[KL_PROFILE_PROCESS] = "process",
		[KL_PROFILE_THREAD] = "thread",
		[KL_PROFILE_CPU] = "CPU",
		[KL_PROFILE_CGROUP] = "cgroup",
	};
	enum kl_profile_key key = s->key[0];
	char number[16] = "";

	if (key == KL_PROFILE_PROCESS || key == KL_PROFILE_THREAD)
		snprintf(number, sizeof(number), "%d ",
			 key == KL_PROFILE_THREAD ? row->tid : row->pid);
	snprintf(s->zoom_text, sizeof(s->zoom_text), "%s %s%s", words[key], number, row->key[0]);
	s->zoom = (struct kl_profile_zoom){ .key = key, .row = *row };
	s->zoomed = true;
	s->before = key;
	show_by(s, KL_PROFILE_FUNCTION);
}

static void open_row(struct top_state *s)
{
	const struct kl_profile_row *row = s->n ? &s->row[s->at] : NULL;

	if (!row)
		return;
	if (row->function.name) {
		snprintf(s->function, sizeof(s->function), "%s", row->function.name);
		s->direction = KL_PROFILE_CALLERS;
		show_page(s, PAGE_TREE);
	} else if (!kl_profile_key_is_frame(s->key[0])) {
		zoom_in(s, row);
	}
}

static void go_back(struct top_state *s)
{
	if (s->page != PAGE_ROWS) {
		show_page(s, PAGE_ROWS);
	} else if (s->zoomed) {
		s->zoomed = false;
		show_by(s, s->before);
	}
}

/* Moves the bar. Returns false if it is another key. */
static bool move(struct top_state *s, int key)
{
	size_t page = top_rows() > 1 ? (size_t)top_rows() - 1 : 1;
	size_t last = s->n ? s->n - 1 : 0;

	switch (key) {
	case VIEW_KEY_UP:
		s->at -= s->at > 0;
		break;
	case VIEW_KEY_DOWN:
		s->at += s->at < last;
		break;
	case VIEW_KEY_PAGE_UP:
		s->at = s->at > page ? s->at - page : 0;
		break;
	case VIEW_KEY_PAGE_DOWN:
		s->at = s->at + page < last ? s->at + page : last;
		break;
	case VIEW_KEY_HOME:
		s->at = 0;
		break;
	case VIEW_KEY_END:
		s->at = last;
		break;
	case VIEW_KEY_LEFT:
		s->left = s->left > 8 ? s->left - 8 : 0;
		return true;
	case VIEW_KEY_RIGHT:
		s->left += s->left < LINE_MAX_CELLS - 80 ? 8 : 0;
		return true;
	default:
		return false;
	}
	*s->selected = 0;
	if (s->at && s->at < s->n)
		label(s, &s->row[s->at], s->selected, sizeof(s->selected));
	return true;
}

/* Keys for rows. Returns false if it is another one. */
static bool rows_key(struct top_state *s, int key)
{
	static const struct {
		int key;
		enum kl_profile_key by;
	} ways[] = { { 'f', KL_PROFILE_FUNCTION }, { 'o', KL_PROFILE_OBJECT },
		     { 'l', KL_PROFILE_LINE },	   { 'p', KL_PROFILE_PROCESS },
		     { 't', KL_PROFILE_THREAD },   { 'c', KL_PROFILE_CPU },
		     { 'g', KL_PROFILE_CGROUP } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (key == ways[i].key) {
			show_by(s, ways[i].by);
			return true;
		}
	if (key == VIEW_KEY_ENTER) {
		open_row(s);
	} else if (key == 's') {
		s->by_total = !s->by_total;
		arrange(s);
	} else {
		return move(s, key);
	}
	return true;
}

/* Show the samples so far, and begin the next slice. */
static int refresh(struct top_state *s, bool all)
{
	const struct kl_profile *before = profile_of(s);
	int status;

	if (!all)
		arrange(s);
	status = s->top->next(s->top->context, all);
	/* Rows belong to the profile, which may be another one now. */
	if (!status && (all || profile_of(s) != before))
		arrange(s);
	s->refresh_at = now_ns() + s->top->interval_ns;
	return status;
}

static int take_key(struct top_state *s, int key)
{
	if (key == 'q' || key == VIEW_KEY_F + 10) {
		s->over = true;
	} else if (key == VIEW_KEY_ESCAPE || key == VIEW_KEY_BACKSPACE) {
		go_back(s);
	} else if (key == 'h' || key == '?' || key == VIEW_KEY_F + 1) {
		show_page(s, PAGE_HELP);
	} else if (key == ' ') {
		s->paused = !s->paused;
		/* What came meanwhile has been dropped. */
		return s->paused ? 0 : refresh(s, true);
	} else if (key == 'z') {
		return refresh(s, true);
	} else if (s->page == PAGE_ROWS) {
		rows_key(s, key);
	} else if (s->page == PAGE_TREE && key == VIEW_KEY_TAB) {
		s->direction = s->direction == KL_PROFILE_CALLERS ? KL_PROFILE_CALLEES :
								    KL_PROFILE_CALLERS;
		show_page(s, PAGE_TREE);
	} else {
		text_key(&s->text, key, top_rows());
	}
	return 0;
}

/* ---------------------------------------------------------------------- loop */

static int loop(struct top_state *s)
{
	int status = 0, key;

	while (!status && !s->over && !screen_signal()) {
		top_draw(s);
		status = s->top->read(s->top->context, WAIT_MS, s->paused, &s->over);
		while (!status && (key = screen_key(0)) != VIEW_KEY_NONE)
			status = take_key(s, key);
		if (!status && !s->paused && now_ns() >= s->refresh_at)
			status = refresh(s, false);
	}
	return status;
}

bool view_top_is_possible(const char **why)
{
	return screen_is_possible(why);
}

int view_profile(const struct view_top *top)
{
	struct top_state s = { .top = top, .n_keys = top->n_keys };
	int status = screen_open(top->color), signal;

	if (status)
		return status;
	memcpy(s.key, top->key, sizeof(s.key));
	s.refresh_at = now_ns() + top->interval_ns;
	arrange(&s);
	status = loop(&s);
	screen_close();
	free(s.row);
	text_clear(&s.text);
	signal = screen_signal();
	if (signal)
		raise(signal);
	return status;
}
