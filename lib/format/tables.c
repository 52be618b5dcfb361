// SPDX-License-Identifier: GPL-2.0
/*
 * The tables of uapi/ as data. Each row is expanded twice, into its list of fields and into its
 * class. C expressions in the rows are for the kernel only.
 */
#include <errno.h>

#include "../base/base.h"
#include "schema.h"

#ifndef KL_SCHEMA_HASH
#error "the build passes KL_SCHEMA_HASH: FNV-1a 64 of the tables"
#endif

/* Maps the types of a row to the library's. */
#define TYPE_s8 KL_TYPE_S8
#define TYPE_u8 KL_TYPE_U8
#define TYPE_s16 KL_TYPE_S16
#define TYPE_u16 KL_TYPE_U16
#define TYPE_s32 KL_TYPE_S32
#define TYPE_u32 KL_TYPE_U32
#define TYPE_s64 KL_TYPE_S64
#define TYPE_u64 KL_TYPE_U64
#define TYPE_ptr KL_TYPE_U64
#define TYPE_str KL_TYPE_STRING

/* Words are pasted and quoted before the preprocessor can expand them (errno, linux). */
#define FIELD(type_, name_, count_, format_) \
	{ .name = name_, .type = type_, .count = count_, .format = format_ },

#define KL_F(type, name, format, ...) FIELD(TYPE_##type, #name, 1, KL_FORMAT_##format)
#define KL_F1 KL_F
#define KL_F2 KL_F
#define KL_A(type, name, count, format, ...) FIELD(TYPE_##type, #name, count, KL_FORMAT_##format)
#define KL_COMM(name, ...) FIELD(KL_TYPE_TEXT, #name, KL_COMM_LEN, KL_FORMAT_comm)
#define KL_COMM1 KL_COMM
#define KL_COMM2 KL_COMM
#define KL_STR(name, ...) FIELD(KL_TYPE_STRING, #name, 1, KL_FORMAT_text)
#define KL_STR1 KL_STR
#define KL_STRN(name, ...) FIELD(KL_TYPE_STRING, #name, 1, KL_FORMAT_text)
#define KL_NO_FIELDS
#define KL_NO_STRINGS
#define KL_TP(...)
#define KL_FN(...)
#define KL_OWN(...)
#define KL_SELF KL_ACCESS_SELF
#define KL_ABOUT(...) KL_ACCESS_ABOUT
#define KL_ABOUT2(...) KL_ACCESS_ABOUT2
#define KL_SYSTEM KL_ACCESS_SYSTEM
#define A0(type, name, format) FIELD(TYPE_##type, #name, 1, KL_FORMAT_##format)
#define A1 A0
#define A2 A0
#define A3 A0
#define A4 A0
#define A5 A0

/* One element more than the row has, so that a row without fields is an array, too. */
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings) \
	static const struct kl_field event_##name[] = { fields strings{ NULL } };
#include "../../uapi/events.def"
#undef KL_EVENT

#define KL_SYSCALL(number, name, help, arguments) \
	static const struct kl_field call_##name[] = { arguments{ NULL } };
#include "../../uapi/syscalls.def"
#undef KL_SYSCALL

static const struct kl_field call_return[] = { FIELD(KL_TYPE_S64, "ret", 1, KL_FORMAT_dec) };

struct row {
	struct kl_class class;
	const struct kl_field *fields;
	unsigned int n;
};

