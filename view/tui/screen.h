/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The terminal: styled lines of text, keys, and saving and restoring its state. The only part of
 * the view that uses ncurses.
 */
#ifndef KL_VIEW_SCREEN_H
#define KL_VIEW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* The role of a text; screen.c defines how it looks. */
enum view_style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_SHADOW, /* less important */
	STYLE_HEAD,
	STYLE_HEAD_SORTED,
	STYLE_SELECTED,
	STYLE_TAGGED,
	STYLE_KEY, /* of the line of function keys */
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
	STYLE_SHARED,
	STYLE_FILE,
	STYLE_SWAP,
	STYLE_COMMAND,
	STYLE_THREAD,
	STYLE_TREE,
	STYLE_MEGABYTES,
	STYLE_GIGABYTES,
	STYLE_HIGH, /* higher priority: negative nice value */
	STYLE_LOW,
	STYLE_RUNNING,
	STYLE_BLOCKED,
	STYLE_COUNT,
};

enum {
	LINE_MAX_CELLS = 1024
};

/**
 * struct view_line - a line being built, of at most LINE_MAX_CELLS cells
 * @cell: one character per cell; 0 after one that is two cells wide
 * @style: enum view_style of each cell
 * @n: number of cells
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
 * Append text. Any bytes are allowed: what the locale cannot print becomes a question mark.
 * line_bytes() appends at most @length bytes.
 */
void line_bytes(struct view_line *line, enum view_style style, const void *bytes, size_t length);
void line_text(struct view_line *line, enum view_style style, const char *text);
void line_printf(struct view_line *line, enum view_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Pad with blanks up to a cell. */
void line_to(struct view_line *line, int cell, enum view_style style);

/* Append text, right-aligned in @width cells; longer text is not truncated. */
void line_right(struct view_line *line, int width, enum view_style style, const char *text);

/* Number of cells that a text takes. */
int text_width(const char *text);

/*
 * Draw cells @from to @from + @width of a line, padded with blanks. @over: style of the whole line;
 * STYLE_PLAIN: each cell has its own.
 */
void line_draw(const struct view_line *line, int y, int x, int width, int from,
	       enum view_style over);

/* Can the terminal show characters beyond ASCII? */
bool screen_is_unicode(void);

/* Can this terminal be drawn on? If not, @why says why not. */
bool screen_is_possible(const char **why);

/* Returns 0, or a negative errno with the terminal unchanged. */
int screen_open(bool color);
void screen_close(void);

int screen_rows(void);
int screen_columns(void);
void screen_erase(void);
/* Redraw everything, whatever the terminal shows. */
void screen_redraw(void);
/* Show what was drawn, with the cursor at @y, @x; if @y is -1, hide the cursor. */
void screen_show(int y, int x);

/* A letter typed with Ctrl. */
#define KEY_CONTROL(letter) ((letter) % 32)

enum {
	VIEW_KEY_NONE = -1,
	VIEW_KEY_RESIZED = -2,
	VIEW_KEY_ESCAPE = 27,
	VIEW_KEY_TAB = '\t',
	VIEW_KEY_ENTER = '\n',
	VIEW_KEY_BACKSPACE = 127,
	/* Above all characters. */
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
	VIEW_KEY_MOUSE, /* screen_mouse() says what and where */
};

enum view_mouse_kind {
	MOUSE_CLICK, /* of the left button */
	MOUSE_WHEEL_UP,
	MOUSE_WHEEL_DOWN,
};

struct view_mouse {
	enum view_mouse_kind kind;
	int y, x;
};

/* Wait for a key, at most @timeout_ms. Returns VIEW_KEY_NONE if there is none. */
int screen_key(int timeout_ms);

/* What VIEW_KEY_MOUSE was about. */
struct view_mouse screen_mouse(void);

/*
 * Let the terminal report clicks and the wheel, or leave them to its own selection. Does nothing on
 * terminals without a mouse.
 */
void screen_use_mouse(bool on);

/* Number of the signal that has requested the end, or 0. */
int screen_signal(void);

#endif /* KL_VIEW_SCREEN_H */
