// SPDX-License-Identifier: GPL-2.0
/*
 * Times from one block to another: the first sets a flag of the running task, and the second adds
 * the time since then to a histogram and clears the flag. Blocks are executed by interrupts, too,
 * whose times would be those of the interrupted task, so rules apply outside of interrupts only.
 * They must act in their order where several are at one block.
 */
#include <errno.h>
#include <string.h>

#include "../base/common.h"
#include "times.h"

char *cli_time_rules(unsigned int index, const char *from, const char *to)
{
	if (!strcmp(from, to))
		return cli_format("block:%s /in_irq == 0 && flag(t%u)/:hist(since(t%u)),"
				  "block:%s /in_irq == 0/:set(t%u)",
				  to, index, index, to, index);
	return cli_format("block:%s /in_irq == 0/:set(t%u),"
			  "block:%s /in_irq == 0 && flag(t%u)/:hist(since(t%u)),"
			  "block:%s /in_irq == 0/:clear(t%u)",
			  from, index, to, index, index, to, index);
}

/* Rules keep their order, and each time has one that collects. */
static const struct kl_plan_rule *rule_of(const struct kl_plan *plan, unsigned int index)
{
	const struct kl_plan_rule *rule;

	for (unsigned int i = 0; (rule = kl_plan_rule(plan, i)); i++)
		if (rule->collects == KL_COLLECTS_BUCKETS && !index--)
			return rule;
	return NULL;
}

int cli_time_read(const struct kl_plan *plan, struct kl_session *session, unsigned int cpus,
		  unsigned int index, struct cli_time *time)
{
	const struct kl_plan_rule *rule = rule_of(plan, index);
	struct kl_aggregate table;
	int ret = rule ? kl_aggregate_read(session, cpus, rule, &table) : -ENOENT;

	*time = (struct cli_time){};
	if (ret)
		return ret;
	/* Without keys there is at most one entry. */
	if (table.n) {
		const struct kl_abi_entry *numbers = &table.entry[0].numbers;

		time->count = numbers->count;
		time->sum_ns = (uint64_t)numbers->sum;
		time->min_ns = (uint64_t)numbers->min;
		time->max_ns = (uint64_t)numbers->max;
		memcpy(time->bucket, table.entry[0].bucket, sizeof(time->bucket));
	}
	time->dropped = table.overflow + table.faults;
	kl_aggregate_deinit(&table);
	return 0;
}

/* Arrays of the shortest time of a bucket and its number of times. */
static json_t *json_buckets(const struct cli_time *time)
{
	json_t *rows = json_array();

	for (unsigned int i = 0; i < KL_HIST_BUCKETS; i++)
		if (time->bucket[i])
			json_array_append_new(rows, json_pack("[I, I]",
							      (json_int_t)(i ? 1ull << (i - 1) : 0),
							      (json_int_t)time->bucket[i]));
	return rows;
}

json_t *cli_time_json(const struct cli_time *time)
{
	json_t *row = json_pack("{s:I}", "count", (json_int_t)time->count);

	if (time->dropped)
		json_object_set_new(row, "dropped", json_integer((json_int_t)time->dropped));
	if (time->count)
		json_object_update_new(row, json_pack("{s:f, s:I, s:I, s:o}", "mean_ns",
						      (double)time->sum_ns / (double)time->count,
						      "min_ns", (json_int_t)time->min_ns, "max_ns",
						      (json_int_t)time->max_ns, "buckets",
						      json_buckets(time)));
	return row;
}
