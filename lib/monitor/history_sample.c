// SPDX-License-Identifier: GPL-2.0
/*
 * Samples for a history: the values of the machine and of groups of processes, or their growth
 * since the previous sample. They are summed for a minute and then written. Fed by tables of
 * processes and /proc/stat; writes the database.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <kernlens/abi.h>
#include <kernlens/processes.h>
#include "../base/base.h"
#include "../base/table.h"
#include "history.h"

enum source {
	VARIABLE,
	STAT,
	OWN,
};

static const struct {
	const char *name;
	double scale;
	enum source source;
} sources[] = {
#define KL_HISTORY_FIGURE(name, unit, is_group, grows, scale, source, help) \
	{ #name, scale, source },
#include "history.def"
#undef KL_HISTORY_FIGURE
};

/* Variables summed over processes: the value, and its growth per second. */
static const struct {
	const char *value, *rate;
	int figure;
} counted[] = {
	{ "cpu_time", "cpu_time/s", KL_HISTORY_cpu_time },
	{ "io_read_bytes", "io_read_bytes/s", KL_HISTORY_io_bytes },
	{ "io_write_bytes", "io_write_bytes/s", KL_HISTORY_io_bytes },
	{ "maj_faults", "maj_faults/s", KL_HISTORY_maj_faults },
	{ "min_faults", "min_faults/s", KL_HISTORY_min_faults },
};

#define COUNTED KL_ARRAY_SIZE(counted)

/**
 * struct kl_history_sampler - state between samples
 * @column: of each machine figure that is a variable; -1: unavailable
 * @value, @rate: of @counted; -1: unavailable
 * @machine: of the current minute; @last: values of the previous sample
 * @groups: of struct kl_history_group, of the current minute
 * @minute: current minute; 0: none
 * @looked_ns: CLOCK_MONOTONIC, @looked_boot_ns: CLOCK_BOOTTIME: previous sample; 0: none
 */
struct kl_history_sampler {
	struct kl_history *history;
	struct kl_processes *table;
	int column[KL_HISTORY_MACHINE];
	int value[COUNTED], rate[COUNTED];
	int comm, uid, rss, start;
	struct kl_history_sum machine[KL_HISTORY_MACHINE];
	double last[KL_HISTORY_MACHINE];
	struct kl_hash groups;
	int64_t minute;
	uint64_t looked_ns;
	uint64_t looked_boot_ns;
};

