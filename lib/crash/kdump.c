// SPDX-License-Identifier: GPL-2.0
/*
 * The compressed format of makedumpfile and QEMU: blocks with a header, a second header, two
 * bitmaps with a bit for each page frame, of which the second has those that the file contains, a
 * descriptor for each of these, and the pages. Whatever the headers say, nothing outside of the
 * file is read, and a page that does not decompress to its size is not in the dump.
 *
 * What makedumpfile leaves out (-d) are pages that are zero, free, or of files and programs. Those
 * of the module are none of these.
 */
#include <assert.h>
#include <errno.h>
#include <lzo/lzo1x.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "../../uapi/crash.h"
#include "../base/base.h"
#include "flat.h"
#include "kdump.h"

/* More than any machine has: addresses have 52 bits. */
#define FRAMES_MAX (1ull << 40)
#define FRAMES_64_VERSION 6

struct header {
	char magic[8];
	int32_t version;
	char names[6][65]; /* of the system */
	char unused[6];
	int64_t time[2];
	uint32_t status;
	uint32_t block_bytes;
	int32_t sub_blocks; /* of the second header */
	uint32_t bitmap_blocks;
	uint32_t frames; /* 0xffffffff: see the second header */
};

struct sub_header {
	uint64_t base;
	int32_t level;
	int32_t split; /* the file has some of the pages only */
	uint64_t unused[10];
	uint64_t frames; /* from version 6 on */
};

static_assert(offsetof(struct header, status) == 424, "as makedumpfile has it");
static_assert(offsetof(struct sub_header, frames) == 96, "the same");

enum compression {
	RAW = 0,
	ZLIB = 1,
	LZO = 2,
	SNAPPY = 4,
	ZSTD = 32,
};

struct descriptor {
	uint64_t offset;
	uint32_t bytes;
	uint32_t compression;
	uint64_t flags;
};

/*
 * @flat: NULL unless the file is in pieces
 * @size: of the file, or of that of the pieces
 * @bitmap: of the pages that the file has, as numbers of 64 bits
 * @descriptors: where they begin
 */
struct kl_kdump {
	int fd;
	struct kl_flat *flat;
	uint64_t size;
	uint64_t frames;
	uint64_t *bitmap;
	uint64_t descriptors;
};

bool kl_kdump_is(const void *head)
{
	return !memcmp(head, "KDUMP   ", 8) || !memcmp(head, "DISKDUMP", 8) || kl_flat_is(head);
}

static bool read_file(const struct kl_kdump *kdump, uint64_t at, void *to, size_t bytes)
{
	if (at > kdump->size || bytes > kdump->size - at)
		return false;
	return kdump->flat ? kl_flat_read(kdump->flat, at, to, bytes) :
			     kl_read_at(kdump->fd, to, bytes, at) == bytes;
}

/* ------------------------------------------------------------------ headers */

static int check_header(const struct header *head)
{
	if (memcmp(head->magic, "KDUMP   ", sizeof(head->magic)))
		return kl_fail(ENOTSUP, "it is not a dump of kdump, or its header is damaged");
	if (head->block_bytes != KL_CRASH_PAGE)
		return kl_fail(EINVAL, "its pages have %u bytes, not %u as those of x86-64",
			       head->block_bytes, KL_CRASH_PAGE);
	if (head->sub_blocks < 1)
		return kl_fail(EINVAL, "its header is damaged");
	if (head->status & SNAPPY)
		return kl_fail(ENOTSUP, "it is compressed with snappy; only zlib, LZO and zstd "
					"can be read");
	return 0;
}

/* The second of two bitmaps of equal size. */
static int read_bitmap(struct kl_kdump *kdump, const struct header *head)
{
	const uint64_t first = (1 + (uint64_t)head->sub_blocks) * KL_CRASH_PAGE;
	const uint64_t bytes = (uint64_t)head->bitmap_blocks * KL_CRASH_PAGE / 2;

	kdump->descriptors = first + 2 * bytes;
	if (kdump->frames > bytes * 8)
		kdump->frames = bytes * 8;
	if (!bytes || kdump->descriptors > kdump->size)
		return kl_fail(EINVAL, "it is cut off, or its header is damaged");
	kdump->bitmap = malloc(bytes);
	if (!kdump->bitmap)
		return kl_fail(ENOMEM, "out of memory");
	if (!read_file(kdump, first + bytes, kdump->bitmap, bytes))
		return kl_fail(EINVAL, "its bitmap of pages cannot be read");
	return 0;
}

