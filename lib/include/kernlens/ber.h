/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traces in ASN.1's Basic Encoding Rules, one file each: docs/format/ber.md and
 * docs/format/kernlens.asn1. kl_trace_open() opens such a file like a trace
 * directory; what is here writes one, and reads one from memory.
 */
#ifndef KERNLENS_BER_H
#define KERNLENS_BER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/public.h>
#include <kernlens/trace.h>

KL_PUBLIC_BEGIN

struct kl_ber_writer;
struct kl_ber_reader;

/**
 * kl_ber_writer_create - begin a file
 * @buffer: the file's beginning, with the schema, is appended to it
 * @schema: of the events to come
 * @info: trace and clock
 * @begin_ns: wall time that times since the start count from; 0: that of the
 *            first event
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_ber_writer *kl_ber_writer_create(struct kl_buffer *buffer, const struct kl_schema *schema,
					   const struct kl_trace_info *info, uint64_t begin_ns);

/**
 * kl_ber_writer_add - one more event or loss
 * @writer: writer
 * @buffer: appended to
 * @item: what. Items may be left out: each record has the variables that
 *        differ from those of the last one of its CPU that was added
 *
 * Without memory @buffer->error is set.
 */
void kl_ber_writer_add(struct kl_ber_writer *writer, struct kl_buffer *buffer,
		       const struct kl_item *item);

/**
 * kl_ber_writer_finish - what stands at the file's end
 * @writer: writer
 * @buffer: appended to
 * @counts: of the trace that the items came from, for what no item tells; or
 *          NULL
 */
void kl_ber_writer_finish(const struct kl_ber_writer *writer, struct kl_buffer *buffer,
			  const struct kl_trace_counts *counts);

/**
 * kl_ber_writer_destroy - free
 * @writer: or NULL
 */
void kl_ber_writer_destroy(struct kl_ber_writer *writer);

/**
 * kl_ber_reader_create - read a file
 * @bytes: the whole file; anything may be in it. Must outlive the reader
 * @length: of it
 *
 * Returns NULL with errno: EINVAL (it does not begin as such a file, or is of
 * a newer format), ENOMEM.
 */
struct kl_ber_reader *kl_ber_reader_create(const void *bytes, size_t length);

/**
 * kl_ber_reader_open - read a file that others may change meanwhile
 * @path: of it; it stays open
 *
 * What has been cut off is damage. Returns NULL with errno: as kl_ber_reader_create(), or
 * what open said.
 */
struct kl_ber_reader *kl_ber_reader_open(const char *path);

/**
 * kl_ber_reader_destroy - free
 * @reader: or NULL
 */
void kl_ber_reader_destroy(struct kl_ber_reader *reader);

/**
 * kl_ber_reader_next - the next event or loss
 * @reader: reader
 * @item: filled in; valid until the next call
 *
 * Returns 1, or 0 at the end. Records tell only what changed, so what comes
 * behind a damaged one cannot be trusted: such a file, and one that is cut,
 * ends with a loss of an unknown number of records.
 */
int kl_ber_reader_next(struct kl_ber_reader *reader, struct kl_item *item);

/**
 * kl_ber_reader_rewind - start again from the first item
 * @reader: reader
 */
void kl_ber_reader_rewind(struct kl_ber_reader *reader);

/**
 * kl_ber_reader_schema - the file's own schema
 * @reader: reader; the schema is freed with it
 */
const struct kl_schema *kl_ber_reader_schema(const struct kl_ber_reader *reader);

/**
 * kl_ber_reader_demangle - whether call traces have names as in C++ and Rust; they do at first
 * @reader: reader
 * @wanted: or symbols as linkers call them
 */
void kl_ber_reader_demangle(struct kl_ber_reader *reader, bool wanted);

/**
 * kl_ber_reader_about - what the trace says about itself
 * @reader: reader
 */
const struct kl_trace_info *kl_ber_reader_about(const struct kl_ber_reader *reader);

/**
 * kl_ber_reader_counted - what has been read and lost so far
 * @reader: reader
 */
const struct kl_trace_counts *kl_ber_reader_counted(const struct kl_ber_reader *reader);

/**
 * kl_ber_reader_begin - wall time that times since the start count from
 * @reader: reader
 *
 * Returns nanoseconds since 1970, or 0: that of the first event.
 */
uint64_t kl_ber_reader_begin(const struct kl_ber_reader *reader);

KL_PUBLIC_END

#endif /* KERNLENS_BER_H */
