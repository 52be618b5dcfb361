// SPDX-License-Identifier: GPL-2.0
/*
 * The events of one process as they happen: a session of its own in overwrite mode, read
 * by the library's live reader, the newest at the bottom. From the moment it is entered,
 * for as long as it is looked at; then the session is gone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

#define BLOCK_BYTES (64u << 10)
#define BLOCKS 16
#define LINES_MAX 20000
#define LOOK_MS 100
/* More in one look would keep the keys waiting; the rest comes with the next. */
#define ITEMS_AT_ONCE 20000

/**
 * struct events - of the screen
 * @strace: not NULL: only system calls, as strace prints them
 * @begin_ns: of the first event; times count from there
 * @following: the newest is at the bottom
 * @stopped: nothing new is read
 */
struct events {
	int32_t pid;
	char comm[VIEW_CELL_MAX];
	struct kl_schema *schema;
	struct kl_session *session;
	struct kl_reader *reader;
	struct kl_live *live;
	struct kl_strace *strace;
	struct kl_timebase timebase;
	struct kl_buffer buffer;
	struct view_text text;
	uint64_t begin_ns, seen;
	bool following, stopped;
	char why[160];
};

static void free_session(struct events *e)
{
	kl_live_destroy(e->live);
	kl_reader_destroy(e->reader);
	kl_session_close(e->session);
	kl_strace_destroy(e->strace);
	kl_schema_destroy(e->schema);
	e->live = NULL;
	e->reader = NULL;
	e->session = NULL;
	e->strace = NULL;
	e->schema = NULL;
}

/* Which events: RDEFAULT, or for strace's lines all system calls. */
static int choose_events(struct events *e)
{
	uint8_t map[KL_EV_MAX] = { 0 };

	if (!e->strace)
		return kl_session_use_maskset(e->session, KL_MASKSET_RDEFAULT);
	memset(map + KL_EV_SYSCALL_ENTRY, KL_HANDLER_log, KL_EV_MAX - KL_EV_SYSCALL_ENTRY);
	for (unsigned int id = KL_EV_SYSCALL_ENTRY; id < KL_EV_MAX; id++)
		if (!kl_schema_class(e->schema, id))
			map[id] = KL_HANDLER_nothing;
	map[KL_EV_syscall_late_string] = KL_HANDLER_log;
	return kl_session_write_maskset(e->session, KL_MASKSET_FIRST_USER, "view", map) ?:
		       kl_session_use_maskset(e->session, KL_MASKSET_FIRST_USER);
}

static int make_session(struct view *v, struct events *e, bool as_strace)
{
	struct kl_abi_session config = {
		.mode = KL_MODE_OVERWRITE,
		.block_bytes = BLOCK_BYTES,
		.blocks = BLOCKS,
		.blocks_max = BLOCKS,
	};
	int ret;

	snprintf(config.name, sizeof(config.name), "proc %d", e->pid);
	e->schema = kl_schema_create();
	e->strace = as_strace ? kl_strace_create(KL_STRACE_TIMES | KL_STRACE_RELATIVE) : NULL;
	if (!e->schema || (as_strace && !e->strace))
		return -ENOMEM;
	e->session = kl_session_create(v->device, &config);
	if (!e->session)
		return -errno;
	ret = choose_events(e);
	if (!ret)
		ret = kl_session_filter(e->session, KL_FILTER_TASKS, 0);
	if (!ret)
		ret = kl_session_tasks(e->session, e->pid,
				       KL_TASK_ADD | KL_TASK_PROCESS | KL_TASK_INHERIT);
	return ret < 0 ? ret : 0;
}

static int start_reading(struct view *v, struct events *e)
{
	struct kl_abi_time time;
	int ret = kl_device_time(v->device, &time), fd;

	if (ret)
		return ret;
	kl_timebase_fit(&e->timebase, &time, NULL);
	fd = kl_session_reader(e->session, 0);
	if (fd < 0)
		return fd;
	e->reader =
		kl_reader_create(fd, kl_device_info(v->device)->cpus, BLOCK_BYTES, KL_BACKEND_MMAP);
	if (e->reader)
		e->live = kl_live_create(e->reader, e->schema, &e->timebase);
	return e->live ? kl_session_start(e->session) : -errno;
}

/* ------------------------------------------------------------------ reading */

static void take_lines(struct events *e)
{
	const struct kl_buffer *b = &e->buffer;

	for (size_t at = 0; at < b->length;) {
		const char *end = memchr(b->data + at, '\n', b->length - at);

		/* The rest of a line comes with the next look. */
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

static void look(struct view *v)
{
	struct events *e = v->data;
	struct kl_abi_time time;
	struct kl_item item;
	int got;

	if (!e->live || e->stopped)
		return;
	got = kl_device_time(v->device, &time);
	for (int i = 0; !got && i < ITEMS_AT_ONCE; i++) {
		got = kl_live_next(e->live, time.cycles, &item);
		if (got <= 0)
			break;
		take_item(e, &item);
		got = 0;
	}
	if (got < 0) {
		snprintf(e->why, sizeof(e->why), "%s", kl_error_text());
		free_session(e);
	}
}

/* ------------------------------------------------------------------- screen */

static int rows(void)
{
	return screen_rows() - 2;
}

static void draw(struct view *v)
{
	const struct events *e = v->data;
	const char *const keys[] = {
		"Esc", "List  ",
		"F",   e->following ? "Stay  " : "Follow",
		"Z",   e->stopped ? "Go on " : "Stop  ",
		"C",   "Clear ",
	};
	struct events *own = v->data;
	struct view_line line;

	line_begin(&line);
	line_printf(&line, STYLE_HEAD, "%s of %d ", e->strace ? "System calls" : "Events", e->pid);
	line_text(&line, STYLE_HEAD, e->comm);
	line_printf(&line, STYLE_HEAD, ": %llu%s", (unsigned long long)e->seen,
		    e->stopped ? ", stopped" : "");
	line_to(&line, screen_columns(), STYLE_HEAD);
	line_draw(&line, 0, 0, screen_columns(), 0, STYLE_PLAIN);
	if (e->following)
		own->text.top = e->text.n;
	text_draw(&own->text, 1, rows());
	if (!e->live) {
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
		/* Who comes back to the end follows again. */
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
	case VIEW_KEY_ESCAPE:
	case VIEW_KEY_F + 10:
	case 'q':
		view_enter(v, &list_screen);
		break;
	}
}

static void leave(struct view *v)
{
	struct events *e = v->data;

	free_session(e);
	kl_buffer_deinit(&e->buffer);
	text_clear(&e->text);
	free(e);
	v->data = NULL;
}

const struct view_screen events_screen = {
	.draw = draw,
	.key = key,
	.often_ms = LOOK_MS,
	.look = look,
	.leave = leave,
};

void events_enter(struct view *v, int32_t pid, const char *comm, bool as_strace)
{
	struct events *e = calloc(1, sizeof(*e));
	int ret;

	if (!e)
		return;
	e->pid = pid;
	e->following = true;
	snprintf(e->comm, sizeof(e->comm), "%s", comm);
	view_say(v, "Attaching to the events of %d ...", e->pid);
	v->screen->draw(v);
	ret = make_session(v, e, as_strace);
	if (!ret)
		ret = start_reading(v, e);
	*v->message = 0;
	if (ret) {
		const char *why = kl_error_text();

		view_say(v, "No events of %d: %s", e->pid, *why ? why : strerror(-ret));
		free_session(e);
		free(e);
		return;
	}
	view_enter(v, &events_screen);
	v->data = e;
}
