// SPDX-License-Identifier: GPL-2.0
/*
 * Text files of words, such as those next to the streams in a trace directory, written and read as
 * a whole. Words contain no blanks and no control bytes; these are written as octal escapes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <kernlens/error.h>
#include "base.h"
#include "folder.h"
#include "lines.h"

#define NAME_BYTES 64

void kl_word_write(struct kl_buffer *buffer, const char *text)
{
	if (!text || !*text) {
		kl_buffer_add_char(buffer, '-');
		return;
	}
	for (const char *at = text, *plain = text;; at++) {
		unsigned char c = *at;

		if (c > ' ' && c != 0x7f && c != '\\' && (c != '-' || text[1]))
			continue;
		kl_buffer_add(buffer, plain, (size_t)(at - plain));
		if (!c)
			return;
		kl_buffer_printf(buffer, "\\%03o", c);
		plain = at + 1;
	}
}

void kl_word_write_hex(struct kl_buffer *buffer, uint64_t number)
{
	char digits[16];
	char *at = kl_hex_digits(digits + sizeof(digits), number);

	kl_buffer_add(buffer, at, (size_t)(digits + sizeof(digits) - at));
}

char *kl_lines_next(struct kl_lines *lines)
{
	char *line = lines->at, *end;

	if (line >= lines->end)
		return NULL;
	end = memchr(line, '\n', (size_t)(lines->end - line));
	if (!end)
		return NULL;
	*end = 0;
	lines->at = end + 1;
	lines->number++;
	return line;
}

bool kl_word_take_number(char **at, int base, uint64_t *number)
{
	char *end;

	if (**at == ' ')
		(*at)++;
	if (!**at || **at == ' ')
		return false;
	errno = 0;
	*number = strtoull(*at, &end, base);
	if (errno || (*end && *end != ' '))
		return false;
	*at = end;
	return true;
}

static bool is_octal(const char *at)
{
	return at[0] >= '0' && at[0] <= '3' && at[1] >= '0' && at[1] <= '7' && at[2] >= '0' &&
	       at[2] <= '7' && (at[0] | at[1] | at[2]) != '0';
}

bool kl_word_take(char **at, const char **word)
{
	char *from = *at, *to;

	if (*from == ' ')
		from++;
	*word = to = from;
	while (*from && *from != ' ') {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		if (!is_octal(from + 1))
			return false;
		*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
		from += 4;
	}
	if (!*from) {
		*at = from;
	} else {
		*from = 0;
		*at = from + 1;
	}
	if (to == *word)
		return false;
	if (to == *word + 1 && **word == '-' && from == *word + 1) {
		*word = NULL;
		return true;
	}
	*to = 0;
	return true;
}

int kl_lines_init(struct kl_lines *lines, const char *text, size_t bytes)
{
	*lines = (struct kl_lines){ .copy = malloc(bytes + 1) };
	if (!lines->copy)
		return kl_fail(ENOMEM, "out of memory");
	memcpy(lines->copy, text, bytes);
	lines->copy[bytes] = 0;
	lines->at = lines->copy;
	lines->end = lines->copy + bytes;
	return memchr(lines->copy, 0, bytes) ? kl_fail(EINVAL, "it contains a NUL byte") : 0;
}

void kl_lines_deinit(struct kl_lines *lines)
{
	free(lines->copy);
	lines->copy = NULL;
}

/* ------------------------------------------------------------------- files */

/* Write to a temporary name and rename when complete, so that readers never see a partial file. */
static int write_file(int folder, const char *name, const struct kl_buffer *buffer)
{
	char new[NAME_BYTES];
	int fd, error;

	snprintf(new, sizeof(new), "%s.new", name);
	fd = kl_folder_create(folder, new);
	if (fd < 0)
		return fd;
	error = kl_write_all(fd, buffer->data, buffer->length);
	if (close(fd) && !error)
		error = -errno;
	if (!error && renameat(folder, new, folder, name))
		error = -errno;
	if (error)
		unlinkat(folder, new, 0);
	return error;
}

/* Open the folder of "folder/name", and create it if necessary. */
static int open_folder(const char *path, const char *name)
{
	int dir = kl_folder_open(AT_FDCWD, path, false), folder;
	char first[NAME_BYTES];

	if (dir < 0)
		return dir;
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(name, "/"), name);
	folder = kl_folder_open(dir, first, true);
	close(dir);
	return folder;
}

int kl_part_write(const char *path, const char *name, const struct kl_buffer *buffer)
{
	int folder, error;

	if (buffer->error)
		return kl_fail_system(ENOMEM, "%s/%s", path, name);
	folder = open_folder(path, name);
	if (folder < 0)
		return folder;
	error = write_file(folder, name + strcspn(name, "/") + 1, buffer);
	close(folder);
	return error ? kl_fail_system(-error, "%s/%s", path, name) : 0;
}
