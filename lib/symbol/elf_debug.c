// SPDX-License-Identifier: GPL-2.0
/*
 * Finds debug files as debuggers do, on this machine only. A debug file matches if it has the same
 * build id or, where there is none, the checksum in the link.
 */
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/base.h"
#include "elf_debug.h"

#define ROOT "/usr/lib/debug"
#define PATH_BYTES 4096
#define CHECKED_MAX (1ll << 30) /* maximum size of a file to compute the checksum of */
#define POLYNOMIAL 0xedb88320u

/* ---------------------------------------------------------------- build id */

static bool read_notes(Elf *elf, const GElf_Phdr *segment, char *text)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz,
					      segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, name, bytes;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &bytes))) {
		const unsigned char *id = (const unsigned char *)data->d_buf + bytes;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp((const char *)data->d_buf + name, ELF_NOTE_GNU, note.n_namesz) != 0 ||
		    note.n_descsz > KL_BUILD_ID_MAX)
			continue;
		for (size_t i = 0; i < note.n_descsz; i++)
			snprintf(text + 2 * i, 3, "%02x", id[i]);
		return true;
	}
	return false;
}

/* Debug files have the note, but their segments' offsets may be wrong, so use the sections. */
static bool read_note_sections(Elf *elf, char *text)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Phdr as = { .p_type = PT_NOTE };

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		as.p_offset = header.sh_offset;
		as.p_filesz = header.sh_size;
		as.p_align = header.sh_addralign;
		if (read_notes(elf, &as, text))
			return true;
	}
	return false;
}

void kl_elf_build_id(Elf *elf, char text[KL_BUILD_ID_TEXT])
{
	GElf_Phdr segment;
	size_t n = 0;

	*text = 0;
	if (read_note_sections(elf, text) || elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_NOTE &&
		    read_notes(elf, &segment, text))
			return;
}

/* -------------------------------------------------------------------- file */

static void make_table(uint32_t table[256])
{
	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? POLYNOMIAL : 0);
	}
}

static bool has_checksum(int fd, uint32_t wanted)
{
	uint8_t bytes[1 << 14];
	uint32_t sum = ~0u, table[256];
	struct stat about;
	off_t at = 0;
	ssize_t n;

	if (fstat(fd, &about) || about.st_size > CHECKED_MAX)
		return false;
	make_table(table);
	while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			sum = sum >> 8 ^ table[(sum ^ bytes[i]) & 0xff];
		at += n;
	}
	return !n && ~sum == wanted;
}

static bool has_build_id(int fd, const char *wanted)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	char id[KL_BUILD_ID_TEXT] = "";

	if (elf && elf_kind(elf) == ELF_K_ELF)
		kl_elf_build_id(elf, id);
	elf_end(elf);
	return !strcmp(id, wanted);
}

static int open_by_id(const char *id)
{
	char path[sizeof(ROOT) + KL_BUILD_ID_TEXT + 32];
	int fd;

	if (strlen(id) < 4)
		return -1;
	snprintf(path, sizeof(path), ROOT "/.build-id/%.2s/%s.debug", id, id + 2);
	fd = kl_open_regular(path);
	if (fd < 0 || has_build_id(fd, id))
		return fd;
	close(fd);
	return -1;
}

/* .gnu_debuglink: the debug file's name, padded to 4 bytes, and its checksum. */
static const char *get_link(Elf *elf, uint32_t *checksum)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf_Data *data;
	size_t names, length;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header) ?
					   elf_strptr(elf, names, header.sh_name) :
					   NULL;

		if (!name || strcmp(name, ".gnu_debuglink") != 0)
			continue;
		data = elf_rawdata(section, NULL);
		if (!data || !data->d_buf)
			return NULL;
		length = strnlen(data->d_buf, data->d_size);
		if (!length || (length + 4) / 4 * 4 + 4 > data->d_size ||
		    memchr(data->d_buf, '/', length))
			return NULL;
		*checksum = kl_get32((const char *)data->d_buf + (length + 4) / 4 * 4);
		return data->d_buf;
	}
	return NULL;
}

static int open_by_link(Elf *elf, const char *id, const char *path)
{
	static const char *const folders[][2] = { { "", "/" }, { "", "/.debug/" }, { ROOT, "/" } };
	const char *slash = path ? strrchr(path, '/') : NULL, *link;
	char other[PATH_BYTES];
	uint32_t checksum;

	link = slash && *path == '/' ? get_link(elf, &checksum) : NULL;
	for (size_t i = 0; link && i < KL_ARRAY_SIZE(folders); i++) {
		int bytes = snprintf(other, sizeof(other), "%s%.*s%s%s", folders[i][0],
				     (int)(slash - path), path, folders[i][1], link);
		int fd = bytes < PATH_BYTES && strcmp(other, path) != 0 ? kl_open_regular(other) :
									  -1;

		if (fd < 0)
			continue;
		if (*id ? has_build_id(fd, id) : has_checksum(fd, checksum))
			return fd;
		close(fd);
	}
	return -1;
}

int kl_elf_debug_open(Elf *elf, const char *build_id, const char *path)
{
	int fd = open_by_id(build_id);

	return fd < 0 ? open_by_link(elf, build_id, path) : fd;
}
