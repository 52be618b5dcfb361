// SPDX-License-Identifier: GPL-2.0
/* kernlens history: store, print and plot summaries by minute, hour, day and month. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/cli.h"
#include "../base/output.h"
#include "history.h"

#define SYSTEM_FILE "/var/lib/kernlens/history.db"

/* For tests: length of a minute in seconds. */
#define UNIT_VARIABLE "KERNLENS_HISTORY_UNIT"

enum {
	KEY_MINUTES = CLI_KEY_OWN,
	KEY_HOURS,
	KEY_DAYS,
	KEY_MONTHS,
	KEY_SINCE,
	KEY_UNTIL,
	KEY_COMM,
	KEY_CSV,
	KEY_FULL,
	KEY_SVG,
	KEY_INTERVAL,
	KEY_ONCE,
	KEY_MAX,
};

static const struct cli_option options[] = {
	{ 'f', "file", "FILE", "database (for root: " SYSTEM_FILE ")" },
	{ KEY_MINUTES, "minutes", NULL, "by minute: the last day" },
	{ KEY_HOURS, "hours", NULL, "by hour (default): the last 31 days" },
	{ KEY_DAYS, "days", NULL, "by day: two years" },
	{ KEY_MONTHS, "months", NULL, "by month" },
	{ KEY_SINCE, "since", "TIME", "start: 2h or 3d (ago), or YYYY-MM-DD[ HH:MM]" },
	{ KEY_UNTIL, "until", "TIME", "end, in the same format as --since" },
	{ 'v', "variables", "LIST", "show these figures" },
	{ KEY_COMM, "comm", "PATTERN", "groups of matching processes instead of the system" },
	{ KEY_FULL, "full", NULL, "one line per figure: minimum, mean, maximum, sum" },
	{ KEY_CSV, "csv", NULL, "write the values of --full as CSV" },
	{ KEY_SVG, "svg", "FILE", "plot: write an SVG file" },
	{ KEY_INTERVAL, "interval", "SECONDS", "record: interval between samples (10)" },
	{ KEY_ONCE, "once", NULL, "record: take two samples and exit" },
	{ KEY_MAX, "max", "SIZE", "record: maximum size of the database (64M)" },
	{},
};

static const char *const machine_default[] = { "load_1",	   "user_time",	 "system_time",
					       "available_memory", "pgpgin",	 "pgpgout",
					       "pgfault",	   "pgmajfault", "processes" };
static const char *const group_default[] = { "count", "cpu_time", "rss", "io_bytes", "maj_faults" };

enum verb {
	PRINT,
	RECORD,
	PLOT,
};

/**
 * struct asked - the command line
 * @unit: length of a minute in seconds; 0: real minutes
 */
struct asked {
	const struct cli_command *self;
	struct cli_history h;
	enum verb verb;
	const char *file, *list, *svg;
	uint64_t interval_ns, bytes_max, unit;
	bool once;
};

/* --------------------------------------------------------------- recording */

static char *default_file(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (!geteuid())
		return cli_format(SYSTEM_FILE);
	return state && *state ?
		       cli_format("%s/kernlens/history.db", state) :
		       cli_format("%s/.local/state/kernlens/history.db", home ? home : ".");
}

/* Create the parent directories, accessible only to their owner. */
static void make_folders(const char *path)
{
	char *copy = strdupa(path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(copy, 0700);
		*slash = '/';
	}
}

/* A failed write may succeed later: give up only after this many failures in a row. */
#define FAILURES_MAX 60

static int look_on(const struct asked *a, struct kl_history_sampler *sampler)
{
	uint64_t next = cli_now_ns(), late = 0;
	unsigned int failures = 0, looks = 0;

	do {
		int ret = kl_history_sample(sampler);

		if (ret >= 0)
			failures = 0;
		else if (++failures == 1 || failures == FAILURES_MAX)
			cli_library_error(ret, "cannot write a sample");
		if (failures == FAILURES_MAX)
			return CLI_FAILED;
		if (a->once && ++looks == 2)
			break;
		next += a->interval_ns;
		if (next < cli_now_ns()) {
			/* Missed samples are not made up for: counters keep accumulating. */
			if (!late++)
				cli_note("a sample was taken late");
			next = cli_now_ns();
		}
	} while (cli_wait_until(next));
	if (late)
		cli_note("%llu samples were taken late", (unsigned long long)late);
	/* Include what happened since the last sample. */
	if (!a->once)
		kl_history_sample(sampler);
	return kl_history_flush(sampler) < 0 ? cli_library_error(-errno, "cannot write a sample") :
					       CLI_OK;
}

