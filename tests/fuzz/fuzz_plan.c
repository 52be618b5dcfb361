// SPDX-License-Identifier: GPL-2.0
/* The arguments of -e, -V and the like (plan/spec.c, plan.c), up to compilation. */
#include <kernlens/match.h>

#include "shared.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kl_schema *schema;
	static uint8_t map[KL_EV_IDS];
	char *text = fuzz_text(data, size);
	struct kl_plan *plan;
	struct kl_program_selector selector = {};
	struct kl_block_want want = {};

	if (!schema)
		schema = fuzz_schema();
	plan = kl_plan_create(schema);
	if (kl_plan_add(plan, text, KL_HANDLER_log))
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
	if (kl_plan_add_variable(plan, text) < 0)
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
	kl_plan_is_named(plan, "sched_switch");
	if (kl_events_match(schema, text, KL_HANDLER_count, map) < 0)
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
	if (!kl_program_selector_parse(&selector, text))
		kl_program_selector_free(&selector);
	if (!kl_block_want_parse(&want, text))
		kl_block_want_free(&want);
	kl_maskset_check_name(text);
	kl_plan_destroy(plan);
	free(text);
	return 0;
}
