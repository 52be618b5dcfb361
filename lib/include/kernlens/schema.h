/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What events there are and how their records are laid out: built from the
 * tables this library was compiled with, or read from a trace's metadata.
 * A trace is always decoded with its own schema.
 */
#ifndef KERNLENS_SCHEMA_H
#define KERNLENS_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
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
	KL_TYPE_TEXT, /* `count` bytes, ended by NUL if shorter: a command name */
	KL_TYPE_STRING, /* bytes ended by NUL */
};

/* How a field is meant: the word behind it in the tables and the metadata. */
enum kl_format {
#define KL_FORMAT(name, help) KL_FORMAT_##name,
#include <kernlens/formats.def>
#undef KL_FORMAT
	KL_FORMAT_COUNT
};

/* Which built-in masksets an event belongs to. */
enum kl_set {
	KL_SET_DEFAULT, /* RDEFAULT and RALL */
	KL_SET_ALL, /* RALL */
	KL_SET_REQUEST, /* only by name */
};

/* Who without privilege gets an event. */
enum kl_access {
	KL_ACCESS_SELF, /* speaks only of the running task */
	KL_ACCESS_ABOUT, /* also of another task, blank unless its owner asks */
	KL_ACCESS_ABOUT2, /* of two */
	KL_ACCESS_SYSTEM, /* nobody */
};

enum kl_class_kind {
	KL_CLASS_EVENT,
	KL_CLASS_SYSCALL_ENTRY,
	KL_CLASS_SYSCALL_EXIT,
};

/**
 * struct kl_field - one field of an event
 * @name: as the kernel or LTTng names it
 * @type: how it is stored
 * @format: how it is meant
 * @bytes: of one element; 0 for a string
 * @count: elements; 1 unless an array or text
 * @anchor: strings that stand before it in the record
 * @offset: bytes from the payload's start, or from the end of the last of
 *          those strings
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
 * @set: built-in masksets
 * @access: who without privilege gets it
 * @syscall: the call's number, -1 for other events
 * @name: such as sched_switch, syscall_entry_read
 * @group: such as sched; "syscalls" for system calls
 * @help: one sentence
 * @fields: in the record's order
 * @n_fields: number of them
 * @n_strings: how many of them are strings
 * @tail_bytes: bytes behind the last string (of all, without strings)
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
 * kl_schema_create - the schema of the tables this library was built with
 *
 * Returns NULL with errno ENOMEM. Free with kl_schema_destroy().
 */
struct kl_schema *kl_schema_create(void);

/**
 * kl_schema_destroy - free a schema
 * @schema: or NULL; its classes and fields go with it
 */
void kl_schema_destroy(struct kl_schema *schema);

/**
 * kl_schema_hash - hash of the tables this library was built with
 *
 * FNV-1a 64 over events.def, syscalls.def, handlers.def and variables.def;
 * a module that decodes the same answers the same in struct kl_abi_info.
 */
uint64_t kl_schema_hash(void);

/**
 * kl_schema_define - add an event that a session defines
 * @schema: schema
 * @event_class: name, group, help and fields (name, type, format, count) are copied;
 *         its id is not looked at
 *
 * Returns the id that it gets, KL_EV_DYNAMIC and up in the order of definition,
 * or -EINVAL or -ENOMEM with an error text.
 */
int kl_schema_define(struct kl_schema *schema, const struct kl_class *event_class);

/**
 * kl_schema_class - the event with an id
 * @schema: schema
 * @id: KL_EV_*
 *
 * Returns NULL if it has none.
 */
const struct kl_class *kl_schema_class(const struct kl_schema *schema, unsigned int id);

/**
 * kl_schema_find - the event with a name
 * @schema: schema
 * @name: whole name
 *
 * Returns NULL if it has none.
 */
const struct kl_class *kl_schema_find(const struct kl_schema *schema, const char *name);

