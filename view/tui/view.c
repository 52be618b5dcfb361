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
#define WHEEL_LINES 3

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

void view_return(struct view *v, int key)
{
	if (key == VIEW_KEY_ESCAPE || key == VIEW_KEY_F + 10 || key == 'q')
		view_enter(v, &list_screen);
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
	v->refresh_at = view_now() + v->interval_ns;
	if (!v->error)
		list_arrange(v);
	if (!v->error && v->screen && v->screen->tick)
		v->screen->tick(v);
	return !v->error;
}

bool view_refresh_all(struct view *v)
{
	struct timespec pause = { .tv_nsec = FIRST_LOOK_NS };

	if (!view_refresh(v))
		return false;
	nanosleep(&pause, NULL);
	return view_refresh(v);
}

/* --------------------------------------------------------------- last line */

/* The key with a name in the last line. */
static int find_key(const char *name)
{
	static const struct {
		const char *name;
		int key;
	} keys[] = {
		{ "Enter", VIEW_KEY_ENTER },
		{ "Esc", VIEW_KEY_ESCAPE },
		{ "Tab", VIEW_KEY_TAB },
		{ "Del", VIEW_KEY_DELETE },
		{ "Space", ' ' },
		{ "S-F3", VIEW_KEY_SHIFT_F + 3 },
		{ "Any other key", VIEW_KEY_ESCAPE },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(name, keys[i].name))
			return keys[i].key;
	if (*name == 'F' && name[1])
		return VIEW_KEY_F + atoi(name + 1);
	return name[1] ? VIEW_KEY_NONE : *name;
}

void view_add_keys(struct view *v, struct view_line *line, const char *const *keys, size_t n)
{
	struct view_bar *bar = &v->bar;

	for (size_t i = 0; i + 1 < n; i += 2) {
		int begin = line->n;

		line_text(line, STYLE_KEY, keys[i]);
		line_text(line, STYLE_LABEL, keys[i + 1]);
		if (bar->n == VIEW_KEYS_MAX)
			continue;
		bar->zone[bar->n].begin = begin;
		bar->zone[bar->n].end = line->n;
		bar->zone[bar->n++].key = find_key(keys[i]);
	}
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
	view_add_keys(v, &line, keys, n);
	line_to(&line, columns, STYLE_LABEL);
	line_draw(&line, screen_rows() - 1, 0, columns, 0, STYLE_PLAIN);
}

static int key_at(const struct view *v, int x)
{
	for (size_t i = 0; i < v->bar.n; i++)
		if (x >= v->bar.zone[i].begin && x < v->bar.zone[i].end)
			return v->bar.zone[i].key;
	return VIEW_KEY_NONE;
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

static void take_mouse(struct view *v)
{
	struct view_mouse mouse = screen_mouse();
	int key = mouse.kind == MOUSE_WHEEL_UP ? VIEW_KEY_UP : VIEW_KEY_DOWN;

	if (mouse.kind == MOUSE_CLICK && mouse.y == screen_rows() - 1) {
		/* A click on a message removes it. */
		v->message_until = 0;
		view_take_key(v, key_at(v, mouse.x));
	} else if (v->menu.n) {
		menu_mouse(v, &mouse);
	} else if ((!v->screen->mouse || !v->screen->mouse(v, &mouse)) &&
		   mouse.kind != MOUSE_CLICK) {
		for (int i = 0; i < WHEEL_LINES; i++)
			v->screen->key(v, key);
	}
}

void view_take_key(struct view *v, int key)
{
	if (key == VIEW_KEY_NONE || key == VIEW_KEY_RESIZED)
		return;
	if (key == VIEW_KEY_MOUSE)
		take_mouse(v);
	else if (key == KEY_CONTROL('l'))
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
		v->bar.n = 0;
		v->screen->draw(v);
		key = screen_key(wait_ms(v, look_at));
		/* Handle pending keys before drawing the screen again. */
		for (int i = 0; key != VIEW_KEY_NONE && i < 64 && !is_over(v); i++) {
			view_take_key(v, key);
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
	int ret;

	v->machine = kl_machine_create(v->device);
	if (!v->machine)
		return -ENOMEM;
	ret = tab_init(v);
	if (!ret)
		ret = saved_load(v);
	if (!ret)
		view_refresh_all(v);
	return ret ? ret : v->error;
}

static void end(struct view *v)
{
	follow_wait_all();
	menu_close(v);
	list_free(v);
	saved_free(v);
	tab_free(v);
	column_free_all(v);
	command_free_all();
	kl_machine_destroy(v->machine);
}

static int run(struct view *v)
{
	int ret = screen_open(v->options->color);

	if (ret)
		return ret;
	screen_use_mouse(v->mouse);
	view_enter(v, &list_screen);
	if (*v->list.filter)
		view_say(v, "Only commands with \"%s\" are shown; F4 and Esc show all",
			 v->list.filter);
	loop(v);
	screen_close();
	return v->error;
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
		.interval_ns = 1000000000,
		.mouse = true,
		.list = { .descending = true, .uid = options->uid, .path = true, .meters = true },
	};
	int ret = begin(&v), signal;

	if (!ret)
		ret = run(&v);
	signal = screen_signal();
	if (!ret)
		kl_error_clear();
	/* If a signal has ended the view, the setup stays as it was, as in htop. */
	if (!ret && v.over)
		saved_store(&v);
	end(&v);
	/* Ctrl-C only quits the view; the other signals must end the program. */
	if (signal && signal != SIGINT)
		raise(signal);
	return ret;
}
