// SPDX-License-Identifier: GPL-2.0
/*
 * Wraps the ioctls of /dev/kernlens. Every struct starts with its size. When a call fails, the
 * module's own message is fetched and becomes the error text.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <kernlens/schema.h>
#include "../base/base.h"
#include "batch.h"
#include "client.h"

int kl_client_call(int fd, unsigned long request, void *argument, size_t size, const char *what)
{
	struct kl_abi_error words = { .size = sizeof(words) };
	uint32_t bytes = size;
	int error;

	if (argument)
		memcpy(argument, &bytes, sizeof(bytes));
	if (ioctl(fd, request, argument) >= 0)
		return 0;
	error = errno;
	if (ioctl(fd, KL_IOC_ERROR, &words) >= 0 && words.error == -error && words.text[0])
		return kl_fail(error, "cannot %s: %.*s", what, KL_ERROR_TEXT_MAX, words.text);
	return kl_fail_system(error, "cannot %s", what);
}

int kl_session_call(struct kl_session *session, unsigned long request, void *argument, size_t size,
		    const char *what)
{
	if (session->batch)
		return kl_batch_add(session->batch, request, argument, size);
	return kl_client_call(session->fd, request, argument, size, what);
}

static int fail_open(int error, const char *path)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return kl_fail(error,
			       "%s does not exist: the kernlens module is not loaded (modprobe "
			       "kernlens)",
			       path);
	case EACCES:
	case EPERM:
		return kl_fail(error,
			       "%s: permission denied: only root and members of the group "
			       "kernlens have access (usermod -aG kernlens USER)",
			       path);
	default:
		return kl_fail_system(error, "%s", path);
	}
}

static int check_version(const struct kl_abi_info *info)
{
	if (info->abi_version != KL_ABI_VERSION)
		return kl_fail(EPROTO,
			       "the loaded kernlens module has ABI version %u, this program has %u: "
			       "install the same release of both",
			       info->abi_version, KL_ABI_VERSION);
	if (info->schema_hash != kl_schema_hash())
		return kl_fail(EPROTO,
			       "the loaded kernlens module describes its events differently "
			       "(schema %016llx, this program %016llx): install the same release "
			       "of both",
			       (unsigned long long)info->schema_hash,
			       (unsigned long long)kl_schema_hash());
	return 0;
}

/* Open the device and check its version. */
static int open_checked(const char *path, struct kl_abi_info *info)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return fail_open(errno, path);
	ret = kl_client_call(fd, KL_IOC_INFO, info, sizeof(*info), "query the device");
	if (!ret)
		ret = check_version(info);
	if (ret) {
		close(fd);
		errno = -ret;
		return ret;
	}
	return fd;
}

struct kl_device *kl_device_open(const char *path)
{
	struct kl_device *device = calloc(1, sizeof(*device));