static int record(struct asked *a)
{
	struct kl_history_sampler *sampler;
	struct kl_device *device;
	int status;

	make_folders(a->file);
	a->h.history = kl_history_open(a->file, a->bytes_max);
	if (!a->h.history)
		return cli_library_error(-errno, NULL);
	kl_history_set_unit(a->h.history, (unsigned int)a->unit);
	device = cli_open_device();
	if (!device)
		return CLI_FAILED;
	sampler = kl_history_sampler_create(a->h.history, device);
	cli_wait_for_signal(SIGINT);
	cli_wait_for_signal(SIGTERM);
	status = sampler ? look_on(a, sampler) : cli_library_error(-errno, NULL);
	kl_history_sampler_destroy(sampler);
	kl_device_close(device);
	return status;
}

/* ----------------------------------------------------------------- reading */

static int take_row(void *data, const struct kl_history_row *row)
{
	struct cli_history *h = data;
	bool wanted = false;

	for (size_t i = 0; i < h->n_figures; i++)
		wanted |= h->figures[i] == row->figure;
	if (!wanted)
		return 0;
	if (h->n == h->room) {
		h->room = h->room ? 2 * h->room : 256;
		h->rows = reallocarray(h->rows, h->room, sizeof(*h->rows));
		if (!h->rows)
			abort();
	}
	h->rows[h->n] = *row;
	if (row->comm)
		h->rows[h->n].comm = cli_format("%s", row->comm);
	h->n++;
	return 0;
}

/* Fill in the rows. Returns CLI_OK, or CLI_FAILED after an error message. */
static int read_rows(struct cli_history *h)
{
	int error = kl_history_read(h->history, &h->query, take_row, h);

	return error ? cli_library_error(error, NULL) : CLI_OK;
}

static void deinit(struct cli_history *h)
{
	for (size_t i = 0; i < h->n; i++)
		free((char *)h->rows[i].comm);
	free(h->rows);
	kl_history_close(h->history);
}

static int show(struct asked *a)
{
	int status;

	a->h.history = kl_history_open(a->file, 0);
	if (!a->h.history)
		return cli_library_error(-errno, "%s", a->file);
	kl_history_set_unit(a->h.history, (unsigned int)a->unit);
	status = read_rows(&a->h);
	if (status)
		return status;
	if (a->verb == PLOT)
		return cli_history_plot(&a->h, a->svg);
	cli_start_pager();
	return cli_history_print(&a->h);
}

/* ------------------------------------------------------------- command line */

/* A time ago, such as "2h", or a date. */
static int64_t parse_time(const struct asked *a, const char *text)
{
	static const struct {
		const char *unit;
		int seconds;
	} units[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 } };
	struct tm tm = { .tm_isdst = -1, .tm_mday = 1 };
	char *end;
	long number = strtol(text, &end, 10);
	const char *rest;

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (end != text && number >= 0 && !strcmp(end, units[i].unit))
			return time(NULL) - (int64_t)number * units[i].seconds;
	rest = strptime(text, "%Y-%m-%d", &tm);
	if (rest && *rest)
		rest = strptime(rest, "%n%H:%M", &tm);
	if (!rest || *rest)
		cli_usage_error(a->self,
				"invalid time \"%s\" (examples: 90s, 30min, 2h, 3d, 2026-01-31, "
				"2026-01-31 12:00)",
				text);
	return mktime(&tm);
}

static void add_figure(struct asked *a, const char *name)
{
	int figure = kl_history_find(name, a->h.query.comm);

	if (figure < 0)
		cli_usage_error(a->self, "%s", kl_error_text());
	if (a->h.n_figures == CLI_HISTORY_FIGURES)
		cli_usage_error(a->self, "too many figures (maximum %d)", CLI_HISTORY_FIGURES);
	a->h.figures[a->h.n_figures++] = (unsigned int)figure;
}

static void choose_figures(struct asked *a, char **words, int n)
{
	const char *const *names = a->h.query.comm ? group_default : machine_default;
	size_t count = a->h.query.comm ? sizeof(group_default) / sizeof(*group_default) :
					 sizeof(machine_default) / sizeof(*machine_default);
	char *rest = a->list ? strdupa(a->list) : NULL, *name;

	while (rest && (name = strsep(&rest, ",")))
		add_figure(a, name);
	for (int i = 0; i < n; i++)
		add_figure(a, words[i]);
	if (a->h.n_figures)
		return;
	for (size_t i = 0; i < count; i++)
		add_figure(a, names[i]);
}

