/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace's manifest: what the recorder has put into each stream, so that a
 * reader can state what is missing. docs/format/trace.md has the layout.
 * manifest_write.c appends to it, manifest.c reads it.
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
	KL_MANIFEST_UNSTORED = 4, /* blocks from `seq` on that were read, but not stored */
	KL_MANIFEST_TOTAL = 5, /* of `cpu`, in all: written before `record_first`, discarded */
	KL_MANIFEST_END = 6, /* last: the session's times; behind `records` entries */
};

/*
 * An entry. The checksum makes each of them stand for itself: one that was being
 * written when the recorder was killed, or is damaged, is left out.
 */
struct kl_manifest_entry {
	uint32_t crc; /* of the bytes that follow */
	uint16_t magic;
	uint8_t version;
	uint8_t kind;
	uint32_t cpu;
	union {
		uint32_t content_crc; /* BLOCK: of the block's header and records */
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
	uint64_t discarded; /* on this CPU up to here; END: missed by sources, all CPUs */
	union {
		struct {
			uint32_t bytes; /* BLOCK: of its header and records */
			uint32_t block_records;
		};
		uint64_t records; /* UNSTORED; END: entries before it */
	};
};

_Static_assert(sizeof(struct kl_manifest_entry) == 64, "a manifest's entry");

/* ---------------------------------------------------------------- reading */

/* The part of one CPU. */
struct kl_manifest_cpu {
	uint32_t cpu;
	const struct kl_manifest_entry **blocks; /* in order of `seq` */
	size_t n_blocks;
	const struct kl_manifest_entry *unstored; /* or NULL */
	const struct kl_manifest_entry *total; /* or NULL */
};

/*
 * @whole: finished, and no entry is damaged: a block that is not listed is none
 * @finished: it has the recording's end
 * @damaged: entries that cannot be read
 */
struct kl_manifest {
	const struct kl_manifest_entry *entries; /* the file */
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
 * @bytes: the file, aligned; used until kl_manifest_deinit()
 * @length: of it
 * @uuid: of the trace
 *
 * Returns 0, -EINVAL if it is no manifest of this trace, or -ENOMEM.
 */
int kl_manifest_read(struct kl_manifest *manifest, const void *bytes, size_t length,
		     const uint8_t uuid[16]);
void kl_manifest_deinit(struct kl_manifest *manifest);

/* Of one CPU; NULL: nothing is known of it. */
const struct kl_manifest_cpu *kl_manifest_cpu(const struct kl_manifest *manifest, uint32_t cpu);

/* ---------------------------------------------------------------- writing */

/*
 * @fd: -1: none
 * @at: end of the entries
 * @room: bytes that the file has been given
 */
struct kl_manifest_out {
	int fd;
	uint64_t at;
	uint64_t room;
};

/*
 * Create it in the directory of a trace, whose folder is made, and refused if it belongs to
 * another user.
 */
int kl_manifest_create(struct kl_manifest_out *out, int dir, const uint8_t uuid[16]);

/* Remove it, and its folder if nothing else is in it. The error text may change. */
void kl_manifest_remove(int dir);

/*
 * Make sure that so many more entries find room: an entry for which there is
 * room can be written also once the disk is full.
 */
int kl_manifest_reserve(struct kl_manifest_out *out, unsigned int entries);

/* Append @entry, whose crc, magic and version are filled in. */
int kl_manifest_add(struct kl_manifest_out *out, struct kl_manifest_entry *entry);

/* Write @entry over the one at @at. */
int kl_manifest_replace(struct kl_manifest_out *out, uint64_t at, struct kl_manifest_entry *entry);

/* Give back what was reserved, and close. */
int kl_manifest_close(struct kl_manifest_out *out);

#endif /* KL_LIB_READER_MANIFEST_H */
