// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of programs: finds them and other symbols in the symbol tables, and converts their
 * addresses to file offsets by the loaded segments.
 */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "elf_symbol.h"

/* Is it the symbol of that name, with or without a version (NAME@VERSION)? */
static bool is_symbol(Elf *elf, const GElf_Shdr *header, const GElf_Sym *symbol, const char *name,
		      uint32_t types)
{
	const char *found = elf_strptr(elf, header->sh_link, symbol->st_name);
	size_t length = strlen(name);

	return found && types & 1u << GELF_ST_TYPE(symbol->st_info) && symbol->st_value &&
	       !strncmp(found, name, length) && (!found[length] || found[length] == '@');
}

static bool find_in_table(Elf *elf, Elf_Scn *section, const char *name, uint32_t types,
			  uint64_t *address)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Shdr header;
	GElf_Sym symbol;

	if (!data || !gelf_getshdr(section, &header) || !header.sh_entsize)
		return false;
	for (size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
		/* Stops if the file's entry size is wrong. */
		if (i > INT32_MAX || !gelf_getsym(data, (int)i, &symbol))
			return false;
		if (!is_symbol(elf, &header, &symbol, name, types))
			continue;
		*address = symbol.st_value;
		return true;
	}
	return false;
}

bool kl_elf_find_symbol(Elf *elf, const char *name, uint32_t types, uint64_t *address)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) &&
		    find_in_table(elf, section, name, types, address))
			return true;
	return false;
}

bool kl_elf_to_offset(Elf *elf, uint64_t address, uint64_t *offset)
{
	GElf_Phdr segment;
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*offset = address - segment.p_vaddr + segment.p_offset;
		return true;
	}
	return false;
}

static int find_offset(Elf *elf, const char *path, const char *symbol, uint64_t *offset)
{
	uint64_t address;

	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return kl_fail(EINVAL, "%s is not an ELF file", path);
	if (!kl_elf_find_symbol(elf, symbol, 1u << STT_FUNC | 1u << STT_GNU_IFUNC, &address))
		return kl_fail(ENOENT, "%s has no function %s", path, symbol);
	if (!kl_elf_to_offset(elf, address, offset))
		return kl_fail(ENOENT, "%s: the function %s is not in the file", path, symbol);
	return 0;
}

int kl_elf_file_offset(const char *path, const char *symbol, uint64_t *offset)
{
	int fd = kl_open_regular(path), ret;
	Elf *elf;

	if (fd < 0)
		return fd;
	elf_version(EV_CURRENT);
	/* Not mapped: the file may be truncated concurrently. */
	elf = elf_begin(fd, ELF_C_READ, NULL);
	ret = find_offset(elf, path, symbol, offset);
	elf_end(elf);
	close(fd);
	return ret;
}
