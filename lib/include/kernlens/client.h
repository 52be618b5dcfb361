/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device /dev/kernlens. A device handle queries the module; a session handle controls one
 * session, either as its creator or attached to it. All calls that reach the module may sleep. On
 * failure, kl_error_text() contains the module's own explanation if it gave one.
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
 * kl_device_open - open the device and check that the module matches this library
 * @path: or NULL: KL_DEVICE_PATH
 *
 * Returns NULL with errno: ENOENT (module not loaded), EACCES, EPROTO (the module has another ABI
 * version or schema), ENOMEM, or the error from open(2).
 */
struct kl_device *kl_device_open(const char *path);

/**
 * kl_device_close - close and free
 * @device: or NULL
 */
void kl_device_close(struct kl_device *device);

/**
 * kl_device_info - properties of the module, as read when the device was opened
 * @device: device
 */
const struct kl_abi_info *kl_device_info(const struct kl_device *device);

/**
 * kl_device_time - read all clocks at one instant
 * @device: device
 * @time: filled in
 *
 * Returns 0 or a negative errno.
 */
int kl_device_time(struct kl_device *device, struct kl_abi_time *time);

/**
 * kl_device_event - is an event available?
 * @device: device
 * @id: KL_EV_*
 * @info: filled in: whether it is available, else why not, and how many sessions use it
 *
 * Returns 0 or a negative errno.
 */
int kl_device_event(struct kl_device *device, uint32_t id, struct kl_abi_event_info *info);

/**
 * kl_device_variable - is a variable available?
 * @device: device
 * @id: of variables.def
 * @info: filled in: whether it is available, else why not
 *
 * Returns 0 or a negative errno.
 */
int kl_device_variable(struct kl_device *device, uint32_t id, struct kl_abi_variable_info *info);

/**
 * kl_device_handler - a handler that another kernel module has registered
 * @device: device
 * @index: from 0
 * @info: filled in: its name, its capabilities, whether the caller may use it
 *
 * Returns 0, -ENOENT after the last, or another negative errno.
 */
int kl_device_handler(struct kl_device *device, uint32_t index, struct kl_abi_handler_info *info);

/**
 * kl_device_status - a session in the list of all sessions that the caller may see
 * @device: device
 * @index: from 0
 * @status: filled in
 *
 * Returns 0, -ENOENT after the last, or another negative errno.
 */
int kl_device_status(struct kl_device *device, uint32_t index, struct kl_abi_status *status);

/**
 * kl_device_limits - resource usage and limits of a user, or of all users
 * @device: device
 * @index: from 0; an ordinary user sees one account, its own
 * @limits: filled in
 *
 * Returns 0, -ENOENT after the last, or another negative errno.
 */
int kl_device_limits(struct kl_device *device, uint32_t index, struct kl_abi_limits *limits);

/**
 * kl_limit_name - name of a limited resource
 * @limit: enum kl_limit
 *
 * Returns one word, or NULL for an unknown number.
 */
const char *kl_limit_name(uint32_t limit);

/**
 * kl_device_find - find a session by name or id
 * @device: device
 * @name: its name, or its id in decimal
 * @status: filled in
 *
 * Returns 0, -ENOENT with an error text if there is none, or another negative errno.
 */
int kl_device_find(struct kl_device *device, const char *name, struct kl_abi_status *status);

/**
 * kl_session_create - create a session
 * @device: device to create it on; may be closed afterwards
 * @config: mode, sizes and name; the id and uuid are filled in. @config->size is set by this
 *          function
 *
 * The session ends when its last handle and its last reader are closed. Returns NULL with errno,
 * such as EDQUOT or ENOMEM.
 */
struct kl_session *kl_session_create(struct kl_device *device, struct kl_abi_session *config);

/**
 * kl_session_attach - get a handle to an existing session
 * @device: device to attach through; may be closed afterwards
 * @attach: the session's id; its mode, block size (bytes) and uuid are filled in
 *
 * Returns NULL with errno, such as ENOENT or EPERM.
 */
struct kl_session *kl_session_attach(struct kl_device *device, struct kl_abi_attach *attach);

/**
 * kl_session_close - close and free the handle
 * @session: or NULL
 */
void kl_session_close(struct kl_session *session);

/**
 * kl_session_id - id of the session
 * @session: session
 */
uint32_t kl_session_id(const struct kl_session *session);

/**
 * kl_session_block_bytes - size of the session's blocks, in bytes
 * @session: session
 */
size_t kl_session_block_bytes(const struct kl_session *session);

/**
 * kl_session_write_maskset - set the handlers of a maskset
 * @session: session
 * @id: KL_MASKSET_FIRST_USER and up
 * @name: at most KL_NAME_MAX - 1 bytes
 * @map: from kl_events_match()
 *
 * A maskset that is in use changes atomically. Returns 0 or a negative errno.
 */
int kl_session_write_maskset(struct kl_session *session, uint32_t id, const char *name,
			     const uint8_t map[KL_EV_MAX]);

/**
 * kl_session_read_maskset - read a maskset
 * @session: session
 * @id: any
 * @maskset: filled in
 *
 * Returns 0, -ENOENT if it has not been written, or another negative errno.
 */
int kl_session_read_maskset(struct kl_session *session, uint32_t id,
			    struct kl_abi_maskset *maskset);

/**
 * kl_session_use_maskset - switch to a maskset
 * @session: session
 * @id: any that exists
 *
 * Returns 0, or a negative errno; the previous maskset then stays in use.
 */
