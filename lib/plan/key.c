// SPDX-License-Identifier: GPL-2.0
/* The keys after `by`: one program each, or two for a text variable. */
#include <errno.h>
#include <string.h>

#include "../base/base.h"
#include "plan.h"

/* The text variable that a key names, or NULL. */
static const struct kl_variable *text_variable(const struct kl_part *part)
{
	const struct kl_variable *v;

	for (unsigned int i = 0; (v = kl_variable_get(i)); i++)
		if (!strcmp(v->type, "text") && kl_part_is(part, v->name))
			return v;
	return NULL;
}

/* A program for 8 bytes of a text. */
static int store_word(struct kl_plan *plan, const struct kl_variable *variable, unsigned int word)
{
	plan->code = (struct kl_code){ .n_ops = 2 };
	plan->code.ops[0] = (struct kl_abi_op){
		.code = KL_OP_VARIABLE,
		.b = (uint8_t)word,
		.imm = (int32_t)variable->id,
	};
	plan->code.ops[1] = (struct kl_abi_op){ .code = KL_OP_END };
	return kl_plan_store_program(plan, &plan->code);
}

static int take_text_key(struct kl_plan *plan, const struct kl_variable *variable,
			 struct kl_plan_made *rule)
{
	unsigned int at = rule->shown.n_keys;

	for (unsigned int word = 0; word < KL_COMM_LEN / 8; word++) {
		int ret = store_word(plan, variable, word);

		if (ret < 0)
			return ret;
		rule->key[at + word] = (unsigned int)ret;
	}
	rule->shown.key[at] = (struct kl_result){
		.kind = KL_RESULT_STRING,
		.type = KL_TYPE_TEXT,
		.format = KL_FORMAT_comm,
	};
	rule->shown.n_keys = at + KL_COMM_LEN / 8;
	return 0;
}

int kl_plan_take_keys(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		      struct kl_plan_made *rule)
{
	for (unsigned int i = 0; i < spec->keys; i++) {
		const struct kl_variable *variable = text_variable(&spec->key[i]);
		unsigned int at = rule->shown.n_keys;
		int ret;

		if (at + (variable ? KL_COMM_LEN / 8 : 1) > KL_RULE_KEYS_MAX)
			return kl_spec_fail(list, spec->key[i].text,
					    "too many keys (maximum %d; a string counts as two)",
					    KL_RULE_KEYS_MAX);
		if (variable) {
			ret = take_text_key(plan, variable, rule);
			if (ret)
				return ret;
		} else {
			ret = kl_plan_compile_part(plan, "key", &spec->key[i],
						   &rule->shown.key[at]);
			if (ret < 0)
				return ret;
			rule->key[at] = (unsigned int)ret;
			rule->shown.n_keys = at + 1;
		}
		rule->shown.key_text[at] = kl_plan_copy_part(&spec->key[i]);
		if (!rule->shown.key_text[at])
			return -ENOMEM;
	}
	return 0;
}
