// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of processes: nice values and signals, by the system calls that everybody
 * has; what the kernel refuses is said in the last line.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "view.h"

/* Does it to those that are tagged, or to the selected one; @act returns an errno or 0. */
static void change_chosen(struct view *v, int (*act)(int32_t id, int arg), int arg,
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
		int failure = act(tagged->id[i], arg);

		if (failure) {
			error = failure;
			failed++;
			id = tagged->id[i];
		}
	}
	if (failed == 1)
		view_say(v, "%s %d: %s", what, id, strerror(error));
	else if (failed)
		view_say(v, "%s: %zu of %zu failed: %s", what, failed, tagged->n, strerror(error));
	v->refresh_at = 0;
}

static int add_nice(int32_t id, int by)
{
	int nice;

	errno = 0;
	nice = getpriority(PRIO_PROCESS, (id_t)id);
	if (nice == -1 && errno)
		return errno;
	return setpriority(PRIO_PROCESS, (id_t)id, nice + by) ? errno : 0;
}

void change_nice(struct view *v, int by)
{
	change_chosen(v, add_nice, by, "Cannot change the nice value of");
}

static int send_signal(int32_t id, int signal)
{
	return kill(id, signal) ? errno : 0;
}

void change_signal(struct view *v, int signal)
{
	change_chosen(v, send_signal, signal, "Cannot send the signal to");
}
