/* SPDX-License-Identifier: GPL-2.0 */
/* Where a section of an ELF file is. */
#ifndef KL_LIB_SYMBOL_ELF_H
#define KL_LIB_SYMBOL_ELF_H

#include <stdint.h>

struct kl_elf_section {
	uint64_t offset;
	uint64_t bytes;
};

/*
 * Find the section @name of the file @fd. A file that is not ELF leaves
 * *@section as it is and is no error. Returns -ENOENT without such a section,
 * -EINVAL with an error text for damaged files.
 */
int kl_elf_find_section(int fd, const char *name, struct kl_elf_section *section);

#endif /* KL_LIB_SYMBOL_ELF_H */
