// SPDX-License-Identifier: GPL-2.0
/* How blocks are shown. */
#include <stdio.h>
#include <string.h>

#include "block_print.h"
#include "common.h"

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

const char *cli_block_source(struct kl_program *program, const struct kl_block_graph *g,
			     const struct kl_block *block, char text[CLI_BLOCK_SOURCE_MAX])
{
	struct kl_program_line line;
	const char *slash;

	*text = 0;
	if (!program || !kl_program_line(program, g->function.address + block->begin, &line))
		return text;
	slash = strrchr(line.source, '/');
	snprintf(text, CLI_BLOCK_SOURCE_MAX, " %s:%u", slash ? slash + 1 : line.source, line.line);
	return text;
}

void cli_json_block_source(struct kl_program *program, const struct kl_block_graph *g,
			   const struct kl_block *block, json_t *row)
{
	struct kl_program_line line;

	if (!program || !kl_program_line(program, g->function.address + block->begin, &line))
		return;
	json_object_set_new(row, "source", cli_json_text(line.source));
	json_object_set_new(row, "line", json_integer(line.line));
}

void cli_print_instructions(const struct kl_blocks *blocks, const struct kl_block_graph *g,
			    const struct kl_block *block, struct kl_buffer *text)
{
	for (uint32_t i = block->first; i < block->first + block->n; i++) {
		const struct kl_block_instruction *in = &g->instruction[i];

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
