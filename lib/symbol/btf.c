// SPDX-License-Identifier: GPL-2.0
/*
 * Reads BTF (the kernel's Documentation/bpf/btf.rst) and finds types by name. One pass when the
 * file is opened puts all names into a hash table. Files may be damaged: every type and string is
 * checked to lie inside the file when it is used.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/base.h"
#include "btf.h"
#include "elf.h"

#define HEADER_BYTES 24
#define MAGIC 0xeb9f
#define FILE_MAX (256u << 20)
#define TYPE_BYTES 12
#define HASHED_BYTES 256 /* of a name; a file's types may all share a long one */

const char *kl_btf_string(const struct kl_btf *btf, uint32_t offset)
{
	while (offset < btf->string_first)
		btf = btf->base;
	offset -= btf->string_first;
	return offset < btf->string_bytes ? btf->strings + offset : "";
}

struct kl_btf_type kl_btf_type_get(const struct kl_btf *btf, uint32_t id)
{
	const uint8_t *at;

	while (id < btf->first && btf->base)
		btf = btf->base;
	if (id < btf->first || id - btf->first >= btf->n)
		return (struct kl_btf_type){ 0 };
	at = btf->type_bytes + btf->types[id - btf->first];
	return (struct kl_btf_type){ .rest = at + TYPE_BYTES,
				     .name = kl_get32(at),
				     .info = kl_get32(at + 4),
				     .size_or_type = kl_get32(at + 8) };
}

/* Hash eight bytes at a time: names are long, and there are a hundred thousand. */
static uint32_t hash_name(const char *name)
{
	size_t length = strnlen(name, HASHED_BYTES);
	uint64_t hash = length, word;

	while (length >= 8) {
		hash = (hash ^ kl_get64(name)) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
		name += 8;
		length -= 8;
	}
	word = 0;
	memcpy(&word, name, length);
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash >> 32;
}

/* Bytes after the first three words of a type; -1: unknown kind. */
static int rest_bytes(uint32_t info)
{
	unsigned int count = kl_btf_info_count(info);

	switch (kl_btf_info_kind(info)) {
	case KL_BTF_INT:
	case KL_BTF_VAR:
	case KL_BTF_DECL_TAG:
		return 4;
	case KL_BTF_ARRAY:
		return 12;
	case KL_BTF_STRUCT:
	case KL_BTF_UNION:
	case KL_BTF_DATASEC:
	case KL_BTF_ENUM64:
		return 12 * count;
	case KL_BTF_ENUM:
	case KL_BTF_FUNC_PROTO:
		return 8 * count;
	case KL_BTF_VOID:
		return -1;
	default:
		return kl_btf_info_kind(info) < KL_BTF_COUNT ? 0 : -1;
	}
}

/* Record where each type is, and count the constants of enums. */
static int find_types(struct kl_btf *btf, size_t bytes)
{
	const uint8_t *from = btf->type_bytes, *at = from, *end = from + bytes;
	int rest;

	btf->types = malloc((bytes / TYPE_BYTES + 1) * sizeof(*btf->types));
	if (!btf->types)
		return kl_fail(ENOMEM, "out of memory");
	while (end - at >= TYPE_BYTES) {
		uint32_t info = kl_get32(at + 4);

		rest = rest_bytes(info);
		if (rest < 0)
			return kl_fail(EINVAL, "BTF: type %u has the unknown kind %u",
				       btf->first + btf->n, kl_btf_info_kind(info));
		if (rest > end - at - TYPE_BYTES)
			break;
		if (KL_BTF_ENUMS & KL_BTF_BIT(kl_btf_info_kind(info)))
			btf->n_values += kl_btf_info_count(info);
		btf->types[btf->n++] = at - from;
		at += TYPE_BYTES + rest;
	}
	if (at != end)
		return kl_fail(EINVAL, "BTF: the last type is truncated");
	return 0;
}

