/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Setting parameters of processes and threads, with the kernel's own calls: setpriority,
 * sched_setscheduler, sched_setparam, sched_setattr, sched_setaffinity, ioprio_set and
 * prlimit; oom_score_adj, timer slack and cgroup by writing to the files that the kernel
 * has for them. So a change is refused where these refuse, with their errno. Each is an
 * event (process_set), done or refused: uapi/set.h.
 */
#ifndef KERNLENS_SET_H
#define KERNLENS_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/abi.h>
#include <kernlens/client.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/* CPUs that an affinity can name. */
#define KL_SETTING_CPUS 8192

/**
 * struct kl_setting - a parameter and what it shall be
 * @what: enum kl_set_what: which of the members below counts
 * @asked: the value in words, for the event
 * @number: nice, priority, oom_score_adj
 * @ioprio: as ioprio_set(2) takes it
 * @slack_ns: 0: what the thread was started with
 * @cgroup: path in the hierarchy of version 2; the caller's
 * @policy: SCHED_*; a @priority of 0 for those without; times of SCHED_DEADLINE
 * @cpus: a bit for each CPU, in the order of cpu_set_t
 * @limit: RLIM_INFINITY: none; what is not to be @has_soft or @has_hard stays as it is
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
 * kl_setting_name - "nice", "limit.nofile"
 * @what: enum kl_set_what
 *
 * Returns NULL if there is none of that number.
 */
const char *kl_setting_name(uint32_t what);

/**
 * kl_setting_help - what it is, and how its values are written
 * @what: enum kl_set_what
 *
 * Returns NULL if there is none of that number.
 */
const char *kl_setting_help(uint32_t what);

/**
 * kl_setting_is_of_process - do all threads of a process have it together?
 * @what: enum kl_set_what
 */
bool kl_setting_is_of_process(uint32_t what);

/**
 * kl_setting_parse - understand what shall be set
 * @setting: filled in
 * @text: "NAME=VALUE", as kl_setting_name() and kl_setting_help() say; it must outlive
 *        @setting
 *
 * Whether the value makes sense is the kernel's to say. Returns -EINVAL if the text makes
 * none, -ENOENT if there is nothing of that name.
 */
int kl_setting_parse(struct kl_setting *setting, const char *text);

/**
 * kl_settings_join - the policy and the priority of one list are set by one call
 * @settings: list; the priority is taken out of it, if there is one of each and the policy
 *            has none
 * @n: number of them
 *
 * Returns how many there are now.
 */
size_t kl_settings_join(struct kl_setting *settings, size_t n);

/**
 * kl_set - set a parameter of a process or thread
 * @device: that makes the event; without one nothing is set
 * @id: in the caller's pid namespace; of a process: its first thread, and what all have
 *      together
 * @start_ns: the variable start_time of what is meant: nothing else that has the number by
 *            now is set, unless it gets it in the microseconds between; 0: whatever has it
 * @setting: what shall be
 * @told: filled in with what was and is, if its flags have KL_SET_TOLD (the caller may see
 *        it); may be NULL
 *
 * Returns 0, or the kernel's answer as a negative errno: -ESRCH, -EPERM, -EACCES, -EINVAL,
 * -EBUSY ..., with @told filled in as well. May sleep.
 */
int kl_set(struct kl_device *device, int32_t id, uint64_t start_ns,
	   const struct kl_setting *setting, struct kl_abi_set *told);

KL_PUBLIC_END

#endif /* KERNLENS_SET_H */
