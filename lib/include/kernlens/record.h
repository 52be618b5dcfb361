/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records a session into a trace directory: its blocks, its stack traces, the symbol names of its
 * kernel addresses, and snapshots of a flight recorder. The caller creates the session (client.h)
 * and its plan (plan.h), selects tasks, waits, and stops it:
 *
 *   kl_record_set_buffers(), kl_session_create(),
 *   kl_plan_create(), kl_record_prepare_plan(), kl_plan_add(), kl_plan_compile(),
 *   kl_record_omit_absent(), kl_record_apply(), kl_record_apply_variables(),
 *   kl_session_filter(), kl_session_tasks(),
 *   kl_recorder_create(), kl_recorder_attach(), kl_session_start(), kl_recorder_began(),
 *   kl_recorder_drain() whenever kl_recorder_fd() is readable,
 *   kl_session_stop(), kl_recorder_ended(), kl_recorder_finish(), kl_recorder_destroy()
 */
#ifndef KERNLENS_RECORD_H
#define KERNLENS_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <kernlens/addresses.h>
#include <kernlens/buffer.h>
#include <kernlens/client.h>
#include <kernlens/plan.h>
#include <kernlens/public.h>
#include <kernlens/reader.h>
#include <kernlens/schema.h>
#include <kernlens/stack.h>
#include <kernlens/trace.h>

KL_PUBLIC_BEGIN

/**
 * struct kl_record_source - a session, and what is known about it
 * @device: device that the session was created on
 * @session: session; no other call of it may be in progress in another thread
 * @schema: schema of its records, with the events that it defines
 * @config: as filled in by kl_session_create()
 * @scope: whose events it records: "all", "own", "user", "cgroup" or "tasks", as in struct
 *         kl_trace_info
 * @command: process ID of the command that is run for the recording; 0: none
 *
 * All of these must outlive what is made from them.
 */
struct kl_record_source {
	struct kl_device *device;
	struct kl_session *session;
	struct kl_schema *schema;
	const struct kl_abi_session *config;
	const char *scope;
	int32_t command;
};

/* ----------------------------------------------------------------- session */

/**
 * kl_record_set_buffers - choose the sizes of a session's buffers
 * @device: device on which the session will be created
 * @bytes: size of each CPU's buffer; 0: 4 MiB, or less for a user whose limit is low
 * @config: `block_bytes`, `blocks` and `blocks_max` are filled in
 *
 * The size is rounded up to whole blocks. Returns 0, or -EINVAL with an error text if it is too
 * large.
 */
int kl_record_set_buffers(const struct kl_device *device, uint64_t bytes,
			  struct kl_abi_session *config);

/**
 * kl_record_prepare_plan - make the device's handlers and the caller's rights known to a plan
 * @device: device on which the session is created
 * @plan: plan that has not been compiled
 *
 * Returns 0 or a negative errno.
 */
int kl_record_prepare_plan(struct kl_device *device, struct kl_plan *plan);

/**
 * kl_record_omit_absent - leave out the events that are not available here
 * @device: device
 * @schema: of the plan
 * @plan: compiled plan that has not been applied
 * @omitted: their names, each after a blank, are appended; or NULL
 *
 * An event that was named literally rather than matched by a pattern is an error if it is not
 * available. Returns 0, or a negative errno with an error text: -EPERM (the caller may not use
 * it), -ENOENT (the kernel does not have it, or nothing is left).
 */
int kl_record_omit_absent(struct kl_device *device, const struct kl_schema *schema,
			  struct kl_plan *plan, struct kl_buffer *omitted);

/**
 * kl_record_apply - load a plan into a session
 * @session: as for kl_plan_apply()
 * @plan: compiled plan without events that are absent
 *
 * Unlike kl_plan_apply(), this also records the strings of system calls that were not in memory
 * when the call was entered: they follow in the event `syscall_late_string`. Returns as
 * kl_plan_apply() does.
 */
int kl_record_apply(struct kl_session *session, struct kl_plan *plan);

/**
 * kl_record_apply_variables - set the variables of a session and of its schema
 * @source: of a session that has not been started; `config` and `scope` are not used
 * @plan: applied plan
 * @list: rows of variables.def, and entries with KL_VARIABLE_PROGRAM whose `program` is the index
 *        of a variable of the plan; the variables of the handler `stack` are added to it
 *
 * Returns 0, or a negative errno with an error text: -E2BIG (too many), or as
 * kl_plan_apply_variables() does.
 */
