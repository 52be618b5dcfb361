/* SPDX-License-Identifier: GPL-2.0 */
/* What btf.c (parsing, index) and btf_type.c (queries) share. */
#ifndef KL_LIB_SYMBOL_BTF_H
#define KL_LIB_SYMBOL_BTF_H

#include <kernlens/btf.h>

#define KL_BTF_DEPTH_MAX 32 /* maximum length of type chains; the kernel's own limit */
#define KL_BTF_MEMBERS_MAX 65536u /* visited per lookup; a struct has some hundreds */

/*
 * Types and strings continue those of @base: type ids start at @first, strings at @string_first.
 * @types[id - first] is a type's offset in @type_bytes.
 */
struct kl_btf {
	const struct kl_btf *base;
	uint8_t *data; /* whole file */
	const uint8_t *type_bytes;
	const char *strings;
	uint32_t string_first;
	uint32_t string_bytes;
	uint32_t first;
	uint32_t n; /* own types */
	uint32_t *types;
	uint32_t *names; /* by hash, the id of the first type; 0: none */
	uint32_t *name_next; /* for each own type, the next one with the same hash */
	uint32_t name_mask;
	uint32_t *values; /* by hash, the number of the first constant plus 1; 0: none */
	struct kl_btf_constant *value;
	uint32_t value_mask;
	uint32_t n_values;
};

/* A constant of an enum, linked to the next one with the same hash. */
struct kl_btf_constant {
	uint32_t type;
	uint32_t index;
	uint32_t next;
};

/* A type: the format's three words, and the data after them. */
struct kl_btf_type {
	const uint8_t *rest;
	uint32_t name;
	uint32_t info;
	uint32_t size_or_type;
};

static inline unsigned int kl_btf_info_kind(uint32_t info)
{
	return info >> 24 & 0x1f;
}

static inline unsigned int kl_btf_info_count(uint32_t info)
{
	return info & 0xffff;
}

/* The type @id, or void if it is invalid. */
struct kl_btf_type kl_btf_type_get(const struct kl_btf *btf, uint32_t id);
const char *kl_btf_string(const struct kl_btf *btf, uint32_t offset);

#endif /* KL_LIB_SYMBOL_BTF_H */
