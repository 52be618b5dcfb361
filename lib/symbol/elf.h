/* SPDX-License-Identifier: GPL-2.0 */
/* Locates a section of an ELF file. */
#ifndef KL_LIB_SYMBOL_ELF_H
#define KL_LIB_SYMBOL_ELF_H

#include <stdint.h>

struct kl_elf_section {
	uint64_t offset;
	uint64_t bytes;
};

/*
 * Find the section @name of the file @fd. A file that is not ELF is no error and leaves *@section
 * unchanged. Returns -ENOENT if there is no such section, -EINVAL with an error text for damaged
 * files.
 */
int kl_elf_find_section(int fd, const char *name, struct kl_elf_section *section);

#endif /* KL_LIB_SYMBOL_ELF_H */
