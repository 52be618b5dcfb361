// SPDX-License-Identifier: GPL-2.0
/*
 * Prints at an interval which code makes processes grow, while they run, and what is new. A page is
 * written anew each time.
 */
#include <errno.h>
#include <stdio.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../session/refresh.h"
#include "growth.h"

static int add_item(void *context, const struct kl_item *item)
{
	const struct cli_growth *g = context;

	if (item->kind == KL_ITEM_EVENT && cli_session_is_own(&g->recording.session, item->event))
		return 0;
	return kl_growth_add(g->growth, item);
}

static void walk(void *context)
{
	cli_growth_walk(context);
}

static int show(void *context, uint64_t now_ns, bool is_last)
{
	struct cli_growth *g = context;
	int status;

	kl_growth_update(g->growth, now_ns);
	if (g->html) {
		g->memory.refreshes = !is_last;
		return cli_growth_write_page(g);
	}
	if (!cli_settings.json)
		cli_clear_screen();
	status = cli_growth_write(g, stdout);
	if (!status && !cli_settings.json)
		putchar('\n');
	kl_growth_mark(g->growth);
	return status;
}

static int watch(void *context)
{
	struct cli_growth *g = context;
	struct cli_refresh refresh = { .recording = &g->recording,
				       .interval_ns = g->interval_ns,
				       .take = add_item,
				       .poll = g->html ? walk : NULL,
				       .show = show,
				       .context = g };
	int status;

	g->schema = g->recording.session.schema;
	g->growth = kl_growth_create(g->schema);
	if (!g->growth)
		return cli_library_error(-errno, NULL);
	status = cli_refresh_run(&refresh);
	kl_growth_destroy(g->growth);
	g->growth = NULL;
	return status;
}

int cli_growth_watch(struct cli_growth *g, const struct cli_command *self)
{
	int status = cli_growth_select(g, self);

	return status ? status : cli_refresh_open(&g->recording, watch, g);
}
