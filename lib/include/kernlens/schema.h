/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The available events and the layout of their records: built from the tables that this library
 * was compiled with, or read from a trace's metadata. A trace is always decoded with its own
 * schema.
 */
#ifndef KERNLENS_SCHEMA_H
#define KERNLENS_SCHEMA_H

#include <stdint.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/* How a field is stored. Append-only. */
enum kl_type {
	KL_TYPE_S8,
	KL_TYPE_U8,
	KL_TYPE_S16,
	KL_TYPE_U16,
	KL_TYPE_S32,
	KL_TYPE_U32,
	KL_TYPE_S64,
	KL_TYPE_U64,
	KL_TYPE_TEXT, /* `count` bytes, terminated by a NUL if shorter: a command name */
	KL_TYPE_STRING, /* bytes terminated by a NUL */
};

/* How to interpret a field: the format word in the tables and the metadata. */
enum kl_format {
#define KL_FORMAT(name, help) KL_FORMAT_##name,
#include <kernlens/formats.def>
#undef KL_FORMAT
};

/* Which built-in masksets an event belongs to. */
enum kl_set {
	KL_SET_DEFAULT, /* RDEFAULT and RALL */
	KL_SET_ALL, /* RALL */
	KL_SET_REQUEST, /* only by name */
};

/* Which unprivileged users get an event. */
enum kl_access {
	KL_ACCESS_SELF, /* contains data about the running task only */
	/*
	 * also about another task; its fields are blank unless the session's owner may see that
	 * task
	 */
	KL_ACCESS_ABOUT,
	KL_ACCESS_ABOUT2, /* also about two other tasks */
	KL_ACCESS_SYSTEM, /* none */
};

enum kl_class_kind {
	KL_CLASS_EVENT,
	KL_CLASS_SYSCALL_ENTRY,
	KL_CLASS_SYSCALL_EXIT,
};

/**
 * struct kl_field - one field of an event
 * @name: as in the kernel or LTTng
 * @type: how it is stored
 * @format: how to interpret it
 * @bytes: size of one element; 0 for a string
 * @count: number of elements; 1 unless an array or text
 * @anchor: number of strings that precede it in the record
 * @offset: bytes from the start of the payload, or from the end of the last of those strings
 */
struct kl_field {
	const char *name;
	enum kl_type type;
	enum kl_format format;
	uint16_t bytes;
	uint16_t count;
	uint16_t anchor;
	uint16_t offset;
};

/**
 * struct kl_class - one event
 * @id: KL_EV_*
 * @kind: event, or a system call's entry or exit
 * @set: built-in masksets that contain it
 * @access: which unprivileged users get it
 * @syscall: the system call's number; -1 for other events
 * @name: such as sched_switch, syscall_entry_read
 * @group: such as sched; "syscalls" for system calls
 * @help: one sentence
 * @fields: in the order of the record
 * @n_fields: number of fields
 * @n_strings: number of fields that are strings
 * @tail_bytes: bytes after the last string; without strings, size of all fields
 */
struct kl_class {
	uint16_t id;
	uint8_t kind;
	uint8_t set;
	uint8_t access;
	int16_t syscall;
	const char *name;
	const char *group;
	const char *help;
	const struct kl_field *fields;
	unsigned int n_fields;
	unsigned int n_strings;
	unsigned int tail_bytes;
};

struct kl_schema;

/**
 * kl_schema_create - create the schema of the tables that this library was built with
 *
 * Returns NULL with errno ENOMEM. Free it with kl_schema_destroy().
 */
struct kl_schema *kl_schema_create(void);

/**
 * kl_schema_destroy - free a schema
 * @schema: or NULL; its classes and fields are freed with it
 */
void kl_schema_destroy(struct kl_schema *schema);

/**
 * kl_schema_hash - hash of the tables that this library was built with
 *
 * The first 64 bits of the SHA-256 over events.def, syscalls.def, handlers.def, variables.def and
 * settings.def. A module built from the same tables reports the same value in struct kl_abi_info.
 */
uint64_t kl_schema_hash(void);

/**
 * kl_schema_class - an event by its id
 * @schema: schema
 * @id: KL_EV_*
 *
 * Returns NULL if there is none.
 */
const struct kl_class *kl_schema_class(const struct kl_schema *schema, unsigned int id);

/**
 * kl_schema_find - an event by its name
 * @schema: schema
 * @name: whole name
 *
 * Returns NULL if there is none.
 */
const struct kl_class *kl_schema_find(const struct kl_schema *schema, const char *name);

/**
 * kl_schema_next - iterate over all events, by id
 * @schema: schema
 * @event_class: the previous one; NULL for the first
 *
 * Returns NULL after the last.
 */
