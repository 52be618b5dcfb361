// SPDX-License-Identifier: GPL-2.0
/* Call frame information (symbol/cfi.c). The first byte selects .eh_frame or .debug_frame. */
#include "../../lib/symbol/cfi.h"
#include "shared.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct kl_cfi_segment code[] = { { 0, 0x1000, 1 << 20 },
						      { 1 << 21, 1 << 22, 1ull << 33 } };
	struct kl_cfi_section section = { .eh = size && *data & 1 };
	struct kl_cfi_table table = {};

	if (!size)
		return 0;
	section.data = data + 1;
	section.bytes = size - 1;
	kl_cfi_add(&table, &section, code, 2);
	kl_cfi_finish(&table);
	for (size_t i = 0; i < table.n; i++) {
		fuzz_assert(kl_unwind_rule_is_valid(table.row[i].rule));
		fuzz_assert(!i || table.row[i].offset > table.row[i - 1].offset);
		fuzz_assert(kl_cfi_find(&table, table.row[i].offset) == table.row[i].rule);
	}
	fuzz_assert(!table.n || table.row[table.n - 1].rule == KL_UNWIND_NONE);
	kl_cfi_deinit(&table);
	return 0;
}
