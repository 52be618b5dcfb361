// SPDX-License-Identifier: GPL-2.0
/*
 * Reads a trace's manifest. The file may contain anything: an entry counts only if its own checksum
 * is correct. Space that was reserved and never used is zero.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "../base/crc.h"
#include "manifest.h"

static bool is_good(const struct kl_manifest_entry *entry)
{
	const uint8_t *bytes = (const uint8_t *)entry;

	return entry->magic == KL_MANIFEST_MAGIC && entry->version == KL_MANIFEST_VERSION &&
	       entry->crc == kl_crc32c(0, bytes + sizeof(entry->crc),
				       sizeof(*entry) - sizeof(entry->crc));
}

static bool is_unused(const struct kl_manifest_entry *entry)
{
	static const struct kl_manifest_entry unused;

	return !memcmp(entry, &unused, sizeof(unused));
}

static bool is_of_cpu(const struct kl_manifest_entry *entry)
{
	return entry->kind >= KL_MANIFEST_BLOCK && entry->kind <= KL_MANIFEST_TOTAL;
}

/* Sort by CPU; each CPU's blocks come first, in order. */
static int compare(const void *a, const void *b)
{
	const struct kl_manifest_entry *x = *(const struct kl_manifest_entry *const *)a;
	const struct kl_manifest_entry *y = *(const struct kl_manifest_entry *const *)b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Count the valid entries and put those of CPUs into `sorted`. Returns the number of the latter. */
static size_t sort_entries(struct kl_manifest *m)
{
	uint64_t good = 0;
	size_t n = 0;

	for (size_t i = 0; i < m->n_entries; i++) {
		const struct kl_manifest_entry *entry = &m->entries[i];

		if (!is_good(entry)) {
			m->damaged += !is_unused(entry);
			continue;
		}
		good++;
		if (entry->kind == KL_MANIFEST_BEGIN)
			m->begin = entry;
		else if (entry->kind == KL_MANIFEST_END)
			m->end = entry;
		else if (is_of_cpu(entry))
			m->sorted[n++] = entry;
	}
	m->finished = m->end;
	if (m->end)
		m->damaged = m->end->records + 1 - good;
	m->whole = m->finished && !m->damaged;
	qsort(m->sorted, n, sizeof(*m->sorted), compare);
	return n;
}

static int group_by_cpu(struct kl_manifest *m, size_t n)
{
	struct kl_manifest_cpu *cpu = NULL;
	size_t capacity = 0;

	for (size_t i = 0; i < n; i++) {
		const struct kl_manifest_entry *entry = m->sorted[i];

		if (!cpu || cpu->cpu != entry->cpu) {
			cpu = kl_array_grow(m->cpus, m->n_cpus, &capacity, sizeof(*cpu));
			if (!cpu)
				return -ENOMEM;
			m->cpus = cpu;
			cpu += m->n_cpus++;
			*cpu = (struct kl_manifest_cpu){ .cpu = entry->cpu,
							 .blocks = &m->sorted[i] };
		}
		if (entry->kind == KL_MANIFEST_BLOCK)
			cpu->n_blocks++;
		else if (entry->kind == KL_MANIFEST_UNSTORED)
			cpu->unstored = entry;
		else
			cpu->total = entry;
	}
	return 0;
}

int kl_manifest_read(struct kl_manifest *m, const void *bytes, size_t length,
		     const uint8_t uuid[16])
{
	const struct kl_manifest_entry *head = bytes;
	int ret;

	*m = (struct kl_manifest){ .entries = bytes, .n_entries = length / sizeof(*m->entries) };
	if (m->n_entries && is_good(head) &&
	    (head->kind != KL_MANIFEST_HEAD || memcmp(head->uuid, uuid, sizeof(head->uuid)) != 0))
		return kl_fail(EINVAL, KL_MANIFEST_FILE " belongs to another trace");
	m->sorted = calloc(m->n_entries + 1, sizeof(*m->sorted));
	if (!m->sorted)
		return kl_fail(ENOMEM, "out of memory");
	ret = group_by_cpu(m, sort_entries(m));
	if (ret)
		kl_manifest_deinit(m);
	return ret;
}

void kl_manifest_deinit(struct kl_manifest *m)
{
	free(m->sorted);
	free(m->cpus);
	*m = (struct kl_manifest){ 0 };
}

const struct kl_manifest_cpu *kl_manifest_cpu(const struct kl_manifest *m, uint32_t cpu)
{
	size_t from = 0, to = m->n_cpus;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (m->cpus[middle].cpu == cpu)
			return &m->cpus[middle];
		if (m->cpus[middle].cpu < cpu)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}
