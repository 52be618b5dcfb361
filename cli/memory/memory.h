/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of kernlens memory: what is printed about the pages of one process. */
#ifndef KL_CLI_MEMORY_MEMORY_H
#define KL_CLI_MEMORY_MEMORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <kernlens/internal.h>

/**
 * struct cli_memory - what is printed
 * @device: open
 * @pid: the process
 * @comm: its name
 * @top: rows of a table; 0: all
 * @pages: each run of pages
 * @physical: frame numbers, and how contiguous they are
 * @sharers: processes that map the same pages
 * @map: which of its pages, and which parts of physical memory
 * @html: file for a page, or NULL
 * @refreshes: the page replaces an earlier one, without a note
 * @duration_ns: end watching after this time; 0: do not
 */
struct cli_memory {
	struct kl_device *device;
	int pid;
	char comm[KL_COMM_LEN];
	uint64_t top;
	bool pages;
	bool physical;
	bool sharers;
	bool map;
	const char *html;
	bool refreshes;
	uint64_t duration_ns;
};

/**
 * cli_memory_find - read the name of the process
 * @m: its comm is filled in
 *
 * Returns the exit status: a process that does not exist is an error.
 */
int cli_memory_find(struct cli_memory *m);

/* The same without a message. Returns 0 or a negative errno. */
int cli_memory_read_comm(struct cli_memory *m);

/* now.c: print the memory as it is. Each returns the exit status. */
int cli_memory_print(const struct cli_memory *m);
int cli_memory_write_csv(const struct cli_memory *m);
json_t *cli_memory_json(const struct cli_memory *m);

/* The same without pages and sharers, from what has been read. */
json_t *cli_memory_sums_json(const struct cli_memory *m, const struct kl_memory *memory);

/* "postgres-1234: 25 MiB in RAM, ..." */
void cli_memory_print_head(const struct cli_memory *m, const struct kl_memory *memory);

/* Name of a mapping, for people. Valid until the next call. */
const char *cli_memory_name(const struct kl_memory_mapping *mapping);

/* pages.c: sections of the text, and members of the document. Each returns the exit status. */
int cli_memory_print_pages(const struct cli_memory *m);
int cli_memory_print_physical(const struct cli_memory *m);
int cli_memory_print_sharers(const struct cli_memory *m);
json_t *cli_memory_sharers_json(const struct cli_memory *m);
int cli_memory_add_pages(const struct cli_memory *m, json_t *document);
int cli_memory_add_sharers(const struct cli_memory *m, json_t *document);

/**
 * cli_memory_what - what may be read about pages
 * @m: --physical requires more than others
 * @what: set to KL_DETAIL_FRAMES, or KL_DETAIL_PAGES without privilege
 *
 * Returns the exit status.
 */
int cli_memory_what(const struct cli_memory *m, uint32_t *what);

/* The names of the states of pages, as an object of numbers: the bits. */
json_t *cli_memory_states_json(void);

/* map.c: the same for --map. */
int cli_memory_print_map(const struct cli_memory *m);
int cli_memory_add_map(const struct cli_memory *m, json_t *document);

/**
 * struct cli_memory_walk - reads of a process at an interval
 * @m: the process
 * @what: KL_DETAIL_PAGES or KL_DETAIL_FRAMES
 * @interval_ns: time between reads
 * @next_ns: time of the next one, CLOCK_MONOTONIC
 * @last: the latest read, if it @has_last
 * @history: of all reads, or NULL
 * @has_ended: the process no longer exists
 */
struct cli_memory_walk {
	struct cli_memory *m;
	uint32_t what;
	uint64_t interval_ns;
	uint64_t next_ns;
	struct kl_memory last;
	bool has_last;
	struct kl_memory_history *history;
	bool has_ended;
};

/* page.c */

/**
 * cli_memory_write_page - write a page for a browser
 * @m: with `html`
 * @walk: what has been read, or NULL
 * @growth: which code made processes grow, or NULL; released
 *
 * Returns the exit status.
 */
int cli_memory_write_page(const struct cli_memory *m, const struct cli_memory_walk *walk,
			  json_t *growth);

/* Read the memory once, and write a page. Returns the exit status. */
int cli_memory_show_page(struct cli_memory *m);

/* walk.c */

/* Prepare to read the memory of a process at an interval. Returns the exit status. */
int cli_memory_walk_init(struct cli_memory_walk *walk, struct cli_memory *m, uint64_t interval_ns,
			 bool with_history);
void cli_memory_walk_deinit(struct cli_memory_walk *walk);

/**
 * cli_memory_walk_step - read the memory
 * @walk: walk
 * @show: called with the previous read and this one, unless it is the first; or NULL
 *
 * Returns the exit status; @walk->has_ended is set if the process has, which is not an error.
 */
int cli_memory_walk_step(struct cli_memory_walk *walk,
			 int (*show)(const struct cli_memory *m, const struct kl_memory *before,
				     const struct kl_memory *now));

/* watch.c: print what changes, every @interval_ns, until Ctrl-C or the process ends. */
int cli_memory_watch(struct cli_memory *m, uint64_t interval_ns);

#endif /* KL_CLI_MEMORY_MEMORY_H */
