// SPDX-License-Identifier: GPL-2.0
/*
 * The files of certificates and of the token. All of them are read before any takes effect, so that
 * a bad one leaves the old ones in use.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/common.h"
#include "serve.h"

#define FILE_BYTES_MAX (256u << 10)

static const char *const *paths_of(const struct cli_serve_secrets *secrets, const char *paths[4])
{
	paths[0] = secrets->certificate;
	paths[1] = secrets->key;
	paths[2] = secrets->client_ca;
	paths[3] = secrets->token_file;
	return paths;
}

/* Read a file; to be freed. @secret: others must not be able to read it. */
static char *read_file(const char *path, bool secret, size_t *length, char **why)
{
	char *text = malloc(FILE_BYTES_MAX + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat file;
	ssize_t n = -1;

	if (!text)
		abort();
	if (fd < 0 || fstat(fd, &file))
		*why = cli_format("%s: %s", path, strerror(errno));
	else if (!S_ISREG(file.st_mode) || file.st_size > (off_t)FILE_BYTES_MAX)
		*why = cli_format("%s: not a regular file of at most 256 KiB", path);
	else if (secret && file.st_mode & 0006)
		*why = cli_format("%s: other users can read or write it (chmod o-rw)", path);
	if (!*why) {
		n = read(fd, text, FILE_BYTES_MAX);
		if (n < 0)
			*why = cli_format("%s: %s", path, strerror(errno));
	}
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = 0;
	*length = (size_t)n;
	return text;
}

static uint64_t mark_of(const struct cli_serve_secrets *secrets)
{
	const char *paths[4];
	uint64_t mark = 0;
	struct stat file;

	paths_of(secrets, paths);
	for (size_t i = 0; i < 4; i++) {
		uint64_t part = 1;

		if (paths[i] && !stat(paths[i], &file))
			part = (uint64_t)file.st_ino * 31 +
			       (uint64_t)file.st_mtim.tv_sec * 1000003 +
			       (uint64_t)file.st_mtim.tv_nsec * 7 + (uint64_t)file.st_size +
			       ((uint64_t)file.st_mode << 40);
		mark = mark * 0x9e3779b97f4a7c15ull + part;
	}
	return mark;
}

bool cli_serve_secrets_changed(const struct cli_serve_secrets *secrets)
{
	return mark_of(secrets) != secrets->mark;
}

static void replace(char **text, char *with)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = with;
}

bool cli_serve_read_secrets(struct cli_serve_secrets *secrets, char **why)
{
	char *text[4] = { 0 };
	struct http_token token = { .length = 0 };
	const char *paths[4], *wrong;
	size_t length[4];

	*why = NULL;
	/* First, so that a change during the read is one. */
	secrets->mark = mark_of(secrets);
	paths_of(secrets, paths);
	for (size_t i = 0; i < 4 && !*why; i++)
		if (paths[i])
			text[i] = read_file(paths[i], i == 1 || i == 3, &length[i], why);
	if (!*why && text[3] && http_token_parse(&token, text[3], length[3], &wrong))
		*why = cli_format("%s: %s", paths[3], wrong);
	replace(&text[3], NULL);
	for (size_t i = 0; i < 3; i++)
		replace(*why ? &text[i] : &secrets->text[i], *why ? NULL : text[i]);
	if (!*why)
		secrets->token = token;
	explicit_bzero(&token, sizeof(token));
	return !*why;
}

struct http_tls cli_serve_tls(const struct cli_serve_secrets *secrets)
{
	return (struct http_tls){
		.certificate = secrets->text[0],
		.key = secrets->text[1],
		.client_ca = secrets->text[2],
	};
}

void cli_serve_free_secrets(struct cli_serve_secrets *secrets)
{
	for (size_t i = 0; i < 3; i++)
		replace(&secrets->text[i], NULL);
	explicit_bzero(&secrets->token, sizeof(secrets->token));
}
