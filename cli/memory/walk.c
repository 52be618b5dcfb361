// SPDX-License-Identifier: GPL-2.0
/* Reads the memory of a process at an interval, and keeps the latest read and the history. */
#include <errno.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "memory.h"

int cli_memory_walk_init(struct cli_memory_walk *walk, struct cli_memory *m, uint64_t interval_ns,
			 bool with_history)
{
	memset(walk, 0, sizeof(*walk));
	walk->m = m;
	walk->what = KL_DETAIL_PAGES;
	walk->interval_ns = interval_ns;
	walk->next_ns = cli_now_ns();
	if (!with_history)
		return CLI_OK;
	walk->history = kl_memory_history_create();
	/* A page shows frames, too. */
	return walk->history ? cli_memory_what(m, &walk->what) : cli_library_error(-errno, NULL);
}

void cli_memory_walk_deinit(struct cli_memory_walk *walk)
{
	if (walk->has_last)
		kl_memory_deinit(&walk->last);
	kl_memory_history_destroy(walk->history);
	memset(walk, 0, sizeof(*walk));
}

static int take(struct cli_memory_walk *walk, const struct kl_memory *now,
		int (*show)(const struct cli_memory *m, const struct kl_memory *before,
			    const struct kl_memory *now))
{
	const struct kl_memory *before = walk->has_last ? &walk->last : NULL;

	if (walk->history && kl_memory_history_add(walk->history, before, now))
		return cli_library_error(-errno, NULL);
	return show && before ? show(walk->m, before, now) : CLI_OK;
}

int cli_memory_walk_step(struct cli_memory_walk *walk,
			 int (*show)(const struct cli_memory *m, const struct kl_memory *before,
				     const struct kl_memory *now))
{
	const struct cli_memory *m = walk->m;
	struct kl_memory now;
	int error = kl_memory_read(m->device, m->pid, walk->what, &now), status;

	walk->next_ns += walk->interval_ns;
	/* A zombie still exists, without memory. */
	if (!error && now.list.flags & KL_DETAIL_ENDED) {
		kl_memory_deinit(&now);
		error = -ESRCH;
	}
	if (error) {
		walk->has_ended = error == -ESRCH;
		return walk->has_ended ? CLI_OK : cli_library_error(error, NULL);
	}
	status = take(walk, &now, show);
	if (walk->has_last)
		kl_memory_deinit(&walk->last);
	walk->last = now;
	walk->has_last = true;
	return status;
}
