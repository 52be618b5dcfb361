// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's memory as an ELF core file, /proc/kcore or a copy: its segments, and the text, which
 * is read as a whole.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/base.h"
#include "block.h"

#define TEXT_MAX (256u << 20)

/* Returns -ENODATA if the file is too short. */
int kl_text_read_file(int fd, uint64_t offset, void *to, size_t bytes)
{
	if (kl_read_at(fd, to, bytes, offset) < bytes)
		return errno ? -errno : -ENODATA;
	return 0;
}

/* Add a segment that is loaded into memory; others are skipped. Returns 0 or -ENOMEM. */
int kl_text_add_segment(struct kl_blocks *b, const Elf64_Phdr *phdr)
{
	struct kl_segment *grown;

	if (phdr->p_type != PT_LOAD || phdr->p_vaddr + phdr->p_filesz < phdr->p_vaddr)
		return 0;
	grown = kl_array_grow(b->segment, b->segments, &b->segment_capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	b->segment = grown;
	grown[b->segments++] = (struct kl_segment){
		.begin = phdr->p_vaddr,
		.end = phdr->p_vaddr + phdr->p_filesz,
		.offset = phdr->p_offset,
		.changes = phdr->p_flags & PF_W,
	};
	return 0;
}

/* Open a core file and read its program headers. */
int kl_text_open(struct kl_blocks *b, const char *path)
{
	Elf64_Ehdr header;
	Elf64_Phdr phdr;
	int ret;

	b->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (b->fd < 0 && errno == EPERM)
		return kl_fail(EPERM, "cannot open %s: needs CAP_SYS_RAWIO and no kernel lockdown",
			       path);
	if (b->fd < 0)
		return kl_fail_system(errno, "cannot open %s", path);
	ret = kl_text_read_file(b->fd, 0, &header, sizeof(header));
	if (ret)
		return kl_fail_system(-ret, "cannot read %s", path);
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_CORE ||
	    header.e_machine != EM_X86_64 || header.e_phentsize != sizeof(phdr))
		return kl_fail(EINVAL, "%s is not an x86-64 core file", path);
	for (unsigned int i = 0; !ret && i < header.e_phnum; i++) {
		ret = kl_text_read_file(b->fd, header.e_phoff + i * sizeof(phdr), &phdr,
					sizeof(phdr));
		if (ret)
			return kl_fail_system(-ret, "cannot read %s", path);
		ret = kl_text_add_segment(b, &phdr);
	}
	return ret;
}

/* Read from a kernel address. Returns -ENOENT if the file does not contain all of it. */
int kl_text_read(const struct kl_blocks *b, uint64_t address, void *to, size_t bytes)
{
	if (b->kernel)
		b = b->kernel;
	for (size_t i = 0; i < b->segments; i++) {
		const struct kl_segment *s = &b->segment[i];
		int ret;

		if (address < s->begin || address + bytes > s->end)
			continue;
		ret = kl_text_read_file(b->fd, s->offset + (address - s->begin), to, bytes);
		return ret ? kl_fail_system(-ret, "cannot read %s",
					    b->program ? "the file" : "the kernel's memory") :
			     0;
	}
	return kl_fail(ENOENT, "the core file does not contain the kernel's memory at %#llx",
		       (unsigned long long)address);
}

/* The kernel's own text, from _stext to _etext. */
int kl_text_load(struct kl_blocks *b)
{
	struct kl_symbol begin = {}, end = {};
	int ret = kl_symbols_find(b->symbols, "kernel:_stext", &begin);

	if (ret > 0)
		ret = kl_symbols_find(b->symbols, "kernel:_etext", &end);
	if (ret < 0)
		return ret;
	if (begin.address >= end.address || end.address - begin.address > TEXT_MAX)
		return kl_fail(EINVAL, "invalid range of the kernel's text: %#llx to %#llx",
			       (unsigned long long)begin.address, (unsigned long long)end.address);
	b->begin = begin.address;
	b->end = end.address;
	/* The decoder may read ahead. */
	b->text = calloc(1, b->end - b->begin + ZYDIS_MAX_INSTRUCTION_LENGTH);
	if (!b->text)
		return kl_fail(ENOMEM, "out of memory");
	return kl_text_read(b, b->begin, b->text, b->end - b->begin);
}
