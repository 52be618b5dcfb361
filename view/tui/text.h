/* SPDX-License-Identifier: GPL-2.0 */
/* Scrollable lines of text. */
#ifndef KL_VIEW_TEXT_H
#define KL_VIEW_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct view_text - lines of text and a scroll position
 */
struct view_text {
	char **line;
	size_t n, room;
	size_t first; /* index of the oldest line in the ring */
	size_t top;
	int left;
};

void text_add(struct view_text *text, const char *bytes, size_t length, size_t most);
/* Append each line of a text. */
void text_add_lines(struct view_text *text, const char *bytes, size_t length, size_t most);
void text_clear(struct view_text *text);
bool text_key(struct view_text *text, int key, int rows);
/* Limit the scroll position to @n lines, of which @rows are visible. */
void text_clamp(struct view_text *text, size_t n, size_t rows);
void text_draw(struct view_text *text, int y, int rows);

#endif /* KL_VIEW_TEXT_H */
