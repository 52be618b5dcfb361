// SPDX-License-Identifier: GPL-2.0
/*
 * Paths of cgroups by ID. symbolize/cgroups.c reads those of the running system, a trace directory
 * has those of its recording, and the printers look them up.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/cgroup_store.h>
#include "../base/base.h"
#include "../base/lines.h"
#include "../base/table.h"
#include "../base/texts.h"
#include "print.h"
#include "schema.h"

#define VERSION 1
#define FIRST_WORD "kernlens-cgroups "

struct entry {
	uint64_t id;
	const char *path; /* NULL: looked for, but not known */
};

struct kl_cgroups {
	struct kl_hash table;
	struct kl_texts texts;
	kl_cgroups_fn find;
	void *data;
};

struct kl_cgroups *kl_cgroups_create(void)
{
	struct kl_cgroups *cgroups = calloc(1, sizeof(*cgroups));

	if (cgroups)
		cgroups->table.size = sizeof(struct entry);
	else
		kl_fail(ENOMEM, "out of memory");
	return cgroups;
}

void kl_cgroups_destroy(struct kl_cgroups *cgroups)
{
	if (!cgroups)
		return;
	kl_hash_deinit(&cgroups->table);
	kl_texts_deinit(&cgroups->texts);
	free(cgroups->data);
	free(cgroups);
}

void kl_cgroups_set_source(struct kl_cgroups *cgroups, kl_cgroups_fn find, void *data)
{
	cgroups->find = find;
	cgroups->data = data;
}

int kl_cgroups_add(struct kl_cgroups *cgroups, uint64_t id, const char *path)
{
	struct entry *entry;

	if (!id)
		return kl_fail(EINVAL, "0 is not the ID of a cgroup");
	if (cgroups->table.count >= KL_CGROUPS_MAX)
		return kl_fail(ENOSPC, "too many cgroups");
	entry = kl_hash_get(&cgroups->table, id);
	if (!entry)
		return -ENOMEM;
	if (kl_texts_keep(&cgroups->texts, &path))
		return -ENOMEM;
	entry->path = path;
	return 0;
}

const char *kl_cgroups_get(struct kl_cgroups *cgroups, uint64_t id)
{
	struct entry *entry;

	if (!cgroups || !id || cgroups->table.count >= KL_CGROUPS_MAX)
		return NULL;
	/* What has no source is only read, by several threads. */
	entry = cgroups->find ? kl_hash_get(&cgroups->table, id) :
				kl_hash_find(&cgroups->table, id);
	if (entry && !entry->path && cgroups->find) {
		cgroups->find(cgroups, cgroups->data);
		entry = kl_hash_get(&cgroups->table, id);
	}
	return entry ? entry->path : NULL;
}

/* ----------------------------------------------------------------- as text */

void kl_cgroups_write(const struct kl_cgroups *cgroups, struct kl_buffer *buffer)
{
	const struct entry *entry = NULL;

	kl_buffer_printf(buffer, FIRST_WORD "%d\n", VERSION);
	while ((entry = kl_hash_next(&cgroups->table, entry))) {
		if (!entry->path)
			continue;
		kl_buffer_printf(buffer, "%llu ", (unsigned long long)entry->id);
		kl_word_write(buffer, entry->path);
		kl_buffer_add_char(buffer, '\n');
	}
}

static bool parse_lines(struct kl_cgroups *cgroups, struct kl_lines *lines)
{
	char *line = kl_lines_next(lines);
	const char *path;
	uint64_t number;

	if (!line || strncmp(line, FIRST_WORD, strlen(FIRST_WORD)) != 0)
		return false;
	line += strlen(FIRST_WORD);
	if (!kl_word_take_number(&line, 10, &number) || *line || number != VERSION)
		return false;
	while ((line = kl_lines_next(lines)))
		if (!kl_word_take_number(&line, 10, &number) || !kl_word_take(&line, &path) ||
		    *line || !path || kl_cgroups_add(cgroups, number, path))
			return false;
	return lines->at == lines->end;
}

struct kl_cgroups *kl_cgroups_parse(const char *text, size_t bytes)
{
	struct kl_cgroups *cgroups = kl_cgroups_create();
	struct kl_lines lines;
	int error = cgroups ? kl_lines_init(&lines, text, bytes) : -ENOMEM;

	if (!error && !parse_lines(cgroups, &lines))
		error = kl_fail(EINVAL, "cgroups: cannot parse line %u", lines.number);
	if (cgroups)
		kl_lines_deinit(&lines);
	if (!error)
		return cgroups;
	kl_cgroups_destroy(cgroups);
	errno = -error;
	return NULL;
}

int kl_cgroups_save(const struct kl_cgroups *cgroups, const char *path)
{
	struct kl_buffer buffer = { 0 };
	int error;

	kl_cgroups_write(cgroups, &buffer);
	error = kl_part_write(path, KL_CGROUPS_FILE, &buffer);
	kl_buffer_deinit(&buffer);
	return error;
}

/* ---------------------------------------------------------------- printing */

void kl_schema_set_cgroups(struct kl_schema *schema, struct kl_cgroups *cgroups)
{
	schema->cgroups = cgroups;
}

struct kl_cgroups *kl_schema_cgroups(const struct kl_schema *schema)
{
	return schema->cgroups;
}

bool kl_print_cgroup(struct kl_buffer *buffer, struct kl_cgroups *cgroups, uint64_t id)
{
	const char *path = kl_cgroups_get(cgroups, id);

	if (path)
		kl_print_plain(buffer, path, strlen(path));
	return path;
}
