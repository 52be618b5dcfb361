/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Basic blocks of programs and libraries: decodes the functions of an ELF file as
 * kernlens/block.h does for the kernel, finds where uprobes can be placed, and parses how a user
 * selects blocks. Functions come from the symbol tables, also from those of a separate debug
 * file; source lines come from debug information.
 */
#ifndef KERNLENS_PROGRAM_H
#define KERNLENS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/block.h>
#include <kernlens/source.h>
#include <kernlens/splice.h>

/**
 * struct kl_program_selector - blocks of a program, as selected by a user
 * @path: the file
 * @want: which blocks; a pattern "0xADDRESS" selects the function that contains the address
 */
struct kl_program_selector {
	char *path;
	struct kl_block_want want;
};

struct kl_program;

/**
 * kl_program_selector_is - does a text select blocks of a program rather than of the kernel?
 * @text: without "block:"; anything that follows the blocks is ignored
 *
 * A program's path contains a slash and ends at a colon.
 */
bool kl_program_selector_is(const char *text);

/**
 * kl_program_selector_parse - parse "PATH:FUNCTION[+OFFSET|#NUMBER][:post]"
 * @selector: out: free it with kl_program_selector_free()
 * @text: with or without a leading "block:"
 *
 * Returns 0, -EINVAL or -ENOMEM with an error text.
 */
int kl_program_selector_parse(struct kl_program_selector *selector, const char *text);

/**
 * kl_program_selector_free - free what kl_program_selector_parse() allocated
 * @selector: filled in, or all zero
 */
void kl_program_selector_free(struct kl_program_selector *selector);

/**
 * kl_program_selector_name - the name of the event at a block
 * @selector: selects the block
 * @function: name from kl_program_next()
 * @graph: of the function
 * @block: index
 * @name: out
 * @bytes: size of @name
 *
 * The name is "block:PATH:FUNCTION#NUMBER", or "block:PATH:FUNCTION+0xOFFSET" if the selector has
 * an offset, followed by ":post" where that was selected. Returns 0, or -EINVAL with an error
 * text if the name does not fit.
 */
int kl_program_selector_name(const struct kl_program_selector *selector, const char *function,
			     const struct kl_block_graph *graph, uint32_t block, char *name,
			     size_t bytes);

/**
 * kl_program_open - read a program or library
 * @path: an ELF file for x86-64
 *
 * Scans the text of the whole file once. Returns NULL with errno and an error text: EINVAL (not
 * an ELF file), ENOENT (no such file, or it has no function symbols), ENOMEM, or the error from
 * open.
 */
struct kl_program *kl_program_open(const char *path);

/**
 * kl_program_close - close and free
 * @program: or NULL; its blocks and names are freed with it
 */
void kl_program_close(struct kl_program *program);

/**
 * kl_program_path - the path that was passed to kl_program_open()
 * @program: opened
 */
const char *kl_program_path(const struct kl_program *program);

/**
 * kl_program_blocks - the functions and blocks of a program
 * @program: opened
 *
 * For kl_blocks_graph() and similar functions. Addresses are those in the ELF file. A point's
 * tier is KL_TIER_TRAP where a uprobe can be placed. The result lives as long as @program.
 */
struct kl_blocks *kl_program_blocks(const struct kl_program *program);

/**
 * kl_program_next - the next function that matches a pattern
 * @program: opened
 * @pattern: as in struct kl_program_selector
 * @position: in and out: 0 to begin
 * @name: out: the function's name; "0xADDRESS" if several functions share its name
 *
 * A function with several names is reported once. Returns its index for kl_blocks_graph(), or
 * -ENOENT without an error text.
 */
long kl_program_next(struct kl_program *program, const char *pattern, size_t *position,
		     const char **name);

/**
 * kl_program_build_id - the build ID, in hexadecimal
 * @program: opened
 *
 * Returns NULL if the file has none.
 */
const char *kl_program_build_id(const struct kl_program *program);

/**
 * kl_program_find - the function at a file offset
 * @program: opened
 * @offset: in bytes
 *
 * Returns its index for kl_blocks_graph(), or -ENOENT with an error text.
 */
long kl_program_find(const struct kl_program *program, uint64_t offset);

/**
 * kl_program_offset - file offset of an address
 * @program: opened
 * @address: virtual address in the ELF file
 * @offset: out: in bytes
 *
 * Returns 0, or -ENOENT with an error text.
 */
int kl_program_offset(const struct kl_program *program, uint64_t address, uint64_t *offset);

/**
 * kl_program_lines - source lines of addresses
 * @program: opened
 * @address: virtual addresses in the ELF file
 * @n: number of addresses
 * @line: out: one for each address; file names are valid until @program is closed
 *
 * The first call reads the debug information, in a separate process, and may take long. Returns
 * false if there is no debug information.
 */
bool kl_program_lines(struct kl_program *program, const uint64_t *address, size_t n,
		      struct kl_source_line *line);

#endif /* KERNLENS_PROGRAM_H */