const struct kl_class *kl_schema_next(const struct kl_schema *schema,
				      const struct kl_class *event_class);

/**
 * kl_class_field - index of a field
 * @event_class: event
 * @name: field
 *
 * Returns -ENOENT if the event has no such field. Sets no error text.
 */
int kl_class_field(const struct kl_class *event_class, const char *name);

/**
 * kl_type_name - "s32" ..., as in the tables
 * @type: enum kl_type
 */
const char *kl_type_name(enum kl_type type);

/**
 * kl_format_name - "dec" ..., as in the tables
 * @format: enum kl_format
 */
const char *kl_format_name(enum kl_format format);

/**
 * kl_format_help - one sentence about a format
 * @format: enum kl_format
 */
const char *kl_format_help(enum kl_format format);

/**
 * kl_handler_name - name of a handler
 * @id: KL_HANDLER_*
 *
 * Returns NULL if there is none. Ids are dense: count up to list them.
 */
const char *kl_handler_name(unsigned int id);

/**
 * kl_handler_help - one sentence about a handler
 * @id: KL_HANDLER_*
 *
 * Returns NULL if there is none.
 */
const char *kl_handler_help(unsigned int id);

/**
 * kl_handler_find - id of a handler
 * @name: such as "count"
 *
 * Returns -ENOENT if there is none. Sets no error text.
 */
int kl_handler_find(const char *name);

/**
 * struct kl_variable - a value that is recorded with events when it changes
 * @id: row of variables.def, or KL_VARIABLE_PROGRAM
 * @name: name
 * @scope: task, place, cpu or system; "" in a trace
 * @type: s8 .. u64, text, or task, which is struct kl_abi_task
 * @unit: of its value; "" if it has none
 * @access: who may see it: own, parent, any, all or address; "" in a trace
 * @cost: cost of reading it; "" if it is a few instructions
 * @help: one sentence
 * @field: how it is stored and interpreted; `offset` is its offset among the values of a schema's
 *         variables
 */
struct kl_variable {
	uint32_t id;
	const char *name;
	const char *scope;
	const char *type;
	const char *unit;
	const char *access;
	const char *cost;
	const char *help;
	struct kl_field field;
};

/**
 * kl_variable_get - a row of variables.def
 * @index: from 0; the row's id
 *
 * Returns NULL after the last.
 */
const struct kl_variable *kl_variable_get(unsigned int index);

/**
 * kl_variable_find - a row of variables.def by its name
 * @name: whole name
 *
 * Returns NULL if there is none. Sets no error text.
 */
const struct kl_variable *kl_variable_find(const char *name);

/**
 * kl_schema_add_variable - add a variable that the session's records carry
 * @schema: schema
 * @variable: `id`, `name`, `unit`, `help` and its field's `type` and `format` are copied; a
 *            number, or KL_TYPE_TEXT of KL_COMM_LEN bytes
 *
 * Add variables in the order of struct kl_abi_variables. Returns its index, -EINVAL (duplicate,
 * invalid name, or too large for a record) or -ENOMEM.
 */
int kl_schema_add_variable(struct kl_schema *schema, const struct kl_variable *variable);

/**
 * kl_schema_variable - a variable that records carry in addition to the task
 * @schema: schema
 * @index: from 0, in the order of the records
 *
 * Returns NULL after the last.
 */
const struct kl_variable *kl_schema_variable(const struct kl_schema *schema, unsigned int index);

/**
 * kl_schema_flag - the name of a flag
 * @schema: schema
 * @flag: any number
 *
 * Returns NULL if it has none.
 */
const char *kl_schema_flag(const struct kl_schema *schema, unsigned int flag);

/**
 * kl_schema_rule - a rule as the user wrote it
 * @schema: schema
 * @rule: any number
 *
 * Returns NULL if it is unknown.
 */
const char *kl_schema_rule(const struct kl_schema *schema, unsigned int rule);

/**
 * kl_schema_take_defined - add what a session has defined
 * @schema: from kl_schema_create(), to which nothing has been added
 * @from: of the session, from kl_metadata_parse()
 *
 * Copies the events that the session defines, with their ids, and its variables, flags and rules.
 * Returns 0, -EINVAL or -ENOMEM.
 */
int kl_schema_take_defined(struct kl_schema *schema, const struct kl_schema *from);

/**
 * kl_schema_find_variable - index of a variable that records carry
 * @schema: schema
 * @name: whole name
 *
 * Returns -ENOENT if they carry none of that name. Sets no error text.
 */
int kl_schema_find_variable(const struct kl_schema *schema, const char *name);

KL_PUBLIC_END

#endif /* KERNLENS_SCHEMA_H */
