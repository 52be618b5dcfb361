/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of the kernel's perf, one a CPU, as variables: which there are, who
 * wants them, and what they say. docs/design/counter.md has the rules.
 */
#ifndef KL_TASK_COUNTER_H
#define KL_TASK_COUNTER_H

#include <linux/types.h>

struct kl_error;
struct kl_session;
struct kl_session_counters;

/*
 * Name, which is the variable's; perf's type and config; and what perf(1) calls it.
 * The order of the rows in variables.def, which have ids one after the other.
 */
#define KL_COUNTERS(COUNTER)                                                             \
	COUNTER(cpu_cycles, HARDWARE, HW_CPU_CYCLES, "cpu-cycles")                       \
	COUNTER(cpu_ref_cycles, HARDWARE, HW_REF_CPU_CYCLES, "ref-cycles")               \
	COUNTER(cpu_instructions, HARDWARE, HW_INSTRUCTIONS, "instructions")             \
	COUNTER(cpu_cache_references, HARDWARE, HW_CACHE_REFERENCES, "cache-references") \
	COUNTER(cpu_cache_misses, HARDWARE, HW_CACHE_MISSES, "cache-misses")             \
	COUNTER(cpu_branches, HARDWARE, HW_BRANCH_INSTRUCTIONS, "branches")              \
	COUNTER(cpu_branch_misses, HARDWARE, HW_BRANCH_MISSES, "branch-misses")          \
	COUNTER(cpu_context_switches, SOFTWARE, SW_CONTEXT_SWITCHES, "context-switches") \
	COUNTER(cpu_migrations, SOFTWARE, SW_CPU_MIGRATIONS, "cpu-migrations")           \
	COUNTER(cpu_clock, SOFTWARE, SW_CPU_CLOCK, "cpu-clock")

#define KL_COUNTER_ID(name, type, config, perf_name) KL_COUNTER_##name,
enum kl_counter {
	KL_COUNTERS(KL_COUNTER_ID) KL_COUNTER_COUNT
};

#undef KL_COUNTER_ID

/* The value where there is none: another has the counter, or the CPU has just come. */
#define KL_UNCOUNTED (~0ull)

u64 kl_counter_read(const struct kl_session *s, enum kl_counter which);
const char *kl_counter_lacks(enum kl_counter which);
bool kl_counter_is_variable(u32 id);
int kl_counters_prepare(struct kl_session *s, u32 id, struct kl_error *why);
void kl_counters_destroy(struct kl_session_counters *counters);
int kl_counters_init(void);
void kl_counters_deinit(void);

#endif /* KL_TASK_COUNTER_H */
