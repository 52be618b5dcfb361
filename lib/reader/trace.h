/* SPDX-License-Identifier: GPL-2.0 */
/* A trace that is open: trace.c reads it, and place.c remembers where it is. */
#ifndef KL_LIB_READER_TRACE_H
#define KL_LIB_READER_TRACE_H

#include <kernlens/trace.h>
#include "files.h"
#include "manifest.h"
#include "stream.h"

struct kl_trace {
	struct kl_files files;
	struct kl_schema *schema;
	struct kl_stacks *stacks; /* NULL: none */
	struct kl_addresses *addresses; /* NULL: none */
	struct kl_cgroups *cgroups; /* NULL: none */
	struct kl_trace_info info;
	struct kl_trace_counts counts;
	struct kl_trace_state state;
	struct kl_manifest manifest; /* if `state` has one */
	uint8_t *manifest_file;
	size_t manifest_bytes;
	struct kl_loss unseen; /* reported as the last item, if there are any */
	struct kl_stream *streams;
	size_t n_streams;
	unsigned int n_files; /* number of streams with a file; the others are missing */
	size_t streams_capacity;
	struct kl_stream **heap; /* the first has the oldest item */
	size_t n_heap;
	bool started;
	uint64_t begin_ns;
	uint64_t skip_ns; /* since the beginning; 0: nothing is left out */
	uint64_t items; /* returned since the beginning, of a BER file */

	struct kl_ber_reader *ber; /* NULL: the trace is a directory or pack */
};

#endif /* KL_LIB_READER_TRACE_H */
