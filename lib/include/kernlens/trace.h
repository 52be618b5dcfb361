/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace directory: `metadata` and a file of blocks a CPU (cpu0, cpu1 ...).
 * Reading merges the CPUs by time into one sequence of events and losses.
 */
#ifndef KERNLENS_TRACE_H
#define KERNLENS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/event.h>
#include <kernlens/metadata.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/* In a trace: what was recorded, block by block, with checksums (docs/format/trace.md). */
#define KL_MANIFEST_FILE "kernlens/manifest"

enum kl_item_kind {
	KL_ITEM_EVENT,
	KL_ITEM_LOSS,
};

enum kl_loss_kind {
	KL_LOSS_DISCARDED, /* no room in the buffer: never written */
	KL_LOSS_OVERWRITTEN, /* written, but gone before they were read */
	KL_LOSS_BEFORE, /* written before the trace's first block of this CPU */
	KL_LOSS_CORRUPT, /* in a block that is damaged or missing */
	KL_LOSS_UNSTORED, /* not stored: the disk was full, or the recorder gone */
	KL_LOSS_UNSEEN, /* missed by the events' sources, as late ticks; of no CPU */
};

#define KL_LOSS_KINDS (KL_LOSS_UNSEEN + 1)

/**
 * struct kl_loss - records that are not in the sequence
 * @kind: why
 * @cpu: whose
 * @records: how many; 0 if that cannot be known (corrupt, unstored)
 * @blocks: how many blocks they were in; 0 for discarded records
 * @begin_ns: not before this wall time; 0: unknown
 * @end_ns: not after this wall time; 0: unknown
 * @first_block: number on its CPU of the first of @blocks
 * @origin_ns: wall time that times since the start count from
 */
struct kl_loss {
	enum kl_loss_kind kind;
	uint32_t cpu;
	uint64_t records;
	uint64_t blocks;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t first_block;
	uint64_t origin_ns;
};

/**
 * struct kl_item - what a sequence consists of
 * @kind: which of the two is set
 * @event: event
 * @loss: loss
 */
struct kl_item {
	enum kl_item_kind kind;
	const struct kl_event *event;
	const struct kl_loss *loss;
};

/**
 * struct kl_trace_counts - sums over what has been read so far
 * @events: events in the sequence
 * @discarded: records that were never written
 * @overwritten: records gone before they were read
 * @before: records before the first blocks
 * @blocks: read
 * @corrupt: blocks damaged or missing, wholly or from some record on
 * @damaged: records that were in those, as far as that is known
 * @cut_bytes: at the ends of files, too few for a block
 * @unstored: records that the recorder could not store
 * @unseen: events that their sources did not see
 *
 * The sum of all but @blocks, @corrupt and @cut_bytes is the number of records
 * that fired; if the trace has a whole manifest (struct kl_trace_state), whatever
 * became of its streams.
 */
struct kl_trace_counts {
	uint64_t events;
	uint64_t discarded;
	uint64_t overwritten;
	uint64_t before;
	uint64_t blocks;
	uint64_t corrupt;
	uint64_t damaged;
	uint64_t cut_bytes;
	uint64_t unstored;
	uint64_t unseen;
};

/**
 * struct kl_trace_state - what is known of a recording as a whole
 * @begin_ns: wall time at which the session started; 0: unknown
 * @end_ns: and at which it ended; 0: unknown
 * @manifest: there is one; without it, what is missing at the streams' ends
 *            cannot be known
 * @finished: the recorder came to its end; else, what was in the buffers when it
 *            was killed is missing
 * @manifest_damaged: entries of the manifest that cannot be read
 * @streams: CPUs that have recorded something, as far as that is known
 * @streams_missing: of them, those whose file is not there
 */
struct kl_trace_state {
	uint64_t begin_ns;
	uint64_t end_ns;
	bool manifest;
	bool finished;
	uint64_t manifest_damaged;
	unsigned int streams;
	unsigned int streams_missing;
};

struct kl_trace;
struct kl_trace_writer;

/**
 * kl_trace_open - open a trace for reading
 * @path: trace directory, or a file in BER (kernlens/ber.h)
 *
 * Its files stay open, one for each CPU; they may change or be cut short meanwhile,
 * which counts as damage. A recorder that was killed leaves a trace that is readable
 * to its last whole block. Returns NULL with errno: ENOENT (no metadata),
 * EINVAL (metadata cannot be read, or the file is not in BER), ENOMEM or what
 * open said.
 */
struct kl_trace *kl_trace_open(const char *path);

/**
 * kl_trace_close - free a trace and all that came from it
 * @trace: or NULL
 */
void kl_trace_close(struct kl_trace *trace);

/**
 * kl_trace_next - the next event or loss in order of time
 * @trace: trace
 * @item: filled in; valid until the next call
 *
 * Returns 1, or 0 at the end. Corrupt blocks are losses, not errors.
 */
int kl_trace_next(struct kl_trace *trace, struct kl_item *item);

/**
 * kl_trace_rewind - start again from the first item
 * @trace: trace
 */
