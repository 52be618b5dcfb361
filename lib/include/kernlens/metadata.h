/* SPDX-License-Identifier: GPL-2.0 */
/* A trace's `metadata` file: TSDL as of CTF 1.8, in our own dialect. */
#ifndef KERNLENS_METADATA_H
#define KERNLENS_METADATA_H

#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>
#include <kernlens/timebase.h>

KL_PUBLIC_BEGIN

#define KL_INFO_TEXT_MAX 128

/* Of a trace: what only kernlens understands. Readers of CTF leave folders alone. */
#define KL_TRACE_FOLDER "kernlens"

/**
 * struct kl_trace_info - what a trace says about itself
 * @uuid: of the session, in each of its blocks
 * @boot_id: of the machine's boot, 36 characters, or empty
 * @hostname: of the machine
 * @kernel_release: uname -r
 * @kernel_version: uname -v
 * @trace_name: the session's
 * @version: of the kernlens that wrote it
 * @schema_hash: of the tables that the module was built with
 * @timebase: the clock
 */
struct kl_trace_info {
	uint8_t uuid[16];
	char boot_id[40];
	char hostname[KL_INFO_TEXT_MAX];
	char kernel_release[KL_INFO_TEXT_MAX];
	char kernel_version[KL_INFO_TEXT_MAX];
	char trace_name[KL_INFO_TEXT_MAX];
	char version[KL_INFO_TEXT_MAX];
	uint64_t schema_hash;
	struct kl_timebase timebase;
};

/**
 * kl_trace_info_init - fill in what this machine and library know
 * @info: zeroed, then all but uuid, trace_name and timebase filled in
 */
void kl_trace_info_init(struct kl_trace_info *info);

/**
 * kl_metadata_write - write the TSDL of a trace
 * @buffer: appended to
 * @schema: events to describe
 * @info: trace, env and clock
 *
 * Returns -ENOMEM.
 */
int kl_metadata_write(struct kl_buffer *buffer, const struct kl_schema *schema,
		      const struct kl_trace_info *info);

/**
 * kl_metadata_write_defined - the same, but only what the session has defined
 * @buffer: appended to
 * @schema: whose defined events, variables, flags and rules
 * @info: trace, env and clock
 *
 * For kl_session_set_metadata(): who attaches has the tables already. Returns
 * -ENOMEM.
 */
int kl_metadata_write_defined(struct kl_buffer *buffer, const struct kl_schema *schema,
			      const struct kl_trace_info *info);

/**
 * kl_metadata_parse - read the TSDL of a trace
 * @text: the file's bytes; anything may be in it
 * @length: of them
 * @info: filled in
 *
 * Understands what kl_metadata_write() of any version has written. Returns a
 * new schema, or NULL with errno EINVAL (the error text has the line), ENOMEM.
 */
struct kl_schema *kl_metadata_parse(const char *text, size_t length, struct kl_trace_info *info);

KL_PUBLIC_END

#endif /* KERNLENS_METADATA_H */
