// SPDX-License-Identifier: GPL-2.0
/*
 * The pages of a process, from KL_IOC_DETAIL: read in several calls into one array of runs. A call
 * visits a limited number of pages, so its reply may be empty although there are more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/memory.h>
#include "../base/base.h"
#include "client.h"

#define ROOM 262144 /* bytes a call */

static bool continues(const struct kl_abi_detail_pages *run, const struct kl_abi_detail_pages *next)
{
	uint64_t frame = run->frame ? run->frame + run->pages : 0;

	return run->start + (uint64_t)run->pages * KL_DETAIL_PAGE_BYTES == next->start &&
	       run->flags == next->flags && run->mapcount == next->mapcount &&
	       run->node == next->node && run->zone == next->zone &&
	       run->map_order == next->map_order && run->folio_order == next->folio_order &&
	       frame == next->frame && run->pages < UINT32_MAX - next->pages;
}

static int add(struct kl_page_runs *runs, const struct kl_abi_detail_pages *next)
{
	void *more;

	if (runs->n && continues(&runs->run[runs->n - 1], next)) {
		runs->run[runs->n - 1].pages += next->pages;
		return 0;
	}
	more = kl_array_grow(runs->run, runs->n, &runs->capacity, sizeof(*runs->run));
	if (!more)
		return kl_fail(ENOMEM, "out of memory");
	runs->run = more;
	runs->run[runs->n++] = *next;
	return 0;
}

/* The module may be a newer one, whose records are longer. */
static int take(struct kl_page_runs *runs, const char *record, size_t bytes)
{
	int ret = 0;

	while (!ret && bytes) {
		struct kl_abi_detail_pages next;
		uint32_t length;

		if (bytes < sizeof(next))
			return kl_fail(EPROTO, "cannot decode the module's reply");
		memcpy(&next, record, sizeof(next));
		length = next.record.bytes;
		if (length < sizeof(next) || length > bytes ||
		    next.record.kind != KL_DETAIL_PAGES || !next.pages)
			return kl_fail(EPROTO, "cannot decode the module's reply");
		ret = add(runs, &next);
		record += length;
		bytes -= length;
	}
	return ret;
}

int kl_page_runs_read(struct kl_device *device, int pid, uint32_t what, struct kl_page_runs *runs)
{
	struct kl_abi_detail call = { .pid = pid, .what = what, .proof = -1 };
	char *room = malloc(ROOM);
	uint64_t cursor;
	int ret;

	memset(runs, 0, sizeof(*runs));
	if (!room)
		return kl_fail(ENOMEM, "out of memory");
	do {
		cursor = call.cursor;
		call.buffer = (uintptr_t)room;
		call.bytes = ROOM;
		ret = kl_client_call(device->fd, KL_IOC_DETAIL, &call, sizeof(call),
				     "inspect the process");
		if (!ret)
			ret = take(runs, room, call.bytes);
	} while (!ret && call.flags & KL_DETAIL_MORE && call.cursor > cursor);
	free(room);
	if (ret)
		kl_page_runs_deinit(runs);
	return ret;
}

void kl_page_runs_deinit(struct kl_page_runs *runs)
{
	free(runs->run);
	memset(runs, 0, sizeof(*runs));
}
