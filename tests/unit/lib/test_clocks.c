// SPDX-License-Identifier: GPL-2.0
/* Clocks of machines that are apart by known amounts, from packets made here. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "feed.h"
#include "unit.h"

enum {
	SYN = 2,
	ACK = 0x10,
	TCP = 6,
	UDP = 17,
	MACHINES = 4,
};

struct place {
	struct kl_clocks *clocks;
	size_t machine;
};

static struct place place;
static int64_t truth[MACHINES]; /* by how much each clock is ahead */

static int take(void *report, const struct kl_item *item)
{
	const struct place *to = report;

	return kl_clocks_add(to->clocks, to->machine, item->event);
}

static void begin(size_t n)
{
	static const struct kl_trace_clock unknown;

	place.clocks = kl_clocks_create(n);
	if (!place.clocks)
		abort();
	for (size_t i = 0; i < n; i++)
		kl_clocks_set(place.clocks, i, feed_schema, &unknown);
	feed_to = &place;
	feed_take = take;
}

static void end(void)
{
	kl_clocks_destroy(place.clocks);
}

static void synchronize(size_t machine, uint64_t error_ns)
{
	const struct kl_trace_clock clock = {
		.known = true,
		.synchronized = true,
		.max_error_ns = error_ns,
	};

	kl_clocks_set(place.clocks, machine, feed_schema, &clock);
}

static uint32_t address(size_t machine)
{
	return htonl(0x0a000001 + (uint32_t)machine);
}

/* @us: true time */
static void packet(const char *what, size_t machine, uint64_t us, size_t from, size_t to,
		   uint32_t seq, uint32_t ack, int protocol)
{
	place.machine = machine;
	feed_event(what, 0, BEGIN + us * US + (uint64_t)truth[machine],
		   NUMBERS(1, 100, 0x0800, (uint64_t)protocol, address(from), address(to),
			   (uint64_t)(1000 + from), (uint64_t)(1000 + to), seq, ack, ACK));
}

static void send_tcp(size_t from, size_t to, uint64_t us, uint64_t delay_us, uint32_t seq)
{
	packet("net_dev_queue", from, us, from, to, seq, 7, TCP);
	packet("netif_receive_skb", to, us + delay_us, from, to, seq, 7, TCP);
}

static void resent(size_t from, size_t to, uint64_t us)
{
	place.machine = from;
	feed_event("tcp_retransmit_skb", 0, BEGIN + us * US + (uint64_t)truth[from],
		   NUMBERS(1, 2, 1, 2, (uint64_t)(1000 + from), (uint64_t)(1000 + to),
			   address(from), address(to)));
}

static bool holds(size_t from, size_t of)
{
	const struct kl_clock_bounds is = kl_clocks_between(place.clocks, from, of);
	const int64_t ahead = truth[of] - truth[from];

	return (!is.has_least || is.least_ns <= ahead) && (!is.has_most || is.most_ns >= ahead);
}

static void test_two(void)
{
	struct kl_clock_bounds is;

	truth[0] = 5000 * (int64_t)US;
	truth[1] = -2000 * (int64_t)US;
	begin(2);
	kl_clocks_solve(place.clocks);
	is = kl_clocks_between(place.clocks, 0, 1);
	unit_check(!is.has_least && !is.has_most && !is.packets,
		   "without packets, nothing is known");
	unit_check((kl_clocks_ahead(place.clocks, 1)) == 0, "and the clocks are taken as they are");
	/* The first packet of a flow may have been sent before. */
	send_tcp(0, 1, 0, 10, 100);
	for (uint32_t i = 1; i < 10; i++)
		send_tcp(0, 1, i * 100, 100 - i, 100 + i);
	kl_clocks_solve(place.clocks);
	is = kl_clocks_between(place.clocks, 0, 1);
	unit_check(is.has_most && !is.has_least, "packets in one direction give one bound");
	unit_check(is.most_ns >= -7000 * (int64_t)US + 91000 &&
			   is.most_ns <= -7000 * (int64_t)US + 91000 + 100,
		   "that of the fastest one");
	unit_check((is.packets) == 9, "but the first");
	unit_check(kl_clocks_ahead(place.clocks, 1) == is.most_ns, "the guess is within it");
	is = kl_clocks_between(place.clocks, 1, 0);
	unit_check(is.has_least && !is.has_most && is.least_ns > 6900 * (int64_t)US,
		   "the other way round it is the other bound");
	for (uint32_t i = 0; i < 10; i++)
		send_tcp(1, 0, 50 + i * 100, 30, 900 + i);
	kl_clocks_solve(place.clocks);
	is = kl_clocks_between(place.clocks, 0, 1);
	unit_check(is.has_least && is.has_most && holds(0, 1) && holds(1, 0),
		   "packets both ways give an interval with the truth");
	unit_check(is.most_ns - is.least_ns >= 121000 && is.most_ns - is.least_ns < 122000,
		   "as wide as the fastest round trip");
	unit_check(llabs(kl_clocks_ahead(place.clocks, 1) + 7000 * (int64_t)US) < 61000,
		   "the guess is its middle");
	end();
}

