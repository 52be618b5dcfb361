// SPDX-License-Identifier: GPL-2.0
/*
 * Reads figures of the machine and of sessions. Which variables of processes and of the machine are
 * read follows from the rows of metrics.def and from what this kernel has. Fed by the device;
 * writes a set of metrics.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../base/base.h"
#include "reader.h"

#define CPUS_MAX 512
#define SESSIONS_MAX 256 /* of those that are added up, too */

size_t kl_metrics_reader_index(struct kl_metrics_reader *r, uint32_t id)
{
	for (size_t i = 0; i < r->n_ids; i++)
		if (r->ids[i] == id)
			return i;
	r->ids[r->n_ids] = id;
	return r->n_ids++;
}

static bool is_there(struct kl_device *device, const struct kl_variable *v)
{
	struct kl_abi_variable_info info = { 0 };

	return v && !kl_device_variable(device, v->id, &info) && info.absent == KL_PRESENT;
}

static void add_column(struct kl_metrics_reader *r, size_t metric, const struct kl_variable *v)
{
	for (size_t i = 0; i < r->n_columns; i++)
		if (r->column[i].metric == metric)
			return;
	kl_metrics_limit(r->metrics, metric, 3 * r->choice->top + 1);
	r->column[r->n_columns++] = (struct kl_metrics_column){
		.metric = metric,
		.at = kl_metrics_reader_index(r, v->id),
	};
}

static int add_rows(struct kl_metrics_reader *r)
{
	uint32_t ids[KL_METRICS];

	for (size_t i = 0; i < KL_METRICS; i++) {
		const struct kl_metric_info *info = kl_metrics_info(NULL, i);
		const struct kl_variable *v;

		if (!info->variable || info->is_optional)
			continue;
		v = kl_variable_find(info->variable);
		if (!is_there(r->device, v))
			continue;
		if (info->is_process) {
			add_column(r, i, v);
			continue;
		}
		ids[r->n_system] = v->id;
		r->system_metric[r->n_system++] = i;
	}
	r->system = kl_inspect_create(r->device, ids, r->n_system);
	return r->system ? 0 : -ENOMEM;
}

struct kl_metrics_reader *kl_metrics_reader_create(struct kl_metrics *metrics,
						   struct kl_device *device,
						   const struct kl_metrics_choice *choice)
{
	static const char *const own[KL_METRICS_OWN] = {
		[KL_METRICS_PID] = "pid",   [KL_METRICS_START] = "start_time",
		[KL_METRICS_COMM] = "comm", [KL_METRICS_STATE] = "state",
		[KL_METRICS_UID] = "uid",
	};
	struct kl_metrics_reader *r = calloc(1, sizeof(*r));

	if (!r) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	r->metrics = metrics;
	r->device = device;
	r->choice = choice;
	for (size_t i = 0; i < KL_METRICS_OWN; i++)
		kl_metrics_reader_index(r, kl_variable_find(own[i])->id);
	if (choice->cgroup)
		r->cgroup = kl_metrics_reader_index(r, kl_variable_find("cgroup")->id);
	r->machine = kl_machine_create(device);
	r->sessions = kl_fold_create(KL_ARRAY_SIZE(r->session_other));
	if (r->machine && r->sessions && !add_rows(r))
		return r;
	kl_metrics_reader_destroy(r);
	kl_fail(ENOMEM, "out of memory");
	return NULL;
}

void kl_metrics_reader_destroy(struct kl_metrics_reader *r)
{
	if (!r)
		return;
	kl_inspect_destroy(r->inspect);
	kl_inspect_destroy(r->system);
	kl_machine_destroy(r->machine);
	kl_fold_destroy(r->fold);
	kl_fold_destroy(r->sessions);
	kl_cgroup_set_deinit(&r->cgroups);
	free(r);
}

