// SPDX-License-Identifier: GPL-2.0
/* Alarm rules (monitor/watch_parse.c, watch_condition.c), and whether they hold for a few rows. */
#include <math.h>

#include "shared.h"

static struct kl_watch_cell cell(void *data, const char *column)
{
	static const double numbers[] = { 0, 1, -1, 1e30 };
	unsigned int n = *(unsigned int *)data;

	if (!strcmp(column, "comm") || !strcmp(column, "state") || !strcmp(column, "cgroup"))
		return (struct kl_watch_cell){ .text = n & 1 ? "R" : "sh" };
	return (struct kl_watch_cell){ .number = n < 4 ? numbers[n] : NAN };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kl_watch_rules *rules = kl_watch_rules_create();
	const struct kl_watch_rule *rule;

	if (kl_watch_rules_parse(rules, "f", (const char *)data, size)) {
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		kl_watch_rules_destroy(rules);
		return 0;
	}
	for (size_t i = 0; (rule = kl_watch_rule(rules, i)); i++) {
		fuzz_assert(rule->n_actions && rule->line && *rule->text);
		for (unsigned int n = 0; n < 5; n++) {
			kl_watch_holds(rule, false, cell, &n);
			kl_watch_holds(rule, true, cell, &n);
		}
	}
	kl_watch_rules_destroy(rules);
	return 0;
}