int kl_session_use_maskset(struct kl_session *session, uint32_t id);

/**
 * kl_session_freeze - stop recording, and keep the contents of the buffers for readers
 * @session: running, possibly attached, if the caller is allowed to change it
 *
 * Takes effect at once, like the handler `freeze`. Returns 0 or a negative errno: -EPERM (the
 * caller may not change the session), -ENODATA (it is not running). May sleep.
 */
int kl_session_freeze(struct kl_session *session);

/**
 * kl_session_filter - select the tasks whose events are recorded
 * @session: session
 * @kind: enum kl_filter_kind
 * @uid: for KL_FILTER_UID
 *
 * Returns 0 or a negative errno.
 */
int kl_session_filter(struct kl_session *session, uint32_t kind, uid_t uid);

/**
 * kl_session_filter_cgroup - select the tasks of a cgroup, and of those below it
 * @session: session
 * @fd: descriptor of the cgroup's directory in a cgroup v2 hierarchy; may be closed afterwards
 *
 * An event is recorded if its task is in the cgroup at that moment, however it got there. Returns 0
 * or a negative errno: -EBADF (it is not such a directory), -ENOENT (the cgroup has been removed),
 * -EINVAL (it is too deep), -EOPNOTSUPP (the kernel was built without cgroups).
 */
int kl_session_filter_cgroup(struct kl_session *session, int fd);

/**
 * kl_session_tasks - add tasks to the filter, or remove them
 * @session: session
 * @pid: in the caller's pid namespace
 * @flags: KL_TASK_*
 *
 * Returns the number of tasks added or removed, or a negative errno such as -ESRCH or -EPERM.
 */
int kl_session_tasks(struct kl_session *session, pid_t pid, uint32_t flags);

/**
 * kl_session_variables - set which variables records carry in addition to the task
 * @session: session that has never been started
 * @variables: all of them, in order; the size is set by this function
 *
 * Add them to the schema in the same order with kl_schema_add_variable(). Returns 0, or a
 * negative errno; the session's variables are unchanged then.
 */
int kl_session_variables(struct kl_session *session, struct kl_abi_variables *variables);

/**
 * kl_session_start - start recording events
 * @session: session
 *
 * Returns 0 or a negative errno.
 */
int kl_session_start(struct kl_session *session);

/**
 * kl_session_stop - stop recording events, and complete the blocks that are being filled
 * @session: session
 *
 * Returns 0 or a negative errno.
 */
int kl_session_stop(struct kl_session *session);

/**
 * kl_session_resize - change the size of the buffers, also while the session runs
 * @session: session
 * @blocks: number of blocks per CPU
 *
 * Takes effect as the CPUs move on to new blocks. Returns 0 or a negative errno.
 */
int kl_session_resize(struct kl_session *session, uint32_t blocks);

/**
 * kl_session_stats - how much was written and lost
 * @session: session
 * @cpu: CPU number; -1: sums over all CPUs
 * @stats: filled in
 *
 * Also clears POLLPRI on this handle: see kl_session_fd(). Returns 0 or a negative errno.
 */
int kl_session_stats(struct kl_session *session, int cpu, struct kl_abi_stats *stats);

/**
 * kl_session_ask_snapshot - ask the session's recorder to copy its buffers
 * @session: running, in overwrite mode, possibly attached
 *
 * Works like the handler `snapshot`. Returns 0 or a negative errno: -EPERM (the caller may not
 * change the session), -EINVAL (discard mode), -ENODATA (it is not running).
 */
int kl_session_ask_snapshot(struct kl_session *session);

/**
 * kl_session_fd - the session's descriptor, for poll()
 * @session: session
 *
 * POLLPRI is set if, since the last kl_session_stats(), an alarm was raised, a snapshot was
 * requested or the session froze.
 */
int kl_session_fd(const struct kl_session *session);

/**
 * kl_session_alarms - read the alarms that the session's rules have raised
 * @session: session
 * @first: in: number of the first alarm to read; alarms are numbered from 1; out: number to
 *         continue with
 * @alarm: out: array of @n alarms
 * @n: capacity of @alarm
 * @missed: out: alarms skipped because they are no longer stored
 *
 * Returns the number of alarms read, or a negative errno.
 */
int kl_session_alarms(struct kl_session *session, uint64_t *first, struct kl_abi_alarm *alarm,
		      unsigned int n, uint64_t *missed);

/**
 * kl_session_counts - event counts of the handler `count`
 * @session: session
 * @counts: in: `dynamic` and `n_dynamic` describe an array for the counts of defined events, or
 *          are 0; the rest is filled in
 *
 * Returns 0 or a negative errno.
 */
int kl_session_counts(struct kl_session *session, struct kl_abi_counts *counts);

/**
 * kl_session_dump - record the state of the machine as events
 * @session: running session
 * @what: KL_DUMP_*
 * @records: out: number of records made; or NULL
 *
 * Returns 0 or a negative errno.
 */
int kl_session_dump(struct kl_session *session, uint32_t what, uint64_t *records);

/**
 * kl_session_reader - open a descriptor that reads the session's buffers
 * @session: session
 * @flags: KL_READER_HOLD, KL_READER_FROM_NOW
 *
 * Returns the descriptor, which the caller owns and usually passes to kl_reader_create(), or a
 * negative errno.
 */
int kl_session_reader(struct kl_session *session, uint32_t flags);

KL_PUBLIC_END

#endif /* KERNLENS_CLIENT_H */
