// SPDX-License-Identifier: GPL-2.0
/*
 * Selected tasks that sleep at the end of a profile and hardly ran in it: a wait that does not end
 * is in no entry of the profile, but it is what the user of -p may look for.
 */
#include <time.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../base/reason.h"
#include "print.h"

/* Called with a task that sleeps, and the details of its wait. */
typedef void (*asleep_fn)(const struct kl_abi_latency_task *task, const struct kl_details *wait,
			  void *to);

static bool is_long(const struct cli_latency *r, const struct kl_details *wait)
{
	uint64_t length = r->latency->about.until - r->latency->about.start;

	return wait->n && wait->entry[0].kind == KL_DETAIL_WAIT &&
	       wait->entry[0].wait.asleep_ns > length / 2;
}

/* Without -p there would be many that have nothing to do. */
static void for_each(const struct cli_latency *r, asleep_fn call, void *to)
{
	struct kl_details wait = { 0 };
	unsigned int shown = 0;

	if (!r->session->select.n_pids)
		return;
	for (size_t i = 0; i < r->latency->n_tasks && shown < r->top; i++) {
		const struct kl_abi_latency_task *task = &r->latency->task[i];

		if (task->flags & (KL_LATENCY_TASK_OUTSIDE | KL_LATENCY_TASK_ENDED))
			continue;
		if (kl_details_read(r->session->device, task->tid, KL_DETAIL_WAIT, &wait) ||
		    !is_long(r, &wait))
			continue;
		call(task, &wait, to);
		shown++;
	}
	kl_details_deinit(&wait);
}

static void print(const struct kl_abi_latency_task *task, const struct kl_details *wait, void *to)
{
	time_t since = time(NULL) - (time_t)(wait->entry[0].wait.asleep_ns / 1000000000);
	char text[32];
	struct tm local;

	strftime(text, sizeof(text), "%F %T", localtime_r(&since, &local));
	fprintf(to, "\n  %s%s/%d%s sleeps since %s; it waits for\n", cli_style(to, CLI_BOLD),
		cli_clean_comm(task->comm), task->tid, cli_style(to, CLI_PLAIN), text);
	cli_print_wait(wait, to);
}

void cli_latency_print_asleep(const struct cli_latency *r, FILE *file)
{
	for_each(r, print, file);
}

static void add_json(const struct kl_abi_latency_task *task, const struct kl_details *wait,
		     void *to)
{
	json_t *value = cli_wait_json(wait);

	json_object_update_new(value, json_pack("{s:i, s:i, s:o}", "tid", task->tid, "pid",
						task->pid, "comm", cli_json_text(task->comm)));
	json_array_append_new(to, value);
}

json_t *cli_latency_asleep_json(const struct cli_latency *r)
{
	json_t *list = json_array();

	for_each(r, add_json, list);
	return list;
}