static uint32_t power_of_two(uint32_t n)
{
	uint32_t power = 16;

	while (power < n)
		power *= 2;
	return power;
}

/*
 * Add to the front of the hash chain: constant time even if all names are equal. index_names() adds
 * the last type first, so the first one is found first.
 */
static void add_name(struct kl_btf *btf, uint32_t id, uint32_t name)
{
	uint32_t *first = &btf->names[hash_name(kl_btf_string(btf, name)) & btf->name_mask];

	btf->name_next[id - btf->first] = *first;
	*first = id;
}

static void add_values(struct kl_btf *btf, uint32_t id, const uint8_t *at, uint32_t info,
		       uint32_t *number)
{
	unsigned int bytes = kl_btf_info_kind(info) == KL_BTF_ENUM ? 8 : 12;

	for (unsigned int i = kl_btf_info_count(info); i--; (*number)--) {
		const char *text = kl_btf_string(btf, kl_get32(at + bytes * i));
		uint32_t *first = &btf->values[hash_name(text) & btf->value_mask];

		btf->value[*number - 1] = (struct kl_btf_constant){ id, i, *first };
		*first = *number;
	}
}

static int index_names(struct kl_btf *btf)
{
	uint32_t names = power_of_two(btf->n), values = power_of_two(btf->n_values);
	uint32_t number = btf->n_values;

	btf->names = calloc(names, sizeof(*btf->names));
	btf->name_next = calloc(btf->n + 1, sizeof(*btf->name_next));
	btf->values = calloc(values, sizeof(*btf->values));
	btf->value = calloc(number + 1, sizeof(*btf->value));
	if (!btf->names || !btf->name_next || !btf->values || !btf->value)
		return kl_fail(ENOMEM, "out of memory");
	btf->name_mask = names - 1;
	btf->value_mask = values - 1;
	for (uint32_t i = btf->n; i--;) {
		const uint8_t *at = btf->type_bytes + btf->types[i];
		uint32_t info = kl_get32(at + 4), name = kl_get32(at);

		if (name && kl_btf_info_kind(info) != KL_BTF_DECL_TAG)
			add_name(btf, btf->first + i, name);
		if (KL_BTF_ENUMS & KL_BTF_BIT(kl_btf_info_kind(info)))
			add_values(btf, btf->first + i, at + TYPE_BYTES, info, &number);
	}
	return 0;
}

/* Parse @bytes bytes of @btf->data. */
static int parse(struct kl_btf *btf, size_t bytes)
{
	const uint8_t *data = btf->data;
	uint64_t header, types, types_bytes, strings, strings_bytes;
	int ret;

	if (bytes < HEADER_BYTES || kl_get16(data) != MAGIC || data[2] != 1)
		return kl_fail(EINVAL, "not BTF data");
	header = kl_get32(data + 4);
	types = header + kl_get32(data + 8);
	types_bytes = kl_get32(data + 12);
	strings = header + kl_get32(data + 16);
	strings_bytes = kl_get32(data + 20);
	if (types + types_bytes > bytes || strings + strings_bytes > bytes ||
	    (strings_bytes && data[strings + strings_bytes - 1]) || (!strings_bytes && !btf->base))
		return kl_fail(EINVAL, "BTF: sections exceed the data");
	btf->type_bytes = data + types;
	btf->strings = (const char *)data + strings;
	btf->string_bytes = strings_bytes;
	btf->first = 1;
	if (btf->base) {
		btf->first = kl_btf_types(btf->base);
		btf->string_first = btf->base->string_first + btf->base->string_bytes;
	}
	ret = find_types(btf, types_bytes);
	return ret ? ret : index_names(btf);
}

/* Takes ownership of @data, even on failure. */
static struct kl_btf *create(uint8_t *data, size_t bytes, const struct kl_btf *base)
{
	struct kl_btf *btf = calloc(1, sizeof(*btf));
	int ret;

