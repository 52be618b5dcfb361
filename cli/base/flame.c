// SPDX-License-Identifier: GPL-2.0
/* Writes flame graphs to files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "common.h"
#include "flame.h"
#include "output.h"

int cli_flame_write(struct kl_flame *flame, const char *title, const char *unit, const char *svg,
		    const char *html)
{
	struct kl_buffer buffer = { 0 };
	int status = CLI_OK;

	if (svg) {
		kl_flame_svg(flame, &buffer, title, unit);
		status = cli_save_buffer(&buffer, svg);
	}
	if (html && !status) {
		kl_flame_html(flame, &buffer, title, unit);
		status = cli_save_buffer(&buffer, html);
	}
	kl_buffer_deinit(&buffer);
	return status;
}
