// SPDX-License-Identifier: GPL-2.0
/*
 * Print the results of rules: one table per rule, largest counts first, with the keys as the user
 * wrote them; histograms with one line and a bar per bucket.
 */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "output.h"
#include "aggregate.h"

enum {
	BAR_WIDTH = 40,
	TEXT_MAX = 160
};

static bool has_table(const struct kl_plan_rule *rule)
{
	return rule->handler == KL_HANDLER_count || rule->handler == KL_HANDLER_sum ||
	       rule->handler == KL_HANDLER_hist;
}

static bool is_address(const struct kl_result *as)
{
	return as->kind == KL_RESULT_POINTER || as->format == KL_FORMAT_ptr;
}

static void format_number(char text[TEXT_MAX], uint64_t number, const struct kl_result *as)
{
	if (is_address(as) || as->format == KL_FORMAT_hex)
		snprintf(text, TEXT_MAX, "0x%llx", (unsigned long long)number);
	else if (as->type == KL_TYPE_U8 || as->type == KL_TYPE_U16 || as->type == KL_TYPE_U32 ||
		 as->type == KL_TYPE_U64)
		snprintf(text, TEXT_MAX, "%llu", (unsigned long long)number);
	else
		snprintf(text, TEXT_MAX, "%lld", (long long)number);
}

/* Replace control characters with ?. */
static void format_text(char text[TEXT_MAX], const __u64 *words)
{
	size_t n = 0;

	memcpy(text, words, KL_COMM_LEN);
	text[KL_COMM_LEN] = 0;
	for (; text[n]; n++)
		if ((unsigned char)text[n] < ' ' || text[n] == 0x7f)
			text[n] = '?';
}

static bool is_stack(const struct kl_plan_rule *rule, unsigned int key)
{
	return rule->key_text[key] && rule->key[key].format == KL_FORMAT_stack;
}

static bool has_stacks(const struct kl_plan_rule *rule)
{
	bool any = false;

	for (unsigned int k = 0; k < rule->n_keys; k++)
		any |= is_stack(rule, k);
	return any;
}

/* Print the stack traces among an entry's keys. */
static void print_stacks(const struct cli_session *s, const struct kl_plan_rule *rule,
			 const struct kl_abi_entry *entry, FILE *file)
{
	struct kl_buffer buffer = { 0 };

	for (unsigned int k = 0; k < rule->n_keys; k++) {
		if (!is_stack(rule, k))
			continue;
		if (entry->key[k] == KL_STACK_NO_ROOM)
			kl_buffer_printf(&buffer, "        no stack trace (table full)\n");
		kl_print_stack(&buffer, kl_record_names_stacks(s->names), entry->key[k], 8);
	}
	if (buffer.length)
		fwrite(buffer.data, 1, buffer.length, file);
	kl_buffer_deinit(&buffer);
}

/* Print "symbol+0x12". Returns false if the address has no name. */
static bool format_address(const struct cli_session *s, char text[TEXT_MAX], uint64_t address)
{
	const struct kl_address *what =
		kl_addresses_get(kl_record_names_addresses(s->names), address);
	struct kl_buffer buffer = { 0 };

	if (!what)
		return false;
	kl_print_address(&buffer, what);
	snprintf(text, TEXT_MAX, "%s", buffer.error ? "" : buffer.data);
	kl_buffer_deinit(&buffer);
	return *text;
}

/* @s: source of symbol names for addresses; NULL: print addresses as numbers. */
static void format_key(const struct cli_session *s, char text[TEXT_MAX],
		       const struct kl_plan_rule *rule, unsigned int key,
		       const struct kl_abi_entry *entry)
{
	if (s && is_address(&rule->key[key]) && format_address(s, text, entry->key[key]))
		return;
	if (rule->key[key].kind == KL_RESULT_STRING)
		format_text(text, &entry->key[key]);
	else
		format_number(text, entry->key[key], &rule->key[key]);
}

static int by_count(const void *a, const void *b)
{
	const struct kl_abi_entry *x = &((const struct kl_aggregate_entry *)a)->numbers;
	const struct kl_abi_entry *y = &((const struct kl_aggregate_entry *)b)->numbers;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return memcmp(x->key, y->key, sizeof(x->key));
}

