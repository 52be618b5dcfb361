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
 */
struct cli_memory {
	struct kl_device *device;
	int pid;
	char comm[KL_COMM_LEN];
	uint64_t top;
	bool pages;
	bool physical;
	bool sharers;
};

/* now.c: print the memory as it is. Each returns the exit status. */
int cli_memory_print(const struct cli_memory *m);
int cli_memory_write_csv(const struct cli_memory *m);
json_t *cli_memory_json(const struct cli_memory *m);

/* "postgres-1234: 25 MiB in RAM, ..." */
void cli_memory_print_head(const struct cli_memory *m, const struct kl_memory *memory);

/* Name of a mapping, for people. Valid until the next call. */
const char *cli_memory_name(const struct kl_memory_mapping *mapping);

/* pages.c: sections of the text, and members of the document. Each returns the exit status. */
int cli_memory_print_pages(const struct cli_memory *m);
int cli_memory_print_physical(const struct cli_memory *m);
int cli_memory_print_sharers(const struct cli_memory *m);
int cli_memory_add_pages(const struct cli_memory *m, json_t *document);
int cli_memory_add_sharers(const struct cli_memory *m, json_t *document);

/* watch.c: print what changes, every @interval_ns, until Ctrl-C or the process ends. */
int cli_memory_watch(const struct cli_memory *m, uint64_t interval_ns);

#endif /* KL_CLI_MEMORY_MEMORY_H */
