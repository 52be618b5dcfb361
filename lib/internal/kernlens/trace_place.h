/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places in a trace: a reader that has been there can return to one at once, and sees the same
 * items again. And the blocks of a trace, as its manifest lists them.
 */
#ifndef KERNLENS_TRACE_PLACE_H
#define KERNLENS_TRACE_PLACE_H

#include <stdint.h>
#include <kernlens/trace.h>

struct kl_trace_place;

/**
 * kl_trace_place_take - remember where a trace is
 * @trace: trace
 *
 * Takes about 2 KB for each CPU. Returns NULL with errno ENOMEM.
 */
struct kl_trace_place *kl_trace_place_take(const struct kl_trace *trace);

/**
 * kl_trace_place_free - forget a place
 * @place: or NULL
 */
void kl_trace_place_free(struct kl_trace_place *place);

/**
 * kl_trace_place_go - return to a place
 * @trace: the trace that it was taken from
 * @place: place
 *
 * The next call of kl_trace_next() returns what it did after the place was taken. A file in BER is
 * read from its start. Returns 0, or -EIO if the trace has changed; then there are no more items.
 */
int kl_trace_place_go(struct kl_trace *trace, const struct kl_trace_place *place);

/**
 * struct kl_trace_block - a block
 * @cpu: CPU
 * @begin_ns: wall time of its first record
 * @end_ns: of the first record of the next block
 * @records: in it
 */
struct kl_trace_block {
	uint32_t cpu;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t records;
};

/**
 * kl_trace_blocks - list the blocks of a trace without reading them
 * @trace: trace
 * @add: called with each block, CPU by CPU, in the order of time
 * @context: passed to it
 *
 * Returns 0, or -ENOENT: the trace has no manifest.
 */
int kl_trace_blocks(const struct kl_trace *trace,
		    void (*add)(void *context, const struct kl_trace_block *block), void *context);

#endif /* KERNLENS_TRACE_PLACE_H */
