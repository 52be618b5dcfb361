/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device /dev/kernlens. A device handle asks about the module; a session
 * handle is one session's owner, or another's who attached to it. All calls
 * may sleep; on failure kl_error_text() has the module's own words if it gave
 * any.
 */
#ifndef KERNLENS_CLIENT_H
#define KERNLENS_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <kernlens/abi.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

struct kl_device;
struct kl_session;

/**
 * kl_device_open - open the device and check that it speaks our language
 * @path: or NULL: KL_DEVICE_PATH
 *
 * Returns NULL with errno: ENOENT (module not loaded), EACCES, EPROTO
 * (another ABI version or schema), or what open said.
 */
struct kl_device *kl_device_open(const char *path);

/**
 * kl_device_close - close and free
 * @device: or NULL
 */
void kl_device_close(struct kl_device *device);

/**
 * kl_device_info - what the module said when it was opened
 * @device: device
 */
const struct kl_abi_info *kl_device_info(const struct kl_device *device);

/**
 * kl_device_time - one instant on all clocks
 * @device: device
 * @time: filled in
 *
 * Returns a negative errno on failure.
 */
int kl_device_time(struct kl_device *device, struct kl_abi_time *time);

/**
 * kl_device_event - can an event be had here?
 * @device: device
 * @id: KL_EV_*
 * @info: filled in: why not, and by how many sessions it is used
 *
 * Returns a negative errno on failure.
 */
int kl_device_event(struct kl_device *device, uint32_t id, struct kl_abi_event_info *info);

/**
 * kl_device_variable - can a variable be had here?
 * @device: device
 * @id: of variables.def
 * @info: filled in: why not
 *
 * Returns a negative errno on failure.
 */
int kl_device_variable(struct kl_device *device, uint32_t id, struct kl_abi_variable_info *info);

/**
 * kl_device_handler - one of the handlers that other kernel modules have added
 * @device: device
 * @index: from 0
 * @info: filled in: its name, what it can do, whether it may be used
 *
 * Returns -ENOENT after the last.
 */
int kl_device_handler(struct kl_device *device, uint32_t index, struct kl_abi_handler_info *info);

/**
 * kl_device_status - one session in the list of all that may be seen
 * @device: device
 * @index: from 0
 * @status: filled in
 *
 * Returns -ENOENT after the last.
 */
int kl_device_status(struct kl_device *device, uint32_t index, struct kl_abi_status *status);

/**
 * kl_device_limits - what a user, or all users, take and may take
 * @device: device
 * @index: from 0 on; an ordinary user has one account, its own
 * @limits: filled in
 *
 * Returns 0, -ENOENT after the last, or another negative errno.
 */
int kl_device_limits(struct kl_device *device, uint32_t index, struct kl_abi_limits *limits);

/**
 * kl_limit_name - what a limit is on
 * @limit: enum kl_limit
 *
 * Returns a word, or NULL for a number that is not known.
 */
const char *kl_limit_name(uint32_t limit);

/**
 * kl_device_find - a session by name or number
 * @device: device
 * @name: its name, or its id in decimal
 * @status: filled in
 *
 * Returns -ENOENT with an error text if there is none.
 */
int kl_device_find(struct kl_device *device, const char *name, struct kl_abi_status *status);

/**
 * kl_session_create - make a session
 * @device: what to make it on; may be closed afterwards
 * @config: mode, sizes and name; id and uuid are filled in. @config->size is
 *          set by this function
 *
 * It ends when the last handle and reader of it are closed. Returns NULL with
 * errno, such as EDQUOT or ENOMEM.
 */
struct kl_session *kl_session_create(struct kl_device *device, struct kl_abi_session *config);

/**
 * kl_session_attach - get a handle to a session that exists
 * @device: what to attach through; may be closed afterwards
 * @attach: the session's id; its mode, block size (bytes) and uuid are filled in
 *
 * Returns NULL with errno: ENOENT, EPERM.
 */
struct kl_session *kl_session_attach(struct kl_device *device, struct kl_abi_attach *attach);

/**
 * kl_session_close - close and free the handle
 * @session: or NULL
 */
void kl_session_close(struct kl_session *session);

/**
 * kl_session_id - the session's number
 * @session: session
 */
uint32_t kl_session_id(const struct kl_session *session);

/**
 * kl_session_block_bytes - size of the session's blocks
 * @session: session
 */
size_t kl_session_block_bytes(const struct kl_session *session);

/**
 * kl_session_write_maskset - set a maskset's handlers
 * @session: session
 * @id: KL_MASKSET_FIRST_USER and up
 * @name: at most KL_NAME_MAX - 1 bytes
 * @map: from kl_events_match()
 *
 * If the maskset is in use it changes atomically. Returns a negative errno.
 */
int kl_session_write_maskset(struct kl_session *session, uint32_t id, const char *name,
			     const uint8_t map[KL_EV_MAX]);

