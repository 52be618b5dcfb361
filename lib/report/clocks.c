// SPDX-License-Identifier: GPL-2.0
/*
 * Finds how far the clocks of machines are apart (docs/design/clocks.md). A packet is received
 * after it has been sent, so each matched packet is an upper bound of how far the receiver's clock
 * is ahead; bounds are combined as shortest paths between machines, of which UTC is one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/clocks.h>
#include "../base/base.h"
#include "../base/table.h"
#include "events.h"

#define UNKNOWN INT64_MAX
/* Packets of a machine; after that, further ones are not used. */
#define PACKETS_MAX (1u << 20)
/* Two clocks may run apart by this while packets are matched: 100 ppm. */
#define DRIFT_PART 10000

enum {
	SENT,
	RECEIVED,
	RESENT,
	KINDS,
};

enum {
	SADDR,
	DADDR,
	SPORT,
	DPORT,
	SEQ,
	ACK,
	PROTOCOL,
};

#define FIELDS                                                                   \
	{                                                                        \
		"saddr", "daddr", "sport", "dport", "seq", "ack_seq", "ip_proto" \
	}
static const struct kl_report_event uses[KINDS] = {
	[SENT] = { "net_dev_queue", false, FIELDS },
	[RECEIVED] = { "netif_receive_skb", false, FIELDS },
	[RESENT] = { "tcp_retransmit_skb", false, { "saddr", "daddr", "sport", "dport" } },
};

/**
 * struct flow - what a machine sends in one direction of a connection
 * @last: highest sequence number so far
 * @begun: there is one
 * @known: @last is above the first one: what is sent from now on has not been sent before
 * @rose: the packet that was sent last has set @last
 * @claimed: key of that packet, if it was noted; 0: it was not
 */
struct flow {
	uint64_t key;
	uint64_t claimed;
	uint32_t last;
	bool begun, known, rose;
};

/* When a packet was first sent, or first received. */
struct packet {
	uint64_t key;
	uint64_t ns;
};

struct machine {
	struct kl_report_events events;
	struct kl_hash flows, sent, received;
	struct kl_trace_clock clock;
};

/**
 * struct kl_clocks - clocks
 * @most: [i * (n + 1) + k]: the clock of k is at most so far ahead of i's. The last one is UTC
 * @packets: [i * n + k]: matched packets from i to k
 */
struct kl_clocks {
	size_t n;
	struct machine *machine;
	int64_t *most;
	uint64_t *packets;
	enum kl_clocks_conflict conflict;
};

struct kl_clocks *kl_clocks_create(size_t n)
{
	struct kl_clocks *clocks;

	if (n > KL_CLOCKS_MAX) {
		errno = E2BIG;
		return NULL;
	}
	clocks = calloc(1, sizeof(*clocks));
	if (!clocks)
		return NULL;
	clocks->n = n;
	clocks->machine = calloc(n + 1, sizeof(*clocks->machine));
	clocks->most = calloc((n + 1) * (n + 1), sizeof(*clocks->most));
	clocks->packets = calloc(n * n + 1, sizeof(*clocks->packets));
	if (!clocks->machine || !clocks->most || !clocks->packets) {
		kl_clocks_destroy(clocks);
		errno = ENOMEM;
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		clocks->machine[i].flows.size = sizeof(struct flow);
		clocks->machine[i].sent.size = sizeof(struct packet);
		clocks->machine[i].received.size = sizeof(struct packet);
	}
	for (size_t i = 0; i < (n + 1) * (n + 1); i++)
		clocks->most[i] = UNKNOWN;
	return clocks;
}

void kl_clocks_destroy(struct kl_clocks *clocks)
{
	if (!clocks)
		return;
	for (size_t i = 0; clocks->machine && i < clocks->n; i++) {
		kl_hash_deinit(&clocks->machine[i].flows);
		kl_hash_deinit(&clocks->machine[i].sent);
		kl_hash_deinit(&clocks->machine[i].received);
	}
	free(clocks->machine);
	free(clocks->most);
	free(clocks->packets);
	free(clocks);
}

void kl_clocks_set(struct kl_clocks *clocks, size_t machine, const struct kl_schema *schema,
		   const struct kl_trace_clock *clock)
{
	kl_report_events_init(&clocks->machine[machine].events, schema, uses, KINDS);
	clocks->machine[machine].clock = *clock;
}

/* ------------------------------------------------------------------- packets */

