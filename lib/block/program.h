/* SPDX-License-Identifier: GPL-2.0 */
/* Decodes the text of a program or library like that of the kernel. Feeds splice/program.c. */
#ifndef KL_LIB_BLOCK_PROGRAM_H
#define KL_LIB_BLOCK_PROGRAM_H

#include <kernlens/block.h>

/*
 * Read an x86-64 ELF file, and scan its text once. Takes ownership of @fd. @function: its @n
 * functions, sorted by address, with 0 bytes where the size is unknown; their names must outlive
 * the result. Returns NULL with errno and an error text.
 */
struct kl_blocks *kl_blocks_open_program(int fd, const char *path,
					 const struct kl_block_function *function, size_t n);

/* The file offset of an address. Returns -ENOENT if the file does not contain it. */
int kl_blocks_file_offset(const struct kl_blocks *blocks, uint64_t address, uint64_t *offset);

/* The address of a file offset. Returns -ENOENT if nothing of it is loaded. */
int kl_blocks_file_address(const struct kl_blocks *blocks, uint64_t offset, uint64_t *address);

#endif /* KL_LIB_BLOCK_PROGRAM_H */
