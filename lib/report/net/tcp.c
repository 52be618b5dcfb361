// SPDX-License-Identifier: GPL-2.0
/* TCP connections, from the changes of their sockets' states. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "../../base/base.h"
#include "net.h"

static uint64_t number(const struct kl_net_report *report, const struct kl_event *event, int which,
		       unsigned int field)
{
	return kl_report_number(&report->events, event, which, field);
}

static bool is_listed(const struct kl_net_report *report, const struct kl_net_connection *is)
{
	return !report->pid || is->task.pid == report->pid || is->task.tid == report->pid;
}

/* List a connection that is closed, or open at the end. */
static int list(struct kl_net_report *report, const struct kl_net_connection *is)
{
	struct kl_net_connection *grown;

	if (!is_listed(report, is))
		return 0;
	report->totals.connections++;
	if (report->n >= KL_NET_CONNECTIONS_MAX) {
		report->totals.omitted++;
	} else {
		grown = kl_array_grow(report->connection, report->n, &report->room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		report->connection = grown;
		grown[report->n++] = *is;
	}
	if (is->active && is->begin_ns && is->established_ns &&
	    kl_histogram_add(&report->totals.connect, is->established_ns > is->begin_ns ?
							      is->established_ns - is->begin_ns :
							      0))
		return -ENOMEM;
	if (!is->begin_ns || !is->end_ns)
		return 0;
	return kl_histogram_add(&report->totals.lifetime,
				is->end_ns > is->begin_ns ? is->end_ns - is->begin_ns : 0);
}

static void take_end(const struct kl_net_report *report, const struct kl_event *event,
		     unsigned int ipv4, unsigned int ipv6, unsigned int port,
		     struct kl_net_connection *is, struct kl_net_end *end)
{
	const uint32_t address = (uint32_t)number(report, event, KL_NET_STATE, ipv4);

	end->port = (uint16_t)number(report, event, KL_NET_STATE, port);
	if (is->family == AF_INET)
		memcpy(end->address, &address, sizeof(address));
	else
		kl_report_bytes(&report->events, event, KL_NET_STATE, ipv6, end->address,
				sizeof(end->address));
}

/* The process whose call has led to a state. Others come with packets, whatever runs then. */
static bool is_of_process(uint64_t state)
{
	return state == TCP_SYN_SENT || state == TCP_FIN_WAIT1 || state == TCP_LAST_ACK;
}

/* Sets *@open to a connection that is open; NULL: it is not, or there are too many. */
static int get_open(struct kl_net_report *report, uint64_t socket, bool opens,
		    struct kl_net_open **open)
{
	*open = kl_hash_find(&report->open, socket);
	if (*open || !opens)
		return 0;
	if (report->open.count >= KL_NET_CONNECTIONS_MAX) {
		report->totals.dropped++;
		return 0;
	}
	*open = kl_hash_get(&report->open, socket);
	return *open ? 0 : -ENOMEM;
}

int kl_net_add_state(struct kl_net_report *report, const struct kl_event *event)
{
	const uint64_t socket = number(report, event, KL_NET_STATE, KL_NET_SKADDR);
	const uint64_t old = number(report, event, KL_NET_STATE, KL_NET_OLD);
	const uint64_t now = number(report, event, KL_NET_STATE, KL_NET_NEW);
	struct kl_net_open *open;
	bool is_new;
	int error;

	if (number(report, event, KL_NET_STATE, KL_NET_PROTOCOL) != IPPROTO_TCP || !socket)
		return 0;
	/* Sockets that listen have no connection. */
	if (now == TCP_LISTEN || old == TCP_LISTEN)
		return 0;
	error = get_open(report, socket, true, &open);
	if (error || !open)
		return error;
	is_new = !open->is.family;
	open->is.family = (uint16_t)number(report, event, KL_NET_STATE, KL_NET_FAMILY);
	take_end(report, event, KL_NET_SADDR, KL_NET_SADDR6, KL_NET_SPORT, &open->is,
		 &open->is.local);
	take_end(report, event, KL_NET_DADDR, KL_NET_DADDR6, KL_NET_DPORT, &open->is,
		 &open->is.remote);
	if (now == TCP_SYN_SENT || (now == TCP_ESTABLISHED && old == TCP_SYN_RECV && is_new))
		open->is.begin_ns = event->ns;
	open->is.active |= now == TCP_SYN_SENT;
	if (now == TCP_ESTABLISHED)
		open->is.established_ns = event->ns;
	if (is_of_process(now) && event->task.tid)
		open->is.task = event->task;
	if (now != TCP_CLOSE)
		return 0;
	open->is.end_ns = event->ns;
	error = list(report, &open->is);
	kl_hash_remove(&report->open, socket);
	return error;
}

int kl_net_add_socket(struct kl_net_report *report, const struct kl_event *event, int which)
{
	const uint64_t socket = number(report, event, which, 0);
	const int32_t bytes = (int32_t)number(report, event, which, 1);
	struct kl_net_open *open;
	int error = get_open(report, socket, false, &open);

	report->totals.lengths += which == KL_NET_SEND || which == KL_NET_RECV;
	if (error || !open || !socket)
		return error;
	switch (which) {
	case KL_NET_SEND:
	case KL_NET_RECV:
		open->is.task = event->task;
		if (bytes > 0)
			*(which == KL_NET_SEND ? &open->is.sent : &open->is.received) +=
				(uint32_t)bytes;
		break;
	case KL_NET_RETRANSMIT:
		open->is.retransmits++;
		break;
	default:
		open->is.resets++;
	}
	return 0;
}

int kl_net_report_finish(struct kl_net_report *report)
{
	const struct kl_net_open *open = NULL;
	int error = 0;

	while (!error && (open = kl_hash_next(&report->open, open)))
		error = list(report, &open->is);
	kl_hash_deinit(&report->open);
	return error;
}

void kl_net_lose_connections(struct kl_net_report *report)
{
	kl_hash_deinit(&report->open);
}
