/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all subcommands share: settings, errors, numbers and near matches.
 */
#ifndef KL_CLI_COMMON_H
#define KL_CLI_COMMON_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>
#include <kernlens/kernlens.h>

/**
 * struct cli_settings - common options
 * @json: documents and errors are JSON
 * @pager: long output may go through a pager
 * @color: -1 never, 0 on a terminal, 1 always
 */
struct cli_settings {
	bool json;
	bool pager;
	int color;
};

extern struct cli_settings cli_settings;

/**
 * cli_error - say what went wrong
 * @error: negative errno, or 0 if none fits
 * @format: one sentence without a dot
 *
 * "kernlens: text" on stderr, or with --json an object on stdout. Returns
 * CLI_FAILED.
 */
int cli_error(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * cli_usage_message - the same for a wrong command line
 * @hint: where to read on; NULL: nowhere
 */
void cli_usage_message(const char *hint, const char *message);

/**
 * cli_library_error - say what the library said
 * @error: what it returned, or -errno
 * @format: in front, with ": " between; NULL: nothing
 *
 * Returns CLI_FAILED.
 */
int cli_library_error(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * cli_note - a remark on stderr that is no error
 * @format: one sentence
 */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * cli_note_lines - the same for each line of a text
 * @text: of more than 10 lines the rest is only counted
 */
void cli_note_lines(const char *text);

/* Text ended by NUL, from a format; the program ends without memory. */
char *cli_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *cli_format_list(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
void *cli_alloc(size_t bytes);

/**
 * cli_environment - what a command gets that is told something
 * @facts: "NAME=value" each, from cli_format(); they are the result's from now on
 * @n: number of @facts
 *
 * The facts, then what this program's own environment has by other names; ended by NULL and
 * freed by cli_words_free().
 */
char **cli_environment(char *const *facts, size_t n);
void cli_words_free(char **words);

/**
 * cli_near - the candidate that @word was probably meant to be
 * @word: as typed
 * @best: NULL, or the best so far
 * @candidate: another
 *
 * Returns the nearer of @best and @candidate, NULL if neither is near.
 */
const char *cli_near(const char *word, const char *best, const char *candidate);

/* Numbers from the command line. False: it is none. */
bool cli_parse_size(const char *text, uint64_t *bytes);
bool cli_parse_unsigned(const char *text, uint64_t most, uint64_t *value);
bool cli_parse_seconds(const char *text, uint64_t *ns);

/* CLOCK_MONOTONIC */
uint64_t cli_now_ns(void);

/**
 * cli_wait_for_signal - let a signal end waiting instead of the program
 * @signal: is kept back from now on, until cli_wait_until() takes it
 */
void cli_wait_for_signal(int signal);

/**
 * cli_wait_until - wait for a time
 * @ns: CLOCK_MONOTONIC; one that is over is not waited for
 *
 * Returns false if a signal of cli_wait_for_signal() has come before.
 */
bool cli_wait_until(uint64_t ns);

/* "12.3 MB" ... in @text, which is returned. */
#define CLI_NUMBER_MAX 32
char *cli_print_bytes(char text[CLI_NUMBER_MAX], uint64_t bytes);
/* Of buffers: "4 MiB", "64 KiB" */
char *cli_print_size(char text[CLI_NUMBER_MAX], uint64_t bytes);
/* "1,234,567" */
char *cli_print_count(char text[CLI_NUMBER_MAX], uint64_t count);
/* "1.234 ms" ..., always four figures */
char *cli_print_ns(char text[CLI_NUMBER_MAX], uint64_t ns);

/* The name of a user, good until the next is asked for; NULL: there is none. */
const char *cli_user_name(uint32_t uid);

/* A text in CSV's quotes, appended. */
void cli_print_csv_text(struct kl_buffer *buffer, const char *text, size_t length);

/* A JSON string from bytes that may be no UTF-8. */
json_t *cli_json_text(const char *text);
/* Write a document with a newline to stdout and release it. */
int cli_json_write(json_t *document);

/**
 * cli_open_device - open the device or say why not
 *
 * Returns NULL after an error message.
 */
struct kl_device *cli_open_device(void);

/**
 * cli_open_trace - open a trace directory or say why not
 * @path: directory
 *
 * Returns NULL after an error message.
 */
struct kl_trace *cli_open_trace(const char *path);

/* Name of a built-in maskset, or "user"; and back, -1 if there is none. */
const char *cli_maskset_name(unsigned int id);
int cli_maskset_find(const char *name);
const char *cli_maskset_help(unsigned int id);

#endif /* KL_CLI_COMMON_H */
