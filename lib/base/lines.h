/* SPDX-License-Identifier: GPL-2.0 */
/* Lines of words, and the files of a trace directory that have such. */
#ifndef KL_LIB_BASE_LINES_H
#define KL_LIB_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>

/* What would end a word, and backslashes, as \ooo; NULL and nothing as -. */
void kl_word_write(struct kl_buffer *buffer, const char *text);

/* What is parsed: a copy that is cut into words. @number: of the line. */
struct kl_lines {
	char *copy;
	char *at;
	char *end;
	unsigned int number;
};

/* Returns -EINVAL (a byte 0), -ENOMEM. kl_lines_deinit() even then. */
int kl_lines_init(struct kl_lines *lines, const char *text, size_t bytes);
void kl_lines_deinit(struct kl_lines *lines);

/* The next line, without its newline; NULL behind the last. */
char *kl_lines_next(struct kl_lines *lines);

/* Take a word from a line, a blank before it left out. False: there is none, or it is wrong. */
bool kl_word_take_number(char **at, int base, uint64_t *number);
bool kl_word_take(char **at, const char **word);

/* All of a trace directory's file "folder/name". */
int kl_part_read(const char *path, const char *name, struct kl_buffer *buffer);

/*
 * Write it, its folder too, and replace what is there at once. Only into directories of one's own,
 * for their owner alone (folder.h).
 */
int kl_part_write(const char *path, const char *name, const struct kl_buffer *buffer);

#endif /* KL_LIB_BASE_LINES_H */
