// SPDX-License-Identifier: GPL-2.0
/* Source lines, of the kernel or of a program, as the library finds them, and how to print them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "source.h"

static void make_room(struct cli_source *source, uint32_t n)
{
	if (n <= source->room)
		return;
	free(source->line);
	free(source->address);
	source->line = cli_alloc(n * sizeof(*source->line));
	source->address = cli_alloc(n * sizeof(*source->address));
	source->room = n;
}

static void tell_refused(struct cli_source *source)
{
	const char *text = source->kernel ? kl_source_refused(source->kernel) : NULL;

	if (text && !source->told)
		cli_note("no source lines: %s", text);
	source->told |= !!text;
}

void cli_source_read(struct cli_source *source, const struct kl_block_graph *g)
{
	bool known = false;

	source->graph = NULL;
	make_room(source, g->instructions);
	for (uint32_t i = 0; i < g->instructions; i++)
		source->address[i] = g->function.address + g->instruction[i].offset;
	cli_busy("reading debug information");
	if (source->program)
		known = kl_program_lines(source->program, source->address, g->instructions,
					 source->line);
	else if (source->kernel)
		known = kl_source_lines(source->kernel, &g->function, source->address,
					g->instructions, source->line);
	cli_busy(NULL);
	if (known)
		source->graph = g;
	tell_refused(source);
}

void cli_source_deinit(struct cli_source *source)
{
	free(source->line);
	free(source->address);
	*source = (struct cli_source){};
}

const struct kl_source_line *cli_source_at(const struct cli_source *source, uint32_t instruction)
{
	return source->graph && source->line[instruction].line ? &source->line[instruction] : NULL;
}

/* Keep the last directory: many directories of the kernel have a core.c. */
const char *cli_source_file(const struct kl_source_line *line)
{
	const char *name = strrchr(line->file, '/');

	while (name && name > line->file && name[-1] != '/')
		name--;
	return name ?: line->file;
}

const char *cli_source_text(const struct cli_source *source, const struct kl_block *block,
			    char text[CLI_SOURCE_MAX])
{
	const struct kl_source_line *line = cli_source_at(source, block->first);

	*text = 0;
	if (line)
		snprintf(text, CLI_SOURCE_MAX, " %s:%u", cli_source_file(line), line->line);
	return text;
}

void cli_source_json_line(const struct kl_source_line *line, json_t *row)
{
	if (line->line)
		json_object_set_new(row, "source",
				    json_pack("{s:o, s:I}", "file", cli_json_text(line->file),
					      "line", (json_int_t)line->line));
}

void cli_source_json(const struct cli_source *source, uint32_t instruction, json_t *row)
{
	const struct kl_source_line *line = cli_source_at(source, instruction);

	if (line)
		cli_source_json_line(line, row);
}
