// SPDX-License-Identifier: GPL-2.0
/*
 * How many pages page faults brought. A fault that writes to a page that is not there brings this
 * page, or a larger unit of anonymous memory. One that reads may bring a file's pages around it as
 * well, or the page of zeros, which does not count. One that is not allowed to write copies a page.
 *
 * The process's RSS shows the sum, but late: the kernel adds up the pages of a CPU or thread first.
 * So faults that write count at once, and what the RSS grows by beyond that belongs to those that
 * read.
 */
#include <errno.h>
#include <stdlib.h>

#include "faults.h"

/* Bits of a page fault's error code. */
#define PRESENT 1u
#define WRITE 2u

#define AROUND_PAGES 16 /* of a file, around a fault that reads */
#define LARGE_PAGES 512 /* of anonymous memory at most */

/*
 * Faults that read within which the RSS grows, unless they brought nothing: twice the faults or
 * pages that the kernel adds up first, since the first of them may come at any time in between.
 */
#define READ_MAX 128

/* Take up to @n pages: that of the fault, and the nearest in an aligned range of @span pages. */
static int take_pages(const struct kl_growth_fault *fault, uint64_t n, uint64_t span,
		      kl_growth_take_fn take, void *context)
{
	const uint64_t first = fault->page & ~(span - 1), end = first + span;
	int taken = n ? take(context, fault, fault->page, true, false) : 0;

	n -= taken > 0;
	for (uint64_t i = 1; taken >= 0 && n && i < span; i++) {
		if (fault->page + i < end) {
			taken = take(context, fault, fault->page + i, false, true);
			n -= taken > 0;
		}
		if (taken >= 0 && n && fault->page >= first + i) {
			taken = take(context, fault, fault->page - i, false, true);
			n -= taken > 0;
		}
	}
	for (; taken >= 0 && n; n--)
		taken = take(context, fault, KL_GROWTH_NOWHERE, true, true);
	return taken < 0 ? taken : 0;
}

/* Each fault that has read brought its share of @pages. */
static int settle_read(struct kl_growth_faults *f, uint64_t pages, kl_growth_take_fn take,
		       void *context)
{
	int error = 0;

	for (size_t i = 0; !error && i < f->n; i++) {
		const uint64_t share = pages / (f->n - i) + (pages % (f->n - i) ? 1 : 0);

		error = take_pages(&f->read[i], share, AROUND_PAGES, take, context);
		pages -= share;
	}
	f->n = 0;
	return error;
}

/* The latest fault brought @n pages, a power of two, of which its own has been counted. */
static int take_unit(const struct kl_growth_faults *f, uint64_t n, kl_growth_take_fn take,
		     void *context)
{
	const uint64_t first = f->last.page & ~(n - 1);
	int taken = 0;

	for (uint64_t i = first; taken >= 0 && i < first + n; i++)
		taken = i == f->last.page ? 0 : take(context, &f->last, i, false, true);
	return taken < 0 ? taken : 0;
}

/* The RSS has grown by pages that no fault has counted. */
static int settle_growth(struct kl_growth_faults *f, uint64_t pages, kl_growth_take_fn take,
			 void *context)
{
	uint64_t unit = 1;
	int error;

	if (pages <= f->n * AROUND_PAGES)
		return settle_read(f, pages, take, context);
	/* The latest fault brought several pages, or a fault that is not in the trace did. */
	pages -= f->n;
	error = settle_read(f, f->n, take, context);
	while (unit * 2 <= pages + 1 && unit < LARGE_PAGES)
		unit *= 2;
	return error || !f->has_written ? error : take_unit(f, unit, take, context);
}

int kl_growth_faults_settle(struct kl_growth_faults *f, uint64_t rss, kl_growth_take_fn take,
			    void *context)
{
	uint64_t grown = f->has_rss && rss > f->rss ? rss - f->rss : 0;
	const bool has_shrunk = f->has_rss && rss < f->rss;
	int error = 0;

	f->rss = rss;
	f->has_rss = true;
	/* The kernel adds large units at once, whatever it has not added yet. */
	if (f->has_written && grown >= LARGE_PAGES) {
		error = take_unit(f, LARGE_PAGES, take, context);
		grown -= LARGE_PAGES - 1;
	}
	if (error)
		return error;
	if (has_shrunk) {
		f->unseen = 0;
		error = settle_read(f, f->n, take, context);
	} else if (grown > f->unseen) {
		error = settle_growth(f, grown - f->unseen, take, context);
		f->unseen = 0;
	} else {
		f->unseen -= grown;
	}
	f->has_written = false;
	return error;
}

int kl_growth_faults_add(struct kl_growth_faults *f, const struct kl_growth_fault *fault,
			 uint64_t error_code, kl_growth_take_fn take, void *context)
{
	int taken;

	f->last = *fault;
	f->has_written = error_code & WRITE && !(error_code & PRESENT);
	if (error_code & PRESENT || error_code & WRITE) {
		taken = take(context, fault, fault->page, !(error_code & PRESENT), false);
		f->unseen += taken > 0 && !(error_code & PRESENT);
		return taken < 0 ? taken : 0;
	}
	if (!f->read)
		f->read = calloc(READ_MAX, sizeof(*f->read));
	if (!f->read)
		return -ENOMEM;
	/* So many that have brought nothing. */
	if (f->n == READ_MAX)
		f->n = 0;
	f->read[f->n++] = *fault;
	return 0;
}

int kl_growth_faults_end(struct kl_growth_faults *f, kl_growth_take_fn take, void *context)
{
	return settle_read(f, f->n, take, context);
}

void kl_growth_faults_deinit(struct kl_growth_faults *f)
{
	free(f->read);
}