int kl_record_apply_variables(const struct kl_record_source *source, struct kl_plan *plan,
			      struct kl_abi_variables *list);

/**
 * kl_record_publish - store a session's definitions in it, for processes that attach
 * @source: of a session that has not been started
 * @plan: applied plan
 *
 * Without them, other processes cannot decode the events, rules and variables that the session
 * defines. In overwrite mode, the description of all other events is stored, too, for a trace that
 * is extracted after a crash. Returns 0, also if nothing is defined, or a negative errno with an
 * error text.
 */
int kl_record_publish(const struct kl_record_source *source, const struct kl_plan *plan);

/* ------------------------------------------------------------- directories */

/**
 * kl_record_make_folder - create a directory that is named after the local time
 * @prefix: first part of the name, as in "PREFIX-20260131-235959"
 *
 * Several recordings may start within one second: a directory that exists is left alone, and the
 * next name, with "-2", "-3" ... appended, is tried. Only its owner may read the directory.
 * Returns its path, which the caller frees, or NULL with errno and an error text.
 */
char *kl_record_make_folder(const char *prefix);

/**
 * kl_record_clear - make room for a trace
 * @path: must not exist, be empty, or contain a trace, which @force removes; must be a directory
 *        of the effective user, not a symbolic link
 * @force: remove the files of an existing trace, and only those
 *
 * Returns 0, or a negative errno with an error text: -EEXIST (there is a trace, and @force is
 * false), -ENOTEMPTY (there are other files), or as kl_trace_folder() does.
 */
int kl_record_clear(const char *path, bool force);

/**
 * kl_record_discard - remove a trace that is of no use
 * @path: of a trace that kl_recorder_create() made; its directory is removed, too, if nothing else
 *        is in it
 */
void kl_record_discard(const char *path);

/* ------------------------------------------------------------------- names */

struct kl_record_names;

/**
 * kl_record_names_create - prepare to name what a session's records refer to
 * @source: copied; `config` and `scope` are not used
 * @demangle: demangle C++ and Rust symbols of stack traces
 *
 * Nothing is read before it is needed. Returns NULL with errno ENOMEM.
 */
struct kl_record_names *kl_record_names_create(const struct kl_record_source *source,
					       bool demangle);

/**
 * kl_record_names_destroy - free, and print plain ids and addresses from now on
 * @names: or NULL
 */
void kl_record_names_destroy(struct kl_record_names *names);

/**
 * kl_record_names_has_stacks - do the session's records have stack traces?
 * @names: names
 */
bool kl_record_names_has_stacks(const struct kl_record_names *names);

/**
 * kl_record_names_prepare - load unwind tables before the session starts
 * @names: names
 * @pid: as of kl_stack_collector_prepare(); may be called for several processes
 * @program: as of kl_stack_collector_prepare()
 *
 * Returns 0 or a negative errno. May sleep.
 */
int kl_record_names_prepare(struct kl_record_names *names, pid_t pid, const char *program);

/**
 * kl_record_names_update - load unwind tables of files that have turned up in traces
 * @names: names
 *
 * As kl_stack_collector_update(); does nothing before kl_record_names_prepare().
 */
bool kl_record_names_update(struct kl_record_names *names);

/**
 * kl_record_names_takes_stacks - does the session take stack traces?
 * @names: names
 *
 * Unlike kl_record_names_has_stacks(), this includes those that are only keys of a table, and asks
 * the session, which must have its definitions.
 */
bool kl_record_names_takes_stacks(const struct kl_record_names *names);

/**
 * kl_record_names_collect - read the session's new stack traces, with symbol names
 * @names: names
 * @lines: also look up source lines, which may take seconds
 *
 * Returns how many there were, or a negative errno with an error text. May sleep.
 */
int kl_record_names_collect(struct kl_record_names *names, bool lines);

/**
 * kl_record_names_stacks - the stack traces read so far
 * @names: or NULL
 *
 * Returns NULL before kl_record_names_collect().
 */
struct kl_stacks *kl_record_names_stacks(const struct kl_record_names *names);

/**
 * kl_record_names_collector - pid of the process that reads files of programs for stack traces
 * @names: or NULL
 *
 * Returns 0 if there is none.
 */
