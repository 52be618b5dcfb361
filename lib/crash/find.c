// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the module's pages in a dump: anchors, the pages of their sessions, and what these refer
 * to. A page belongs to an anchor if it has the anchor's random number, which no process knows.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <kernlens/timebase.h>
#include "../base/base.h"
#include "dump.h"

/*
 * More than any machine has. A process does not know the addresses of its pages, so hardly any that
 * it makes count; but the file may have been made on purpose.
 */
#define LOADS_MAX 4096
#define SESSIONS_MAX 65536
#define PAGES_MAX (16u << 20)

void kl_dump_damaged(const struct kl_dump *dump, const char *format, ...)
{
	va_list list;
	char *text;
	int length;

	if (!dump->ops.damaged)
		return;
	va_start(list, format);
	length = vasprintf(&text, format, list);
	va_end(list);
	if (length < 0)
		return;
	dump->ops.damaged(dump->ops.context, text);
	free(text);
}

/* ------------------------------------------------------- searching */

/* @shifts: of pages that are not where they say; for raw memory with a hole. */
struct search {
	struct kl_dump *dump;
	__u64 magic[2];
	uint64_t shift;
	size_t n_shifted;
	size_t capacity;
};

static bool is_consistent(const struct kl_crash_head *head)
{
	return head->constant <= KL_CRASH_PAGE - sizeof(*head) &&
	       head->sum == kl_crash_head_sum(head);
}

static int add_page(struct kl_dump *dump, const struct kl_crash_head *head)
{
	struct kl_dump_page *pages;

	if (dump->n_pages == PAGES_MAX)
		return kl_fail(E2BIG, "more pages than kernlens has on any machine");
	pages = kl_array_grow(dump->pages, dump->n_pages, &dump->pages_capacity, sizeof(*pages));
	if (!pages)
		return -errno;
	dump->pages = pages;
	pages += dump->n_pages++;
	pages->address = head->address;
	pages->anchor = head->anchor;
	pages->kind = head->kind;
	memcpy(pages->load, head->load, sizeof(pages->load));
	memcpy(pages->uuid, head->uuid, sizeof(pages->uuid));
	return 0;
}

/*
 * In raw memory, an address above a hole is the offset in the file plus the hole's size. The size
 * of which there is the most evidence wins, as in a majority vote.
 */
static void note_shift(struct search *search, uint64_t offset, uint64_t address)
{
	uint64_t shift = address - offset;

	if (!kl_image_is_raw(search->dump->image) || address < 1ull << 32 || shift > 2ull << 30 ||
	    shift % KL_CRASH_PAGE)
		return;
	if (shift == search->shift) {
		search->n_shifted++;
	} else if (!search->n_shifted) {
		search->shift = shift;
		search->n_shifted = 1;
	} else {
		search->n_shifted--;
	}
}

static int look_at_page(struct search *search, uint64_t address, const struct kl_crash_head *head)
{
	struct kl_dump *dump = search->dump;

	if (head->magic[0] != search->magic[0] || head->magic[1] != search->magic[1])
		return 0;
	if (head->address != address) {
		if (head->version == KL_CRASH_VERSION && is_consistent(head))
			note_shift(search, address, head->address);
		return 0;
	}
	if (head->version != KL_CRASH_VERSION && head->kind == KL_CRASH_ANCHOR) {
		dump->n_other++;
		dump->other = head->version;
		return 0;
	}
	if (head->version == KL_CRASH_VERSION && is_consistent(head))
		return add_page(dump, head);
	dump->n_broken++;
	kl_dump_damaged(dump, "the page at 0x%llx is damaged", (unsigned long long)address);
	return 0;
}

static int look(void *context, uint64_t address, const uint8_t *pages, size_t bytes)
{
	int ret = 0;

	for (size_t at = 0; at < bytes && !ret; at += KL_CRASH_PAGE)
		ret = look_at_page(context, address + at, (const void *)(pages + at));
	return ret;
}

static int compare_pages(const void *one, const void *two)
{
	const struct kl_dump_page *a = one, *b = two;

	return a->address < b->address ? -1 : a->address > b->address;
}

static int search_all(struct kl_dump *dump)
{
	struct search search = { .dump = dump };
	int ret;

	kl_crash_magic(search.magic);
	ret = kl_image_walk(dump->image, look, &search);
	if (!ret && search.shift && search.n_shifted) {
		dump->n_pages = 0;
		dump->n_other = 0;
		dump->n_broken = 0;
		ret = kl_image_set_hole(dump->image, search.shift);
		if (!ret)
			ret = kl_image_walk(dump->image, look, &search);
	}
	if (ret)
		return ret;
	if (dump->n_pages)
		qsort(dump->pages, dump->n_pages, sizeof(*dump->pages), compare_pages);
	return 0;
}

