// SPDX-License-Identifier: GPL-2.0
/* Answers what a BTF type is and what it contains. */
#include <errno.h>
#include <stdio.h>

#include "../base/base.h"
#include "btf.h"

#define MODIFIERS                                                                              \
	(KL_BTF_BIT(KL_BTF_TYPEDEF) | KL_BTF_BIT(KL_BTF_VOLATILE) | KL_BTF_BIT(KL_BTF_CONST) | \
	 KL_BTF_BIT(KL_BTF_RESTRICT) | KL_BTF_BIT(KL_BTF_TYPE_TAG))
#define REFERENCES                                                      \
	(MODIFIERS | KL_BTF_BIT(KL_BTF_PTR) | KL_BTF_BIT(KL_BTF_FUNC) | \
	 KL_BTF_BIT(KL_BTF_FUNC_PROTO) | KL_BTF_BIT(KL_BTF_VAR))
#define INT_SIGNED 1
#define IS_FLAGGED 0x80000000u

static bool is_one_of(uint32_t info, uint32_t kinds)
{
	return kinds & KL_BTF_BIT(kl_btf_info_kind(info));
}

enum kl_btf_kind kl_btf_kind(const struct kl_btf *btf, uint32_t type)
{
	return kl_btf_info_kind(kl_btf_type_get(btf, type).info);
}

const char *kl_btf_name(const struct kl_btf *btf, uint32_t type)
{
	return kl_btf_string(btf, kl_btf_type_get(btf, type).name);
}

uint32_t kl_btf_target(const struct kl_btf *btf, uint32_t type)
{
	struct kl_btf_type t = kl_btf_type_get(btf, type);

	if (is_one_of(t.info, REFERENCES))
		return t.size_or_type;
	return kl_btf_info_kind(t.info) == KL_BTF_ARRAY ? kl_get32(t.rest) : 0;
}

uint32_t kl_btf_resolve(const struct kl_btf *btf, uint32_t type)
{
	for (int i = 0; i < KL_BTF_DEPTH_MAX; i++) {
		struct kl_btf_type t = kl_btf_type_get(btf, type);

		if (!is_one_of(t.info, MODIFIERS))
			return type;
		type = t.size_or_type;
	}
	return 0;
}

uint64_t kl_btf_bytes(const struct kl_btf *btf, uint32_t type)
{
	uint64_t elements = 1;

	for (int i = 0; i < KL_BTF_DEPTH_MAX; i++) {
		struct kl_btf_type t;

		type = kl_btf_resolve(btf, type);
		t = kl_btf_type_get(btf, type);
		switch (kl_btf_info_kind(t.info)) {
		case KL_BTF_INT:
		case KL_BTF_STRUCT:
		case KL_BTF_UNION:
		case KL_BTF_ENUM:
		case KL_BTF_ENUM64:
		case KL_BTF_DATASEC:
		case KL_BTF_FLOAT:
			return elements * t.size_or_type;
		case KL_BTF_PTR:
			return elements * 8;
		case KL_BTF_ARRAY:
			elements *= kl_get32(t.rest + 8);
			type = kl_get32(t.rest);
			break;
		case KL_BTF_VAR:
			type = t.size_or_type;
			break;
		default:
			return 0;
		}
	}
	return 0;
}

bool kl_btf_is_signed(const struct kl_btf *btf, uint32_t type)
{
	struct kl_btf_type t = kl_btf_type_get(btf, kl_btf_resolve(btf, type));

	if (kl_btf_info_kind(t.info) == KL_BTF_INT)
		return kl_get32(t.rest) >> 24 & INT_SIGNED;
	return is_one_of(t.info, KL_BTF_ENUMS) && t.info & IS_FLAGGED;
}

uint32_t kl_btf_elements(const struct kl_btf *btf, uint32_t type)
{
	struct kl_btf_type t = kl_btf_type_get(btf, kl_btf_resolve(btf, type));

	return kl_btf_info_kind(t.info) == KL_BTF_ARRAY ? kl_get32(t.rest + 8) : 0;
}

