/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recovers sessions from the memory of a machine that has crashed: an ELF core (/proc/vmcore, or
 * what QEMU and makedumpfile -E write), or a file with the bytes of physical memory. Nothing in the
 * file is trusted. docs/design/crash.md describes what is looked for.
 */
#ifndef KERNLENS_CRASH_H
#define KERNLENS_CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/abi.h>

struct kl_image;

/**
 * kl_image_open - open a file with the memory of a machine
 * @path: the file
 *
 * Returns NULL with errno and an error text: EINVAL (neither an ELF core nor raw memory), ENOTSUP
 * (of a kind that cannot be read), ENOMEM, or that of open(2).
 */
struct kl_image *kl_image_open(const char *path);

/**
 * kl_image_close - close the file and free
 * @image: or NULL
 */
void kl_image_close(struct kl_image *image);

/**
 * kl_image_bytes - size of the memory in an image
 * @image: image
 */
uint64_t kl_image_bytes(const struct kl_image *image);

/**
 * kl_image_read - copy physical memory
 * @image: image
 * @address: any number
 * @to: @bytes bytes
 * @bytes: size
 *
 * Returns whether the image has all of it. Sets no error text.
 */
bool kl_image_read(const struct kl_image *image, uint64_t address, void *to, size_t bytes);

/* Takes whole pages and the address of the first. Returns 0, or what ends the walk. */
typedef int (*kl_image_visit)(void *context, uint64_t address, const uint8_t *pages, size_t bytes);

/**
 * kl_image_walk - read the whole memory in order
 * @image: image
 * @visit: called for all memory but holes of the file, and what cannot be read
 * @context: first argument of @visit
 *
 * Returns 0, what @visit returned, or -ENOMEM with an error text.
 */
int kl_image_walk(const struct kl_image *image, kl_image_visit visit, void *context);

/**
 * kl_image_is_raw - is an address only the offset in a file?
 * @image: image
 */
bool kl_image_is_raw(const struct kl_image *image);

/**
 * kl_image_set_hole - say that memory from 4 GiB on follows what is below a hole
 * @image: a raw image
 * @bytes: size of the hole, which ends at 4 GiB; in whole pages
 *
 * Returns 0, or -ENOMEM with an error text.
 */
int kl_image_set_hole(struct kl_image *image, uint64_t bytes);

struct kl_dump;

/**
 * struct kl_dump_ops - how to report while a dump is searched
 * @damaged: called with one sentence about what is damaged and left out; or NULL
 * @context: its first argument
 */
struct kl_dump_ops {
	void (*damaged)(void *context, const char *text);
	void *context;
};

/**
 * struct kl_dump_machine - a load of the module that was found
 * @anchor: physical address of its anchor
 * @boot_id, @release, @version, @hostname: of the machine; may be empty
 * @schema_hash: of the tables that the module was built with
 * @alive_ns: wall time when its clock was last noted, in ns since 1970; 0: unknown
 */
struct kl_dump_machine {
	uint64_t anchor;
	char boot_id[40];
	char release[72];
	char version[72];
	char hostname[72];
	uint64_t schema_hash;
	uint64_t alive_ns;
};

/**
 * struct kl_dump_session - a session that was found
 * @machine: index of its struct kl_dump_machine
 * @created_ns, @began_ns, @ended_ns: wall times; 0: never
 * @has_metadata: it has a description of its events
 */
struct kl_dump_session {
	size_t machine;
	uint32_t id;
	uint32_t uid;
	int32_t creator;
	uint32_t mode;
	uint32_t block_bytes;
	char name[KL_NAME_MAX];
	uint64_t created_ns;
	uint64_t began_ns;
	uint64_t ended_ns;
	bool has_metadata;
};

/**
 * struct kl_dump_counts - what was extracted of a session
 * @records: records in the trace
 * @bytes: of its streams
 * @blocks: written
 * @cut: of these, blocks of which a part was left out
 * @damaged: blocks and pages left out
 */
struct kl_dump_counts {
	uint64_t records;
	uint64_t bytes;
	uint64_t blocks;
	uint64_t cut;
	uint64_t damaged;
};

/**
 * kl_dump_open - search the memory of a machine
 * @path: as of kl_image_open()
 * @ops: copied
 *
 * Returns NULL with errno and an error text: as kl_image_open() does; ENOENT (no anchor: the module
 * was not loaded, or the memory is not here), EPROTONOSUPPORT (only anchors of another version).
 */
struct kl_dump *kl_dump_open(const char *path, const struct kl_dump_ops *ops);

/**
 * kl_dump_close - free a dump and everything that came from it
 * @dump: or NULL
 */
void kl_dump_close(struct kl_dump *dump);

/**
 * kl_dump_machine - a load of the module, by index
 * @dump: dump
 * @i: any number
 *
 * Returns NULL after the last one.
 */
const struct kl_dump_machine *kl_dump_machine(const struct kl_dump *dump, size_t i);

/**
 * kl_dump_session - a session, by index
 * @dump: dump
 * @i: any number
 *
 * Returns NULL after the last one. Sessions are in order of their machines and numbers.
 */
const struct kl_dump_session *kl_dump_session(const struct kl_dump *dump, size_t i);

/**
 * kl_dump_extract - write the trace of a session
 * @dump: dump
 * @session: index
 * @path: directory for the trace, as of kl_trace_create()
 * @counts: filled in, also on failure
 *
 * Returns 0, or a negative errno with an error text: -ENODATA (nothing was recorded, or all of it
 * is damaged), -ESTALE (its events are described neither in the memory nor by this library's
 * tables), or that of the trace's writer.
 */
int kl_dump_extract(struct kl_dump *dump, size_t session, const char *path,
		    struct kl_dump_counts *counts);

#endif /* KERNLENS_CRASH_H */
