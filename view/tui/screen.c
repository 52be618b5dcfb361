// SPDX-License-Identifier: GPL-2.0
/*
 * The terminal, through ncurses. All parts of the view draw on it. It is restored however the
 * program ends: signals that request the end are only recorded, and fatal ones write the few bytes
 * prepared for this purpose.
 */
#include <errno.h>
#include <langinfo.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "screen.h"

/* As in htop; `mono` is used without colors. */
static const struct {
	short front, back;
	attr_t attributes, mono;
} looks[STYLE_COUNT] = {
	[STYLE_PLAIN] = { -1, -1, A_NORMAL, A_NORMAL },
	[STYLE_BOLD] = { -1, -1, A_BOLD, A_BOLD },
	[STYLE_SHADOW] = { COLOR_BLACK, -1, A_BOLD, A_DIM },
	[STYLE_HEAD] = { COLOR_BLACK, COLOR_GREEN, A_NORMAL, A_REVERSE },
	[STYLE_HEAD_SORTED] = { COLOR_BLACK, COLOR_CYAN, A_NORMAL, A_REVERSE | A_BOLD },
	[STYLE_SELECTED] = { COLOR_BLACK, COLOR_CYAN, A_NORMAL, A_REVERSE },
	[STYLE_TAGGED] = { COLOR_YELLOW, -1, A_BOLD, A_BOLD | A_UNDERLINE },
	[STYLE_KEY] = { -1, -1, A_NORMAL, A_NORMAL },
	[STYLE_LABEL] = { COLOR_BLACK, COLOR_CYAN, A_NORMAL, A_REVERSE },
	[STYLE_FAILED] = { COLOR_RED, COLOR_CYAN, A_NORMAL, A_REVERSE | A_BOLD },
	[STYLE_CAPTION] = { COLOR_CYAN, -1, A_NORMAL, A_NORMAL },
	[STYLE_VALUE] = { COLOR_CYAN, -1, A_BOLD, A_BOLD },
	[STYLE_EDGE] = { -1, -1, A_BOLD, A_BOLD },
	[STYLE_USER] = { COLOR_GREEN, -1, A_NORMAL, A_NORMAL },
	[STYLE_NICE] = { COLOR_BLUE, -1, A_BOLD, A_BOLD },
	[STYLE_SYSTEM] = { COLOR_RED, -1, A_NORMAL, A_REVERSE },
	[STYLE_IRQ] = { COLOR_YELLOW, -1, A_NORMAL, A_BOLD },
	[STYLE_SOFTIRQ] = { COLOR_MAGENTA, -1, A_NORMAL, A_BOLD },
	[STYLE_STEAL] = { COLOR_CYAN, -1, A_NORMAL, A_DIM },
	[STYLE_IOWAIT] = { COLOR_BLACK, -1, A_BOLD, A_DIM },
	[STYLE_ANON] = { COLOR_GREEN, -1, A_NORMAL, A_BOLD },
	[STYLE_KERNEL_MEMORY] = { COLOR_BLUE, -1, A_BOLD, A_NORMAL },
	[STYLE_SHARED] = { COLOR_MAGENTA, -1, A_NORMAL, A_BOLD },
	[STYLE_FILE] = { COLOR_YELLOW, -1, A_NORMAL, A_NORMAL },
	[STYLE_SWAP] = { COLOR_RED, -1, A_NORMAL, A_BOLD },
	[STYLE_COMMAND] = { COLOR_CYAN, -1, A_NORMAL, A_NORMAL },
	[STYLE_THREAD] = { COLOR_GREEN, -1, A_NORMAL, A_DIM },
	[STYLE_TREE] = { COLOR_CYAN, -1, A_NORMAL, A_NORMAL },
	[STYLE_MEGABYTES] = { COLOR_CYAN, -1, A_NORMAL, A_NORMAL },
	[STYLE_GIGABYTES] = { COLOR_GREEN, -1, A_NORMAL, A_BOLD },
	[STYLE_HIGH] = { COLOR_RED, -1, A_NORMAL, A_BOLD },
	[STYLE_LOW] = { COLOR_GREEN, -1, A_NORMAL, A_NORMAL },
	[STYLE_RUNNING] = { COLOR_GREEN, -1, A_NORMAL, A_BOLD },
	[STYLE_BLOCKED] = { COLOR_RED, -1, A_BOLD, A_BOLD | A_REVERSE },
};

static attr_t attributes[STYLE_COUNT];
static SCREEN *screen;
static struct view_mouse mouse;
static bool was_mouse; /* the last key */
static int more_clicks; /* at the same place, not yet returned */
/* Set by a signal handler. */
static _Atomic int asked;

/* ----------------------------------------------------- leaving at any time */

