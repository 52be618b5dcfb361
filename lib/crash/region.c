// SPDX-License-Identifier: GPL-2.0
/*
 * Regions of a session's memory that do not move: its metadata and its stack traces. Writes the
 * stack traces to the session's trace, with the names of kernel functions if this machine runs the
 * same kernel.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/error.h>
#include <kernlens/stack.h>
#include <kernlens/stack_store.h>
#include <kernlens/symbols.h>
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
	if (region->kind == KL_CRASH_METADATA &&
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

/* ------------------------------------------------------- stack traces */

/* @shift: from addresses here to those of the machine. @same_boot: it is this machine, running. */
struct names {
	struct kl_symbols *symbols;
	uint64_t shift;
	bool same_boot;
};

/* This machine's symbols name the other's functions if both run the same kernel. */
static struct names open_names(const struct kl_dump_load *load)
{
	struct names names = { 0 };
	struct kl_trace_info here;
	struct kl_symbol symbol;

	kl_trace_info_init(&here);
	if (!load->anchor.text_address || strcmp(here.kernel_release, load->machine.release) ||
	    strcmp(here.kernel_version, load->machine.version))
		return names;
	names.symbols = kl_symbols_open(NULL);
	if (!names.symbols || kl_symbols_hidden(names.symbols) ||
	    !kl_symbols_lookup(names.symbols, "kernel:" KL_CRASH_SYMBOL, &symbol)) {
		kl_symbols_close(names.symbols);
		names.symbols = NULL;
		return names;
	}
	names.shift = load->anchor.text_address - symbol.address;
	names.same_boot = here.boot_id[0] && !strcmp(here.boot_id, load->machine.boot_id);
	return names;
}

/* In another boot, modules are elsewhere: only the kernel's own functions have names then. */
static void name_frame(const struct names *names, struct kl_frame *frame, bool exact)
{
	struct kl_symbol symbol;
	uint64_t offset, address = frame->address - names->shift - !exact;

	if (!names->symbols || kl_symbols_around(names->symbols, address, &symbol, &offset) ||
	    (*symbol.module && !names->same_boot))
		return;
	frame->symbol = symbol.name;
	frame->object = *symbol.module ? symbol.module : NULL;
	frame->offset = offset + !exact;
}

static int add_stack(struct kl_stacks *stacks, const struct names *names,
		     const struct kl_crash_stack *entry, const uint8_t *words, size_t n_words)
{
	struct kl_frame frame[KL_STACK_FRAMES_MAX] = {};
	struct kl_stack stack = {
		.id = entry->about.id,
		.kind = entry->about.kind,
		.flags = entry->about.flags,
		.pid = entry->about.pid,
		.n = entry->about.frames,
		.frame = frame,
	};

	if (stack.kind != KL_STACK_KERNEL && stack.kind != KL_STACK_USER)
		return -EBADMSG;
	if (!stack.n || stack.n > KL_STACK_FRAMES_MAX || entry->at > n_words ||
	    stack.n > n_words - entry->at)
		return -EBADMSG;
	for (unsigned int i = 0; i < stack.n; i++) {
		frame[i].address = kl_get64(words + 8 * ((size_t)entry->at + i));
		frame[i].uncertain = i >= entry->about.certain;
		if (stack.kind == KL_STACK_KERNEL)
			name_frame(names, &frame[i], !i && stack.flags & KL_STACK_EXACT);
	}
	return kl_stacks_add(stacks, &stack);
}

int kl_dump_save_stacks(const struct kl_dump *dump, const struct kl_dump_load *load,
			struct kl_dump_parts *parts, const char *path)
{
	const struct kl_dump_bytes *entries = &parts->region[KL_CRASH_STACKS];
	const struct kl_dump_bytes *words = &parts->region[KL_CRASH_STACK_WORDS];
	struct kl_stacks *stacks;
	struct names names;
	size_t damaged = 0;
	int ret = 0;

	if (!entries->bytes || !words->bytes)
		return 0;
	stacks = kl_stacks_create();
	if (!stacks)
		return -errno;
	names = open_names(load);
	for (size_t i = 0; i < entries->length / sizeof(struct kl_crash_stack) && !ret; i++) {
		struct kl_crash_stack entry;

		memcpy(&entry, entries->bytes + i * sizeof(entry), sizeof(entry));
		if (entry.state != KL_CRASH_STACK_READY)
			continue;
		ret = entry.about.id == i + 1 ?
			      add_stack(stacks, &names, &entry, (const uint8_t *)words->bytes,
					words->length / 8) :
			      -EBADMSG;
		damaged += ret == -EBADMSG || ret == -EINVAL;
		ret = ret == -ENOMEM ? ret : 0;
	}
	if (damaged) {
		parts->damaged += damaged;
		kl_dump_damaged(dump, "%zu stack traces are damaged", damaged);
	}
	if (!ret)
		ret = kl_stacks_save(stacks, path);
	kl_symbols_close(names.symbols);
	kl_stacks_destroy(stacks);
	kl_error_clear();
	return ret;
}
