/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace directory: `metadata` and one file of blocks per CPU (cpu0, cpu1 ...). Reading merges
 * the CPUs by time into one sequence of events and losses.
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

/* File in a trace that lists the recorded blocks with checksums (docs/format/trace.md). */
#define KL_MANIFEST_FILE ".kernlens/manifest"

enum kl_item_kind {
	KL_ITEM_EVENT,
	KL_ITEM_LOSS,
};

enum kl_loss_kind {
	KL_LOSS_DISCARDED, /* never written, because the buffer was full */
	KL_LOSS_OVERWRITTEN, /* written, but overwritten before they were read */
	KL_LOSS_BEFORE, /* written before the trace's first block of this CPU */
	KL_LOSS_CORRUPT, /* in a block that is damaged or missing */
	KL_LOSS_UNSTORED, /* not stored: the disk was full, or the recorder was killed */
	KL_LOSS_UNSEEN, /* missed by the events' sources, such as late ticks; belongs to no CPU */
};

#define KL_LOSS_KINDS (KL_LOSS_UNSEEN + 1)

/**
 * struct kl_loss - records that are missing from the sequence
 * @kind: why
 * @cpu: CPU that fired them
 * @records: number of records; 0 if unknown (corrupt, unstored)
 * @blocks: number of blocks that contained them; 0 for discarded records
 * @begin_ns: wall time before which none was fired; 0: unknown
 * @end_ns: wall time after which none was fired; 0: unknown
 * @first_block: sequence number, on its CPU, of the first of @blocks
 * @origin_ns: wall time that relative times count from
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
 * struct kl_item - an element of the sequence
 * @kind: which of @event and @loss is set
 * @event: event
 * @loss: loss
 */
struct kl_item {
	enum kl_item_kind kind;
	const struct kl_event *event;
	const struct kl_loss *loss;
};

/**
 * struct kl_trace_counts - totals over what has been read so far
 * @events: events in the sequence
 * @discarded: records that were never written
 * @overwritten: records that were overwritten before they were read
 * @before: records before the first blocks
 * @blocks: blocks read
 * @corrupt: blocks that are damaged or missing, entirely or from some record on
 * @damaged: records in these blocks, as far as known
 * @cut_bytes: bytes at the ends of files, too few for a block
 * @unstored: records that the recorder could not store
 * @unseen: events that their sources missed
 *
 * The sum of all but @blocks, @corrupt and @cut_bytes is the number of records that fired. If the
 * trace has a complete manifest (struct kl_trace_state), this holds whatever happened to its
 * streams.
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
 * struct kl_trace_state - what is known about a recording as a whole
 * @begin_ns: wall time at which the session started; 0: unknown
 * @end_ns: wall time at which the session ended; 0: unknown
 * @manifest: the trace has a manifest; without it, what is missing at the ends of streams is
 *            unknown
 * @finished: the recorder finished; if not, what was in the buffers when it was killed is missing
 * @manifest_damaged: unreadable entries of the manifest
 * @streams: CPUs that have recorded something, as far as known
 * @streams_missing: how many of these have no file
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
 * @path: trace directory, a pack (one file that `kernlens pack` wrote), or a BER file
 *        (kernlens/ber.h)
 *
 * The files stay open, one per CPU. They may be changed or truncated in the meantime, which
 * counts as damage. If the recorder was killed, the trace is readable up to its last complete
 * block. Returns NULL with errno: ENOENT (no metadata), EINVAL (invalid metadata, or not a BER
 * file), ENOMEM, or the error from open(2).
 */
struct kl_trace *kl_trace_open(const char *path);

/**
 * kl_trace_close - free a trace and everything that came from it
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
 * kl_trace_schema - schema of the trace
 * @trace: trace; the schema belongs to it
 */
const struct kl_schema *kl_trace_schema(const struct kl_trace *trace);

/**
 * kl_trace_demangle - set whether C++ and Rust symbols in stack traces are demangled (default:
 * yes)
 * @trace: trace
 * @wanted: demangle; else symbols are shown as they are
 */