int kl_btf_member_at(const struct kl_btf *btf, uint32_t type, unsigned int index,
		     struct kl_btf_member *member)
{
	struct kl_btf_type t = kl_btf_type_get(btf, type);
	uint32_t offset;

	if (!is_one_of(t.info, KL_BTF_STRUCTS) || index >= kl_btf_info_count(t.info))
		return -ENOENT;
	t.rest += 12 * index;
	offset = kl_get32(t.rest + 8);
	member->name = kl_btf_string(btf, kl_get32(t.rest));
	member->type = kl_get32(t.rest + 4);
	member->bit_offset = t.info & IS_FLAGGED ? offset & 0xffffff : offset;
	member->bits = t.info & IS_FLAGGED ? offset >> 24 : 0;
	return 0;
}

/*
 * Search members by name, also in anonymous structs. Structs that contain each other many times
 * could make this endless; @left bounds the members visited.
 */
static int find_member(const struct kl_btf *btf, uint32_t type, const char *name,
		       struct kl_btf_member *member, unsigned int depth, unsigned int *left)
{
	uint32_t outer;

	type = kl_btf_resolve(btf, type);
	for (unsigned int i = 0; *left && !kl_btf_member_at(btf, type, i, member); i++) {
		(*left)--;
		if (!strcmp(member->name, name))
			return 0;
		if (*member->name || depth == KL_BTF_DEPTH_MAX)
			continue;
		outer = member->bit_offset;
		if (!find_member(btf, member->type, name, member, depth + 1, left)) {
			member->bit_offset += outer;
			return 0;
		}
	}
	return -ENOENT;
}

int kl_btf_member_find(const struct kl_btf *btf, uint32_t type, const char *name,
		       struct kl_btf_member *member)
{
	unsigned int left = KL_BTF_MEMBERS_MAX;

	return *name ? find_member(btf, type, name, member, 0, &left) : -ENOENT;
}

int kl_btf_value_at(const struct kl_btf *btf, uint32_t type, unsigned int index,
		    struct kl_btf_value *value)
{
	struct kl_btf_type t = kl_btf_type_get(btf, type);

	if (!is_one_of(t.info, KL_BTF_ENUMS) || index >= kl_btf_info_count(t.info))
		return -ENOENT;
	t.rest += (kl_btf_info_kind(t.info) == KL_BTF_ENUM ? 8 : 12) * index;
	value->name = kl_btf_string(btf, kl_get32(t.rest));
	value->type = type;
	value->is_signed = t.info & IS_FLAGGED;
	value->value = kl_get32(t.rest + 4);
	if (kl_btf_info_kind(t.info) == KL_BTF_ENUM64)
		value->value |= (uint64_t)kl_get32(t.rest + 8) << 32;
	else if (value->is_signed)
		value->value = (int32_t)value->value;
	return 0;
}

int kl_btf_parameter_at(const struct kl_btf *btf, uint32_t type, unsigned int index,
			struct kl_btf_parameter *parameter)
{
	struct kl_btf_type t = kl_btf_type_get(btf, type);

	if (kl_btf_info_kind(t.info) != KL_BTF_FUNC_PROTO || index >= kl_btf_info_count(t.info))
		return -ENOENT;
	parameter->name = kl_btf_string(btf, kl_get32(t.rest + 8 * index));
	parameter->type = kl_get32(t.rest + 8 * index + 4);
	return 0;
}

static int prototype(const struct kl_btf *btf, uint32_t type)
{
	return kl_btf_kind(btf, type) == KL_BTF_FUNC_PROTO ? (int)type : -ENOENT;
}

int kl_btf_function(const struct kl_btf *btf, const char *name)
{
	int function = kl_btf_find(btf, name, KL_BTF_BIT(KL_BTF_FUNC));

	return function < 0 ? function : prototype(btf, kl_btf_target(btf, function));
}

