/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One CPU's file of blocks as a sequence of events and losses in order of
 * time. stream.c reads; trace.c merges the streams.
 */
#ifndef KL_LIB_READER_STREAM_H
#define KL_LIB_READER_STREAM_H

#include <kernlens/trace.h>
#include "../base/window.h"
#include "manifest.h"

#define KL_STREAM_PENDING 8 /* losses that one step can find at once */

struct kl_stream {
	struct kl_window file; /* none (fd is -1), and empty, if it is missing */
	uint64_t at; /* of the next block */
	const uint8_t *uuid;
	struct kl_trace_counts *counts;
	const struct kl_timebase *timebase;
	uint32_t cpu;
	const struct kl_manifest *manifest; /* NULL: there is none */
	const struct kl_manifest_cpu *known; /* its part of this CPU, or NULL */
	size_t entry; /* of @known: blocks that were found, or are missing */

	const struct kl_abi_block *block; /* being read, in the window; NULL between blocks */
	struct kl_cursor cursor;
	uint64_t got; /* records read from it */

	bool any; /* a block has been read: what follows is about it */
	bool skipped; /* bytes that were no block came after it */
	uint64_t seq;
	uint64_t expected; /* record_first of the next block, if none is missing */
	uint64_t discarded;
	uint64_t end; /* clock: nothing older comes */
	bool ended; /* what is missing at the end has been counted */

	struct kl_loss pending[KL_STREAM_PENDING];
	uint64_t pending_key[KL_STREAM_PENDING];
	unsigned int n_pending;

	struct kl_loss loss; /* the item, if it is one */
	bool is_loss;
	uint64_t key; /* the item's place in time, clock cycles */
};

/* Go to the first block, without reading events. False: there is none. */
bool kl_stream_start(struct kl_stream *stream);

/* The next item. False at the end. */
bool kl_stream_next(struct kl_stream *stream);

#endif /* KL_LIB_READER_STREAM_H */