static const int leaving[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

static struct termios before;
static struct sigaction old_leaving[sizeof(leaving) / sizeof(*leaving)];
static char restore[128];
static size_t restore_length;

static void leave_later(int signal)
{
	asked = signal;
}

/* SA_RESETHAND has removed the handler: the signal takes its default action. */
static void leave_now(int signal)
{
	ssize_t written = write(STDOUT_FILENO, restore, restore_length);

	(void)written;
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	raise(signal);
}

static const char *capability(const char *name)
{
	const char *text = tigetstr(name);

	return text == (char *)-1 ? NULL : text;
}

static void add_restore(const char *text)
{
	size_t length = text ? strlen(text) : 0;

	if (restore_length + length > sizeof(restore))
		return;
	memcpy(restore + restore_length, text ? text : "", length);
	restore_length += length;
}

/* Reports of the mouse end up in the shell if they are not turned off: as ncurses does it. */
static void add_mouse_off(void)
{
	const char *set = capability("XM");

	if (set)
		add_restore(tiparm(set, 0));
	else if (capability("kmous"))
		add_restore("\033[?1000l");
}

static void catch_signals(void)
{
	struct sigaction later = { .sa_handler = leave_later };
	struct sigaction now = { .sa_handler = leave_now, .sa_flags = (int)SA_RESETHAND };

	restore_length = 0;
	add_mouse_off();
	add_restore(capability("sgr0"));
	add_restore(capability("cnorm"));
	add_restore(capability("rmcup"));
	for (size_t i = 0; i < sizeof(leaving) / sizeof(*leaving); i++)
		sigaction(leaving[i], &later, NULL);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		sigaction(fatal[i], &now, NULL);
}

static void release_signals(void)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };

	for (size_t i = 0; i < sizeof(leaving) / sizeof(*leaving); i++)
		sigaction(leaving[i], &old_leaving[i], NULL);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		sigaction(fatal[i], &usual, NULL);
}

int screen_signal(void)
{
	return asked;
}

/* -------------------------------------------------------- open and close */

bool screen_is_possible(const char **why)
{
	int error;
	bool possible = setupterm(NULL, STDOUT_FILENO, &error) == OK;

	*why = "its type is not known (TERM)";
	if (possible) {
		possible = capability("cup") && capability("clear");
		*why = "it cannot position the cursor (TERM)";
	}
	if (cur_term)
		del_curterm(cur_term);
	return possible;
}

static void choose_looks(bool color)
{
	color = color && has_colors() && start_color() == OK;
	if (color)
		use_default_colors();
	for (short i = 0; i < STYLE_COUNT; i++) {
		short front = looks[i].front, back = looks[i].back;

		attributes[i] = color ? looks[i].attributes : looks[i].mono;
		if (!color || (front < 0 && back < 0))
			continue;
		/* Terminals with 16 colors have a gray that does not need bold. */
		if (front == COLOR_BLACK && back < 0 && COLORS >= 16) {
			front = 8;
			attributes[i] = A_NORMAL;
		}
		init_pair((short)(i + 1), front, back);
		attributes[i] |= COLOR_PAIR(i + 1);
	}
}

int screen_open(bool color)
{
	if (tcgetattr(STDIN_FILENO, &before))
		return -errno;
	/*
	 * From here on, ncurses has its own handlers, which do not end the program as the signals
	 * do.
	 */
	for (size_t i = 0; i < sizeof(leaving) / sizeof(*leaving); i++)
		sigaction(leaving[i], NULL, &old_leaving[i]);
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return -ENOTTY;
	set_escdelay(25);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	leaveok(stdscr, FALSE);
	curs_set(0);
	choose_looks(color);
	catch_signals();
	return 0;
}

void screen_close(void)
{
	screen_use_mouse(false);
	/* After a click that quits, the release of the button must not reach the shell. */
	if (was_mouse)
		flushinp();
	curs_set(1);
	endwin();
	delscreen(screen);
	release_signals();
}

int screen_rows(void)
{
	return LINES;
}

int screen_columns(void)
{
	return COLS;
}

void screen_erase(void)
{
	erase();
}

void screen_redraw(void)
{
	clearok(curscr, TRUE);
}

void screen_show(int y, int x)
{
	curs_set(y >= 0);
	if (y >= 0)
		move(y, x);
	refresh();
}

bool screen_is_unicode(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* -------------------------------------------------------------------- keys */

/* ncurses merges presses and releases that it reads together into clicks, whatever the interval. */
#define CLICKS (BUTTON1_CLICKED | BUTTON1_DOUBLE_CLICKED | BUTTON1_TRIPLE_CLICKED)

void screen_use_mouse(bool on)
{
	/* Else ncurses waits after a press for what follows. */
	mouseinterval(0);
	mousemask(on ? BUTTON1_PRESSED | CLICKS | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
}

struct view_mouse screen_mouse(void)
{
	return mouse;
}

static int take_mouse(void)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return VIEW_KEY_NONE;
	mouse = (struct view_mouse){ .y = event.y, .x = event.x };
	if (event.bstate & BUTTON4_PRESSED)
		mouse.kind = MOUSE_WHEEL_UP;
	else if (event.bstate & BUTTON5_PRESSED)
		mouse.kind = MOUSE_WHEEL_DOWN;
	else if (event.bstate & BUTTON1_TRIPLE_CLICKED)
		more_clicks = 2;
	else if (event.bstate & BUTTON1_DOUBLE_CLICKED)
		more_clicks = 1;
	else if (!(event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED)))
		return VIEW_KEY_NONE;
	return VIEW_KEY_MOUSE;
}