	if (!btf) {
		free(data);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	btf->data = data;
	btf->base = base;
	ret = parse(btf, bytes);
	if (!ret)
		return btf;
	kl_btf_close(btf);
	errno = -ret;
	return NULL;
}

struct kl_btf *kl_btf_parse(const void *data, size_t bytes, const struct kl_btf *base)
{
	uint8_t *copy = malloc(bytes + 1);

	if (!copy) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	memcpy(copy, data, bytes);
	return create(copy, bytes, base);
}

/* Read a part of the file: for BTF in a section of an ELF file, only that section. */
static uint8_t *read_part(int fd, const char *path, uint64_t from, uint64_t bytes)
{
	uint8_t *data;

	if (bytes > FILE_MAX) {
		kl_fail(EINVAL, "%s: %llu bytes is too large for BTF", path,
			(unsigned long long)bytes);
		return NULL;
	}
	data = malloc(bytes + 1);
	if (!data) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	if (kl_read_at(fd, data, bytes, from) < bytes) {
		kl_fail_system(errno ? errno : EINVAL, "cannot read %s", path);
		free(data);
		return NULL;
	}
	return data;
}

static struct kl_btf *open_file(const char *path, const struct kl_btf *base)
{
	struct kl_elf_section section = { 0 };
	struct kl_btf *btf = NULL;
	uint8_t *data = NULL;
	struct stat stat;
	int ret, fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &stat)) {
		kl_fail_system(errno, "cannot open %s", path);
		goto out;
	}
	section.bytes = stat.st_size;
	ret = kl_elf_find_section(fd, ".BTF", &section);
	if (ret == -ENOENT)
		kl_fail(ENOENT, "%s has no type information (no section .BTF)", path);
	else if (!ret)
		data = read_part(fd, path, section.offset, section.bytes);
	if (data)
		btf = create(data, section.bytes, base);
out:
	ret = errno;
	if (fd >= 0)
		close(fd);
	errno = ret;
	return btf;
}

struct kl_btf *kl_btf_open(const char *path)
{
	return open_file(path ? path : KL_BTF_KERNEL_PATH, NULL);
}

struct kl_btf *kl_btf_open_module(const struct kl_btf *base, const char *path)
{
	char file[128];

	if (!strchr(path, '/')) {
		if (snprintf(file, sizeof(file), "/sys/kernel/btf/%s", path) >= (int)sizeof(file)) {
			kl_fail(ENOENT, "module name too long: %s", path);
			return NULL;
		}
		path = file;
	}
	return open_file(path, base);
}

void kl_btf_close(struct kl_btf *btf)
{
	if (!btf)
		return;
	free(btf->value);
	free(btf->values);
	free(btf->name_next);
	free(btf->names);
	free(btf->types);
	free(btf->data);
	free(btf);
}

uint32_t kl_btf_types(const struct kl_btf *btf)
{
	return btf->first + btf->n;
}

int kl_btf_find(const struct kl_btf *btf, const char *name, uint32_t kinds)
{
	uint32_t id = btf->names[hash_name(name) & btf->name_mask];

	for (; id; id = btf->name_next[id - btf->first]) {
		struct kl_btf_type type = kl_btf_type_get(btf, id);

		if (kinds & KL_BTF_BIT(kl_btf_info_kind(type.info)) &&
		    !strcmp(kl_btf_string(btf, type.name), name))
			return id;
	}
	/* A module's own types take precedence: its functions may share names with the kernel's. */
	return btf->base ? kl_btf_find(btf->base, name, kinds) : -ENOENT;
}

int kl_btf_value_find(const struct kl_btf *btf, const char *name, struct kl_btf_value *value)
{
	uint32_t number = btf->values[hash_name(name) & btf->value_mask];

	while (number) {
		const struct kl_btf_constant *of = &btf->value[number - 1];

		if (!kl_btf_value_at(btf, of->type, of->index, value) && !strcmp(value->name, name))
			return 0;
		number = of->next;
	}
	return btf->base ? kl_btf_value_find(btf->base, name, value) : -ENOENT;
}
