/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace's manifest: what the recorder has stored in each stream, so that a reader can report what
 * is missing. docs/format/trace.md describes the layout. manifest_write.c appends to it, manifest.c
 * reads it.
 */
#ifndef KL_LIB_READER_MANIFEST_H
#define KL_LIB_READER_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/trace.h>

#define KL_MANIFEST_MAGIC 0x4d4b /* "KM" */
#define KL_MANIFEST_VERSION 1

enum kl_manifest_kind {
	KL_MANIFEST_HEAD = 1, /* first: `uuid` of the session */
	KL_MANIFEST_BEGIN = 2, /* `begin`: the session's start */
	KL_MANIFEST_BLOCK = 3, /* stored in the stream of `cpu` */
	KL_MANIFEST_UNSTORED = 4, /* `blocks` blocks from `seq` on that were read but not stored */
	KL_MANIFEST_TOTAL = 5, /* totals of `cpu`: written before `record_first`, discarded */
	KL_MANIFEST_END = 6, /* last: the session's times; follows `records` entries */
};

/*
 * An entry. Its checksum makes it independent of the others: readers skip an entry that is damaged
 * or was being written when the recorder was killed.
 */
struct kl_manifest_entry {
	uint32_t crc; /* of the bytes that follow */
	uint16_t magic;
	uint8_t version;
	uint8_t kind;
	uint32_t cpu;
	union {
		uint32_t content_crc; /* BLOCK: checksum of the block's header and records */
		uint32_t blocks; /* UNSTORED */
	};
	uint64_t seq;
	union {
		struct {
			uint64_t record_first;
			uint64_t begin;
		};
		uint8_t uuid[16];
	};
	uint64_t end;
	uint64_t discarded; /* on this CPU so far; END: records that sources missed, on all CPUs */
	union {
		struct {
			uint32_t bytes; /* BLOCK: size of its header and records */
			uint32_t block_records;
		};
		uint64_t records; /* UNSTORED; END: number of entries before it */
	};
};

_Static_assert(sizeof(struct kl_manifest_entry) == 64, "a manifest's entry");

/* ---------------------------------------------------------------- reading */

/* The entries of one CPU. */
struct kl_manifest_cpu {
	uint32_t cpu;
	const struct kl_manifest_entry **blocks; /* in order of `seq` */
	size_t n_blocks;
	const struct kl_manifest_entry *unstored; /* or NULL */
	const struct kl_manifest_entry *total; /* or NULL */
};

/*
 * @whole: finished, and no entry is damaged: a block that is not listed was not stored
 * @finished: the recording's end is in it
 * @damaged: unreadable entries
 */
struct kl_manifest {
	const struct kl_manifest_entry *entries; /* the file's contents */
	size_t n_entries;
	const struct kl_manifest_entry **sorted;
	struct kl_manifest_cpu *cpus; /* in order of `cpu` */
	size_t n_cpus;
	const struct kl_manifest_entry *begin; /* or NULL */
	const struct kl_manifest_entry *end; /* or NULL */
	uint64_t damaged;
	bool finished;
	bool whole;
};

/*
 * kl_manifest_read - check and sort the entries of a file
 * @manifest: filled in
 * @bytes: the file's contents, aligned; used until kl_manifest_deinit()
 * @length: length of @bytes
 * @uuid: the trace's UUID
 *
 * Returns 0, -EINVAL if it is not a manifest of this trace, or -ENOMEM.
 */
int kl_manifest_read(struct kl_manifest *manifest, const void *bytes, size_t length,
		     const uint8_t uuid[16]);
void kl_manifest_deinit(struct kl_manifest *manifest);

/* The entries of one CPU; NULL: none. */
const struct kl_manifest_cpu *kl_manifest_cpu(const struct kl_manifest *manifest, uint32_t cpu);

/* ---------------------------------------------------------------- writing */

/*
 * @fd: -1: none
 * @at: end of the entries
 * @room: bytes allocated to the file
 */
struct kl_manifest_out {
	int fd;
	uint64_t at;
	uint64_t room;
};

/*
 * Create the manifest in the directory of a trace. Also creates its folder; fails if that belongs
 * to another user.
 */
int kl_manifest_create(struct kl_manifest_out *out, int dir, const uint8_t uuid[16]);

/* Remove the manifest, and its folder if nothing else is in it. May change the error text. */
void kl_manifest_remove(int dir);

/*
 * Allocate space for this many more entries, so that they can be written even after the disk is
 * full.
 */
int kl_manifest_reserve(struct kl_manifest_out *out, unsigned int entries);

/* Append @entry, after filling in its crc, magic and version. */
int kl_manifest_add(struct kl_manifest_out *out, struct kl_manifest_entry *entry);

/* Overwrite the entry at @at with @entry. */
int kl_manifest_replace(struct kl_manifest_out *out, uint64_t at, struct kl_manifest_entry *entry);

/* Release unused space, and close. */
int kl_manifest_close(struct kl_manifest_out *out);

#endif /* KL_LIB_READER_MANIFEST_H */
