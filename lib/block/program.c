// SPDX-License-Identifier: GPL-2.0
/*
 * Presents a program's file as a text with functions: its segments, the executable code, and jumps
 * into the middle of other functions. The file may be damaged, so whatever it states is checked.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/base.h"
#include "block.h"
#include "program.h"

#define TEXT_MAX (256u << 20)
#define HEADERS_MAX 4096
#define OVERLAP_MAX 16 /* cut functions whose total size exceeds this multiple of the text */
#define BYTES_UNKNOWN_MAX (1u << 20) /* of a function of unknown size */

/* -------------------------------------------------------------------- file */

static int add_segment(struct kl_blocks *b, const Elf64_Phdr *phdr)
{
	size_t before = b->segments;
	int ret = kl_text_add_segment(b, phdr);

	if (ret || b->segments == before)
		return ret;
	if (!(phdr->p_flags & PF_X) || !phdr->p_filesz)
		return 0;
	if (!b->end || phdr->p_vaddr < b->begin)
		b->begin = phdr->p_vaddr;
	if (phdr->p_vaddr + phdr->p_filesz > b->end)
		b->end = phdr->p_vaddr + phdr->p_filesz;
	return 0;
}

static int add_section(struct kl_blocks *b, const Elf64_Shdr *shdr)
{
	struct kl_range *grown;

	if (shdr->sh_type != SHT_PROGBITS || !(shdr->sh_flags & SHF_EXECINSTR) ||
	    shdr->sh_addr < b->begin || shdr->sh_addr >= b->end ||
	    shdr->sh_size > b->end - shdr->sh_addr)
		return 0;
	grown = kl_array_grow(b->range, b->ranges, &b->range_capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	b->range = grown;
	grown[b->ranges++] =
		(struct kl_range){ .begin = shdr->sh_addr, .end = shdr->sh_addr + shdr->sh_size };
	return 0;
}

static int read_headers(struct kl_blocks *b, const char *path)
{
	Elf64_Ehdr header;
	Elf64_Phdr phdr;
	Elf64_Shdr shdr;
	int ret = kl_text_read_file(b->fd, 0, &header, sizeof(header));

	if (ret || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN) ||
	    header.e_phentsize != sizeof(phdr) || header.e_phnum > HEADERS_MAX ||
	    header.e_shnum > HEADERS_MAX)
		return kl_fail(EINVAL, "%s is not an x86-64 program or library", path);
	for (unsigned int i = 0; !ret && i < header.e_phnum; i++) {
		ret = kl_text_read_file(b->fd, header.e_phoff + i * sizeof(phdr), &phdr,
					sizeof(phdr));
		if (!ret)
			ret = add_segment(b, &phdr);
	}
	if (header.e_shentsize != sizeof(shdr))
		header.e_shnum = 0;
	for (unsigned int i = 0; !ret && i < header.e_shnum; i++) {
		ret = kl_text_read_file(b->fd, header.e_shoff + i * sizeof(shdr), &shdr,
					sizeof(shdr));
		if (!ret)
			ret = add_section(b, &shdr);
	}
	return ret ? kl_fail_system(-ret, "cannot read %s", path) : 0;
}

/* Load the executable code, with zeros in between. */
static int load_text(struct kl_blocks *b, const char *path)
{
	if (b->end <= b->begin)
		return kl_fail(EINVAL, "%s contains no executable code", path);
	if (b->end - b->begin > TEXT_MAX)
		return kl_fail(EINVAL, "%s: the text is too large", path);
	b->text = calloc(1, b->end - b->begin + ZYDIS_MAX_INSTRUCTION_LENGTH);
	if (!b->text)
		return kl_fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < b->segments; i++) {
		const struct kl_segment *s = &b->segment[i];
		uint64_t begin = s->begin > b->begin ? s->begin : b->begin;
		uint64_t end = s->end < b->end ? s->end : b->end;
		int ret;

		/* The segments of a program are in order. This bounds how often a page is read. */
		if (i && s->begin < b->segment[i - 1].end)
			return kl_fail(EINVAL, "%s: segments overlap", path);
		ret = begin < end ?
			      kl_text_read(b, begin, b->text + (begin - b->begin), end - begin) :
			      0;

		if (ret)
			return ret;
	}
	return 0;
}

/* --------------------------------------------------------------- functions */