void kl_trace_rewind(struct kl_trace *trace);

/**
 * kl_trace_schema - the trace's own schema
 * @trace: trace
 */
const struct kl_schema *kl_trace_schema(const struct kl_trace *trace);

/**
 * kl_trace_demangle - whether call traces have names as in C++ and Rust; they do at first
 * @trace: trace
 * @wanted: or symbols as linkers call them
 */
void kl_trace_demangle(struct kl_trace *trace, bool wanted);

/**
 * kl_trace_about - what the trace says about itself
 * @trace: trace
 */
const struct kl_trace_info *kl_trace_about(const struct kl_trace *trace);

/**
 * kl_trace_counted - what has been read and lost so far
 * @trace: trace
 */
const struct kl_trace_counts *kl_trace_counted(const struct kl_trace *trace);

/**
 * kl_trace_state - what is known of the recording as a whole
 * @trace: trace
 */
const struct kl_trace_state *kl_trace_state(const struct kl_trace *trace);

/**
 * kl_trace_begin - wall time that times since the start count from
 * @trace: trace
 *
 * Returns nanoseconds since 1970: when the first block began, also if that block
 * is damaged and the trace has a manifest; 0 if there is none.
 */
uint64_t kl_trace_begin(const struct kl_trace *trace);

/**
 * kl_trace_folder - open a directory of a trace to change what is in it
 * @dir: where @name begins, or AT_FDCWD
 * @name: of the trace, or of the folder "kernlens" in it
 *
 * Anybody may have prepared a path in a directory that all users share. Returns a descriptor, or
 * a negative errno with an error text: -ENOENT, -ELOOP (a symbolic link), -EPERM (another
 * user's, which is refused to root, too), or what the system reported.
 */
int kl_trace_folder(int dir, const char *name);

/**
 * kl_trace_create - make a trace directory for writing
 * @path: directory; made if it is not there, else it must have no metadata, and belong to the
 *        effective user. A symbolic link is not followed
 * @schema: of the events to come; must outlive the writer
 * @info: uuid as in the blocks, clock as known now
 *
 * The metadata is written at once, so the trace can be read if the recorder is
 * killed. Only the owner may read what is created, whatever the umask. Returns NULL with errno:
 * EEXIST, EPERM (it belongs to another user), ELOOP (a symbolic link), ENOMEM, or what the
 * system reported.
 */
struct kl_trace_writer *kl_trace_create(const char *path, const struct kl_schema *schema,
					const struct kl_trace_info *info);

/**
 * kl_trace_append - add a block to its CPU's file
 * @writer: writer
 * @block: its bytes as they came
 * @bytes: of the records and header that are there. If the block is not
 *         complete, its header is completed on the way to the file; only the
 *         last block of a CPU may be like that
 *
 * The file gets the whole block, zeros behind the records, and the manifest an
 * entry. Once a block could not be stored, none is: the files stay as they were
 * before it, and further blocks are only counted (kl_trace_unstored()). Returns
 * -EINVAL (no block of this session) or what the system said of the first block
 * that was not stored.
 */
int kl_trace_append(struct kl_trace_writer *writer, const struct kl_abi_block *block, size_t bytes);

/**
 * kl_trace_unstored - what of a CPU could not be stored
 * @writer: writer
 * @cpu: any number
 * @loss: filled in; times are those of the clock as known when the trace was created
 *
 * Returns false if all of it was.
 */
bool kl_trace_unstored(const struct kl_trace_writer *writer, uint32_t cpu, struct kl_loss *loss);

/**
 * kl_trace_set_begin - note when the session started
 * @writer: writer
 * @cycles: of the clock
 *
 * Returns what the system said.
 */
int kl_trace_set_begin(struct kl_trace_writer *writer, uint64_t cycles);

/**
 * kl_trace_set_total - note what a CPU has fired in all, once the session has stopped
 * @writer: writer
 * @cpu: whose
 * @written: records in its buffer since the session's start
 * @lost: records that had no room
 *
 * A reader reports what is not in the trace as lost. Without this, the last block
 * counts. Returns -ENOMEM or -EINVAL.
 */
int kl_trace_set_total(struct kl_trace_writer *writer, uint32_t cpu, uint64_t written,
		       uint64_t lost);

/**
 * kl_trace_set_end - note when the session ended
 * @writer: writer
 * @cycles: of the clock
 * @unseen: events that their sources did not see
 */
void kl_trace_set_end(struct kl_trace_writer *writer, uint64_t cycles, uint64_t unseen);

/**
 * kl_trace_written - bytes in the stream files
 * @writer: writer
 */
uint64_t kl_trace_written(const struct kl_trace_writer *writer);

/**
 * kl_trace_finish - finish the manifest, close the files and free the writer
 * @writer: or NULL; freed also on failure
 * @timebase: the clock as fitted at the end, or NULL to leave it
 *
 * Replaces the metadata by rename. Returns what the system said.
 */
int kl_trace_finish(struct kl_trace_writer *writer, const struct kl_timebase *timebase);

KL_PUBLIC_END

#endif /* KERNLENS_TRACE_H */
