// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that define something in a session. Also reads its tables and adds up the entries of all
 * CPUs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <kernlens/define.h>
#include <kernlens/session_define.h>
#include "../base/base.h"
#include "client.h"

int kl_session_add_program(struct kl_session *session, const struct kl_abi_op *ops, size_t n_ops,
			   const void *data, size_t data_bytes)
{
	struct kl_abi_program program = {
		.ops = (uintptr_t)ops,
		.n_ops = (uint32_t)n_ops,
		.data = (uintptr_t)data,
		.data_bytes = (uint32_t)data_bytes,
	};
	int ret = kl_session_call(session, KL_IOC_PROGRAM, &program, sizeof(program),
				  "load the program");

	return ret ? ret : (int)program.id;
}

int kl_session_add_rule(struct kl_session *session, struct kl_abi_rule *rule)
{
	int ret = kl_session_call(session, KL_IOC_RULE, rule, sizeof(*rule), "create the rule");

	return ret ? ret : (int)(KL_ACTION_RULE + rule->rule);
}

int kl_session_add_events(struct kl_session *session, const struct kl_abi_event *events, size_t n,
			  size_t *bad, size_t *omitted)
{
	struct kl_abi_events call = { .n = (uint32_t)n, .event = (uintptr_t)events };
	int ret = kl_session_call(session, KL_IOC_EVENTS, &call, sizeof(call), "define the events");

	if (bad)
		*bad = call.bad;
	if (omitted)
		*omitted = call.omitted;
	return ret ? ret : (int)call.first;
}

int kl_session_store_maskset(struct kl_session *session, uint32_t *id, const char *name,
			     const uint8_t map[KL_EV_MAX], const uint8_t *dynamic, size_t n_dynamic)
{
	struct kl_abi_maskset maskset = {
		.id = *id,
		.dynamic = (uintptr_t)dynamic,
		.n_dynamic = (uint32_t)n_dynamic,
	};
	int ret;

	if (strlen(name) >= sizeof(maskset.name))
		return kl_fail(EINVAL, "a maskset's name must not exceed %zu bytes",
			       sizeof(maskset.name) - 1);
	strcpy(maskset.name, name);
	memcpy(maskset.handler, map, sizeof(maskset.handler));
	ret = kl_session_call(session, KL_IOC_MASKSET_WRITE, &maskset, sizeof(maskset),
			      "write the maskset");
	if (!ret)
		*id = maskset.id;
	return ret;
}

int kl_session_write_masksets(struct kl_session *session, uint32_t id, const char *name,
			      const uint8_t map[KL_EV_MAX], const uint8_t *dynamic,
			      size_t n_dynamic)
{
	return kl_session_store_maskset(session, &id, name, map, dynamic, n_dynamic);
}

int kl_session_read_defined(struct kl_session *session, uint32_t id, struct kl_abi_maskset *maskset,
			    uint8_t **dynamic)
{
	uint32_t room = 0;
	int ret;

	for (*dynamic = NULL;; room = maskset->n_dynamic) {
		free(*dynamic);
		*dynamic = calloc(1, room + 1);
		if (!*dynamic)
			return kl_fail(ENOMEM, "out of memory");
		memset(maskset, 0, sizeof(*maskset));
		maskset->id = id;
		maskset->dynamic = (uintptr_t)*dynamic;
		maskset->n_dynamic = room;
		ret = kl_client_call(session->fd, KL_IOC_MASKSET_READ, maskset, sizeof(*maskset),
				     "read the maskset");
		if (!ret && maskset->n_dynamic <= room)
			return 0;
		if (ret)
			break;
	}
	free(*dynamic);
	*dynamic = NULL;
	return ret;
}

int kl_session_write_maskset(struct kl_session *session, uint32_t id, const char *name,
			     const uint8_t map[KL_EV_MAX])
{
	return kl_session_write_masksets(session, id, name, map, NULL, 0);
}

/* ---------------------------------------------------------------- tables */

/* Read one CPU's entries, with a larger buffer until they fit. */
static int read_cpu(struct kl_session *session, struct kl_abi_table *call)
{
	uint32_t room = 64;

	for (;; room = call->n + call->n / 4) {
		struct kl_abi_entry *entry = calloc(room, sizeof(*entry));
		uint64_t *bucket = calloc(room, KL_HIST_BUCKETS * sizeof(*bucket));
		int ret;

		call->entry = (uintptr_t)entry;
		call->bucket = (uintptr_t)bucket;
		call->n = room;
		ret = entry && bucket ? kl_client_call(session->fd, KL_IOC_TABLE, call,
						       sizeof(*call), "read the table") :
					kl_fail(ENOMEM, "out of memory");
		if (!ret && call->n <= room)
			return 0;
		free(entry);
		free(bucket);
		if (ret)
			return ret;
	}
}

static void add_up(struct kl_aggregate_entry *to, const struct kl_abi_entry *from,
		   const uint64_t *bucket)
{
	to->numbers.count += from->count;
	to->numbers.sum += from->sum;
	if (from->min < to->numbers.min)
		to->numbers.min = from->min;
	if (from->max > to->numbers.max)
		to->numbers.max = from->max;
	for (unsigned int i = 0; i < KL_HIST_BUCKETS; i++)
		to->bucket[i] += bucket[i];
}