/* What must not be taken for a match. */
static void test_others(void)
{
	begin(2);
	truth[0] = truth[1] = 0;
	for (uint32_t i = 0; i < 5; i++) {
		packet("net_dev_queue", 0, 100 + i, 0, 1, i, 7, UDP);
		packet("netif_receive_skb", 1, 50 + i, 0, 1, i, 7, UDP);
	}
	for (uint32_t i = 0; i < 5; i++) {
		packet("net_dev_queue", 0, 100 + i, 0, 1, 100 + i, 7, TCP);
		packet("netif_receive_skb", 1, 50 + i, 0, 1, 100 + i, 8, TCP);
	}
	kl_clocks_solve(place.clocks);
	unit_check((kl_clocks_between(place.clocks, 0, 1).packets) == 0,
		   "neither UDP nor another acknowledgment matches");
	end();
}

static void test_resent(void)
{
	truth[0] = truth[1] = 0;
	/* Received before they are sent again: the trace begins between both. */
	begin(2);
	for (uint32_t i = 0; i < 5; i++) {
		packet("netif_receive_skb", 1, 50 + i, 0, 1, 100 + i, 7, TCP);
		packet("net_dev_queue", 0, 300 + i, 0, 1, 100 + i, 7, TCP);
		resent(0, 1, 300 + i);
	}
	kl_clocks_solve(place.clocks);
	unit_check((kl_clocks_between(place.clocks, 0, 1).packets) == 0,
		   "packets that are sent again are not used");
	/* An acknowledgment of the same number as data that was sent before the trace. */
	packet("netif_receive_skb", 1, 60, 0, 1, 105, 7, TCP);
	packet("net_dev_queue", 0, 400, 0, 1, 105, 7, TCP);
	kl_clocks_solve(place.clocks);
	unit_check((kl_clocks_between(place.clocks, 0, 1).packets) == 0,
		   "nor is the first one after them");
	for (uint32_t i = 0; i < 5; i++)
		send_tcp(0, 1, 500 + i, 50, 110 + i);
	kl_clocks_solve(place.clocks);
	unit_check((kl_clocks_between(place.clocks, 0, 1).packets) == 5 && holds(0, 1),
		   "those that follow are");
	end();
	begin(2);
	for (uint32_t i = 0; i < 5; i++)
		send_tcp(0, 1, 100 * i, 50, 100 + i);
	/* Only its copy arrives. */
	packet("net_dev_queue", 0, 500, 0, 1, 105, 7, TCP);
	packet("net_dev_queue", 0, 600, 0, 1, 106, 7, TCP);
	send_tcp(0, 1, 900, 50, 105);
	resent(0, 1, 900);
	kl_clocks_solve(place.clocks);
	unit_check((kl_clocks_between(place.clocks, 0, 1).packets) == 5 &&
			   kl_clocks_between(place.clocks, 0, 1).most_ns / 1000 == 50,
		   "a packet of which a copy arrives counts from when it was sent first");
	end();
}

static void test_bridge(void)
{
	/* A bridge passes it on: it is seen three times on each side. */
	begin(2);
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t k = 0; k < 3; k++) {
			packet("net_dev_queue", 0, 100 * i + k, 0, 1, 100 + i, 7, TCP);
			packet("netif_receive_skb", 1, 100 * i + 50 + k, 0, 1, 100 + i, 7, TCP);
		}
	kl_clocks_solve(place.clocks);
	unit_check(kl_clocks_between(place.clocks, 0, 1).packets == 4 &&
			   kl_clocks_between(place.clocks, 0, 1).most_ns / 1000 == 50,
		   "of a packet that is seen several times, the first on each side counts");
	end();
}

