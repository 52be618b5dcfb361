// SPDX-License-Identifier: GPL-2.0
/*
 * Masksets as text: lines in the grammar of -e. They are split here and compiled by plan.c, which
 * reports errors with file, line and column.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <kernlens/abi.h>
#include "../base/base.h"
#include "maskset.h"
#include "spec.h"

static const char *const reserved[] = { "RNOTHING", "RALL",    "RDEFAULT", "nothing",
					"all",	    "default", "events" };

int kl_maskset_check_name(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < KL_ARRAY_SIZE(reserved); i++)
		if (!strcasecmp(name, reserved[i]))
			return kl_fail(EINVAL, "%s is built in and cannot be changed", name);
	if (!length || length >= KL_NAME_MAX)
		return kl_fail(EINVAL, "a maskset's name must have 1 to %d bytes", KL_NAME_MAX - 1);
	if (!isalpha((unsigned char)*name))
		return kl_fail(EINVAL, "\"%s\": a maskset's name must begin with a letter", name);
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_.-", name[i]))
			return kl_fail(EINVAL,
				       "\"%s\": a maskset's name can contain only letters, "
				       "digits and _ . -",
				       name);
	return 0;
}

/* ------------------------------------------------------------------- parsing */

/*
 * Where a line's comment begins, or the line's end. A # in quotes or inside a word, as in a file
 * name, does not begin a comment.
 */
static const char *find_comment(const char *at, const char *end)
{
	bool space = true;
	char quote = 0;

	for (; at < end; at++) {
		if (quote) {
			if (*at == '\\' && at + 1 < end)
				at++;
			else if (*at == quote)
				quote = 0;
			continue;
		}
		if (*at == '#' && space)
			return at;
		if (*at == '"' || *at == '\'')
			quote = *at;
		space = isspace((unsigned char)*at);
	}
	return end;
}

static bool is_blank(const char *at, const char *end)
{
	while (at < end && isspace((unsigned char)*at))
		at++;
	return at == end;
}

/* Use the first comment as the help text. */
static int take_help(struct kl_maskset *m, const char *at, const char *end)
{
	while (at < end && (*at == '#' || isspace((unsigned char)*at)))
		at++;
	while (end > at && isspace((unsigned char)end[-1]))
		end--;
	if (m->help || at == end)
		return 0;
	m->help = strndup(at, (size_t)(end - at));
	return m->help ? 0 : kl_fail(ENOMEM, "out of memory");
}

/* Check the line's grammar. Control bytes would garble terminals. */
static int check_line(const struct kl_maskset *m, const char *text, unsigned int number)
{
	const char *at = text;
	struct kl_spec spec;
	int ret = 0;

	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' && *c != '\t')
			return kl_spec_locate(kl_spec_fail(text, c, "unexpected control character"),
					      text, text, m->origin, number);
	while ((ret = kl_spec_next(text, &at, &spec)) > 0)
		;
	return ret ? kl_spec_locate(ret, text, at, m->origin, number) : 0;
}

static int take_line(struct kl_maskset *m, const char *from, const char *end, unsigned int number)
{
	const char *comment = find_comment(from, end);
	struct kl_maskset_line *grown;
	char *text;
	int ret = take_help(m, comment, end);

	if (ret || is_blank(from, comment))
		return ret;
	while (comment > from && isspace((unsigned char)comment[-1]))
		comment--;
	grown = kl_array_grow(m->lines, m->n_lines, &m->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	m->lines = grown;
	text = strndup(from, (size_t)(comment - from));
	if (!text)
		return kl_fail(ENOMEM, "out of memory");
	grown[m->n_lines++] = (struct kl_maskset_line){ .text = text, .number = number };
	return check_line(m, text, number);
}

static int parse(struct kl_maskset *m)
{
	const char *at = m->text, *end = m->text + m->length;
	int ret = 0;

	if (m->length > KL_MASKSET_BYTES_MAX)
		return kl_fail(EFBIG, "%s: a maskset must not exceed %u bytes", m->origin,
			       KL_MASKSET_BYTES_MAX);
	if (memchr(at, 0, m->length))
		return kl_fail(EINVAL, "%s: not a text file", m->origin);
	for (unsigned int number = 1; !ret && at < end; number++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		/* Lines of files from other systems may end with \r\n. */
		ret = take_line(m, at, stop > at && stop[-1] == '\r' ? stop - 1 : stop, number);
		at = newline ? newline + 1 : end;
	}
	return ret;
}

struct kl_maskset *kl_maskset_parse(const char *name, const char *origin, const char *text,
				    size_t length)
{
	struct kl_maskset *m = calloc(1, sizeof(*m));
	int ret = -ENOMEM;

	if (m) {
		m->name = strdup(name);
		m->origin = strdup(origin);
		m->text = malloc(length + 1);
		m->length = length;
	}
	if (!m || !m->name || !m->origin || !m->text) {
		kl_fail(ENOMEM, "out of memory");
	} else {
		memcpy(m->text, text, length);
		m->text[length] = 0;
		ret = parse(m);
	}
	if (!ret)
		return m;
	kl_maskset_destroy(m);
	errno = -ret;
	return NULL;
}

void kl_maskset_destroy(struct kl_maskset *maskset)
{
	if (!maskset)
		return;
	for (size_t i = 0; i < maskset->n_lines; i++)
		free((char *)maskset->lines[i].text);
	free(maskset->lines);
	free(maskset->help);
	free(maskset->name);
	free(maskset->origin);
	free(maskset->text);
	free(maskset);
}

const char *kl_maskset_name(const struct kl_maskset *maskset)
{
	return maskset->name;
}

const char *kl_maskset_origin(const struct kl_maskset *maskset)
{
	return maskset->origin;
}

const char *kl_maskset_text(const struct kl_maskset *maskset, size_t *length)
{
	if (length)
		*length = maskset->length;
	return maskset->text;
}

const char *kl_maskset_help(const struct kl_maskset *maskset)
{
	return maskset->help ? maskset->help : "";
}

const struct kl_maskset_line *kl_maskset_line(const struct kl_maskset *maskset, size_t index)
{
	return index < maskset->n_lines ? &maskset->lines[index] : NULL;
}
