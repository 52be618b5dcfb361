/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Perf counters, one on each CPU, as variables: which are available, which sessions use them, and
 * their values. docs/design/counter.md has the rules.
 */
#ifndef KL_CORE_COUNTER_H
#define KL_CORE_COUNTER_H

#include <linux/types.h>

struct kl_error;
struct kl_session;
struct kl_session_counters;

enum kl_counter {
#define KL_COUNTER(name, type, config, perf_name) KL_COUNTER_##name,
#include "counters.def"
#undef KL_COUNTER
	KL_COUNTER_COUNT
};

/*
 * The value if nothing is counted: another user has the counter, or the CPU has just come online.
 */
#define KL_UNCOUNTED (~0ull)

u64 kl_counter_read(const struct kl_session *s, enum kl_counter which);
const char *kl_counter_lacks(enum kl_counter which);
bool kl_counter_is_variable(u32 id);
int kl_counters_prepare(struct kl_session *s, u32 id, struct kl_error *why);
void kl_counters_destroy(struct kl_session_counters *counters);
int kl_counters_init(void);
void kl_counters_deinit(void);

#endif /* KL_CORE_COUNTER_H */