/* End of the section that contains an address, or of the text; 0: the address is in none. */
static uint64_t section_end(const struct kl_blocks *b, uint64_t address)
{
	for (size_t i = 0; i < b->ranges; i++)
		if (address >= b->range[i].begin && address < b->range[i].end)
			return b->range[i].end;
	return b->ranges || address < b->begin || address >= b->end ? 0 : b->end;
}

static void cut_before(struct kl_function_entry *f, uint64_t address)
{
	if (f->bytes > address - f->address)
		f->bytes = (uint32_t)(address - f->address);
}

static int add_functions(struct kl_blocks *b, const struct kl_block_function *function, size_t n)
{
	uint64_t all = 0;

	b->function = calloc(n + 1, sizeof(*b->function));
	if (!b->function)
		return kl_fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		uint64_t address = function[i].address, end = section_end(b, address);
		uint64_t bytes = function[i].bytes;

		if (!end || (b->functions && b->function[b->functions - 1].address == address))
			continue;
		/* Up to the next function, if the size is unknown. */
		for (size_t k = i + 1; !bytes && k < n; k++)
			if (function[k].address > address)
				bytes = function[k].address - address;
		if (!bytes || bytes > end - address)
			bytes = end - address;
		if (!function[i].bytes && bytes > BYTES_UNKNOWN_MAX)
			bytes = BYTES_UNKNOWN_MAX;
		b->function[b->functions++] = (struct kl_function_entry){
			.address = address,
			.bytes = bytes,
			.name = function[i].name,
		};
		all += bytes;
	}
	for (size_t i = 1; all / OVERLAP_MAX > b->end - b->begin && i < b->functions; i++)
		cut_before(&b->function[i - 1], b->function[i].address);
	return 0;
}

/*
 * Record jumps into the middle of other functions, such as those from parts that compilers moved
 * elsewhere. Only functions that decode up to their end are trusted.
 */
static int note_jumps(struct kl_blocks *b, const struct kl_function_entry *f)
{
	size_t before = b->leader.n;
	struct kl_block_instruction in;
	struct kl_taken taken;

	for (uint64_t at = f->address; at < f->address + f->bytes; at += in.bytes) {
		uint64_t left = f->address + f->bytes - at;
		long other;

		if (!kl_decode_shape(b, at, left, &in, &taken)) {
			if (!kl_is_padding(kl_text_of(b, at), left))
				b->leader.n = before;
			return 0;
		}
		if ((in.end != KL_END_JUMP && in.end != KL_END_BRANCH) || !in.target ||
		    in.target - f->address < f->bytes || in.target < b->begin ||
		    in.target >= b->end)
			continue;
		other = kl_function_at(b, in.target);
		if (other >= 0 && b->function[other].address != in.target &&
		    kl_set_add(&b->leader, in.target))
			return -ENOMEM;
	}
	return 0;
}

static int note_all_jumps(struct kl_blocks *b)
{
	for (size_t i = 0; i < b->functions; i++)
		if (note_jumps(b, &b->function[i]))
			return kl_fail(ENOMEM, "out of memory");
	kl_set_sort(&b->leader);
	return 0;
}

struct kl_blocks *kl_blocks_open_program(int fd, const char *path,
					 const struct kl_block_function *function, size_t n)
{
	struct kl_blocks *b = calloc(1, sizeof(*b));
	int ret;

	if (!b) {
		close(fd);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	b->fd = fd;
	b->program = true;
	ZydisDecoderInit(&b->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ret = read_headers(b, path);
	if (!ret)
		ret = load_text(b, path);
	if (!ret)
		ret = add_functions(b, function, n);
	if (!ret)
		ret = note_all_jumps(b);
	if (!ret)
		return b;
	kl_blocks_close(b);
	errno = -ret;
	return NULL;
}

int kl_blocks_file_offset(const struct kl_blocks *blocks, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < blocks->segments; i++) {
		const struct kl_segment *s = &blocks->segment[i];

		if (address < s->begin || address >= s->end)
			continue;
		*offset = s->offset + (address - s->begin);
		return 0;
	}
	return kl_fail(ENOENT, "%#llx is not in the file", (unsigned long long)address);
}

int kl_blocks_file_address(const struct kl_blocks *blocks, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < blocks->segments; i++) {
		const struct kl_segment *s = &blocks->segment[i];

		if (offset < s->offset || offset - s->offset >= s->end - s->begin)
			continue;
		*address = s->begin + (offset - s->offset);
		return 0;
	}
	return kl_fail(ENOENT, "offset %#llx of the file is not loaded",
		       (unsigned long long)offset);
}
