/* SPDX-License-Identifier: GPL-2.0 */
/* Times from one block to another in the same task: the rules that measure them, and results. */
#ifndef KL_CLI_BLOCK_TIMES_H
#define KL_CLI_BLOCK_TIMES_H

#include <jansson.h>
#include <kernlens/internal.h>

/* In a session: each has a flag of tasks and three rules. */
#define CLI_TIMES_MAX 8

/**
 * struct cli_time - what was measured
 * @count: number of times
 * @sum_ns: their sum
 * @min_ns: the shortest; @max_ns: the longest
 * @bucket: number of times from 2^(N-1) to less than 2^N nanoseconds, by N
 * @dropped: times that are not among these
 */
struct cli_time {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t bucket[KL_HIST_BUCKETS];
	uint64_t dropped;
};

/**
 * cli_time_rules - the rules that measure a time, as for -e
 * @index: of the time in its session, from 0
 * @from: block, as in kl_block_want_parse(), without "block:"
 * @to: block; the same one: from one execution to the next
 *
 * A time begins with the last execution of @from and ends with the next one of @to by the same
 * task; interrupts are not part of a task. Returns a text to be freed.
 */
char *cli_time_rules(unsigned int index, const char *from, const char *to);

/**
 * cli_time_read - read a time
 * @plan: applied plan, with rules of nothing but cli_time_rules()
 * @session: that it was applied to
 * @cpus: number of possible CPUs
 * @index: of the time
 * @time: filled in
 *
 * Returns 0 or a negative errno with an error text.
 */
int cli_time_read(const struct kl_plan *plan, struct kl_session *session, unsigned int cpus,
		  unsigned int index, struct cli_time *time);

/* A time in JSON: "count" and, if that is not 0, "mean_ns", "min_ns", "max_ns" and "buckets". */
json_t *cli_time_json(const struct cli_time *time);

#endif /* KL_CLI_BLOCK_TIMES_H */
