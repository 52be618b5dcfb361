// SPDX-License-Identifier: GPL-2.0
/* Types as expressions use them: BTF's, without the irrelevant details. */
#include <stdio.h>

#include "../base/base.h"
#include "btf.h"
#include "expression.h"

_Static_assert((int)KL_TYPE_S8 == (int)KL_NUMBER_S8 && (int)KL_TYPE_U64 == (int)KL_NUMBER_U64,
	       "types of fields are numbered as types of numbers");

/* Kernel typedefs whose names say how to print them. */
static const struct {
	const char *name;
	enum kl_format format;
} typedefs[] = {
	{ "gfp_t", KL_FORMAT_gfp },	      { "umode_t", KL_FORMAT_mode },
	{ "dev_t", KL_FORMAT_dev },	      { "sector_t", KL_FORMAT_sector },
	{ "vm_fault_t", KL_FORMAT_vm_fault }, { "clockid_t", KL_FORMAT_clockid },
	{ "sa_family_t", KL_FORMAT_family },  { "fmode_t", KL_FORMAT_hex },
	{ "phys_addr_t", KL_FORMAT_hex },     { "dma_addr_t", KL_FORMAT_hex },
	{ "blk_opf_t", KL_FORMAT_hex },	      { "slab_flags_t", KL_FORMAT_hex },
	{ "uintptr_t", KL_FORMAT_hex },
};

static const struct {
	const char *name;
	uint8_t bytes;
	bool is_signed;
} words[] = {
	{ "u8", 1, false },	  { "s8", 1, true },	    { "u16", 2, false },
	{ "s16", 2, true },	  { "u32", 4, false },	    { "s32", 4, true },
	{ "u64", 8, false },	  { "s64", 8, true },	    { "uint8_t", 1, false },
	{ "int8_t", 1, true },	  { "uint16_t", 2, false }, { "int16_t", 2, true },
	{ "uint32_t", 4, false }, { "int32_t", 4, true },   { "uint64_t", 8, false },
	{ "int64_t", 8, true },	  { "size_t", 8, false },   { "ssize_t", 8, true },
	{ "pid_t", 4, true },	  { "loff_t", 8, true },
};

void kl_ctype_int(struct kl_ctype *type, unsigned int bytes, bool is_signed)
{
	*type = (struct kl_ctype){ .base = KL_BASE_INT, .bytes = bytes, .is_signed = is_signed };
}

bool kl_ctype_word(struct kl_ctype *type, const char *name, size_t length)
{
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(words); i++) {
		if (strlen(words[i].name) != length || memcmp(words[i].name, name, length) != 0)
			continue;
		kl_ctype_int(type, words[i].bytes, words[i].is_signed);
		return true;
	}
	return false;
}

static enum kl_format format_of(const char *name)
{
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(typedefs); i++)
		if (!strcmp(typedefs[i].name, name))
			return typedefs[i].format;
	return KL_FORMAT_dec;
}

static void set_base(struct kl_ctype *type, const struct kl_btf *btf, uint32_t id)
{
	enum kl_btf_kind kind = kl_btf_kind(btf, id);
	const char *name = kl_btf_name(btf, id);

	switch (kind) {
	case KL_BTF_INT:
	case KL_BTF_ENUM:
	case KL_BTF_ENUM64:
		type->base = KL_BASE_INT;
		type->bytes = kl_btf_bytes(btf, id) > 8 ? 0 : kl_btf_bytes(btf, id);
		type->is_signed = kl_btf_is_signed(btf, id);
		type->is_char = !strcmp(name, "char");
		type->is_bool = !strcmp(name, "_Bool") || !strcmp(name, "bool");
		if (kind != KL_BTF_INT)
			type->id = id;
		/* __int128 does not fit a number. */
		if (!type->bytes)
			type->base = KL_BASE_VOID;
		break;
	case KL_BTF_STRUCT:
	case KL_BTF_UNION:
	case KL_BTF_FWD:
		type->base = KL_BASE_STRUCT;
		type->id = id;
		break;
	case KL_BTF_ARRAY:
		type->base = KL_BASE_ARRAY;
		type->id = id;
		break;
	case KL_BTF_FUNC_PROTO:
		type->base = KL_BASE_FUNCTION;
		type->id = id;
		break;
	default:
		type->base = KL_BASE_VOID;
	}
}

