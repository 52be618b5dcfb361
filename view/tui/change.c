// SPDX-License-Identifier: GPL-2.0
/*
 * Change processes: nice values and signals, with the kernel's own calls. Failures are shown in the
 * last line. Nice values are set through the module, which records an event.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "view.h"

/* Apply @act to the tagged processes, or else to the selected one. It returns an errno or 0. */
static void change_chosen(struct view *v, int (*act)(struct view *v, int32_t id, int arg), int arg,
			  const char *what)
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
static int add_nice(struct view *v, int32_t id, int by)
{
	struct kl_setting setting = { .what = KL_SET_NICE };
	int nice;

	errno = 0;
	nice = getpriority(PRIO_PROCESS, (id_t)id);
	if (nice == -1 && errno)
		return errno;
	setting.number = nice + by;
	snprintf(setting.asked, sizeof(setting.asked), "%d", setting.number);
	return -kl_set(v->device, id, start_of(v, id), &setting, NULL);
}

void change_nice(struct view *v, int by)
{
	change_chosen(v, add_nice, by, "Cannot change the nice value of");
}

static int send_signal(struct view *v, int32_t id, int signal)
{
	return kill(id, signal) ? errno : 0;
}

void change_signal(struct view *v, int signal)
{
	change_chosen(v, send_signal, signal, "Cannot send the signal to");
}
