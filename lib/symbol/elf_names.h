/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of programs and libraries by their place in the file. Feeds stack_collect.c. */
#ifndef KL_LIB_ELF_NAMES_H
#define KL_LIB_ELF_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct kl_elf_names;

/*
 * Read the symbols and the build id of an open file, also those of a separate file of
 * debug information that has the same build id. @fd is taken over. Returns NULL with errno
 * if it is no ELF file, or cannot be read.
 */
struct kl_elf_names *kl_elf_names_open(int fd);
void kl_elf_names_close(struct kl_elf_names *names);

/* In hexadecimal; NULL if it has none. */
const char *kl_elf_names_build_id(const struct kl_elf_names *names);

/* The function at a place in the file. Returns NULL if none is known there. */
const char *kl_elf_names_at(const struct kl_elf_names *names, uint64_t place, uint64_t *offset);

#endif /* KL_LIB_ELF_NAMES_H */
