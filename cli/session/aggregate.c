// SPDX-License-Identifier: GPL-2.0
/*
 * Print what rules have collected: one table per rule, largest counts first, with the keys as the
 * user wrote them; histograms with one line and a bar per bucket.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "aggregate.h"

/* A rule being printed. @text: scratch space for a key, a value or stack traces. */
struct view {
	const struct cli_session *session;
	const struct kl_plan_rule *rule;
	struct kl_aggregate aggregate;
	struct kl_buffer text;
	FILE *file;
};

static bool has_stacks(const struct kl_plan_rule *rule)
{
	bool any = false;

	for (unsigned int k = 0; k < rule->n_keys; k++)
		any |= kl_aggregate_key_is_stack(rule, k);
	return any;
}

static const char *text_of(const struct kl_buffer *text)
{
	return text->length && !text->error ? text->data : "";
}

/* These texts are valid until the next one. */
static const char *key_text(struct view *v, unsigned int key, const struct kl_abi_entry *entry)
{
	kl_buffer_reset(&v->text);
	if (v->rule->key[key].format == KL_FORMAT_cgroup &&
	    kl_print_cgroup(&v->text, kl_record_names_cgroups(v->session->names), entry->key[key]))
		return text_of(&v->text);
	kl_print_aggregate_key(&v->text, v->rule, key, entry,
			       kl_record_names_addresses(v->session->names));
	return text_of(&v->text);
}

static const char *value_text(struct view *v, int64_t value)
{
	kl_buffer_reset(&v->text);
	kl_print_aggregate_value(&v->text, v->rule, value);
	return text_of(&v->text);
}

static const char *bucket_text(struct view *v, unsigned int bucket)
{
	kl_buffer_reset(&v->text);
	kl_print_aggregate_bucket(&v->text, v->rule, bucket);
	return text_of(&v->text);
}

/* Print the stack traces among an entry's keys. */
static void print_stacks(struct view *v, const struct kl_abi_entry *entry)
{
	kl_buffer_reset(&v->text);
	for (unsigned int k = 0; k < v->rule->n_keys; k++) {
		if (!kl_aggregate_key_is_stack(v->rule, k))
			continue;
		if (entry->key[k] == KL_STACK_NO_ROOM)
			kl_buffer_printf(&v->text, "        no stack trace (table full)\n");
		kl_print_stack(&v->text, kl_record_names_stacks(v->session->names), entry->key[k],
			       8);
	}
	if (v->text.length)
		fwrite(v->text.data, 1, v->text.length, v->file);
}

/* Print the keys that are not stack traces. */
static void print_keys(struct view *v, const struct kl_abi_entry *entry, const char *before,
		       const char *between, const char *after)
{
	for (unsigned int k = 0; k < v->rule->n_keys; k++)
		if (v->rule->key_text[k] && !kl_aggregate_key_is_stack(v->rule, k))
			fprintf(v->file, "%s%s%s%s%s", before, v->rule->key_text[k], between,
				key_text(v, k, entry), after);
}

static double mean(const struct kl_abi_entry *entry)
{
	return (double)entry->sum / (double)entry->count;
}

/* ------------------------------------------------------ counts and values */

/* A profile: print an entry's numbers and other keys on one line, followed by its stack traces. */
static void print_traces(struct view *v)
{
	char number[CLI_NUMBER_MAX];

	for (size_t i = 0; i < v->aggregate.n; i++) {
		const struct kl_abi_entry *e = &v->aggregate.entry[i].numbers;

		fprintf(v->file, "%s    %s", i ? "\n" : "", cli_print_count(number, e->count));
		if (v->rule->collects == KL_COLLECTS_VALUES)
			fprintf(v->file, "  sum=%lld mean=%.1f", (long long)e->sum, mean(e));
		print_keys(v, e, "  ", "=", "");
		fputc('\n', v->file);
		print_stacks(v, e);
	}
}

static struct cli_table *create_table(const struct kl_plan_rule *rule)
{
	bool values = rule->collects == KL_COLLECTS_VALUES;
	char heads[256];
	size_t at;

	at = (size_t)snprintf(heads, sizeof(heads), ">count%s",
			      values ? "|>sum|>mean|>least|>greatest" : "");
	for (unsigned int k = 0; k < rule->n_keys; k++)
		if (rule->key_text[k] && at < sizeof(heads))
			at += (size_t)snprintf(heads + at, sizeof(heads) - at, "|%.40s",
					       rule->key_text[k]);
	return cli_table_create(heads);
}

