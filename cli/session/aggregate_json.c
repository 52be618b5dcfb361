// SPDX-License-Identifier: GPL-2.0
/* What rules have collected, as JSON: one object per rule, largest counts first. */
#include <stdlib.h>

#include "../base/common.h"
#include "aggregate.h"

static json_t *take_text(struct kl_buffer *text)
{
	json_t *value = cli_json_text(text->length && !text->error ? text->data : "");

	kl_buffer_deinit(text);
	return value;
}

static json_t *json_stack(const struct cli_session *s, uint64_t id)
{
	if (id == KL_STACK_NO_ROOM)
		return json_string("no room");
	return cli_json_stack(kl_record_names_stacks(s->names), id);
}

/* An address is a number in hexadecimal digits, without a symbol name. */
static json_t *json_key(const struct cli_session *s, const struct kl_plan_rule *rule,
			unsigned int key, const struct kl_abi_entry *entry)
{
	struct kl_buffer text = { 0 };

	if (kl_aggregate_key_is_stack(rule, key))
		return json_stack(s, entry->key[key]);
	if (rule->key[key].kind != KL_RESULT_STRING && rule->key[key].kind != KL_RESULT_POINTER)
		return json_integer((json_int_t)entry->key[key]);
	kl_print_aggregate_key(&text, rule, key, entry, NULL);
	return take_text(&text);
}

static json_t *json_buckets(const struct kl_plan_rule *rule, const struct kl_aggregate_entry *entry)
{
	json_t *buckets = json_object();

	for (unsigned int i = 0; i < KL_HIST_BUCKETS; i++) {
		struct kl_buffer range = { 0 };

		if (!entry->bucket[i])
			continue;
		kl_print_aggregate_bucket(&range, rule, i);
		if (!range.error)
			json_object_set_new(buckets, range.data,
					    json_integer((json_int_t)entry->bucket[i]));
		kl_buffer_deinit(&range);
	}
	return buckets;
}

static json_t *json_entry(const struct cli_session *s, const struct kl_plan_rule *rule,
			  const struct kl_aggregate_entry *entry)
{
	const struct kl_abi_entry *e = &entry->numbers;
	json_t *object = json_pack("{s:I}", "count", (json_int_t)e->count), *keys = json_object();

	for (unsigned int k = 0; k < rule->n_keys; k++)
		if (rule->key_text[k])
			json_object_set_new(keys, rule->key_text[k], json_key(s, rule, k, e));
	json_object_set_new(object, "keys", keys);
	if (rule->collects == KL_COLLECTS_COUNTS)
		return object;
	json_object_set_new(object, "sum", json_integer(e->sum));
	json_object_set_new(object, "least", json_integer(e->min));
	json_object_set_new(object, "greatest", json_integer(e->max));
	if (rule->collects == KL_COLLECTS_BUCKETS)
		json_object_set_new(object, "buckets", json_buckets(rule, entry));
	return object;
}

/* Add the text of another module's handler. */
static int add_text(const struct cli_session *s, const struct kl_plan_rule *rule, json_t *object)
{
	struct kl_saying saying;
	int error = kl_session_read_handler(s->session, rule->number, &saying);

	if (error)
		return cli_library_error(error, "%s", rule->text);
	json_object_set_new(object, "text", cli_json_text(saying.text));
	json_object_set_new(object, "fired", json_integer((json_int_t)saying.fired));
	json_object_set_new(object, "missed", json_integer((json_int_t)saying.missed));
	free(saying.text);
	return CLI_OK;
}

/* Add a rule to the array. */
static int add_rule(const struct cli_session *s, const struct kl_plan_rule *rule, json_t *rules)
{
	bool text = rule->collects == KL_COLLECTS_TEXT;
	bool table = rule->collects != KL_COLLECTS_NOTHING && !text;
	json_t *entries, *object;
	struct kl_aggregate aggregate;
	int error =
		kl_aggregate_read(s->session, kl_device_info(s->device)->cpus, rule, &aggregate);

	if (error)
		return cli_library_error(error, NULL);
	entries = json_array();
	for (size_t k = 0; table && k < aggregate.n; k++)
		json_array_append_new(entries, json_entry(s, rule, &aggregate.entry[k]));
	object = json_pack("{s:s, s:s, s:o, s:I, s:I}", "rule", rule->text, "handler",
			   rule->handler_name, "entries", entries, "overflow",
			   (json_int_t)aggregate.overflow, "faults", (json_int_t)aggregate.faults);
	json_array_append_new(rules, object);
	kl_aggregate_deinit(&aggregate);
	return text ? add_text(s, rule, object) : CLI_OK;
}

json_t *cli_aggregate_json(const struct cli_session *session)
{
	const struct kl_plan_rule *rule;
	json_t *rules = json_array();

	for (unsigned int i = 0; (rule = kl_plan_rule(session->plan, i)); i++) {
		if (add_rule(session, rule, rules)) {
			json_decref(rules);
			return NULL;
		}
	}
	return rules;
}