/**
 * kl_schema_next - go through all events by id
 * @schema: schema
 * @event_class: the last one, NULL for the first
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
 * kl_type_name - "s32" ... as in the tables
 * @type: enum kl_type
 */
const char *kl_type_name(enum kl_type type);

/**
 * kl_format_name - "dec" ... as in the tables
 * @format: enum kl_format
 */
const char *kl_format_name(enum kl_format format);

/**
 * kl_format_help - one sentence about a format word
 * @format: enum kl_format
 */
const char *kl_format_help(enum kl_format format);

/**
 * kl_format_find - the format of a word
 * @name: such as "task_state"
 * @length: its bytes
 *
 * Returns KL_FORMAT_dec for a word that this library does not know: a newer
 * trace is still read, with plain numbers.
 */
enum kl_format kl_format_find(const char *name, size_t length);

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
 * @id: KL_VARIABLE_PROGRAM if it is none of the tables
 * @name: name
 * @scope: task, place, cpu or system; "" in a trace
 * @type: s8 .. u64, text, or task, which is struct kl_abi_task
 * @unit: of its value, "" if it has none
 * @access: who may see it: own, parent, any, all or address; "" in a trace
 * @cost: of reading it, "" if it is a few instructions
 * @help: one sentence
 * @field: how it is stored and meant; `offset` is its place among the values of
 *         a schema's variables
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
 * kl_variable_get - the rows of variables.def
 * @index: from 0; the row's id
 *
 * Returns NULL after the last.
 */
const struct kl_variable *kl_variable_get(unsigned int index);

/**
 * kl_variable_find - the row of variables.def with a name
 * @name: whole name
 *
 * Returns NULL if there is none. Sets no error text.
 */
const struct kl_variable *kl_variable_find(const char *name);

/**
 * kl_schema_add_variable - the session's records carry one more variable
 * @schema: schema
 * @variable: `id`, `name`, `unit`, `help` and its field's `type` and `format` are
 *            copied. A number, or KL_TYPE_TEXT of KL_COMM_LEN bytes
 *
 * In the order of struct kl_abi_variables. Returns its index, -EINVAL (doubled,
 * a name that is no word, or more than fits into a record) or -ENOMEM.
 */
int kl_schema_add_variable(struct kl_schema *schema, const struct kl_variable *variable);

/**
 * kl_schema_variable - a variable that records carry beside the task
 * @schema: schema
 * @index: from 0, in the records' order
 *
 * Returns NULL after the last.
 */
const struct kl_variable *kl_schema_variable(const struct kl_schema *schema, unsigned int index);

/**
 * kl_schema_set_flag - name a flag that the session has
 * @schema: schema
 * @flag: its number
 * @name: copied
 *
 * Returns -EINVAL for a number that no flag has, or -ENOMEM.
 */
int kl_schema_set_flag(struct kl_schema *schema, unsigned int flag, const char *name);

/**
 * kl_schema_flag - the name of a flag
 * @schema: schema
 * @flag: any number
 *
 * Returns NULL if it has none.
 */
const char *kl_schema_flag(const struct kl_schema *schema, unsigned int flag);

/**
 * kl_schema_set_rule - say what a rule of the session is
 * @schema: schema
 * @rule: its number in the session
 * @text: as its user wrote it; copied
 *
 * Returns -EINVAL for a number that no rule has, or -ENOMEM.
 */
int kl_schema_set_rule(struct kl_schema *schema, unsigned int rule, const char *text);

/**
 * kl_schema_rule - a rule as its user wrote it
 * @schema: schema
 * @rule: any number
 *
 * Returns NULL if that is not known.
 */
const char *kl_schema_rule(const struct kl_schema *schema, unsigned int rule);

/**
 * kl_schema_take_defined - add what a session has defined
 * @schema: from kl_schema_create(), to which nothing has been added
 * @from: of the session, from kl_metadata_parse()
 *
 * Events that sessions define, with their ids, variables, flags and rules. Returns
 * -EINVAL or -ENOMEM.
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
