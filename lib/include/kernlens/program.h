/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Basic blocks of programs and libraries: an ELF file's functions taken apart as the kernel's are
 * (kernlens/block.h), where uprobes fit, and which blocks a user means. Functions come from the
 * symbol tables, also of a separate file of debug information, lines from that.
 */
#ifndef KERNLENS_PROGRAM_H
#define KERNLENS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/block.h>
#include <kernlens/public.h>
#include <kernlens/source.h>
#include <kernlens/splice.h>

KL_PUBLIC_BEGIN

/**
 * struct kl_program_selector - blocks of a program as a user writes them
 * @path: the file
 * @want: which; a pattern that is "0xADDRESS" is the function that has it
 */
struct kl_program_selector {
	char *path;
	struct kl_block_want want;
};

struct kl_program;

/**
 * kl_program_selector_is - does a text name blocks of a program, not of the kernel?
 * @text: without "block:"; what stands behind the blocks does not matter
 *
 * A path has a slash in it, and its end is a colon.
 */
bool kl_program_selector_is(const char *text);

/**
 * kl_program_selector_parse - take "PATH:FUNCTION[+OFFSET|#NUMBER][:post]" apart
 * @selector: out; free it with kl_program_selector_free()
 * @text: with or without "block:" before it
 *
 * Returns 0, -EINVAL or -ENOMEM with an error text.
 */
int kl_program_selector_parse(struct kl_program_selector *selector, const char *text);

/**
 * kl_program_selector_free - free what kl_program_selector_parse() has allocated
 * @selector: or all zero
 */
void kl_program_selector_free(struct kl_program_selector *selector);

/**
 * kl_program_selector_name - what the event at a block is called
 * @selector: that the block fits
 * @function: its name, of kl_program_next()
 * @graph: of the function
 * @block: index
 * @name: out
 * @bytes: of @name
 *
 * "block:PATH:FUNCTION#NUMBER" or, if the selector is one with an offset, "...+0xOFFSET"; with ":post"
 * behind it. Returns 0, or -EINVAL with an error text if it is too long.
 */
int kl_program_selector_name(const struct kl_program_selector *selector, const char *function,
			     const struct kl_block_graph *graph, uint32_t block, char *name,
			     size_t bytes);

/**
 * kl_program_open - read a program or library
 * @path: of an ELF file for x86-64
 *
 * Goes through its text once. Returns NULL with errno and an error text.
 */
struct kl_program *kl_program_open(const char *path);

/**
 * kl_program_close - free it
 * @program: or NULL
 */
void kl_program_close(struct kl_program *program);

/**
 * kl_program_path - what kl_program_open() was called with
 * @program: opened
 */
const char *kl_program_path(const struct kl_program *program);

/**
 * kl_program_blocks - its functions and blocks
 * @program: opened
 *
 * For kl_blocks_graph() and its like. Addresses are those of the file. A point's tier is
 * KL_TIER_TRAP where a uprobe fits. They live as long as @program.
 */
struct kl_blocks *kl_program_blocks(const struct kl_program *program);

/**
 * kl_program_next - the next function that a pattern fits
 * @program: opened
 * @pattern: as in struct kl_program_selector
 * @position: 0 at first; changed
 * @name: out, what it is called: "0xADDRESS" if others are called the same
 *
 * A function with several names comes once. Returns its index for kl_blocks_graph(), or -ENOENT
 * without an error text.
 */
long kl_program_next(struct kl_program *program, const char *pattern, size_t *position,
		     const char **name);

/**
 * kl_program_offset - where an address lies in the file
 * @program: opened
 * @address: of the file
 * @offset: out
 *
 * Returns 0, or -ENOENT with an error text.
 */
int kl_program_offset(const struct kl_program *program, uint64_t address, uint64_t *offset);

/**
 * kl_program_lines - where addresses are in the source
 * @program: opened; debug information is read the first time, in a process of its own
 * @address: addresses of the file
 * @n: how many
 * @line: out, as many; names of files are good until @program is closed
 *
 * Returns false if there is no debug information.
 */
bool kl_program_lines(struct kl_program *program, const uint64_t *address, size_t n,
		      struct kl_source_line *line);

KL_PUBLIC_END

#endif /* KERNLENS_PROGRAM_H */