int kl_btf_tracepoint(const struct kl_btf *btf, const char *name)
{
	char whole[128];
	int type;

	if (snprintf(whole, sizeof(whole), "__traceiter_%s", name) >= (int)sizeof(whole))
		return -ENOENT;
	type = kl_btf_function(btf, whole);
	if (type >= 0)
		return type;
	snprintf(whole, sizeof(whole), "btf_trace_%s", name);
	type = kl_btf_find(btf, whole, KL_BTF_BIT(KL_BTF_TYPEDEF));
	if (type < 0)
		return type;
	type = kl_btf_resolve(btf, type);
	return prototype(btf, kl_btf_resolve(btf, kl_btf_target(btf, type)));
}

int kl_btf_variable_find(const struct kl_btf *btf, const char *name,
			 struct kl_btf_variable *variable)
{
	int id = kl_btf_find(btf, name, KL_BTF_BIT(KL_BTF_VAR));

	if (id < 0)
		return id;
	*variable = (struct kl_btf_variable){ .type = kl_btf_target(btf, id), .section = "" };
	for (uint32_t type = kl_btf_types(btf); --type;) {
		struct kl_btf_type t = kl_btf_type_get(btf, type);

		if (kl_btf_info_kind(t.info) != KL_BTF_DATASEC)
			continue;
		for (unsigned int i = 0; i < kl_btf_info_count(t.info); i++)
			if (kl_get32(t.rest + 12 * i) == (uint32_t)id)
				variable->section = kl_btf_string(btf, t.name);
	}
	variable->is_percpu = strstr(variable->section, "percpu");
	return 0;
}

/* Print "void", "struct x", "unsigned int": the part before stars and names. */
static void describe_plain(const struct kl_btf *btf, uint32_t type, struct kl_buffer *buffer)
{
	static const char *const words[KL_BTF_COUNT] = {
		[KL_BTF_VOID] = "void",	 [KL_BTF_STRUCT] = "struct ", [KL_BTF_UNION] = "union ",
		[KL_BTF_ENUM] = "enum ", [KL_BTF_ENUM64] = "enum ",   [KL_BTF_FWD] = "struct ",
	};
	enum kl_btf_kind kind = kl_btf_kind(btf, type);
	const char *name = kl_btf_name(btf, type);

	if (kind == KL_BTF_FUNC_PROTO) {
		kl_buffer_add_string(buffer, "function");
		return;
	}
	if (words[kind])
		kl_buffer_add_string(buffer, words[kind]);
	kl_buffer_add_string(buffer, *name || kind == KL_BTF_VOID ? name : "{ ... }");
}

static void describe(const struct kl_btf *btf, uint32_t type, struct kl_buffer *buffer,
		     unsigned int depth)
{
	switch (depth < KL_BTF_DEPTH_MAX ? kl_btf_kind(btf, type) : KL_BTF_VOID) {
	case KL_BTF_PTR:
		describe(btf, kl_btf_target(btf, type), buffer, depth + 1);
		if (buffer->length && buffer->data[buffer->length - 1] != '*')
			kl_buffer_add_char(buffer, ' ');
		kl_buffer_add_char(buffer, '*');
		break;
	case KL_BTF_ARRAY:
		describe(btf, kl_btf_target(btf, type), buffer, depth + 1);
		kl_buffer_printf(buffer, "[%u]", kl_btf_elements(btf, type));
		break;
	case KL_BTF_CONST:
		kl_buffer_add_string(buffer, "const ");
		describe(btf, kl_btf_target(btf, type), buffer, depth + 1);
		break;
	case KL_BTF_VOLATILE:
	case KL_BTF_RESTRICT:
	case KL_BTF_TYPE_TAG:
	case KL_BTF_VAR:
	case KL_BTF_FUNC:
		describe(btf, kl_btf_target(btf, type), buffer, depth + 1);
		break;
	default:
		describe_plain(btf, type, buffer);
	}
}

void kl_btf_describe(const struct kl_btf *btf, uint32_t type, struct kl_buffer *buffer)
{
	describe(btf, type, buffer, 0);
}
