/* SPDX-License-Identifier: GPL-2.0 */
/* Lines of words, and the files of a trace directory that consist of them. */
#ifndef KL_LIB_BASE_LINES_H
#define KL_LIB_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>

/*
 * Write a word. Bytes that would end it, and backslashes, become \ooo; NULL and the empty string
 * become -.
 */
void kl_word_write(struct kl_buffer *buffer, const char *text);

/* Write a number for kl_word_take_number() with base 16. */
void kl_word_write_hex(struct kl_buffer *buffer, uint64_t number);

/* Text being parsed: a copy that is cut into words. @number: the current line's number. */
struct kl_lines {
	char *copy;
	char *at;
	char *end;
	unsigned int number;
};

/* Returns -EINVAL if the text contains a NUL byte, or -ENOMEM. Call kl_lines_deinit() even then. */
int kl_lines_init(struct kl_lines *lines, const char *text, size_t bytes);
void kl_lines_deinit(struct kl_lines *lines);

/* The next line, without its newline; NULL after the last. */
char *kl_lines_next(struct kl_lines *lines);

/*
 * Take a word from a line and skip the blank that separates it. False if there is none or it is
 * invalid.
 */
bool kl_word_take_number(char **at, int base, uint64_t *number);
bool kl_word_take(char **at, const char **word);

/*
 * Write the file, create its folder if necessary, and replace an existing file atomically. Only
 * works in the user's own directories; the result is accessible to its owner only (folder.h).
 */
int kl_part_write(const char *path, const char *name, const struct kl_buffer *buffer);

#endif /* KL_LIB_BASE_LINES_H */