/* A number that depends on all bits of two, as in splitmix64, and is not 0. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = a + 0x9e3779b97f4a7c15ull * (b + 1);

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	return x ? x : 1;
}

/* Addresses of IPv4; 0: another protocol, or within the machine. */
static uint64_t flow_of(const struct machine *m, const struct kl_event *event, int kind)
{
	const uint32_t from = (uint32_t)kl_report_number(&m->events, event, kind, SADDR);
	const uint32_t to = (uint32_t)kl_report_number(&m->events, event, kind, DADDR);
	const uint64_t ports = kl_report_number(&m->events, event, kind, SPORT) << 16 |
			       kl_report_number(&m->events, event, kind, DPORT);

	if (!from || !to || ntohl(to) >> 24 == IN_LOOPBACKNET)
		return 0;
	return mix((uint64_t)from << 32 | to, ports);
}

/* Returns whether the packet is sent for the first time, as far as the trace tells. */
static bool is_first(struct flow *flow, uint32_t seq)
{
	flow->claimed = 0;
	flow->rose = !flow->begun || (int32_t)(seq - flow->last) >= 0;
	if (!flow->rose)
		return false;
	flow->known |= flow->begun && seq != flow->last;
	flow->begun = true;
	flow->last = seq;
	return flow->known;
}

/* The packet that was sent last had been sent before: begin anew if it looked like a new one. */
static void take_back(struct machine *m, struct flow *flow)
{
	if (flow->claimed)
		kl_hash_remove(&m->sent, flow->claimed);
	flow->claimed = 0;
	if (flow->rose) {
		flow->begun = false;
		flow->known = false;
	}
}

/* Note the first time. Returns 1, 0 if there was an earlier one, or -ENOMEM. */
static int note(struct kl_hash *table, uint64_t key, uint64_t ns)
{
	struct packet *packet;

	if (table->count >= PACKETS_MAX && !kl_hash_find(table, key))
		return 0;
	packet = kl_hash_get(table, key);
	if (!packet)
		return -ENOMEM;
	/* Bridges and virtual devices pass on packets that have been counted already. */
	if (packet->ns && packet->ns <= ns)
		return 0;
	packet->ns = ns;
	return 1;
}

static int note_sent(struct machine *m, uint64_t flow_key, uint32_t seq, uint64_t key, uint64_t ns)
{
	struct flow *flow = kl_hash_get(&m->flows, flow_key);
	int noted;

	if (!flow)
		return -ENOMEM;
	if (!is_first(flow, seq))
		return 0;
	noted = note(&m->sent, key, ns);
	flow->claimed = noted > 0 ? key : 0;
	return noted < 0 ? noted : 0;
}

int kl_clocks_add(struct kl_clocks *clocks, size_t machine, const struct kl_event *event)
{
	struct machine *m = &clocks->machine[machine];
	const int kind = kl_report_event_of(&m->events, event);
	const uint64_t flow = kind < 0 ? 0 : flow_of(m, event, kind);
	struct flow *known;
	uint64_t seq, key;

	if (flow && kind == RESENT) {
		known = kl_hash_find(&m->flows, flow);
		if (known)
			take_back(m, known);
		return 0;
	}
	if (!flow || kl_report_number(&m->events, event, kind, PROTOCOL) != IPPROTO_TCP)
		return 0;
	seq = kl_report_number(&m->events, event, kind, SEQ);
	key = mix(flow, seq << 32 | kl_report_number(&m->events, event, kind, ACK));
	if (kind == SENT)
		return note_sent(m, flow, (uint32_t)seq, key, event->ns);
	return note(&m->received, key, event->ns) < 0 ? -ENOMEM : 0;
}

/* -------------------------------------------------------------------- bounds */

static int64_t *most(struct kl_clocks *clocks, size_t from, size_t of)
{
	return &clocks->most[from * (clocks->n + 1) + of];
}

/* The packets from one machine to another. */
struct matched {
	uint64_t n;
	int64_t least; /* of received minus sent */
	uint64_t first_ns, last_ns;
};

static struct matched match(const struct kl_clocks *clocks, size_t from, size_t to)
{
	const struct machine *m = &clocks->machine[from];
	struct matched result = { .least = UNKNOWN, .first_ns = UINT64_MAX };
	const struct packet *sent = NULL, *received;

	while ((sent = kl_hash_next(&m->sent, sent))) {
		received = kl_hash_find(&clocks->machine[to].received, sent->key);
		if (!received)
			continue;
		result.n++;
		if ((int64_t)(received->ns - sent->ns) < result.least)
			result.least = (int64_t)(received->ns - sent->ns);
		if (sent->ns < result.first_ns)
			result.first_ns = sent->ns;
		if (sent->ns > result.last_ns)
			result.last_ns = sent->ns;
	}
	return result;
}