pid_t kl_record_names_collector(const struct kl_record_names *names);

/**
 * kl_record_names_use_kernel - print kernel addresses with symbol names from now on
 * @names: names
 *
 * Does nothing if the caller may not see kernel addresses.
 */
void kl_record_names_use_kernel(struct kl_record_names *names);

/**
 * kl_record_names_addresses - the symbol names of kernel addresses
 * @names: or NULL
 *
 * Returns NULL before kl_record_names_use_kernel(), or if the caller may not see addresses.
 */
struct kl_addresses *kl_record_names_addresses(const struct kl_record_names *names);

/**
 * kl_record_names_save_stacks - store the session's stack traces in a trace
 * @names: names
 * @path: the trace, to which the blocks have already been written
 *
 * Returns 0, also if the session has none, or a negative errno with an error text.
 */
int kl_record_names_save_stacks(struct kl_record_names *names, const char *path);

/**
 * kl_record_names_save_addresses - store the symbol names of a trace's kernel addresses in it
 * @names: names
 * @path: the finished trace, in which addresses are searched for at most ten seconds
 *
 * Returns 1, also if there are no addresses or the caller may not see them; 0 if the time did not
 * suffice for all addresses; or a negative errno with an error text.
 */
int kl_record_names_save_addresses(struct kl_record_names *names, const char *path);

/* ---------------------------------------------------------------- recorder */

/**
 * enum kl_record_notice_kind - what happened to a trace that is being written
 * @KL_RECORD_UNSTORED: the first block could not be stored, for example because the disk is full:
 *                      from now on records are read and counted, not stored
 * @KL_RECORD_STUCK: the buffers can no longer be read; what was read before is stored
 * @KL_RECORD_UNREAD: a snapshot lacks the last records of a CPU that was held up while it wrote one
 * @KL_RECORD_MISSING: at the end, for each CPU: `loss` is what could not be stored
 * @KL_RECORD_UNNAMED: some kernel addresses have no symbol names: searching them took too long
 * @KL_RECORD_FAILED: something else could not be written; what can be written still is
 */
enum kl_record_notice_kind {
	KL_RECORD_UNSTORED,
	KL_RECORD_STUCK,
	KL_RECORD_UNREAD,
	KL_RECORD_MISSING,
	KL_RECORD_UNNAMED,
	KL_RECORD_FAILED,
};

/**
 * struct kl_record_notice - a notice
 * @kind: what happened; kl_error_text() says why if @error is set
 * @path: the trace: the recorder's, or that of a snapshot
 * @error: negative errno, or 0
 * @loss: of KL_RECORD_MISSING, else NULL
 */
struct kl_record_notice {
	enum kl_record_notice_kind kind;
	const char *path;
	int error;
	const struct kl_loss *loss;
};

/**
 * struct kl_recorder_params - how to record
 * @path: trace directory: see kl_record_clear()
 * @force: replace a trace in it
 * @names: where stack traces and names come from; NULL: the recorder makes its own
 * @snapshots: maximum number of snapshots; they have @path plus ".1", ".2" ...
 * @notify: called with each notice, from within the calls of the recorder; or NULL
 * @context: first argument of @notify
 * @compress: level of zstd, 1 to 19, that the streams are compressed with; 0: not compressed.
 *            Blocks then stay in memory for up to a second before they are written
 */
struct kl_recorder_params {
	const char *path;
	bool force;
	struct kl_record_names *names;
	uint64_t snapshots;
	void (*notify)(void *context, const struct kl_record_notice *notice);
	void *context;
	int compress;
};

/**
 * struct kl_recorder_counts - what has been read and written so far
 * @read: what the reader has read, missed and lost
 * @bytes: size of the trace's streams
 * @unstored: records that were read but could not be stored
 * @error: negative errno of the first block that was not stored; no later one is stored, either
 */
struct kl_recorder_counts {
	struct kl_reader_counts read;
	uint64_t bytes;
	uint64_t unstored;
	int error;
};

/**
 * struct kl_snapshot_counts - what became of requests for snapshots
 * @written: snapshots
 * @merged: requests coalesced into one that had not been begun
 * @beyond: requests after the last snapshot allowed, or after a failure
 * @failed: snapshots that could not be written
 */
struct kl_snapshot_counts {
	uint64_t written;
	uint64_t merged;
	uint64_t beyond;
	uint64_t failed;
};