static const struct row rows[] = {
#define KL_EVENT(id_, name_, group_, set_, help_, source_, access_, fields_, strings_) \
	{ .class = { .id = id_,                                                        \
		     .kind = KL_CLASS_EVENT,                                           \
		     .set = KL_SET_##set_,                                             \
		     .access = access_,                                                \
		     .syscall = -1,                                                    \
		     .name = #name_,                                                   \
		     .group = #group_,                                                 \
		     .help = help_ },                                                  \
	  .fields = event_##name_,                                                     \
	  .n = KL_ARRAY_SIZE(event_##name_) - 1 },
#include "../../uapi/events.def"
#undef KL_EVENT
#define CALL(base_, kind_, number_, name_, help_, fields_, n_) \
	{ .class = { .id = base_ + number_,                    \
		     .kind = kind_,                            \
		     .set = KL_SET_DEFAULT,                    \
		     .access = KL_ACCESS_SELF,                 \
		     .syscall = number_,                       \
		     .name = name_,                            \
		     .group = "syscalls",                      \
		     .help = help_ },                          \
	  .fields = fields_,                                   \
	  .n = n_ },
#define KL_SYSCALL(number, name, help, arguments)                                               \
	CALL(KL_EV_SYSCALL_ENTRY, KL_CLASS_SYSCALL_ENTRY, number, "syscall_entry_" #name, help, \
	     call_##name, KL_ARRAY_SIZE(call_##name) - 1)                                       \
	CALL(KL_EV_SYSCALL_EXIT, KL_CLASS_SYSCALL_EXIT, number, "syscall_exit_" #name,          \
	     "Returned: " help, call_return, 1)
#include "../../uapi/syscalls.def"
#undef KL_SYSCALL
};

static const struct {
	const char *name;
	const char *help;
} handlers[] = {
#define KL_HANDLER(id, name, help) [id] = { #name, help },
#include "../../uapi/handlers.def"
#undef KL_HANDLER
};

/* The task's own row represents a struct. */
#define TYPE_text KL_TYPE_TEXT
#define TYPE_task KL_TYPE_STRING

/* Bytes of an element, and number of elements. */
#define STORED_s8 .bytes = 1, .count = 1
#define STORED_u8 STORED_s8
#define STORED_s16 .bytes = 2, .count = 1
#define STORED_u16 STORED_s16
#define STORED_s32 .bytes = 4, .count = 1
#define STORED_u32 STORED_s32
#define STORED_s64 .bytes = 8, .count = 1
#define STORED_u64 STORED_s64
#define STORED_text .bytes = 1, .count = KL_COMM_LEN
#define STORED_task .count = 1

static const struct kl_variable variables[] = {
#define KL_VARIABLE(id_, name_, scope_, type_, unit_, format_, access_, needs_, cost_, help_, ...) \
	[id_] = { .id = id_,                                                                       \
		  .name = #name_,                                                                  \
		  .scope = #scope_,                                                                \
		  .type = #type_,                                                                  \
		  .unit = unit_,                                                                   \
		  .access = #access_,                                                              \
		  .cost = cost_,                                                                   \
		  .help = help_,                                                                   \
		  .field = { .name = #name_,                                                       \
			     .type = TYPE_##type_,                                                 \
			     .format = KL_FORMAT_##format_,                                        \
			     STORED_##type_ } },
#include "../../uapi/variables.def"
#undef KL_VARIABLE
};

struct kl_schema *kl_schema_create(void)
{
	struct kl_schema *schema = kl_schema_new();

	if (!schema)
		return NULL;
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		if (!kl_schema_add(schema, &rows[i].class, rows[i].fields, rows[i].n))
			continue;
		kl_schema_destroy(schema);
		return NULL;
	}
	return schema;
}

uint64_t kl_schema_hash(void)
{
	return KL_SCHEMA_HASH;
}

const char *kl_handler_name(unsigned int id)
{
	return id < KL_ARRAY_SIZE(handlers) ? handlers[id].name : NULL;
}

const char *kl_handler_help(unsigned int id)
{
	return id < KL_ARRAY_SIZE(handlers) ? handlers[id].help : NULL;
}

int kl_handler_find(const char *name)
{
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(handlers); i++)
		if (handlers[i].name && !strcmp(handlers[i].name, name))
			return i;
	return -ENOENT;
}

const struct kl_variable *kl_variable_get(unsigned int index)
{
	return index < KL_ARRAY_SIZE(variables) ? &variables[index] : NULL;
}

const struct kl_variable *kl_variable_find(const char *name)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(variables); i++)
		if (!strcmp(variables[i].name, name))
			return &variables[i];
	return NULL;
}
