// SPDX-License-Identifier: GPL-2.0
/*
 * Names of IDs as one text: for each kind, a line "part KIND BYTES" and the contents of the file
 * that a trace directory has. Compressed, since the same functions occur in most stack traces.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include <kernlens/error.h>
#include <kernlens/id_names.h>
#include "../base/base.h"
#include "../base/lines.h"

#define FIRST_LINE "kernlens-names 1\n"
#define LEVEL 1

/* More than a full table of stack traces has. */
#define TEXT_MAX (256u << 20)

static void write_part(struct kl_buffer *text, const char *kind, const struct kl_buffer *part)
{
	kl_buffer_printf(text, "part %s %zu\n", kind, part->length);
	kl_buffer_add(text, part->data, part->length);
	if (part->error)
		text->error = part->error;
}

static void write_text(const struct kl_id_names *names, struct kl_buffer *text)
{
	struct kl_buffer part = {};

	kl_buffer_add_string(text, FIRST_LINE);
	if (names->stacks) {
		kl_stacks_write(names->stacks, &part);
		write_part(text, "stacks", &part);
	}
	kl_buffer_reset(&part);
	if (names->cgroups) {
		kl_cgroups_write(names->cgroups, &part);
		write_part(text, "cgroups", &part);
	}
	kl_buffer_deinit(&part);
}

int kl_id_names_write(const struct kl_id_names *names, struct kl_buffer *buffer)
{
	struct kl_buffer text = {};
	size_t room, got;
	char *to;

	write_text(names, &text);
	room = ZSTD_compressBound(text.length);
	to = text.error ? NULL : kl_buffer_reserve(buffer, room);
	got = to ? ZSTD_compress(to, room, text.data, text.length, LEVEL) : 0;
	kl_buffer_deinit(&text);
	if (!to || ZSTD_isError(got))
		return kl_fail(ENOMEM, "out of memory");
	buffer->length += got;
	return 0;
}

/* Take "part KIND BYTES\n" at @at, where @left bytes are. Returns its size; 0: it is not one. */
static size_t take_head(const char *at, size_t left, char kind[16], size_t *bytes)
{
	char line[64] = "";
	const char *end = memchr(at, '\n', left < sizeof(line) ? left : sizeof(line) - 1);
	char *words = line;
	const char *word;
	uint64_t number;

	if (!end || strncmp(at, "part ", 5) != 0)
		return 0;
	memcpy(line, at + 5, (size_t)(end - at) - 5);
	if (!kl_word_take(&words, &word) || !word || strlen(word) >= 16 ||
	    !kl_word_take_number(&words, 10, &number) || *words ||
	    number > left - (size_t)(end + 1 - at))
		return 0;
	memcpy(kind, word, strlen(word) + 1);
	*bytes = number;
	return (size_t)(end + 1 - at);
}

static int parse_part(const char *kind, const char *text, size_t bytes, struct kl_id_names *names)
{
	if (!strcmp(kind, "stacks") && !names->stacks) {
		names->stacks = kl_stacks_parse(text, bytes);
		return names->stacks ? 0 : -errno;
	}
	if (!strcmp(kind, "cgroups") && !names->cgroups) {
		names->cgroups = kl_cgroups_parse(text, bytes);
		return names->cgroups ? 0 : -errno;
	}
	/* A later version may have more. */
	return 0;
}

static int parse_text(const char *text, size_t bytes, struct kl_id_names *names)
{
	size_t at = strlen(FIRST_LINE), head, part;
	char kind[16];
	int ret = 0;

	if (bytes < at || memcmp(text, FIRST_LINE, at) != 0)
		return kl_fail(EINVAL, "names of IDs: not in a known form");
	for (; at < bytes && !ret; at += part) {
		head = take_head(text + at, bytes - at, kind, &part);
		if (!head)
			return kl_fail(EINVAL, "names of IDs: damaged at byte %zu", at);
		at += head;
		ret = parse_part(kind, text + at, part, names);
	}
	return ret;
}

int kl_id_names_parse(const char *bytes, size_t size, struct kl_id_names *names)
{
	unsigned long long length = ZSTD_getFrameContentSize(bytes, size);
	size_t got;
	char *text;
	int ret;

	*names = (struct kl_id_names){};
	if (length > TEXT_MAX)
		return kl_fail(EINVAL, "names of IDs: not compressed, or too large");
	text = malloc(length + 1);
	if (!text)
		return kl_fail(ENOMEM, "out of memory");
	text[length] = 0;
	got = ZSTD_decompress(text, length, bytes, size);
	if (ZSTD_isError(got) || got != length)
		ret = kl_fail(EINVAL, "names of IDs: %s", ZSTD_getErrorName(got));
	else
		ret = parse_text(text, length, names);
	free(text);
	return ret;
}
