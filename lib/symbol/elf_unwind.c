// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the call frame information of an ELF file for cfi.c. .debug_frame is used only if there is
 * no .eh_frame. libelf checks where sections are.
 */
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "../base/base.h"
#include "elf_unwind.h"

#define SEGMENTS_MAX 64
#define FUNCTION_BYTES_MAX (1u << 20)

/*
 * .eh_frame_hdr: version 1, encodings of the pointer to .eh_frame, of the number of entries, and of
 * the entries, which are pairs of offsets to the section; then the pointer and the number. Linkers
 * write no others.
 */
#define INDEX_HEADER_BYTES 12
#define INDEX_ENTRY_BYTES 8
static const uint8_t index_header[] = { 1, 0x1b, 0x03, 0x3b };

#define CLONE_BYTES 32 /* at most between a clone's call and the code of the new thread */

static const uint8_t syscall_code[] = { 0x0f, 0x05 };

static size_t find_code(Elf *elf, struct kl_cfi_segment *segment)
{
	size_t headers = 0, n = 0;
	GElf_Phdr header;

	if (elf_getphdrnum(elf, &headers))
		return 0;
	for (size_t i = 0; i < headers && n < SEGMENTS_MAX; i++)
		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
		    header.p_flags & PF_X)
			segment[n++] = (struct kl_cfi_segment){ header.p_vaddr, header.p_offset,
								header.p_filesz };
	return n;
}

static bool is_x86_64(Elf *elf)
{
	GElf_Ehdr header;

	return gelf_getehdr(elf, &header) && header.e_machine == EM_X86_64 &&
	       header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB;
}

static bool find_section(Elf *elf, const char *name, struct kl_cfi_section *found)
{
	Elf_Scn *section = NULL;
	size_t strings;
	GElf_Shdr header;

	if (elf_getshdrstrndx(elf, &strings))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *is = gelf_getshdr(section, &header) ?
					 elf_strptr(elf, strings, header.sh_name) :
					 NULL;
		Elf_Data *data;

		if (!is || strcmp(is, name) != 0 || header.sh_type == SHT_NOBITS)
			continue;
		if (header.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
			return false;
		data = elf_getdata(section, NULL);
		if (!data || !data->d_buf)
			return false;
		*found =
			(struct kl_cfi_section){ data->d_buf, data->d_size, header.sh_addr, false };
		return true;
	}
	return false;
}

/*
 * Add rows for the calls of clone() and clone3(). The C library has no call frame information
 * there, as it would be wrong in the new thread, whose code follows and has no caller.
 */
static int add_clones(Elf *elf, struct kl_cfi_table *table)
{
	const uint32_t at_sp = kl_unwind_rule(KL_UNWIND_SP, 1, 0);

	for (size_t i = 1; i + 1 < table->n; i++) {
		struct kl_unwind_row *row = &table->row[i];
		Elf_Data *code;

		if (row[0].rule != KL_UNWIND_NONE || row[-1].rule != at_sp ||
		    row[1].rule != KL_UNWIND_END || row[1].offset - row[0].offset > CLONE_BYTES)
			continue;
		code = elf_getdata_rawchunk(elf, row->offset, sizeof(syscall_code), ELF_T_BYTE);
		if (!code || memcmp(code->d_buf, syscall_code, sizeof(syscall_code)) != 0)
			continue;
		row->rule = kl_unwind_rule(KL_UNWIND_OTHER, KL_UNWIND_PARENT, 0);
		if (kl_cfi_insert(table, i,
				  (struct kl_unwind_row){ row->offset + sizeof(syscall_code),
							  KL_UNWIND_NONE }))
			return -ENOMEM;
	}
	return 0;
}

int kl_elf_unwind(Elf *elf, Elf *debug, struct kl_cfi_table *table)
{
	struct kl_cfi_segment segment[SEGMENTS_MAX];
	struct kl_cfi_section section;
	size_t n = find_code(elf, segment);
	int error = 0;

	if (!is_x86_64(elf))
		return 0;
	if (find_section(elf, ".eh_frame", &section)) {
		section.eh = true;
		error = kl_cfi_add(table, &section, segment, n);
	}
	if (!error && !table->n &&
	    (find_section(elf, ".debug_frame", &section) ||
	     (debug && find_section(debug, ".debug_frame", &section))))
		error = kl_cfi_add(table, &section, segment, n);
	kl_cfi_finish(table);
	return error ? error : add_clones(elf, table);
}

/* Address of an entry's function. */
static uint64_t entry_start(const struct kl_cfi_section *section, size_t i)
{
	const uint8_t *entry = section->data + INDEX_HEADER_BYTES + i * INDEX_ENTRY_BYTES;

	return section->address + (uint64_t)(int64_t)(int32_t)kl_get32(entry);
}

bool kl_elf_function_start(Elf *elf, uint64_t address, uint64_t *start)
{
	struct kl_cfi_section section;
	size_t from = 0, to;

	if (!find_section(elf, ".eh_frame_hdr", &section) || section.bytes < INDEX_HEADER_BYTES ||
	    memcmp(section.data, index_header, sizeof(index_header)) != 0)
		return false;
	to = (section.bytes - INDEX_HEADER_BYTES) / INDEX_ENTRY_BYTES;
	if (to > kl_get32(section.data + INDEX_HEADER_BYTES - sizeof(uint32_t)))
		to = kl_get32(section.data + INDEX_HEADER_BYTES - sizeof(uint32_t));
	/* The last one that begins at or before the address. */
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (entry_start(&section, middle) <= address)
			from = middle + 1;
		else
			to = middle;
	}
	if (!from)
		return false;
	*start = entry_start(&section, from - 1);
	return address - *start < FUNCTION_BYTES_MAX;
}