static void take_option(struct asked *a, int key, const char *arg)
{
	switch (key) {
	case 'f':
		a->file = arg;
		break;
	case KEY_MINUTES:
	case KEY_HOURS:
	case KEY_DAYS:
	case KEY_MONTHS:
		a->h.query.level = (enum kl_history_level)(key - KEY_MINUTES);
		break;
	case KEY_SINCE:
		a->h.query.since = parse_time(a, arg);
		break;
	case KEY_UNTIL:
		a->h.query.until = parse_time(a, arg);
		break;
	case 'v':
		a->list = arg;
		break;
	case KEY_COMM:
		a->h.query.comm = arg;
		break;
	case KEY_FULL:
		a->h.full = true;
		break;
	case KEY_CSV:
		a->h.style = CLI_HISTORY_CSV;
		break;
	case KEY_SVG:
		a->svg = arg;
		break;
	case KEY_INTERVAL:
		if (!cli_parse_seconds(arg, &a->interval_ns) || a->interval_ns < 100000000)
			cli_usage_error(a->self, "\"%s\" is not a number of seconds (at least 0.1)",
					arg);
		break;
	case KEY_ONCE:
		a->once = true;
		break;
	case KEY_MAX:
		if (!cli_parse_size(arg, &a->bytes_max) || a->bytes_max < KL_HISTORY_BYTES_MIN)
			cli_usage_error(a->self, "invalid size \"%s\" (at least 1M)", arg);
		break;
	}
}

static int take_verb(struct asked *a, char **words, int n)
{
	static const char *const verbs[] = {
		[PRINT] = "print", [RECORD] = "record", [PLOT] = "plot"
	};
	int verb = 0;

	if (!n)
		return 0;
	while (verb <= PLOT && strcmp(words[0], verbs[verb]) != 0)
		verb++;
	if (verb > PLOT)
		cli_usage_error(a->self, "unknown action \"%s\"; expected print, record or plot",
				words[0]);
	a->verb = (enum verb)verb;
	if (a->verb != PLOT && n > 1)
		cli_usage_error(a->self, "unexpected argument \"%s\"", words[1]);
	return 1;
}

static int exec_history(const struct cli_command *self, int argc, char **argv)
{
	static const double periods[] = { 60, 3600, 86400, 86400 * 31 };
	const char *unit = getenv(UNIT_VARIABLE);
	struct asked a = {
		.self = self,
		.h = { .query = { .level = KL_HISTORY_HOUR, .until = INT64_MAX } },
		.interval_ns = 10000000000,
		.bytes_max = KL_HISTORY_BYTES_DEFAULT,
	};
	struct cli_parser parser;
	char *file = NULL;
	int key, used, status;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(&a, key, parser.arg);
	used = take_verb(&a, parser.words, parser.n_words);
	choose_figures(&a, parser.words + used, parser.n_words - used);
	if (unit && (!cli_parse_unsigned(unit, 86400, &a.unit) || !a.unit))
		cli_usage_error(self, UNIT_VARIABLE " is not a number of seconds from 1 to 86400");
	a.h.period = periods[a.h.query.level] * (a.unit ? (double)a.unit / 60 : 1);
	if (cli_settings.json)
		a.h.style = CLI_HISTORY_JSON;
	if (a.verb == PLOT && (a.h.full || a.h.style != CLI_HISTORY_TEXT))
		cli_usage_error(self, "plot cannot be used with --full, --csv or --json");
	if (!a.file) {
		file = default_file();
		a.file = file;
	}
	status = a.verb == RECORD ? record(&a) : show(&a);
	deinit(&a.h);
	free(file);
	return status;
}

const struct cli_command_ops cmd_history = {
	.options = options,
	.text = "`record' samples the system and its processes, and keeps summaries in a database\n"
		"of bounded size: by minute for a day, by hour for 31 days, by day for two years,\n"
		"and by month. `print' shows mean values, or the rate per second for counters.\n"
		"The figures for the system are load, memory, faults, storage, swap, interrupts,\n"
		"switches and CPU times. The figures with --comm are count, cpu_time, rss,\n"
		"io_bytes, maj_faults and min_faults.\n"
		"\n"
		"  kernlens history --minutes --since 1h\n"
		"  kernlens history plot load_1 pgmajfault --days --svg load.svg\n"
		"  kernlens history --comm 'nginx*' --days\n",
	.exec = exec_history,
};
