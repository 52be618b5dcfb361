// SPDX-License-Identifier: GPL-2.0
/*
 * Finds debug information of the kernel and its modules. It searches, in this order: the path that
 * the user gave, where distribution packages put it, by build id and by name, and the modules
 * themselves. Files with a different build id are rejected.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <kernlens/error.h>

#include "../base/base.h"
#include "srcline_file.h"

#define ROOT "/usr/lib/debug"
#define NOTES_MAX (1u << 16)

/*
 * Get the release from the kernel's own banner, "Linux version RELEASE (". It need not be the
 * running kernel.
 */
static void find_release(const struct kl_blocks *blocks, char release[KL_RELEASE_MAX])
{
	static const char before[] = "Linux version ";
	char banner[sizeof(before) - 1 + KL_RELEASE_MAX] = "";
	struct kl_symbol symbol = {};
	struct utsname name = {};
	char *end;

	if (kl_symbols_lookup(blocks->symbols, "kernel:linux_banner", &symbol) &&
	    !kl_text_read(blocks, symbol.address, banner, sizeof(banner) - 1) &&
	    !strncmp(banner, before, strlen(before))) {
		end = strchr(banner + strlen(before), ' ');
		if (end)
			*end = 0;
		memcpy(release, banner + strlen(before), KL_RELEASE_MAX);
		return;
	}
	uname(&name);
	snprintf(release, KL_RELEASE_MAX, "%s", name.release);
}

void kl_source_files_init(struct kl_source_files *files, const struct kl_blocks *blocks,
			  const char *debug, bool folder)
{
	*files = (struct kl_source_files){ .debug = debug, .folder = folder };
	find_release(blocks, files->release);
	kl_error_clear();
}

/* ---------------------------------------------------------------- build id */

static size_t rounded(uint32_t bytes)
{
	return ((size_t)bytes + 3) & ~(size_t)3;
}

static bool find_id(const uint8_t *notes, size_t bytes, char id[KL_BUILD_ID_TEXT])
{
	while (bytes >= sizeof(Elf64_Nhdr)) {
		uint32_t name = kl_get32(notes), value = kl_get32(notes + 4);
		size_t at = sizeof(Elf64_Nhdr) + rounded(name);
		size_t next = at + rounded(value);

		if (next > bytes)
			return false;
		if (kl_get32(notes + 8) == NT_GNU_BUILD_ID && name == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + sizeof(Elf64_Nhdr), ELF_NOTE_GNU, name) &&
		    value <= KL_BUILD_ID_MAX) {
			for (uint32_t i = 0; i < value; i++)
				snprintf(id + 2 * (size_t)i, 3, "%02x", notes[at + i]);
			return value;
		}
		notes += next;
		bytes -= next;
	}
	return false;
}

static bool module_id(const char *module, char id[KL_BUILD_ID_TEXT])
{
	uint8_t notes[256];
	char path[256];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", module);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(notes, 1, sizeof(notes), file);
	fclose(file);
	return find_id(notes, n, id);
}

/* The build id as it is in memory, also in a copy of another machine's. */
bool kl_source_build_id(const struct kl_blocks *blocks, const char *module,
			char id[KL_BUILD_ID_TEXT])
{
	struct kl_symbol begin = {}, end = {};
	uint8_t *notes;
	bool found;

	if (*module)
		return module_id(module, id);
	if (!kl_symbols_lookup(blocks->symbols, "kernel:__start_notes", &begin) ||
	    !kl_symbols_lookup(blocks->symbols, "kernel:__stop_notes", &end) ||
	    end.address <= begin.address || end.address - begin.address > NOTES_MAX)
		return false;
	notes = malloc(end.address - begin.address);
	found = notes && !kl_text_read(blocks, begin.address, notes, end.address - begin.address) &&
		find_id(notes, end.address - begin.address, id);
	free(notes);
	return found;
}

/* ------------------------------------------------------------------- files */

/* Is it MODULE.ko? File names may have dashes for underscores. */
static bool is_named(const char *file, const char *module)
{
	for (; *module; file++, module++)
		if (*file != *module && (*module != '_' || *file != '-'))
			return false;
	return !strncmp(file, ".ko", 3);
}

