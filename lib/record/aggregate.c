// SPDX-License-Identifier: GPL-2.0
/* What rules have collected: read from the session, in the order of tables, and printed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/aggregate.h>
#include <kernlens/error.h>
#include <kernlens/format.h>
#include "../base/base.h"

static int by_count(const void *a, const void *b)
{
	const struct kl_abi_entry *x = &((const struct kl_aggregate_entry *)a)->numbers;
	const struct kl_abi_entry *y = &((const struct kl_aggregate_entry *)b)->numbers;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return memcmp(x->key, y->key, sizeof(x->key));
}

int kl_aggregate_read(struct kl_session *session, unsigned int cpus,
		      const struct kl_plan_rule *rule, struct kl_aggregate *aggregate)
{
	int ret = kl_session_aggregate(session, rule->number, cpus, rule->n_keys, aggregate);

	if (ret)
		return kl_fail_about(ret, rule->text);
	qsort(aggregate->entry, aggregate->n, sizeof(*aggregate->entry), by_count);
	return 0;
}

/* ---------------------------------------------------------------- printing */

bool kl_aggregate_key_is_stack(const struct kl_plan_rule *rule, unsigned int key)
{
	return rule->key_text[key] && rule->key[key].format == KL_FORMAT_stack;
}

static bool is_address(const struct kl_result *as)
{
	return as->kind == KL_RESULT_POINTER || as->format == KL_FORMAT_ptr;
}

static void print_number(struct kl_buffer *buffer, uint64_t number, const struct kl_result *as)
{
	if (is_address(as) || as->format == KL_FORMAT_hex)
		kl_buffer_printf(buffer, "0x%llx", (unsigned long long)number);
	else if (as->type == KL_TYPE_U8 || as->type == KL_TYPE_U16 || as->type == KL_TYPE_U32 ||
		 as->type == KL_TYPE_U64)
		kl_buffer_printf(buffer, "%llu", (unsigned long long)number);
	else
		kl_buffer_printf(buffer, "%lld", (long long)number);
}

static void print_text(struct kl_buffer *buffer, const __u64 *words)
{
	char text[KL_COMM_LEN + 1] = "";

	memcpy(text, words, KL_COMM_LEN);
	kl_make_plain(text, strlen(text));
	kl_buffer_add_string(buffer, text);
}

void kl_print_aggregate_key(struct kl_buffer *buffer, const struct kl_plan_rule *rule,
			    unsigned int key, const struct kl_abi_entry *entry,
			    struct kl_addresses *addresses)
{
	const struct kl_result *as = &rule->key[key];
	const struct kl_address *name =
		is_address(as) ? kl_addresses_get(addresses, entry->key[key]) : NULL;

	if (name)
		kl_print_address(buffer, name);
	else if (as->kind == KL_RESULT_STRING)
		print_text(buffer, &entry->key[key]);
	else
		print_number(buffer, entry->key[key], as);
}

void kl_print_aggregate_value(struct kl_buffer *buffer, const struct kl_plan_rule *rule,
			      int64_t value)
{
	print_number(buffer, (uint64_t)value, &rule->value);
}

static void print_power(struct kl_buffer *buffer, unsigned int bucket)
{
	unsigned long long power = bucket ? 1ull << (bucket - 1) : 0;

	if (!bucket)
		kl_buffer_printf(buffer, "0 and below");
	else if (bucket == 1)
		kl_buffer_printf(buffer, "1");
	else
		kl_buffer_printf(buffer, "%llu to %llu", power, 2 * power - 1);
}

void kl_print_aggregate_bucket(struct kl_buffer *buffer, const struct kl_plan_rule *rule,
			       unsigned int bucket)
{
	long long low = rule->low + (long long)(rule->width * (bucket - 1));

	if (!rule->width)
		print_power(buffer, bucket);
	else if (!bucket)
		kl_buffer_printf(buffer, "below %lld", (long long)rule->low);
	else if (bucket == KL_HIST_BUCKETS - 1)
		kl_buffer_printf(buffer, "%lld and above", low);
	else
		kl_buffer_printf(buffer, "%lld to %lld", low, low + (long long)rule->width - 1);
}

/* ------------------------------------------------------------------ events */

/* Counts of the predefined events, and those of defined events. */
struct read_counts {
	struct kl_abi_counts call;
	uint64_t defined[];
};

static uint64_t count_of(const struct read_counts *read, uint32_t id)
{
	return id < KL_EV_MAX ? read->call.count[id] : read->defined[id - KL_EV_DYNAMIC];
}

static void add_count(const struct read_counts *read, const struct kl_plan *plan,
		      const struct kl_class *event, struct kl_event_count *counts, size_t *n)
{
	if (event && kl_plan_has_handler(plan, event->id, KL_HANDLER_count))
		counts[(*n)++] = (struct kl_event_count){ event, count_of(read, event->id) };
}

int kl_event_counts_read(struct kl_session *session, const struct kl_plan *plan,
			 const struct kl_schema *schema, struct kl_event_count **counts)
{
	size_t defined = kl_plan_defined(plan), n = 0;
	struct read_counts *read = calloc(1, sizeof(*read) + defined * sizeof(*read->defined));
	int ret;

	*counts = calloc(KL_EV_MAX + defined, sizeof(**counts));
	if (!read || !*counts) {
		ret = kl_fail(ENOMEM, "out of memory");
		goto out;
	}
	read->call.dynamic = (uintptr_t)read->defined;
	read->call.n_dynamic = (uint32_t)defined;
	ret = kl_session_counts(session, &read->call);
	for (uint32_t id = 0; !ret && id < KL_EV_MAX; id++)
		add_count(read, plan, kl_schema_class(schema, id), *counts, &n);
	for (uint32_t i = 0; !ret && i < defined; i++)
		add_count(read, plan, kl_schema_class(schema, KL_EV_DYNAMIC + i), *counts, &n);
	if (!ret)
		ret = (int)n;
out:
	free(read);
	if (ret < 0) {
		free(*counts);
		*counts = NULL;
	}
	return ret;
}
