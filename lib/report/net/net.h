/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of the report net: net.c has devices, queues and drops, tcp.c connections. */
#ifndef KL_LIB_REPORT_NET_H
#define KL_LIB_REPORT_NET_H

#include <kernlens/net_report.h>
#include "../../base/table.h"
#include "../events.h"

/* Events, by their place in the table of net.c. */
enum kl_net_event {
	KL_NET_STATE,
	KL_NET_QUEUE,
	KL_NET_XMIT,
	KL_NET_RX,
	KL_NET_RECEIVE,
	KL_NET_SEND,
	KL_NET_RECV,
	KL_NET_RETRANSMIT,
	KL_NET_SYNACK,
	KL_NET_RESET_SENT,
	KL_NET_RESET_RECEIVED,
	KL_NET_CHECKSUM,
	KL_NET_DROP,
	KL_NET_TIMEOUT,
	KL_NET_FULL,
	KL_NET_UDP_FULL,
	KL_NET_LIMIT,
	KL_NET_EVENTS,
};

/* Fields of KL_NET_STATE. */
enum {
	KL_NET_SKADDR,
	KL_NET_OLD,
	KL_NET_NEW,
	KL_NET_PROTOCOL,
	KL_NET_FAMILY,
	KL_NET_SPORT,
	KL_NET_DPORT,
	KL_NET_SADDR,
	KL_NET_DADDR,
	KL_NET_SADDR6,
	KL_NET_DADDR6,
};

/* A connection that is open. Key: the socket's address. */
struct kl_net_open {
	uint64_t key;
	struct kl_net_connection is;
};

struct kl_net_report {
	struct kl_report_events events;
	struct kl_hash open;
	struct kl_net_connection *connection;
	size_t n;
	size_t room;
	struct kl_hash packets;
	struct kl_hash devices_by_name;
	struct kl_net_device *device;
	size_t n_devices;
	size_t devices_room;
	struct kl_net_drop drop[KL_NET_DROPS_MAX];
	size_t n_drops;
	struct kl_net_totals totals;
	int32_t pid;
	bool any;
};

/* Add a change of a socket's state, or what a socket does. Return 0 or -ENOMEM. */
int kl_net_add_state(struct kl_net_report *report, const struct kl_event *event);
int kl_net_add_socket(struct kl_net_report *report, const struct kl_event *event, int which);

/* Records are missing: connections that are open may have been closed. */
void kl_net_lose_connections(struct kl_net_report *report);

#endif /* KL_LIB_REPORT_NET_H */