/* A module's path below /lib/modules/RELEASE: "kernel/fs/ext4/ext4.ko"; empty: unknown. */
static void find_module(const char *release, const char *module, char path[PATH_MAX])
{
	char list[128], line[PATH_MAX];
	FILE *file;

	*path = 0;
	snprintf(list, sizeof(list), "/lib/modules/%s/modules.dep", release);
	file = fopen(list, "re");
	while (file && !*path && fgets(line, sizeof(line), file)) {
		char *end = strchr(line, ':'), *name;

		if (end)
			*end = 0;
		name = strrchr(line, '/');
		name = name ? name + 1 : line;
		if (!end || !is_named(name, module))
			continue;
		/* Cut off the suffix of a compressed file. */
		strstr(name, ".ko")[3] = 0;
		strcpy(path, line);
	}
	if (file)
		fclose(file);
}

static void refuse(struct kl_source_files *files, const char *path, const char *module,
		   const char *why)
{
	if (*files->refused)
		return;
	snprintf(files->refused, sizeof(files->refused), "%s %s %s%s", path, why,
		 *module ? "module " : "the kernel", module);
}

struct wanted {
	struct kl_source_files *files;
	struct kl_elf_process *process;
	unsigned int number;
	const char *module;
	const char *id;
	const char *place;
};

/* @named: the user gave this path. Returns a descriptor or -1. */
static int try_path(const struct wanted *w, const char *path, bool named)
{
	char id[KL_BUILD_ID_TEXT];
	int fd = kl_open_regular(path), other = fd < 0 ? -1 : dup(fd);
	uint64_t address;

	if (other < 0) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (kl_elf_process_open(w->process, w->number, other, NULL, id)) {
		if (named)
			refuse(w->files, path, w->module,
			       "cannot be read as debug information for");
	} else if (strcmp(id, w->id) != 0) {
		/* A file that the user gave may belong to another module that is requested, too. */
		if (!named || !w->files->used)
			refuse(w->files, path, w->module, "has a different build ID than");
	} else if (!kl_elf_process_place(w->process, w->number, w->place, &address)) {
		w->files->used |= named;
		return fd;
	} else if (named) {
		refuse(w->files, path, w->module, "contains no debug information for");
	}
	close(fd);
	return -1;
}

__attribute__((format(printf, 2, 3))) static int try_format(const struct wanted *w,
							    const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;
	int bytes;

	va_start(arguments, format);
	bytes = vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	return bytes < (int)sizeof(path) ? try_path(w, path, false) : -1;
}

/* Try a directory of debug files as distributions lay it out, or a build tree. */
static int try_folder(const struct wanted *w, const char *root, const char *below)
{
	const char *release = w->files->release, *slash = strchr(below, '/');
	int fd = try_format(w, "%s/.build-id/%.2s/%s.debug", root, w->id, w->id + 2);

	if (fd < 0 && !*w->module) {
		fd = try_format(w, "%s/boot/vmlinux-%s", root, release);
		if (fd < 0)
			fd = try_format(w, "%s/lib/modules/%s/vmlinux", root, release);
		return fd < 0 ? try_format(w, "%s/vmlinux", root) : fd;
	}
	if (fd < 0 && *below)
		fd = try_format(w, "%s/lib/modules/%s/%s", root, release, below);
	if (fd < 0 && *below)
		fd = try_format(w, "%s/lib/modules/%s/%s.debug", root, release, below);
	if (fd < 0 && slash)
		fd = try_format(w, "%s%s", root, slash);
	return fd < 0 ? try_format(w, "%s/%s.ko", root, w->module) : fd;
}

int kl_source_file_open(struct kl_source_files *files, struct kl_elf_process *process,
			unsigned int number, const char *module, const char *id, const char *place)
{
	const struct wanted w = { files, process, number, module, id, place };
	char below[PATH_MAX] = "";
	int fd = -1;

	if (strlen(id) < 4)
		return -1;
	if (*module)
		find_module(files->release, module, below);
	if (files->debug)
		fd = files->folder ? try_folder(&w, files->debug, below) :
				     try_path(&w, files->debug, true);
	if (fd < 0 && files->folder)
		refuse(files, files->debug, module, "contains no debug information for");
	if (fd < 0)
		fd = try_folder(&w, ROOT, below);
	if (fd < 0)
		fd = *module ? try_format(&w, "/lib/modules/%s/%s", files->release, below) :
			       try_format(&w, "/lib/modules/%s/build/vmlinux", files->release);
	return fd;
}
