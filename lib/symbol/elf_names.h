/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of programs and libraries by their place in the file. Feeds elf_process.c. */
#ifndef KL_LIB_ELF_NAMES_H
#define KL_LIB_ELF_NAMES_H

#include "dwarf.h"

struct kl_elf_names;

/*
 * Read the symbols and the build id of an open file, also those of a separate file of
 * debug information. @fd is taken over. @path: where it lies, or NULL. @mapped: map the
 * files, for a process that may end if they are cut short; debug information is mapped
 * in any case if it has to be linked first, and only such a process should ask for it.
 * Returns NULL with errno if it is no ELF file, or cannot be read.
 */
struct kl_elf_names *kl_elf_names_open(int fd, const char *path, bool mapped);
void kl_elf_names_close(struct kl_elf_names *names);

/* In hexadecimal; NULL if it has none. */
const char *kl_elf_names_build_id(const struct kl_elf_names *names);

/* Function @index of those in the symbol tables, by address; NULL behind the last. */
const char *kl_elf_names_function(const struct kl_elf_names *names, size_t index, uint64_t *address,
				  uint64_t *bytes);

/*
 * What is at a place in the file, innermost first: functions that were inlined, and the one
 * that they are in. @lines: look into debug information, too. Returns how many, at most @room;
 * 0 if nothing is known.
 */
unsigned int kl_elf_names_find(struct kl_elf_names *names, uint64_t place, bool lines,
			       struct kl_dwarf_frame *frame, unsigned int room);

/*
 * Where something is that has a name in the file: a symbol, or, in a file that is to be linked
 * yet, a section. False: there is no such, or no debug information.
 */
bool kl_elf_names_place(struct kl_elf_names *names, const char *name, uint64_t *address);

/* As kl_dwarf_line(); an address of the file, which debug information is read for. */
bool kl_elf_names_line(struct kl_elf_names *names, uint64_t address, struct kl_dwarf_frame *frame);

#endif /* KL_LIB_ELF_NAMES_H */
