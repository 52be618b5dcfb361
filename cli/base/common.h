/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by all subcommands: settings, errors, numbers and near matches. */
#ifndef KL_CLI_BASE_COMMON_H
#define KL_CLI_BASE_COMMON_H

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/internal.h>

/**
 * struct cli_settings - common options
 * @json: write documents and errors as JSON
 * @pager: long output may go through a pager
 * @config: configuration files are read
 * @color: -1 never, 0 on a terminal, 1 always
 */
struct cli_settings {
	bool json;
	bool pager;
	bool config;
	int color;
};

extern struct cli_settings cli_settings;

/**
 * cli_error - print an error
 * @error: negative errno, or 0 if none fits
 * @format: one sentence without a period
 *
 * Prints "kernlens: text" to stderr, or with --json an object to stdout. Returns CLI_FAILED.
 */
int cli_error(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * cli_usage_message - print an error about the command line
 * @hint: where to read more; NULL: none
 */
void cli_usage_message(const char *hint, const char *message);

/* The library's error text, or if there is none, that of @error: its return value, or -errno. */
const char *cli_library_reason(int error);

/**
 * cli_library_error - print the library's error text
 * @error: the library's return value, or -errno
 * @format: prefix, separated by ": "; NULL: none
 *
 * Returns CLI_FAILED.
 */
int cli_library_error(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * cli_note - print a note that is not an error to stderr
 * @format: one sentence
 */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * cli_note_lines - print a note for each line of a text
 * @text: of more than 10 lines, the rest are only counted
 */
void cli_note_lines(const char *text);

/* Formatted text, terminated by NUL, and zeroed memory. The program ends if memory runs out. */
char *cli_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *cli_format_list(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
void *cli_alloc(size_t bytes);

/**
 * cli_environment - build the environment of a command
 * @facts: strings "NAME=value" from cli_format(); owned by the result from now on
 * @n: number of @facts
 *
 * Returns the facts, followed by those variables of this program's own environment that have other
 * names; terminated by NULL, to be freed by cli_words_free().
 */
char **cli_environment(char *const *facts, size_t n);
void cli_words_free(char **words);

/* Parse a number from the command line. Returns false if the text is not a valid one. */
bool cli_parse_size(const char *text, uint64_t *bytes);
bool cli_parse_unsigned(const char *text, uint64_t most, uint64_t *value);
bool cli_parse_seconds(const char *text, uint64_t *ns);
/* 0 to 100 */
bool cli_parse_percent(const char *text, double *percent);

/**
 * cli_notify - notify the service manager, if there is one
 * @text: such as "READY=1"; sd_notify(3)
 */
void cli_notify(const char *text);

/* Time of CLOCK_MONOTONIC, and of CLOCK_REALTIME. */
uint64_t cli_now_ns(void);
uint64_t cli_wall_ns(void);

/**
 * cli_wait_for_signal - make a signal end a wait instead of the program
 * @signal: blocked from now on, until cli_wait_until() takes it
 */
void cli_wait_for_signal(int signal);

/**
 * cli_wait_until - wait until a time
 * @ns: CLOCK_MONOTONIC; does not wait if it has passed
 *
 * Returns false if a signal of cli_wait_for_signal() came first.
 */
bool cli_wait_until(uint64_t ns);

/* Print numbers into @text, which is returned: "12.3 MB" ... */
#define CLI_NUMBER_MAX 32
char *cli_print_bytes(char text[CLI_NUMBER_MAX], uint64_t bytes);
/* Memory: "12.3 MiB" ... */
char *cli_print_memory(char text[CLI_NUMBER_MAX], uint64_t bytes);
/* Sizes of buffers: "4 MiB", "64 KiB" */
char *cli_print_size(char text[CLI_NUMBER_MAX], uint64_t bytes);
/* Local time of a wall time: "2026-11-30 01:02:03"; "-" if it is 0 */
char *cli_print_wall(char text[CLI_NUMBER_MAX], uint64_t ns);
/* "1,234,567" */
char *cli_print_count(char text[CLI_NUMBER_MAX], uint64_t count);
/* "1.234 ms" ..., always four digits */
char *cli_print_ns(char text[CLI_NUMBER_MAX], uint64_t ns);
/* The same without padding */
char *cli_print_time(char text[CLI_NUMBER_MAX], uint64_t ns);

/**
 * cli_rights - what this user may see and do
 * @may: out: KL_MAY_*
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_rights(uint32_t *may);

/*
 * Make arbitrary bytes, or a task's name, safe for the terminal. The result is static, until the
 * next call of either function; very long text is truncated.
 */
const char *cli_clean_text(const char *text, size_t bytes);
const char *cli_clean_comm(const char comm[KL_COMM_LEN]);

/**
 * cli_read_line - read the first line of a file of the kernel
 * @text: the line, without the newline
 * @missing: what @text becomes if there is no line to read
 *
 * Returns false if there was none.
 */
bool cli_read_line(const char *path, char *text, size_t bytes, const char *missing);

/**
 * cli_disk_name - name of a block device of a trace
 * @number: "254:0"
 * @boot_id: of the trace's boot of its machine
 *
 * Returns "vda", or the number if the trace is not of this machine's current boot, in which devices
 * have the names that they had. To be freed.
 */
char *cli_disk_name(const char *number, const char *boot_id);

/* Name of a user, valid until the next call; NULL if there is none. */
const char *cli_user_name(uint32_t uid);

/* Append a text in CSV quotes. */
void cli_print_csv_text(struct kl_buffer *buffer, const char *text, size_t length);

/* A JSON string from bytes that may not be UTF-8. */
json_t *cli_json_text(const char *text);

/* What a machine knew of its clock; NULL if that is not known. */
json_t *cli_json_clock(const struct kl_trace_clock *clock);

/* A text of an object; "" if it is not there. A number; 0 if it is not there, or negative. */
const char *cli_json_get_text(const json_t *object, const char *key);
uint64_t cli_json_get_number(const json_t *object, const char *key);

/* The frames of a stack trace, innermost first; null if there is no stack trace @id. */
json_t *cli_json_stack(const struct kl_stacks *stacks, uint64_t id);

/* Write a document and a newline to stdout, and release it. */
int cli_json_write(json_t *document);

/**
 * cli_open_device - open the device, or report why not
 *
 * Returns NULL after an error message.
 */
struct kl_device *cli_open_device(void);

/**
 * cli_open_trace - open a trace, or report why not
 * @path: trace directory or BER file
 *
 * Returns NULL after an error message.
 */
struct kl_trace *cli_open_trace(const char *path);

/* Name of a built-in maskset, or "user"; and the reverse, -1 if there is none. */
const char *cli_maskset_name(unsigned int id);
int cli_maskset_find(const char *name);
const char *cli_maskset_help(unsigned int id);

#endif /* KL_CLI_BASE_COMMON_H */