/* ------------------------------------------------------- what they are */

bool kl_dump_read_page(const struct kl_dump *dump, const struct kl_dump_page *page, void *to)
{
	const struct kl_crash_head *head = to;

	return kl_image_read(dump->image, page->address, to, KL_CRASH_PAGE) &&
	       head->kind == page->kind && head->address == page->address &&
	       !memcmp(head->load, page->load, sizeof(page->load)) && is_consistent(head);
}

const struct kl_dump_page *kl_dump_page_at(const struct kl_dump *dump,
					   const struct kl_dump_page *anchor, uint64_t address)
{
	const struct kl_dump_page key = { .address = address };
	const struct kl_dump_page *page = dump->n_pages ? bsearch(&key, dump->pages, dump->n_pages,
								  sizeof(key), compare_pages) :
							  NULL;

	return page && page->anchor == anchor->address &&
			       !memcmp(page->load, anchor->load, sizeof(page->load)) ?
		       page :
		       NULL;
}

/* Texts of the module end with a NUL; those of others may not. */
static void take_text(char *to, size_t size, const char *from, size_t bytes)
{
	snprintf(to, size, "%.*s", (int)strnlen(from, bytes), from);
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || *to == 127)
			*to = '?';
}

static void take_time(struct kl_dump_load *load)
{
	for (int i = 0; i < 2; i++) {
		const struct kl_crash_time *now = &load->anchor.now[i];

		if (now->sum != kl_crash_time_sum(now))
			continue;
		if (!load->now.sum || now->monotonic_ns > load->now.monotonic_ns)
			load->now = *now;
	}
	load->machine.alive_ns = load->now.realtime_ns;
}

/* Room for one more load, or NULL with errno and an error text. */
static struct kl_dump_load *new_load(struct kl_dump *dump)
{
	struct kl_dump_load *loads;

	if (dump->n_loads == LOADS_MAX) {
		kl_fail(E2BIG, "the pages of more than %u loads of the module", LOADS_MAX);
		return NULL;
	}
	loads = kl_array_grow(dump->loads, dump->n_loads, &dump->loads_capacity, sizeof(*loads));
	if (!loads)
		return NULL;
	dump->loads = loads;
	return &loads[dump->n_loads++];
}

static int add_load(struct kl_dump *dump, const struct kl_dump_page *page)
{
	union {
		struct kl_crash_anchor anchor;
		uint8_t bytes[KL_CRASH_PAGE];
	} read;
	struct kl_dump_load *load;
	struct kl_dump_machine *m;

	if (!kl_dump_read_page(dump, page, &read))
		return 0;
	load = new_load(dump);
	if (!load)
		return -errno;
	*load = (struct kl_dump_load){ .page = *page, .anchor = read.anchor };
	m = &load->machine;
	m->anchor = page->address;
	m->schema_hash = read.anchor.schema_hash;
	take_text(m->boot_id, sizeof(m->boot_id), read.anchor.boot_id, sizeof(read.anchor.boot_id));
	take_text(m->release, sizeof(m->release), read.anchor.release, sizeof(read.anchor.release));
	take_text(m->version, sizeof(m->version), read.anchor.version, sizeof(read.anchor.version));
	take_text(m->hostname, sizeof(m->hostname), read.anchor.hostname,
		  sizeof(read.anchor.hostname));
	take_time(load);
	return 0;
}

/* Wall time of a clock's reading, as far as the two instants tell. */
static uint64_t wall_ns(const struct kl_dump_load *load, const struct kl_crash_time *created,
			uint64_t cycles)
{
	const struct kl_abi_time first = {
		.clock = load->anchor.clock,
		.cycles = created->cycles,
		.monotonic_ns = created->monotonic_ns,
		.realtime_ns = created->realtime_ns,
		.clock_hz = load->anchor.clock_hz,
	};
	struct kl_timebase base;

	return cycles && !kl_timebase_fit(&base, &first, NULL) ? kl_timebase_ns(&base, cycles) : 0;
}

