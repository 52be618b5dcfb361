// SPDX-License-Identifier: GPL-2.0
/* Publishes how long tasks were in each state, from the buckets of a session's latency profile. */
#include <errno.h>

#include <kernlens/latency.h>
#include "../base/base.h"
#include "../client/client.h"
#include "metrics.h"

/* Each second bound of the module: 1 us, 4 us ... 16.8 s. */
#define STEP 2

static void add_state(struct kl_metrics *m, const struct kl_abi_latency_times *times,
		      uint64_t clock_hz)
{
	struct kl_metric_buckets buckets = { .sum = (double)times->sum / (double)clock_hz };
	const char *state = kl_latency_state_name(times->state);

	for (unsigned int i = 0; i + 1 < KL_LATENCY_BUCKETS; i += STEP)
		buckets.bound[buckets.n++] = (double)(1000ull << i) / 1e9;
	for (unsigned int i = 0; i < KL_LATENCY_BUCKETS; i++) {
		size_t at = (i + STEP - 1) / STEP;

		buckets.count[at < buckets.n ? at : buckets.n] += times->count[i];
	}
	kl_metrics_add_buckets(m, KL_METRIC_state_seconds, &buckets, &state);
}

int kl_metrics_read_latency(struct kl_metrics *m, struct kl_session *session, uint64_t clock_hz)
{
	struct kl_abi_latency_times times[KL_LATENCY_STATES] = { 0 };
	struct kl_abi_latency_read call = {
		.what = KL_LATENCY_READ_TIMES,
		.buffer = (uintptr_t)times,
		.n = KL_ARRAY_SIZE(times),
	};
	int ret = kl_client_call(session->fd, KL_IOC_LATENCY_READ, &call, sizeof(call),
				 "read the latency profile");

	if (ret)
		return ret;
	for (uint32_t i = 0; i < call.n; i++)
		if (times[i].state != KL_LATENCY_IDLE)
			add_state(m, &times[i], clock_hz);
	kl_metrics_add(m, KL_METRIC_latency_missed, (double)call.missed, NULL);
	return 0;
}
