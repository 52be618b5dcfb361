// SPDX-License-Identifier: GPL-2.0
/* Packets and queues of network devices, and where packets are dropped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "net.h"

#define NS_PER_US 1000

static const struct kl_report_event used[KL_NET_EVENTS] = {
	[KL_NET_STATE] = { "inet_sock_set_state",
			   true,
			   { "skaddr", "oldstate", "newstate", "protocol", "family", "sport",
			     "dport", "saddr", "daddr", "saddr_v6", "daddr_v6" } },
	[KL_NET_QUEUE] = { "net_dev_queue", false, { "skbaddr", "len", "name" } },
	[KL_NET_XMIT] = { "net_dev_xmit", true, { "skbaddr", "len", "name", "rc" } },
	[KL_NET_RX] = { "netif_rx", false, { "skbaddr", "len", "name" } },
	[KL_NET_RECEIVE] = { "netif_receive_skb", true, { "skbaddr", "len", "name" } },
	[KL_NET_SEND] = { "sock_send_length", false, { "skaddr", "ret" } },
	[KL_NET_RECV] = { "sock_recv_length", false, { "skaddr", "ret" } },
	[KL_NET_RETRANSMIT] = { "tcp_retransmit_skb", false, { "skaddr" } },
	[KL_NET_SYNACK] = { "tcp_retransmit_synack", false, { "skaddr" } },
	[KL_NET_RESET_SENT] = { "tcp_send_reset", false, { "skaddr" } },
	[KL_NET_RESET_RECEIVED] = { "tcp_receive_reset", false, { "skaddr" } },
	[KL_NET_CHECKSUM] = { "tcp_bad_csum", false, { NULL } },
	[KL_NET_DROP] = { "kfree_skb", false, { "location", "reason" } },
	[KL_NET_TIMEOUT] = { "net_dev_xmit_timeout", false, { NULL, NULL, "name" } },
	[KL_NET_FULL] = { "sock_rcvqueue_full", false, { NULL } },
	[KL_NET_UDP_FULL] = { "udp_fail_queue_rcv_skb", false, { NULL } },
	[KL_NET_LIMIT] = { "sock_exceed_buf_limit", false, { NULL } },
};

/* Fields of events of packets. */
enum {
	SKBADDR,
	LEN,
	DEVICE,
	RC,
};

/* A packet in a queue. Key: its address, and which queue. */
struct packet {
	uint64_t key;
	uint64_t ns;
};

/* Key: hash of the name. */
struct device_of {
	uint64_t key;
	size_t number;
};

/* ------------------------------------------------------------------- devices */

/* Sets *@device, to NULL if there are too many. Returns 0 or -ENOMEM. */
static int get_device(struct kl_net_report *report, const struct kl_event *event, int which,
		      struct kl_net_device **device)
{
	char name[KL_NET_NAME_BYTES];
	struct kl_net_device *grown;
	struct device_of *entry;
	uint64_t key;

	kl_report_text(&report->events, event, which, DEVICE, name, sizeof(name));
	key = kl_hash_bytes(KL_HASH_START, name, strlen(name));
	key = key ? key : 1;
	entry = kl_hash_find(&report->devices_by_name, key);
	*device = entry ? &report->device[entry->number] : NULL;
	if (entry || report->n_devices >= KL_NET_DEVICES_MAX)
		return 0;
	grown = kl_array_grow(report->device, report->n_devices, &report->devices_room,
			      sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	report->device = grown;
	entry = kl_hash_get(&report->devices_by_name, key);
	if (!entry)
		return -ENOMEM;
	*device = &grown[report->n_devices];
	memset(*device, 0, sizeof(**device));
	memcpy((*device)->name, name, sizeof(name));
	kl_histogram_init(&(*device)->queue, NS_PER_US);
	kl_histogram_init(&(*device)->backlog, NS_PER_US);
	entry->number = report->n_devices++;
	return 0;
}

/* The two queues of a packet have keys of their own; addresses of packets are even. */
static uint64_t key_of(struct kl_net_report *report, const struct kl_event *event, int which,
		       bool backlog)
{
	return kl_report_number(&report->events, event, which, SKBADDR) * 2 + 2 + backlog;
}

/* A packet enters a queue. */
static int enter(struct kl_net_report *report, const struct kl_event *event, int which)
{
	const uint64_t key = key_of(report, event, which, which == KL_NET_RX);
	struct packet *packet;

	if (!key)
		return 0;
	/* Packets that were dropped in a queue remain here. */
	if (report->packets.count >= KL_NET_PACKETS_MAX)
		kl_hash_deinit(&report->packets);
	packet = kl_hash_get(&report->packets, key);
	if (!packet)
		return -ENOMEM;
	packet->ns = event->ns;
	return 0;
}

/* It leaves it; how long it was there counts if it is known. */
static int leave(struct kl_net_report *report, const struct kl_event *event, int which,
		 struct kl_histogram *time)
{
	const uint64_t key = key_of(report, event, which, which == KL_NET_RECEIVE);
	const struct packet *packet = key ? kl_hash_find(&report->packets, key) : NULL;
	uint64_t ns;