/* Add one sample's @value (its growth, or its current value) over @seconds. */
static void fold(struct kl_history_sum *sum, bool grows, double value, double seconds)
{
	double level = grows ? value / seconds : value;

	if (!sum->samples || level < sum->low)
		sum->low = level;
	if (!sum->samples || level > sum->high)
		sum->high = level;
	sum->samples++;
	sum->seconds += seconds;
	sum->sum += grows ? value : value * seconds;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * KL_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ------------------------------------------------------------- the machine */

/* Read the counters of /proc/stat, with ticks converted to nanoseconds. */
static int read_stat(double now[KL_HISTORY_MACHINE])
{
	unsigned long long t[8] = { 0 }, number;
	FILE *file = fopen("/proc/stat", "re");
	double tick = 1e9 / (double)sysconf(_SC_CLK_TCK);
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return kl_fail_system(errno, "/proc/stat");
	while (getline(&line, &room, file) > 0) {
		if (sscanf(line, "cpu  %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1],
			   &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) >= 7) {
			now[KL_HISTORY_user_time] = (double)(t[0] + t[1]) * tick;
			now[KL_HISTORY_system_time] = (double)(t[2] + t[5] + t[6]) * tick;
			now[KL_HISTORY_idle_time] = (double)(t[3] + t[4]) * tick;
		} else if (sscanf(line, "intr %llu", &number) == 1) {
			now[KL_HISTORY_interrupts] = (double)number;
		} else if (sscanf(line, "ctxt %llu", &number) == 1) {
			now[KL_HISTORY_switches] = (double)number;
		} else if (sscanf(line, "processes %llu", &number) == 1) {
			now[KL_HISTORY_forks] = (double)number;
		}
	}
	free(line);
	fclose(file);
	return 0;
}

static int look_at_machine(struct kl_history_sampler *s, double seconds)
{
	double now[KL_HISTORY_MACHINE] = { 0 };
	int error = read_stat(now);

	if (error)
		return error;
	now[KL_HISTORY_processes] = (double)kl_processes_count(s->table);
	for (int i = 0; i < KL_HISTORY_MACHINE; i++) {
		bool grows = kl_history_figure((unsigned int)i)->grows;

		if (sources[i].source == VARIABLE) {
			if (s->column[i] < 0 || !kl_processes_count(s->table))
				continue;
			now[i] = sources[i].scale *
				 kl_processes_number(s->table, 0, (size_t)s->column[i]);
		}
		/* Skip counters that the kernel has reset. */
		if (seconds > 0 && (!grows || now[i] >= s->last[i]))
			fold(&s->machine[i], grows, grows ? now[i] - s->last[i] : now[i], seconds);
		s->last[i] = now[i];
	}
	return 0;
}

/* --------------------------------------------------------------- processes */

/* A process's growth. For one started since the previous sample, it is the whole value. */
static double growth(const struct kl_history_sampler *s, size_t row, size_t i, double seconds)
{
	double rate;

	if (s->value[i] < 0)
		return 0;
	rate = kl_processes_number(s->table, row, (size_t)s->rate[i]);
	if (!isnan(rate))
		return rate > 0 ? rate * seconds : 0;
	if (kl_processes_value(s->table, row, (size_t)s->start).number < s->looked_boot_ns)
		return 0;
	return kl_processes_number(s->table, row, (size_t)s->value[i]);
}

static struct kl_history_group *group_of(struct kl_history_sampler *s, size_t row)
{
	struct kl_value comm = kl_processes_value(s->table, row, (size_t)s->comm);
	uint32_t uid = (uint32_t)kl_processes_value(s->table, row, (size_t)s->uid).number;
	uint64_t key = kl_hash_bytes(kl_hash_bytes(KL_HASH_START, comm.bytes, comm.length), &uid,
				     sizeof(uid));
	struct kl_history_group *group = kl_hash_get(&s->groups, key ? key : 1);

	if (group && !*group->comm) {
		/* An empty name is a name, too. */
		snprintf(group->comm, sizeof(group->comm), "%.*s",
			 comm.length ? (int)comm.length : 1,
			 comm.length ? (const char *)comm.bytes : "?");
		group->uid = uid;
	}
	return group;
}

static int look_at_processes(struct kl_history_sampler *s, double seconds)
{
	const int first = KL_HISTORY_MACHINE;
	struct kl_history_group *group;

	for (size_t row = 0; row < kl_processes_count(s->table); row++) {
		group = group_of(s, row);
		if (!group)
			return -ENOMEM;
		group->now[KL_HISTORY_count - first]++;
		group->now[KL_HISTORY_rss - first] +=
			kl_processes_number(s->table, row, (size_t)s->rss);
		for (size_t i = 0; i < COUNTED; i++)
			group->now[counted[i].figure - first] += growth(s, row, i, seconds);
	}
	for (group = kl_hash_next(&s->groups, NULL); group;
	     group = kl_hash_next(&s->groups, group)) {
		if (group->now[KL_HISTORY_count - first] > 0)
			for (int i = 0; i < KL_HISTORY_GROUP; i++)
				fold(&group->sum[i],
				     kl_history_figure((unsigned int)(first + i))->grows,
				     group->now[i], seconds);
		memset(group->now, 0, sizeof(group->now));
	}
	return 0;
}

/* ----------------------------------------------------------------- writing */

/* Mark the first groups of a list. There are few enough to scan them repeatedly. */
static void keep_first(struct kl_history_sampler *s, int figure, unsigned int list)
{
	for (int n = 0; n < KL_HISTORY_TOP; n++) {
		struct kl_history_group *best = NULL, *group;
		double most = 0;

		for (group = kl_hash_next(&s->groups, NULL); group;
		     group = kl_hash_next(&s->groups, group)) {
			double sum = group->sum[figure - KL_HISTORY_MACHINE].sum;

			if (sum > most && !(group->lists & list)) {
				most = sum;
				best = group;
			}
		}
		if (!best)
			return;
		best->lists |= list;
	}
}

static int write_groups(struct kl_history_sampler *s)
{
	struct kl_history_group *group;
	int error = 0;

	for (group = kl_hash_next(&s->groups, NULL); group && !error;
	     group = kl_hash_next(&s->groups, group))
		for (int i = 0; i < KL_HISTORY_GROUP && group->lists && !error; i++)
			error = kl_history_write(s->history, s->minute, group->comm, group->uid,
						 (unsigned int)(KL_HISTORY_MACHINE + i),
						 &group->sum[i]);
	return error;
}

static int write_minute(struct kl_history_sampler *s)
{
	int error = kl_history_write_begin(s->history);

	if (error)
		return error;
	for (int i = 0; i < KL_HISTORY_MACHINE && !error; i++)
		if (s->machine[i].samples)
			error = kl_history_write(s->history, s->minute, NULL, 0, (unsigned int)i,
						 &s->machine[i]);
	keep_first(s, KL_HISTORY_cpu_time, 1);
	keep_first(s, KL_HISTORY_rss, 2);
	keep_first(s, KL_HISTORY_io_bytes, 4);
	keep_first(s, KL_HISTORY_maj_faults, 8);
	if (!error)
		error = write_groups(s);
	return kl_history_write_end(s->history, s->minute, error);
}

int kl_history_flush(struct kl_history_sampler *s)
{
	size_t size = s->groups.size;
	int error;

	if (!s->minute || !s->machine[KL_HISTORY_processes].samples)
		return 0;
	error = write_minute(s);
	if (error)
		return error;
	memset(s->machine, 0, sizeof(s->machine));
	kl_hash_deinit(&s->groups);
	s->groups = (struct kl_hash){ .size = size };
	return 1;
}

/* A sample belongs to the minute that contains the middle of its interval. */
static int turn_minute(struct kl_history_sampler *s, double seconds)
{
	struct timespec now;
	int64_t minute;
	int ret = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	minute = kl_history_begin(s->history, KL_HISTORY_MINUTE,
				  (int64_t)((double)now.tv_sec + (double)now.tv_nsec / 1e9 -
					    seconds / 2));
	if (minute != s->minute)
		ret = kl_history_flush(s);
	if (ret >= 0)
		s->minute = minute;
	return ret;
}

int kl_history_sample(struct kl_history_sampler *s)
{
	uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME), now_ns;
	int ret = kl_processes_read(s->table, NULL, 0, 0);
	double seconds = 0;
	int error, written = 0;

	if (ret < 0)
		return ret;
	now_ns = kl_processes_time_ns(s->table);
	if (s->looked_ns)
		seconds = (double)(now_ns - s->looked_ns) / 1e9;
	/* After a failure the minute continues, so that nothing counted is lost. */
	if (s->looked_ns)
		written = turn_minute(s, seconds);
	error = look_at_machine(s, seconds);
	if (!error && seconds > 0)
		error = look_at_processes(s, seconds);
	s->looked_ns = now_ns;
	s->looked_boot_ns = boot_ns;
	return error ? error : written;
}

