/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The details of one process: sections of a page, printed as text or JSON, and the numbered menu.
 * Each section requests its own part from the module.
 */
#ifndef KL_CLI_PROC_DETAIL_H
#define KL_CLI_PROC_DETAIL_H

#include <jansson.h>
#include <stdint.h>
#include <kernlens/internal.h>

#include "../base/common.h"

/* In the order in which they are printed. */
enum cli_proc_section {
	CLI_PROC_TASK, /* name, command line, paths, relatives */
	CLI_PROC_WAIT,
	CLI_PROC_SYSCALL,
	CLI_PROC_STACK,
	CLI_PROC_MEMORY,
	CLI_PROC_MAPS,
	CLI_PROC_FILES,
	CLI_PROC_SOCKETS,
	CLI_PROC_IO,
	CLI_PROC_SIGNALS,
	CLI_PROC_RIGHTS,
	CLI_PROC_LIMITS,
	CLI_PROC_AFFINITY,
	CLI_PROC_NAMESPACES,
	CLI_PROC_CGROUPS,
	CLI_PROC_CHILDREN,
	CLI_PROC_ENV,
	CLI_PROC_SECTIONS,
};

#define CLI_PROC_ALL ((1u << CLI_PROC_SECTIONS) - 1)
/* The default omits the environment, which may hold secrets. */
#define CLI_PROC_DEFAULT (CLI_PROC_ALL & ~(1u << CLI_PROC_ENV))

/**
 * cli_proc_details - print the requested sections about a process
 * @device: open
 * @pid: ID of a process or thread
 * @sections: bits 1u << CLI_PROC_*
 *
 * Prints JSON with --json. A section that the user may not see prints the reason in its place, and
 * is not a failure. Returns the exit status, after an error message if the process does not exist.
 */
int cli_proc_details(struct kl_device *device, int pid, uint32_t sections);

/**
 * cli_proc_menu - answer numbers from standard input, until "exit" or end of file
 * @device: open
 * @pid: ID of a process or thread
 *
 * Returns the exit status.
 */
int cli_proc_menu(struct kl_device *device, int pid);

/* ------------------------------------------------ for the files of this page */

/* Name of section CLI_PROC_*, as in options and JSON. */
const char *cli_proc_section_name(unsigned int section);

/* Print a user's name and number into @text, which is returned. */
#define CLI_PROC_ID_MAX 64
const char *cli_proc_user(char text[CLI_PROC_ID_MAX], uint32_t id);

/* Text and JSON of each kind of section. */
void cli_proc_print_files(const struct kl_details *list);
json_t *cli_proc_file_json(const struct kl_detail *entry);
void cli_proc_print_sockets(const struct kl_details *list);
json_t *cli_proc_socket_json(const struct kl_detail *entry);
void cli_proc_print_maps(const struct kl_details *list);
json_t *cli_proc_map_json(const struct kl_detail *entry);
void cli_proc_print_memory(const struct kl_details *list);
json_t *cli_proc_memory_json(const struct kl_detail *entry);
void cli_proc_print_wait(const struct kl_details *list);
json_t *cli_proc_wait_json(const struct kl_details *list);
void cli_proc_print_syscall(const struct kl_details *list);
json_t *cli_proc_syscall_json(const struct kl_detail *entry);
void cli_proc_print_stack(const struct kl_details *list);
json_t *cli_proc_stack_json(const struct kl_details *list);
void cli_proc_print_signals(const struct kl_details *list);
json_t *cli_proc_signals_json(const struct kl_detail *entry);
void cli_proc_print_rights(const struct kl_details *list);
json_t *cli_proc_rights_json(const struct kl_detail *entry);
void cli_proc_print_limits(const struct kl_details *list);
json_t *cli_proc_limits_json(const struct kl_detail *entry);
void cli_proc_print_affinity(const struct kl_details *list);
json_t *cli_proc_affinity_json(const struct kl_detail *entry);

#endif /* KL_CLI_PROC_DETAIL_H */
