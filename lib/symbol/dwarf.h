/* SPDX-License-Identifier: GPL-2.0 */
/* Source lines and inlined functions by address: DWARF, through libdw. */
#ifndef KL_LIB_SYMBOL_DWARF_H
#define KL_LIB_SYMBOL_DWARF_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct kl_dwarf;

/**
 * struct kl_dwarf_frame - a function at an address
 * @symbol: the linkage name, else the plain name; NULL: unknown
 * @offset: of the address in the function; 0 if it is inlined. Without @symbol, 0 if it is unknown,
 *          too
 * @source: source file; NULL: unknown
 * @line: 0: unknown
 * @inlined: inlined into the next frame
 */
struct kl_dwarf_frame {
	const char *symbol;
	uint64_t offset;
	const char *source;
	uint32_t line;
	bool inlined;
};

/* Does the file contain debug information? Only reads the section headers. */
bool kl_dwarf_is_in(Elf *elf);

/*
 * Open an ELF file's debug information. Returns NULL if there is none, or if it refers to files
 * outside the system's standard directories. No other file that it names is opened. A file that is
 * not linked yet, such as a kernel module, is read again from @fd, and its sections are assigned
 * addresses.
 */
struct kl_dwarf *kl_dwarf_open(Elf *elf, int fd);
void kl_dwarf_close(struct kl_dwarf *dwarf);

/*
 * The address assigned to a section. False if there is no such section, or if the file has
 * addresses of its own.
 */
bool kl_dwarf_section(struct kl_dwarf *dwarf, const char *name, uint64_t *address);

/* Look up only @source and @line of an address, which is fast. False: unknown. */
bool kl_dwarf_line(struct kl_dwarf *dwarf, uint64_t address, struct kl_dwarf_frame *frame);

/* The functions at an address, innermost first; at most @room. Texts live as long as @dwarf. */
unsigned int kl_dwarf_find(struct kl_dwarf *dwarf, uint64_t address, struct kl_dwarf_frame *frame,
			   unsigned int room);

#endif /* KL_LIB_SYMBOL_DWARF_H */