void kl_ctype_btf(struct kl_ctype *type, const struct kl_btf *btf, uint32_t id)
{
	bool is_named = false;

	*type = (struct kl_ctype){ 0 };
	for (int i = 0; i < KL_BTF_DEPTH_MAX; i++) {
		switch (kl_btf_kind(btf, id)) {
		case KL_BTF_PTR:
			type->stars++;
			type->format = KL_FORMAT_dec;
			break;
		case KL_BTF_TYPEDEF:
			is_named = true;
			if (type->format == KL_FORMAT_dec)
				type->format = format_of(kl_btf_name(btf, id));
			break;
		case KL_BTF_TYPE_TAG:
			if (type->stars == 1 && !strcmp(kl_btf_name(btf, id), "user"))
				type->is_user = true;
			break;
		case KL_BTF_CONST:
			type->is_const = type->stars == 1;
			break;
		case KL_BTF_VOLATILE:
		case KL_BTF_RESTRICT:
			break;
		default:
			set_base(type, btf, id);
			/* Some strings in the kernel are unsigned char *; a u8 is a number. */
			type->is_byte = !is_named && !strcmp(kl_btf_name(btf, id), "unsigned char");
			return;
		}
		id = kl_btf_target(btf, id);
	}
}

void kl_ctype_target(struct kl_ctype *target, const struct kl_ctype *type, const struct kl_btf *btf)
{
	struct kl_ctype from = *type;

	if (from.stars) {
		*target = from;
		target->stars--;
		target->is_user = false;
		return;
	}
	kl_ctype_btf(target, btf, kl_btf_target(btf, from.id));
}

void kl_ctype_decay(struct kl_ctype *type, const struct kl_btf *btf)
{
	if (!kl_ctype_is_array(type))
		return;
	kl_ctype_target(type, type, btf);
	type->stars++;
}

uint64_t kl_ctype_bytes(const struct kl_ctype *type, const struct kl_btf *btf)
{
	if (type->stars)
		return 8;
	switch (type->base) {
	case KL_BASE_INT:
		return type->bytes;
	case KL_BASE_STRUCT:
	case KL_BASE_ARRAY:
		return kl_btf_bytes(btf, type->id);
	default:
		return 1;
	}
}

void kl_ctype_describe(const struct kl_ctype *type, const struct kl_btf *btf,
		       struct kl_buffer *buffer)
{
	switch (type->base) {
	case KL_BASE_INT:
		if (type->id)
			kl_btf_describe(btf, type->id, buffer);
		else if (type->is_bool || type->is_char)
			kl_buffer_add_string(buffer, type->is_bool ? "bool" : "char");
		else
			kl_buffer_printf(buffer, "%c%u", type->is_signed ? 's' : 'u',
					 8 * type->bytes);
		break;
	case KL_BASE_VOID:
		kl_buffer_add_string(buffer, "void");
		break;
	case KL_BASE_TEXT:
		kl_buffer_add_string(buffer, "text");
		break;
	case KL_BASE_NUMBERS:
		kl_buffer_add_string(buffer, "several numbers");
		break;
	default:
		kl_btf_describe(btf, type->id, buffer);
	}
	if (type->stars)
		kl_buffer_add_char(buffer, ' ');
	for (unsigned int i = 0; i < type->stars; i++)
		kl_buffer_add_char(buffer, '*');
}

void kl_ctype_result(const struct kl_ctype *type, struct kl_result *result)
{
	*result = (struct kl_result){ .type = KL_TYPE_U64, .btf_type = type->id };
	if (type->stars) {
		result->kind = KL_RESULT_POINTER;
		result->format = KL_FORMAT_ptr;
		if (type->stars > 1)
			result->btf_type = 0;
		return;
	}
	result->kind = type->id ? KL_RESULT_ENUM : KL_RESULT_NUMBER;
	result->format = type->format;
	result->type = (enum kl_type)kl_number_of(type->bytes, type->is_signed);
}