static void print_entries(struct view *v)
{
	struct cli_table *table;
	char number[CLI_NUMBER_MAX];

	if (has_stacks(v->rule)) {
		print_traces(v);
		return;
	}
	table = create_table(v->rule);
	for (size_t i = 0; i < v->aggregate.n; i++) {
		const struct kl_abi_entry *e = &v->aggregate.entry[i].numbers;

		cli_table_add(table, "%s", cli_print_count(number, e->count));
		if (v->rule->collects == KL_COLLECTS_VALUES) {
			cli_table_add(table, "%lld", (long long)e->sum);
			cli_table_add(table, "%.1f", mean(e));
			cli_table_add(table, "%s", value_text(v, e->min));
			cli_table_add(table, "%s", value_text(v, e->max));
		}
		for (unsigned int k = 0; k < v->rule->n_keys; k++)
			if (v->rule->key_text[k])
				cli_table_add(table, "%s", key_text(v, k, e));
	}
	cli_table_print(table, v->file, 4);
}

/* -------------------------------------------------------------- histograms */

static void print_buckets(struct view *v, const struct kl_aggregate_entry *entry)
{
	struct cli_table *table = cli_table_create(">value|>count|");
	unsigned int first = KL_HIST_BUCKETS, last = 0;
	char number[CLI_NUMBER_MAX];
	uint64_t most = 1;

	for (unsigned int i = 0; i < KL_HIST_BUCKETS; i++) {
		if (!entry->bucket[i])
			continue;
		first = i < first ? i : first;
		last = i;
		most = entry->bucket[i] > most ? entry->bucket[i] : most;
	}
	for (unsigned int i = first; i <= last; i++) {
		cli_table_add(table, "%s", bucket_text(v, i));
		cli_table_add(table, "%s", cli_print_count(number, entry->bucket[i]));
		cli_table_add_bar(table, entry->bucket[i], most);
	}
	cli_table_print(table, v->file, 4);
}

static void print_histograms(struct view *v)
{
	char number[CLI_NUMBER_MAX];

	for (size_t i = 0; i < v->aggregate.n; i++) {
		const struct kl_abi_entry *e = &v->aggregate.entry[i].numbers;

		fputs("\n", v->file);
		print_keys(v, e, "    ", " = ", "\n");
		print_stacks(v, e);
		print_buckets(v, &v->aggregate.entry[i]);
		fprintf(v->file, "    %s values, mean %.1f\n", cli_print_count(number, e->count),
			mean(e));
	}
}

/* ------------------------------------------------------------------- rules */

static void print_table(struct view *v)
{
	fprintf(v->file, "  %s\n", v->rule->text);
	if (!v->aggregate.n)
		fputs("    did not occur\n", v->file);
	else if (v->rule->collects == KL_COLLECTS_BUCKETS)
		print_histograms(v);
	else
		print_entries(v);
}

/* Print the lines of another module's handler. Control characters are replaced with ?. */
static int print_lines(const struct view *v)
{
	char number[CLI_NUMBER_MAX], *rest, *line;
	struct kl_saying saying;
	int error = kl_session_read_handler(v->session->session, v->rule->number, &saying);

	if (error)
		return cli_library_error(error, "%s", v->rule->text);
	fprintf(v->file, "  %s\n", v->rule->text);
	for (size_t i = 0; i < saying.bytes; i++)
		if (saying.text[i] != '\n' &&
		    ((unsigned char)saying.text[i] < ' ' || saying.text[i] == 0x7f))
			saying.text[i] = '?';
	rest = saying.text;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			fprintf(v->file, "    %s\n", line);
	if (!saying.bytes)
		fprintf(v->file, "    hit %s times\n", cli_print_count(number, saying.fired));
	if (saying.missed)
		fprintf(v->file, "    %s hits in NMI context not handled\n",
			cli_print_count(number, saying.missed));
	free(saying.text);
	return CLI_OK;
}

static int print_rule(struct view *v)
{
	char number[CLI_NUMBER_MAX];
	int status = CLI_OK;

	if (v->rule->collects == KL_COLLECTS_TEXT)
		status = print_lines(v);
	else if (v->rule->collects != KL_COLLECTS_NOTHING)
		print_table(v);
	if (v->aggregate.overflow)
		fprintf(v->file, "    %s more hits dropped (table full)\n",
			cli_print_count(number, v->aggregate.overflow));
	if (v->aggregate.faults)
		fprintf(v->file, "  %s: %s failed memory reads, taken as 0\n", v->rule->text,
			cli_print_count(number, v->aggregate.faults));
	return status;
}

int cli_aggregate_print(const struct cli_session *session, FILE *file)
{
	struct view v = { .session = session, .file = file };
	int status = CLI_OK;

	for (unsigned int i = 0; !status && (v.rule = kl_plan_rule(session->plan, i)); i++) {
		int error = kl_aggregate_read(session->session,
					      kl_device_info(session->device)->cpus, v.rule,
					      &v.aggregate);

		status = error ? cli_library_error(error, NULL) : print_rule(&v);
		kl_aggregate_deinit(&v.aggregate);
	}
	kl_buffer_deinit(&v.text);
	return status;
}