/**
 * kl_session_read_maskset - what is in a maskset
 * @session: session
 * @id: any
 * @maskset: filled in
 *
 * Returns -ENOENT if it has not been written.
 */
int kl_session_read_maskset(struct kl_session *session, uint32_t id,
			    struct kl_abi_maskset *maskset);

/**
 * kl_session_use_maskset - switch to a maskset
 * @session: session
 * @id: any that exists
 *
 * Returns a negative errno; the old one then stays in use.
 */
int kl_session_use_maskset(struct kl_session *session, uint32_t id);

/**
 * kl_session_freeze - stop recording; what is in the buffers stays for readers
 * @session: running; also one that was attached to, if it may be changed
 *
 * As the handler `freeze` does, at once. Returns a negative errno: -EPERM if the session
 * may not be changed, -ENODATA if it does not run. May sleep.
 */
int kl_session_freeze(struct kl_session *session);

/**
 * kl_session_filter - whose events are wanted
 * @session: session
 * @kind: enum kl_filter_kind
 * @uid: for KL_FILTER_UID
 *
 * Returns a negative errno.
 */
int kl_session_filter(struct kl_session *session, uint32_t kind, uid_t uid);

/**
 * kl_session_tasks - add tasks to the filter, or take them out
 * @session: session
 * @pid: in this process' pid namespace
 * @flags: KL_TASK_*
 *
 * Returns how many tasks, or -ESRCH, -EPERM ...
 */
int kl_session_tasks(struct kl_session *session, pid_t pid, uint32_t flags);

/**
 * kl_session_variables - which variables records carry beside the task
 * @session: session that has never been started
 * @variables: all of them, in order; its size is set by this function
 *
 * Give them to the schema in the same order: kl_schema_add_variable(). Returns a
 * negative errno; then it is as before.
 */
int kl_session_variables(struct kl_session *session, struct kl_abi_variables *variables);

/**
 * kl_session_start - let events be recorded
 * @session: session
 *
 * Returns a negative errno.
 */
int kl_session_start(struct kl_session *session);

/**
 * kl_session_stop - no more events; blocks being filled are completed
 * @session: session
 *
 * Returns a negative errno.
 */
int kl_session_stop(struct kl_session *session);

/**
 * kl_session_resize - change the buffers while tracing runs
 * @session: session
 * @blocks: a CPU
 *
 * Returns a negative errno. Takes effect as blocks turn over.
 */
int kl_session_resize(struct kl_session *session, uint32_t blocks);

/**
 * kl_session_stats - how much was written and lost
 * @session: session
 * @cpu: or -1: sums
 * @stats: filled in
 *
 * Returns a negative errno.
 */
int kl_session_stats(struct kl_session *session, int cpu, struct kl_abi_stats *stats);

/**
 * kl_session_ask_snapshot - have whoever records the session copy its buffers
 * @session: running, in overwrite mode; also one that was attached to
 *
 * As the handler `snapshot`. Returns a negative errno: -EPERM if the session may not be
 * changed, -EINVAL if it is in discard mode, -ENODATA if it does not run.
 */
int kl_session_ask_snapshot(struct kl_session *session);

/**
 * kl_session_fd - the session's descriptor, to poll() together with others
 * @session: session
 *
 * POLLPRI: since kl_session_stats() was last called an alarm has been sounded, a
 * snapshot asked for, or the session has frozen.
 */
int kl_session_fd(const struct kl_session *session);

/**
 * kl_session_alarms - alarms that the session's rules have sounded
 * @session: session
 * @first: in: from this number on, of the first alarm 1; out: the next to ask for
 * @alarm: room
 * @n: for so many
 * @missed: out: how many between are not kept any more
 *
 * Returns how many there were, or a negative errno.
 */
int kl_session_alarms(struct kl_session *session, uint64_t *first, struct kl_abi_alarm *alarm,
		      unsigned int n, uint64_t *missed);

/**
 * kl_session_counts - how often events with the handler `count` fired
 * @session: session
 * @counts: `dynamic` and `n_dynamic` are room for those of defined events, or 0;
 *          the rest is filled in
 *
 * Returns a negative errno.
 */
int kl_session_counts(struct kl_session *session, struct kl_abi_counts *counts);

/**
 * kl_session_dump - record the machine's state as events
 * @session: running session
 * @what: KL_DUMP_*
 * @records: how many records were made; may be NULL
 *
 * Returns a negative errno.
 */
int kl_session_dump(struct kl_session *session, uint32_t what, uint64_t *records);

/**
 * kl_session_reader - a descriptor to read the session's buffers
 * @session: session
 * @flags: KL_READER_HOLD, KL_READER_FROM_NOW
 *
 * Returns the descriptor, which the caller owns, or a negative errno. Give it
 * to kl_reader_create().
 */
int kl_session_reader(struct kl_session *session, uint32_t flags);

KL_PUBLIC_END

#endif /* KERNLENS_CLIENT_H */
