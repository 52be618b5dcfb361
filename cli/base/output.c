// SPDX-License-Identifier: GPL-2.0
/* Styles that honor NO_COLOR, the pager, started like git's, and aligned tables. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "common.h"
#include "output.h"

enum {
	COLUMNS_MAX = 192,
	TEXT_MIN = 12, /* texts of a table are not cut to less */
};

struct cli_table {
	unsigned int columns;
	size_t cells;
	size_t room;
	bool right[COLUMNS_MAX];
	char **cell; /* the heads are the first row */
};

static pid_t pager = -1;

/* Does the terminal only print lines? */
static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return !term || !strcmp(term, "dumb");
}

bool cli_has_styles(FILE *file)
{
	const char *no = getenv("NO_COLOR");

	if (cli_settings.color)
		return cli_settings.color > 0;
	if ((no && *no) || is_dumb())
		return false;
	return isatty(fileno(file)) || (file == stdout && pager > 0);
}

const char *cli_style(FILE *file, enum cli_style style)
{
	static const char *const sequences[] = {
		[CLI_PLAIN] = "\033[0m",
		[CLI_BOLD] = "\033[1m",
		[CLI_DIM] = "\033[2m",
		[CLI_RED] = "\033[31m",
	};

	return cli_has_styles(file) ? sequences[style] : "";
}

static unsigned int columns_of(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

unsigned int cli_columns(void)
{
	if (!isatty(STDOUT_FILENO) && pager < 0)
		return 0;
	return columns_of(pager < 0 ? STDOUT_FILENO : STDERR_FILENO);
}

/* Room for a line of @file; 0: any length will do. */
static unsigned int room_of(FILE *file)
{
	if (file == stdout)
		return cli_columns();
	return isatty(fileno(file)) ? columns_of(fileno(file)) : 0;
}

bool cli_has_screen(FILE *file)
{
	return isatty(fileno(file)) && !is_dumb();
}

bool cli_clear_screen(void)
{
	if (!cli_has_screen(stdout))
		return false;
	fputs("\033[H\033[2J\033[3J", stdout);
	return true;
}

static void run_pager(const char *program, int input)
{
	dup2(input, STDIN_FILENO);
	close(input);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", program, NULL);
	_exit(127);
}

static void finish_at_exit(void)
{
	cli_finish_output();
}

void cli_start_pager(void)
{
	const char *program = getenv("KERNLENS_PAGER");
	int ends[2];

	if (!program)
		program = getenv("PAGER");
	if (!program)
		program = "less";
	if (!cli_settings.pager || !cli_has_screen(stdout) || !*program || !strcmp(program, "cat"))
		return;
	if (pipe(ends))
		return;
	fflush(stdout);
	pager = fork();
	if (!pager) {
		close(ends[1]);
		run_pager(program, ends[0]);
	}
	close(ends[0]);
	if (pager > 0) {
		dup2(ends[1], STDOUT_FILENO);
		atexit(finish_at_exit);
	}
	close(ends[1]);
}

int cli_finish_output(void)
{
	static bool closed;
	int failed = 0;

	if (closed)
		return CLI_OK;
	closed = true;
	failed = ferror(stdout) | fclose(stdout);
	/* fclose() has closed our end of the pipe, so the pager sees the end of its input. */
	if (pager > 0)
		while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
			;
	if (!failed || errno == EPIPE)
		return CLI_OK;
	return cli_error(-errno, "cannot write: %s", strerror(errno));
}

static int create(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0600);
}

FILE *cli_create_file(const char *path)
{
	int fd = create(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !file)
		close(fd);
	if (!file)
		cli_error(-errno, "%s: %s", path, strerror(errno));
	return file;
}

/* Redirect stdout to the file. With O_CLOEXEC, so that commands we start do not inherit it. */
static FILE *create_standard(const char *path)
{
	int fd = create(path), moved = fd;

	fflush(stdout);
	if (fd >= 0 && fd != STDOUT_FILENO) {
		moved = dup3(fd, STDOUT_FILENO, O_CLOEXEC);
		close(fd);
	}
	if (moved < 0)
		cli_error(-errno, "%s: %s", path, strerror(errno));
	return moved < 0 ? NULL : stdout;
}

FILE *cli_open_result(const char *path, bool standard)
{
	if (!path)
		return standard ? stdout : stderr;
	return standard ? create_standard(path) : cli_create_file(path);
}

int cli_close_result(FILE *file, const char *path, int status)
{
	if (file != stdout && file != stderr && fclose(file))
		return cli_error(-errno, "%s: %s", path, strerror(errno));
	return status;
}

bool cli_write_buffer(struct kl_buffer *buffer, FILE *file)
{
	bool written;

	if (buffer->error) {
		cli_error(buffer->error, "out of memory");
		return false;
	}
	written = fwrite(buffer->data, 1, buffer->length, file) == buffer->length;
	kl_buffer_reset(buffer);
	return written;
}

