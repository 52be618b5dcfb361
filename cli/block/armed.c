// SPDX-License-Identifier: GPL-2.0
/*
 * Instruments of a function, in a session of their own: closing it removes them, and so does the
 * end of the process, however it comes. Counters and times are installed with one plan, since
 * neither can be added to a function that has the other.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "armed.h"
#include "print.h"

struct cli_armed {
	struct cli_arm_params params;
	struct kl_device *device;
	struct kl_session *session;
	struct kl_schema *schema;
	struct kl_plan *plan;
	struct kl_block_function function;
	uint64_t began_ns;
	char *why; /* an error that is not the library's */
};

void cli_arm_params_deinit(struct cli_arm_params *params)
{
	free(params->counted);
	params->counted = NULL;
}

struct cli_arm_params cli_arm_params_copy(const struct cli_arm_params *params)
{
	struct cli_arm_params copy = *params;

	copy.counted = cli_alloc(params->blocks + 1);
	memcpy(copy.counted, params->counted, params->blocks);
	return copy;
}

/* -------------------------------------------------------------------- planning */

/* The functions that a name stands for. */
struct meaning {
	size_t function;
	unsigned int n;
};

static int add_meaning(void *context, size_t function)
{
	struct meaning *meaning = context;

	meaning->function = function;
	meaning->n++;
	return 0;
}

/* Rules name functions: does this one's name stand for it alone? Returns 0 or a negative errno. */
static int check_name(struct cli_armed *armed, const struct kl_symbols *symbols,
		      struct kl_blocks *blocks)
{
	const char *name = armed->function.name;
	struct kl_block_want want = {};
	struct meaning meaning = {};
	int ret = kl_block_want_parse(&want, name);

	if (!ret)
		ret = kl_block_want_visit(&want, symbols, blocks, add_meaning, &meaning);
	kl_block_want_free(&want);
	if (ret < 0 || (meaning.n == 1 && meaning.function == armed->params.function))
		return ret < 0 ? ret : 0;
	armed->why = cli_format("times cannot be measured in %s: several functions have this name",
				name);
	return -ENOTUNIQ;
}

static int add_times(struct cli_armed *armed, const struct kl_symbols *symbols,
		     struct kl_blocks *blocks)
{
	const struct cli_arm_params *p = &armed->params;
	const char *name = armed->function.name;
	int ret = p->times ? check_name(armed, symbols, blocks) : 0;

	for (unsigned int i = 0; i < p->times && !ret; i++) {
		char *from = cli_format("%s#%u", name, p->from[i]);
		char *to = cli_format("%s#%u", name, p->to[i]);
		char *rules = cli_time_rules(i, from, to);

		ret = kl_plan_add(armed->plan, rules, KL_HANDLER_log);
		free(rules);
		free(to);
		free(from);
	}
	return ret;
}

static int add_counters(struct cli_armed *armed)
{
	int ret = 0;

	for (uint32_t i = 0; i < armed->params.blocks && !ret; i++)
		if (armed->params.counted[i])
			ret = kl_plan_count_block(armed->plan, armed->params.function, i);
	return ret;
}

static int make_plan(struct cli_armed *armed, const struct kl_symbols *symbols,
		     struct kl_blocks *blocks)
{
	int ret;

	armed->schema = kl_schema_create();
	armed->plan = armed->schema ? kl_plan_create(armed->schema) : NULL;
	if (!armed->plan)
		return -errno;
	ret = kl_record_prepare_plan(armed->device, armed->plan);
	kl_plan_use_text(armed->plan, blocks);
	if (!ret)
		ret = add_counters(armed);
	if (!ret)
		ret = add_times(armed, symbols, blocks);
	return ret ? ret : kl_plan_compile(armed->plan);
}

/* ------------------------------------------------------------------ installing */

static int make_session(struct cli_armed *armed)
{
	struct kl_abi_session config = {};
	int ret = kl_record_set_buffers(armed->device, 1, &config);

	if (ret)
		return ret;
	snprintf(config.name, sizeof(config.name), "blocks %.20s", armed->function.name);
	armed->session = kl_session_create(armed->device, &config);
	return armed->session ? kl_session_filter(armed->session, KL_FILTER_NONE, 0) : -errno;
}

