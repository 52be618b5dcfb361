// SPDX-License-Identifier: GPL-2.0
/* The physical memory of a process: contiguous ranges of frames, whatever their address. */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/memory.h>
#include "../base/base.h"

static int by_frame(const void *a, const void *b)
{
	const struct kl_page_range *x = a, *y = b;

	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* Are both one range? A page that is mapped twice is in two runs. */
static bool is_joined(struct kl_page_range *last, const struct kl_page_range *next)
{
	const uint64_t last_end = last->frame + last->pages, end = next->frame + next->pages;

	if (last_end < next->frame || last->node != next->node || last->zone != next->zone)
		return false;
	if (end > last_end)
		last->pages = end - last->frame;
	return true;
}

struct kl_page_range *kl_page_ranges(const struct kl_page_runs *runs, size_t *n)
{
	struct kl_page_range *range = malloc((runs->n + 1) * sizeof(*range));
	size_t all = 0;

	*n = 0;
	if (!range) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < runs->n; i++) {
		const struct kl_abi_detail_pages *run = &runs->run[i];

		if (run->frame && kl_page_run_is_in_ram(run))
			range[all++] = (struct kl_page_range){ .frame = run->frame,
							       .pages = run->pages,
							       .node = run->node,
							       .zone = run->zone };
	}
	qsort(range, all, sizeof(*range), by_frame);
	for (size_t i = 0; i < all; i++)
		if (!*n || !is_joined(&range[*n - 1], &range[i]))
			range[(*n)++] = range[i];
	return range;
}