static int add_session(struct kl_dump *dump, size_t machine, const struct kl_dump_page *page)
{
	const struct kl_dump_load *load = &dump->loads[machine];
	union {
		struct kl_crash_session session;
		uint8_t bytes[KL_CRASH_PAGE];
	} read;
	struct kl_dump_found *sessions, *found;
	struct kl_dump_session *s;

	if (!kl_dump_read_page(dump, page, &read))
		return 0;
	if (dump->n_sessions == SESSIONS_MAX)
		return kl_fail(E2BIG, "more than %u sessions", SESSIONS_MAX);
	sessions = kl_array_grow(dump->sessions, dump->n_sessions, &dump->sessions_capacity,
				 sizeof(*sessions));
	if (!sessions)
		return -errno;
	dump->sessions = sessions;
	found = &sessions[dump->n_sessions++];
	*found = (struct kl_dump_found){ .page = read.session, .address = page->address };
	s = &found->session;
	s->machine = machine;
	s->id = read.session.id;
	s->uid = read.session.uid;
	s->creator = read.session.creator;
	s->mode = read.session.mode;
	s->block_bytes = read.session.block_bytes;
	take_text(s->name, sizeof(s->name), read.session.name, sizeof(read.session.name));
	s->created_ns = read.session.created.realtime_ns;
	s->began_ns = wall_ns(load, &read.session.created, read.session.began);
	s->ended_ns = wall_ns(load, &read.session.created, read.session.ended);
	s->has_metadata = read.session.region[KL_CRASH_METADATA];
	return 0;
}

static int compare_sessions(const void *one, const void *two)
{
	const struct kl_dump_session *a = one, *b = two;

	if (a->machine != b->machine)
		return a->machine < b->machine ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* The anchor says which sessions there must be. */
static void look_for_listed(const struct kl_dump *dump, const struct kl_dump_load *load)
{
	for (size_t i = 0; i < KL_CRASH_ANCHOR_SESSIONS; i++) {
		uint64_t address = load->anchor.session[i];
		const struct kl_dump_page *page = kl_dump_page_at(dump, &load->page, address);

		if (address && (!page || page->kind != KL_CRASH_SESSION))
			kl_dump_damaged(dump,
					"a session's page at 0x%llx is damaged: the session is lost",
					(unsigned long long)address);
	}
}

/* Index of the load that a page belongs to, or their number if it is unknown. */
static size_t find_load(const struct kl_dump *dump, const struct kl_dump_page *page)
{
	size_t i = 0;

	while (i < dump->n_loads &&
	       (dump->loads[i].page.address != page->anchor ||
		memcmp(dump->loads[i].page.load, page->load, sizeof(page->load))))
		i++;
	return i;
}

/* A session whose anchor is damaged has all that a trace needs but the machine's names. */
static int add_orphan(struct kl_dump *dump, const struct kl_dump_page *page)
{
	struct kl_dump_load *load = new_load(dump);

	if (!load)
		return -errno;
	*load = (struct kl_dump_load){ .page = *page, .machine.anchor = page->anchor };
	load->page.address = page->anchor;
	kl_dump_damaged(dump, "the module's first page at 0x%llx is damaged",
			(unsigned long long)page->anchor);
	return 0;
}

static int add_sessions(struct kl_dump *dump)
{
	int ret = 0;

	for (size_t i = 0; i < dump->n_pages && !ret; i++) {
		const struct kl_dump_page *page = &dump->pages[i];
		size_t machine;

		if (page->kind != KL_CRASH_SESSION)
			continue;
		machine = find_load(dump, page);
		if (machine == dump->n_loads)
			ret = add_orphan(dump, page);
		if (!ret)
			ret = add_session(dump, machine, page);
	}
	return ret;
}

int kl_dump_find(struct kl_dump *dump)
{
	int ret = search_all(dump);

	for (size_t i = 0; i < dump->n_pages && !ret; i++)
		if (dump->pages[i].kind == KL_CRASH_ANCHOR)
			ret = add_load(dump, &dump->pages[i]);
	if (!ret)
		ret = add_sessions(dump);
	for (size_t i = 0; i < dump->n_loads && !ret; i++)
		look_for_listed(dump, &dump->loads[i]);
	if (!ret && dump->n_sessions)
		qsort(dump->sessions, dump->n_sessions, sizeof(*dump->sessions), compare_sessions);
	if (ret || dump->n_loads)
		return ret;
	if (dump->n_other)
		return kl_fail(EPROTONOSUPPORT,
			       "the module's pages have version %u, this kernlens reads version %u",
			       dump->other, KL_CRASH_VERSION);
	if (dump->n_pages || dump->n_broken)
		return kl_fail(EBADMSG,
			       "the module's first page is damaged or missing; %zu others "
			       "were found",
			       dump->n_pages + dump->n_broken);
	return kl_fail(ENOENT, "it has nothing of the kernlens module: it was not loaded, or the "
			       "file lacks the kernel's memory");
}
