// SPDX-License-Identifier: GPL-2.0
/*
 * Compresses the blocks of a trace that is being written. The blocks of a CPU are kept until they
 * fill a frame or have become old; a frame is written as a whole or taken back, and then none of
 * its blocks is in the manifest.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <kernlens/compress.h>
#include "../base/base.h"
#include "writer.h"

int kl_trace_compress(struct kl_trace_writer *writer, int level)
{
	writer->frames = kl_frame_writer_create(writer->schema, level);
	return writer->frames ? 0 : -errno;
}

static int add_place(struct kl_stream_out *out, uint32_t bytes)
{
	struct kl_pending *pending = &out->pending;
	struct kl_frame_place *places = kl_array_grow(pending->places, pending->n_places,
						      &pending->places_capacity, sizeof(*places));

	if (!places)
		return -ENOMEM;
	pending->places = places;
	places[pending->n_places] = (struct kl_frame_place){
		.at = out->bytes,
		.bytes = bytes,
		.plain_bytes = (uint32_t)pending->plain.length,
	};
	return 0;
}

/* Write the frame, and then the manifest's entries, or neither. */
static int write_frame(struct kl_trace_writer *writer, struct kl_stream_out *out)
{
	struct kl_pending *pending = &out->pending;
	struct iovec part;
	int ret = kl_writer_reserve(writer, pending->n_entries);

	kl_buffer_reset(&writer->frame);
	if (!ret)
		ret = kl_writer_open(writer, out);
	if (!ret)
		ret = kl_frame_write(writer->frames, pending->plain.data, pending->plain.length,
				     &writer->frame);
	if (!ret)
		ret = add_place(out, (uint32_t)writer->frame.length);
	if (ret)
		return ret;
	part = (struct iovec){ writer->frame.data, writer->frame.length };
	ret = kl_writer_write(out->fd, &part, 1, out->bytes);
	for (size_t i = 0; i < pending->n_entries && !ret; i++)
		ret = kl_manifest_add(&writer->manifest, &pending->entries[i]);
	if (ret)
		return kl_writer_take_back(out, ret);
	pending->n_places++;
	out->bytes += writer->frame.length;
	writer->bytes += writer->frame.length;
	return 0;
}

static int flush(struct kl_trace_writer *writer, struct kl_stream_out *out)
{
	struct kl_pending *pending = &out->pending;

	if (!pending->n_entries)
		return writer->error;
	if (!writer->error)
		writer->error = write_frame(writer, out);
	for (size_t i = 0; writer->error && i < pending->n_entries; i++)
		kl_writer_count_unstored(writer, out, &pending->entries[i]);
	kl_buffer_reset(&pending->plain);
	pending->n_entries = 0;
	return writer->error;
}

/* Copy the block with its completed header, and zeros after its records. */
static int copy_block(struct kl_pending *pending, const struct kl_abi_block *header,
		      const struct kl_abi_block *block)
{
	uint64_t size = header->packet_bits / 8;
	char *to;

	if (!pending->plain.capacity && !kl_buffer_reserve(&pending->plain, KL_FRAME_PLAIN_MAX))
		return kl_fail(ENOMEM, "out of memory");
	to = kl_buffer_reserve(&pending->plain, size);
	if (!to)
		return kl_fail(ENOMEM, "out of memory");
	memcpy(to, header, sizeof(*header));
	memcpy(to + sizeof(*header), block + 1, header->committed - sizeof(*header));
	memset(to + header->committed, 0, size - header->committed);
	pending->plain.length += size;
	return 0;
}

int kl_writer_keep(struct kl_trace_writer *writer, struct kl_stream_out *out,
		   const struct kl_abi_block *header, const struct kl_abi_block *block,
		   const struct kl_manifest_entry *entry)
{
	struct kl_pending *pending = &out->pending;
	struct kl_manifest_entry *entries;

	if (pending->plain.length + header->packet_bits / 8 > KL_FRAME_PLAIN_MAX)
		flush(writer, out);
	entries = kl_array_grow(pending->entries, pending->n_entries, &pending->entries_capacity,
				sizeof(*entries));
	if (entries)
		pending->entries = entries;
	if (!entries && !writer->error)
		writer->error = -ENOMEM;
	if (!writer->error)
		writer->error = copy_block(pending, header, block);
	if (writer->error) {
		flush(writer, out);
		kl_writer_count_unstored(writer, out, entry);
		return writer->error;
	}
	if (!pending->n_entries)
		pending->since_ns = kl_monotonic_ns();
	entries[pending->n_entries++] = *entry;
	if (pending->plain.length + header->packet_bits / 8 > KL_FRAME_PLAIN_MAX)
		flush(writer, out);
	return writer->error;
}

int kl_trace_flush(struct kl_trace_writer *writer, uint64_t age_ns)
{
	uint64_t now = writer->frames && age_ns ? kl_monotonic_ns() : 0;

	for (size_t i = 0; writer->frames && i < writer->n_outs; i++) {
		struct kl_stream_out *out = &writer->outs[i];

		if (!age_ns || now - out->pending.since_ns >= age_ns)
			flush(writer, out);
	}
	return writer->error;
}

/* The index only saves time, so a disk that is full is not an error. */
static void write_index(struct kl_trace_writer *writer, struct kl_stream_out *out)
{
	struct kl_pending *pending = &out->pending;
	struct iovec part;

	kl_buffer_reset(&writer->frame);
	if (out->fd < 0 ||
	    kl_frame_write_index(pending->places, pending->n_places, out->bytes, &writer->frame))
		return;
	part = (struct iovec){ writer->frame.data, writer->frame.length };
	if (kl_writer_write(out->fd, &part, 1, out->bytes))
		kl_writer_take_back(out, 0);
}

int kl_writer_finish_frames(struct kl_trace_writer *writer)
{
	int error = writer->error;

	if (!writer->frames)
		return 0;
	kl_trace_flush(writer, 0);
	for (size_t i = 0; i < writer->n_outs; i++)
		write_index(writer, &writer->outs[i]);
	/* What could not be stored earlier has already been reported. */
	return error ? 0 : writer->error;
}

void kl_writer_deinit_frames(struct kl_trace_writer *writer)
{
	for (size_t i = 0; i < writer->n_outs; i++) {
		struct kl_pending *pending = &writer->outs[i].pending;

		kl_buffer_deinit(&pending->plain);
		free(pending->entries);
		free(pending->places);
	}
	kl_frame_writer_destroy(writer->frames);
	kl_buffer_deinit(&writer->frame);
}
