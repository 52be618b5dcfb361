// SPDX-License-Identifier: GPL-2.0
/* List the USDT markers of a program or library, or of all files that a process has mapped. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <kernlens/usdt.h>

#include "../base/common.h"
#include "../base/output.h"
#include "list.h"

/* What follows `usdt:`. */
struct selector {
	char *file; /* path or process ID */
	const char *provider;
	const char *name;
};

/* ---------------------------------------------------------------------- rows */

static const char *type_name(const struct kl_usdt_type *type)
{
	static const char *const names[2][9] = {
		{ [1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64" },
		{ [1] = "s8", [2] = "s16", [4] = "s32", [8] = "s64" },
	};

	return names[type->is_signed][type->bytes];
}

static json_t *locations_json(const struct kl_usdt_marker *marker)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < marker->n_locations; i++) {
		const struct kl_usdt_location *at = &marker->location[i];

		json_array_append_new(rows, json_pack("{s:I, s:I, s:I, s:o}", "address",
						      (json_int_t)at->address, "offset",
						      (json_int_t)at->offset, "semaphore",
						      (json_int_t)at->semaphore, "arguments",
						      cli_json_text(at->text)));
	}
	return rows;
}

static json_t *fields_json(const struct kl_usdt_marker *marker)
{
	json_t *fields = json_array();
	char name[16];

	for (unsigned int i = 0; i < marker->n_arguments; i++) {
		const struct kl_usdt_type *type = &marker->type[i];

		snprintf(name, sizeof(name), "arg%u", i + 1);
		json_array_append_new(fields,
				      type->why ? json_pack("{s:s, s:n, s:s}", "name", name, "type",
							    "reason", type->why) :
						  json_pack("{s:s, s:s, s:s}", "name", name, "type",
							    type_name(type), "format", "dec"));
	}
	return fields;
}

static json_t *marker_json(const struct kl_usdt_marker *marker, const char *spec)
{
	char help[256];

	snprintf(help, sizeof(help), "USDT marker %s of %s", marker->name, marker->provider);
	return json_pack("{s:o, s:s, s:s, s:b, s:s, s:s, s:s, s:o, s:o}", "name",
			 cli_json_text(spec), "group", "usdt", "help", help, "available", 1,
			 "reason", "", "provider", marker->provider, "marker", marker->name,
			 "locations", locations_json(marker), "fields", fields_json(marker));
}

static char *arguments_text(const struct kl_usdt_marker *marker)
{
	struct kl_buffer text = {};

	for (unsigned int i = 0; i < marker->n_arguments; i++) {
		const struct kl_usdt_type *type = &marker->type[i];

		kl_buffer_printf(&text, "%sarg%u %s", i ? ", " : "", i + 1,
				 type->why ? type->why : type_name(type));
	}
	kl_buffer_add_string(&text, "");
	if (text.error)
		abort();
	return text.data;
}

static void print_locations(const struct cli_list *list, const struct kl_usdt_marker *marker)
{
	for (size_t i = 0; list->verbose && i < marker->n_locations; i++) {
		cli_table_add(list->table, "  0x%llx",
			      (unsigned long long)marker->location[i].address);
		cli_table_add(list->table, "%s", "");
		cli_table_add(list->table, "%s", marker->location[i].semaphore ? "yes" : "no");
		cli_table_add(list->table, "%s", marker->location[i].text);
	}
}

static void add_marker(struct cli_list *list, const char *path, const struct kl_usdt_marker *marker)
{
	char *spec = cli_format("usdt:%s:%s:%s", path, marker->provider, marker->name);
	char *arguments = arguments_text(marker);

	list->n++;
	if (list->names) {
		puts(spec);
	} else if (cli_settings.json) {
		json_array_append_new(list->rows, marker_json(marker, spec));
	} else {
		cli_table_add(list->table, "%s:%s", marker->provider, marker->name);
		cli_table_add(list->table, "%zu", marker->n_locations);
		cli_table_add(list->table, "%s", marker->location->semaphore ? "yes" : "no");
		cli_table_add(list->table, "%s", arguments);
		print_locations(list, marker);
	}
	free(arguments);
	free(spec);
}

