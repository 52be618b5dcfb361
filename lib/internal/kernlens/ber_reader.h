/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads traces in ASN.1's Basic Encoding Rules (docs/format/ber.md). Programs open such a file with
 * kl_trace_open(), like a trace directory.
 */
#ifndef KERNLENS_BER_READER_H
#define KERNLENS_BER_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/trace.h>

struct kl_ber_reader;

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

#endif /* KERNLENS_BER_READER_H */
