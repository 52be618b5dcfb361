/* SPDX-License-Identifier: GPL-2.0 */
/* Lines of the source and inlined functions, by address: DWARF, through libdw. */
#ifndef KL_LIB_SYMBOL_DWARF_H
#define KL_LIB_SYMBOL_DWARF_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct kl_dwarf;

/**
 * struct kl_dwarf_frame - a function that is at an address
 * @symbol: as its linker would call it, else its name; NULL: not known
 * @offset: of the address in it; 0 if it is inlined
 * @source: file; NULL: not known
 * @line: 0: not known
 * @inlined: into the next one
 */
struct kl_dwarf_frame {
	const char *symbol;
	uint64_t offset;
	const char *source;
	uint32_t line;
	bool inlined;
};

/* Is there anything to read? Costs no more than the table of sections. */
bool kl_dwarf_is_in(Elf *elf);

/*
 * Read an ELF file's debug information. NULL: there is none, or it refers to files that are not
 * where the system keeps such. Nothing that a file names is opened. A file that is to be linked
 * yet, as a module of the kernel, is read from @fd again, and its sections are given addresses.
 */
struct kl_dwarf *kl_dwarf_open(Elf *elf, int fd);
void kl_dwarf_close(struct kl_dwarf *dwarf);

/* The address that a section was given. False: it has no such, or its addresses are its own. */
bool kl_dwarf_section(struct kl_dwarf *dwarf, const char *name, uint64_t *address);

/* @source and @line of an address, nothing else: fast. False: they are not known. */
bool kl_dwarf_line(struct kl_dwarf *dwarf, uint64_t address, struct kl_dwarf_frame *frame);

/* What is at an address, innermost first; at most @room. Texts live as long as @dwarf. */
unsigned int kl_dwarf_find(struct kl_dwarf *dwarf, uint64_t address, struct kl_dwarf_frame *frame,
			   unsigned int room);

#endif /* KL_LIB_SYMBOL_DWARF_H */
