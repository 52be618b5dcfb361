// SPDX-License-Identifier: GPL-2.0
/* How blocks are shown. */
#include <stdio.h>

#include "block_print.h"

const char *cli_block_word(uint32_t index, char text[CLI_BLOCK_WORD_MAX])
{
	if (index == UINT32_MAX)
		return "-";
	snprintf(text, CLI_BLOCK_WORD_MAX, "%u", index);
	return text;
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