	if (!packet)
		return 0;
	ns = event->ns > packet->ns ? event->ns - packet->ns : 0;
	kl_hash_remove(&report->packets, key);
	return kl_histogram_add(time, ns);
}

static int add_packet(struct kl_net_report *report, const struct kl_event *event, int which)
{
	const uint64_t bytes = kl_report_number(&report->events, event, which, LEN);
	struct kl_net_device *device;
	int error = get_device(report, event, which, &device);

	if (error || !device) {
		report->totals.dropped += !error;
		return error;
	}
	if (which == KL_NET_TIMEOUT) {
		device->timeouts++;
		return 0;
	}
	if (which == KL_NET_RECEIVE) {
		device->received++;
		device->received_bytes += bytes;
		return leave(report, event, which, &device->backlog);
	}
	if (kl_report_number(&report->events, event, which, RC)) {
		device->refused++;
		return 0;
	}
	device->sent++;
	device->sent_bytes += bytes;
	return leave(report, event, which, &device->queue);
}

static void add_drop(struct kl_net_report *report, const struct kl_event *event)
{
	const uint64_t location = kl_report_number(&report->events, event, KL_NET_DROP, 0);
	const uint32_t reason = (uint32_t)kl_report_number(&report->events, event, KL_NET_DROP, 1);
	size_t i = 0;

	report->totals.drops++;
	while (i < report->n_drops &&
	       (report->drop[i].location != location || report->drop[i].reason != reason))
		i++;
	if (i == KL_NET_DROPS_MAX) {
		report->totals.dropped++;
		return;
	}
	if (i == report->n_drops)
		report->drop[report->n_drops++] = (struct kl_net_drop){ .location = location,
									.reason = reason,
									.first_ns = event->ns };
	report->drop[i].n++;
	report->drop[i].last_ns = event->ns;
}

/* ----------------------------------------------------------------- interface */

struct kl_net_report *kl_net_report_create(const struct kl_schema *schema, int32_t pid)
{
	struct kl_net_report *report = calloc(1, sizeof(*report));

	if (!report) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	kl_report_events_init(&report->events, schema, used, KL_NET_EVENTS);
	report->open.size = sizeof(struct kl_net_open);
	report->packets.size = sizeof(struct packet);
	report->devices_by_name.size = sizeof(struct device_of);
	kl_histogram_init(&report->totals.connect, NS_PER_US);
	kl_histogram_init(&report->totals.lifetime, NS_PER_US);
	report->pid = pid;
	return report;
}

void kl_net_report_destroy(struct kl_net_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->n_devices; i++) {
		kl_histogram_deinit(&report->device[i].queue);
		kl_histogram_deinit(&report->device[i].backlog);
	}
	kl_histogram_deinit(&report->totals.connect);
	kl_histogram_deinit(&report->totals.lifetime);
	kl_hash_deinit(&report->open);
	kl_hash_deinit(&report->packets);
	kl_hash_deinit(&report->devices_by_name);
	free(report->connection);
	free(report->device);
	free(report);
}

static uint64_t *count_of(struct kl_net_totals *totals, int which)
{
	switch (which) {
	case KL_NET_RETRANSMIT:
		return &totals->retransmits;
	case KL_NET_SYNACK:
		return &totals->synack_retransmits;
	case KL_NET_RESET_SENT:
		return &totals->resets_sent;
	case KL_NET_RESET_RECEIVED:
		return &totals->resets_received;
	case KL_NET_CHECKSUM:
		return &totals->bad_checksums;
	case KL_NET_FULL:
	case KL_NET_UDP_FULL:
		return &totals->full;
	case KL_NET_LIMIT:
		return &totals->limits;
	default:
		return NULL;
	}
}

static int add_event(struct kl_net_report *report, const struct kl_event *event, int which)
{
	uint64_t *count = count_of(&report->totals, which);

	if (count)
		++*count;
	switch (which) {
	case KL_NET_STATE:
		return kl_net_add_state(report, event);
	case KL_NET_QUEUE:
	case KL_NET_RX:
		return enter(report, event, which);
	case KL_NET_XMIT:
	case KL_NET_RECEIVE:
	case KL_NET_TIMEOUT:
		return add_packet(report, event, which);
	case KL_NET_DROP:
		add_drop(report, event);
		return 0;
	case KL_NET_SEND:
	case KL_NET_RECV:
	case KL_NET_RETRANSMIT:
	case KL_NET_RESET_SENT:
	case KL_NET_RESET_RECEIVED:
		return kl_net_add_socket(report, event, which);
	default:
		return 0;
	}
}

int kl_net_report_add(struct kl_net_report *report, const struct kl_item *item)
{
	int which;

	if (item->kind == KL_ITEM_LOSS) {
		if (item->loss->kind == KL_LOSS_UNSEEN)
			return 0;
		report->totals.gaps++;
		kl_hash_deinit(&report->packets);
		kl_net_lose_connections(report);
		return 0;
	}
	which = kl_report_event_of(&report->events, item->event);
	report->any |= which >= 0;
	return which < 0 ? 0 : add_event(report, item->event, which);
}

const struct kl_net_connection *kl_net_report_connections(const struct kl_net_report *report,
							  size_t *count)
{
	*count = report->n;
	return report->connection;
}

const struct kl_net_device *kl_net_report_devices(const struct kl_net_report *report, size_t *count)
{
	*count = report->n_devices;
	return report->device;
}

static int compare_drops(const void *a, const void *b)
{
	const struct kl_net_drop *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return x->first_ns < y->first_ns ? -1 : x->first_ns > y->first_ns;
}

const struct kl_net_drop *kl_net_report_drops(struct kl_net_report *report, size_t *count)
{
	*count = report->n_drops;
	qsort(report->drop, report->n_drops, sizeof(*report->drop), compare_drops);
	return report->drop;
}

const struct kl_net_totals *kl_net_report_totals(const struct kl_net_report *report)
{
	return &report->totals;
}

void kl_net_report_missing(const struct kl_net_report *report, struct kl_buffer *names)
{
	if (!report->any)
		kl_report_missing(&report->events, false, names);
}
