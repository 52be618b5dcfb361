// SPDX-License-Identifier: GPL-2.0
/* Masksets as text (plan/maskset.c), and their lines as parts of a plan. */
#include "shared.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kl_maskset *maskset = kl_maskset_parse("fuzz", "f", (const char *)data, size);
	static struct kl_schema *schema;
	const struct kl_maskset_line *line;
	struct kl_plan *plan;
	size_t length, n = 0;

	if (!maskset) {
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		return 0;
	}
	while ((line = kl_maskset_line(maskset, n))) {
		fuzz_assert(line->number && strlen(line->text));
		n++;
	}
	fuzz_assert(kl_maskset_text(maskset, &length) && length == size);
	fuzz_assert(kl_maskset_help(maskset));
	if (!schema)
		schema = fuzz_schema();
	plan = kl_plan_create(schema);
	if (kl_plan_add_maskset(plan, maskset, KL_HANDLER_log))
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
	kl_plan_destroy(plan);
	kl_maskset_destroy(maskset);
	return 0;
}
