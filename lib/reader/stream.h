/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One CPU's file of blocks as a sequence of events and losses in order of time. stream.c reads it;
 * trace.c merges the streams.
 */
#ifndef KL_LIB_READER_STREAM_H
#define KL_LIB_READER_STREAM_H

#include <kernlens/cursor.h>
#include <kernlens/trace.h>
#include "../base/window.h"
#include "manifest.h"

#define KL_STREAM_PENDING 8 /* maximum losses found in one step */

struct kl_stream {
	struct kl_window file; /* a missing file is empty, with fd -1 */
	uint64_t at; /* of the next block */
	const uint8_t *uuid;
	struct kl_trace_counts *counts;
	const struct kl_timebase *timebase;
	uint32_t cpu;
	const struct kl_manifest *manifest; /* NULL: there is none */
	const struct kl_manifest_cpu *known; /* the manifest's entries for this CPU, or NULL */
	uint64_t from_ns; /* wall time: blocks that end before it are left out */
	size_t entry; /* index in @known: blocks before it were found, or are missing */

	const struct kl_abi_block *block; /* current block, in the window; NULL between blocks */
	struct kl_cursor cursor;
	uint64_t got; /* records read from @block */

	bool any; /* a block has been read, and the following members describe it */
	bool skipped; /* invalid bytes followed it */
	uint64_t seq;
	uint64_t expected; /* expected record_first of the next block */
	uint64_t discarded;
	uint64_t end; /* clock: nothing older follows */
	bool ended; /* what is missing at the end has been reported */

	struct kl_loss pending[KL_STREAM_PENDING];
	uint64_t pending_key[KL_STREAM_PENDING];
	unsigned int n_pending;

	struct kl_loss loss; /* the current item, if it is a loss */
	bool is_loss;
	uint64_t key; /* time of the current item, in clock cycles */
};

/*
 * Find the first block, whether it is to be left out or not, without reading events. False: there
 * is none.
 */
bool kl_stream_start(struct kl_stream *stream);

/* The next item. False at the end. */
bool kl_stream_next(struct kl_stream *stream);

#endif /* KL_LIB_READER_STREAM_H */
