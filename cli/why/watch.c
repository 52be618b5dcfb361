// SPDX-License-Identifier: GPL-2.0
/*
 * Explains where the time of a task goes while it runs: reads the events of the session as they
 * happen, prints an explanation of each interval, and forgets what happened before.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../session/refresh.h"
#include "print.h"
#include "watch.h"

/**
 * struct watching - the timelines of a session that runs
 * @seen: the task has run, or was woken
 * @from_ns: wall time at which the current interval begins; 0: with the first event
 * @lost: records that are missing from the interval
 * @unnamed: samples without a stack trace, until then
 */
struct watching {
	const struct cli_why_watch *watch;
	struct kl_why *why;
	int32_t tid;
	bool seen;
	uint64_t from_ns;
	uint64_t lost;
	uint64_t unnamed;
	char boot_id[40];
};

int cli_why_add(struct kl_why *why, const struct kl_item *item, uint64_t *lost)
{
	if (item->kind != KL_ITEM_LOSS)
		return kl_why_add(why, item->event);
	/* Ticks that were late are not missed. */
	if (item->loss->kind != KL_LOSS_UNSEEN)
		*lost += item->loss->records;
	return 0;
}

static int take(void *context, const struct kl_item *item)
{
	struct watching *w = context;

	return cli_why_add(w->why, item, &w->lost);
}

/* ------------------------------------------------------------------- printing */

static void print_clock(uint64_t ns)
{
	const time_t seconds = (time_t)(ns / 1000000000);
	struct tm local;
	char text[16];

	if (localtime_r(&seconds, &local) && strftime(text, sizeof(text), "%H:%M:%S", &local))
		printf("%s ", text);
}

/* The functions of samples come from stack traces, of which a session stores a limited number. */
static void print_unnamed(struct watching *w)
{
	const struct kl_stacks *stacks = kl_schema_stacks(w->watch->recording->session.schema);
	uint64_t all = stacks ? kl_stacks_no_room(stacks) : 0;

	if (all > w->unnamed)
		printf("%llu samples have no function: the table of stack traces is full\n",
		       (unsigned long long)(all - w->unnamed));
	w->unnamed = all;
}

/* @node: NULL: the task has not run, and nothing has woken it, since the session began. */
static int print(struct watching *w, const struct kl_why_node *node, uint64_t now_ns)
{
	const struct cli_why report = { .node = node,
					.least = w->watch->least,
					.lost = w->lost,
					.boot_id = w->boot_id,
					.interrupts = kl_why_knows_interrupts(w->why) };
	json_t *object;

	if (cli_settings.json) {
		object = node ? cli_why_json(&report) : json_pack("{s:n}", "task");
		json_object_set_new(object, "end_ns", json_integer((json_int_t)now_ns));
		return cli_json_write(object);
	}
	cli_clear_screen();
	print_clock(now_ns);
	if (node)
		cli_why_print(&report, stdout);
	else
		printf("%d has not run; kernlens latency -p %d says what it waits for\n", w->tid,
		       w->tid);
	print_unnamed(w);
	putchar('\n');
	return CLI_OK;
}

static int show(void *context, uint64_t now_ns, bool is_last)
{
	struct watching *w = context;
	struct kl_why_node *node = NULL;
	int status = CLI_OK, error;
	size_t task;

	kl_why_advance(w->why, now_ns);
	if (kl_why_find(w->why, w->tid, &task)) {
		node = kl_why_explain(w->why, task, w->from_ns, now_ns);
		if (!node)
			return cli_library_error(-errno, NULL);
		w->seen = true;
	}
	/* It may have exited before. */
	if (node ? node->ns : !w->seen && !is_last)
		status = print(w, node, now_ns);
	kl_why_node_destroy(node);
	if (status)
		return status;
	error = kl_why_forget(w->why, w->from_ns);
	w->from_ns = now_ns;
	w->lost = 0;
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

/* -------------------------------------------------------------------- running */

static int follow(void *context)
{
	struct watching *w = context;
	struct cli_session *session = &w->watch->recording->session;
	struct cli_refresh refresh = { .recording = w->watch->recording,
				       .interval_ns = w->watch->interval_ns,
				       .take = take,
				       .show = show,
				       .context = w };
	int status;

	w->tid = w->watch->tid ? w->watch->tid : session->child.pid;
	cli_session_name_addresses(session);
	/* Has the symbols read now, which takes long, and not while events wait. */
	kl_addresses_get(kl_schema_addresses(session->schema), UINT64_MAX);
	w->why = kl_why_create(session->schema);
	if (!w->why)
		return cli_library_error(-errno, NULL);
	status = cli_refresh_run(&refresh);
	kl_why_destroy(w->why);
	return status;
}

int cli_why_watch(const struct cli_why_watch *watch)
{
	struct watching w = { .watch = watch };

	/* Numbers of disks are those of this boot. */
	if (!cli_read_line("/proc/sys/kernel/random/boot_id", w.boot_id, sizeof(w.boot_id), ""))
		w.boot_id[0] = '\0';
	return cli_refresh_open(watch->recording, follow, &w);
}
