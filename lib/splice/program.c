// SPDX-License-Identifier: GPL-2.0
/*
 * A program's or library's functions by name (symbol/elf_names.c), their blocks (block/program.c)
 * and source lines (symbol/elf_process.c).
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kernlens/error.h>
#include <kernlens/program.h>

#include "../base/base.h"
#include "../base/plain.h"
#include "../block/program.h"
#include "../symbol/elf_names.h"
#include "../symbolize/srcline_ask.h"

struct kl_program {
	char *path;
	struct kl_elf_names *names;
	struct kl_block_function *function; /* one for each name, sorted by address */
	size_t n, room;
	char **own; /* for each, a unique name if others share its name */
	struct kl_blocks *blocks;
	struct kl_elf_process *lines; /* started on first use */
	struct kl_texts texts; /* names of source files */
	bool looked_up;
};

/* --------------------------------------------------------------- functions */

/* The name without its version, made printable. */
static char *copy_name(const char *name)
{
	char *copy = strndup(name, strcspn(name, "@"));

	if (copy)
		kl_make_plain(copy, strlen(copy));
	return copy;
}

static int add_function(struct kl_program *p, const char *name, uint64_t address, uint64_t bytes)
{
	struct kl_block_function *grown =
		kl_array_grow(p->function, p->n, &p->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	p->function = grown;
	name = copy_name(name);
	if (!name)
		return kl_fail(ENOMEM, "out of memory");
	grown[p->n++] = (struct kl_block_function){
		.address = address,
		.bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes,
		.name = name,
	};
	return 0;
}

static int compare_names(const void *left, const void *right)
{
	const struct kl_block_function *a = *(struct kl_block_function *const *)left;
	const struct kl_block_function *b = *(struct kl_block_function *const *)right;
	int order = strcmp(a->name, b->name);

	return order ? order : (a->address > b->address) - (a->address < b->address);
}

static int name_by_address(struct kl_program *p, const struct kl_block_function *f)
{
	char **own = &p->own[f - p->function];

	if (!*own && asprintf(own, "0x%llx", (unsigned long long)f->address) < 0)
		*own = NULL;
	return *own ? 0 : kl_fail(ENOMEM, "out of memory");
}

/* Functions in several files of a program may share a name: make those unique. */
static int tell_apart(struct kl_program *p)
{
	const struct kl_block_function **sorted = calloc(p->n + 1, sizeof(*sorted));
	int ret = 0;

	p->own = calloc(p->n + 1, sizeof(*p->own));
	if (!sorted || !p->own) {
		free(sorted);
		return kl_fail(ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < p->n; i++)
		sorted[i] = &p->function[i];
	qsort(sorted, p->n, sizeof(*sorted), compare_names);
	for (size_t i = 1; !ret && i < p->n; i++) {
		if (strcmp(sorted[i - 1]->name, sorted[i]->name) != 0 ||
		    sorted[i - 1]->address == sorted[i]->address)
			continue;
		ret = name_by_address(p, sorted[i - 1]);
		if (!ret)
			ret = name_by_address(p, sorted[i]);
	}
	free(sorted);
	return ret;
}

static int read_functions(struct kl_program *p)
{
	uint64_t address, bytes;
	const char *name;
	int ret = 0;

	for (size_t i = 0; !ret && (name = kl_elf_names_function(p->names, i, &address, &bytes));
	     i++)
		ret = add_function(p, name, address, bytes);
	if (!ret && !p->n)
		ret = kl_fail(ENOENT, "%s has no function symbols", p->path);
	return ret ? ret : tell_apart(p);
}

static int load(struct kl_program *p)
{
	char *whole = realpath(p->path, NULL);
	int fd = kl_open_regular(p->path), ret;

	if (fd >= 0) {
		p->names = kl_elf_names_open(fd, whole, false);
		if (!p->names)
			fd = errno == EINVAL ? kl_fail(EINVAL, "%s is not an ELF file", p->path) :
					       -errno;
	}
	free(whole);
	if (fd < 0)
		return fd;
	ret = read_functions(p);
	if (ret)
		return ret;
	fd = kl_open_regular(p->path);
	if (fd < 0)
		return fd;
	p->blocks = kl_blocks_open_program(fd, p->path, p->function, p->n);
	return p->blocks ? 0 : -errno;
}

struct kl_program *kl_program_open(const char *path)
{
	struct kl_program *p = calloc(1, sizeof(*p));
	int ret;

	if (p)
		p->path = strdup(path);
	if (!p || !p->path) {
		free(p);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	ret = load(p);
	if (!ret)
		return p;
	kl_program_close(p);
	errno = -ret;
	return NULL;
}

void kl_program_close(struct kl_program *program)
{
	struct kl_program *p = program;

	if (!p)
		return;
	kl_elf_process_destroy(p->lines);
	kl_texts_deinit(&p->texts);
	kl_blocks_close(p->blocks);
	for (size_t i = 0; i < p->n; i++) {
		free((char *)p->function[i].name);
		if (p->own)
			free(p->own[i]);
	}
	free(p->own);
	free(p->function);
	kl_elf_names_close(p->names);
	free(p->path);
	free(p);
}

const char *kl_program_path(const struct kl_program *program)
{
	return program->path;
}

struct kl_blocks *kl_program_blocks(const struct kl_program *program)
{
	return program->blocks;
}

/* ------------------------------------------------------------------ lookup */

/* Index among the blocks' functions by address; there is only one for each address. */
static long index_of(const struct kl_program *p, uint64_t address)
{
	size_t low = 0, high = kl_blocks_functions(p->blocks);
	struct kl_block_function f;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		kl_blocks_function(p->blocks, middle, &f);
		if (f.address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	kl_blocks_function(p->blocks, low - 1, &f);
	return address - f.address < f.bytes ? (long)low - 1 : -ENOENT;
}

static const char *name_of(const struct kl_program *p, size_t i)
{
	return p->own[i] ?: p->function[i].name;
}

static long find_address(const struct kl_program *p, uint64_t address, size_t *position,
			 const char **name)
{
	struct kl_block_function f;
	long index = *position ? -ENOENT : index_of(p, address);

	*position = 1;
	if (index < 0)
		return index;
	kl_blocks_function(p->blocks, (size_t)index, &f);
	for (size_t i = 0; i < p->n; i++)
		if (p->function[i].address == f.address && p->function[i].name == f.name)
			*name = name_of(p, i);
	return index;
}

long kl_program_next(struct kl_program *program, const char *pattern, size_t *position,
		     const char **name)
{
	const struct kl_program *p = program;
	bool glob = strpbrk(pattern, "*?[");
	char *rest;
	uint64_t address;

	if (!strncmp(pattern, "0x", 2)) {
		address = strtoull(pattern, &rest, 16);
		if (!*rest)
			return find_address(p, address, position, name);
	}
	for (size_t i = *position; i < p->n; i++) {
		const struct kl_block_function *f = &p->function[i];
		long index;

		if (glob ? fnmatch(pattern, f->name, 0) : strcmp(pattern, f->name))
			continue;
		index = index_of(p, f->address);
		if (index < 0)
			continue;
		*name = name_of(p, i);
		for (i++; i < p->n && p->function[i].address == f->address; i++)
			;
		*position = i;
		return index;
	}
	*position = p->n;
	return -ENOENT;
}

const char *kl_program_build_id(const struct kl_program *program)
{
	return kl_elf_names_build_id(program->names);
}

long kl_program_find(const struct kl_program *program, uint64_t offset)
{
	uint64_t address;
	int error = kl_blocks_file_address(program->blocks, offset, &address);

	return error ? error : kl_blocks_find(program->blocks, address);
}

int kl_program_offset(const struct kl_program *program, uint64_t address, uint64_t *offset)
{
	return kl_blocks_file_offset(program->blocks, address, offset);
}

/* ------------------------------------------------------------------- lines */

static bool open_lines(struct kl_program *p)
{
	char id[KL_BUILD_ID_TEXT], *whole;
	int fd;

	if (p->looked_up)
		return p->lines;
	p->looked_up = true;
	whole = realpath(p->path, NULL);
	fd = whole ? kl_open_regular(whole) : -1;
	if (fd >= 0)
		p->lines = kl_elf_process_create();
	if (fd >= 0 && !p->lines)
		close(fd);
	if (p->lines && kl_elf_process_open(p->lines, 0, fd, whole, id)) {
		kl_elf_process_destroy(p->lines);
		p->lines = NULL;
	}
	free(whole);
	kl_error_clear();
	return p->lines;
}

bool kl_program_lines(struct kl_program *program, const uint64_t *address, size_t n,
		      struct kl_source_line *line)
{
	memset(line, 0, n * sizeof(*line));
	return open_lines(program) &&
	       !kl_source_ask(program->lines, 0, &program->texts, address, n, line);
}
