// SPDX-License-Identifier: GPL-2.0
/*
 * The events of one process as they happen, the newest at the bottom: read from a session of its
 * own (follow.h), from when the screen is entered until it is left.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "view.h"

#define LINES_MAX 20000
#define LOOK_MS 100
/* A longer pass would delay keys; the rest is read in the next one. */
#define READING_NS 50000000u

/**
 * struct events - state of the screen
 * @follow: the session; NULL: none, for the reason @why
 * @strace: not NULL: print only system calls, like strace
 * @begin_ns: time of the first event; times are relative to it
 * @following: keep the newest event at the bottom
 * @stopped: do not read new events
 */
struct events {
	int32_t pid;
	char comm[VIEW_CELL_MAX];
	struct follow *follow;
	struct kl_strace *strace;
	struct kl_buffer buffer;
	struct view_text text;
	uint64_t begin_ns, seen;
	bool following, stopped;
	char why[160];
};

/* ------------------------------------------------------------------ reading */

static void take_lines(struct events *e)
{
	const struct kl_buffer *b = &e->buffer;

	for (size_t at = 0; at < b->length;) {
		const char *end = memchr(b->data + at, '\n', b->length - at);

		/* Take only complete lines. */
		if (!end)
			break;
		text_add(&e->text, b->data + at, (size_t)(end - b->data) - at, LINES_MAX);
		at = (size_t)(end - b->data) + 1;
	}
	kl_buffer_reset(&e->buffer);
}

static void take_item(struct events *e, const struct kl_item *item)
{
	struct kl_item from_first = *item;
	struct kl_event event;

	if (item->kind == KL_ITEM_EVENT) {
		event = *item->event;
		if (!e->begin_ns)
			e->begin_ns = event.ns;
		event.since_ns = event.ns - e->begin_ns;
		from_first.event = &event;
		e->seen++;
	}
	if (e->strace)
		kl_strace_add(e->strace, &e->buffer, &from_first);
	else
		kl_print_item(&e->buffer, KL_STYLE_TEXT, KL_SHOW_RELATIVE, &from_first);
	take_lines(e);
}

/* Take what has happened until now, or as much of it as there is time for. */
static int take_items(struct view *v, struct events *e)
{
	uint64_t until = view_now() + READING_NS;
	struct kl_abi_time time;
	struct kl_item item;
	int got = kl_device_time(v->device, &time);

	while (!got) {
		got = kl_live_next(follow_live(e->follow), time.cycles, &item);
		if (got <= 0)
			return got;
		take_item(e, &item);
		got = 0;
		if (view_now() >= until)
			break;
	}
	return got;
}

static void give_up(struct events *e, const char *why)
{
	snprintf(e->why, sizeof(e->why), "%s", why);
	if (e->follow)
		follow_end(e->follow);
	e->follow = NULL;
}

static void look(struct view *v)
{
	struct events *e = v->data;
	enum follow_state state = e->follow ? follow_state(e->follow) : FOLLOW_STARTING;

	if (state == FOLLOW_FAILED)
		give_up(e, follow_why(e->follow));
	else if (state == FOLLOW_READY && !e->stopped && take_items(v, e) < 0)
		give_up(e, kl_error_text());
}

/* ------------------------------------------------------------------- screen */

static int rows(void)
{
	return screen_rows() - 2;
}

static const char *state_text(const struct events *e)
{
	if (!e->follow)
		return ", ended";
	if (follow_state(e->follow) == FOLLOW_STARTING)
		return ", starting ...";
	return e->stopped ? ", paused" : "";
}

static void draw(struct view *v)
{
	struct events *e = v->data;
	const char *const keys[] = {
		"Esc", "List  ",
		"F",   e->following ? "Stay  " : "Follow",
		"Z",   e->stopped ? "Resume " : "Pause  ",
		"C",   "Clear ",
	};
	struct view_line line;

	line_begin(&line);
	/* The counts come first: the command may be wider than the screen. */
	line_printf(&line, STYLE_HEAD, "%s of %d: %llu%s  ", e->strace ? "System calls" : "Events",
		    e->pid, (unsigned long long)e->seen, state_text(e));
	line_text(&line, STYLE_HEAD, e->comm);
	line_to(&line, screen_columns(), STYLE_HEAD);
	line_draw(&line, 0, 0, screen_columns(), 0, STYLE_PLAIN);
	if (e->following)
		e->text.top = e->text.n;
	text_draw(&e->text, 1, rows());
	if (!e->follow) {
		line_begin(&line);
		line_text(&line, STYLE_BLOCKED, e->why);
		line_draw(&line, screen_rows() - 2, 0, screen_columns(), 0, STYLE_PLAIN);
	}
	view_draw_keys(v, keys, sizeof(keys) / sizeof(*keys));
	screen_show(-1, 0);
}

static void key(struct view *v, int key)
{
	struct events *e = v->data;

	if (text_key(&e->text, key, rows())) {
		/* Scrolling back to the end resumes following. */
		e->following = rows() > 0 && e->text.top + (size_t)rows() >= e->text.n;
		return;
	}
	switch (key) {
	case 'F':
	case 'f':
		e->following = !e->following;
		break;
	case 'Z':
	case 'z':
		e->stopped = !e->stopped;
		break;
	case 'C':
		text_clear(&e->text);
		break;
	default:
		view_return(v, key);
	}
}

static void free_events(struct events *e)
{
	if (e->follow)
		follow_end(e->follow);
	kl_strace_destroy(e->strace);
	kl_buffer_deinit(&e->buffer);
	text_clear(&e->text);
	free(e);
}

static void leave(struct view *v)
{
	free_events(v->data);
	v->data = NULL;
}

static const struct view_screen screen = {
	.draw = draw,
	.key = key,
	.often_ms = LOOK_MS,
	.look = look,
	.leave = leave,
};

void events_enter(struct view *v, int32_t pid, const char *comm, bool as_strace)
{
	struct events *e = calloc(1, sizeof(*e));

	if (!e)
		return;
	e->pid = pid;
	e->following = true;
	snprintf(e->comm, sizeof(e->comm), "%s", comm);
	if (as_strace)
		e->strace = kl_strace_create(KL_STRACE_TIMES | KL_STRACE_RELATIVE);
	if (!as_strace || e->strace)
		e->follow = follow_begin(v->device, pid, as_strace);
	if (!e->follow) {
		view_say(v, "Cannot follow process %d: out of memory", pid);
		free_events(e);
		return;
	}
	view_enter(v, &screen);
	v->data = e;
}
