// SPDX-License-Identifier: GPL-2.0
/* Regions of a session's memory that do not move: its metadata and its stack traces. */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/error.h>
#include "../base/base.h"
#include "dump.h"

/* More than the module allocates. */
#define REGION_MAX (1u << 30)

/* @page: room for a page. @generation: of all its pages. */
struct region {
	struct kl_crash_region *page;
	enum kl_crash_region_kind kind;
	uint64_t generation;
	uint8_t *bytes;
	size_t length;
	size_t done;
};

static bool read_page(const struct kl_dump *dump, const struct kl_dump_found *session,
		      const struct kl_dump_page *page, const struct region *region)
{
	return kl_dump_belongs(dump, session, page, KL_CRASH_REGION) &&
	       kl_dump_read_page(dump, page, region->page) && region->page->kind == region->kind;
}

/* Find the page with a number. */
static bool find_page(const struct kl_dump *dump, const struct kl_dump_found *session,
		      uint32_t number, struct region *region)
{
	for (size_t i = 0; i < dump->n_pages; i++)
		if (read_page(dump, session, &dump->pages[i], region) &&
		    region->page->generation == region->generation &&
		    region->page->number == number)
			return true;
	return false;
}

/* The region that the session refers to; if that page is damaged, the newest one. */
static bool choose_region(const struct kl_dump *dump, const struct kl_dump_found *session,
			  struct region *region)
{
	uint64_t address = session->page.region[region->kind];
	bool any = false;

	for (size_t i = 0; i < dump->n_pages; i++) {
		if (!read_page(dump, session, &dump->pages[i], region))
			continue;
		if (!any || region->page->generation > region->generation)
			region->generation = region->page->generation;
		any = true;
		if (dump->pages[i].address != address)
			continue;
		region->generation = region->page->generation;
		break;
	}
	return any;
}

/* Copy what a page refers to. */
static bool take_page(const struct kl_dump *dump, struct region *region)
{
	const struct kl_crash_region *page = region->page;

	if (page->n > KL_CRASH_REGION_WORDS || page->first >= KL_CRASH_PAGE)
		return false;
	for (uint32_t i = 0; i < page->n && region->done < region->length; i++) {
		size_t skip = page->number || i ? 0 : page->first;
		size_t part = KL_CRASH_PAGE - skip;

		if (part > region->length - region->done)
			part = region->length - region->done;
		if (!kl_image_read(dump->image, page->word[i] + skip, region->bytes + region->done,
				   part))
			return false;
		region->done += part;
	}
	return true;
}

static int read_region(const struct kl_dump *dump, const struct kl_dump_found *session,
		       struct region *region)
{
	if (!choose_region(dump, session, region) || !find_page(dump, session, 0, region) ||
	    region->page->bytes > REGION_MAX)
		return -EBADMSG;
	region->length = region->page->bytes;
	region->bytes = malloc(region->length + 1);
	if (!region->bytes)
		return kl_fail(ENOMEM, "out of memory");
	for (uint32_t number = 0; region->done < region->length; number++) {
		size_t before = region->done;

		if ((number && !find_page(dump, session, number, region)) ||
		    !take_page(dump, region) || region->done == before)
			return -EBADMSG;
	}
	region->bytes[region->length] = 0;
	if (KL_CRASH_IS_TEXT(region->kind) &&
	    kl_crash_sum(KL_CRASH_SUM_BEGIN, region->bytes, (uint32_t)region->length) !=
		    region->page->sum)
		return -EBADMSG;
	return 0;
}

int kl_dump_read_region(const struct kl_dump *dump, const struct kl_dump_found *session,
			enum kl_crash_region_kind kind, struct kl_dump_bytes *to)
{
	struct region region = { .kind = kind };
	int ret;

	if (!session->page.region[kind])
		return 0;
	region.page = malloc(KL_CRASH_PAGE);
	if (!region.page)
		return kl_fail(ENOMEM, "out of memory");
	ret = read_region(dump, session, &region);
	free(region.page);
	if (ret) {
		free(region.bytes);
		return ret;
	}
	*to = (struct kl_dump_bytes){ (char *)region.bytes, region.length };
	return 0;
}