static int read_rule(const struct cli_session *s, const struct kl_plan_rule *rule,
		     struct kl_aggregate *aggregate)
{
	int error = kl_session_aggregate(s->session, rule->number, kl_device_info(s->device)->cpus,
					 rule->n_keys, aggregate);

	if (error)
		return cli_library_error(error, "%s", rule->text);
	qsort(aggregate->entry, aggregate->n, sizeof(*aggregate->entry), by_count);
	return CLI_OK;
}

/* A profile: print an entry's numbers and other keys on one line, followed by its stack traces. */
static void print_traces(const struct cli_session *s, const struct kl_plan_rule *rule,
			 const struct kl_aggregate *aggregate, FILE *file)
{
	char text[TEXT_MAX];

	for (size_t i = 0; i < aggregate->n; i++) {
		const struct kl_abi_entry *e = &aggregate->entry[i].numbers;

		fprintf(file, "%s    %s", i ? "\n" : "", cli_print_count(text, e->count));
		if (rule->handler == KL_HANDLER_sum)
			fprintf(file, "  sum=%lld mean=%.1f", (long long)e->sum,
				(double)e->sum / (double)e->count);
		for (unsigned int k = 0; k < rule->n_keys; k++) {
			if (!rule->key_text[k] || is_stack(rule, k))
				continue;
			format_key(s, text, rule, k, e);
			fprintf(file, "  %s=%s", rule->key_text[k], text);
		}
		fputc('\n', file);
		print_stacks(s, rule, e, file);
	}
}

static void print_entries(const struct cli_session *s, const struct kl_plan_rule *rule,
			  const struct kl_aggregate *aggregate, FILE *file)
{
	bool has_value = rule->handler != KL_HANDLER_count;
	char heads[256], text[TEXT_MAX];
	struct cli_table *table;
	size_t at;

	at = (size_t)snprintf(heads, sizeof(heads), ">count%s",
			      has_value ? "|>sum|>mean|>least|>greatest" : "");
	for (unsigned int k = 0; k < rule->n_keys; k++)
		if (rule->key_text[k] && at < sizeof(heads))
			at += (size_t)snprintf(heads + at, sizeof(heads) - at, "|%.40s",
					       rule->key_text[k]);
	table = cli_table_create(heads);
	for (size_t i = 0; i < aggregate->n; i++) {
		const struct kl_abi_entry *e = &aggregate->entry[i].numbers;

		cli_table_add(table, "%s", cli_print_count(text, e->count));
		if (has_value) {
			cli_table_add(table, "%lld", (long long)e->sum);
			cli_table_add(table, "%.1f", (double)e->sum / (double)e->count);
			format_number(text, (uint64_t)e->min, &rule->value);
			cli_table_add(table, "%s", text);
			format_number(text, (uint64_t)e->max, &rule->value);
			cli_table_add(table, "%s", text);
		}
		for (unsigned int k = 0; k < rule->n_keys; k++) {
			if (!rule->key_text[k])
				continue;
			format_key(s, text, rule, k, e);
			cli_table_add(table, "%s", text);
		}
	}
	cli_table_print(table, file, 4);
}

/* The first value of a bucket and, if there is one, the last. */
static void bucket_range(const struct kl_plan_rule *rule, unsigned int bucket, char text[TEXT_MAX])
{
	long long low = rule->low + (long long)(rule->width * (bucket - 1));
	unsigned long long power = bucket ? 1ull << (bucket - 1) : 0;

	if (rule->width && !bucket)
		snprintf(text, TEXT_MAX, "below %lld", (long long)rule->low);
	else if (rule->width && bucket == KL_HIST_BUCKETS - 1)
		snprintf(text, TEXT_MAX, "%lld and above", low);
	else if (rule->width)
		snprintf(text, TEXT_MAX, "%lld to %lld", low, low + (long long)rule->width - 1);
	else if (!bucket)
		snprintf(text, TEXT_MAX, "0 and below");
	else if (bucket == 1)
		snprintf(text, TEXT_MAX, "1");
	else
		snprintf(text, TEXT_MAX, "%llu to %llu", power, 2 * power - 1);
}

