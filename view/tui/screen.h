/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The terminal: lines of text in styles, keys, and its state before and after. The only
 * part of the view that knows ncurses.
 */
#ifndef KL_VIEW_SCREEN_H
#define KL_VIEW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* What a text is; terminal.c says how that looks. */
enum view_style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_SHADOW, /* what matters less */
	STYLE_HEAD,
	STYLE_HEAD_SORTED,
	STYLE_SELECTED,
	STYLE_TAGGED,
	STYLE_KEY, /* of the bar of functions */
	STYLE_LABEL,
	STYLE_FAILED,
	STYLE_CAPTION, /* of a meter */
	STYLE_VALUE,
	STYLE_EDGE, /* of a bar */
	STYLE_USER,
	STYLE_NICE,
	STYLE_SYSTEM,
	STYLE_IRQ,
	STYLE_SOFTIRQ,
	STYLE_STEAL,
	STYLE_IOWAIT,
	STYLE_ANON,
	STYLE_KERNEL_MEMORY,
	STYLE_FILE,
	STYLE_SWAP,
	STYLE_COMMAND,
	STYLE_THREAD,
	STYLE_TREE,
	STYLE_MEGABYTES,
	STYLE_GIGABYTES,
	STYLE_HIGH, /* better than usual: negative nice */
	STYLE_LOW,
	STYLE_RUNNING,
	STYLE_BLOCKED,
	STYLE_COUNT,
};

enum {
	LINE_MAX_CELLS = 1024
};

/**
 * struct view_line - a line that is being put together, of any length up to the most
 * @cell: a character a cell; 0 behind one that is two cells wide
 * @style: enum view_style of each
 * @n: cells
 */
struct view_line {
	wchar_t cell[LINE_MAX_CELLS];
	uint8_t style[LINE_MAX_CELLS];
	int n;
};

static inline void line_begin(struct view_line *line)
{
	line->n = 0;
}

/*
 * Text behind what is there. Of whatever bytes: what the locale cannot print becomes
 * a question mark. At most @length bytes.
 */
void line_bytes(struct view_line *line, enum view_style style, const void *bytes, size_t length);
void line_text(struct view_line *line, enum view_style style, const char *text);
void line_printf(struct view_line *line, enum view_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Blanks up to a cell. */
void line_to(struct view_line *line, int cell, enum view_style style);

/* Text at the right of a field of so many cells; a longer one is not cut. */
void line_right(struct view_line *line, int width, enum view_style style, const char *text);

/* Cells that a text takes. */
int text_width(const char *text);

/*
 * Cells @from to @from + @width of a line to the screen; shorter ones are filled. @over:
 * the style of all of it, STYLE_PLAIN: each its own.
 */
void line_draw(const struct view_line *line, int y, int x, int width, int from,
	       enum view_style over);

/* Does the terminal show lines beyond ASCII? */
bool screen_is_unicode(void);

/* Returns 0, or a negative errno; the terminal is then as before. */
int screen_open(bool color);
void screen_close(void);

int screen_rows(void);
int screen_columns(void);
void screen_erase(void);
/* All of it anew, whatever the terminal shows. */
void screen_redraw(void);
/* The cursor stands there, -1: it is not seen; and what was drawn is shown. */
void screen_show(int y, int x);

/* Control keys as letters come. */
#define KEY_CONTROL(letter) ((letter) % 32)

enum {
	VIEW_KEY_NONE = -1,
	VIEW_KEY_RESIZED = -2,
	VIEW_KEY_ESCAPE = 27,
	VIEW_KEY_TAB = '\t',
	VIEW_KEY_ENTER = '\n',
	VIEW_KEY_BACKSPACE = 127,
	/* Beyond all characters. */
	VIEW_KEY_F = 0x200000, /* + 1 .. 12 */
	VIEW_KEY_SHIFT_F = 0x200020,
	VIEW_KEY_UP = 0x200040,
	VIEW_KEY_DOWN,
	VIEW_KEY_LEFT,
	VIEW_KEY_RIGHT,
	VIEW_KEY_HOME,
	VIEW_KEY_END,
	VIEW_KEY_PAGE_UP,
	VIEW_KEY_PAGE_DOWN,
	VIEW_KEY_DELETE,
	VIEW_KEY_BACK_TAB,
};

/* The next key within a time, in ms. */
int screen_key(int timeout_ms);

/* A signal that asks to leave has come: its number, else 0. */
int screen_signal(void);

#endif /* KL_VIEW_SCREEN_H */
