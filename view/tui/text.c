// SPDX-License-Identifier: GPL-2.0
/* Scrollable lines of text, in a ring that drops the oldest. */
#include <stdlib.h>
#include <string.h>

#include "screen.h"
#include "text.h"

static const char *line_at(const struct view_text *text, size_t index)
{
	return text->line[(text->first + index) % text->room];
}

/* Only while the ring has not wrapped: no line has been dropped. */
static bool grow(struct view_text *text, size_t most)
{
	size_t room = text->room ? 2 * text->room : 64;
	char **line;

	if (room > most)
		room = most;
	line = reallocarray(text->line, room, sizeof(*line));
	if (!line)
		return false;
	text->line = line;
	text->room = room;
	return true;
}

void text_add(struct view_text *text, const char *bytes, size_t length, size_t most)
{
	char *copy = strndup(bytes, length);

	if (!copy || (text->n == text->room && text->room < most && !grow(text, most))) {
		free(copy);
		return;
	}
	if (text->n < text->room) {
		text->line[text->n++] = copy;
		return;
	}
	free(text->line[text->first]);
	text->line[text->first] = copy;
	text->first = (text->first + 1) % text->room;
	/* Keep what is visible in place if the user has scrolled back. */
	text->top -= text->top > 0;
}

void text_add_lines(struct view_text *text, const char *bytes, size_t length, size_t most)
{
	for (size_t at = 0; at < length;) {
		const char *end = memchr(bytes + at, '\n', length - at);
		size_t n = end ? (size_t)(end - bytes) - at : length - at;

		text_add(text, bytes + at, n, most);
		at += n + 1;
	}
}

void text_clear(struct view_text *text)
{
	for (size_t i = 0; i < text->n; i++)
		free(text->line[i]);
	free(text->line);
	*text = (struct view_text){ .top = text->top, .left = text->left };
}

bool text_key(struct view_text *text, int key, int rows)
{
	size_t page = rows > 1 ? (size_t)rows - 1 : 1;

	switch (key) {
	case VIEW_KEY_UP:
		text->top -= text->top > 0;
		return true;
	case VIEW_KEY_DOWN:
		text->top++;
		return true;
	case VIEW_KEY_PAGE_UP:
		text->top = text->top > page ? text->top - page : 0;
		return true;
	case VIEW_KEY_PAGE_DOWN:
		text->top += page;
		return true;
	case VIEW_KEY_HOME:
		text->top = 0;
		return true;
	case VIEW_KEY_END:
		text->top = SIZE_MAX / 2;
		return true;
	case VIEW_KEY_LEFT:
		text->left = text->left > 8 ? text->left - 8 : 0;
		return true;
	case VIEW_KEY_RIGHT:
		text->left += text->left < LINE_MAX_CELLS - 80 ? 8 : 0;
		return true;
	default:
		return false;
	}
}

/* Tabs expand to the next multiple of eight cells. */
static void add_text(struct view_line *line, const char *at)
{
	for (;;) {
		size_t length = strcspn(at, "\t");

		line_bytes(line, STYLE_PLAIN, at, length);
		if (!at[length])
			return;
		line_to(line, (line->n / 8 + 1) * 8, STYLE_PLAIN);
		at += length + 1;
	}
}

void text_clamp(struct view_text *text, size_t n, size_t rows)
{
	if (text->top + rows > n)
		text->top = n > rows ? n - rows : 0;
}

void text_draw(struct view_text *text, int y, int rows)
{
	size_t page = rows > 0 ? (size_t)rows : 0;
	struct view_line line;

	text_clamp(text, text->n, page);
	for (size_t i = 0; i < page && text->top + i < text->n; i++) {
		line_begin(&line);
		add_text(&line, line_at(text, text->top + i));
		line_draw(&line, y + (int)i, 0, screen_columns(), text->left, STYLE_PLAIN);
	}
}
