/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parses blocks as uapi/kernlens.h describes them, using the layouts from the tables. A second
 * decoder that is independent of the library's, and as simple as possible.
 */
#ifndef KL_TESTS_DECODE_H
#define KL_TESTS_DECODE_H

#include "kl.h"

enum kind {
	KIND_INT,
	KIND_ARRAY,
	KIND_COMM
};

struct field {
	const char *name;
	const char *format;
	u32 bytes;
	enum kind kind;
};

struct layout {
	const char *name;
	const struct field *fields; /* terminated by one without a name */
	u32 strings;
};

#define KL_F(type, name, format, value) { #name, #format, sizeof(type), KIND_INT },
#define KL_F1 KL_F
#define KL_F2 KL_F
#define KL_A(type, name, count, format, from) \
	{ #name, #format, sizeof(type) * (count), KIND_ARRAY },
#define KL_COMM(name, task) { #name, "comm", KL_COMM_LEN, KIND_COMM },
#define KL_COMM1 KL_COMM
#define KL_COMM2 KL_COMM
#define KL_NO_FIELDS
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings) \
	static const struct field fields_of_##name[] = { fields{ NULL, NULL, 0, 0 } };
#include "events.def"
#undef KL_EVENT

#define KL_STR(name, text) +1
#define KL_STR1 KL_STR
#define KL_STR2 KL_STR
#define KL_STRN(name, text, bytes) +1
#define KL_NO_STRINGS
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings) \
	[id] = { #name, fields_of_##name, 0 strings },
static const struct layout layouts[KL_EV_SYSCALL_ENTRY] = {
#include "events.def"
};
#undef KL_EVENT

struct argument {
	char type[8];
	const char *name;
};

#define A0(type, name, format) { #type, #name },
#define A1 A0
#define A2 A0
#define A3 A0
#define A4 A0
#define A5 A0
#define KL_SYSCALL(number, name, help, arguments) [number] = { arguments{ "", NULL } },
static const struct argument syscall_arguments[KL_EV_SYSCALL_MAX][7] = {
#include "syscalls.def"
};
#undef KL_SYSCALL
#define KL_SYSCALL(number, name, help, arguments) [number] = #name,
static const char *const syscall_names[KL_EV_SYSCALL_MAX] = {
#include "syscalls.def"
};
#undef KL_SYSCALL

struct value {
	const char *name;
	const char *format; /* "comm", "string", or the table's */
	const u8 *at;
	u32 bytes; /* including a string's NUL */
	u64 number; /* of an integer, sign extended where the table says so */
	enum kind kind;
	bool string;
};

#define VALUES_MAX 24

struct record {
	u32 id;
	u64 time; /* low 48 bits */
	const struct kl_abi_task *task; /* NULL if it did not change */
	const u8 *fields;
	u32 bytes; /* of the whole record */
	u32 values;
	struct value value[VALUES_MAX];
};

static inline const char *event_name(u32 id)
{
	if (id < KL_EV_SYSCALL_ENTRY)
		return layouts[id].name ? layouts[id].name : "?";
	return syscall_names[(id - KL_EV_SYSCALL_ENTRY) % KL_EV_SYSCALL_MAX] ?: "?";
}

static inline u64 load_number(const u8 *at, u32 bytes)
{
	u64 number = 0;

	memcpy(&number, at, bytes);
	return number;
}

/* Adds a string that must end before @end. Returns NULL if it does not. */
static inline const u8 *take_string(struct record *r, const char *name, const u8 *at, const u8 *end)
{
	const u8 *nul = at < end ? memchr(at, 0, end - at) : NULL;

	if (!nul || nul - at >= KL_STRING_MAX || r->values == VALUES_MAX)
		return NULL;
	r->value[r->values++] = (struct value){
		.name = name,
		.format = "string",
		.at = at,
		.bytes = nul + 1 - at,
		.string = true,
	};
	return nul + 1;
}

static inline const u8 *take_bytes(struct record *r, const char *name, const char *format,
				   u32 bytes, enum kind kind, const u8 *at, const u8 *end)
{
	if (at + bytes > end || r->values == VALUES_MAX)
		return NULL;
	r->value[r->values++] = (struct value){
		.name = name,
		.format = format,
		.at = at,
		.bytes = bytes,
		.kind = kind,
		.number = kind == KIND_INT ? load_number(at, bytes) : 0,
	};
	return at + bytes;
}

static inline const u8 *take_syscall(struct record *r, const u8 *at, const u8 *end)
{
	u32 number = (r->id - KL_EV_SYSCALL_ENTRY) % KL_EV_SYSCALL_MAX;
	const struct argument *a = syscall_arguments[number];

	if (!syscall_names[number])
		return NULL;
	if (r->id >= KL_EV_SYSCALL_EXIT)
		return take_bytes(r, "ret", "errno", 8, KIND_INT, at, end);
	for (; at && a->name; a++) {
		if (!strcmp(a->type, "str"))
			at = take_string(r, a->name, at, end);
		else
			at = take_bytes(r, a->name, "argument", strstr(a->type, "32") ? 4 : 8,
					KIND_INT, at, end);
	}
	return at;
}

static inline const u8 *take_fields(struct record *r, const u8 *at, const u8 *end)
{
	const struct layout *l = &layouts[r->id];

	if (!l->name)
		return NULL;
	for (const struct field *f = l->fields; at && f->name; f++)
		at = take_bytes(r, f->name, f->format, f->bytes, f->kind, at, end);
	for (u32 i = 0; at && i < l->strings; i++)
		at = take_string(r, "string", at, end);
	return at;
}

/*
 * Parses the record at @at. Returns false if there is none, or if it is not complete before @end.
 */
static inline bool decode_record(struct record *r, const u8 *at, const u8 *end)
{
	const u8 *next = at + KL_RECORD_PREFIX_BYTES;
	u64 header;

	if (next > end || at[8] & ~KL_CHANGED_TASK)
		return false;
	memcpy(&header, at, sizeof(header));
	r->id = header & ((1u << KL_RECORD_ID_BITS) - 1);
	r->time = header >> KL_RECORD_ID_BITS;
	r->task = NULL;
	r->values = 0;
	if (at[8]) {
		r->task = (const void *)next;
		next += sizeof(*r->task);
	}
	r->fields = next;
	if (next > end || !r->id || r->id >= KL_EV_MAX)
		return false;
	next = r->id < KL_EV_SYSCALL_ENTRY ? take_fields(r, next, end) : take_syscall(r, next, end);
	if (!next)
		return false;
	r->bytes = next - at;
	return true;
}

/* Calls @take with each record of a session, whose blocks have 64 KiB. */
static inline void decode_session(int fd, void (*take)(void *data, const struct record *r),
				  void *data)
{
	static struct record r;
	static u8 block[65536];
	int reader = kl_reader(fd, 0);

	while (read(reader, block, sizeof(block)) == sizeof(block)) {
		const struct kl_abi_block *header = (const void *)block;
		const u8 *at = block + KL_BLOCK_HEADER_BYTES, *end;

		for (end = block + header->content_bits / 8; at < end; at += r.bytes) {
			if (!decode_record(&r, at, end))
				bail("a record that is none");
			take(data, &r);
		}
	}
	close(reader);
}

#endif /* KL_TESTS_DECODE_H */
