// SPDX-License-Identifier: GPL-2.0
/*
 * Change processes: parameters and signals, with the kernel's own calls. Failures are shown in the
 * last line. Parameters are set through the module, which records an event.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "view.h"

/* Apply @act to the tagged processes, or else to the selected one. It returns an errno or 0. */
static void change_chosen(struct view *v, int (*act)(struct view *v, int32_t id, const void *arg),
			  const void *arg, const char *what)
{
	const struct view_ids *tagged = &v->list.tagged;
	struct view_ids one = { .n = 0 };
	size_t failed = 0;
	int error = 0;
	int32_t id;

	if (!tagged->n) {
		if (!list_selected(v, &id))
			return;
		one = (struct view_ids){ .id = &id, .n = 1 };
		tagged = &one;
	}
	for (size_t i = 0; i < tagged->n; i++) {
		int failure = act(v, tagged->id[i], arg);

		if (failure) {
			error = failure;
			failed++;
			id = tagged->id[i];
		}
	}
	if (failed == 1)
		view_say(v, "%s %d: %s", what, id, strerror(error));
	else if (failed)
		view_say(v, "%s %zu of %zu processes: %s", what, failed, tagged->n,
			 strerror(error));
	v->refresh_at = 0;
}

/* Start time of the process that the list shows under an ID; 0 if it is not there. */
static uint64_t start_of(const struct view *v, int32_t id)
{
	for (size_t row = 0; row < kl_processes_count(v->table); row++) {
		bool there;

		if (kl_processes_row(v->table, row, &there) == id && there)
			return column_number(v, row, NEED_START);
	}
	return 0;
}

/* The start time makes sure that this is the process shown, not a later one with the same ID. */
static int add_nice(struct view *v, int32_t id, const void *arg)
{
	struct kl_setting setting = { .what = KL_SET_NICE };
	int nice;

	errno = 0;
	nice = getpriority(PRIO_PROCESS, (id_t)id);
	if (nice == -1 && errno)
		return errno;
	setting.number = nice + *(const int *)arg;
	snprintf(setting.asked, sizeof(setting.asked), "%d", setting.number);
	return -kl_set(v->device, id, start_of(v, id), &setting, NULL);
}

void change_nice(struct view *v, int by)
{
	change_chosen(v, add_nice, &by, "Cannot change the nice value of");
}

static int set(struct view *v, int32_t id, const void *arg)
{
	return -kl_set(v->device, id, start_of(v, id), arg, NULL);
}

void change_setting(struct view *v, const struct kl_setting *setting)
{
	char what[64];

	snprintf(what, sizeof(what), "Cannot set %s of", kl_setting_name(setting->what));
	change_chosen(v, set, setting, what);
}

/* Is the process that has this ID now the one that the list shows? */
static bool is_shown_one(const struct view *v, int32_t id)
{
	uint32_t start = kl_variable_find("start_time")->id;
	struct kl_inspect *inspect = kl_inspect_create(v->device, &start, 1);
	bool same = inspect && kl_inspect_read(inspect, &id, 1, 0) == 1 &&
		    kl_inspect_value(inspect, 0, 0).number == start_of(v, id);

	kl_inspect_destroy(inspect);
	kl_error_clear();
	return same;
}

/* The descriptor stays with its process. Older kernels have none of threads. */
static int send_signal(struct view *v, int32_t id, const void *arg)
{
	int signal = *(const int *)arg, fd = pidfd_open(id, 0), error = 0;

	if (fd < 0 && errno != EINVAL && errno != EMFILE && errno != ENFILE)
		return errno;
	if (!is_shown_one(v, id))
		error = ESRCH;
	else if (fd < 0 ? kill(id, signal) : pidfd_send_signal(fd, signal, NULL, 0))
		error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

void change_signal(struct view *v, int signal)
{
	change_chosen(v, send_signal, &signal, "Cannot send the signal to");
}