/* What two machines have exchanged bounds both directions. */
static void bound_by_packets(struct kl_clocks *clocks, size_t a, size_t b)
{
	const struct matched there = match(clocks, a, b), back = match(clocks, b, a);
	int64_t drift = 0;

	clocks->packets[a * clocks->n + b] = there.n;
	clocks->packets[b * clocks->n + a] = back.n;
	/* The best packets of the two directions have not been sent at the same time. */
	if (there.n)
		drift += (int64_t)(there.last_ns - there.first_ns) / DRIFT_PART;
	if (back.n)
		drift += (int64_t)(back.last_ns - back.first_ns) / DRIFT_PART;
	if (there.n)
		*most(clocks, a, b) = there.least + drift;
	if (back.n)
		*most(clocks, b, a) = back.least + drift;
}

/* Between a machine and UTC. Before that was read, it may have been corrected by the offset. */
static void bound_by_utc(struct kl_clocks *clocks, size_t i)
{
	const struct kl_trace_clock *clock = &clocks->machine[i].clock;
	const uint64_t offset = clock->offset_ns < 0 ? 0 - (uint64_t)clock->offset_ns :
						       (uint64_t)clock->offset_ns;
	const uint64_t error = clock->max_error_ns + offset;

	if (!clock->known || !clock->synchronized || error > INT64_MAX / 4 ||
	    clock->max_error_ns > INT64_MAX / 4)
		return;
	*most(clocks, clocks->n, i) = (int64_t)error;
	*most(clocks, i, clocks->n) = (int64_t)error;
}

static int64_t sum(int64_t a, int64_t b)
{
	int64_t c;

	if (a == UNKNOWN || b == UNKNOWN || __builtin_add_overflow(a, b, &c))
		return UNKNOWN;
	return c;
}

/* Combine bounds (Floyd and Warshall). Returns false if they contradict each other. */
static bool combine(struct kl_clocks *clocks)
{
	const size_t all = clocks->n + 1;

	for (size_t i = 0; i < all; i++)
		*most(clocks, i, i) = 0;
	for (size_t via = 0; via < all; via++)
		for (size_t i = 0; i < all; i++)
			for (size_t k = 0; k < all; k++) {
				const int64_t there =
					sum(*most(clocks, i, via), *most(clocks, via, k));

				if (there < *most(clocks, i, k))
					*most(clocks, i, k) = there;
			}
	for (size_t i = 0; i < all; i++)
		if (*most(clocks, i, i) < 0)
			return false;
	return true;
}

static bool solve(struct kl_clocks *clocks, enum kl_clocks_conflict without)
{
	const size_t all = clocks->n + 1;

	for (size_t i = 0; i < all * all; i++)
		clocks->most[i] = UNKNOWN;
	for (size_t i = 0; i < clocks->n && without < KL_CLOCKS_NOTHING; i++)
		for (size_t k = i + 1; k < clocks->n; k++)
			bound_by_packets(clocks, i, k);
	for (size_t i = 0; i < clocks->n && without < KL_CLOCKS_NO_UTC; i++)
		bound_by_utc(clocks, i);
	clocks->conflict = without;
	return combine(clocks);
}

void kl_clocks_solve(struct kl_clocks *clocks)
{
	enum kl_clocks_conflict without = KL_CLOCKS_AGREE;

	while (!solve(clocks, without))
		without++;
}

enum kl_clocks_conflict kl_clocks_conflict(const struct kl_clocks *clocks)
{
	return clocks->conflict;
}

struct kl_clock_bounds kl_clocks_between(const struct kl_clocks *clocks, size_t from, size_t of)
{
	const size_t all = clocks->n + 1;
	const int64_t above = clocks->most[from * all + of], below = clocks->most[of * all + from];

	return (struct kl_clock_bounds){
		.has_least = below != UNKNOWN,
		.has_most = above != UNKNOWN,
		.least_ns = below == UNKNOWN ? 0 : -below,
		.most_ns = above == UNKNOWN ? 0 : above,
		.packets = from == of ? 0 :
					clocks->packets[from * clocks->n + of] +
						clocks->packets[of * clocks->n + from],
	};
}

int64_t kl_clocks_ahead(const struct kl_clocks *clocks, size_t machine)
{
	const struct kl_clock_bounds is = kl_clocks_between(clocks, 0, machine);

	if (is.has_least && is.has_most)
		return is.least_ns + (is.most_ns - is.least_ns) / 2;
	if (is.has_least)
		return is.least_ns > 0 ? is.least_ns : 0;
	return is.has_most && is.most_ns < 0 ? is.most_ns : 0;
}
