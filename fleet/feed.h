/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Reads stored messages of the stream in order, and goes on after gaps and lost connections. */
#ifndef FLEET_FEED_H
#define FLEET_FEED_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "manifest.h"

/**
 * struct fleet_feed - a place in the stream
 * @filter: subjects
 * @next: number of the first message in the stream that has not been returned
 * @serial: number of the next message of the present consumer
 * @ended: there is nothing more
 * @resumed: how often it had to begin anew from @next
 */
struct fleet_feed {
	jsCtx *js;
	char filter[256];
	natsSubscription *sub;
	uint64_t next, serial;
	bool ended;
	unsigned int resumed;
};

/* Returns an exit status, after an error message. */
int fleet_feed_open(struct fleet_feed *feed, jsCtx *js, const char *filter);

/* The next message, to be destroyed. Returns 1, 0 at the end, or -1 after an error message. */
int fleet_feed_next(struct fleet_feed *feed, natsMsg **msg);

void fleet_feed_close(struct fleet_feed *feed);

/* Parts of the subject of a message of a trace: HOST, CAPTURE. False: it has others. */
bool fleet_feed_names(natsMsg *msg, char *host, size_t host_bytes, char *capture,
		      size_t capture_bytes);

/**
 * fleet_feed_head - read the head of a capture
 * @msg: message
 * @host, @capture: names in its subject, which the head must have
 * @manifest: filled in; to be released also after a failure
 *
 * Returns false after an error message.
 */
bool fleet_feed_head(natsMsg *msg, const char *host, const char *capture,
		     struct fleet_manifest *manifest);

#endif /* FLEET_FEED_H */
