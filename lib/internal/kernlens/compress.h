/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compressed traces: streams compressed while they are written, and packs, which have all files of
 * a trace in one (docs/format/pack.md). kl_trace_open() reads both like any trace.
 */
#ifndef KERNLENS_COMPRESS_H
#define KERNLENS_COMPRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <kernlens/trace.h>

/* Follows the name of a compressed stream in a trace directory. */
#define KL_TRACE_COMPRESSED ".klz"

/* Levels are those of zstd: higher ones are slower and compress better. */
#define KL_COMPRESS_LEVEL_MAX 19
#define KL_COMPRESS_LEVEL_DEFAULT 3

/**
 * kl_trace_compress - compress the streams of a trace that is to be written
 * @writer: new writer, to which no block has been appended
 * @level: 1 to KL_COMPRESS_LEVEL_MAX
 *
 * kl_trace_append() then keeps up to 1 MiB of each CPU in memory before it compresses and writes
 * it, so it may report a failure that concerns earlier blocks. Returns 0 or -ENOMEM.
 */
int kl_trace_compress(struct kl_trace_writer *writer, int level);

/**
 * kl_trace_flush - write blocks that are only in memory
 * @writer: writer; without kl_trace_compress() this does nothing
 * @age_ns: only of CPUs whose first such block is at least this old; 0: all
 *
 * Returns 0, or the error of the first block that could not be stored.
 */
int kl_trace_flush(struct kl_trace_writer *writer, uint64_t age_ns);

/**
 * kl_trace_skip - start again, and leave out what is too early, without reading or decompressing it
 * @trace: trace
 * @since_ns: time since the trace's beginning; 0: leave nothing out
 *
 * Leaves out blocks that end before this time, but for the first of each CPU. Losses are reported
 * as ever; events in blocks that are left out are not counted. A file in BER is read as a whole.
 */
void kl_trace_skip(struct kl_trace *trace, uint64_t since_ns);

/**
 * struct kl_pack_counts - what was packed or unpacked
 * @files: number of files
 * @plain_bytes: of these files
 * @stored_bytes: of the pack, or, when unpacking, of the compressed files
 */
struct kl_pack_counts {
	unsigned int files;
	uint64_t plain_bytes;
	uint64_t stored_bytes;
};

/**
 * kl_pack_trace - pack a trace into one file
 * @path: trace directory, compressed or not, or another pack
 * @output: file to create
 * @force: replace an existing file
 * @level: 1 to KL_COMPRESS_LEVEL_MAX
 * @counts: filled in
 *
 * The file is complete when it gets its name, and only its owner can read it. Streams are stored
 * byte for byte as they are, damaged or not. Returns 0 or a negative errno with an error text:
 * -EEXIST, -EINVAL (not a trace), -EIO (a compressed stream is damaged), or what the system
 * reported.
 */
int kl_pack_trace(const char *path, const char *output, bool force, int level,
		  struct kl_pack_counts *counts);

/**
 * kl_unpack_trace - write the files of a pack or of a compressed trace into a directory
 * @path: pack or trace directory
 * @output: directory; created if missing, else as for kl_trace_create()
 * @force: replace a trace in it
 * @limit: maximum size of all files together; 0: 1 GiB, or 100 times the size of the pack if that
 *         is more
 * @counts: filled in
 *
 * On failure nothing of the trace remains. Returns 0 or a negative errno with an error text:
 * -EEXIST, -EINVAL (not a trace), -EFBIG (@limit), -EIO (something is damaged or missing), or what
 * the system reported.
 */
int kl_unpack_trace(const char *path, const char *output, bool force, uint64_t limit,
		    struct kl_pack_counts *counts);

#endif /* KERNLENS_COMPRESS_H */
