/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tags, lengths and values of the Basic Encoding Rules (X.690), and what the
 * writer and the reader of docs/format/kernlens.asn1 agree on.
 */
#ifndef KL_LIB_FORMAT_BER_H
#define KL_LIB_FORMAT_BER_H

#include <stdbool.h>
#include <kernlens/buffer.h>
#include <kernlens/event.h>
#include "../base/window.h"

/* Version, see docs/format/ber.md; a reader rejects newer files. */
#define KL_BER_FORMAT 1

#define KL_BER_RECORD_MAX (1u << 20) /* bytes of an Event, as read */
#define KL_BER_CPUS_MAX 8192 /* the kernel's own limit */

/* A tag as one number: class, constructed or not, and tag number. */
#define KL_BER_NUMBER_MAX ((1u << 28) - 1)
#define KL_BER_CONSTRUCTED (1u << 29)
#define KL_BER_CLASS(tag) ((tag) >> 30)
#define KL_BER_NUMBER(tag) (KL_BER_NUMBER_MAX & (tag))
#define KL_BER_APPLICATION(n) (1u << 30 | KL_BER_CONSTRUCTED | (n))
#define KL_BER_CONTEXT(n) (2u << 30 | (n))
#define KL_BER_PRIVATE(n) (3u << 30 | KL_BER_CONSTRUCTED | (n))

enum kl_ber_universal {
	KL_BER_INTEGER = 2,
	KL_BER_OCTETS = 4,
	KL_BER_ENUMERATED = 10,
	KL_BER_UTF8 = 12,
	KL_BER_SEQUENCE = KL_BER_CONSTRUCTED | 16,
};

enum kl_ber_class {
	KL_BER_CLASS_APPLICATION = 1,
	KL_BER_CLASS_PRIVATE = 3,
};

/* The items of a file. An event's tag is private, and its number is the event's id. */
#define KL_BER_TRACE KL_BER_APPLICATION(0)
#define KL_BER_LOSS KL_BER_APPLICATION(1)
#define KL_BER_END KL_BER_APPLICATION(2)
#define KL_BER_STACK KL_BER_APPLICATION(3)
#define KL_BER_SYMBOL KL_BER_APPLICATION(4)

/* A Value that is a Task, and the variables' numbers. */
#define KL_BER_TASK (KL_BER_CONSTRUCTED | KL_BER_CONTEXT(0))
#define KL_BER_VARIABLES (KL_BER_CONSTRUCTED | KL_BER_CONTEXT(0))
#define KL_BER_VARIABLE_TASK 0
#define KL_BER_VARIABLE(index) ((index) + 1) /* number of the schema's variable @index */

/* ------------------------------------------------------------- writing */

/* A primitive value. */
void kl_ber_add(struct kl_buffer *buffer, uint32_t tag, const void *bytes, size_t length);

/* Add a number; it is negative if @is_signed and its highest bit is set. */
void kl_ber_add_number(struct kl_buffer *buffer, uint32_t tag, uint64_t number, bool is_signed);

/* Insert a tag and length before the bytes of @buffer from @from on. */
void kl_ber_wrap(struct kl_buffer *buffer, size_t from, uint32_t tag);

/* ------------------------------------------------------------- reading */

/*
 * Bytes to read. @bad: they were not what was expected. It stays set, so one check at the end is
 * enough.
 */
struct kl_ber {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

/*
 * Take the next tag and its value. Only definite lengths are valid. Returns 0, -ENODATA if @from is
 * empty or ends too early, or -EINVAL for an invalid encoding.
 */
int kl_ber_take(struct kl_ber *from, uint32_t *tag, struct kl_ber *value);

/* Is @tag next? False at the end and for an invalid encoding. */
bool kl_ber_next_is(const struct kl_ber *from, uint32_t tag);

/* Take a value that must have this tag. Returns an empty value or 0 once @from is bad. */
struct kl_ber kl_ber_take_tag(struct kl_ber *from, uint32_t tag);
uint64_t kl_ber_take_unsigned(struct kl_ber *from, uint32_t tag, uint64_t most);
int64_t kl_ber_take_signed(struct kl_ber *from, uint32_t tag, int64_t least, int64_t most);

static inline size_t kl_ber_length(const struct kl_ber *value)
{
	return value->end - value->at;
}

static inline bool kl_ber_is_empty(const struct kl_ber *value)
{
	return value->at == value->end;
}

/**
 * kl_ber_item - take the next top-level item of a file
 * @file: window on the file
 * @at: offset of the item; advanced past it on success
 * @most: maximum length of the value
 * @tag: out
 * @value: out: the contents, valid until the window is next used
 *
 * Returns what kl_ber_take() returns, -ENODATA also if the file has become shorter, or -EFBIG or
 * -ENOMEM.
 */
int kl_ber_item(struct kl_window *file, uint64_t *at, size_t most, uint32_t *tag,
		struct kl_ber *value);

/* ----------------------------------------------------------- variables */

/* A CPU's variables as of its last record in the file. */
struct kl_ber_cpu {
	uint32_t cpu;
	bool any; /* there has been a record */
	struct kl_task task;
	uint8_t variables[KL_VARIABLES_BYTES_MAX]; /* laid out as in an event, by the schema */
};

struct kl_ber_cpus {
	struct kl_ber_cpu *cpu; /* sorted by CPU */
	size_t n;
	size_t capacity;
};

/* The entry of a CPU, created if necessary. NULL: out of memory, or too many CPUs. */
struct kl_ber_cpu *kl_ber_cpu(struct kl_ber_cpus *cpus, uint32_t cpu);

#endif /* KL_LIB_FORMAT_BER_H */
