// SPDX-License-Identifier: GPL-2.0
/*
 * Read the configuration files. Their options can name files to write and commands to run, so a
 * file counts only if nobody but its owner can change it, and its owner is the user or root.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "config.h"

enum {
	FILE_BYTES_MAX = 1 << 16,
	EXCERPT_MAX = 160,
};

static const struct cli_command *commands;

/* A file being read. */
struct reading {
	struct cli_config *config;
	const char *path;
	unsigned int rank;
	const char *section;
	unsigned int number;
	char *line;
};

/* ----------------------------------------------------------------------- messages */

static char *excerpt(const char *path, unsigned int number, const char *line, size_t at,
		     const char *message)
{
	char blank[EXCERPT_MAX + 1];
	size_t n = 0;

	if (strlen(line) > EXCERPT_MAX || at > EXCERPT_MAX)
		return cli_format("%s:%u: %s", path, number, message);
	/* Tabs stay, so that the caret stands below the text on any terminal. */
	for (size_t i = 0; i < at; i++)
		if (((unsigned char)line[i] & 0xc0) != 0x80)
			blank[n++] = line[i] == '\t' ? '\t' : ' ';
	blank[n] = 0;
	return cli_format("%s:%u: %s\n  %s\n  %s^", path, number, message, line, blank);
}

char *cli_config_message(const struct cli_config_entry *entry, bool value, const char *message)
{
	return excerpt(entry->path, entry->number, entry->line,
		       value && entry->value ? entry->value_at : entry->key_at, message);
}

/* The first error counts. Returns false. */
static bool fail(struct reading *r, size_t at, char *message)
{
	if (!r->config->error)
		r->config->error = excerpt(r->path, r->number, r->line, at, message);
	free(message);
	return false;
}

/* ------------------------------------------------------------------------- checks */

static void offer(struct kl_near *near, const struct cli_option *options)
{
	for (; options && options->name; options++)
		kl_near_offer(near, options->name);
}

static bool has(const struct cli_option *options, const char *key)
{
	for (; options && options->name; options++)
		if (!strcmp(options->name, key))
			return true;
	return false;
}

/* Does a command of this section have the option? If not, @near knows what it is near to. */
static bool is_option(const char *section, const char *key, struct kl_near *near)
{
	bool found = has(cli_common_options, key);

	offer(near, cli_common_options);
	for (const struct cli_command *c = commands; c->name; c++) {
		if (*section && strcmp(section, c->name))
			continue;
		found |= has(c->ops->options, key) || has(c->ops->shared, key);
		offer(near, c->ops->options);
		offer(near, c->ops->shared);
	}
	return found;
}

static bool take_section(struct reading *r, char *name, size_t at)
{
	char *end = strchr(name, ']');
	struct kl_near near;

	if (!end || end[1])
		return fail(r, at, cli_format("a section is [COMMAND]"));
	*end = 0;
	kl_near_init(&near, name, strlen(name));
	for (const struct cli_command *c = commands; c->name; c++) {
		kl_near_offer(&near, c->name);
		if (strcmp(name, c->name))
			continue;
		r->section = c->name;
		return true;
	}
	return fail(r, at + 1,
		    near.best ? cli_format("unknown command \"%s\"; did you mean \"%s\"?", name,
					   near.best) :
				cli_format("unknown command \"%s\"", name));
}