	if (!path)
		path = KL_DEVICE_PATH;
	if (device)
		device->path = strdup(path);
	if (!device || !device->path) {
		free(device);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	device->fd = open_checked(path, &device->info);
	if (device->fd < 0) {
		int error = -device->fd;

		free(device->path);
		free(device);
		errno = error;
		return NULL;
	}
	return device;
}

void kl_device_close(struct kl_device *device)
{
	if (!device)
		return;
	if (!device->is_offline)
		close(device->fd);
	free(device->path);
	free(device);
}

const struct kl_abi_info *kl_device_info(const struct kl_device *device)
{
	return &device->info;
}

int kl_device_time(struct kl_device *device, struct kl_abi_time *time)
{
	memset(time, 0, sizeof(*time));
	if (device->is_offline) {
		kl_batch_time(time);
		return 0;
	}
	return kl_client_call(device->fd, KL_IOC_TIME, time, sizeof(*time), "read the clocks");
}

int kl_device_event(struct kl_device *device, uint32_t id, struct kl_abi_event_info *info)
{
	*info = (struct kl_abi_event_info){ .id = id };
	return kl_client_call(device->fd, KL_IOC_EVENT_INFO, info, sizeof(*info), "query an event");
}

int kl_device_variable(struct kl_device *device, uint32_t id, struct kl_abi_variable_info *info)
{
	*info = (struct kl_abi_variable_info){ .id = id };
	return kl_client_call(device->fd, KL_IOC_VARIABLE_INFO, info, sizeof(*info),
			      "query a variable");
}

int kl_device_handler(struct kl_device *device, uint32_t index, struct kl_abi_handler_info *info)
{
	*info = (struct kl_abi_handler_info){ .index = index };
	return kl_client_call(device->fd, KL_IOC_HANDLER_INFO, info, sizeof(*info),
			      "query a handler");
}

int kl_device_status(struct kl_device *device, uint32_t index, struct kl_abi_status *status)
{
	*status = (struct kl_abi_status){ .index = index };
	return kl_client_call(device->fd, KL_IOC_STATUS, status, sizeof(*status),
			      "list the sessions");
}

int kl_device_limits(struct kl_device *device, uint32_t index, struct kl_abi_limits *limits)
{
	*limits = (struct kl_abi_limits){ .index = index };
	return kl_client_call(device->fd, KL_IOC_LIMITS, limits, sizeof(*limits),
			      "read the limits");
}

const char *kl_limit_name(uint32_t limit)
{
	static const char *const names[] = {
#define KL_LIMIT_ROW(id, name, help) [id] = #name,
#include "../../uapi/limits.def"
#undef KL_LIMIT_ROW
	};

	return limit < KL_LIMITS ? names[limit] : NULL;
}

int kl_device_find(struct kl_device *device, const char *name, struct kl_abi_status *status)
{
	struct kl_abi_status other;
	char *rest;
	unsigned long id = strtoul(name, &rest, 10);
	unsigned int found = 0;
	int ret;

	for (uint32_t index = 0; !(ret = kl_device_status(device, index, &other)); index++) {
		bool numbered = *name && !*rest && other.id == id;

		if (!numbered && (!*name || strncmp(other.name, name, KL_NAME_MAX)))
			continue;
		*status = other;
		if (numbered)
			return 0;
		found++;
	}
	if (ret != -ENOENT)
		return ret;
	if (found > 1)
		return kl_fail(ENOTUNIQ,
			       "%u sessions are named '%s': use the number (kernlens status)",
			       found, name);
	return found ? 0 :
		       kl_fail(ENOENT, "unknown session '%s' (kernlens status lists them)", name);
}

/* Get a descriptor, or a batch, which @request associates with a session. */
static int open_session(struct kl_session *session, const struct kl_device *device,
			unsigned long request, void *argument, size_t size, const char *what)
{
	struct kl_abi_info info = { 0 };

	if (device->is_offline) {
		session->batch = kl_batch_create();
		if (!session->batch)
			return -ENOMEM;
	} else {
		session->fd = open_checked(device->path, &info);
		if (session->fd < 0)
			return session->fd;
	}
	return kl_session_call(session, request, argument, size, what);
}

static struct kl_session *new_session(struct kl_device *device, unsigned long request,
				      void *argument, size_t size, const char *what)
{
	struct kl_session *session = calloc(1, sizeof(*session));
	int ret;

	if (!session) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	session->fd = -1;
	ret = open_session(session, device, request, argument, size, what);
	if (!ret)
		return session;
	kl_session_close(session);
	errno = -ret;
	return NULL;
}

struct kl_session *kl_session_create(struct kl_device *device, struct kl_abi_session *config)
{
	struct kl_session *session =
		new_session(device, KL_IOC_SESSION, config, sizeof(*config), "create the session");

	if (!session)
		return NULL;
	session->id = config->id;
	session->block_bytes = config->block_bytes;
	return session;
}

struct kl_session *kl_session_attach(struct kl_device *device, struct kl_abi_attach *attach)
{
	struct kl_session *session = new_session(device, KL_IOC_ATTACH, attach, sizeof(*attach),
						 "attach to the session");

