/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traces in ASN.1's Basic Encoding Rules, one file each: see docs/format/ber.md and
 * docs/format/kernlens.asn1. kl_trace_open() opens such a file like a trace directory; the
 * functions here write one, and read one from memory.
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
 * kl_ber_writer_create - start a file
 * @buffer: the beginning of the file, including the schema, is appended to it
 * @schema: of the events to come
 * @info: trace and clock
 * @begin_ns: wall time that relative times count from; 0: that of the first event
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_ber_writer *kl_ber_writer_create(struct kl_buffer *buffer, const struct kl_schema *schema,
					   const struct kl_trace_info *info, uint64_t begin_ns);

/**
 * kl_ber_writer_add - write an event or a loss
 * @writer: writer
 * @buffer: appended to
 * @item: event or loss. Items may be skipped: each record contains the variables that differ from
 *        those of the last record of its CPU that was added
 *
 * Sets @buffer->error if there is not enough memory.
 */
void kl_ber_writer_add(struct kl_ber_writer *writer, struct kl_buffer *buffer,
		       const struct kl_item *item);

/**
 * kl_ber_writer_finish - write the end of the file
 * @writer: writer
 * @buffer: appended to
 * @counts: of the trace that the items came from, for what no item reports; or NULL
 */
void kl_ber_writer_finish(const struct kl_ber_writer *writer, struct kl_buffer *buffer,
			  const struct kl_trace_counts *counts);

/**
 * kl_ber_writer_destroy - free a writer
 * @writer: or NULL
 */
void kl_ber_writer_destroy(struct kl_ber_writer *writer);

/**
 * kl_ber_reader_create - read a file in memory
 * @bytes: the whole file; need not be valid; must outlive the reader
 * @length: size of @bytes
 *
 * Returns NULL with errno: EINVAL (not such a file, or a newer format), ENOMEM.
 */
struct kl_ber_reader *kl_ber_reader_create(const void *bytes, size_t length);

/**
 * kl_ber_reader_open - read a file that others may change in the meantime
 * @path: of the file, which stays open
 *
 * A truncated file counts as damaged. Returns NULL with errno: as kl_ber_reader_create(), or the
 * error from open(2).
 */
struct kl_ber_reader *kl_ber_reader_open(const char *path);

/**
 * kl_ber_reader_destroy - free a reader
 * @reader: or NULL
 */
void kl_ber_reader_destroy(struct kl_ber_reader *reader);

/**
 * kl_ber_reader_next - the next event or loss
 * @reader: reader
 * @item: filled in; valid until the next call
 *
 * Returns 1, or 0 at the end. Records contain only what changed, so records after a damaged one
 * cannot be decoded reliably: a file that is damaged or truncated ends with a loss of an unknown
 * number of records.
 */
int kl_ber_reader_next(struct kl_ber_reader *reader, struct kl_item *item);

/**
 * kl_ber_reader_rewind - start again from the first item
 * @reader: reader
 */
void kl_ber_reader_rewind(struct kl_ber_reader *reader);

/**
 * kl_ber_reader_schema - schema of the file
 * @reader: reader; the schema belongs to it
 */
const struct kl_schema *kl_ber_reader_schema(const struct kl_ber_reader *reader);

/**
 * kl_ber_reader_demangle - set whether C++ and Rust symbols in stack traces are demangled
 * (default: yes)
 * @reader: reader
 * @wanted: demangle; else symbols are shown as they are
 */
void kl_ber_reader_demangle(struct kl_ber_reader *reader, bool wanted);

/**
 * kl_ber_reader_about - properties of the trace
 * @reader: reader
 */
const struct kl_trace_info *kl_ber_reader_about(const struct kl_ber_reader *reader);

/**
 * kl_ber_reader_counted - what has been read and lost so far
 * @reader: reader
 */
const struct kl_trace_counts *kl_ber_reader_counted(const struct kl_ber_reader *reader);

/**
 * kl_ber_reader_begin - wall time that relative times count from
 * @reader: reader
 *
 * Returns ns since 1970, or 0: that of the first event.
 */
uint64_t kl_ber_reader_begin(const struct kl_ber_reader *reader);

KL_PUBLIC_END

#endif /* KERNLENS_BER_H */
