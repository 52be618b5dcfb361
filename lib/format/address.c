// SPDX-License-Identifier: GPL-2.0
/*
 * Symbolic names of kernel addresses: cached once looked up, and stored as text in a trace
 * directory. symbolize/addresses.c provides them, the printers read them.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/address_store.h>
#include <kernlens/cgroup_store.h>
#include "../base/base.h"
#include "../base/lines.h"
#include "../base/texts.h"
#include "print.h"
#include "schema.h"

#define VERSION 1
#define SLOTS_LEAST 256u
#define IS_KERNEL(address) ((address) >> 63)

struct entry {
	uint64_t address; /* 0: free */
	struct kl_address what; /* no symbol: looked up, but has no name */
};

struct kl_addresses {
	struct entry *entry; /* open addressing; @slots is a power of two */
	size_t slots, n, named;
	struct kl_texts texts;
	kl_address_fn find;
	void (*done)(void *data);
	void *data;
};

struct kl_addresses *kl_addresses_create(void)
{
	struct kl_addresses *addresses = calloc(1, sizeof(*addresses));

	if (!addresses)
		kl_fail(ENOMEM, "out of memory");
	return addresses;
}

void kl_addresses_destroy(struct kl_addresses *addresses)
{
	if (!addresses)
		return;
	if (addresses->done)
		addresses->done(addresses->data);
	kl_texts_deinit(&addresses->texts);
	free(addresses->entry);
	free(addresses);
}

void kl_addresses_set_source(struct kl_addresses *addresses, kl_address_fn find,
			     void (*done)(void *data), void *data)
{
	addresses->find = find;
	addresses->done = done;
	addresses->data = data;
}

static struct entry *find_entry(struct entry *entry, size_t slots, uint64_t address)
{
	size_t at = (address * 0x9e3779b97f4a7c15ull >> 32) & (slots - 1);

	while (entry[at].address && entry[at].address != address)
		at = (at + 1) & (slots - 1);
	return &entry[at];
}

static int grow(struct kl_addresses *addresses)
{
	size_t slots = addresses->slots ? 2 * addresses->slots : SLOTS_LEAST;
	struct entry *entry;

	if (2 * addresses->n < addresses->slots)
		return 0;
	entry = calloc(slots, sizeof(*entry));
	if (!entry)
		return kl_fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < addresses->slots; i++)
		if (addresses->entry[i].address)
			*find_entry(entry, slots, addresses->entry[i].address) =
				addresses->entry[i];
	free(addresses->entry);
	addresses->entry = entry;
	addresses->slots = slots;
	return 0;
}

int kl_addresses_add(struct kl_addresses *addresses, uint64_t address,
		     const struct kl_address *what)
{
	struct kl_address copy = what ? *what : (struct kl_address){};
	struct entry *entry;

	if (!IS_KERNEL(address))
		return kl_fail(EINVAL, "%#llx is not a kernel address",
			       (unsigned long long)address);
	if (addresses->n == KL_ADDRESSES_MAX)
		return kl_fail(ENOSPC, "too many addresses");
	if (grow(addresses) || kl_texts_keep(&addresses->texts, &copy.symbol) ||
	    kl_texts_keep(&addresses->texts, &copy.module))
		return -ENOMEM;
	entry = find_entry(addresses->entry, addresses->slots, address);
	addresses->n += !entry->address;
	addresses->named += !!copy.symbol - (entry->address && entry->what.symbol);
	*entry = (struct entry){ address, copy };
	return 0;
}

const struct kl_address *kl_addresses_get(struct kl_addresses *addresses, uint64_t address)
{
	struct kl_address found;
	struct entry *entry;

	if (!addresses || !IS_KERNEL(address))
		return NULL;
	entry = addresses->slots ? find_entry(addresses->entry, addresses->slots, address) : NULL;
	if (!entry || !entry->address) {
		bool named = addresses->find && addresses->find(addresses->data, address, &found);

		if (!addresses->find || kl_addresses_add(addresses, address, named ? &found : NULL))
			return NULL;
		entry = find_entry(addresses->entry, addresses->slots, address);
	}
	return entry->what.symbol ? &entry->what : NULL;
}