static int arm(struct cli_armed *armed, const struct kl_symbols *symbols, struct kl_blocks *blocks)
{
	struct kl_block_graph graph;
	int ret = kl_blocks_graph(blocks, armed->params.function, &graph);

	if (ret)
		return ret;
	armed->function = graph.function;
	kl_block_graph_free(&graph);
	if (armed->function.reason) {
		armed->why = cli_format("%s cannot be instrumented: %s", armed->function.name,
					kl_block_reason_help(armed->function.reason));
		return -EINVAL;
	}
	ret = make_session(armed);
	if (!ret)
		ret = make_plan(armed, symbols, blocks);
	if (!ret)
		ret = kl_record_apply(armed->session, armed->plan);
	if (!ret && armed->params.times)
		ret = kl_session_start(armed->session);
	armed->began_ns = cli_now_ns();
	return ret;
}

struct cli_armed *cli_armed_create(struct kl_device *device, const struct kl_symbols *symbols,
				   struct kl_blocks *blocks, const struct cli_arm_params *params,
				   char **why)
{
	struct cli_armed *armed = cli_alloc(sizeof(*armed));
	int ret;

	kl_error_clear();
	armed->device = device;
	armed->params = cli_arm_params_copy(params);
	ret = arm(armed, symbols, blocks);
	if (!ret)
		return armed;
	*why = armed->why ?: cli_format("%s", cli_library_reason(ret));
	cli_armed_destroy(armed);
	return NULL;
}

void cli_armed_destroy(struct cli_armed *armed)
{
	if (!armed)
		return;
	if (armed->session)
		kl_session_close(armed->session);
	kl_plan_destroy(armed->plan);
	kl_schema_destroy(armed->schema);
	cli_arm_params_deinit(&armed->params);
	free(armed);
}

/* --------------------------------------------------------------------- results */

const struct cli_arm_params *cli_armed_params(const struct cli_armed *armed)
{
	return &armed->params;
}

static json_t *json_counts(const struct cli_armed *armed)
{
	const uint32_t points = kl_plan_blocks(armed->plan).points;
	uint64_t *count = cli_alloc((points + 1) * sizeof(*count));
	json_t *rows;

	if (points && kl_plan_block_counts(armed->plan, armed->session, count)) {
		free(count);
		return NULL;
	}
	rows = json_array();
	for (uint32_t i = 0; i < points; i++) {
		const struct kl_plan_block point = kl_plan_block(armed->plan, i);
		json_t *value = point.reason ? json_string(point.reason) :
					       json_integer((json_int_t)count[i]);

		if (!point.event)
			json_array_append_new(rows, json_pack("[i, o]", (int)point.block, value));
		else
			json_decref(value);
	}
	free(count);
	return rows;
}

/* Why a block fires no event; NULL: it does. */
static const char *refusal_of(const struct cli_armed *armed, uint32_t block)
{
	for (uint32_t i = 0; i < kl_plan_blocks(armed->plan).points; i++) {
		const struct kl_plan_block point = kl_plan_block(armed->plan, i);

		if (point.event && point.block == block && point.reason)
			return point.reason;
	}
	return NULL;
}

static json_t *json_time(const struct cli_armed *armed, unsigned int index)
{
	const uint32_t from = armed->params.from[index], to = armed->params.to[index];
	const char *reason = refusal_of(armed, from) ?: refusal_of(armed, to);
	struct cli_time time;
	json_t *row;

	if (cli_time_read(armed->plan, armed->session, kl_device_info(armed->device)->cpus, index,
			  &time))
		return NULL;
	row = cli_time_json(&time);
	json_object_update_new(row, json_pack("{s:i, s:i}", "from", (int)from, "to", (int)to));
	if (reason)
		json_object_set_new(row, "reason", json_string(reason));
	return row;
}

json_t *cli_armed_json(const struct cli_armed *armed)
{
	json_t *counts = json_counts(armed), *times, *row, *time;
	struct kl_abi_stats stats;

	if (!counts)
		return NULL;
	times = json_array();
	for (unsigned int i = 0; i < armed->params.times; i++) {
		time = json_time(armed, i);
		if (!time) {
			json_decref(counts);
			json_decref(times);
			return NULL;
		}
		json_array_append_new(times, time);
	}
	row = json_pack("{s:o, s:s, s:f, s:o, s:o}", "address",
			json_sprintf("0x%llx", (unsigned long long)armed->function.address),
			"function", armed->function.name, "seconds",
			(double)(cli_now_ns() - armed->began_ns) / 1e9, "blocks", counts, "times",
			times);
	cli_json_module(armed->function.module, row);
	if (armed->params.times && !kl_session_stats(armed->session, -1, &stats))
		json_object_set_new(row, "suspended", json_boolean(stats.suspended.times));
	return row;
}