static int read_headers(struct kl_kdump *kdump)
{
	struct sub_header sub;
	struct header head;
	int error;

	if (read_file(kdump, 0, &head, sizeof(head)) && kl_flat_is(&head)) {
		kdump->flat = kl_flat_open(kdump->fd, kdump->size);
		if (!kdump->flat)
			return -errno;
		kdump->size = kl_flat_bytes(kdump->flat);
	}
	if (!read_file(kdump, 0, &head, sizeof(head)))
		return kl_fail(EINVAL, "it is cut off");
	error = check_header(&head);
	if (error)
		return error;
	if (!read_file(kdump, KL_CRASH_PAGE, &sub, sizeof(sub)))
		return kl_fail(EINVAL, "it is cut off");
	if (sub.split)
		return kl_fail(ENOTSUP, "it is one of several files; join them with "
					"makedumpfile --reassemble");
	kdump->frames = head.version >= FRAMES_64_VERSION && sub.frames ? sub.frames : head.frames;
	if (kdump->frames > FRAMES_MAX)
		kdump->frames = FRAMES_MAX;
	return read_bitmap(kdump, &head);
}

struct kl_kdump *kl_kdump_open(int fd, uint64_t bytes)
{
	struct kl_kdump *kdump = calloc(1, sizeof(*kdump));
	int error;

	if (!kdump) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	kdump->fd = fd;
	kdump->size = bytes;
	error = read_headers(kdump);
	if (!error)
		return kdump;
	kl_kdump_close(kdump);
	errno = -error;
	return NULL;
}

void kl_kdump_close(struct kl_kdump *kdump)
{
	if (!kdump)
		return;
	kl_flat_close(kdump->flat);
	free(kdump->bitmap);
	free(kdump);
}

/* -------------------------------------------------------------------- pages */

/* The first frame from @frame on that the file has, or has not. */
static uint64_t find_frame(const struct kl_kdump *kdump, uint64_t frame, bool has)
{
	while (frame < kdump->frames) {
		uint64_t bits = has ? kdump->bitmap[frame / 64] : ~kdump->bitmap[frame / 64];

		bits >>= frame % 64;
		if (bits) {
			frame += (unsigned int)__builtin_ctzll(bits);
			break;
		}
		frame = (frame / 64 + 1) * 64;
	}
	return frame < kdump->frames ? frame : kdump->frames;
}

bool kl_kdump_next(const struct kl_kdump *kdump, struct kl_kdump_run *run)
{
	const uint64_t after = (run->address + run->bytes) / KL_CRASH_PAGE;
	const uint64_t first = find_frame(kdump, after, true);
	const uint64_t end = find_frame(kdump, first, false);

	run->page += run->bytes / KL_CRASH_PAGE;
	run->address = first * KL_CRASH_PAGE;
	run->bytes = (end - first) * KL_CRASH_PAGE;
	return end > first;
}

static bool decompress(const struct descriptor *d, const uint8_t *from, uint8_t *page)
{
	switch (d->compression) {
	case RAW:
		memcpy(page, from, KL_CRASH_PAGE);
		return d->bytes == KL_CRASH_PAGE;
	case ZLIB: {
		unsigned long length = KL_CRASH_PAGE;

		return uncompress(page, &length, from, d->bytes) == Z_OK && length == KL_CRASH_PAGE;
	}
	case LZO: {
		lzo_uint length = KL_CRASH_PAGE;

		return lzo1x_decompress_safe(from, d->bytes, page, &length, NULL) == LZO_E_OK &&
		       length == KL_CRASH_PAGE;
	}
	case ZSTD:
		return ZSTD_decompress(page, KL_CRASH_PAGE, from, d->bytes) == KL_CRASH_PAGE;
	default:
		return false;
	}
}

static bool read_page(const struct kl_kdump *kdump, uint64_t number, uint8_t *page)
{
	uint8_t compressed[KL_CRASH_PAGE];
	struct descriptor d;

	/* A page that would be no smaller is stored as it is. */
	return read_file(kdump, kdump->descriptors + number * sizeof(d), &d, sizeof(d)) &&
	       d.bytes <= sizeof(compressed) && read_file(kdump, d.offset, compressed, d.bytes) &&
	       decompress(&d, compressed, page);
}

bool kl_kdump_read(const struct kl_kdump *kdump, uint64_t page, uint64_t at, void *to, size_t bytes)
{
	uint8_t *into = to;

	page += at / KL_CRASH_PAGE;
	at %= KL_CRASH_PAGE;
	for (; bytes; page++, at = 0) {
		const size_t part = bytes < KL_CRASH_PAGE - at ? bytes : KL_CRASH_PAGE - at;
		uint8_t content[KL_CRASH_PAGE];

		if (!read_page(kdump, page, content))
			return false;
		memcpy(into, content + at, part);
		into += part;
		bytes -= part;
	}
	return true;
}
