// SPDX-License-Identifier: GPL-2.0
/* Prints instructions: Zydis formats them, symbols name their targets. */
#include "block.h"

/* The name of the function or symbol at a target; NULL: none. */
static const char *name_of(const struct kl_blocks *b, uint64_t target, struct kl_symbol *symbol,
			   uint64_t *offset)
{
	long index;

	if (!b->program)
		return kl_symbols_at(b->symbols, target, symbol, offset) ? NULL : symbol->name;
	index = kl_function_at(b, target);
	if (index < 0)
		return NULL;
	*offset = target - b->function[index].address;
	return b->function[index].name;
}

static void print_target(const struct kl_blocks *b, uint64_t target, struct kl_buffer *buffer)
{
	struct kl_symbol symbol;
	uint64_t offset;
	const char *name = name_of(b, target, &symbol, &offset);

	kl_buffer_printf(buffer, "0x%llx", (unsigned long long)target);
	if (!name)
		return;
	if (offset)
		kl_buffer_printf(buffer, " <%s+0x%llx>", name, (unsigned long long)offset);
	else
		kl_buffer_printf(buffer, " <%s>", name);
}

void kl_block_print_instruction(const struct kl_blocks *blocks, const struct kl_block_graph *graph,
				uint32_t index, struct kl_buffer *buffer)
{
	const struct kl_block_instruction *in = &graph->instruction[index];
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;
	ZydisFormatter formatter;
	char text[256];

	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&blocks->decoder, graph->text + in->offset,
						 in->bytes, &decoded, operand)))
		return;
	if (in->target) {
		kl_buffer_printf(buffer, "%s ", ZydisMnemonicGetString(decoded.mnemonic));
		print_target(blocks, in->target, buffer);
		return;
	}
	if (ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
		    &formatter, &decoded, operand, decoded.operand_count_visible, text,
		    sizeof(text), graph->function.address + in->offset, NULL)))
		kl_buffer_add_string(buffer, text);
}
