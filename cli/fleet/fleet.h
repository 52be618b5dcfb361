/* SPDX-License-Identifier: GPL-2.0 */
/* What `kernlens ship` and `kernlens fleet` share: the server, and the program that talks to it. */
#ifndef KL_CLI_FLEET_FLEET_H
#define KL_CLI_FLEET_FLEET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../base/cli.h"

#define CLI_FLEET_ID_MAX 40

enum {
	CLI_FLEET_SERVER = CLI_KEY_OWN,
	CLI_FLEET_CREDENTIALS,
	CLI_FLEET_LOGIN,
	CLI_FLEET_CA,
	CLI_FLEET_CERTIFICATE,
	CLI_FLEET_KEY,
	CLI_FLEET_OWN,
};

/* Rows of a table of options. */
/* clang-format off */
#define CLI_FLEET_OPTIONS                                                             \
	{ CLI_FLEET_SERVER, "server", "URL", "NATS server: nats://HOST:PORT or tls://HOST:PORT" }, \
	{ CLI_FLEET_CREDENTIALS, "credentials", "FILE", "credentials of the user (JWT and key)" }, \
	{ CLI_FLEET_LOGIN, "login-file", "FILE", "file with USER:PASSWORD or a token" }, \
	{ CLI_FLEET_CA, "tls-ca", "FILE", "the server needs a certificate of these" }, \
	{ CLI_FLEET_CERTIFICATE, "tls-certificate", "FILE", "certificate of this client" }, \
	{ CLI_FLEET_KEY, "tls-key", "FILE", "private key of the certificate" }
/* clang-format on */

/**
 * struct cli_fleet_words - a command line of the program
 * @word: terminated by NULL
 * @has_server: the server is among them
 */
struct cli_fleet_words {
	char *word[160];
	size_t n;
	bool has_server;
};

/* Append a word. */
void cli_fleet_add(struct cli_fleet_words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void cli_fleet_free(struct cli_fleet_words *words);

/* Append one of the options above if it is one. */
bool cli_fleet_option(struct cli_fleet_words *words, const struct cli_parser *parser, int key);

/* Path of the program, to be freed. */
char *cli_fleet_program(void);

/**
 * cli_fleet_run - run a subcommand of the program
 * @what: subcommand
 * @options: its options
 * @rows: out: an array with what it has printed, a line each; NULL: nothing is expected
 *
 * Its messages go to stderr. Returns its exit status.
 */
int cli_fleet_run(const char *what, const struct cli_fleet_words *options, json_t **rows);

/* Wait for a process that fork() has returned, or for its failure. Returns its exit status. */
int cli_fleet_wait(pid_t pid, const char *program);

/* A new capture ID: the time, and a random number. */
void cli_fleet_make_id(char id[CLI_FLEET_ID_MAX]);

/* Is it a name as in subjects: letters, digits, - and _? */
bool cli_fleet_is_name(const char *text);

#endif /* KL_CLI_FLEET_FLEET_H */
