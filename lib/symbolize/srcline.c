// SPDX-License-Identifier: GPL-2.0
/*
 * Source lines of the kernel's and its modules' text. Runtime addresses are converted to addresses
 * in a file (srcline_file.c finds it), which symbol/elf_process.c reads. The kernel's text is one
 * piece that may be offset from its file; each section of a module has an address of its own.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <kernlens/error.h>

#include "../base/base.h"
#include "srcline_ask.h"
#include "srcline_file.h"

#define SECTIONS_MAX 512

/* A part of the text with a common offset. */
struct piece {
	uint64_t begin; /* runtime address */
	uint64_t place; /* address in the file, once looked up */
	bool looked_up;
	bool known;
	char name[64]; /* of the section or symbol in the file */
};

/* The kernel or a module. */
struct object {
	char *module;
	bool none; /* nothing is known about it */
	unsigned int start; /* start count of the process that has it open */
	int fd; /* its file, to reopen it; -1: none */
	struct piece *piece; /* sorted by address */
	size_t pieces;
};

struct kl_source {
	const struct kl_blocks *blocks;
	bool running;
	struct kl_source_files files;
	struct kl_elf_process *process;
	struct kl_texts texts;
	struct object *object;
	size_t objects, room;
};

struct kl_source *kl_source_open(const struct kl_blocks *blocks, bool running, const char *debug)
{
	struct kl_source *s = calloc(1, sizeof(*s));
	struct stat about;

