// SPDX-License-Identifier: GPL-2.0
/*
 * Sets parameters of processes with the kernel's calls, between the two steps by which the module
 * records the change as an event. Also has the hints for failures.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kernlens/cgroup.h>
#include <kernlens/set.h>
#include "../base/base.h"
#include "client.h"

#define IOPRIO_WHO_PROCESS 1
#define FLAG_RESET_ON_FORK 1

/* The first version of the kernel's struct sched_attr, which all kernels accept. */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

/* ------------------------------------------------------------- system calls */

static int set_nice(int32_t id, const struct kl_setting *s, int fd)
{
	return setpriority(PRIO_PROCESS, (id_t)id, s->number);
}

/* sched_setattr() only for deadlines, because it would set the nice value, too. */
static int set_policy(int32_t id, const struct kl_setting *s, int fd)
{
	struct sched_param param = { .sched_priority = (int)s->policy.priority };
	struct attributes attributes = {
		.size = sizeof(attributes),
		.policy = s->policy.number,
		.flags = s->policy.reset_on_fork ? FLAG_RESET_ON_FORK : 0,
		.priority = s->policy.priority,
		.runtime = s->policy.runtime_ns,
		.deadline = s->policy.deadline_ns,
		.period = s->policy.period_ns,
	};
	int policy = (int)s->policy.number;

	if (s->policy.runtime_ns || s->policy.deadline_ns || s->policy.period_ns)
		return (int)syscall(SYS_sched_setattr, id, &attributes, 0);
	if (s->policy.reset_on_fork)
		policy |= SCHED_RESET_ON_FORK;
	return sched_setscheduler(id, policy, &param);
}

static int set_priority(int32_t id, const struct kl_setting *s, int fd)
{
	struct sched_param param = { .sched_priority = s->number };

	return sched_setparam(id, &param);
}

static int set_affinity(int32_t id, const struct kl_setting *s, int fd)
{
	return (int)syscall(SYS_sched_setaffinity, id, sizeof(s->cpus), s->cpus);
}

static int set_ioprio(int32_t id, const struct kl_setting *s, int fd)
{
	return (int)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, id, s->ioprio);
}

static int set_limit(int32_t id, const struct kl_setting *s, int fd)
{
	__rlimit_resource_t resource = s->what - KL_SET_LIMIT;
	struct rlimit limit = { s->limit.soft, s->limit.hard }, now;

	if (!s->limit.has_soft || !s->limit.has_hard) {
		if (prlimit(id, resource, NULL, &now))
			return -1;
		if (!s->limit.has_soft)
			limit.rlim_cur = now.rlim_cur;
		if (!s->limit.has_hard)
			limit.rlim_max = now.rlim_max;
	}
	return prlimit(id, resource, &limit, NULL);
}

/* Write in a single call, as these files require. */
static int write_number(int fd, long long number)
{
	char text[32];

	return write(fd, text, (size_t)snprintf(text, sizeof(text), "%lld", number)) < 0 ? -1 : 0;
}

static int set_oom_score_adj(int32_t id, const struct kl_setting *s, int fd)
{
	return write_number(fd, s->number);
}

static int set_timer_slack(int32_t id, const struct kl_setting *s, int fd)
{
	return write_number(fd, (long long)s->slack_ns);
}

static int set_cgroup(int32_t id, const struct kl_setting *s, int fd)
{
	return write_number(fd, id);
}

static int (*const setters[])(int32_t id, const struct kl_setting *s, int fd) = {
	[KL_SET_NICE] = set_nice,
	[KL_SET_POLICY] = set_policy,
	[KL_SET_PRIORITY] = set_priority,
	[KL_SET_AFFINITY] = set_affinity,
	[KL_SET_IOPRIO] = set_ioprio,
	[KL_SET_OOM_SCORE_ADJ] = set_oom_score_adj,
	[KL_SET_TIMER_SLACK] = set_timer_slack,
	[KL_SET_CGROUP] = set_cgroup,
	[KL_SET_LIMIT... KL_SET_LIMIT + RLIM_NLIMITS - 1] = set_limit,
};

/* ---------------------------------------------------------------- the files */

static int open_of_process(int32_t id, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", id, name);
	return open(path, O_WRONLY | O_CLOEXEC);
}

/* Open a cgroup's process list. */
static int open_of_cgroup(const char *cgroup)
{
	int dir = kl_cgroup_open(cgroup), fd, error;

	if (dir < 0)
		return -1;
	fd = openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	error = errno;
	close(dir);
	errno = error;
	return fd;
}

/*
 * Open the file before the module gets hold of the task. A process's file stays with that process:
 * if it is not the intended one, then that one has exited by now, and writing fails. Returns false
 * with errno; @fd is -1 if no file is needed.
 */
