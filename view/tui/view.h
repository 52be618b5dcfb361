/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of the view, shared by its screens. Data come from the library's tables
 * (kernlens/processes.h, machine.h). The list of processes always exists; other screens cover it.
 */
#ifndef KL_VIEW_VIEW_H
#define KL_VIEW_VIEW_H

#include <kernlens/internal.h>

#include "screen.h"
#include "text.h"
#include "tui.h"

enum {
	VIEW_PROMPT_MAX = 64,
	VIEW_CELL_MAX = 256,
	VIEW_KEYS_MAX = 16,
};

struct view;
struct view_kind;

/**
 * struct view_column - a column that is shown
 * @name: the library's name
 * @title: text in the head
 * @width: cells; the last column takes the rest of the line
 * @at: index in the table
 * @kind: prints its cells
 * @left: left-aligned
 */
struct view_column {
	char *name;
	const char *title;
	int width;
	size_t at;
	const struct view_kind *kind;
	bool left;
};

/* Columns of the table that the view itself needs, whether they are shown or not. */
enum view_need {
	NEED_TID,
	NEED_PID,
	NEED_UID,
	NEED_COMM,
	NEED_STATE,
	NEED_NICE,
	NEED_FLAGS,
	NEED_START,
	NEED_CPU,
	NEED_MEMORY,
	NEED_TIME,
	NEED_COUNT,
};

enum view_tab {
	TAB_MAIN,
	TAB_IO,
	TAB_COUNT,
};

/**
 * struct view_tab_setup - what a tab of the list shows while another one is shown
 * @columns: names, separated by commas
 * @sort: name of a column
 */
struct view_tab_setup {
	char *columns;
	char *sort;
	bool descending;
};

/* Process and thread IDs. */
struct view_ids {
	int32_t *id;
	size_t n, room;
};

bool ids_have(const struct view_ids *ids, int32_t id);
void ids_put(struct view_ids *ids, int32_t id, bool in);
void ids_clear(struct view_ids *ids);

/**
 * struct view_screen - a screen, which fills the terminal
 * @draw: draws it
 * @key: handles a key
 * @tick: called at each refresh, after the processes have been read; or NULL
 * @mouse: handles a click or the wheel, and returns true if it did; or NULL
 * @often_ms: interval of calls of `look`, which reads its data; 0: never
 * @leave: frees its data when another screen takes its place; or NULL
 */
struct view_screen {
	void (*draw)(struct view *view);
	void (*key)(struct view *view, int key);
	void (*tick)(struct view *view);
	bool (*mouse)(struct view *view, const struct view_mouse *mouse);
	int often_ms;
	void (*look)(struct view *view);
	void (*leave)(struct view *view);
};

extern const struct view_screen list_screen, setup_screen;

typedef void (*view_chosen_fn)(struct view *view, int64_t value);

struct view_item {
	char text[40];
	int64_t value;
	bool on; /* of a menu with checks */
};

/**
 * struct view_menu - a menu at the left of the list
 * @title: its head
 * @at: selected item; @top: first item on the screen
 * @y: line of its head
 * @has_checks: several items can be chosen
 * @chosen: called with the value of the chosen item, while the menu is still there
 * @about: process that it is about, and its start time; 0: none
 */
struct view_menu {
	const char *title;
	struct view_item *item;
	size_t n, at, top;
	int y;
	bool has_checks;
	view_chosen_fn chosen;
	int32_t about;
	uint64_t about_start;
};

enum view_prompt {
	PROMPT_NONE,
	PROMPT_SEARCH,
	PROMPT_FILTER,
};

/**
 * struct view_list - contents and state of the list
 * @shown: rows of the table that are shown
 * @more: for each of these, the levels of the tree that continue below it, one bit each
 * @selected: process or thread that the bar is on; @at: its index
 * @moved: the bar has been moved; until then it stays at the top
 * @top: first row on the screen
 * @left: number of cells scrolled out at the left
 * @y: line of the head; @x: its first cell; @page: number of rows that the screen shows
 * @clicked: process that was clicked last; 0 after a key
 * @sort: column of the table
 * @found: the search has a match
 */
struct view_list {
	size_t *shown;
	uint64_t *more;
	size_t n, room;
	int32_t selected;
	size_t at, top, page;
	int left, y, x;
	int32_t clicked;
	bool moved;
	bool tree, threads, kernel, paused, path, meters;
	size_t sort;
	bool descending;
	uint64_t uid;
	char filter[VIEW_PROMPT_MAX], search[VIEW_PROMPT_MAX];
	bool found;
	enum view_prompt prompt;
	int64_t typed; /* digits of an ID; 0: none */
	struct view_ids tagged, collapsed;
};

/**
 * struct view_bar - the keys in the last line, which can be clicked
 */
struct view_bar {
	struct {
		int begin, end; /* cells */
		int key;
	} zone[VIEW_KEYS_MAX];
	size_t n;
};

struct view_saved;

struct view {
	struct kl_device *device;
	const struct view_options *options;
	struct kl_processes *table;
	struct kl_machine *machine;
	struct view_column *column;
	size_t n_columns;
	size_t need[NEED_COUNT];
	enum view_tab tab;
	struct view_tab_setup tabs[TAB_COUNT];
	struct view_saved *saved;
	uint64_t interval_ns;
	bool mouse;
	bool explained; /* why there are no delays */
	struct view_bar bar;
	struct view_list list;
	struct view_menu menu; /* `n` is 0: no menu */
	const struct view_screen *screen;
	void *data; /* data of the screen, which frees it in `leave` */
	char message[160];
	uint64_t message_until, refresh_at;
	int error; /* a negative errno, which ends the view */
	bool over;
};

