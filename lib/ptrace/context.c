// SPDX-License-Identifier: GPL-2.0
/*
 * Finds and moves saved contexts that a process's threads may return to. A signal handler's
 * interrupted context is on its stack, and programs that switch threads themselves save contexts
 * anywhere. So all writable memory that is present is searched for addresses in the text being
 * changed. A context is recognized by its layout, which is also that of the C library: rsp, rip,
 * flags, segments.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/base.h"
#include "tracer.h"

#define PRESENT (3ull << 62) /* in memory, or swapped out */
#define AT_ONCE 512 /* pages */
#define WRITABLE_MAX (64ull << 30)
#define PRESENT_MAX (2ull << 30)
#define WORD_BYTES 8
#define USER_CODE 0x33
#define FLAGS_ALWAYS 2ull
#define FLAGS_NEVER (~0x3fffffull | 0x28)

struct look {
	struct kl_context_move *move;
	int memory, pages;
	uint64_t writable, present;
	unsigned int left; /* addresses that could not be moved */
};

static bool is_context(const uint64_t *context)
{
	return (context[2] & FLAGS_ALWAYS) && !(context[2] & FLAGS_NEVER) &&
	       (context[3] & 0xffff) == USER_CODE;
}

/* Handle a word that is such an address: move the context if it is the rip of one. */
static void take_word(struct look *l, uint64_t at, uint64_t word)
{
	uint64_t context[4];
	struct kl_context c;

	if (pread(l->memory, context, sizeof(context), (off_t)(at - WORD_BYTES)) !=
		    sizeof(context) ||
	    context[1] != word || !is_context(context)) {
		l->left++;
		return;
	}
	c = (struct kl_context){ .rsp = context[0], .rip = context[1], .flags = context[2] };
	if (!l->move->move(l->move, &c)) {
		l->left++;
		return;
	}
	context[0] = c.rsp;
	context[1] = c.rip;
	context[2] = c.flags;
	if (l->move->really &&
	    pwrite(l->memory, context, 3 * WORD_BYTES, (off_t)(at - WORD_BYTES)) != 3 * WORD_BYTES)
		l->left++;
}

static void look_at(struct look *l, uint64_t begin)
{
	uint64_t word[KL_PAGE_BYTES / WORD_BYTES];
	ssize_t n = pread(l->memory, word, sizeof(word), (off_t)begin);

	for (ssize_t i = 0; i < n / WORD_BYTES; i++)
		if (word[i] - l->move->begin < l->move->bytes &&
		    l->move->is_inside(l->move, word[i]))
			take_word(l, begin + (uint64_t)i * WORD_BYTES, word[i]);
}

static int look_through(struct look *l, const struct kl_mapping *m)
{
	uint64_t page = m->begin, entry[AT_ONCE];

	while (page < m->end) {
		size_t n = (m->end - page) / KL_PAGE_BYTES;

		n = n < AT_ONCE ? n : AT_ONCE;
		if (pread(l->pages, entry, n * sizeof(*entry),
			  (off_t)(page / KL_PAGE_BYTES * sizeof(*entry))) !=
		    (ssize_t)(n * sizeof(*entry)))
			return -EIO;
		for (size_t i = 0; i < n; i++, page += KL_PAGE_BYTES) {
			if (!(entry[i] & PRESENT))
				continue;
			l->present += KL_PAGE_BYTES;
			look_at(l, page);
		}
		if (l->present > PRESENT_MAX)
			return -E2BIG;
	}
	return 0;
}

/* Reading device memory may have side effects. */
static bool is_device(const struct kl_mapping *m)
{
	return !strncmp(m->name, "/dev/", 5) && strncmp(m->name, "/dev/shm/", 9) != 0 &&
	       strncmp(m->name, "/dev/zero", 9) != 0;
}

static int open_pages(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int kl_contexts_move(pid_t tid, int memory, struct kl_context_move *move)
{
	struct look l = { .move = move, .memory = memory, .pages = open_pages(tid) };
	struct kl_maps maps;
	int ret = l.pages < 0 ? -errno : kl_maps_read(tid, &maps);

	for (size_t i = 0; !ret && i < maps.n; i++) {
		const struct kl_mapping *m = &maps.map[i];

		if (!m->writes || is_device(m))
			continue;
		l.writable += m->end - m->begin;
		ret = l.writable > WRITABLE_MAX ? -E2BIG : look_through(&l, m);
	}
	if (l.pages >= 0) {
		close(l.pages);
		kl_maps_free(&maps);
	}
	return ret ? ret : (int)l.left;
}
