/* SPDX-License-Identifier: GPL-2.0 */
/* Traces for the tests of compressed streams and packs, and what is read from them. */
#ifndef KL_TESTS_UNIT_LIB_PACK_H
#define KL_TESTS_UNIT_LIB_PACK_H

#include <kernlens/internal.h>

#define PACK_CPUS 3
#define PACK_BLOCKS 40 /* of each CPU, of 64 KiB: more than two frames */

struct pack_bytes {
	uint8_t *at;
	size_t length;
};

/* What a trace has: a sum over all events and losses in their order. */
struct pack_read {
	bool opened;
	uint64_t hash;
	uint64_t events;
	uint64_t losses; /* records */
};

/* Sets the small schema of the traces up, and frees it. */
void pack_init(void);
void pack_deinit(void);
const struct kl_schema *pack_schema(void);
const struct kl_trace_info *pack_info(void);

/*
 * Writes a trace of @blocks blocks of @block_bytes bytes on each CPU into @path. @level: of
 * compression; 0: none. Returns kl_trace_finish()'s result.
 */
int pack_write(const char *path, unsigned int blocks, uint32_t block_bytes, int level);

/* Reads a trace. @from_ns: leaves out what is before, both by kl_trace_skip() and one by one. */
struct pack_read pack_read(const char *path, uint64_t from_ns);

/* The first @events events only. */
struct pack_read pack_read_some(const char *path, uint64_t events);

struct pack_bytes pack_load(const char *path);
void pack_save(const char *path, const void *bytes, size_t length);

/* Do both directories have a file of this name with the same bytes, or neither? */
bool pack_same(const char *one, const char *other, const char *name);

/* The path of a file in a directory, in one of 64 buffers. */
const char *pack_path(const char *directory, const char *name);

#endif /* KL_TESTS_UNIT_LIB_PACK_H */
