// SPDX-License-Identifier: GPL-2.0
/* Handlers `set` and `clear`: set(NAME) of the running task, set(cpu NAME) of the CPU. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handler.h"

/* NAME is a task's flag, cpu NAME one of the CPU. */
int kl_plan_take_flag(struct kl_plan *plan, const char *list, const struct kl_part *part,
		      uint64_t *flag)
{
	struct kl_part name = *part;
	bool of_cpu = name.length > 4 && !strncmp(name.text, "cpu ", 4);
	char *copy;
	int ret;

	if (of_cpu) {
		name.text += 4;
		name.length -= 4;
	}
	for (size_t i = 0; i < name.length; i++)
		if (!isalnum((unsigned char)name.text[i]) && name.text[i] != '_')
			return kl_spec_fail(list, name.text, "a flag's name must be a word");
	copy = kl_plan_copy_part(&name);
	if (!copy)
		return -ENOMEM;
	ret = kl_plan_flag(plan, copy, of_cpu);
	free(copy);
	*flag = (uint64_t)ret;
	return ret < 0 ? ret : 0;
}

static int take(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		struct kl_plan_made *rule)
{
	return kl_plan_take_flag(plan, list, &spec->argument[0], &rule->arg);
}

const struct kl_plan_handler kl_plan_handler_set = {
	.least = 1,
	.most = 1,
	.take = take,
};

const struct kl_plan_handler kl_plan_handler_clear = {
	.least = 1,
	.most = 1,
	.take = take,
};
