// SPDX-License-Identifier: GPL-2.0
/* The list of alarm rules: create, access and free it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/base.h"
#include "watch.h"

#define FILE_BYTES_MAX (1 << 20)

struct kl_watch_rules *kl_watch_rules_create(void)
{
	struct kl_watch_rules *rules = calloc(1, sizeof(*rules));

	if (!rules)
		kl_fail(ENOMEM, "out of memory");
	return rules;
}

static void destroy_rule(struct kl_watch_rule_data *rule)
{
	for (size_t i = 0; i < rule->n_selectors; i++)
		free(rule->selectors[i].text);
	for (size_t i = 0; i < rule->public.n_actions; i++) {
		for (char **word = rule->public.actions[i].words; word && *word; word++)
			free(*word);
		free(rule->public.actions[i].words);
	}
	free(rule->nodes);
	free(rule->strings);
	free(rule->selectors);
	free(rule->public.actions);
	free(rule->public.name);
	free(rule->public.text);
	free(rule);
}

void kl_watch_rules_destroy(struct kl_watch_rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < rules->n; i++)
		destroy_rule(rules->rules[i]);
	free(rules->rules);
	free(rules->columns);
	free(rules);
}

int kl_watch_rules_read(struct kl_watch_rules *rules, const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = file ? malloc(FILE_BYTES_MAX + 1) : NULL;
	size_t length = 0;
	int error = errno;

	if (text) {
		length = fread(text, 1, FILE_BYTES_MAX + 1, file);
		error = ferror(file) ? EIO : length > FILE_BYTES_MAX ? EFBIG : 0;
	}
	if (file)
		fclose(file);
	error = error ? kl_fail_system(error, "%s", path) :
			kl_watch_rules_parse(rules, path, text, length);
	free(text);
	return error;
}

const struct kl_watch_rule *kl_watch_rule(const struct kl_watch_rules *rules, size_t index)
{
	return index < rules->n ? &rules->rules[index]->public : NULL;
}
