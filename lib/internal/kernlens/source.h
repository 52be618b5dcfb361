/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Source lines of the blocks of the kernel and its modules, from debug information. Files are
 * searched for as debuggers do, used only if their build id matches the running code, and read in
 * a process without privileges.
 */
#ifndef KERNLENS_SOURCE_H
#define KERNLENS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/block.h>

/**
 * struct kl_source_line - the source line of an address
 * @file: as in the debug information, where it may be a relative path; NULL: unknown
 * @line: line number; 0: unknown
 */
struct kl_source_line {
	const char *file;
	uint32_t line;
};

struct kl_source;

/**
 * kl_source_open - prepare to find source lines of a kernel
 * @blocks: of the kernel; must outlive the result
 * @running: it is the running kernel; else lines of modules are not found
 * @debug: file with debug information, or a folder like /usr/lib/debug or a kernel build tree,
 *         that is searched first; or NULL
 *
 * Debug information is read when lines are first requested. Returns NULL with errno and an error
 * text if @debug does not exist.
 */
struct kl_source *kl_source_open(const struct kl_blocks *blocks, bool running, const char *debug);

/**
 * kl_source_close - close and free
 * @source: or NULL
 */
void kl_source_close(struct kl_source *source);

/**
 * kl_source_lines - source lines of addresses in a function
 * @source: opened
 * @function: function that contains the addresses
 * @address: addresses
 * @n: number of addresses
 * @line: out: one for each address; file names are valid until @source is closed
 *
 * For inlined code, reports the line in the inlined function. Returns false if there is no debug
 * information. May take seconds when it reads a file for the first time.
 */
bool kl_source_lines(struct kl_source *source, const struct kl_block_function *function,
		     const uint64_t *address, size_t n, struct kl_source_line *line);

/**
 * kl_source_refused - why debug information that exists could not be used
 * @source: opened
 *
 * Returns the first such reason as text; NULL: none so far.
 */
const char *kl_source_refused(const struct kl_source *source);

#endif /* KERNLENS_SOURCE_H */
