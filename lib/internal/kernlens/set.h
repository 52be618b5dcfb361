/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sets parameters of processes and threads with the kernel's own calls: setpriority,
 * sched_setscheduler, sched_setparam, sched_setattr, sched_setaffinity, ioprio_set and prlimit;
 * and oom_score_adj, timer slack and cgroup by writing to the kernel's files. So a change is
 * refused where these refuse it, with their errno. Each change, successful or refused, fires an
 * event (process_set): see uapi/set.h.
 */
#ifndef KERNLENS_SET_H
#define KERNLENS_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/abi.h>
#include <kernlens/client.h>

/* Number of CPUs that an affinity can contain. */
#define KL_SETTING_CPUS 8192

/**
 * struct kl_setting - a parameter and its new value
 * @what: enum kl_set_what: selects the member of the union
 * @asked: the value in words, for the event
 * @number: nice, priority, oom_score_adj
 * @ioprio: as for ioprio_set(2)
 * @slack_ns: 0: the value that the thread was started with
 * @cgroup: path in the cgroup v2 hierarchy; belongs to the caller
 * @policy: SCHED_*; @priority is 0 for policies without; times are for SCHED_DEADLINE
 * @cpus: one bit per CPU, in the order of cpu_set_t
 * @limit: RLIM_INFINITY: unlimited; a limit without @has_soft or @has_hard is left unchanged
 */
struct kl_setting {
	uint32_t what;
	char asked[KL_STRING_MAX];
	union {
		int number;
		int ioprio;
		uint64_t slack_ns;
		const char *cgroup;
		struct {
			uint32_t number;
			uint32_t priority;
			uint64_t runtime_ns;
			uint64_t deadline_ns;
			uint64_t period_ns;
			bool has_priority;
			bool reset_on_fork;
		} policy;
		unsigned long cpus[KL_SETTING_CPUS / 8 / sizeof(unsigned long)];
		struct {
			uint64_t soft;
			uint64_t hard;
			bool has_soft;
			bool has_hard;
		} limit;
	};
};

/**
 * kl_setting_name - "nice", "limit.nofile" ...
 * @what: enum kl_set_what
 *
 * Returns NULL for an unknown number.
 */
const char *kl_setting_name(uint32_t what);

/**
 * kl_setting_help - what a parameter is, and how its values are written
 * @what: enum kl_set_what
 *
 * Returns NULL for an unknown number.
 */
const char *kl_setting_help(uint32_t what);

/**
 * kl_setting_is_of_process - do all threads of a process share the parameter?
 * @what: enum kl_set_what
 */
bool kl_setting_is_of_process(uint32_t what);

/**
 * kl_setting_parse - parse a parameter and its new value
 * @setting: filled in
 * @text: "NAME=VALUE", as described by kl_setting_name() and kl_setting_help(); must outlive
 *        @setting
 *
 * Only the syntax is checked: the kernel decides whether the value is acceptable. Returns 0,
 * -EINVAL for an invalid value, or -ENOENT for an unknown name, with an error text.
 */
int kl_setting_parse(struct kl_setting *setting, const char *text);

/**
 * kl_settings_join - merge policy and priority of a list, so that one call sets both
 * @settings: list; if it has one policy, without a priority, and one priority, the latter is
 *            removed
 * @n: number of settings
 *
 * Returns the new number of settings.
 */
size_t kl_settings_join(struct kl_setting *settings, size_t n);

/**
 * kl_set - set a parameter of a process or thread
 * @device: fires the event; required
 * @id: in the caller's pid namespace; for a process, its first thread and what all its threads
 *      share
 * @start_ns: variable start_time of the task: another task that has got the same id since is left
 *            alone, unless that happens within microseconds; 0: whichever task has the id
 * @setting: the new value
 * @told: out: the old and new values, if its flags contain KL_SET_TOLD (the caller may see the
 *        task); may be NULL
 *
 * Returns 0, or the kernel's error as a negative errno: -ESRCH, -EPERM, -EACCES, -EINVAL, -EBUSY
 * ...; @told is filled in then, too. If the module itself fails, @told may be unset. May sleep.
 */
int kl_set(struct kl_device *device, int32_t id, uint64_t start_ns,
	   const struct kl_setting *setting, struct kl_abi_set *told);

#endif /* KERNLENS_SET_H */