void kl_trace_demangle(struct kl_trace *trace, bool wanted);

/**
 * kl_trace_about - properties of the trace
 * @trace: trace
 */
const struct kl_trace_info *kl_trace_about(const struct kl_trace *trace);

/**
 * kl_trace_counted - what has been read and lost so far
 * @trace: trace
 */
const struct kl_trace_counts *kl_trace_counted(const struct kl_trace *trace);

/**
 * kl_trace_state - what is known about the recording as a whole
 * @trace: trace
 */
const struct kl_trace_state *kl_trace_state(const struct kl_trace *trace);

/**
 * kl_trace_begin - wall time that relative times count from
 * @trace: trace
 *
 * Returns ns since 1970: when the first block began, even if that block is damaged, as long as
 * the trace has a manifest; 0 if unknown.
 */
uint64_t kl_trace_begin(const struct kl_trace *trace);

/**
 * kl_trace_create - create a trace directory for writing
 * @path: directory; created if missing, else it must contain no metadata and belong to the
 *        effective user. A symbolic link is not followed
 * @schema: of the events to come; must outlive the writer
 * @info: uuid as in the blocks, clock as known now
 *
 * The metadata is written at once, so the trace is readable if the recorder is killed. Only the
 * owner may read what is created, whatever the umask. Returns NULL with errno: EEXIST, EPERM (it
 * belongs to another user), ELOOP (a symbolic link), ENOMEM, or what the system reported.
 */
struct kl_trace_writer *kl_trace_create(const char *path, const struct kl_schema *schema,
					const struct kl_trace_info *info);

/**
 * kl_trace_append - append a block to the file of its CPU
 * @writer: writer
 * @block: its bytes, unchanged
 * @bytes: size of the header and the records present. If the block is not complete, its header is
 *         completed in the file; only the last block of a CPU may be incomplete
 *
 * The file gets the whole block, with zeros after the records, and the manifest an entry. Once a
 * block could not be stored, the files stay as they were before it, and further blocks are only
 * counted (kl_trace_unstored()). Returns 0, -EINVAL (not a valid block of this session), or the
 * error of the first block that could not be stored.
 */
int kl_trace_append(struct kl_trace_writer *writer, const struct kl_abi_block *block, size_t bytes);

/**
 * kl_trace_unstored - what could not be stored of a CPU
 * @writer: writer
 * @cpu: any number
 * @loss: filled in; times are according to the clock as known when the trace was created
 *
 * Returns false if everything was stored.
 */
bool kl_trace_unstored(const struct kl_trace_writer *writer, uint32_t cpu, struct kl_loss *loss);

/**
 * kl_trace_set_begin - record when the session started
 * @writer: writer
 * @cycles: of the clock
 *
 * Returns 0 or a negative errno with an error text.
 */
int kl_trace_set_begin(struct kl_trace_writer *writer, uint64_t cycles);

/**
 * kl_trace_set_total - record the total of a CPU, once the session has stopped
 * @writer: writer
 * @cpu: CPU
 * @written: records written to its buffer since the session started
 * @lost: records lost because the buffer was full
 *
 * Readers report records that the trace does not contain as lost. Without this call, the total is
 * that of the last block. Returns 0, -ENOMEM or -EINVAL.
 */
int kl_trace_set_total(struct kl_trace_writer *writer, uint32_t cpu, uint64_t written,
		       uint64_t lost);

/**
 * kl_trace_set_end - set when the session ended; written by kl_trace_finish()
 * @writer: writer
 * @cycles: of the clock
 * @unseen: events that their sources missed
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
 * @timebase: the clock as fitted at the end, or NULL to keep the one written at first
 *
 * With @timebase, replaces the metadata by renaming a new file over it. Returns 0 or a negative
 * errno with an error text.
 */
int kl_trace_finish(struct kl_trace_writer *writer, const struct kl_timebase *timebase);

KL_PUBLIC_END

#endif /* KERNLENS_TRACE_H */
