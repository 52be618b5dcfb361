/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP connections with their times, sizes and retransmits, packets and queues of network devices,
 * and dropped packets: what tcplife, tcpconnlat, tcpretrans and tcpdrop show.
 */
#ifndef KERNLENS_NET_REPORT_H
#define KERNLENS_NET_REPORT_H

#include <stdbool.h>
#include <kernlens/buffer.h>
#include <kernlens/histogram.h>
#include <kernlens/trace.h>

/* Connections that are listed, and that are open at the same time. */
#define KL_NET_CONNECTIONS_MAX 8192
/* Devices, and places where packets are dropped, that have rows of their own. */
#define KL_NET_DEVICES_MAX 256
#define KL_NET_DROPS_MAX 256
/* Packets that wait in queues. */
#define KL_NET_PACKETS_MAX 65536

#define KL_NET_NAME_BYTES 16

/* An end of a connection. @address: 4 bytes for AF_INET, 16 for AF_INET6, in network order */
struct kl_net_end {
	uint8_t address[16];
	uint16_t port;
};

/**
 * struct kl_net_connection - a TCP connection
 * @task: a process that uses it; tid 0: unknown
 * @family: AF_INET or AF_INET6
 * @local, @remote: its ends
 * @active: it was opened by this end
 * @begin_ns: wall time of its first state; 0: before the trace
 * @established_ns: at which it was established; 0: it was not, or before the trace
 * @end_ns: at which it was closed; 0: it was not
 * @sent, @received: bytes of calls that send and receive; if the trace has these events
 * @retransmits: retransmitted segments
 * @resets: sent and received
 */
struct kl_net_connection {
	struct kl_task task;
	uint16_t family;
	struct kl_net_end local;
	struct kl_net_end remote;
	bool active;
	uint64_t begin_ns;
	uint64_t established_ns;
	uint64_t end_ns;
	uint64_t sent;
	uint64_t received;
	uint64_t retransmits;
	uint64_t resets;
};

/**
 * struct kl_net_device - a network device
 * @sent, @sent_bytes: packets that its driver has accepted
 * @refused: packets that it has not
 * @received, @received_bytes: packets passed to their protocols
 * @timeouts: of its queues
 * @queue: times from being queued for transmission to the driver
 * @backlog: times from being received into a CPU's backlog to the protocol
 */
struct kl_net_device {
	char name[KL_NET_NAME_BYTES];
	uint64_t sent;
	uint64_t sent_bytes;
	uint64_t refused;
	uint64_t received;
	uint64_t received_bytes;
	uint64_t timeouts;
	struct kl_histogram queue;
	struct kl_histogram backlog;
};

/* Packets dropped at a place. @reason: number in the kernel's enum skb_drop_reason */
struct kl_net_drop {
	uint64_t location;
	uint32_t reason;
	uint64_t n;
	uint64_t first_ns;
	uint64_t last_ns;
};

/**
 * struct kl_net_totals - all of the network
 * @connections: connections with a begin or an end in the trace
 * @connect: times from the begin to the establishment of those opened by this end
 * @lifetime: times from the begin to the end
 * @retransmits: segments that TCP has retransmitted
 * @synack_retransmits: SYN-ACKs that it has
 * @resets_sent, @resets_received: RST segments
 * @bad_checksums: received segments with one
 * @full: packets that did not fit into a socket's queue, with those of UDP
 * @limits: how often the buffers of sockets exceeded their limit
 * @drops: dropped packets
 * @lengths: events that say how much was sent or received; without any, sizes are unknown
 * @omitted: connections that are not listed
 * @dropped: events for which another table had no room
 * @gaps: how often records were missing; what was open there is not listed
 */
struct kl_net_totals {
	uint64_t connections;
	struct kl_histogram connect;
	struct kl_histogram lifetime;
	uint64_t retransmits;
	uint64_t synack_retransmits;
	uint64_t resets_sent;
	uint64_t resets_received;
	uint64_t bad_checksums;
	uint64_t full;
	uint64_t limits;
	uint64_t drops;
	uint64_t lengths;
	uint64_t omitted;
	uint64_t dropped;
	uint64_t gaps;
};

struct kl_net_report;

/**
 * kl_net_report_create - create an empty report
 * @schema: of the trace; must outlive the report
 * @pid: only connections of this process or thread; 0: all
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_net_report *kl_net_report_create(const struct kl_schema *schema, int32_t pid);

/**
 * kl_net_report_destroy - free
 * @report: or NULL
 */
void kl_net_report_destroy(struct kl_net_report *report);

/**
 * kl_net_report_add - add an item
 * @report: report
 * @item: any
 *
 * Returns 0 or -ENOMEM.
 */
int kl_net_report_add(struct kl_net_report *report, const struct kl_item *item);

/**
 * kl_net_report_finish - list the connections that are still open
 * @report: report, to which everything has been added
 *
 * Returns 0 or -ENOMEM.
 */
int kl_net_report_finish(struct kl_net_report *report);

/**
 * kl_net_report_connections - the connections, by end, those that are open last
 * @report: finished
 * @count: out: number of connections
 *
 * Returns the connections, which belong to the report.
 */
const struct kl_net_connection *kl_net_report_connections(const struct kl_net_report *report,
							  size_t *count);

/**
 * kl_net_report_devices - the devices
 * @report: report
 * @count: out: number of devices
 *
 * The same.
 */
const struct kl_net_device *kl_net_report_devices(const struct kl_net_report *report,
						  size_t *count);

/**
 * kl_net_report_drops - where packets were dropped, most packets first
 * @report: report
 * @count: out: number of places
 *
 * The same.
 */
const struct kl_net_drop *kl_net_report_drops(struct kl_net_report *report, size_t *count);

/**
 * kl_net_report_totals - all of the network
 * @report: finished
 */
const struct kl_net_totals *kl_net_report_totals(const struct kl_net_report *report);

/**
 * kl_net_report_missing - if there is nothing to report, append the names of events
 * @report: report
 * @names: appended to, separated by commas
 */
void kl_net_report_missing(const struct kl_net_report *report, struct kl_buffer *names);

#endif /* KERNLENS_NET_REPORT_H */