static int by_key(const void *a, const void *b)
{
	return memcmp(((const struct kl_aggregate_entry *)a)->numbers.key,
		      ((const struct kl_aggregate_entry *)b)->numbers.key,
		      sizeof(((const struct kl_aggregate_entry *)a)->numbers.key));
}

/* Sorting puts entries with equal keys next to each other; add those up. */
static void merge(struct kl_aggregate *table)
{
	size_t kept = 0;

	qsort(table->entry, table->n, sizeof(*table->entry), by_key);
	for (size_t i = 0; i < table->n; i++) {
		if (kept && !by_key(&table->entry[kept - 1], &table->entry[i]))
			add_up(&table->entry[kept - 1], &table->entry[i].numbers,
			       table->entry[i].bucket);
		else
			table->entry[kept++] = table->entry[i];
	}
	table->n = kept;
}

static int append(struct kl_aggregate *table, const struct kl_abi_table *call, unsigned int keys)
{
	const struct kl_abi_entry *entry = (const void *)(uintptr_t)call->entry;
	const uint64_t *bucket = (const void *)(uintptr_t)call->bucket;
	struct kl_aggregate_entry *grown =
		reallocarray(table->entry, table->n + call->n + 1, sizeof(*grown));

	if (!grown)
		return kl_fail(ENOMEM, "out of memory");
	table->entry = grown;
	for (uint32_t i = 0; i < call->n; i++) {
		struct kl_aggregate_entry *to = &grown[table->n++];

		to->numbers = entry[i];
		for (unsigned int k = keys; k < KL_RULE_KEYS_MAX; k++)
			to->numbers.key[k] = 0;
		memcpy(to->bucket, bucket + (size_t)i * KL_HIST_BUCKETS, sizeof(to->bucket));
	}
	table->overflow += call->overflow;
	table->faults += call->faults;
	return 0;
}

int kl_session_aggregate(struct kl_session *session, uint32_t rule, unsigned int cpus,
			 unsigned int keys, struct kl_aggregate *table)
{
	*table = (struct kl_aggregate){};
	for (unsigned int cpu = 0; cpu < cpus; cpu++) {
		struct kl_abi_table call = { .rule = rule, .cpu = cpu };
		int ret = read_cpu(session, &call);

		/* No such CPU. */
		if (ret == -EINVAL)
			continue;
		if (!ret) {
			ret = append(table, &call, keys);
			free((void *)(uintptr_t)call.entry);
			free((void *)(uintptr_t)call.bucket);
		}
		if (ret) {
			kl_aggregate_deinit(table);
			return ret;
		}
	}
	merge(table);
	return 0;
}

void kl_aggregate_deinit(struct kl_aggregate *table)
{
	free(table->entry);
	*table = (struct kl_aggregate){};
}

/* ----------------------------------------------- handlers of other modules */

int kl_session_read_handler(struct kl_session *session, uint32_t rule, struct kl_saying *saying)
{
	uint32_t room = 4096;

	*saying = (struct kl_saying){};
	for (;;) {
		struct kl_abi_handler_read call = { .rule = rule, .bytes = room };
		char *text = calloc(1, room + 1);
		int ret;

		if (!text)
			return kl_fail(ENOMEM, "out of memory");
		call.text = (uintptr_t)text;
		ret = kl_client_call(session->fd, KL_IOC_HANDLER_READ, &call, sizeof(call),
				     "read the handler");
		if (!ret && call.bytes <= room) {
			*saying = (struct kl_saying){ text, call.bytes, call.fired, call.missed };
			return 0;
		}
		free(text);
		if (ret)
			return ret;
		/* It may grow while the session runs. */
		room = call.bytes + call.bytes / 4;
	}
}

/* -------------------------------------------------------------- metadata */

int kl_session_set_metadata(struct kl_session *session, const char *text, size_t bytes)
{
	struct kl_abi_metadata metadata = { .bytes = (uint32_t)bytes, .text = (uintptr_t)text };

	return kl_session_call(session, KL_IOC_METADATA_SET, &metadata, sizeof(metadata),
			       "set the metadata");
}

int kl_session_set_names(struct kl_session *session, const char *bytes, size_t size)
{
	struct kl_abi_metadata metadata = { .kind = KL_METADATA_NAMES,
					    .bytes = (uint32_t)size,
					    .text = (uintptr_t)bytes };

	return kl_session_call(session, KL_IOC_METADATA_SET, &metadata, sizeof(metadata),
			       "store the names of IDs");
}

int kl_session_get_metadata(struct kl_session *session, char **text)
{
	uint32_t room = 4096;

	for (;;) {
		struct kl_abi_metadata metadata = { .bytes = room };
		int ret;

		*text = calloc(1, room + 1);
		if (!*text)
			return kl_fail(ENOMEM, "out of memory");
		metadata.text = (uintptr_t)*text;
		ret = kl_client_call(session->fd, KL_IOC_METADATA_GET, &metadata, sizeof(metadata),
				     "read the metadata");
		if (!ret && metadata.bytes <= room)
			return 0;
		free(*text);
		*text = NULL;
		if (ret)
			return ret;
		room = metadata.bytes;
	}
}

int kl_device_mark(struct kl_device *device, uint64_t value, const char *text)
{
	struct kl_abi_mark mark = { .value = value };

	snprintf(mark.text, sizeof(mark.text), "%s", text);
	return kl_client_call(device->fd, KL_IOC_MARK, &mark, sizeof(mark), "write the mark");
}
