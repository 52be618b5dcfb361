// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of an ELF file, sorted by address, and its debug information. What was stripped is
 * in a separate file, which elf_debug.c finds. Files may be damaged: libelf checks what it returns,
 * and values computed from that are checked here. Files may also be truncated while they are read,
 * which would kill a process that has mapped them. So only the process dedicated to this maps them
 * (elf_process.c); it has to, because debug information may exceed the process's memory limit.
 */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "elf_debug.h"
#include "elf_names.h"
#include "elf_unwind.h"

#define SEGMENTS_MAX 64
#define FAR (1u << 20) /* after a function of unknown size */

struct function {
	uint64_t address;
	uint64_t bytes;
	const char *name;
};

struct file {
	int fd;
	Elf *elf;
};

struct kl_elf_names {
	struct file own, debug;
	struct function *function;
	size_t n, room;
	struct {
		uint64_t place, bytes, address;
	} segment[SEGMENTS_MAX];
	size_t n_segments;
	bool mapped;
	struct kl_dwarf *dwarf; /* of one of the two files */
	bool looked_up; /* whether @dwarf has been looked up */
	char build_id[KL_BUILD_ID_TEXT];
	struct kl_cfi_table unwind;
	bool compiled; /* whether @unwind has been compiled */
};

static void close_file(struct file *file)
{
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct file){ .fd = -1 };
}

static bool open_file(struct file *file, int fd, bool mapped)
{
	elf_version(EV_CURRENT);
	*file = (struct file){
		.fd = fd,
		.elf = elf_begin(fd, mapped ? ELF_C_READ_MMAP : ELF_C_READ, NULL),
	};
	return file->elf && elf_kind(file->elf) == ELF_K_ELF;
}

static int add_function(struct kl_elf_names *names, const GElf_Sym *symbol, const char *name)
{
	struct function *grown;

	if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC &&
	    GELF_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC)
		return 0;
	if (!name || !*name || !symbol->st_value || symbol->st_shndx == SHN_UNDEF)
		return 0;
	grown = kl_array_grow(names->function, names->n, &names->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	names->function = grown;
	grown[names->n++] = (struct function){ symbol->st_value, symbol->st_size, name };
	return 0;
}

static int add_table(struct kl_elf_names *names, Elf *elf, Elf_Scn *section,
		     const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++)
		if (add_function(names, &symbol, elf_strptr(elf, header->sh_link, symbol.st_name)))
			return -ENOMEM;
	return 0;
}

/* Returns whether there was a full symbol table, not only the dynamic symbols. */
static int add_functions(struct kl_elf_names *names, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int whole = 0;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		if (add_table(names, elf, section, &header))
			return -ENOMEM;
		whole |= header.sh_type == SHT_SYMTAB;
	}
	return whole;
}

static void read_segments(struct kl_elf_names *names, Elf *elf)
{
	GElf_Phdr segment;
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment))
			continue;
		if (segment.p_type != PT_LOAD || names->n_segments == SEGMENTS_MAX)
			continue;
		names->segment[names->n_segments].place = segment.p_offset;
		names->segment[names->n_segments].bytes = segment.p_filesz;
		names->segment[names->n_segments++].address = segment.p_vaddr;
	}
}

/* @path: the file's path, to find a debug file next to it; or NULL. */
static int open_debug(struct kl_elf_names *names, const char *path)
{
	int fd = kl_elf_debug_open(names->own.elf, names->build_id, path);

	if (fd < 0 || !open_file(&names->debug, fd, names->mapped))
		return 0;
	return add_functions(names, names->debug.elf);
}

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	/*
	 * The longer one first, since it covers more addresses; then by name, for a stable order.
	 */
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

struct kl_elf_names *kl_elf_names_open(int fd, const char *path, bool mapped)
{
	struct kl_elf_names *names = calloc(1, sizeof(*names));
	int ret;

	if (!names) {
		close(fd);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	names->debug.fd = -1;
	names->mapped = mapped;
	if (!open_file(&names->own, fd, mapped)) {
		kl_elf_names_close(names);
		kl_fail(EINVAL, "not an ELF file");
		return NULL;
	}
	kl_elf_build_id(names->own.elf, names->build_id);
	read_segments(names, names->own.elf);
	ret = add_functions(names, names->own.elf);
	if (!ret || (ret > 0 && !kl_dwarf_is_in(names->own.elf)))
		ret = open_debug(names, path);
	if (ret < 0) {
		kl_elf_names_close(names);
		errno = ENOMEM;
		return NULL;
	}
	if (names->n)
		qsort(names->function, names->n, sizeof(*names->function), by_address);
	return names;
}

void kl_elf_names_close(struct kl_elf_names *names)
{
	if (!names)
		return;
	kl_dwarf_close(names->dwarf);
	close_file(&names->own);
	close_file(&names->debug);
	kl_cfi_deinit(&names->unwind);
	free(names->function);
	free(names);
}

const char *kl_elf_names_build_id(const struct kl_elf_names *names)
{
	return names->build_id[0] ? names->build_id : NULL;
}

const char *kl_elf_names_function(const struct kl_elf_names *names, size_t index, uint64_t *address,
				  uint64_t *bytes)
{
	if (index >= names->n)
		return NULL;
	*address = names->function[index].address;
	*bytes = names->function[index].bytes;
	return names->function[index].name;
}

static bool to_address(const struct kl_elf_names *names, uint64_t place, uint64_t *address)
{
	for (size_t i = 0; i < names->n_segments; i++) {
		if (place < names->segment[i].place ||
		    place - names->segment[i].place >= names->segment[i].bytes)
			continue;
		*address = place - names->segment[i].place + names->segment[i].address;
		return true;
	}
	return false;
}

/* The function according to the symbol tables. NULL: there is none. */
static const char *find_symbol(const struct kl_elf_names *names, uint64_t address, uint64_t *offset)
{
	size_t from = 0, to = names->n;
	uint64_t bytes;

	/*
	 * The last one that begins at or before the address; if several share its address, the
	 * first.
	 */
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (names->function[middle].address <= address)
			from = middle + 1;
		else
			to = middle;
	}
	if (!from)
		return NULL;
	while (from > 1 && names->function[from - 2].address == names->function[from - 1].address)
		from--;
	bytes = names->function[from - 1].bytes;
	*offset = address - names->function[from - 1].address;
	return *offset < (bytes ? bytes : FAR) ? names->function[from - 1].name : NULL;
}