/* ------------------------------------------------------------------ set-up */

/* Add a column. Returns -1 if this kernel does not have the variable. */
static int add_if_there(struct kl_history_sampler *s, struct kl_device *device, const char *name,
			const char *column)
{
	const struct kl_variable *v = kl_variable_find(name);
	struct kl_abi_variable_info info = { 0 };

	if (!v || kl_device_variable(device, v->id, &info) || info.absent)
		return -1;
	return kl_processes_add(s->table, column);
}

static int add_columns(struct kl_history_sampler *s, struct kl_device *device)
{
	for (int i = 0; i < KL_HISTORY_MACHINE; i++)
		s->column[i] = sources[i].source == VARIABLE ?
				       add_if_there(s, device, sources[i].name, sources[i].name) :
				       -1;
	for (size_t i = 0; i < COUNTED; i++) {
		s->value[i] = add_if_there(s, device, counted[i].value, counted[i].value);
		s->rate[i] = add_if_there(s, device, counted[i].value, counted[i].rate);
	}
	s->comm = kl_processes_add(s->table, "comm");
	s->uid = kl_processes_add(s->table, "uid");
	s->rss = kl_processes_add(s->table, "rss");
	s->start = kl_processes_add(s->table, "start_time");
	return s->comm < 0 || s->uid < 0 || s->rss < 0 || s->start < 0 ? -ENOMEM : 0;
}

struct kl_history_sampler *kl_history_sampler_create(struct kl_history *history,
						     struct kl_device *device)
{
	struct kl_history_sampler *s = calloc(1, sizeof(*s));

	if (s) {
		s->history = history;
		s->groups.size = sizeof(struct kl_history_group);
		s->table = kl_processes_create(device);
	}
	if (!s || !s->table || add_columns(s, device)) {
		kl_history_sampler_destroy(s);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	return s;
}

void kl_history_sampler_destroy(struct kl_history_sampler *s)
{
	if (!s)
		return;
	kl_processes_destroy(s->table);
	kl_hash_deinit(&s->groups);
	free(s);
}
