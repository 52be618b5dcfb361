/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A connection to the server, and the names of subjects. */
#ifndef FLEET_LINK_H
#define FLEET_LINK_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"

#define FLEET_STREAM "KERNLENS"
#define FLEET_TRACES "kernlens.trace" /* .HOST.CAPTURE.head|data|end */
#define FLEET_FREEZE "kernlens.freeze" /* an operator's request to hosts */
#define FLEET_STATUS "kernlens.status"
#define FLEET_ALARM "kernlens.alarm" /* .HOST: a host's request to others */
#define FLEET_INBOX "kernlens.inbox" /* .HOST: where a host gets acknowledgments */
#define FLEET_SUBJECT_MAX 256
#define FLEET_LOGIN_MAX 4096
#define FLEET_QUERIES_MAX 16

/**
 * struct fleet_options - the command line
 * @credentials: file of a user's JWT and key
 * @login: file with USER:PASSWORD or a token
 * @ca, @certificate, @key: files for TLS
 * @host: name of this host, or patterns of hosts
 * @spool: directory
 * @heed: patterns of hosts whose alarms are obeyed
 * @control: descriptor of the recorder, -1: none
 * @first: no recorder is writing to the spool
 * @prometheus: URL of the server that @query is for; @login and @ca are for it then
 * @most: maximum size of a trace that is fetched, or of the stream; 0: the default
 */
struct fleet_options {
	const char *server, *credentials, *login, *ca, *certificate, *key;
	const char *host, *spool, *heed, *output, *reason, *capture;
	int control;
	bool first, partial;
	uint64_t most, age_s;
	const char *prometheus, *query[FLEET_QUERIES_MAX];
	unsigned int n_queries;
	unsigned int replicas;
	uint64_t wait_ms;
};

/**
 * fleet_link - connect
 * @options: command line
 * @host: this host, whose inbox is used and which goes on trying for ever; NULL: a command, which
 *        does not
 *
 * Returns NULL after an error message.
 */
natsConnection *fleet_link(const struct fleet_options *options, const char *host);

/**
 * fleet_link_stream - connect, for a command that uses JetStream
 * @options: command line
 * @nc: out: connection, or NULL; to be destroyed
 * @js: out: its context, or NULL; to be destroyed
 *
 * Returns false after an error message.
 */
bool fleet_link_stream(const struct fleet_options *options, natsConnection **nc, jsCtx **js);

/* Read the first line of a file of secrets, which others must not be able to read. */
bool fleet_read_login(const char *path, char text[FLEET_LOGIN_MAX]);

/* Print "kernlens: text" on stderr. Returns an exit status of 1. */
int fleet_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Why a request of JetStream has failed; the text is valid until the next call. */
const char *fleet_why(natsStatus status, jsErrCode code);

/* A random name for subjects. */
void fleet_random_name(char name[FLEET_RUN_MAX]);

int64_t fleet_now_ms(void); /* CLOCK_MONOTONIC */

/* The subcommands. Each returns an exit status. */
int fleet_agent(const struct fleet_options *options);
int fleet_list(const struct fleet_options *options);
int fleet_get(const struct fleet_options *options);
int fleet_remove(const struct fleet_options *options);
int fleet_call(const struct fleet_options *options, bool freeze);
int fleet_query(const struct fleet_options *options);
int fleet_create(const struct fleet_options *options);

#endif /* FLEET_LINK_H */
