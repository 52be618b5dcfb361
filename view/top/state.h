/* SPDX-License-Identifier: GPL-2.0 */
/* What the view of a profile shows, shared by its keys and its drawing. */
#ifndef KL_VIEW_TOP_STATE_H
#define KL_VIEW_TOP_STATE_H

#include <stddef.h>

#include "../tui/screen.h"
#include "../tui/text.h"
#include "top.h"

enum top_page {
	PAGE_ROWS,
	PAGE_TREE,
	PAGE_HELP,
};

/**
 * struct top_state - state of the view
 * @key: what rows stand for
 * @row: rows, as of the last refresh
 * @n: number of rows
 * @samples: all samples then
 * @at: row that the bar is on
 * @first: first row on the screen
 * @left: number of cells scrolled out at the left
 * @selected: the row that the bar follows, once it has been moved; else empty
 * @zoom: samples that are looked at, if @zoomed
 * @zoom_text: in words
 * @before: what rows stood for before that
 * @function: root of the tree
 * @text: the lines of the tree or of the help
 */
struct top_state {
	const struct view_top *top;
	enum top_page page;
	enum kl_profile_key key[KL_PROFILE_KEYS_MAX];
	unsigned int n_keys;
	struct kl_profile_row *row;
	size_t n;
	uint64_t samples;
	size_t at;
	size_t first;
	int left;
	char selected[512];
	bool by_total;
	bool paused;
	bool zoomed;
	struct kl_profile_zoom zoom;
	char zoom_text[128];
	enum kl_profile_key before;
	enum kl_profile_direction direction;
	char function[512];
	struct view_text text;
	uint64_t refresh_at;
	bool over;
};

/* Number of lines for rows or text. */
int top_rows(void);

void top_draw(struct top_state *s);

/* Fill the help's text. */
void top_help(struct view_text *text);

#endif /* KL_VIEW_TOP_STATE_H */