static bool open_file(int32_t id, const struct kl_setting *s, int *fd)
{
	*fd = -1;
	switch (s->what) {
	case KL_SET_OOM_SCORE_ADJ:
		*fd = open_of_process(id, "oom_score_adj");
		break;
	case KL_SET_TIMER_SLACK:
		*fd = open_of_process(id, "timerslack_ns");
		break;
	case KL_SET_CGROUP:
		*fd = open_of_cgroup(s->cgroup);
		break;
	default:
		return true;
	}
	/* No such process: use the same error as the system calls. */
	if (*fd < 0 && errno == ENOENT && s->what != KL_SET_CGROUP)
		errno = ESRCH;
	return *fd >= 0;
}

/* --------------------------------------------------------------------- hints */

static const struct {
	uint32_t what;
	int error;
	const char *hint;
} hints[] = {
	{ KL_SET_NICE, EACCES, "lowering it requires CAP_SYS_NICE or a suitable limit.nice" },
	{ KL_SET_POLICY, EPERM,
	  "for other users' processes, or real-time beyond limit.rtprio, "
	  "CAP_SYS_NICE is required" },
	{ KL_SET_POLICY, EINVAL,
	  "fifo and rr require a priority from 1 to 99, deadline requires times, the others "
	  "take neither" },
	{ KL_SET_POLICY, EBUSY, "existing deadline tasks leave too little CPU time for it" },
	{ KL_SET_PRIORITY, EPERM,
	  "for other users' processes, or beyond limit.rtprio, CAP_SYS_NICE is required" },
	{ KL_SET_PRIORITY, EINVAL, "its policy does not allow this priority" },
	{ KL_SET_AFFINITY, EINVAL, "none of these CPUs is available to it, or it cannot be moved" },
	{ KL_SET_IOPRIO, EPERM,
	  "for other users' processes, or class realtime, CAP_SYS_NICE is required" },
	{ KL_SET_IOPRIO, EINVAL, "levels range from 0 to 7" },
	{ KL_SET_OOM_SCORE_ADJ, EACCES,
	  "it must be your own process; lowering the value below an earlier one requires "
	  "CAP_SYS_RESOURCE" },
	{ KL_SET_OOM_SCORE_ADJ, EINVAL, "the range is -1000 to 1000" },
	{ KL_SET_TIMER_SLACK, EPERM, "for another process, CAP_SYS_NICE is required" },
	{ KL_SET_CGROUP, ENODEV, "no cgroup v2 hierarchy is mounted" },
	{ KL_SET_CGROUP, ENOENT, "no such cgroup" },
	{ KL_SET_CGROUP, EBUSY,
	  "the cgroup enables controllers for its children, so it cannot contain processes" },
	{ KL_SET_CGROUP, EOPNOTSUPP, "it is a threaded cgroup, or below one" },
};

static const char *find_hint(uint32_t what, int error)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(hints); i++)
		if (hints[i].what == what && hints[i].error == error)
			return hints[i].hint;
	if (what >= KL_SET_LIMIT && error == EPERM)
		return "for other users' processes, or above the hard limit, CAP_SYS_RESOURCE "
		       "is required";
	if (what >= KL_SET_LIMIT && error == EINVAL)
		return "the soft limit exceeds the hard limit";
	return NULL;
}

static int fail_to_set(int32_t id, const struct kl_setting *s, int error)
{
	const char *hint = find_hint(s->what, error);

	if (!hint)
		return kl_fail_system(error, "cannot set %s of %d to %s", kl_setting_name(s->what),
				      id, s->asked);
	return kl_fail(error, "cannot set %s of %d to %s: %s (%s)", kl_setting_name(s->what), id,
		       s->asked, strerrordesc_np(error), hint);
}

int kl_set(struct kl_device *device, int32_t id, uint64_t start_ns, const struct kl_setting *s,
	   struct kl_abi_set *told)
{
	struct kl_abi_set call = {
		.step = KL_SET_BEGIN, .id = id, .what = s->what, .start_ns = start_ns
	};
	int fd, ret, error = 0;

	if (!kl_setting_name(s->what))
		return kl_fail(EINVAL, "unknown parameter number %u", s->what);
	/* Some of the calls interpret these as the caller itself, or as all processes. */
	if (id <= 0)
		return kl_fail(ESRCH, "process %d does not exist", id);
	if (!open_file(id, s, &fd))
		error = errno;
	memcpy(call.asked, s->asked, sizeof(call.asked));
	ret = kl_client_call(device->fd, KL_IOC_SET, &call, sizeof(call), "begin the change");
	if (!ret && call.flags & KL_SET_ABSENT)
		error = ESRCH;
	if (!ret && !error && setters[s->what](id, s, fd))
		error = errno;
	if (fd >= 0)
		close(fd);
	if (ret)
		return ret;
	call.step = KL_SET_END;
	call.error = error;
	ret = kl_client_call(device->fd, KL_IOC_SET, &call, sizeof(call), "record the change");
	if (told)
		*told = call;
	if (ret)
		return ret;
	return error ? fail_to_set(id, s, error) : 0;
}
