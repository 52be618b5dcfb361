/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traces in the formats of other programs. Each format is a row of
 * lib/report/export/formats.def.
 */
#ifndef KERNLENS_EXPORT_H
#define KERNLENS_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <kernlens/trace.h>

/**
 * struct kl_export_format - a format that traces can be written in
 * @name: such as "perfetto"
 * @extension: of file names, without the dot
 * @help: what it is, and what opens it
 * @needs_file: it cannot be written to a pipe
 */
struct kl_export_format {
	const char *name;
	const char *extension;
	const char *help;
	bool needs_file;
};

/**
 * kl_export_format - a format by its index
 * @index: from 0
 *
 * Returns NULL after the last.
 */
const struct kl_export_format *kl_export_format(unsigned int index);

/**
 * struct kl_export_options - what to write
 * @title: of the trace
 * @host: machine of the trace, for a format of many traces; NULL: as it was recorded
 * @sample: the event whose records are samples; NULL: ticks if the trace has any, else all events
 *          with stack traces
 * @from_ns, @to_ns: only events of this time since the start
 */
struct kl_export_options {
	const char *title;
	const char *host;
	const char *sample;
	uint64_t from_ns;
	uint64_t to_ns;
};

/**
 * struct kl_export_counts - what has been written
 * @records: events that were read
 * @spans: spans of time: running, waiting, system calls, interrupts, requests
 * @samples: stack traces
 * @lost: records that are missing from the trace, as far as known, without KL_LOSS_UNSEEN
 * @omitted: threads whose states are left out, since the trace has only some of their switches
 */
struct kl_export_counts {
	uint64_t records;
	uint64_t spans;
	uint64_t samples;
	uint64_t lost;
	uint64_t omitted;
};

/**
 * kl_export - write a trace in another format
 * @trace: read from the start, several times if need be
 * @format: from kl_export_format()
 * @options: what to write
 * @file: written to
 * @path: of @file; used by formats that need a file
 * @counts: out
 *
 * Memory does not grow with the number of events, except for formats that order what they have by
 * thread (firefox, speedscope). Returns 0 or a negative errno, with an error text for -ENOENT (no
 * stack traces, or no such event) and -EIO.
 */
int kl_export(struct kl_trace *trace, const struct kl_export_format *format,
	      const struct kl_export_options *options, FILE *file, const char *path,
	      struct kl_export_counts *counts);

#endif /* KERNLENS_EXPORT_H */
