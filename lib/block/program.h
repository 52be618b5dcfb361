/* SPDX-License-Identifier: GPL-2.0 */
/* Decodes the text of a program or library as that of the kernel. Feeds splice/program.c. */
#ifndef KL_LIB_BLOCK_PROGRAM_H
#define KL_LIB_BLOCK_PROGRAM_H

#include <kernlens/block.h>

/*
 * Read an x86-64 ELF file, and go through its text once. @fd is taken over. @function: its @n
 * functions, by address, 0 bytes where that is not known; names must outlive what is opened.
 * Returns NULL with errno and an error text.
 */
struct kl_blocks *kl_blocks_open_program(int fd, const char *path,
					 const struct kl_block_function *function, size_t n);

/* Where an address lies in the file. Returns -ENOENT if it does not. */
int kl_blocks_file_offset(const struct kl_blocks *blocks, uint64_t address, uint64_t *offset);

#endif /* KL_LIB_BLOCK_PROGRAM_H */