const struct kl_address *kl_addresses_next(const struct kl_addresses *addresses, size_t *position,
					   uint64_t *address)
{
	while (*position < addresses->slots) {
		const struct entry *entry = &addresses->entry[(*position)++];

		if (!entry->what.symbol)
			continue;
		*address = entry->address;
		return &entry->what;
	}
	return NULL;
}

size_t kl_addresses_count(const struct kl_addresses *addresses)
{
	return addresses->named;
}

/* ----------------------------------------------------------------- as text */

void kl_addresses_write(const struct kl_addresses *addresses, struct kl_buffer *buffer)
{
	const struct kl_address *what;
	size_t position = 0;
	uint64_t address;

	kl_buffer_printf(buffer, "kernlens-symbols %d\n", VERSION);
	while ((what = kl_addresses_next(addresses, &position, &address))) {
		kl_buffer_printf(buffer, "%llx ", (unsigned long long)address);
		kl_word_write(buffer, what->symbol);
		kl_buffer_printf(buffer, " %llx ", (unsigned long long)what->offset);
		kl_word_write(buffer, what->module);
		kl_buffer_add_char(buffer, '\n');
	}
}

static bool parse_line(struct kl_addresses *addresses, char *line)
{
	struct kl_address what = {};
	uint64_t address;

	return kl_word_take_number(&line, 16, &address) && kl_word_take(&line, &what.symbol) &&
	       kl_word_take_number(&line, 16, &what.offset) && kl_word_take(&line, &what.module) &&
	       !*line && what.symbol && !kl_addresses_add(addresses, address, &what);
}

static bool parse_lines(struct kl_addresses *addresses, struct kl_lines *lines)
{
	char *line = kl_lines_next(lines);
	uint64_t version;

	if (!line || strncmp(line, "kernlens-symbols ", 17) != 0)
		return false;
	line += 17;
	if (!kl_word_take_number(&line, 10, &version) || *line || version != VERSION)
		return false;
	while ((line = kl_lines_next(lines)))
		if (!parse_line(addresses, line))
			return false;
	return lines->at == lines->end;
}

struct kl_addresses *kl_addresses_parse(const char *text, size_t bytes)
{
	struct kl_addresses *addresses = kl_addresses_create();
	struct kl_lines lines;
	int error = addresses ? kl_lines_init(&lines, text, bytes) : -ENOMEM;

	if (!error && !parse_lines(addresses, &lines))
		error = kl_fail(EINVAL, "symbols: cannot parse line %u", lines.number);
	if (addresses)
		kl_lines_deinit(&lines);
	if (!error)
		return addresses;
	kl_addresses_destroy(addresses);
	errno = -error;
	return NULL;
}

int kl_addresses_save(const struct kl_addresses *addresses, const char *path)
{
	struct kl_buffer buffer = { 0 };
	int error;

	kl_addresses_write(addresses, &buffer);
	error = kl_part_write(path, KL_ADDRESSES_FILE, &buffer);
	kl_buffer_deinit(&buffer);
	return error;
}

/* ---------------------------------------------------------------- printing */

struct kl_addresses *kl_schema_addresses(const struct kl_schema *schema)
{
	return schema->addresses;
}

void kl_schema_set_addresses(struct kl_schema *schema, struct kl_addresses *addresses)
{
	schema->addresses = addresses;
}

void kl_print_address(struct kl_buffer *buffer, const struct kl_address *address)
{
	if (address->module) {
		kl_print_plain(buffer, address->module, strlen(address->module));
		kl_buffer_add_char(buffer, ':');
	}
	kl_print_plain(buffer, address->symbol, strlen(address->symbol));
	if (!address->offset)
		return;
	kl_buffer_add_char(buffer, '+');
	kl_buffer_add_hex(buffer, address->offset);
}

bool kl_print_value_meaning(struct kl_buffer *buffer, const struct kl_schema *schema,
			    const struct kl_value *value)
{
	const struct kl_address *address;

	if (value->field->format == KL_FORMAT_cgroup)
		return kl_print_cgroup(buffer, schema->cgroups, value->number);
	if (value->field->format != KL_FORMAT_ptr)
		return kl_print_meaning(buffer, value->field->format, value->number);
	address = kl_addresses_get(schema->addresses, value->number);
	if (address)
		kl_print_address(buffer, address);
	return address;
}
