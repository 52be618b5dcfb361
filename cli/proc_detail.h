/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The details of one process: sections of a page that are printed as text or JSON, and
 * the numbered menu. Each section asks the module for its own part.
 */
#ifndef KL_CLI_PROC_DETAIL_H
#define KL_CLI_PROC_DETAIL_H

#include <stdint.h>
#include <jansson.h>
#include <kernlens/kernlens.h>

#include "common.h"

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
/* Unless others are asked for: the environment may hold secrets. */
#define CLI_PROC_DEFAULT (CLI_PROC_ALL & ~(1u << CLI_PROC_ENV))

/**
 * cli_proc_details - print what is asked of a process
 * @device: open
 * @pid: of a process or thread
 * @sections: bits 1u << CLI_PROC_*
 *
 * As JSON with --json. What may not be seen is said where it would stand, and is no
 * failure if there is anything else to print. Returns the exit status, after a message
 * if the process is not there.
 */
int cli_proc_details(struct kl_device *device, int pid, uint32_t sections);

/**
 * cli_proc_menu - answer numbers from standard input until "exit" or its end
 * @device: open
 * @pid: of a process or thread
 *
 * Returns the exit status.
 */
int cli_proc_menu(struct kl_device *device, int pid);

/* ------------------------------------------------ for the files of this page */

/* "name" of section CLI_PROC_*, as options and JSON have it. */
const char *cli_proc_section_name(unsigned int section);

/* A user's or group's name with its number; in @text, which is returned. */
#define CLI_PROC_ID_MAX 64
const char *cli_proc_user(char text[CLI_PROC_ID_MAX], uint32_t id);

/* Text and JSON of a list, each by its kind. */
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

/*
 * Bytes that may be any, without controls that could reach the terminal; the name of a
 * task in the same way. Static, for the next call of either; cut where it is very long.
 */
const char *cli_proc_text(const char *text, size_t bytes);
const char *cli_proc_comm(const char comm[KL_COMM_LEN]);

/* "1.234 ms", for the middle of a sentence; in @text, which is returned. */
char *cli_proc_time(char text[CLI_NUMBER_MAX], uint64_t ns);

#endif /* KL_CLI_PROC_DETAIL_H */
