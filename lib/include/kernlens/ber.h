/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traces in ASN.1's Basic Encoding Rules, one file each: see docs/format/ber.md and
 * docs/format/kernlens.asn1. The functions here write one; kl_trace_open() opens it like a trace
 * directory.
 */
#ifndef KERNLENS_BER_H
#define KERNLENS_BER_H

#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/public.h>
#include <kernlens/trace.h>

KL_PUBLIC_BEGIN

struct kl_ber_writer;

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

KL_PUBLIC_END

#endif /* KERNLENS_BER_H */