static void test_utc(void)
{
	struct kl_clock_bounds is;

	truth[0] = 300 * (int64_t)US;
	truth[1] = -400 * (int64_t)US;
	begin(3);
	synchronize(0, 500 * US);
	synchronize(1, 600 * US);
	kl_clocks_solve(place.clocks);
	is = kl_clocks_between(place.clocks, 0, 1);
	unit_check(is.has_least && is.has_most && is.most_ns == 1100 * (int64_t)US &&
			   is.least_ns == -1100 * (int64_t)US,
		   "two synchronized clocks are apart by the sum of their errors at most");
	is = kl_clocks_between(place.clocks, 0, 2);
	unit_check(!is.has_least && !is.has_most, "of one that is not, nothing is known");
	for (uint32_t i = 0; i < 10; i++) {
		send_tcp(1, 2, i * 100, 40, 100 + i);
		send_tcp(2, 1, i * 100 + 50, 40, 100 + i);
	}
	kl_clocks_solve(place.clocks);
	is = kl_clocks_between(place.clocks, 0, 2);
	unit_check(is.has_least && is.has_most && holds(0, 2) && is.packets == 0,
		   "until it exchanges packets with one of them");
	unit_check(is.most_ns - is.least_ns > 2200 * (int64_t)US &&
			   is.most_ns - is.least_ns < 2300 * (int64_t)US,
		   "then the errors add up");
	unit_check((kl_clocks_conflict(place.clocks)) == KL_CLOCKS_AGREE, "all of it agrees");
	truth[2] = 50000 * (int64_t)US;
	for (uint32_t i = 0; i < 10; i++) {
		send_tcp(1, 2, 5000 + i * 100, 40, 200 + i);
		send_tcp(2, 1, 5000 + i * 100 + 50, 40, 200 + i);
	}
	kl_clocks_solve(place.clocks);
	unit_check((kl_clocks_conflict(place.clocks)) == KL_CLOCKS_NOTHING,
		   "a clock that is set meanwhile contradicts itself");
	is = kl_clocks_between(place.clocks, 0, 2);
	unit_check(!is.has_least && !is.has_most, "then nothing is known");
	end();
	begin(2);
	truth[0] = 0;
	truth[1] = 90000 * (int64_t)US;
	synchronize(0, 100 * US);
	synchronize(1, 100 * US);
	for (uint32_t i = 0; i < 10; i++) {
		send_tcp(0, 1, i * 100, 40, 100 + i);
		send_tcp(1, 0, i * 100 + 50, 40, 100 + i);
	}
	kl_clocks_solve(place.clocks);
	unit_check((kl_clocks_conflict(place.clocks)) == KL_CLOCKS_NO_UTC,
		   "a machine that is wrong about its clock is not believed");
	is = kl_clocks_between(place.clocks, 0, 1);
	unit_check(is.has_least && is.has_most && holds(0, 1) && is.least_ns > 80000 * (int64_t)US,
		   "the packets are");
	end();
}

static uint64_t seed = 1;

static uint64_t below(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

/* Some pairs exchange packets with random delays. The truth is always within the bounds. */
static bool try_random(void)
{
	uint32_t seq[MACHINES][MACHINES] = { 0 };
	bool linked[MACHINES][MACHINES], good = true;

	begin(MACHINES);
	for (size_t i = 0; i < MACHINES; i++) {
		truth[i] = (int64_t)below(2000000000) - 1000000000;
		for (size_t k = 0; k < MACHINES; k++) {
			linked[i][k] = below(2);
			seq[i][k] = (uint32_t)(below(2) ? 0xffffff00u + below(200) : below(1000));
		}
	}
	if (below(2)) {
		synchronize(0, (uint64_t)llabs(truth[0]) + below(1000000));
		synchronize(1, (uint64_t)llabs(truth[1]) + below(1000000));
	}
	for (uint64_t us = 0; us < 40000; us += below(100)) {
		const size_t i = below(MACHINES), k = below(MACHINES);

		if (i == k || !linked[i][k])
			continue;
		seq[i][k] += (uint32_t)below(1000);
		send_tcp(i, k, us, 5 + below(300), seq[i][k]);
	}
	kl_clocks_solve(place.clocks);
	for (size_t i = 0; i < MACHINES; i++)
		for (size_t k = 0; k < MACHINES; k++)
			good &= holds(i, k);
	good &= kl_clocks_conflict(place.clocks) == KL_CLOCKS_AGREE;
	end();
	return good;
}

static void test_random(void)
{
	unsigned int bad = 0;

	for (unsigned int i = 0; i < 500; i++)
		bad += !try_random();
	unit_check((bad) == 0, "of 500 random sets of machines, the truth is within the bounds");
}

int main(void)
{
	unit_check(!kl_clocks_create(KL_CLOCKS_MAX + 1) && errno == E2BIG, "not too many machines");
	feed_schema = kl_schema_create();
	if (!feed_schema)
		return 1;
	test_two();
	test_others();
	test_resent();
	test_bridge();
	test_utc();
	test_random();
	kl_schema_destroy(feed_schema);
	return unit_end();
}