static char *trim(char *text)
{
	size_t length = strlen(text);

	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = 0;
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static bool take_entry(struct reading *r, char *text, char *copy)
{
	char *equals = strchr(text, '='), *key;
	struct cli_config *config = r->config;
	struct cli_config_entry entry = {
		.path = r->path,
		.number = r->number,
		.line = r->line,
		.section = r->section,
		.rank = r->rank + !!*r->section,
	};
	struct kl_near near;

	if (equals) {
		*equals = 0;
		entry.value = trim(equals + 1);
		entry.value_at = (size_t)(entry.value - copy);
	}
	key = trim(text);
	entry.key = key;
	entry.key_at = (size_t)(key - copy);
	kl_near_init(&near, key, strlen(key));
	if (!strcmp(key, "help") || !strcmp(key, "no-config"))
		return fail(r, entry.key_at, cli_format("\"%s\" cannot be a default", key));
	if (!is_option(r->section, key, &near))
		return fail(r, entry.key_at,
			    near.best ? cli_format("unknown option \"%s\"; did you mean \"%s\"?",
						   key, near.best) :
					cli_format("unknown option \"%s\"", key));
	config->entry = realloc(config->entry, (config->n + 1) * sizeof(*config->entry));
	if (!config->entry)
		abort();
	config->entry[config->n++] = entry;
	return true;
}

/* @line and its copies live as long as the program. */
static bool take_line(struct reading *r, char *line)
{
	char *copy, *text;

	r->number++;
	line[strcspn(line, "\r")] = 0;
	r->line = line;
	copy = cli_format("%s", line);
	text = trim(copy);
	if (!*text || *text == '#') {
		free(copy);
		return true;
	}
	if (*text == '[')
		return take_section(r, text + 1, (size_t)(text - copy));
	return take_entry(r, text, copy);
}

/* -------------------------------------------------------------------------- files */

/* Returns why a file does not count, or NULL. */
static char *refuse(const char *path, const struct stat *file)
{
	if (!S_ISREG(file->st_mode))
		return cli_format("%s: not a regular file", path);
	if (file->st_uid && file->st_uid != geteuid())
		return cli_format("%s belongs to user %u: only a file of %s can set options "
				  "(--no-config ignores it)",
				  path, file->st_uid, geteuid() ? "your own or root" : "root");
	if (file->st_mode & 0022)
		return cli_format("%s can be changed by others than its owner (chmod go-w %s)",
				  path, path);
	if (file->st_size > FILE_BYTES_MAX)
		return cli_format("%s: longer than %d bytes", path, FILE_BYTES_MAX);
	return NULL;
}

/* The text of a file, which stays in memory; NULL if it does not count, or does not exist. */
static char *read_text(struct cli_config *config, const char *path)
{
	/* Opening a FIFO would otherwise wait for its other end. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat file;
	char *text = NULL;
	ssize_t length;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return NULL;
	if (fd < 0 || fstat(fd, &file)) {
		config->error = cli_format("%s: %s", path, strerror(errno));
	} else {
		config->error = refuse(path, &file);
		text = config->error ? NULL : cli_alloc(FILE_BYTES_MAX + 1);
	}
	if (text) {
		length = read(fd, text, FILE_BYTES_MAX);
		if (length < 0 || memchr(text, 0, (size_t)length)) {
			config->error = cli_format("%s: %s", path,
						   length < 0 ? strerror(errno) : "not a text");
			free(text);
			text = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	return text;
}

static void read_file(struct cli_config *config, char *path, unsigned int rank)
{
	struct reading r = { .config = config, .path = path, .rank = rank, .section = "" };
	char *rest, *line, *before = config->paths;

	rest = config->error ? NULL : read_text(config, path);
	if (!rest) {
		if (!config->error)
			free(path);
		return;
	}
	config->paths = cli_format("%s%s%s", before, *before ? ", " : "", path);
	free(before);
	while ((line = strsep(&rest, "\n")))
		if (!take_line(&r, line))
			return;
}

void cli_config_init(const struct cli_command *all)
{
	commands = all;
}

const struct cli_config *cli_config(void)
{
	static struct cli_config config;
	const char *only = secure_getenv("KERNLENS_CONFIG");
	char *own;

	if (config.paths)
		return &config;
	config.paths = cli_format("%s", "");
	own = only ? NULL : kl_config_path("config");
	kl_error_clear();
	if (only && *only) {
		read_file(&config, cli_format("%s", only), 0);
	} else if (!only) {
		read_file(&config, cli_format("%s", CLI_CONFIG_SYSTEM), 0);
		if (own)
			read_file(&config, own, 2);
	}
	return &config;
}
