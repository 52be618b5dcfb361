/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of a trace writer: writer.c writes blocks as they are, writer_compress.c compresses
 * them.
 */
#ifndef KL_LIB_READER_WRITER_H
#define KL_LIB_READER_WRITER_H

#include <sys/uio.h>

#include <kernlens/trace.h>
#include "frame.h"
#include "manifest.h"

/*
 * Blocks that are only in memory.
 * @plain: the blocks
 * @entries: their entries for the manifest
 * @since_ns: when the first one was added
 * @places: of the frames in the file, for its index
 */
struct kl_pending {
	struct kl_buffer plain;
	struct kl_manifest_entry *entries;
	size_t n_entries;
	size_t entries_capacity;
	uint64_t since_ns;
	struct kl_frame_place *places;
	size_t n_places;
	size_t places_capacity;
};

/*
 * The stream of a CPU.
 * @bytes: of its file
 * @records, @discarded: on this CPU, as of the last block, stored or not
 * @unstored: manifest entry of unstored blocks, if `kind` is set
 * @unstored_at: offset of that entry in the manifest
 * @total: the session's own counts, if `kind` is set
 */
struct kl_stream_out {
	int fd;
	uint64_t bytes;
	uint64_t records;
	uint64_t discarded;
	struct kl_manifest_entry unstored;
	uint64_t unstored_at;
	struct kl_manifest_entry total;
	struct kl_pending pending;
};

/*
 * @outs: by CPU
 * @cpus: maximum number of CPUs
 * @error: from the first block that could not be stored
 * @frames: compresses; NULL: blocks are written as they are
 * @frame: a frame that is being written
 */
struct kl_trace_writer {
	int dir;
	const struct kl_schema *schema;
	struct kl_trace_info info;
	struct kl_stream_out *outs;
	size_t n_outs;
	uint64_t bytes;
	struct kl_manifest_out manifest;
	struct kl_manifest_entry end;
	unsigned int cpus;
	int error;
	struct kl_frame_writer *frames;
	struct kl_buffer frame;
};

/* Write all bytes. Returns 0 or a negative errno with an error text. */
int kl_writer_write(int fd, struct iovec *parts, int n, uint64_t at);

/* Create the file of a stream, if it has not been. */
int kl_writer_open(struct kl_trace_writer *writer, struct kl_stream_out *out);

/*
 * Reserve space in the manifest for @blocks more blocks and for the final entries: each CPU's
 * unstored blocks and totals, and the end.
 */
int kl_writer_reserve(struct kl_trace_writer *writer, size_t blocks);

/* Cut the file to what was in it before a failure. Returns @error, or another one. */
int kl_writer_take_back(struct kl_stream_out *out, int error);

/* Count a block that could not be stored. */
void kl_writer_count_unstored(struct kl_trace_writer *writer, struct kl_stream_out *out,
			      const struct kl_manifest_entry *entry);

/*
 * Keep a block, whose header has been completed, and write all blocks kept of this CPU once they
 * fill a frame. Returns 0 or a negative errno with an error text; a block that is not stored has
 * been counted.
 */
int kl_writer_keep(struct kl_trace_writer *writer, struct kl_stream_out *out,
		   const struct kl_abi_block *header, const struct kl_abi_block *block,
		   const struct kl_manifest_entry *entry);

/* End the files with their indexes, and free what is for compression. */
int kl_writer_finish_frames(struct kl_trace_writer *writer);
void kl_writer_deinit_frames(struct kl_trace_writer *writer);

#endif /* KL_LIB_READER_WRITER_H */
