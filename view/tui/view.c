// SPDX-License-Identifier: GPL-2.0
/*
 * The full-screen view of processes: its start and end, the loop that waits for keys and for the
 * next refresh, and what all screens share. Fed by the library's tables; started by `kernlens
 * proc`.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "follow.h"
#include "view.h"

#define MESSAGE_NS 4000000000u
/* Rates need two reads: the first list appears after this time. */
#define FIRST_LOOK_NS 100000000u

uint64_t view_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void view_enter(struct view *v, const struct view_screen *screen)
{
	if (v->screen && v->screen->leave)
		v->screen->leave(v);
	v->screen = screen;
	screen_redraw();
}

void view_say(struct view *v, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(v->message, sizeof(v->message), format, args);
	va_end(args);
	v->message_until = view_now() + MESSAGE_NS;
}

bool view_refresh(struct view *v)
{
	int ret = kl_processes_read(v->table, NULL, 0, v->list.threads ? KL_INSPECT_THREADS : 0);

	if (ret >= 0)
		ret = kl_machine_read(v->machine);
	if (ret < 0)
		v->error = ret;
	v->refresh_at = view_now() + v->options->interval_ns;
	if (!v->error)
		list_arrange(v);
	if (!v->error && v->screen && v->screen->tick)
		v->screen->tick(v);
	return !v->error;
}

void view_draw_keys(struct view *v, const char *const *keys, size_t n)
{
	int columns = screen_columns();
	struct view_line line;

	line_begin(&line);
	if (*v->message && view_now() < v->message_until) {
		line_text(&line, STYLE_FAILED, v->message);
		line_draw(&line, screen_rows() - 1, 0, columns, 0, STYLE_FAILED);
		return;
	}
	for (size_t i = 0; i + 1 < n; i += 2) {
		line_text(&line, STYLE_KEY, keys[i]);
		line_text(&line, STYLE_LABEL, keys[i + 1]);
	}
	line_to(&line, columns, STYLE_LABEL);
	line_draw(&line, screen_rows() - 1, 0, columns, 0, STYLE_PLAIN);
}

/* -------------------------------------------------------------------- loop */

/* Time until the next refresh or the screen's next `look`, whichever is first. */
static int wait_ms(const struct view *v, uint64_t look_at)
{
	uint64_t now = view_now(), next = v->list.paused ? now + 1000000000 : v->refresh_at;

	if (v->screen->often_ms && look_at < next)
		next = look_at;
	return next > now ? (int)((next - now + 999999) / 1000000) : 0;
}

static void take_key(struct view *v, int key)
{
	if (key == VIEW_KEY_NONE || key == VIEW_KEY_RESIZED)
		return;
	if (key == KEY_CONTROL('l'))
		screen_redraw();
	else if (v->menu.n)
		menu_key(v, key);
	else
		v->screen->key(v, key);
}

static bool is_over(const struct view *v)
{
	return v->over || v->error || screen_signal();
}

static void loop(struct view *v)
{
	uint64_t look_at = 0;

	while (!is_over(v)) {
		int key;

		screen_erase();
		v->screen->draw(v);
		key = screen_key(wait_ms(v, look_at));
		/* Handle pending keys before drawing the screen again. */
		for (int i = 0; key != VIEW_KEY_NONE && i < 64 && !is_over(v); i++) {
			take_key(v, key);
			key = screen_key(0);
		}
		if (is_over(v))
			break;
		if (v->screen->often_ms && view_now() >= look_at) {
			v->screen->look(v);
			look_at = view_now() + (uint64_t)v->screen->often_ms * 1000000;
		}
		if (!v->list.paused && view_now() >= v->refresh_at)
			view_refresh(v);
	}
	if (v->screen->leave)
		v->screen->leave(v);
}

/* --------------------------------------------------------- begin and end */

static int begin(struct view *v)
{
	struct timespec pause = { .tv_nsec = FIRST_LOOK_NS };
	int ret;

	v->machine = kl_machine_create(v->device);
	if (!v->machine)
		return -ENOMEM;
	ret = column_set_all(v, v->options->columns);
	if (ret)
		return ret;
	v->list.sort = v->need[NEED_CPU];
	if (!view_refresh(v))
		return v->error;
	nanosleep(&pause, NULL);
	view_refresh(v);
	return v->error;
}

static void end(struct view *v)
{
	follow_wait_all();
	menu_close(v);
	list_free(v);
	column_free_all(v);
	command_free_all();
	kl_machine_destroy(v->machine);
}

bool view_is_possible(const char **why)
{
	return screen_is_possible(why);
}

int view_processes(struct kl_device *device, const struct view_options *options)
{
	struct view v = {
		.device = device,
		.options = options,
		.list = { .descending = true, .threads = options->threads, .uid = options->uid },
	};
	int ret = begin(&v), signal = 0;

	if (!ret)
		ret = screen_open(options->color);
	if (!ret) {
		view_enter(&v, &list_screen);
		loop(&v);
		signal = screen_signal();
		screen_close();
		ret = v.error;
	}
	end(&v);
	/* Ctrl-C only quits the view; the other signals must end the program. */
	if (signal && signal != SIGINT)
		raise(signal);
	return ret;
}