static void print_buckets(const struct kl_plan_rule *rule, const struct kl_aggregate_entry *entry,
			  FILE *file)
{
	static const char bar[] = "########################################";
	struct cli_table *table = cli_table_create(">value|>count|");
	unsigned int first = KL_HIST_BUCKETS, last = 0;
	uint64_t most = 1;
	char text[TEXT_MAX];

	for (unsigned int i = 0; i < KL_HIST_BUCKETS; i++) {
		if (!entry->bucket[i])
			continue;
		first = i < first ? i : first;
		last = i;
		most = entry->bucket[i] > most ? entry->bucket[i] : most;
	}
	for (unsigned int i = first; i <= last; i++) {
		int width = (int)((entry->bucket[i] * BAR_WIDTH + most - 1) / most);

		bucket_range(rule, i, text);
		cli_table_add(table, "%s", text);
		cli_table_add(table, "%s", cli_print_count(text, entry->bucket[i]));
		cli_table_add(table, "%.*s", width, bar);
	}
	cli_table_print(table, file, 4);
}

static void print_histograms(const struct cli_session *s, const struct kl_plan_rule *rule,
			     const struct kl_aggregate *aggregate, FILE *file)
{
	char text[TEXT_MAX];

	for (size_t i = 0; i < aggregate->n; i++) {
		const struct kl_abi_entry *e = &aggregate->entry[i].numbers;

		fputs("\n", file);
		for (unsigned int k = 0; k < rule->n_keys; k++) {
			if (!rule->key_text[k] || is_stack(rule, k))
				continue;
			format_key(s, text, rule, k, e);
			fprintf(file, "    %s = %s\n", rule->key_text[k], text);
		}
		print_stacks(s, rule, e, file);
		print_buckets(rule, &aggregate->entry[i], file);
		fprintf(file, "    %s values, mean %.1f\n", cli_print_count(text, e->count),
			(double)e->sum / (double)e->count);
	}
}

/* Print the lines of another module's handler. Control characters are replaced with ?. */
static int print_saying(const struct cli_session *s, const struct kl_plan_rule *rule, FILE *file)
{
	char number[CLI_NUMBER_MAX], *rest, *line;
	struct kl_saying saying;
	int error = kl_session_read_handler(s->session, rule->number, &saying);

	if (error)
		return cli_library_error(error, "%s", rule->text);
	fprintf(file, "  %s\n", rule->text);
	for (size_t i = 0; i < saying.bytes; i++)
		if (saying.text[i] != '\n' &&
		    ((unsigned char)saying.text[i] < ' ' || saying.text[i] == 0x7f))
			saying.text[i] = '?';
	rest = saying.text;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			fprintf(file, "    %s\n", line);
	if (!saying.bytes)
		fprintf(file, "    hit %s times\n", cli_print_count(number, saying.fired));
	if (saying.missed)
		fprintf(file, "    %s hits in NMIs not handled\n",
			cli_print_count(number, saying.missed));
	free(saying.text);
	return CLI_OK;
}

static void print_rule(const struct cli_session *s, const struct kl_plan_rule *rule,
		       const struct kl_aggregate *aggregate, FILE *file)
{
	char number[CLI_NUMBER_MAX];

	if (has_table(rule)) {
		fprintf(file, "  %s\n", rule->text);
		if (!aggregate->n)
			fputs("    did not occur\n", file);
		else if (rule->handler == KL_HANDLER_hist)
			print_histograms(s, rule, aggregate, file);
		else if (has_stacks(rule))
			print_traces(s, rule, aggregate, file);
		else
			print_entries(s, rule, aggregate, file);
	}
	if (aggregate->overflow)
		fprintf(file, "    %s more hits dropped (table full)\n",
			cli_print_count(number, aggregate->overflow));
	if (aggregate->faults)
		fprintf(file, "  %s: %s failed memory reads, taken as 0\n", rule->text,
			cli_print_count(number, aggregate->faults));
}