	if (!session)
		return NULL;
	session->id = attach->id;
	session->block_bytes = attach->block_bytes;
	return session;
}

void kl_session_close(struct kl_session *session)
{
	if (!session)
		return;
	kl_batch_destroy(session->batch);
	if (session->fd >= 0)
		close(session->fd);
	free(session);
}

uint32_t kl_session_id(const struct kl_session *session)
{
	return session->id;
}

size_t kl_session_block_bytes(const struct kl_session *session)
{
	return session->block_bytes;
}

int kl_session_read_maskset(struct kl_session *session, uint32_t id, struct kl_abi_maskset *maskset)
{
	memset(maskset, 0, sizeof(*maskset));
	maskset->id = id;
	return kl_client_call(session->fd, KL_IOC_MASKSET_READ, maskset, sizeof(*maskset),
			      "read the maskset");
}

int kl_session_use_maskset(struct kl_session *session, uint32_t id)
{
	struct kl_abi_use use = { .maskset = id };

	return kl_session_call(session, KL_IOC_MASKSET_USE, &use, sizeof(use), "use the maskset");
}

int kl_session_freeze(struct kl_session *session)
{
	return kl_client_call(session->fd, KL_IOC_FREEZE, NULL, 0, "freeze the session");
}

int kl_session_filter(struct kl_session *session, uint32_t kind, uid_t uid)
{
	struct kl_abi_filter filter = { .kind = kind, .uid = uid };

	return kl_client_call(session->fd, KL_IOC_FILTER, &filter, sizeof(filter),
			      "set the filter");
}

int kl_session_filter_cgroup(struct kl_session *session, int fd)
{
	struct kl_abi_filter filter = { .kind = KL_FILTER_CGROUP, .fd = fd };

	return kl_client_call(session->fd, KL_IOC_FILTER, &filter, sizeof(filter),
			      "set the filter");
}

int kl_session_tasks(struct kl_session *session, pid_t pid, uint32_t flags)
{
	struct kl_abi_tasks tasks = { .pid = pid, .flags = flags };
	int ret = kl_client_call(session->fd, KL_IOC_TASKS, &tasks, sizeof(tasks),
				 "change the filter's tasks");

	return ret ? ret : (int)tasks.count;
}

int kl_session_variables(struct kl_session *session, struct kl_abi_variables *variables)
{
	return kl_session_call(session, KL_IOC_VARIABLES, variables, sizeof(*variables),
			       "set the variables");
}

int kl_session_start(struct kl_session *session)
{
	return kl_session_call(session, KL_IOC_START, NULL, 0, "start the session");
}

int kl_session_stop(struct kl_session *session)
{
	return kl_client_call(session->fd, KL_IOC_STOP, NULL, 0, "stop the session");
}

int kl_session_ask_snapshot(struct kl_session *session)
{
	return kl_client_call(session->fd, KL_IOC_SNAPSHOT, NULL, 0, "request a snapshot");
}

int kl_session_resize(struct kl_session *session, uint32_t blocks)
{
	struct kl_abi_resize resize = { .blocks = blocks };

	return kl_client_call(session->fd, KL_IOC_RESIZE, &resize, sizeof(resize),
			      "resize the buffers");
}

int kl_session_stats(struct kl_session *session, int cpu, struct kl_abi_stats *stats)
{
	*stats = (struct kl_abi_stats){ .cpu = cpu };
	return kl_client_call(session->fd, KL_IOC_STATS, stats, sizeof(*stats),
			      "read the statistics");
}

int kl_session_fd(const struct kl_session *session)
{
	return session->fd;
}

int kl_session_alarms(struct kl_session *session, uint64_t *first, struct kl_abi_alarm *alarm,
		      unsigned int n, uint64_t *missed)
{
	struct kl_abi_alarms call = {
		.n = n,
		.first = *first,
		.alarm = (uintptr_t)alarm,
	};
	int ret =
		kl_client_call(session->fd, KL_IOC_ALARMS, &call, sizeof(call), "read the alarms");

	if (ret < 0)
		return ret;
	*first = call.first;
	*missed = call.missed;
	return (int)call.n;
}

int kl_session_counts(struct kl_session *session, struct kl_abi_counts *counts)
{
	memset(counts->count, 0, sizeof(counts->count));
	return kl_client_call(session->fd, KL_IOC_COUNTS, counts, sizeof(*counts),
			      "read the counts");
}

int kl_session_dump(struct kl_session *session, uint32_t what, uint64_t *records)
{
	struct kl_abi_dump dump = { .what = what };
	int ret = kl_client_call(session->fd, KL_IOC_DUMP, &dump, sizeof(dump),
				 "dump the system's state");

	if (!ret && records)
		*records = dump.records;
	return ret;
}

int kl_session_reader(struct kl_session *session, uint32_t flags)
{
	struct kl_abi_reader reader = { .flags = flags, .fd = -1 };
	int ret = kl_client_call(session->fd, KL_IOC_READER, &reader, sizeof(reader),
				 "create a reader");

	return ret ? ret : reader.fd;
}
