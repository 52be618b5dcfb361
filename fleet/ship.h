/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Sends captures of the spool to the server. */
#ifndef FLEET_SHIP_H
#define FLEET_SHIP_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "spool.h"

/**
 * struct fleet_shipper - a connection and what has been sent over it
 * @nc: connection
 * @host: this host
 * @inbox: subject below which acknowledgments arrive
 * @acks: subscription to it
 * @serial: of the last message, which is the end of its subject for the acknowledgment
 * @error: what the server has said last; "": nothing
 * @captures, @messages, @bytes, @again: sent; of @messages, those that were sent again
 */
struct fleet_shipper {
	natsConnection *nc;
	char host[FLEET_HOST_MAX];
	char inbox[192];
	natsSubscription *acks;
	uint64_t serial;
	char error[256];
	uint64_t captures, messages, bytes, again;
};

/* Keep what the server has said, and print it after @what unless it has said the same before. */
void fleet_shipper_note(struct fleet_shipper *shipper, const char *what, const char *text);

/**
 * fleet_ship - send a capture
 * @shipper: shipper
 * @spooled: capture
 *
 * Returns true if the server has stored all of it. Otherwise the connection was lost or the server
 * refuses: the rest is to be sent later.
 */
bool fleet_ship(struct fleet_shipper *shipper, struct fleet_spooled *spooled);

#endif /* FLEET_SHIP_H */
