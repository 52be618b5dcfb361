// SPDX-License-Identifier: GPL-2.0
/*
 * Pages with control-flow graphs: adds the counts that other commands have written as JSON to the
 * functions, by the offsets of blocks, and writes both into the page.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../view/page/graph.h"
#include "../base/cli.h"
#include "../base/common.h"
#include "../base/html.h"
#include "../base/output.h"
#include "page.h"

void cli_page_add(json_t *functions, const struct cli_block_listing *listing)
{
	json_t *function = cli_block_json(listing, true), *other;
	size_t i;

	json_array_foreach(functions, i, other)
	{
		if (json_equal(json_object_get(other, "address"),
			       json_object_get(function, "address")) &&
		    json_equal(json_object_get(other, "program"),
			       json_object_get(function, "program")) == !!listing->program) {
			json_decref(function);
			return;
		}
	}
	json_array_append_new(functions, function);
}

/* --------------------------------------------------------------------- counts */

json_t *cli_page_counts_load(const char *path)
{
	json_error_t error;
	json_t *document = json_load_file(path, 0, &error), *rows;

	if (!document) {
		cli_error(-EINVAL, "%s: %s", path, error.text);
		return NULL;
	}
	rows = json_incref(json_object_get(document, "functions"));
	/* That of path has one function. */
	if (!rows && json_is_array(json_object_get(document, "blocks")))
		rows = json_pack("[O]", document);
	json_decref(document);
	if (json_is_array(rows))
		return rows;
	json_decref(rows);
	cli_error(-EINVAL, "%s: not a result of kernlens count, path or coverage with --json",
		  path);
	return NULL;
}

/* A block's row: those of coverage are arrays of offset, length, and the count or the reason. */
struct row {
	const json_t *offset;
	const json_t *bytes; /* NULL: not in the row */
	const json_t *count;
	const json_t *reason;
	bool behind;
};

static struct row read_row(const json_t *from)
{
	if (json_is_array(from))
		return (struct row){
			.offset = json_array_get(from, 0),
			.bytes = json_array_get(from, 1),
			.count = json_array_get(from, 2),
			.reason = json_array_get(from, 2),
		};
	return (struct row){
		.offset = json_object_get(from, "offset"),
		.bytes = json_object_get(from, "bytes"),
		.count = json_object_get(from, "count"),
		.reason = json_object_get(from, "reason"),
		.behind = json_is_true(json_object_get(from, "post")),
	};
}

static const json_t *rows_of(const json_t *counts)
{
	return json_object_get(counts, "points") ?: json_object_get(counts, "blocks");
}

/* The block that a row is of; NULL: none of the function's. */
static json_t *block_of(const json_t *function, const struct row *row)
{
	const json_t *blocks = json_object_get(function, "blocks");
	size_t low = 0, high = json_array_size(blocks);
	json_int_t offset = json_integer_value(row->offset);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		json_t *block = json_array_get(blocks, middle);
		json_int_t at = json_integer_value(json_object_get(block, "offset"));

		if (at == offset)
			return !row->bytes || json_equal(row->bytes,
							 json_object_get(block, "bytes")) ?
				       block :
				       NULL;
		if (at < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool fits(const json_t *function, const json_t *counts)
{
	const json_t *rows = rows_of(counts), *each;
	size_t i;

	json_array_foreach(rows, i, each)
	{
		struct row row = read_row(each);

		if (!block_of(function, &row))
			return false;
	}
	return json_array_size(rows) > 0;
}

static bool has_name(const json_t *function, const json_t *counts)
{
	static const char *const keys[] = { "function", "module" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *a = json_string_value(json_object_get(function, keys[i])) ?: "";
		const char *b = json_string_value(json_object_get(counts, keys[i])) ?: "";

		if (strcmp(a, b))
			return false;
	}
	return !json_object_get(function, "program") == !json_object_get(counts, "program");
}

static void add_row(json_t *block, const struct row *row)
{
	const char *key = row->behind ? "count_post" : "count";

	if (json_is_integer(row->count) && json_integer_value(row->count) >= 0) {
		json_object_set(block, key, (json_t *)row->count);
		json_object_del(block, "uncounted");
	} else if (json_is_string(row->reason) && !json_object_get(block, "count") &&
		   !json_object_get(block, "count_post")) {
		json_object_set(block, "uncounted", (json_t *)row->reason);
	}
}

static void add_counts(json_t *function, const json_t *counts)
{
	const json_t *rows = rows_of(counts), *each;
	json_t *edges = json_object_get(counts, "edges");
	size_t i;

	json_array_foreach(rows, i, each)
	{
		struct row row = read_row(each);

		add_row(block_of(function, &row), &row);
	}
	if (json_is_array(edges))
		json_object_set(function, "edges", edges);
}

/* @same: consider only rows with the same address; otherwise, the first row that fits. */
static bool count_function(json_t *function, const json_t *rows, bool same)
{
	bool found = false;
	json_t *counts;
	size_t i;

	json_array_foreach(rows, i, counts)
	{
		if (!has_name(function, counts) || !fits(function, counts) ||
		    (same && !json_equal(json_object_get(function, "address"),
					 json_object_get(counts, "address"))))
			continue;
		add_counts(function, counts);
		found = true;
		if (!same)
			break;
	}
	return found;
}

size_t cli_page_count(json_t *functions, const json_t *rows)
{
	json_t *function;
	size_t i, n = 0;

	json_array_foreach(functions, i, function)
		n += count_function(function, rows, true) || count_function(function, rows, false);
	return n;
}

/* ----------------------------------------------------------------------- page */

int cli_page_write(const char *path, json_t *functions, const char *about)
{
	return cli_html_write(path, json_pack("{s:o}", "functions", functions), about,
			      view_graph_write);
}

/* The blocks that have no count, with the reasons: the counts of the others are 0. */
static json_t *uncounted_blocks(const json_t *blocks)
{
	json_t *kept = json_array(), *block;
	size_t i;

	json_array_foreach(blocks, i, block)
	{
		if (!json_is_integer(json_array_get(block, 2)))
			json_array_append(kept, block);
	}
	return kept;
}

int cli_page_write_coverage(const char *path, json_t *runs, const char *about)
{
	json_t *run, *function;
	size_t r, i;

	json_array_foreach(runs, r, run)
	{
		json_array_foreach(json_object_get(run, "functions"), i, function)
		{
			json_t *blocks = json_object_get(function, "blocks");

			json_object_set_new(function, "n",
					    json_integer((json_int_t)json_array_size(blocks)));
			if (!json_integer_value(json_object_get(function, "ran")))
				json_object_set_new(function, "blocks", uncounted_blocks(blocks));
		}
	}
	return cli_html_write(path, json_pack("{s:o}", "runs", runs), about, view_coverage_write);
}