struct kl_recorder;

/**
 * kl_recorder_create - create the trace of a session that has not been started
 * @source: copied
 * @params: copied
 *
 * Returns NULL with errno and an error text: as kl_record_clear(), kl_device_time() and
 * kl_trace_create() do.
 */
struct kl_recorder *kl_recorder_create(const struct kl_record_source *source,
				       const struct kl_recorder_params *params);

/**
 * kl_recorder_attach - start to read the buffers, before the session is started
 * @recorder: recorder; in overwrite mode this does nothing: the buffers are read at the end
 *
 * The session keeps blocks until the recorder has read them. Returns 0 or a negative errno with an
 * error text.
 */
int kl_recorder_attach(struct kl_recorder *recorder);

/**
 * kl_recorder_began - note in the trace when the session started
 * @recorder: recorder of a session that has been started
 *
 * Without this call, kl_recorder_finish() removes the trace. Returns 0 or a negative errno with an
 * error text; the recording can continue.
 */
int kl_recorder_began(struct kl_recorder *recorder);

/**
 * kl_recorder_fd - descriptor to poll for complete blocks
 * @recorder: recorder
 *
 * Returns -1 if nothing is being read: in overwrite mode before the end, and after
 * KL_RECORD_STUCK.
 */
int kl_recorder_fd(const struct kl_recorder *recorder);

/**
 * kl_recorder_drain - store the blocks that are complete
 * @recorder: recorder
 *
 * Does not wait. Blocks that cannot be stored are still read and counted. Returns 0, or a negative
 * errno with an error text if the buffers can no longer be read.
 */
int kl_recorder_drain(struct kl_recorder *recorder);

/**
 * kl_recorder_save_stacks - store the stack traces so far, without source lines
 * @recorder: recorder of a running session
 *
 * For long recordings: the program may be killed, or a module unloaded whose functions the traces
 * contain. A flight recorder also stores them in the session, for kernlens-extract(1) after a
 * crash, unless its user's limit of memory is reached. Returns 0, or a negative errno with an error
 * text if the traces cannot be read.
 */
int kl_recorder_save_stacks(struct kl_recorder *recorder);

/**
 * kl_recorder_clear_snapshots - make room for all snapshots that may be written
 * @recorder: recorder
 * @force: remove traces of earlier snapshots; otherwise they are an error
 *
 * Without this call, a path that is in the way is an error when the snapshot is written. Returns
 * as kl_record_clear() does.
 */
int kl_recorder_clear_snapshots(struct kl_recorder *recorder, bool force);

/**
 * kl_recorder_take_snapshots - write a snapshot if one was requested since the last call
 * @recorder: recorder of a session in overwrite mode, which continues in the meantime
 * @requests: `snapshots` of struct kl_abi_stats
 *
 * A snapshot is a copy of the buffers, a trace of its own. Failures are notices; after the first,
 * no more snapshots are written. May sleep.
 */
void kl_recorder_take_snapshots(struct kl_recorder *recorder, uint64_t requests);

/**
 * kl_recorder_ended - store what is left, the totals and the stack traces
 * @recorder: recorder of a session that has been stopped
 *
 * All failures are notices. Returns 0 if the blocks and stack traces are stored, or the negative
 * errno of the first failure.
 */
int kl_recorder_ended(struct kl_recorder *recorder);

/**
 * kl_recorder_finish - fit the clock, close the trace, and name its kernel addresses
 * @recorder: recorder, also after any failure
 *
 * If the session has not been started, the trace is removed. Failures are notices. Returns 0 or
 * the negative errno of the first.
 */
int kl_recorder_finish(struct kl_recorder *recorder);

/**
 * kl_recorder_destroy - free, and finish the trace if it has not been
 * @recorder: or NULL
 */
void kl_recorder_destroy(struct kl_recorder *recorder);

/**
 * kl_recorder_counts - what has been read and written so far
 * @recorder: recorder, also after kl_recorder_finish()
 */
const struct kl_recorder_counts *kl_recorder_counts(const struct kl_recorder *recorder);

/**
 * kl_recorder_snapshots - what became of requests for snapshots
 * @recorder: recorder, also after kl_recorder_finish()
 */
const struct kl_snapshot_counts *kl_recorder_snapshots(const struct kl_recorder *recorder);

KL_PUBLIC_END

#endif /* KERNLENS_RECORD_H */