static int translate(int key)
{
	static const int keys[][2] = {
		{ KEY_UP, VIEW_KEY_UP },	  { KEY_DOWN, VIEW_KEY_DOWN },
		{ KEY_LEFT, VIEW_KEY_LEFT },	  { KEY_RIGHT, VIEW_KEY_RIGHT },
		{ KEY_HOME, VIEW_KEY_HOME },	  { KEY_FIND, VIEW_KEY_HOME },
		{ KEY_END, VIEW_KEY_END },	  { KEY_SELECT, VIEW_KEY_END },
		{ KEY_PPAGE, VIEW_KEY_PAGE_UP },  { KEY_NPAGE, VIEW_KEY_PAGE_DOWN },
		{ KEY_DC, VIEW_KEY_DELETE },	  { KEY_BTAB, VIEW_KEY_BACK_TAB },
		{ KEY_ENTER, VIEW_KEY_ENTER },	  { KEY_BACKSPACE, VIEW_KEY_BACKSPACE },
		{ KEY_RESIZE, VIEW_KEY_RESIZED },
	};

	if (key > KEY_F0 && key <= KEY_F(12))
		return VIEW_KEY_F + (key - KEY_F0);
	if (key > KEY_F(12) && key <= KEY_F(24))
		return VIEW_KEY_SHIFT_F + (key - KEY_F(12));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (key == keys[i][0])
			return keys[i][1];
	return VIEW_KEY_NONE;
}

static int take_key(void)
{
	wint_t key;

	if (more_clicks) {
		more_clicks--;
		return VIEW_KEY_MOUSE;
	}
	switch (get_wch(&key)) {
	case KEY_CODE_YES:
		was_mouse = key == KEY_MOUSE;
		return was_mouse ? take_mouse() : translate((int)key);
	case OK:
		was_mouse = false;
		if (key == '\r')
			return VIEW_KEY_ENTER;
		return key == KEY_CONTROL('h') ? VIEW_KEY_BACKSPACE : (int)key;
	default:
		return VIEW_KEY_NONE;
	}
}

int screen_key(int timeout_ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int key = take_key();

	if (key != VIEW_KEY_NONE || asked)
		return key;
	poll(&input, 1, timeout_ms);
	/* The terminal is gone, and with it the user: end as for SIGHUP. */
	if (input.revents & (POLLHUP | POLLERR | POLLNVAL))
		asked = SIGHUP;
	return take_key();
}

/* ------------------------------------------------------------------- lines */

static void add_cell(struct view_line *line, enum view_style style, wchar_t c)
{
	int width = wcwidth(c);

	if (width < 0 || c == 0) {
		c = '?';
		width = 1;
	}
	/* Omit combining characters. */
	if (!width || line->n + width > LINE_MAX_CELLS)
		return;
	for (int i = 0; i < width; i++) {
		line->cell[line->n] = i ? 0 : c;
		line->style[line->n++] = (uint8_t)style;
	}
}

void line_bytes(struct view_line *line, enum view_style style, const void *bytes, size_t length)
{
	const char *at = bytes;
	mbstate_t state = { 0 };

	while (length) {
		wchar_t c = 0;
		size_t used = mbrtowc(&c, at, length, &state);

		if (used == 0 || used > length) {
			c = 0;
			used = 1;
			memset(&state, 0, sizeof(state));
		}
		add_cell(line, style, c);
		at += used;
		length -= used;
	}
}

void line_text(struct view_line *line, enum view_style style, const char *text)
{
	line_bytes(line, style, text, strlen(text));
}

void line_printf(struct view_line *line, enum view_style style, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	line_text(line, style, text);
}

void line_to(struct view_line *line, int cell, enum view_style style)
{
	while (line->n < cell && line->n < LINE_MAX_CELLS)
		add_cell(line, style, ' ');
}

int text_width(const char *text)
{
	struct view_line line;

	line_begin(&line);
	line_text(&line, STYLE_PLAIN, text);
	return line.n;
}

void line_right(struct view_line *line, int width, enum view_style style, const char *text)
{
	int own = text_width(text);

	if (own < width)
		line_to(line, line->n + width - own, style);
	line_text(line, style, text);
}

void line_draw(const struct view_line *line, int y, int x, int width, int from,
	       enum view_style over)
{
	if (y < 0 || y >= screen_rows())
		return;
	if (x + width > screen_columns())
		width = screen_columns() - x;
	move(y, x);
	for (int i = 0; i < width; i++) {
		int at = from + i;
		bool there = at < line->n;
		enum view_style style = over || !there ? over : line->style[at];
		bool wide = there && at + 1 < line->n && !line->cell[at + 1];
		wchar_t c = there && line->cell[at] && !(wide && i + 1 == width) ? line->cell[at] :
										   ' ';
		cchar_t cell;

		/* The second half of a wide character was drawn with the first. */
		if (there && !line->cell[at] && i)
			continue;
		setcchar(&cell, (wchar_t[]){ c, 0 }, attributes[style] & ~A_COLOR,
			 (short)PAIR_NUMBER(attributes[style]), NULL);
		add_wch(&cell);
	}
}