int cli_aggregate_print(const struct cli_session *session, FILE *file)
{
	const struct kl_plan_rule *rule;
	struct kl_aggregate aggregate;
	int status = CLI_OK;

	for (unsigned int i = 0; !status && (rule = kl_plan_rule(session->plan, i)); i++) {
		status = read_rule(session, rule, &aggregate);
		if (status)
			break;
		if (rule->handler == KL_HANDLER_external)
			status = print_saying(session, rule, file);
		print_rule(session, rule, &aggregate, file);
		kl_aggregate_deinit(&aggregate);
	}
	return status;
}

static json_t *json_stack(const struct cli_session *s, uint64_t id)
{
	struct kl_buffer buffer = { 0 };
	json_t *value;

	if (id == KL_STACK_NO_ROOM)
		return json_string("no room");
	kl_print_stack_json(&buffer, kl_record_names_stacks(s->names), id);
	value = buffer.error ? NULL : json_loadb(buffer.data, buffer.length, JSON_DECODE_ANY, NULL);
	kl_buffer_deinit(&buffer);
	return value ? value : json_null();
}

static json_t *json_key(const struct cli_session *s, const struct kl_plan_rule *rule,
			unsigned int key, const struct kl_abi_entry *entry)
{
	char text[TEXT_MAX];

	if (is_stack(rule, key))
		return json_stack(s, entry->key[key]);

	if (rule->key[key].kind != KL_RESULT_STRING && rule->key[key].kind != KL_RESULT_POINTER)
		return json_integer((json_int_t)entry->key[key]);
	format_key(NULL, text, rule, key, entry);
	return cli_json_text(text);
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
	if (rule->handler == KL_HANDLER_count)
		return object;
	json_object_set_new(object, "sum", json_integer(e->sum));
	json_object_set_new(object, "least", json_integer(e->min));
	json_object_set_new(object, "greatest", json_integer(e->max));
	if (rule->handler == KL_HANDLER_hist) {
		json_t *buckets = json_object();

		for (unsigned int i = 0; i < KL_HIST_BUCKETS; i++) {
			char range[TEXT_MAX];

			if (!entry->bucket[i])
				continue;
			bucket_range(rule, i, range);
			json_object_set_new(buckets, range,
					    json_integer((json_int_t)entry->bucket[i]));
		}
		json_object_set_new(object, "buckets", buckets);
	}
	return object;
}

/* Like print_saying(), but add to a JSON object. */
static int json_saying(const struct cli_session *s, const struct kl_plan_rule *rule, json_t *object)
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

json_t *cli_aggregate_json(const struct cli_session *session)
{
	const struct kl_plan_rule *rule;
	json_t *rules = json_array(), *object;
	struct kl_aggregate aggregate;

	for (unsigned int i = 0; (rule = kl_plan_rule(session->plan, i)); i++) {
		json_t *entries = json_array();

		if (read_rule(session, rule, &aggregate)) {
			json_decref(entries);
			json_decref(rules);
			return NULL;
		}
		for (size_t k = 0; has_table(rule) && k < aggregate.n; k++)
			json_array_append_new(entries,
					      json_entry(session, rule, &aggregate.entry[k]));
		object = json_pack("{s:s, s:s, s:o, s:I, s:I}", "rule", rule->text, "handler",
				   rule->handler_name, "entries", entries, "overflow",
				   (json_int_t)aggregate.overflow, "faults",
				   (json_int_t)aggregate.faults);
		json_array_append_new(rules, object);
		kl_aggregate_deinit(&aggregate);
		if (rule->handler == KL_HANDLER_external && json_saying(session, rule, object)) {
			json_decref(rules);
			return NULL;
		}
	}
	return rules;
}

uint64_t *cli_defined_counts(const struct cli_session *session, size_t *n)
{
	struct kl_abi_counts *counts = cli_alloc(sizeof(*counts));
	uint64_t *defined;

	*n = kl_plan_defined(session->plan);
	defined = cli_alloc((*n + 1) * sizeof(*defined));
	counts->dynamic = (uintptr_t)defined;
	counts->n_dynamic = (uint32_t)*n;
	if (kl_session_counts(session->session, counts))
		*n = 0;
	free(counts);
	return defined;
}
