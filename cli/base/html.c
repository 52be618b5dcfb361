// SPDX-License-Identifier: GPL-2.0
/* Writes pages for a browser: the data as JSON, in the page that shows it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "common.h"
#include "html.h"
#include "output.h"

struct writing {
	FILE *file;
	const json_t *data;
};

/* Where JSON goes. */
struct escaping {
	view_write_fn write;
	void *context;
	int error;
};

static int write_bytes(void *context, const void *bytes, size_t length)
{
	const struct writing *w = context;

	return length && fwrite(bytes, 1, length, w->file) != length ? -errno : 0;
}

/* Names must not end the script that the data is in: "<" occurs only in strings. */
static int write_escaped(const char *text, size_t length, void *context)
{
	struct escaping *e = context;

	while (length) {
		const char *special = memchr(text, '<', length);
		size_t n = special ? (size_t)(special - text) : length;

		e->error = e->write(e->context, text, n);
		if (!e->error && special)
			e->error = e->write(e->context, "\\u003c", 6);
		if (e->error)
			return e->error;
		n += !!special;
		text += n;
		length -= n;
	}
	return 0;
}

int cli_html_json(const json_t *data, view_write_fn write, void *context)
{
	struct escaping e = { .write = write, .context = context };

	if (!json_dump_callback(data, write_escaped, &e, JSON_COMPACT | JSON_ENSURE_ASCII))
		return 0;
	return e.error ? e.error : -ENOMEM;
}

static int write_data(void *context)
{
	const struct writing *w = context;

	return cli_html_json(w->data, write_bytes, context);
}

/* Takes over the data. Returns the exit status. */
static int write_page(const char *path, json_t *data, const char *about, cli_html_fn view,
		      long *bytes)
{
	struct writing w = { .file = cli_create_file(path), .data = data };
	int error = 0;

	json_object_set_new(data, "about", about ? cli_json_text(about) : json_null());
	if (w.file) {
		error = view(write_data, write_bytes, &w);
		*bytes = ftell(w.file);
		if (fclose(w.file) && !error)
			error = -errno;
	}
	json_decref(data);
	if (!w.file)
		return CLI_FAILED;
	return error ? cli_error(error, "%s: %s", path, strerror(-error)) : CLI_OK;
}

int cli_html_write(const char *path, json_t *data, const char *about, cli_html_fn view)
{
	long bytes = 0;
	int status = write_page(path, data, about, view, &bytes);

	if (!status)
		cli_note("%s: %.1f MB", path, (double)bytes / 1e6);
	return status;
}

int cli_html_replace(const char *path, json_t *data, const char *about, cli_html_fn view)
{
	char *beside = cli_format("%s.part", path);
	long bytes = 0;
	int status = write_page(beside, data, about, view, &bytes);

	if (!status && rename(beside, path))
		status = cli_error(-errno, "%s: %s", path, strerror(errno));
	if (status)
		unlink(beside);
	free(beside);
	return status;
}
