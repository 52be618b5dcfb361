/* SPDX-License-Identifier: GPL-2.0 */
/* kernlens ship: what its files share. docs/design/fleet.md has the rules. */
#ifndef KL_CLI_FLEET_SHIP_H
#define KL_CLI_FLEET_SHIP_H

#include <stdbool.h>
#include <stdint.h>
#include <kernlens/internal.h>

#include "../session/run.h"
#include "../session/select.h"
#include "fleet.h"

#define CLI_SHIP_RECENT 64

/**
 * struct cli_ship_agent - the process that talks to the server
 * @pid: 0: it does not run
 * @exit: descriptor that becomes readable when it ends
 * @socket: packets of JSON
 * @greeted: it has started once, so it has seen what an earlier recorder left in the spool
 * @start_ns: when it is to be started again
 */
struct cli_ship_agent {
	pid_t pid;
	int exit, socket;
	bool greeted;
	uint64_t start_ns;
	unsigned int started;
};

/**
 * struct cli_ship - a flight recorder whose captures go to a spool
 * @words: options for the agent
 * @host: this host's name
 * @spool: directory; @spool_fd: locked as long as this runs
 * @spool_most: its maximum size
 * @with: patterns of hosts that freeze at this host's alarms, too; NULL: none
 * @rest_ns: minimum time between two captures
 * @alarms: rules of the command line, a line each
 * @first: the clocks before the session was started
 * @requested: requests of the handler `snapshot` and of `kernlens snapshot` that have been seen
 * @recent: IDs of the last captures
 * @last_ns: when the last one was taken, CLOCK_MONOTONIC
 * @taken, @refused, @failed: captures
 * @why: the last reason for one that was refused or failed
 */
struct cli_ship {
	const struct cli_command *self;
	struct cli_session session;
	struct cli_run run;
	struct cli_fleet_words words;
	char host[CLI_FLEET_ID_MAX];
	const char *spool;
	int spool_fd;
	uint64_t spool_most;
	const char *with;
	const char *rules_file;
	struct kl_buffer alarms;
	uint64_t rest_ns, interval_ns;
	struct kl_watch_rules *rules;
	struct kl_watch *watch;
	int poll, signals, timer;
	struct cli_ship_agent agent;
	struct kl_abi_time first;
	struct kl_abi_stats stats;
	uint64_t requested;
	char recent[CLI_SHIP_RECENT][CLI_FLEET_ID_MAX];
	unsigned int next_recent;
	uint64_t last_ns;
	uint64_t taken, refused, failed;
	char why[128];
};

/**
 * struct cli_ship_request - why to take a capture
 * @capture: its ID
 * @reason: for people
 * @from: who requests it
 * @reply: where the answer goes; "": nowhere
 */
struct cli_ship_request {
	const char *capture, *reason, *from, *reply;
};

/* capture.c: create and lock the spool. Returns CLI_OK, or another status after a message. */
int cli_ship_open_spool(struct cli_ship *ship);

/* Bytes of the buffers of all CPUs. */
uint64_t cli_ship_window(const struct cli_ship *ship);

/* Bytes that the spool takes. */
uint64_t cli_ship_spooled(const struct cli_ship *ship);

/**
 * cli_ship_capture - copy the buffers to the spool
 * @ship: ship; the session continues
 * @request: request, which is answered before the copy begins
 *
 * A request that cannot be fulfilled is counted and reported.
 */
void cli_ship_capture(struct cli_ship *ship, const struct cli_ship_request *request);

/* agent.c: start the agent if it is time, and take what it sends. */
void cli_ship_start_agent(struct cli_ship *ship);
void cli_ship_poll_agent(struct cli_ship *ship);
void cli_ship_stop_agent(struct cli_ship *ship);

/* Send the agent an object, which is released. Does not wait: what does not fit is lost. */
void cli_ship_tell_agent(struct cli_ship *ship, json_t *object);

/* Answer a request of the server. */
void cli_ship_reply(struct cli_ship *ship, const char *reply, json_t *body);

#endif /* KL_CLI_FLEET_SHIP_H */
