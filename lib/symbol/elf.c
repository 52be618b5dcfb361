// SPDX-License-Identifier: GPL-2.0
/*
 * Finds a section of an ELF file by name. This takes only two tables, so doing it by hand saves the
 * library a run-time dependency.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/base.h"
#include "elf.h"

#define NAMES_MAX (1u << 20)

static int read_at(int fd, void *to, size_t bytes, uint64_t from)
{
	return kl_read_at(fd, to, bytes, from) == bytes ? 0 : -EINVAL;
}

static int find(const Elf64_Shdr *sections, unsigned int n, const char *names, uint64_t names_bytes,
		const char *name, struct kl_elf_section *section)
{
	size_t length = strlen(name) + 1;

	for (unsigned int i = 0; i < n; i++) {
		if (sections[i].sh_name >= names_bytes ||
		    names_bytes - sections[i].sh_name < length ||
		    memcmp(names + sections[i].sh_name, name, length))
			continue;
		section->offset = sections[i].sh_offset;
		section->bytes = sections[i].sh_size;
		return 0;
	}
	return -ENOENT;
}

int kl_elf_find_section(int fd, const char *name, struct kl_elf_section *section)
{
	Elf64_Shdr *sections = NULL;
	char *names = NULL;
	Elf64_Ehdr header;
	uint64_t bytes;
	int ret = -EINVAL;

	if (read_at(fd, &header, sizeof(header), 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(*sections) ||
	    header.e_shstrndx >= header.e_shnum)
		return kl_fail(EINVAL, "the ELF file has no section table");
	bytes = (uint64_t)header.e_shnum * sizeof(*sections);
	sections = malloc(bytes);
	if (!sections)
		return kl_fail(ENOMEM, "out of memory");
	if (!read_at(fd, sections, bytes, header.e_shoff) &&
	    sections[header.e_shstrndx].sh_size <= NAMES_MAX) {
		uint64_t names_bytes = sections[header.e_shstrndx].sh_size;

		names = malloc(names_bytes + 1);
		if (names &&
		    !read_at(fd, names, names_bytes, sections[header.e_shstrndx].sh_offset))
			ret = find(sections, header.e_shnum, names, names_bytes, name, section);
	}
	if (ret == -EINVAL)
		kl_fail(EINVAL, "cannot read the ELF file's section table");
	free(names);
	free(sections);
	return ret;
}