static struct kl_dwarf *get_dwarf(struct kl_elf_names *names)
{
	if (names->looked_up)
		return names->dwarf;
	names->looked_up = true;
	if (kl_dwarf_is_in(names->own.elf))
		names->dwarf = kl_dwarf_open(names->own.elf, names->own.fd);
	else if (names->debug.elf && kl_dwarf_is_in(names->debug.elf))
		names->dwarf = kl_dwarf_open(names->debug.elf, names->debug.fd);
	return names->dwarf;
}

unsigned int kl_elf_names_find(struct kl_elf_names *names, uint64_t place, bool lines,
			       struct kl_dwarf_frame *frame, unsigned int room)
{
	uint64_t address, offset, start;
	struct kl_dwarf *dwarf;
	const char *symbol;
	unsigned int n = 0;

	if (!room || !to_address(names, place, &address))
		return 0;
	symbol = find_symbol(names, address, &offset);
	dwarf = lines ? get_dwarf(names) : NULL;
	if (dwarf)
		n = kl_dwarf_find(dwarf, address, frame, room);
	/* The function that the symbol table has comes last, whatever is inlined into it. */
	if (!n || (frame[n - 1].inlined && n < room))
		frame[n++] = (struct kl_dwarf_frame){};
	frame[n - 1].inlined = false;
	if (symbol) {
		frame[n - 1].symbol = symbol;
		frame[n - 1].offset = offset;
	} else if (!frame[n - 1].symbol && kl_elf_function_start(names->own.elf, address, &start)) {
		frame[n - 1].offset = address - start;
	}
	return n > 1 || frame[0].symbol || frame[0].line || frame[0].offset ? n : 0;
}

/* The smallest variable of a symbol table that contains an address, if it is below *@bytes. */
static const char *find_variable(Elf *elf, uint64_t address, uint64_t *offset, uint64_t *bytes)
{
	const char *name = NULL, *found;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data = gelf_getshdr(section, &header) && (header.sh_type == SHT_SYMTAB ||
								    header.sh_type == SHT_DYNSYM) ?
					 elf_getdata(section, NULL) :
					 NULL;

		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const uint64_t at = address - symbol.st_value;

			if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT ||
			    symbol.st_shndx == SHN_UNDEF || at >= symbol.st_size ||
			    symbol.st_size >= *bytes)
				continue;
			found = elf_strptr(elf, header.sh_link, symbol.st_name);
			if (!found)
				continue;
			name = found;
			*bytes = symbol.st_size;
			*offset = at;
		}
	}
	return name;
}

const char *kl_elf_names_variable(struct kl_elf_names *names, uint64_t place, uint64_t distance,
				  uint64_t *offset)
{
	uint64_t address, bytes = UINT64_MAX;
	const char *name, *other;

	if (!to_address(names, place, &address))
		return NULL;
	address += distance;
	name = find_variable(names->own.elf, address, offset, &bytes);
	other = names->debug.elf ? find_variable(names->debug.elf, address, offset, &bytes) : NULL;
	return other ?: name;
}

static bool find_value(Elf *elf, const char *name, uint64_t *address)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data = gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB ?
					 elf_getdata(section, NULL) :
					 NULL;

		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const char *found = elf_strptr(elf, header.sh_link, symbol.st_name);

			if (!found || symbol.st_shndx == SHN_UNDEF || strcmp(found, name) != 0)
				continue;
			*address = symbol.st_value;
			return true;
		}
	}
	return false;
}

bool kl_elf_names_place(struct kl_elf_names *names, const char *name, uint64_t *address)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(names->own.elf, &header) || !get_dwarf(names))
		return false;
	return header.e_type == ET_REL ? kl_dwarf_section(names->dwarf, name, address) :
					 find_value(names->own.elf, name, address);
}

bool kl_elf_names_line(struct kl_elf_names *names, uint64_t address, struct kl_dwarf_frame *frame)
{
	struct kl_dwarf *dwarf = get_dwarf(names);

	return dwarf && kl_dwarf_line(dwarf, address, frame);
}

const struct kl_cfi_table *kl_elf_names_unwind(struct kl_elf_names *names)
{
	if (!names->compiled && kl_elf_unwind(names->own.elf, names->debug.elf, &names->unwind))
		kl_cfi_deinit(&names->unwind);
	names->compiled = true;
	return &names->unwind;
}

const char *kl_elf_names_needed(const struct kl_elf_names *names, size_t index)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Dyn entry;

	while ((section = elf_nextscn(names->own.elf, section))) {
		Elf_Data *data = gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC ?
					 elf_getdata(section, NULL) :
					 NULL;

		for (int i = 0; data && gelf_getdyn(data, i, &entry); i++)
			if (entry.d_tag == DT_NEEDED && !index--)
				return elf_strptr(names->own.elf, header.sh_link, entry.d_un.d_val);
	}
	return NULL;
}
