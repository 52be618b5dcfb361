/* SPDX-License-Identifier: GPL-2.0 */
/* kernlens serve: what its files share. docs/design/serve.md says what is published to whom. */
#ifndef KL_CLI_SERVE_SERVE_H
#define KL_CLI_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/internal.h>

#include "../../view/http/access.h"
#include "../../view/http/address.h"
#include "../../view/http/http.h"
#include "../session/select.h"

#define CLI_SERVE_LISTENERS 8
#define CLI_SERVE_CODES 12

/* Parts of the figures besides enum kl_metrics_part. */
enum {
	CLI_SERVE_LATENCY = KL_METRICS_PARTS,
	CLI_SERVE_LOCKS,
	CLI_SERVE_RULES,
	CLI_SERVE_PARTS,
};

/**
 * struct cli_serve_alarm - what is published of a rule
 * @active: processes, or totals, for which it is raised
 * @raised: how often it has been raised
 */
struct cli_serve_alarm {
	const struct kl_watch_rule *rule;
	unsigned int active;
	uint64_t raised;
};

/**
 * struct cli_serve_alarms - rules that are checked at an interval
 * @file: NULL: there are none
 * @of: one for each rule
 * @checks: number of checks; @late: checks that were missed; @failed: that failed
 * @timer: -1: none
 */
struct cli_serve_alarms {
	const char *file;
	uint64_t interval_ns;
	struct kl_watch_rules *rules;
	struct kl_watch *watch;
	struct cli_serve_alarm *of;
	size_t n;
	uint64_t checks, late, failed;
	int timer;
};

/**
 * struct cli_serve_secrets - certificates and the token
 * @certificate, @key, @client_ca, @token_file: paths, or NULL
 * @text: contents of the first three; of NULL there is none
 * @mark: changes when one of the files does
 */
struct cli_serve_secrets {
	const char *certificate, *key, *client_ca, *token_file;
	char *text[3];
	struct http_token token;
	uint64_t mark;
};

struct cli_serve;

/**
 * struct cli_serve_listener - a socket, and its server
 * @passed: the service manager has opened it
 * @fd: before there is a server; -1: none
 */
struct cli_serve_listener {
	struct cli_serve *serve;
	struct http_address address;
	bool passed;
	int fd;
	struct http_server *http;
};

/**
 * struct cli_serve - a server
 * @public: addresses that other machines reach may be served without a token or certificate
 * @locks: also publish waits for locks
 * @latency: also publish how long tasks were in each state
 * @session: of @latency and @locks; its `select` has the choice of processes
 * @device: of the figures
 * @pids: of @choice
 * @cgroup: of @choice, to be freed
 * @text: the figures in each format; empty: to be formatted
 * @read_ns: when they were read; 0: never
 * @reads, @read_took_ns, @errors: how often they were read, in what time, and which parts failed
 * @codes, @code_n: answers by status; @sent: bytes of bodies
 * @reload_ok: the files were good when they were last read
 * @began: wall time of the start
 */
struct cli_serve {
	const struct cli_command *self;
	bool public, latency, locks;
	struct cli_serve_listener listener[CLI_SERVE_LISTENERS];
	size_t n_listeners;
	struct cli_serve_secrets secrets;
	struct cli_serve_alarms alarms;
	struct cli_session session;
	struct kl_device *device;
	struct kl_metrics_choice choice;
	int32_t pids[CLI_PIDS_MAX];
	char *cgroup;
	struct kl_metrics *metrics;
	struct kl_metrics_reader *reader;
	struct kl_buffer text[2];
	uint64_t read_ns;
	uint64_t reads, read_took_ns, errors[CLI_SERVE_PARTS];
	unsigned int codes[CLI_SERVE_CODES];
	uint64_t code_n[CLI_SERVE_CODES];
	uint64_t sent;
	bool reload_ok;
	double began;
};

/* figures.c: the text of all figures, at most a second old; NULL: out of memory. */
const struct kl_buffer *cli_serve_figures(struct cli_serve *serve, enum kl_metrics_format format);

/* answer.c: answers a request; @context: the listener. */
int cli_serve_answer(void *context, struct MHD_Connection *connection, const char *url,
		     const char *method);

/**
 * cli_serve_open_listeners - open the sockets, or take those of the service manager
 * @serve: `address` of each listener of the command line is filled in
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_serve_open_listeners(struct cli_serve *serve);

/* Start the servers. Returns CLI_OK, or another status after an error message. */
int cli_serve_start_listeners(struct cli_serve *serve);

void cli_serve_close_listeners(struct cli_serve *serve);

/**
 * cli_serve_read_secrets - read the files of certificates and of the token
 * @secrets: paths; the rest is replaced if all files are good
 * @why: out: what is wrong, to be freed; NULL: nothing
 *
 * Returns false, with @why, if one is not.
 */
bool cli_serve_read_secrets(struct cli_serve_secrets *secrets, char **why);

/* Has one of the files changed since cli_serve_read_secrets() was called? */
bool cli_serve_secrets_changed(const struct cli_serve_secrets *secrets);

/* The certificates as a server takes them. */
struct http_tls cli_serve_tls(const struct cli_serve_secrets *secrets);

void cli_serve_free_secrets(struct cli_serve_secrets *secrets);

/* alarms.c: reads the rules; also again, while the old ones stay in effect if that fails. */
bool cli_serve_read_rules(struct cli_serve_alarms *alarms, struct kl_device *device, char **why);

/* Check the rules. A check that fails is counted, and changes nothing. */
void cli_serve_check_rules(struct cli_serve_alarms *alarms);

void cli_serve_add_alarms(struct kl_metrics *metrics, const struct cli_serve_alarms *alarms);
void cli_serve_free_alarms(struct cli_serve_alarms *alarms);

/* What --print can print. */
enum cli_serve_print {
	CLI_SERVE_PRINT_NOTHING,
	CLI_SERVE_PRINT_METRICS,
	CLI_SERVE_PRINT_RULES,
	CLI_SERVE_PRINT_ALERTMANAGER,
};

/* print.c: without a server. Returns an exit status. */
int cli_serve_print(const struct cli_command *self, enum cli_serve_print what,
		    const char *rules_file);

#endif /* KL_CLI_SERVE_SERVE_H */
