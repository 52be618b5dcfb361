/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reports that kernlens report makes of certain events: sched, io, irq, mm, net, states. Each
 * reads the trace, fills in sections, and has these written as text, JSON or CSV.
 */
#ifndef KL_CLI_TRACE_ANALYSIS_H
#define KL_CLI_TRACE_ANALYSIS_H

#include <kernlens/internal.h>
#include "../base/rows.h"

enum cli_analysis_format {
	CLI_ANALYSIS_TEXT,
	CLI_ANALYSIS_JSON,
	CLI_ANALYSIS_CSV,
	CLI_ANALYSIS_SVG,
};

#define CLI_SECTIONS_MAX 12

/**
 * struct cli_section - a table of a report
 * @title: for people; owned
 * @name: in JSON
 * @rows: its rows; owned
 * @whole: --top does not shorten it
 */
struct cli_section {
	char *title;
	const char *name;
	struct cli_rows *rows;
	bool whole;
};

/**
 * struct cli_analysis - a run of a report
 * @ops: which one
 * @path: of the trace
 * @trace: open
 * @format: of the output
 * @top: number of rows; 0: all
 * @pid: -p, or 0
 * @begin_ns, @end_ns: wall times of the recording's begin and end, or of its first and last event
 * @partial: the session recorded only some tasks, or what an ordinary user may see
 * @summary: first lines of the text
 * @json: further members of the JSON object
 * @section: its tables; the first is written as CSV
 */
struct cli_analysis {
	const struct cli_analysis_ops *ops;
	const char *path;
	struct kl_trace *trace;
	enum cli_analysis_format format;
	uint64_t top;
	uint64_t pid;
	uint64_t begin_ns;
	uint64_t end_ns;
	bool partial;
	struct kl_buffer summary;
	json_t *json;
	struct cli_section section[CLI_SECTIONS_MAX];
	size_t sections;
};

/**
 * struct cli_analysis_ops - a report
 * @name: as typed
 * @events: what to record for it: arguments of kernlens record
 * @svg: it can be drawn
 * @create: a report of the library, for the trace and the task of @a; NULL without memory
 * @add: takes an item. Returns 0 or a negative errno
 * @missing: names the events that it needs and that have not occurred
 * @finish: or NULL: completes it after the last item. Returns 0 or a negative errno
 * @fill: fills in the sections, or draws it. Returns the exit status
 * @destroy: frees it
 */
struct cli_analysis_ops {
	const char *name;
	const char *events;
	bool svg;
	void *(*create)(const struct cli_analysis *a);
	int (*add)(void *report, const struct kl_item *item);
	void (*missing)(const void *report, struct kl_buffer *names);
	int (*finish)(void *report, const struct cli_analysis *a);
	int (*fill)(struct cli_analysis *a, void *report);
	void (*destroy)(void *report);
};

/* Those of the functions that only pass their arguments on to the library's: kl_KIND_report_*(). */
#define CLI_ANALYSIS_FUNCTIONS(kind)                                     \
	static int add(void *report, const struct kl_item *item)         \
	{                                                                \
		return kl_##kind##_report_add(report, item);             \
	}                                                                \
	static void missing(const void *report, struct kl_buffer *names) \
	{                                                                \
		kl_##kind##_report_missing(report, names);               \
	}                                                                \
	static void destroy(void *report)                                \
	{                                                                \
		kl_##kind##_report_destroy(report);                      \
	}

/* And all that a report's file has under these names. */
#define CLI_ANALYSIS_OWN_FUNCTIONS \
	.create = create, .add = add, .missing = missing, .fill = fill, .destroy = destroy

extern const struct cli_analysis_ops cli_analysis_sched, cli_analysis_io, cli_analysis_irq,
	cli_analysis_states, cli_analysis_mm, cli_analysis_net;

/* The report of a name, or NULL; and by number, NULL after the last. */
const struct cli_analysis_ops *cli_analysis_find(const char *name);
const struct cli_analysis_ops *cli_analysis_get(unsigned int i);

/* Run a report; @a has ops, path, format, top and pid. Returns the exit status. */
int cli_analysis_run(struct cli_analysis *a);

/* Start the next section. */
struct cli_rows *cli_analysis_section(struct cli_analysis *a, const char *name,
				      const struct cli_column *columns, unsigned int n,
				      const char *title, ...) __attribute__((format(printf, 5, 6)));

/*
 * Add a section with one or two histograms: a column for each, between those of the buckets and
 * that of the bar. @second: or NULL
 */
void cli_analysis_histogram(struct cli_analysis *a, const char *name,
			    const struct cli_column *columns, const struct kl_histogram *first,
			    const struct kl_histogram *second, const char *title);

/* The columns of one histogram. */
extern const struct cli_column cli_analysis_times[], cli_analysis_sizes[];

/*
 * Add a task as three cells: "comm-tid" for people, then tid and comm for JSON and CSV. tid 0:
 * @nobody
 */
void cli_rows_add_task(struct cli_rows *rows, const struct kl_task *task, const char *nobody);

/* Add a histogram's mean, median, 99th percentile and largest value as four cells. */
void cli_rows_add_spread(struct cli_rows *rows, const struct kl_histogram *histogram);

/* Print "mean 1.2 us, half within 3 us, 99% within 1 ms, worst 2 ms" to the summary. */
void cli_analysis_print_spread(struct cli_analysis *a, const struct kl_histogram *histogram);

/* Print "12 WHAT" to the summary, unless @count is 0. */
void cli_analysis_print_if(struct cli_analysis *a, uint64_t count, const char *what);

/*
 * Say in the summary what the report does not have: tasks that were not selected, events beyond
 * its tables, and what crosses gaps where records are missing.
 */
void cli_analysis_print_gaps(struct cli_analysis *a, size_t omitted, uint64_t dropped,
			     uint64_t gaps);

#endif /* KL_CLI_TRACE_ANALYSIS_H */
