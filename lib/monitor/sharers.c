// SPDX-License-Identifier: GPL-2.0
/*
 * Which processes map the same pages as one: the module gives each page that is mapped more than
 * once a number that stands for it in every process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/inspect.h>
#include <kernlens/memory.h>
#include "../base/base.h"
#include "../base/table.h"

struct page {
	uint64_t id;
	int seen_by; /* the process it was last counted for: it may map the page twice */
};

static int collect(const struct kl_page_runs *runs, struct kl_hash *pages)
{
	for (size_t i = 0; i < runs->n; i++)
		if (!kl_hash_get(pages, runs->run[i].frame | 1))
			return kl_fail(ENOMEM, "out of memory");
	return 0;
}

static uint64_t count_common(const struct kl_hash *pages, const struct kl_page_runs *runs, int pid)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < runs->n; i++) {
		struct page *page = kl_hash_find(pages, runs->run[i].frame | 1);

		if (!page || page->seen_by == pid)
			continue;
		page->seen_by = pid;
		bytes += KL_DETAIL_PAGE_BYTES;
	}
	return bytes;
}

static int by_size(const void *a, const void *b)
{
	const struct kl_memory_sharer *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->pid - y->pid;
}

/* A process may end at any time, and then shares nothing. */
static int read_pages(struct kl_device *device, int pid, struct kl_page_runs *runs)
{
	int ret = kl_page_runs_read(device, pid, KL_DETAIL_SHARED_PAGES, runs);

	if (ret == -ESRCH || ret == -EAGAIN)
		return 0;
	return ret;
}

static int add_sharer(struct kl_device *device, const struct kl_hash *pages,
		      struct kl_memory_sharer *sharer)
{
	struct kl_page_runs runs;
	int ret = read_pages(device, sharer->pid, &runs);

	sharer->bytes = ret ? 0 : count_common(pages, &runs, sharer->pid);
	kl_page_runs_deinit(&runs);
	return ret;
}

static int add_sharers(struct kl_device *device, int pid, const struct kl_hash *pages,
		       const struct kl_inspect *inspect, size_t rows, struct kl_memory_sharer *to,
		       size_t *n)
{
	int ret = 0;

	for (size_t row = 0; !ret && row < rows; row++) {
		const struct kl_value comm = kl_inspect_value(inspect, row, 0);
		bool there;

		to[*n] = (struct kl_memory_sharer){ .pid = kl_inspect_row(inspect, row, &there) };
		if (to[*n].pid == pid || !there)
			continue;
		ret = add_sharer(device, pages, &to[*n]);
		if (!to[*n].bytes)
			continue;
		memcpy(to[*n].comm, comm.bytes,
		       comm.length < KL_COMM_LEN ? comm.length : KL_COMM_LEN - 1);
		++*n;
	}
	return ret;
}

static int find_sharers(struct kl_device *device, int pid, const struct kl_hash *pages,
			struct kl_memory_sharer **sharers, size_t *n)
{
	const uint32_t comm = kl_variable_find("comm")->id;
	struct kl_inspect *inspect = kl_inspect_create(device, &comm, 1);
	int rows = inspect ? kl_inspect_read(inspect, NULL, 0, 0) : -errno;
	int ret = rows < 0 ? rows : 0;

	if (!ret) {
		*sharers = calloc((size_t)rows + 1, sizeof(**sharers));
		ret = *sharers ? 0 : kl_fail(ENOMEM, "out of memory");
	}
	if (!ret)
		ret = add_sharers(device, pid, pages, inspect, (size_t)rows, *sharers, n);
	kl_inspect_destroy(inspect);
	return ret;
}

int kl_memory_sharers(struct kl_device *device, int pid, struct kl_memory_sharer **sharers,
		      size_t *n)
{
	struct kl_hash pages = { .size = sizeof(struct page) };
	struct kl_page_runs runs;
	int ret = kl_page_runs_read(device, pid, KL_DETAIL_SHARED_PAGES, &runs);

	*sharers = NULL;
	*n = 0;
	if (!ret)
		ret = collect(&runs, &pages);
	if (!ret)
		ret = find_sharers(device, pid, &pages, sharers, n);
	if (ret) {
		free(*sharers);
		*sharers = NULL;
		*n = 0;
	} else {
		qsort(*sharers, *n, sizeof(**sharers), by_size);
	}
	kl_hash_deinit(&pages);
	kl_page_runs_deinit(&runs);
	return ret;
}
