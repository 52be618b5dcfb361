// SPDX-License-Identifier: GPL-2.0
/* Parses what the page of kernlens blocks --serve requests. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../view/http/local.h"
#include "../base/common.h"
#include "print.h"
#include "requests.h"

bool cli_request_address(struct MHD_Connection *connection, const char *name, uint64_t *address)
{
	const char *text = http_argument(connection, name);
	const size_t length = text ? strlen(text) : 0;

	if (length < 3 || length > 18 || strncmp(text, "0x", 2) != 0 ||
	    strspn(text + 2, "0123456789abcdef") != length - 2)
		return false;
	*address = strtoull(text, NULL, 16);
	return true;
}

/* -------------------------------------------------------------------- instruments */

/* A number below @end at *@text, which is moved after it. */
static bool take_index(const char **text, uint32_t end, uint32_t *index)
{
	uint64_t number = 0;

	if (!isdigit((unsigned char)**text))
		return false;
	for (; isdigit((unsigned char)**text); ++*text) {
		number = 10 * number + (uint64_t)(**text - '0');
		if (number >= end)
			return false;
	}
	*index = (uint32_t)number;
	return true;
}

/* Two numbers with a hyphen, or one, which is taken twice. */
static bool take_pair(const char **text, uint32_t end, uint32_t pair[2])
{
	if (!take_index(text, end, &pair[0]))
		return false;
	pair[1] = pair[0];
	if (**text != '-')
		return true;
	++*text;
	return take_index(text, end, &pair[1]);
}

/* What comes after an element of a list. */
static bool take_comma(const char **text)
{
	if (**text != ',')
		return !**text;
	++*text;
	return **text;
}

static bool take_blocks(const char *text, uint32_t blocks, struct cli_arm_params *params)
{
	uint32_t pair[2];

	if (!strcmp(text, "all")) {
		memset(params->counted, true, blocks);
		params->counters = blocks;
		return true;
	}
	while (*text) {
		if (!take_pair(&text, blocks, pair) || !take_comma(&text))
			return false;
		for (uint32_t i = pair[0]; i <= pair[1]; i++) {
			params->counters += !params->counted[i];
			params->counted[i] = true;
		}
	}
	return true;
}

static bool take_times(const char *text, uint32_t blocks, struct cli_arm_params *params)
{
	while (*text) {
		uint32_t pair[2];

		if (params->times == CLI_TIMES_MAX || !take_pair(&text, blocks, pair) ||
		    !take_comma(&text))
			return false;
		params->from[params->times] = pair[0];
		params->to[params->times++] = pair[1];
	}
	return true;
}

static uint32_t blocks_of(struct kl_blocks *blocks, size_t function)
{
	struct kl_block_graph graph;
	uint32_t n;

	if (kl_blocks_graph(blocks, function, &graph))
		return 0;
	n = graph.blocks;
	kl_block_graph_free(&graph);
	return n;
}

int cli_request_instruments(struct MHD_Connection *connection, struct kl_blocks *blocks,
			    size_t function, struct cli_arm_params *params)
{
	const char *counted = http_argument(connection, "blocks");
	const char *times = http_argument(connection, "times");
	const uint32_t n = blocks_of(blocks, function);

	if (!counted || !times || !n)
		return -EINVAL;
	*params = (struct cli_arm_params){
		.function = function,
		.blocks = n,
		.counted = cli_alloc(n),
	};
	if (take_blocks(counted, n, params) && take_times(times, n, params))
		return 0;
	cli_arm_params_deinit(params);
	return -EINVAL;
}

/* -------------------------------------------------------------------------- names */

/* A function whose name has the text. @rank: 0: it is the text; 1: it begins with it; 2 */
struct match {
	struct kl_block_function function;
	int rank;
};

static int compare_matches(const void *left, const void *right)
{
	const struct match *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank - b->rank;
	return strcmp(a->function.name, b->function.name);
}

static int rank_of(const struct kl_block_function *f, const char *module, const char *text)
{
	const char *found;

	if (f->reason || (module && strcmp(f->module, module) != 0))
		return -1;
	found = strstr(f->name, text);
	if (!found)
		return -1;
	return found > f->name ? 2 : strcmp(f->name, text) ? 1 : 0;
}

static json_t *json_matches(const struct match *match, size_t n, size_t all)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct kl_block_function *f = &match[i].function;
		json_t *row = json_pack("{s:s, s:o, s:I}", "function", f->name, "address",
					json_sprintf("0x%llx", (unsigned long long)f->address),
					"bytes", (json_int_t)f->bytes);

		cli_json_module(f->module, row);
		json_array_append_new(rows, row);
	}
	return json_pack("{s:o, s:I}", "names", rows, "all", (json_int_t)all);
}

json_t *cli_request_names(struct kl_blocks *blocks, const char *text, size_t most)
{
	const char *colon = strchr(text, ':');
	char *module = colon ? cli_format("%.*s", (int)(colon - text), text) : NULL;
	struct match *match;
	size_t n = 0;
	json_t *names;

	if (module && kl_blocks_add_module(blocks, module)) {
		free(module);
		return NULL;
	}
	match = cli_alloc((kl_blocks_functions(blocks) + 1) * sizeof(*match));
	for (size_t i = 0; i < kl_blocks_functions(blocks); i++) {
		kl_blocks_function(blocks, i, &match[n].function);
		match[n].rank = rank_of(&match[n].function, module, colon ? colon + 1 : text);
		n += match[n].rank >= 0;
	}
	qsort(match, n, sizeof(*match), compare_matches);
	names = json_matches(match, n < most ? n : most, n);
	free(match);
	free(module);
	return names;
}
