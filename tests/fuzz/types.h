/* SPDX-License-Identifier: GPL-2.0 */
/* A few types of a kernel, as BTF, for expressions and as seeds. */
#ifndef KL_TESTS_FUZZ_TYPES_H
#define KL_TESTS_FUZZ_TYPES_H

#include <stdint.h>
#include <string.h>

struct types {
	uint8_t type[2048];
	uint32_t type_bytes;
	char string[1024];
	uint32_t string_bytes;
	uint32_t n;
};

static inline uint32_t types_string(struct types *t, const char *text)
{
	uint32_t at = t->string_bytes;

	if (!*text)
		return 0;
	strcpy(t->string + at, text);
	t->string_bytes += (uint32_t)strlen(text) + 1;
	return at;
}

static inline void types_word(struct types *t, uint32_t word)
{
	memcpy(t->type + t->type_bytes, &word, sizeof(word));
	t->type_bytes += sizeof(word);
}

static inline uint32_t types_add(struct types *t, const char *name, uint32_t kind, uint32_t n,
				 uint32_t size_or_type)
{
	types_word(t, types_string(t, name));
	types_word(t, kind << 24 | n);
	types_word(t, size_or_type);
	return ++t->n;
}

static inline void types_member(struct types *t, const char *name, uint32_t type, uint32_t bits)
{
	types_word(t, types_string(t, name));
	types_word(t, type);
	types_word(t, bits);
}

/*
 * Returns the bytes of @file. The numbers of kinds are BTF's. More than 60 lines: one for each type
 * and member.
 */
static inline uint32_t types_make(uint8_t *file)
{
	struct types t = { .string_bytes = 1 };
	uint32_t header[6] = { 0x0001eb9f, 24 }, i32, u8, u64, task, inner, name, pointer, proto,
		 text;

	i32 = types_add(&t, "int", 1, 0, 4);
	types_word(&t, 1u << 24 | 32);
	u8 = types_add(&t, "char", 1, 0, 1);
	types_word(&t, 1u << 24 | 8);
	u64 = types_add(&t, "unsigned long", 1, 0, 8);
	types_word(&t, 64);
	name = types_add(&t, "", 3, 0, 0);
	types_word(&t, u8);
	types_word(&t, i32);
	types_word(&t, 16);
	inner = types_add(&t, "", 5, 2, 8);
	types_member(&t, "low", i32, 0);
	types_member(&t, "all", u64, 0);
	task = t.n + 1;
	pointer = t.n + 2;
	types_add(&t, "task_struct", 4 | 0x80, 6, 64);
	types_member(&t, "pid", i32, 0);
	types_member(&t, "flag", i32, 3u << 24 | 32);
	types_member(&t, "comm", name, 64);
	types_member(&t, "", inner, 192);
	types_member(&t, "parent", pointer, 256);
	types_member(&t, "bits", u64, 320);
	types_add(&t, "", 2, 0, task);
	types_add(&t, "u32", 8, 0, i32);
	text = types_add(&t, "", 10, 0, u8);
	text = types_add(&t, "", 2, 0, text);
	proto = types_add(&t, "", 13, 3, i32);
	types_word(&t, types_string(&t, "task"));
	types_word(&t, pointer);
	types_word(&t, types_string(&t, "name"));
	types_word(&t, text);
	types_word(&t, types_string(&t, "count"));
	types_word(&t, u64);
	types_add(&t, "do_work", 12, 1, proto);
	types_add(&t, "__traceiter_work", 12, 1, proto);
	types_add(&t, "kind", 6, 2, 4);
	types_word(&t, types_string(&t, "KIND_A"));
	types_word(&t, 1);
	types_word(&t, types_string(&t, "KIND_B"));
	types_word(&t, 7);
	types_add(&t, "big", 19, 1, 8);
	types_word(&t, types_string(&t, "BIG_A"));
	types_word(&t, 5);
	types_word(&t, 1);
	types_add(&t, "jiffies", 14, 0, u64);
	types_word(&t, 1);
	types_add(&t, ".data..percpu", 15, 1, 8);
	types_word(&t, t.n - 1);
	types_word(&t, 0);
	types_word(&t, 8);
	header[3] = t.type_bytes;
	header[4] = t.type_bytes;
	header[5] = t.string_bytes;
	memcpy(file, header, sizeof(header));
	memcpy(file + sizeof(header), t.type, t.type_bytes);
	memcpy(file + sizeof(header) + t.type_bytes, t.string, t.string_bytes);
	return (uint32_t)sizeof(header) + t.type_bytes + t.string_bytes;
}

#endif /* KL_TESTS_FUZZ_TYPES_H */
