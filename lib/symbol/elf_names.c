// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of an ELF file, sorted by address. A stripped file's are looked for in
 * /usr/lib/debug by its build id, as debuggers do. Files may be damaged: libelf checks
 * what it hands out, and what is computed from it is checked here.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "elf_names.h"

#define BUILD_ID_MAX 32
#define SEGMENTS_MAX 64
#define FAR (1u << 20) /* behind a function whose size is not said */

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
	char build_id[2 * BUILD_ID_MAX + 1];
};

static void close_file(struct file *file)
{
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct file){ .fd = -1 };
}

static bool open_file(struct file *file, int fd)
{
	elf_version(EV_CURRENT);
	*file = (struct file){ .fd = fd, .elf = elf_begin(fd, ELF_C_READ_MMAP, NULL) };
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

/* Returns whether there was a whole table, not only what others may link to. */
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

static void read_notes(struct kl_elf_names *names, Elf *elf, const GElf_Phdr *segment)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz,
					      segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, name, bytes;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &bytes))) {
		const unsigned char *id = (const unsigned char *)data->d_buf + bytes;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp((const char *)data->d_buf + name, ELF_NOTE_GNU, note.n_namesz) != 0 ||
		    note.n_descsz > BUILD_ID_MAX)
			continue;
		for (size_t i = 0; i < note.n_descsz; i++)
			snprintf(names->build_id + 2 * i, 3, "%02x", id[i]);
		return;
	}
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
		if (segment.p_type == PT_NOTE && !names->build_id[0])
			read_notes(names, elf, &segment);
		if (segment.p_type != PT_LOAD || names->n_segments == SEGMENTS_MAX)
			continue;
		names->segment[names->n_segments].place = segment.p_offset;
		names->segment[names->n_segments].bytes = segment.p_filesz;
		names->segment[names->n_segments++].address = segment.p_vaddr;
	}
}

static int open_debug(struct kl_elf_names *names)
{
	const char *id = names->build_id;
	char path[128];
	int fd;

	if (strlen(id) < 4)
		return 0;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !open_file(&names->debug, fd))
		return 0;
	return add_functions(names, names->debug.elf);
}

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	/* The longer first: it is found for more. Then by name, so that it is always the same. */
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

struct kl_elf_names *kl_elf_names_open(int fd)
{
	struct kl_elf_names *names = calloc(1, sizeof(*names));
	int ret;

	if (!names) {
		close(fd);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	names->debug.fd = -1;
	if (!open_file(&names->own, fd)) {
		kl_elf_names_close(names);
		kl_fail(EINVAL, "it is no ELF file");
		return NULL;
	}
	read_segments(names, names->own.elf);
	ret = add_functions(names, names->own.elf);
	if (!ret)
		ret = open_debug(names);
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
	close_file(&names->own);
	close_file(&names->debug);
	free(names->function);
	free(names);
}

const char *kl_elf_names_build_id(const struct kl_elf_names *names)
{
	return names->build_id[0] ? names->build_id : NULL;
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

const char *kl_elf_names_at(const struct kl_elf_names *names, uint64_t place, uint64_t *offset)
{
	size_t from = 0, to = names->n;
	uint64_t address, bytes;

	if (!to_address(names, place, &address))
		return NULL;
	/* The last that begins at or before it, and of those with one address the first. */
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
