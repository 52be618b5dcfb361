/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines of the source of the kernel's and its modules' blocks, where there is debug information.
 * Files are found as debuggers find them, believed only if their build id is that of what runs,
 * and read in a process without rights.
 */
#ifndef KERNLENS_SOURCE_H
#define KERNLENS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/block.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/**
 * struct kl_source_line - where an address is in the source
 * @file: as the debug information has it, which may be from a folder on; NULL: not known
 * @line: number; 0: not known
 */
struct kl_source_line {
	const char *file;
	uint32_t line;
};

struct kl_source;

/**
 * kl_source_open - find lines of a kernel
 * @blocks: opened, of the kernel; must outlive what is opened
 * @running: it is the kernel that runs; else modules have no lines
 * @debug: file with debug information, or folder as /usr/lib/debug or a kernel's build tree, to be
 *         looked at first; or NULL
 *
 * Nothing is read before it is asked for. Returns NULL with errno and an error text if there is no
 * @debug.
 */
struct kl_source *kl_source_open(const struct kl_blocks *blocks, bool running, const char *debug);

/**
 * kl_source_close - free it
 * @source: or NULL
 */
void kl_source_close(struct kl_source *source);

/**
 * kl_source_lines - lines of addresses of a function
 * @source: opened
 * @function: whose text they are in
 * @address: addresses
 * @n: how many
 * @line: out, as many; names of files are good until @source is closed
 *
 * Of instructions that were inlined, the line of the function that was. Returns false if there is
 * no debug information.
 */
bool kl_source_lines(struct kl_source *source, const struct kl_block_function *function,
		     const uint64_t *address, size_t n, struct kl_source_line *line);

/**
 * kl_source_refused - what was there, but could not be used
 * @source: opened
 *
 * Returns a text, the first; NULL: nothing so far.
 */
const char *kl_source_refused(const struct kl_source *source);

KL_PUBLIC_END

#endif /* KERNLENS_SOURCE_H */