int cli_save_buffer(struct kl_buffer *buffer, const char *path)
{
	FILE *file = cli_create_file(path);
	bool written;

	if (!file)
		return CLI_FAILED;
	written = cli_write_buffer(buffer, file);
	if (fclose(file) || !written)
		return cli_error(-errno, "%s: %s", path, strerror(errno));
	return CLI_OK;
}

struct cli_table *cli_table_create(const char *heads)
{
	struct cli_table *table = cli_alloc(sizeof(*table));
	char *copy = strdupa(heads), *rest = copy, *head;

	while ((head = strsep(&rest, "|")) && table->columns < COLUMNS_MAX) {
		table->right[table->columns] = *head == '>';
		table->columns++;
		cli_table_add(table, "%s", head + (*head == '>'));
	}
	return table;
}

void cli_table_add(struct cli_table *table, const char *format, ...)
{
	va_list args;
	char *text;

	if (table->cells == table->room) {
		table->room = table->room ? 2 * table->room : 64;
		table->cell = realloc(table->cell, table->room * sizeof(*table->cell));
		if (!table->cell)
			abort();
	}
	va_start(args, format);
	text = cli_format_list(format, args);
	va_end(args);
	/* Process names may contain any bytes. */
	kl_make_plain(text, strlen(text));
	table->cell[table->cells++] = text;
}

/* Number of characters, if the text is UTF-8. */
static int text_width(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

/* Cut a text that is wider than its column, and mark that as top(1) does. */
static void cut_text(char *text, int width)
{
	int n = 0;

	if (text_width(text) <= width)
		return;
	for (; *text; text++) {
		n += ((unsigned char)*text & 0xc0) != 0x80;
		if (n < width)
			continue;
		strcpy(text, "+");
		return;
	}
}

static void print_row(const struct cli_table *table, char **row, const int *width,
		      unsigned int columns, FILE *file)
{
	for (unsigned int i = 0; i < columns; i++) {
		bool last = i + 1 == columns;
		int gap;

		cut_text(row[i], width[i]);
		gap = width[i] - text_width(row[i]);
		if (table->right[i])
			fprintf(file, "%*s%s%s", gap, "", row[i], last ? "" : "  ");
		else
			fprintf(file, "%s%*s%s", row[i], last ? 0 : gap, "", last ? "" : "  ");
	}
}

/* Narrow the widest text by one. Returns false if none can be narrowed. */
static bool narrow(const struct cli_table *table, int *width)
{
	int widest = -1;

	for (unsigned int i = 0; i < table->columns; i++)
		if (!table->right[i] && width[i] > TEXT_MIN &&
		    (widest < 0 || width[i] > width[widest]))
			widest = (int)i;
	if (widest >= 0)
		width[widest]--;
	return widest >= 0;
}

/*
 * Make the rows fit a line of @room characters: narrow the texts, then leave out the columns at the
 * right, because a number that is cut would be another one. Returns how many columns are left.
 */
static unsigned int fit(const struct cli_table *table, int *width, int room)
{
	static bool told;
	unsigned int columns = table->columns;
	int all = -2;

	for (unsigned int i = 0; i < columns; i++)
		all += width[i] + 2;
	for (; all > room && narrow(table, width); all--)
		;
	for (; all > room && columns > 1; columns--)
		all -= width[columns - 1] + 2;
	if (columns < table->columns && !told) {
		told = true;
		cli_note("the terminal is too narrow for all columns of the tables");
	}
	return columns;
}

void cli_table_add_bar(struct cli_table *table, uint64_t count, uint64_t most)
{
	static const char bar[] = "########################################";
	const uint64_t width = sizeof(bar) - 1;

	cli_table_add(table, "%.*s", (int)((count * width + most - 1) / most), bar);
}

void cli_table_print(struct cli_table *table, FILE *file, unsigned int indent)
{
	unsigned int room = room_of(file), columns = table->columns;
	int width[COLUMNS_MAX] = {};

	for (size_t i = 0; i < table->cells; i++) {
		int wide = text_width(table->cell[i]);

		if (wide > width[i % table->columns])
			width[i % table->columns] = wide;
	}
	if (room)
		columns = fit(table, width, (int)(room - indent));
	for (size_t i = 0; i + table->columns <= table->cells; i += table->columns) {
		fprintf(file, "%*s%s", (int)indent, "", i ? "" : cli_style(file, CLI_BOLD));
		print_row(table, table->cell + i, width, columns, file);
		fprintf(file, "%s\n", i ? "" : cli_style(file, CLI_PLAIN));
	}
	for (size_t i = 0; i < table->cells; i++)
		free(table->cell[i]);
	free(table->cell);
	free(table);
}
