// SPDX-License-Identifier: GPL-2.0
/* kernlens proc on a terminal: the full-screen view, with the sections of the page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "detail.h"
#include "view.h"

#define SECTION(name) (1u << CLI_PROC_##name)

/* Print the page into memory instead, without colors. */
static void print_section(struct kl_device *device, int32_t pid, uint32_t what,
			  struct kl_buffer *to)
{
	FILE *out = stdout, *error = stderr, *page;
	int color = cli_settings.color;
	size_t length = 0;
	char *text = NULL;

	page = open_memstream(&text, &length);
	if (!page)
		return;
	cli_settings.color = -1;
	stdout = page;
	stderr = page;
	cli_proc_details(device, pid, what);
	stdout = out;
	stderr = error;
	cli_settings.color = color;
	if (!fclose(page))
		kl_buffer_add(to, text, length);
	free(text);
}

int cli_proc_view(struct kl_device *device, struct view_options *options)
{
	static const struct view_section sections[] = {
		{ "Process", SECTION(TASK) | SECTION(AFFINITY) | SECTION(NAMESPACES) |
				     SECTION(CGROUPS) | SECTION(CHILDREN) },
		{ "Waits", SECTION(WAIT) | SECTION(SYSCALL) | SECTION(STACK) },
		{ "Files", SECTION(FILES) },
		{ "Sockets", SECTION(SOCKETS) },
		{ "Maps", SECTION(MEMORY) | SECTION(MAPS) },
		{ "Limits", SECTION(LIMITS) | SECTION(RIGHTS) | SECTION(SIGNALS) | SECTION(IO) },
		{ "Environment", SECTION(ENV) },
	};
	int error;

	options->color = cli_has_styles(stdout);
	options->section = sections;
	options->sections = sizeof(sections) / sizeof(*sections);
	options->print_section = print_section;
	kl_error_clear();
	error = view_processes(device, options);
	if (error && !*kl_error_text())
		return cli_error(error, "cannot use the terminal: %s", strerror(-error));
	if (!error && *kl_error_text())
		cli_note("the setup is not saved: %s", kl_error_text());
	return error ? cli_library_error(error, NULL) : 0;
}
