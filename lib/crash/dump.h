/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A dump and the module's pages in it: find.c finds them, blocks.c collects a session's blocks,
 * region.c reads its metadata and stack traces, cut.c decides which records are whole, extract.c
 * writes them, and names.c what their IDs stand for.
 */
#ifndef KL_LIB_CRASH_DUMP_H
#define KL_LIB_CRASH_DUMP_H

#include <kernlens/crash.h>
#include <kernlens/cursor.h>
#include <kernlens/trace.h>
#include "../../uapi/crash.h"

/* A page that begins with the magic and whose sum is right. Only its head is kept. */
struct kl_dump_page {
	uint64_t address;
	uint64_t anchor;
	uint8_t load[16];
	uint8_t uuid[16];
	uint32_t kind;
};

/* @page: of the anchor. @now: when it was last noted; its sum is 0 if that is not known. */
struct kl_dump_load {
	struct kl_dump_machine machine;
	struct kl_dump_page page;
	struct kl_crash_anchor anchor;
	struct kl_crash_time now;
};

/* @page: its page. @first: the clocks when it was created. */
struct kl_dump_found {
	struct kl_dump_session session;
	struct kl_crash_session page;
	uint64_t address;
};

/*
 * @pages: in order of addresses
 * @n_other: pages with the magic and another version; @other: its version
 * @n_broken: pages that begin with the magic and are at their address, with a wrong sum
 */
struct kl_dump {
	struct kl_image *image;
	struct kl_dump_ops ops;
	struct kl_dump_page *pages;
	size_t n_pages, pages_capacity;
	struct kl_dump_load *loads;
	size_t n_loads, loads_capacity;
	struct kl_dump_found *sessions;
	size_t n_sessions, sessions_capacity;
	size_t n_other, n_broken;
	uint32_t other;
};

/* Report damage. */
void kl_dump_damaged(const struct kl_dump *dump, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Find the pages. Returns 0 or a negative errno with an error text. */
int kl_dump_find(struct kl_dump *dump);

/* The page at @address, if it is one of this load, or NULL. */
const struct kl_dump_page *kl_dump_page_at(const struct kl_dump *dump,
					   const struct kl_dump_page *anchor, uint64_t address);

/*
 * Read a page of @kind, again, with its sum checked: the file may have changed. @to: KL_CRASH_PAGE
 * bytes.
 */
bool kl_dump_read_page(const struct kl_dump *dump, const struct kl_dump_page *page, void *to);

/* A block. @addresses: of its pages. @header: as it is in memory. */
struct kl_dump_block {
	uint32_t cpu;
	const __u64 *addresses;
	struct kl_abi_block header;
};

/* Bytes of a session's memory; NULL: none. */
struct kl_dump_bytes {
	char *bytes;
	size_t length;
};

/* A ring. @found: its page could be read; @sound: what is in it is possible. */
struct kl_dump_ring {
	bool found;
	bool sound;
	struct kl_abi_ring shared;
};

/*
 * What is left of a session.
 * @pieces: copies of its pages, which blocks point into
 * @blocks: in use, with possible headers, in order of CPU and sequence number
 * @rings: by CPU
 * @region: copies, by kind; to be freed
 * @damaged: blocks and pages that are left out
 */
struct kl_dump_parts {
	struct kl_crash_pieces **pieces;
	size_t n_pieces;
	struct kl_dump_block *blocks;
	size_t n_blocks, blocks_capacity;
	struct kl_dump_ring *rings;
	size_t n_rings;
	struct kl_dump_bytes region[KL_CRASH_REGIONS];
	uint64_t damaged;
};

/* Collect these. Returns 0 or a negative errno; kl_dump_parts_free() must be called even then. */
int kl_dump_collect(const struct kl_dump *dump, const struct kl_dump_found *session,
		    struct kl_dump_parts *parts);
void kl_dump_parts_free(struct kl_dump_parts *parts);

/* Is a page one of this kind, and of the session? */
bool kl_dump_belongs(const struct kl_dump *dump, const struct kl_dump_found *session,
		     const struct kl_dump_page *page, enum kl_crash_kind kind);

/*
 * Copy a region; a NUL follows. Returns 0, also if there is none, -EBADMSG (it is damaged) or
 * -ENOMEM.
 */
int kl_dump_read_region(const struct kl_dump *dump, const struct kl_dump_found *session,
			enum kl_crash_region_kind kind, struct kl_dump_bytes *to);

/*
 * Store what the IDs in the session's records stand for in the trace at @path, as far as it is
 * known. Returns 0 or a negative errno with an error text.
 */
int kl_dump_save_names(const struct kl_dump *dump, const struct kl_dump_load *load,
		       struct kl_dump_parts *parts, const char *path);

/*
 * Which records of a block are whole.
 * @end: of the records that are kept; 0: none
 * @records: how many these are
 * @limit: bytes that its writer had reserved; 0: not known
 * @why: why the others are left out; NULL: all are kept
 */
struct kl_dump_cut {
	uint32_t end;
	uint32_t records;
	uint32_t limit;
	const char *why;
};

/* @block: all its bytes; @ring: of its CPU. */
struct kl_dump_cut kl_dump_cut(const struct kl_schema *schema, const struct kl_timebase *timebase,
			       const struct kl_abi_block *block, const struct kl_dump_ring *ring);

#endif /* KL_LIB_CRASH_DUMP_H */