/* The metric of a variable: a row, or one that is defined now. */
static int metric_of(struct kl_metrics_reader *r, const struct kl_variable *v)
{
	const struct kl_metric_info *info;

	for (size_t i = 0; (info = kl_metrics_info(r->metrics, i)); i++)
		if (info->is_process && !strcmp(info->variable, v->name))
			return (int)i;
	return kl_metrics_define(r->metrics, v);
}

int kl_metrics_reader_request(struct kl_metrics_reader *r, const char *name)
{
	const struct kl_variable *v = kl_variable_find(name);
	struct kl_abi_variable_info info = { 0 };
	int ret;

	if (!v)
		return kl_fail(EINVAL,
			       "unknown variable \"%s\" (kernlens list variables shows them)",
			       name);
	ret = kl_device_variable(r->device, v->id, &info);
	if (ret)
		return ret;
	if (info.absent != KL_PRESENT)
		return kl_fail(info.absent == KL_ABSENT_DENIED ? EPERM : ENOENT,
			       "%s is not available here: %s", name, info.reason);
	ret = metric_of(r, v);
	if (ret < 0)
		return ret;
	add_column(r, (size_t)ret, v);
	return 0;
}

/* ---------------------------------------------------------------- the machine */

static void put(struct kl_metrics_reader *r, enum kl_metric metric, double value)
{
	kl_metrics_add(r->metrics, metric, value, NULL);
}

static void add_cpu(struct kl_metrics_reader *r, const struct kl_abi_cpu *c)
{
	char number[16];
	const struct {
		const char *mode;
		uint64_t ns;
	} parts[] = {
		{ "user", c->user_ns - c->guest_ns },
		{ "nice", c->nice_ns - c->guest_nice_ns },
		{ "system", c->system_ns },
		{ "irq", c->irq_ns },
		{ "softirq", c->softirq_ns },
		{ "steal", c->steal_ns },
		{ "guest", c->guest_ns + c->guest_nice_ns },
		{ "iowait", c->iowait_ns },
		{ "idle", c->idle_ns },
	};

	snprintf(number, sizeof(number), "%u", c->cpu);
	for (size_t i = 0; i < KL_ARRAY_SIZE(parts); i++)
		kl_metrics_add(r->metrics, KL_METRIC_cpu_seconds, (double)parts[i].ns / 1e9,
			       (const char *[]){ number, parts[i].mode });
}

static void add_cpus(struct kl_metrics_reader *r)
{
	double interrupts = 0, softirqs = 0, online = 0;
	const struct kl_abi_cpu *c;
	size_t n = 0;

	while (kl_machine_times(r->machine, n))
		n++;
	kl_metrics_limit(r->metrics, KL_METRIC_cpu_seconds,
			 ((n < CPUS_MAX ? n : CPUS_MAX) + 1) * 9);
	for (size_t i = 0; (c = kl_machine_times(r->machine, i)); i++) {
		interrupts += (double)c->interrupts;
		softirqs += (double)c->softirqs;
		online += c->online;
		add_cpu(r, c);
	}
	put(r, KL_METRIC_cpus_online, online);
	put(r, KL_METRIC_interrupts, interrupts);
	put(r, KL_METRIC_softirqs, softirqs);
}

static void add_boot_time(struct kl_metrics_reader *r, uint64_t uptime_ns)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	put(r, KL_METRIC_boot_time,
	    (double)(now.tv_sec - (time_t)(uptime_ns / KL_NS_PER_S)) +
		    (now.tv_nsec < (long)(uptime_ns % KL_NS_PER_S) ? -1 : 0));
}

static int read_machine(struct kl_metrics_reader *r)
{
	const struct kl_machine_state *state = kl_machine_state(r->machine);
	int32_t self = getpid();
	int ret = kl_machine_read(r->machine);

	if (ret)
		return ret;
	add_boot_time(r, state->uptime_ns);
	add_cpus(r);
	put(r, KL_METRIC_processes, state->processes);
	put(r, KL_METRIC_threads, state->threads);
	put(r, KL_METRIC_kernel_threads, state->kernel_threads);
	put(r, KL_METRIC_running, state->running);
	put(r, KL_METRIC_swap_total, (double)state->total_swap);
	put(r, KL_METRIC_swap_free, (double)state->free_swap);
	ret = kl_inspect_read(r->system, &self, 1, 0);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < r->n_system; i++)
		put(r, r->system_metric[i],
		    kl_metric_scaled(kl_metrics_info(NULL, r->system_metric[i]),
				     (double)kl_inspect_value(r->system, 0, i).number));
	return 0;
}

