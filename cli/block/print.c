// SPDX-License-Identifier: GPL-2.0
/* Print basic blocks and their instructions. */
#include <stdio.h>

#include "../base/common.h"
#include "print.h"

const char *cli_block_word(uint32_t index, char text[CLI_BLOCK_WORD_MAX])
{
	if (index == UINT32_MAX)
		return "-";
	snprintf(text, CLI_BLOCK_WORD_MAX, "%u", index);
	return text;
}

const char *cli_block_taken(const struct kl_block_graph *g, uint32_t block,
			    char text[CLI_BLOCK_WORD_MAX])
{
	unsigned int ways = 0;

	for (uint32_t i = 0; i < g->edges; i++)
		ways += g->edge[i].from == block;
	if (!ways)
		return cli_block_word(g->block[block].taken, text);
	snprintf(text, CLI_BLOCK_WORD_MAX, "x%u", ways);
	return text;
}

void cli_print_instructions(const struct kl_blocks *blocks, const struct kl_block_graph *g,
			    const struct kl_block *block, const struct cli_source *source,
			    struct kl_buffer *text)
{
	const struct kl_source_line *last = NULL;

	for (uint32_t i = block->first; i < block->first + block->n; i++) {
		const struct kl_block_instruction *in = &g->instruction[i];
		const struct kl_source_line *line = source ? cli_source_at(source, i) : NULL;

		if (line && (!last || line->file != last->file || line->line != last->line))
			kl_buffer_printf(text, "    %s:%u\n", cli_source_file(line), line->line);
		last = line;
		kl_buffer_printf(text, "      0x%llx  ",
				 (unsigned long long)(g->function.address + in->offset));
		for (uint32_t k = 0; k < 11; k++)
			if (k < in->bytes)
				kl_buffer_printf(text, "%02x ", g->text[in->offset + k]);
			else
				kl_buffer_add_string(text, "   ");
		kl_block_print_instruction(blocks, g, i, text);
		if (in->reason)
			kl_buffer_printf(text, "  # %s", kl_block_reason_name(in->reason));
		kl_buffer_add_char(text, '\n');
	}
}

void cli_print_function(const struct kl_block_graph *g, const char *name, const char *none,
			struct kl_buffer *text)
{
	const struct kl_block_function *f = &g->function;

	kl_buffer_add_string(text, name);
	if (*f->module)
		kl_buffer_printf(text, " [%s]", f->module);
	kl_buffer_printf(text, "  0x%llx, %u bytes, %u blocks", (unsigned long long)f->address,
			 f->bytes, g->blocks);
	if (f->reason)
		kl_buffer_printf(text, ", %s: %s", none, kl_block_reason_help(f->reason));
	kl_buffer_add_char(text, '\n');
}

void cli_json_module(const char *module, json_t *function)
{
	if (*module)
		json_object_set_new(function, "module", json_string(module));
}

void cli_print_counted(const struct kl_block_graph *g, const char *name, struct kl_buffer *text)
{
	cli_print_function(g, name, "cannot be counted", text);
	if (!g->function.reason)
		kl_buffer_printf(text, "%15s %6s  %-8s %5s %5s  %-6s  %5s %5s\n", "count", "block",
				 "offset", "bytes", "instr", "ends", "next", "taken");
}
