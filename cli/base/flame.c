// SPDX-License-Identifier: GPL-2.0
/* Writes flame graphs to files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "common.h"
#include "flame.h"
#include "output.h"

static int write_file(const char *path, struct kl_buffer *buffer)
{
	FILE *file = cli_create_file(path);
	bool good;

	if (!file)
		return CLI_FAILED;
	good = cli_write_buffer(buffer, file);
	if (fclose(file) || !good)
		return cli_error(-errno, "%s: %s", path, strerror(errno));
	return CLI_OK;
}

int cli_flame_write(struct kl_flame *flame, const char *title, const char *unit, const char *svg,
		    const char *html)
{
	struct kl_buffer buffer = { 0 };
	int status = CLI_OK;

	if (svg) {
		kl_flame_svg(flame, &buffer, title, unit);
		status = write_file(svg, &buffer);
	}
	if (html && !status) {
		kl_flame_html(flame, &buffer, title, unit);
		status = write_file(html, &buffer);
	}
	kl_buffer_deinit(&buffer);
	return status;
}