	if (s)
		s->process = kl_elf_process_create();
	if (!s || !s->process) {
		free(s);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	s->blocks = blocks;
	s->running = running;
	if (!debug || !stat(debug, &about)) {
		kl_source_files_init(&s->files, blocks, debug, debug && S_ISDIR(about.st_mode));
		return s;
	}
	kl_fail_system(errno, "%s", debug);
	kl_source_close(s);
	return NULL;
}

void kl_source_close(struct kl_source *source)
{
	int error = errno;

	if (!source)
		return;
	kl_elf_process_destroy(source->process);
	for (size_t i = 0; i < source->objects; i++) {
		if (source->object[i].fd >= 0)
			close(source->object[i].fd);
		free(source->object[i].module);
		free(source->object[i].piece);
	}
	free(source->object);
	kl_texts_deinit(&source->texts);
	free(source);
	errno = error;
}

const char *kl_source_refused(const struct kl_source *source)
{
	return *source->files.refused ? source->files.refused : NULL;
}

/* ------------------------------------------------------------------ pieces */

static int add_piece(struct object *o, const char *name, uint64_t begin)
{
	struct piece *grown = realloc(o->piece, (o->pieces + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	o->piece = grown;
	grown[o->pieces] = (struct piece){ .begin = begin };
	snprintf(grown[o->pieces++].name, sizeof(grown->name), "%s", name);
	return 0;
}

static int by_begin(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

static int add_sections(struct object *o)
{
	char path[256 + NAME_MAX];
	struct dirent *entry;
	DIR *folder;
	int ret = 0;

	snprintf(path, sizeof(path), "/sys/module/%s/sections", o->module);
	folder = opendir(path);
	while (folder && !ret && o->pieces < SECTIONS_MAX && (entry = readdir(folder))) {
		unsigned long long address = 0;
		FILE *file;

		snprintf(path, sizeof(path), "/sys/module/%s/sections/%s", o->module,
			 entry->d_name);
		file = *entry->d_name == '.' && entry->d_type == DT_DIR ? NULL : fopen(path, "re");
		if (!file)
			continue;
		if (fscanf(file, "%llx", &address) == 1 && address)
			ret = add_piece(o, entry->d_name, address);
		fclose(file);
	}
	if (folder)
		closedir(folder);
	if (o->pieces)
		qsort(o->piece, o->pieces, sizeof(*o->piece), by_begin);
	return o->pieces ? ret : -ENOENT;
}

static int add_pieces(const struct kl_source *s, struct object *o)
{
	struct kl_symbol symbol = {};

	if (*o->module)
		return s->running ? add_sections(o) : -ENOENT;
	if (!kl_symbols_lookup(s->blocks->symbols, "kernel:" KL_SOURCE_KERNEL_PLACE, &symbol) ||
	    !symbol.address)
		return -ENOENT;
	return add_piece(o, KL_SOURCE_KERNEL_PLACE, symbol.address);
}

/* The piece that contains an address, with its address in the file; NULL: unknown. */
static struct piece *find_piece(struct kl_source *s, struct object *o, uint64_t address)
{
	struct piece *found = NULL;
	size_t i;

	for (i = 0; i < o->pieces && o->piece[i].begin <= address; i++)
		found = &o->piece[i];
	if (!found)
		return NULL;
	if (!found->looked_up)
		found->known = !kl_elf_process_place(s->process, (unsigned int)(o - s->object),
						     found->name, &found->place);
	found->looked_up = true;
	return found->known ? found : NULL;
}

/* ----------------------------------------------------------------- objects */

static bool open_object(struct kl_source *s, struct object *o)
{
	char id[KL_BUILD_ID_TEXT];
	unsigned int number = (unsigned int)(o - s->object);

	if (o->none || o->start == kl_elf_process_starts(s->process))
		return !o->none;
	o->none = kl_elf_process_open(s->process, number, dup(o->fd), NULL, id) != 0;
	o->start = kl_elf_process_starts(s->process);
	return !o->none;
}

static struct object *add_object(struct kl_source *s, const char *module)
{
	struct object *grown = kl_array_grow(s->object, s->objects, &s->room, sizeof(*grown)), *o;
	char id[KL_BUILD_ID_TEXT] = "";
	int fd = -1;

	if (!grown || s->objects == KL_ELF_FILES_MAX)
		return NULL;
	s->object = grown;
	o = &grown[s->objects];
	*o = (struct object){ .fd = -1, .module = strdup(module) };
	if (!o->module)
		return NULL;
	s->objects++;
	if (!add_pieces(s, o) && kl_source_build_id(s->blocks, module, id))
		fd = kl_source_file_open(&s->files, s->process, (unsigned int)(o - s->object),
					 module, id, o->piece[0].name);
	o->fd = fd;
	o->none = fd < 0;
	o->start = kl_elf_process_starts(s->process);
	kl_error_clear();
	return o;
}

static struct object *get_object(struct kl_source *s, const char *module)
{
	for (size_t i = 0; i < s->objects; i++)
		if (!strcmp(s->object[i].module, module))
			return &s->object[i];
	return add_object(s, module);
}

/* ------------------------------------------------------------------- lines */

/* Simplify "a/./b" and "a/c/../b" to "a/b", so that each file has a single name. */
static int keep_name(struct kl_texts *texts, const char **name)
{
	char path[PATH_MAX], *to = path;
	const char *from = *name, *clean = path;
	int ret;

	if (!from || !strstr(from, "/.") || strlen(from) >= sizeof(path))
		return kl_texts_keep(texts, name);
	while (*from) {
		size_t bytes = strcspn(from + 1, "/") + 1;
		char *last;

		*to = 0;
		last = strrchr(path, '/');
		if (!strncmp(from, "/../", 4) && to > path && last && strcmp(last, "/..") != 0) {
			to = last;
		} else if (strncmp(from, "/./", 3) != 0) {
			memcpy(to, from, bytes);
			to += bytes;
		}
		from += bytes;
	}
	*to = 0;
	ret = kl_texts_keep(texts, &clean);
	*name = ret ? NULL : clean;
	return ret;
}

int kl_source_ask(struct kl_elf_process *process, unsigned int number, struct kl_texts *texts,
		  const uint64_t *address, size_t n, struct kl_source_line *line)
{
	struct kl_elf_line found[KL_ELF_LINES_MAX];

	while (n) {
		unsigned int part = n < KL_ELF_LINES_MAX ? (unsigned int)n : KL_ELF_LINES_MAX;
		int done = kl_elf_process_lines(process, number, address, part, found);
		const char *from = NULL, *kept = NULL;

		if (done <= 0)
			return done;
		for (int i = 0; i < done; i++) {
			/* Consecutive names are mostly the same. */
			if (found[i].source != from) {
				from = found[i].source;
				kept = from;
				if (keep_name(texts, &kept))
					return 0;
			}
			line[i] = (struct kl_source_line){ kept, kept ? found[i].line : 0 };
		}
		address += done;
		line += done;
		n -= (size_t)done;
	}
	return 0;
}

bool kl_source_lines(struct kl_source *source, const struct kl_block_function *function,
		     const uint64_t *address, size_t n, struct kl_source_line *line)
{
	struct object *o = get_object(source, function->module);
	uint64_t *place;
	int ret = 0;

	memset(line, 0, n * sizeof(*line));
	if (!o || !open_object(source, o))
		return false;
	place = calloc(n + 1, sizeof(*place));
	for (size_t i = 0; place && i < n; i++) {
		const struct piece *piece = find_piece(source, o, address[i]);

		place[i] = piece ? piece->place + (address[i] - piece->begin) : 0;
	}
	if (place)
		ret = kl_source_ask(source->process, (unsigned int)(o - source->object),
				    &source->texts, place, n, line);
	free(place);
	/* A file that killed the process is not read again. */
	o->none |= ret == -EPIPE;
	return place && !ret;
}
