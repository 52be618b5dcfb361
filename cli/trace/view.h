/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of `kernlens view` share. */
#ifndef KL_CLI_TRACE_VIEW_H
#define KL_CLI_TRACE_VIEW_H

#include <kernlens/internal.h>

#define CLI_VIEW_PLOTS_MAX 64

/**
 * struct cli_view - a run of the command
 * @path: of the traces, each of another machine if there are several; @n_paths of them
 * @megabytes: that the page, or the overview that is served, may have, about; 0: the default
 * @from_ns, @to_ns: since its first event
 * @pid: processes and threads that are shown; none: all
 * @plot: what is shown over time
 * @serve: do not write a file
 * @port: to serve it at; 0: any
 */
struct cli_view {
	char *path[KL_CLOCKS_MAX];
	size_t n_paths;
	char *output;
	bool force;
	uint64_t megabytes;
	uint64_t from_ns;
	uint64_t to_ns;
	int32_t pid[KL_TIMELINE_PIDS_MAX];
	size_t n_pids;
	const char *plot[CLI_VIEW_PLOTS_MAX];
	size_t n_plots;
	bool serve;
	uint64_t port;
};

/**
 * cli_view_timeline - make the timeline of a trace
 * @v: run
 * @trace: trace
 * @bytes: that it may have, about
 * @from_ns, @to_ns: of its events, by the trace's clock since its first block
 *
 * Returns NULL after an error message.
 */
struct kl_timeline *cli_view_timeline(const struct cli_view *v, struct kl_trace *trace,
				      size_t bytes, uint64_t from_ns, uint64_t to_ns);

/* Adds bytes to a page, whose FILE is @context. Returns 0 or -errno. */
int cli_view_write_part(void *context, const void *bytes, size_t length);

/* Create the file of the page. Returns NULL after an error message. */
FILE *cli_view_create(const struct cli_view *v);

/* Close it. Returns CLI_OK, or another status after a message. @error: of what was written */
int cli_view_close(const struct cli_view *v, FILE *file, int error);

/* Write a page with one timeline of several machines. Returns an exit status. */
int cli_view_machines(const struct cli_view *v);

#endif /* KL_CLI_TRACE_VIEW_H */
