/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pack: one file with all files of a trace, each compressed as frame.h describes. Its directory
 * is read from the headers of its entries. docs/format/pack.md describes the layout.
 */
#ifndef KL_LIB_READER_PACK_H
#define KL_LIB_READER_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../base/window.h"

#define KL_PACK_VERSION 1
#define KL_PACK_MAGIC "\x89KLP\r\n\x1a\n"
#define KL_PACK_MAGIC_BYTES 8
#define KL_PACK_ENTRY_MAGIC 0x454b4c50
#define KL_PACK_NAME_MAX 32
#define KL_CPUS_MAX 8192 /* the kernel's NR_CPUS limit on x86 */

/* What a pack begins with. */
struct kl_pack_head {
	uint8_t magic[KL_PACK_MAGIC_BYTES];
	uint32_t version;
	uint32_t crc; /* of the members before it */
};

enum kl_pack_kind {
	KL_PACK_FILE = 1,
	KL_PACK_END = 2, /* last: the pack is complete */
};

/* Header of an entry. The compressed file follows. */
struct kl_pack_entry {
	uint32_t magic;
	uint32_t crc; /* of the members that follow */
	uint32_t kind;
	uint32_t entries; /* END: number of entries before it; else 0 */
	uint64_t stored_bytes; /* that follow */
	uint64_t plain_bytes; /* of the file */
	char name[KL_PACK_NAME_MAX]; /* in the trace's directory, padded with NULs */
};

_Static_assert(sizeof(struct kl_pack_head) == 16, "a pack's header");
_Static_assert(sizeof(struct kl_pack_entry) == 64, "a pack's entry");

uint32_t kl_pack_entry_crc(const struct kl_pack_entry *entry);

/* A file in a pack. @at: where it starts; @stored: bytes of it that are there */
struct kl_packed {
	struct kl_pack_entry entry;
	uint64_t at;
	uint64_t stored;
};

/*
 * struct kl_pack - an opened pack
 * @fd: file
 * @bytes: its size
 * @whole: nothing is missing at its end
 */
struct kl_pack {
	int fd;
	uint64_t bytes;
	struct kl_packed *files;
	size_t n;
	size_t capacity;
	bool whole;
};

/* Is it the name of a stream, such as cpu0? @cpu: filled in */
bool kl_stream_name(const char *name, uint32_t *cpu);

/* Names of a trace's files that are not streams, from 0 on; NULL after the last. */
const char *kl_pack_name(size_t number);

/* May a pack have a file of this name? Nothing but the files of a trace has. */
bool kl_pack_allows(const char *name);

/* Does the file begin like a pack? */
bool kl_pack_is(const char *path);

/*
 * kl_pack_open - read a pack's directory
 * @pack: filled in
 * @path: of the file
 *
 * Returns 0, -EINVAL (not a pack, a newer version, or an entry that no pack has), -ENOMEM, or the
 * error from open(2), with an error text.
 */
int kl_pack_open(struct kl_pack *pack, const char *path);
void kl_pack_close(struct kl_pack *pack);

/* The file of this name, or NULL. */
const struct kl_packed *kl_pack_find(const struct kl_pack *pack, const char *name);

/* Access a file as if it were not packed; valid while the pack is open. As kl_frames_open(). */
int kl_pack_window(const struct kl_pack *pack, const struct kl_packed *file,
		   struct kl_window *window);

#endif /* KL_LIB_READER_PACK_H */
