// SPDX-License-Identifier: GPL-2.0
/* Compare two coverage runs: the blocks that ran in only one of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "coverage.h"
#include "page.h"
#include "print.h"

struct difference {
	const char *name;
	const char *module; /* empty: the kernel */
	uint32_t gone; /* blocks that ran only before */
	uint32_t come; /* blocks that ran only after */
	uint32_t both;
	json_t *gone_at; /* their offsets */
	json_t *come_at;
};

static json_t *load(const char *path)
{
	json_error_t error;
	json_t *document = json_load_file(path, 0, &error);
	json_t *functions = json_object_get(document, "functions");

	if (!document)
		cli_error(-EINVAL, "%s: %s", path, error.text);
	else if (!json_is_array(functions))
		cli_error(-EINVAL, "%s: not a result of kernlens coverage --json", path);
	else
		return document;
	json_decref(document);
	return NULL;
}

static const char *name_of(json_t *function)
{
	return json_string_value(json_object_get(function, "function")) ?: "?";
}

static const char *module_of(json_t *function)
{
	return json_string_value(json_object_get(function, "module")) ?: "";
}

/*
 * Functions match if their names, modules and numbers of blocks are equal: addresses change with
 * the kernel, and several functions may share a name.
 */
static char *key_of(json_t *function)
{
	json_t *blocks = json_object_get(function, "blocks");

	return cli_format("%s:%s %zu", module_of(function), name_of(function),
			  json_array_size(blocks));
}

/* Functions by key; functions with equal keys are matched in the order of the files. */
static json_t *index_of(json_t *document)
{
	json_t *functions = json_object_get(document, "functions"), *function;
	json_t *index = json_object();
	size_t i;

	json_array_foreach(functions, i, function)
	{
		char *key = key_of(function);
		json_t *same = json_object_get(index, key);

		if (!same) {
			same = json_array();
			json_object_set_new(index, key, same);
		}
		json_array_append(same, function);
		free(key);
	}
	return index;
}

static bool has_run(json_t *block)
{
	json_t *count = json_array_get(block, 2);

	return json_is_integer(count) && json_integer_value(count) > 0;
}

static bool has_count(json_t *block)
{
	return json_is_integer(json_array_get(block, 2));
}

static void compare(struct difference *d, json_t *before, json_t *after)
{
	json_t *old = json_object_get(before, "blocks"), *new = json_object_get(after, "blocks");
	size_t n = json_array_size(old) ?: json_array_size(new);

	d->gone_at = json_array();
	d->come_at = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *a = json_array_get(old, i), *b = json_array_get(new, i);
		json_t *offset = json_array_get(a ?: b, 0);

		/* A block that one of the runs could not count is not a difference. */
		if ((a && !has_count(a)) || (b && !has_count(b)))
			continue;
		if (has_run(a) && has_run(b))
			d->both++;
		else if (has_run(a) && ++d->gone)
			json_array_append(d->gone_at, offset);
		else if (has_run(b) && ++d->come)
			json_array_append(d->come_at, offset);
	}
}

static int compare_differences(const void *left, const void *right)
{
	const struct difference *a = left, *b = right;
	uint32_t first = a->gone + a->come, second = b->gone + b->come;

	if (first != second)
		return first > second ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Compare the functions of @from with @other's, or (@rest) only those that @other lacks. */
static size_t add_differences(struct difference *d, json_t *from, json_t *other, bool rest)
{
	const char *key;
	json_t *same;
	size_t n = 0;

	json_object_foreach(from, key, same)
	{
		json_t *others = json_object_get(other, key), *function;
		size_t i;

		json_array_foreach(same, i, function)
		{
			json_t *match = json_array_get(others, i);

			if (rest && match)
				continue;
			d[n].name = name_of(function);
			d[n].module = module_of(function);
			compare(&d[n], rest ? NULL : function, rest ? function : match);
			n++;
		}
	}
	return n;
}

static int print_json(const struct difference *d, size_t n)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *row;

		if (!d[i].gone && !d[i].come)
			continue;
		row = json_pack("{s:s, s:I, s:O, s:O}", "function", d[i].name, "both",
				(json_int_t)d[i].both, "before_only", d[i].gone_at, "after_only",
				d[i].come_at);
		cli_json_module(d[i].module, row);
		json_array_append_new(rows, row);
	}
	return cli_json_write(json_pack("{s:o}", "functions", rows));
}

static int print_table(const struct difference *d, size_t n)
{
	struct cli_table *table = cli_table_create(">before only|>after only|>in both|function");
	uint64_t gone = 0, come = 0, both = 0;
	char number[3][CLI_NUMBER_MAX];

	for (size_t i = 0; i < n; i++) {
		gone += d[i].gone;
		come += d[i].come;
		both += d[i].both;
		if (!d[i].gone && !d[i].come)
			continue;
		cli_table_add(table, "%u", d[i].gone);
		cli_table_add(table, "%u", d[i].come);
		cli_table_add(table, "%u", d[i].both);
		cli_coverage_add_name(table, d[i].name, d[i].module);
	}
	cli_start_pager();
	cli_table_print(table, stdout, 0);
	printf("\n%s blocks ran before only, %s after only, %s in both\n",
	       cli_print_count(number[0], gone), cli_print_count(number[1], come),
	       cli_print_count(number[2], both));
	return CLI_OK;
}

/* Releases the documents. */
static int write_page(const char *html, json_t *old, json_t *new, const char *before,
		      const char *after)
{
	char *about = cli_format("before: %s, after: %s", before, after);
	int status = cli_page_write_coverage(html, json_pack("[o, o]", old, new), about);

	free(about);
	return status;
}

int cli_coverage_diff(const char *before, const char *after, const char *html)
{
	json_t *old = load(before), *new = old ? load(after) : NULL;
	json_t *old_index, *new_index;
	struct difference *d;
	int status;
	size_t n;

	if (!new) {
		json_decref(old);
		return CLI_FAILED;
	}
	if (html)
		return write_page(html, old, new, before, after);
	old_index = index_of(old);
	new_index = index_of(new);
	n = json_array_size(json_object_get(old, "functions")) +
	    json_array_size(json_object_get(new, "functions"));
	d = cli_alloc((n + 1) * sizeof(*d));
	n = add_differences(d, old_index, new_index, false);
	n += add_differences(d + n, new_index, old_index, true);
	qsort(d, n, sizeof(*d), compare_differences);
	status = cli_settings.json ? print_json(d, n) : print_table(d, n);
	for (size_t i = 0; i < n; i++) {
		json_decref(d[i].gone_at);
		json_decref(d[i].come_at);
	}
	free(d);
	json_decref(old_index);
	json_decref(new_index);
	json_decref(old);
	json_decref(new);
	return status;
}