/* -------------------------------------------------------------------- sessions */

/* What this user's sessions take of the module's memory and time. */
static void add_account(struct kl_metrics_reader *r)
{
	struct kl_abi_limits limits;

	put(r, KL_METRIC_account_memory, 0);
	put(r, KL_METRIC_account_sessions, 0);
	put(r, KL_METRIC_account_work, 0);
	for (uint32_t i = 0; !kl_device_limits(r->device, i, &limits); i++) {
		if (limits.kind > KL_ACCOUNT_PRIVILEGED || limits.uid != getuid())
			continue;
		put(r, KL_METRIC_account_memory, (double)limits.used[KL_LIMIT_memory]);
		put(r, KL_METRIC_account_sessions, (double)limits.used[KL_LIMIT_sessions]);
		put(r, KL_METRIC_account_work, (double)limits.work_us / 1e6);
	}
}

/* The last series of each of these metrics is that of all further sessions. */
static int add_session(struct kl_metrics_reader *r, uint32_t index,
		       const struct kl_abi_status *status)
{
	static const enum kl_metric counters[] = { KL_METRIC_session_records,
						   KL_METRIC_session_lost,
						   KL_METRIC_session_suspended };
	const double now[] = { (double)status->written, (double)status->lost,
			       (double)status->suspended };
	size_t listed = kl_metrics_info(NULL, KL_METRIC_session_records)->most - 1;
	uint32_t cpus = kl_device_info(r->device)->cpus;
	double growth[KL_ARRAY_SIZE(now)];
	char id[16], name[KL_NAME_MAX + 1];
	const char *const labels[] = { name, id };
	int ret = kl_fold_growth(r->sessions, status->id, now, true, growth);

	snprintf(id, sizeof(id), "%u", status->id);
	snprintf(name, sizeof(name), "%.*s", KL_NAME_MAX, status->name);
	for (size_t i = 0; i < KL_ARRAY_SIZE(counters); i++)
		if (index < listed)
			kl_metrics_add(r->metrics, counters[i], now[i], labels);
		else if (!ret)
			r->session_other[i] += growth[i];
	kl_metrics_add(r->metrics, KL_METRIC_session_running, status->running, labels);
	kl_metrics_add(r->metrics, KL_METRIC_session_buffers,
		       (double)status->block_bytes * status->blocks * cpus, labels);
	return ret;
}

static int read_sessions(struct kl_metrics_reader *r)
{
	static const char *const other[] = { "other", "other" };
	struct kl_abi_status status;
	int ret = 0, error = 0;
	uint32_t n = 0;

	kl_fold_begin(r->sessions);
	while (!error && n < SESSIONS_MAX) {
		ret = kl_device_status(r->device, n, &status);
		if (ret)
			break;
		error = add_session(r, n++, &status);
	}
	put(r, KL_METRIC_sessions, n);
	kl_metrics_add(r->metrics, KL_METRIC_session_records, r->session_other[0], other);
	kl_metrics_add(r->metrics, KL_METRIC_session_lost, r->session_other[1], other);
	kl_metrics_add(r->metrics, KL_METRIC_session_suspended, r->session_other[2], other);
	add_account(r);
	if (error)
		return error;
	return ret && ret != -ENOENT ? ret : 0;
}

int kl_metrics_reader_read(struct kl_metrics_reader *r, enum kl_metrics_part part)
{
	switch (part) {
	case KL_METRICS_MACHINE:
		return read_machine(r);
	case KL_METRICS_PROCESSES:
		return kl_metrics_read_processes(r);
	default:
		return read_sessions(r);
	}
}
