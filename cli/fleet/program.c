// SPDX-License-Identifier: GPL-2.0
/* Starts kernlens-fleet, which is next to this program or in ../libexec/kernlens. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/common.h"
#include "fleet.h"

#define NAME "kernlens-fleet"
#define PREFIX "kernlens: " /* of its messages */
#define MESSAGES_MAX 4096
#define NAMES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

void cli_fleet_add(struct cli_fleet_words *words, const char *format, ...)
{
	va_list args;

	if (words->n + 2 > sizeof(words->word) / sizeof(*words->word))
		return;
	va_start(args, format);
	words->word[words->n++] = cli_format_list(format, args);
	va_end(args);
}

void cli_fleet_free(struct cli_fleet_words *words)
{
	for (size_t i = 0; i < words->n; i++)
		free(words->word[i]);
	*words = (struct cli_fleet_words){ .n = 0 };
}

bool cli_fleet_option(struct cli_fleet_words *words, const struct cli_parser *parser, int key)
{
	static const char *const names[] = {
		[CLI_FLEET_SERVER - CLI_FLEET_SERVER] = "server",
		[CLI_FLEET_CREDENTIALS - CLI_FLEET_SERVER] = "credentials",
		[CLI_FLEET_LOGIN - CLI_FLEET_SERVER] = "login-file",
		[CLI_FLEET_CA - CLI_FLEET_SERVER] = "tls-ca",
		[CLI_FLEET_CERTIFICATE - CLI_FLEET_SERVER] = "tls-certificate",
		[CLI_FLEET_KEY - CLI_FLEET_SERVER] = "tls-key",
	};

	if (key < CLI_FLEET_SERVER || key >= CLI_FLEET_OWN)
		return false;
	words->has_server |= key == CLI_FLEET_SERVER;
	cli_fleet_add(words, "--%s=%s", names[key - CLI_FLEET_SERVER], parser->arg);
	return true;
}

bool cli_fleet_is_name(const char *text)
{
	size_t length = strspn(text, NAMES);

	return length && !text[length] && length < CLI_FLEET_ID_MAX;
}

void cli_fleet_make_id(char id[CLI_FLEET_ID_MAX])
{
	time_t now = time(NULL);
	uint64_t number = 0;
	struct tm utc;
	char text[32];

	while (getrandom(&number, sizeof(number), 0) != sizeof(number))
		;
	if (!strftime(text, sizeof(text), "%Y%m%dT%H%M%S", gmtime_r(&now, &utc)))
		*text = 0;
	snprintf(id, CLI_FLEET_ID_MAX, "%s-%010llx", text,
		 (unsigned long long)(number & 0xffffffffffull));
}

char *cli_fleet_program(void)
{
	char self[PATH_MAX], *slash, *path;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n < 0 ? 0 : n] = 0;
	slash = strrchr(self, '/');
	if (slash)
		*slash = 0;
	path = cli_format("%s/" NAME, self);
	if (!access(path, X_OK))
		return path;
	free(path);
	return cli_format("%s/../libexec/kernlens/" NAME, self);
}

static json_t *read_rows(int fd)
{
	json_t *rows = json_array();
	FILE *file = fdopen(fd, "r");
	char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		json_t *row = json_loads(line, 0, NULL);

		if (row)
			json_array_append_new(rows, row);
	}
	free(line);
	if (file)
		fclose(file);
	return rows;
}

/* With --json, the last message is the error of the document; otherwise it has been printed. */
static void print_messages(int fd, bool failed)
{
	char text[MESSAGES_MAX], *line;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	if (!failed) {
		fputs(text, stderr);
		return;
	}
	line = text + strlen(text);
	while (line > text && line[-1] == '\n')
		*--line = 0;
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	if (!strncmp(line, PREFIX, strlen(PREFIX)))
		line += strlen(PREFIX);
	cli_error(0, "%s", *line ? line : "no answer");
}

static void exec_program(const char *program, char **words, int out, int messages)
{
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	if (messages >= 0)
		dup2(messages, STDERR_FILENO);
	execv(program, words);
	fprintf(stderr, PREFIX "%s: %s\n", program, strerror(errno));
	_exit(CLI_NO_COMMAND);
}

int cli_fleet_wait(pid_t pid, const char *program)
{
	int status = 0;

	if (pid < 0)
		return cli_error(-errno, "cannot start %s: %s", program, strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_FAILED;
}

int cli_fleet_run(const char *what, const struct cli_fleet_words *options, json_t **rows)
{
	int ends[2] = { -1, -1 }, messages = -1, status;
	struct cli_fleet_words words = { .n = 0 };
	char *program = cli_fleet_program();
	pid_t pid;

	cli_fleet_add(&words, NAME);
	cli_fleet_add(&words, "%s", what);
	for (size_t i = 0; i < options->n; i++)
		cli_fleet_add(&words, "%s", options->word[i]);
	if (rows && pipe2(ends, O_CLOEXEC))
		return cli_error(-errno, "cannot make a pipe: %s", strerror(errno));
	if (cli_settings.json)
		messages = memfd_create("messages", MFD_CLOEXEC);
	fflush(stdout);
	pid = fork();
	if (!pid)
		exec_program(program, words.word, ends[1], messages);
	if (rows) {
		close(ends[1]);
		*rows = read_rows(ends[0]);
	}
	status = cli_fleet_wait(pid, program);
	if (messages >= 0) {
		if (pid > 0)
			print_messages(messages, status);
		close(messages);
	}
	cli_fleet_free(&words);
	free(program);
	return status;
}
