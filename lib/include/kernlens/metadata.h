/* SPDX-License-Identifier: GPL-2.0 */
/* Reads and writes a trace's `metadata` file: TSDL as in CTF 1.8, in kernlens's own dialect. */
#ifndef KERNLENS_METADATA_H
#define KERNLENS_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>
#include <kernlens/timebase.h>

KL_PUBLIC_BEGIN

#define KL_INFO_TEXT_MAX 128

/*
 * Folder in a trace directory for what only kernlens understands. CTF readers ignore hidden ones
 * without a warning.
 */
#define KL_TRACE_FOLDER ".kernlens"

/**
 * struct kl_trace_clock - what the machine knew of its wall clock, from adjtimex(2)
 * @known: the other members are set
 * @synchronized: NTP or PTP keeps the clock; otherwise nothing is known of its error
 * @offset_ns: what is left to be corrected
 * @max_error_ns: bound of the difference from UTC
 * @estimated_error_ns: difference that is expected
 */
struct kl_trace_clock {
	bool known;
	bool synchronized;
	int64_t offset_ns;
	uint64_t max_error_ns;
	uint64_t estimated_error_ns;
};

/**
 * struct kl_trace_info - properties of a trace
 * @uuid: of the session; each of its blocks has it
 * @boot_id: of the machine's boot, 36 characters, or empty
 * @hostname: of the machine
 * @kernel_release: uname -r
 * @kernel_version: uname -v
 * @trace_name: name of the session
 * @scope: whose events the session recorded: "all", "own" (what an ordinary user may see), "user",
 *         "cgroup" or "tasks"; empty: not known
 * @command: process ID of the command that was run for the recording; 0: none
 * @version: of the kernlens that wrote the trace
 * @schema_hash: of the tables that the module was built with
 * @timebase: the clock
 * @clock: the wall clock when the trace was created
 */
struct kl_trace_info {
	uint8_t uuid[16];
	char boot_id[40];
	char hostname[KL_INFO_TEXT_MAX];
	char kernel_release[KL_INFO_TEXT_MAX];
	char kernel_version[KL_INFO_TEXT_MAX];
	char trace_name[KL_INFO_TEXT_MAX];
	char scope[KL_INFO_TEXT_MAX];
	char version[KL_INFO_TEXT_MAX];
	int32_t command;
	uint64_t schema_hash;
	struct kl_timebase timebase;
	struct kl_trace_clock clock;
};

/**
 * kl_trace_info_init - fill in what is known about this machine and library
 * @info: zeroed, then filled in except for uuid, trace_name, timebase and clock
 */
void kl_trace_info_init(struct kl_trace_info *info);

/**
 * kl_trace_clock_read - read what this machine knows of its wall clock
 * @clock: filled in; not known if adjtimex(2) fails
 */
void kl_trace_clock_read(struct kl_trace_clock *clock);

/**
 * kl_metadata_write - write the TSDL of a trace
 * @buffer: appended to
 * @schema: events to describe
 * @info: trace, env and clock
 *
 * Returns 0 or -ENOMEM.
 */
int kl_metadata_write(struct kl_buffer *buffer, const struct kl_schema *schema,
		      const struct kl_trace_info *info);

/**
 * kl_metadata_write_defined - write the TSDL of what a session has defined, only
 * @buffer: appended to
 * @schema: its defined events, variables, flags and rules are written
 * @info: trace, env and clock
 *
 * For kl_session_set_metadata(): a process that attaches to the session already has the tables.
 * Returns 0 or -ENOMEM.
 */
int kl_metadata_write_defined(struct kl_buffer *buffer, const struct kl_schema *schema,
			      const struct kl_trace_info *info);

/**
 * kl_metadata_parse - parse the TSDL of a trace
 * @text: contents of the file; need not be valid
 * @length: size of @text in bytes
 * @info: filled in
 *
 * Accepts the output of kl_metadata_write() of any version. Returns a new schema, to be freed
 * with kl_schema_destroy(), or NULL with errno EINVAL (the error text contains the line) or
 * ENOMEM.
 */
struct kl_schema *kl_metadata_parse(const char *text, size_t length, struct kl_trace_info *info);

KL_PUBLIC_END

#endif /* KERNLENS_METADATA_H */