/* List the markers of a file that match, with its path above them. */
static void add_markers(struct cli_list *list, const struct kl_usdt *usdt, const char *path,
			const struct selector *selector)
{
	bool text = !list->names && !cli_settings.json;
	const struct kl_usdt_marker *marker;
	size_t position = 0;

	if (text)
		list->table = cli_table_create("  marker|>locations|semaphore|arguments");
	while ((marker = kl_usdt_next(usdt, selector->provider, selector->name, &position)))
		add_marker(list, path, marker);
	if (!text)
		return;
	printf("%s%s:%s\n", cli_style(stdout, CLI_BOLD), path, cli_style(stdout, CLI_PLAIN));
	cli_table_print(list->table, stdout, 2);
}

/* ----------------------------------------------------------------------- files */

static int list_file(struct cli_list *list, const struct selector *selector)
{
	struct kl_usdt *usdt = kl_usdt_open(selector->file);
	size_t position = 0;
	int error;

	if (!usdt)
		return -errno;
	error = kl_usdt_next(usdt, selector->provider, selector->name, &position) ?
			0 :
			kl_usdt_fail_unknown(usdt, selector->file, selector->provider,
					     selector->name);
	if (!error)
		add_markers(list, usdt, selector->file, selector);
	kl_usdt_close(usdt);
	return error;
}

/* The path by which we reach a file of a process, whose root folder may be another one. */
static char *our_path(const char *pid, const char *path)
{
	char *theirs = cli_format("/proc/%s/root%s", pid, path);
	struct stat ours, file;

	if (stat(path, &ours) || stat(theirs, &file) || ours.st_dev != file.st_dev ||
	    ours.st_ino != file.st_ino)
		return theirs;
	free(theirs);
	return strdup(path);
}

/* List a mapped file. One that cannot be read is skipped: it may have been replaced or removed. */
static void list_mapped(struct cli_list *list, const struct selector *selector, const char *path)
{
	char *ours = our_path(selector->file, path);
	struct kl_usdt *usdt = kl_usdt_open(ours);
	size_t position = 0;

	if (usdt && kl_usdt_next(usdt, selector->provider, selector->name, &position))
		add_markers(list, usdt, ours, selector);
	kl_usdt_close(usdt);
	free(ours);
}

static bool is_listed(char *const *paths, size_t n, const char *path)
{
	while (n)
		if (!strcmp(paths[--n], path))
			return true;
	return false;
}

static int list_process(struct cli_list *list, const struct selector *selector)
{
	char *name = cli_format("/proc/%s/maps", selector->file), *line = NULL, **paths = NULL;
	FILE *file = fopen(name, "re");
	size_t room = 0, n = 0;
	int error = file ? 0 : -errno;

	free(name);
	if (!file)
		return cli_error(error, "cannot read the mappings of process %s: %s",
				 selector->file, strerror(-error));
	while (getline(&line, &room, file) > 0) {
		char rights[8] = "", *path = strchr(line, '/');

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%*s %7s", rights) != 1 || rights[2] != 'x' || !path ||
		    is_listed(paths, n, path))
			continue;
		paths = reallocarray(paths, n + 1, sizeof(*paths));
		if (!paths)
			abort();
		paths[n++] = strdup(path);
		list_mapped(list, selector, path);
	}
	if (!list->n)
		error = cli_error(-ENOENT, "no file that process %s has mapped has USDT markers%s",
				  selector->file, strcmp(selector->name, "*") ? " that match" : "");
	while (n)
		free(paths[--n]);
	free(paths);
	free(line);
	fclose(file);
	return error;
}

static void parse(struct selector *selector, const char *text)
{
	char *colon;

	*selector = (struct selector){ strdup(text), "*", "*" };
	if (!selector->file)
		abort();
	colon = strchr(selector->file, ':');
	if (!colon)
		return;
	*colon++ = 0;
	if (*colon)
		selector->provider = colon;
	colon = strchr(colon, ':');
	if (!colon)
		return;
	*colon++ = 0;
	if (*colon)
		selector->name = colon;
}

int cli_list_usdt(struct cli_list *list, const char *text)
{
	struct selector selector;
	int status;

	parse(&selector, text);
	if (*selector.file && !selector.file[strspn(selector.file, "0123456789")]) {
		status = list_process(list, &selector);
	} else {
		status = list_file(list, &selector);
		if (status)
			status = cli_library_error(status, NULL);
	}
	free(selector.file);
	if (!status && cli_settings.json && !list->names)
		status = cli_json_write(list->rows);
	return status;
}