/* --------------------------------------------------------------- view.c */

uint64_t view_now(void);

/* Switch to another screen. */
void view_enter(struct view *view, const struct view_screen *screen);

/* Return to the list of processes if @key is one that leaves a screen. */
void view_return(struct view *view, int key);

/* Show a message in the last line for some seconds. */
void view_say(struct view *view, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Read processes and machine now. Returns false if the view must end. */
bool view_refresh(struct view *view);

/* The same twice, shortly after another: the first read of new columns has no rates. */
bool view_refresh_all(struct view *view);

/* Append pairs of a key and its label to the last line, as "F1Help"; they can be clicked. */
void view_add_keys(struct view *view, struct view_line *line, const char *const *keys, size_t n);

/* Draw the last line: such pairs, or the message if there is one. */
void view_draw_keys(struct view *view, const char *const *keys, size_t n);

/* Handle a key as if it were typed. */
void view_take_key(struct view *view, int key);

/* ------------------------------------------------------------- column.c */

/*
 * Set columns by names, separated by commas, and the sort column; NULL: as before. Returns 0 or a
 * negative errno.
 */
int column_set_all(struct view *view, const char *names, const char *sort);
void column_free_all(struct view *view);
/* Names of the columns, separated by commas, or NULL; the caller frees them. */
char *column_names(const struct view *view);
const char *column_sorted(const struct view *view);
/* Can this column be shown? */
bool column_is_valid(struct view *view, const char *name);

/* Print a cell. */
void column_print(const struct view *view, const struct view_column *column, size_t row,
		  struct view_line *line, enum view_style *style);

/* Name, title and help of the known columns; NULL after the last. */
const char *column_known(size_t index, const char **title, const char **help);

/* Print the command of a row. */
void column_command(const struct view *view, size_t row, char text[VIEW_CELL_MAX]);
const char *column_user(uint32_t uid);
uint64_t column_number(const struct view *view, size_t row, enum view_need need);
bool is_of_kernel(const struct view *view, size_t row);
bool column_is_text(const struct view *view, size_t at);

/* ------------------------------------------------------------ command.c */

/* Command line of a row whose process has this name; NULL: none. */
const char *command_line(const struct view *view, size_t row, const char comm[KL_COMM_LEN]);
void command_free_all(void);

/* --------------------------------------------------------------- list.c */

/* Sort, filter, and place the bar: after a read, or a change of what is shown. */
void list_arrange(struct view *view);
void list_draw(struct view *view, int y, int x, int rows);
bool list_move(struct view *view, int key, int rows);
bool list_mouse(struct view *view, const struct view_mouse *mouse);
/* Sort by a column of the table; by the same one: in reverse. */
void list_sort(struct view *view, size_t at, bool reverse);
void list_select(struct view *view, size_t at);
/* Go to the next match of the search, in steps of 1 or -1. */
void list_search(struct view *view, int step, bool from_next);
bool list_selected(const struct view *view, int32_t *id);
int32_t list_id(const struct view *view, size_t at);
void list_free(struct view *view);

/* -------------------------------------------------------------- meter.c */

/* Number of lines of the head. */
int meter_rows(const struct view *view);
void meter_draw(const struct view *view);

/* --------------------------------------------------------------- menu.c */

void menu_close(struct view *view);
void menu_key(struct view *view, int key);
void menu_mouse(struct view *view, const struct view_mouse *mouse);
/* Returns the number of cells that it takes. */
int menu_draw(struct view *view, int y, int rows);

void menu_sort(struct view *view);
void menu_user(struct view *view);
void menu_signal(struct view *view);
void menu_ioprio(struct view *view);
void menu_affinity(struct view *view);

/* ------------------------------------------------------------- change.c */

/* Change the tagged processes, or the selected one. */
void change_nice(struct view *view, int by);
void change_signal(struct view *view, int signal);
void change_setting(struct view *view, const struct kl_setting *setting);

/* ---------------------------------------------------------------- tab.c */

/* Set all tabs to their defaults. Returns 0 or a negative errno. */
int tab_init(struct view *view);
/* Set the columns of a tab that is not shown to those of the names that can be shown, if any. */
bool tab_set_columns(struct view *view, enum view_tab tab, const char *names);
void tab_free(struct view *view);
/* Update what is known of the tab that is shown. */
void tab_store(struct view *view);
void tab_show(struct view *view, enum view_tab tab);
/* Number of lines that the names of the tabs take. */
int tab_rows(void);
void tab_draw(const struct view *view, int y);
void tab_click(struct view *view, int x);
const char *tab_name(enum view_tab tab);

/* -------------------------------------------------------------- saved.c */

/*
 * Set up the view as it was left the last time, then as the options request. Returns 0 or a
 * negative errno.
 */
int saved_load(struct view *view);
/* Save the setup, if it has changed. Sets an error text if it cannot be saved. */
void saved_store(struct view *view);
void saved_free(struct view *view);

/* -------------------------------------------------------------- locks.c */

/* Print the locks on files that a process holds. */
void locks_print(int32_t pid, struct kl_buffer *to);

/* ------------------------------------------------------------- others */

void help_enter(struct view *view);

/* Screens about one process. */
void details_enter(struct view *view, const char *section);
void events_enter(struct view *view, int32_t pid, const char *comm, bool as_strace);

#endif /* KL_VIEW_VIEW_H */
