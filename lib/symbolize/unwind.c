// SPDX-License-Identifier: GPL-2.0
/*
 * Loads unwind tables into a session: those of the files that the traced processes have mapped when
 * recording begins, of the program that is about to be executed and its libraries, and of each file
 * that turns up in a trace. symbol/elf_process.c compiles them; the module shares what other
 * sessions have loaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/error.h>
#include <kernlens/stack_store.h>
#include "../base/base.h"
#include "../symbol/elf_process.h"
#include "../symbol/elf_unwind.h"
#include "libraries.h"
#include "unwind.h"

#define NEEDED_MAX 256 /* libraries of one program */
#define WANTED_AT_ONCE 128
#define NUMBERED_MAX 1024 /* files whose number is known */

/* A file that has been given to the module. */
struct numbered {
	dev_t dev;
	ino_t inode;
};

struct kl_unwinder {
	struct kl_session *session;
	struct kl_objects *objects;
	struct kl_libraries *libraries; /* NULL: not read yet */
	bool unavailable; /* the module has no unwind tables for us */
	bool vdso; /* that of the vDSO has been tried */
	bool tried[KL_STACK_OBJECTS_MAX];
	/* compiled for traces that were taken before the module had the table */
	struct kl_cfi_table *compiled[KL_STACK_OBJECTS_MAX];
	struct numbered numbered[NUMBERED_MAX];
	size_t n_numbered;
};

struct kl_unwinder *kl_unwinder_create(struct kl_session *session, struct kl_objects *objects)
{
	struct kl_unwinder *u = calloc(1, sizeof(*u));

	if (u) {
		u->session = session;
		u->objects = objects;
	}
	return u;
}

void kl_unwinder_destroy(struct kl_unwinder *u)
{
	if (!u)
		return;
	kl_unwinder_release(u);
	kl_libraries_destroy(u->libraries);
	free(u);
}

/* Returns 0 or a negative errno. */
static int give(struct kl_unwinder *u, struct kl_abi_unwind *call)
{
	int ret = u->unavailable ? -EPERM : kl_session_unwind(u->session, call);

	/* Another process has created the session, or the kernel cannot report mappings. */
	u->unavailable |= ret == -EPERM || ret == -ENOTTY || ret == -ENOENT;
	kl_error_clear();
	return ret;
}

/* Compile the table of a numbered file. Returns whether that was possible. */
static bool compile(struct kl_unwinder *u, uint32_t number, struct kl_cfi_table *table)
{
	struct kl_elf_process *process = kl_objects_open(u->objects, number);

	return process && !kl_elf_process_unwind(process, number - 1, table);
}

/* Compile and load the table of a numbered file. */
static void load(struct kl_unwinder *u, uint32_t number)
{
	struct kl_abi_unwind call = { .object = number };
	struct kl_cfi_table table;

	if (!compile(u, number, &table))
		return;
	call.rows = (uintptr_t)table.row;
	call.n = (uint32_t)table.n;
	if (table.n)
		give(u, &call);
	kl_cfi_deinit(&table);
}

void kl_unwinder_number(struct kl_unwinder *u, uint32_t number)
{
	struct kl_abi_unwind call = { .object = number };

	if (!number || number > KL_STACK_OBJECTS_MAX || u->tried[number - 1] || u->unavailable)
		return;
	u->tried[number - 1] = true;
	if (!give(u, &call) && !call.n)
		load(u, number);
}

const struct kl_cfi_table *kl_unwinder_table(struct kl_unwinder *u, uint32_t number)
{
	struct kl_cfi_table **table;

	if (!number || number > KL_STACK_OBJECTS_MAX)
		return NULL;
	table = &u->compiled[number - 1];
	if (!*table) {
		*table = calloc(1, sizeof(**table));
		if (*table && !compile(u, number, *table))
			**table = (struct kl_cfi_table){};
		kl_error_clear();
	}
	return *table;
}

void kl_unwinder_release(struct kl_unwinder *u)
{
	for (uint32_t i = 0; i < KL_STACK_OBJECTS_MAX; i++) {
		if (u->compiled[i])
			kl_cfi_deinit(u->compiled[i]);
		free(u->compiled[i]);
		u->compiled[i] = NULL;
	}
}

/* The vDSO is the kernel's, so it can be read in this process. */
void kl_unwinder_vdso(struct kl_unwinder *u)
{
	struct kl_abi_unwind call = { .flags = KL_UNWIND_VDSO, .fd = -1 };
	struct kl_cfi_table table = {};
	size_t bytes;
	char *image;
	Elf *elf;

	if (u->vdso)
		return;
	u->vdso = true;
	image = kl_vdso_find(&bytes);
	if (!image || give(u, &call) || call.n)
		return;
	elf_version(EV_CURRENT);
	elf = elf_memory(image, bytes);
	if (elf && !kl_elf_unwind(elf, NULL, &table) && table.n) {
		call.rows = (uintptr_t)table.row;
		call.n = (uint32_t)table.n;
		give(u, &call);
	}
	kl_cfi_deinit(&table);
	elf_end(elf);
}

/* ------------------------------------------------------------------- files */

static bool is_numbered(const struct kl_unwinder *u, const struct stat *about)
{
	for (size_t i = 0; i < u->n_numbered; i++)
		if (u->numbered[i].dev == about->st_dev && u->numbered[i].inode == about->st_ino)
			return true;
	return false;
}

/* Have the module number an open file. Returns the number, or 0. */
static uint32_t number_of(struct kl_unwinder *u, int fd)
{
	struct kl_abi_unwind call = { .fd = fd };
	struct stat about;

	if (fstat(fd, &about) || is_numbered(u, &about) || u->n_numbered == NUMBERED_MAX)
		return 0;
	u->numbered[u->n_numbered++] = (struct numbered){ about.st_dev, about.st_ino };
	if (give(u, &call) || call.object > KL_STACK_OBJECTS_MAX)
		return 0;
	if (call.n)
		u->tried[call.object - 1] = true;
	return call.object;
}

/* Load the table of a file. Returns its number if it was not loaded before, else 0. */
static uint32_t load_file(struct kl_unwinder *u, const char *path)
{
	int fd = u->unavailable ? -1 : kl_open_regular(path);
	uint32_t number = fd < 0 ? 0 : number_of(u, fd);

	kl_error_clear();
	if (fd >= 0)
		close(fd);
	if (number)
		kl_unwinder_number(u, number);
	return number;
}

/* ---------------------------------------------------------------- programs */

static int add_path(char **path, size_t *n, const char *add)
{
	for (size_t i = 0; i < *n; i++)
		if (!strcmp(path[i], add))
			return 0;
	if (*n == NEEDED_MAX)
		return -E2BIG;
	path[*n] = strdup(add);
	if (!path[*n])
		return -ENOMEM;
	++*n;
	return 0;
}

static void add_needed(struct kl_unwinder *u, uint32_t number, char **path, size_t *n)
{
	struct kl_elf_process *process = kl_objects_open(u->objects, number);
	const char *name, *library;

	for (unsigned int i = 0; process && i < NEEDED_MAX; i++) {
		name = kl_elf_process_needed(process, number - 1, i);
		library = name ? kl_libraries_find(u->libraries, name) : NULL;
		if (!name || (library && add_path(path, n, library)))
			return;
	}
}

void kl_unwinder_program(struct kl_unwinder *u, const char *program)
{
	char *path[NEEDED_MAX] = {};
	size_t n = 0;

	if (!u->libraries)
		u->libraries = kl_libraries_create();
	if (!u->libraries || add_path(path, &n, program))
		return;
	for (size_t i = 0; i < n; i++) {
		uint32_t number = load_file(u, path[i]);

		if (number)
			add_needed(u, number, path, &n);
	}
	for (size_t i = 0; i < n; i++)
		free(path[i]);
}

/* --------------------------------------------------------------- processes */

/* "start-end r-xp offset dev inode path": the path of a mapping of code, or NULL. */
static char *code_of(char *line)
{
	char rights[5], *path = strchr(line, '/');
	int at = 0;

	if (sscanf(line, "%*x-%*x %4s %*x %*s %*s %n", rights, &at) != 1 || !at || !path ||
	    rights[2] != 'x')
		return NULL;
	path[strcspn(path, "\n")] = 0;
	return path;
}

void kl_unwinder_process(struct kl_unwinder *u, pid_t pid)
{
	char name[64], line[PATH_MAX + 128], path[PATH_MAX + 64], last[PATH_MAX] = "";
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *of = code_of(line);

		if (!of || !strcmp(of, last))
			continue;
		snprintf(last, sizeof(last), "%s", of);
		/* As that process sees it, which may have another root. */
		snprintf(path, sizeof(path), "/proc/%d/root%s", pid, of);
		load_file(u, path);
	}
	if (file)
		fclose(file);
}

bool kl_unwinder_wanted(struct kl_unwinder *u)
{
	uint32_t number[WANTED_AT_ONCE];
	struct kl_abi_stacks call = { .what = KL_STACKS_WANTED };
	bool any = false;

	if (u->unavailable)
		return false;
	do {
		call.buffer = (uintptr_t)number;
		call.bytes = sizeof(number);
		if (kl_session_stacks(u->session, &call))
			break;
		for (uint32_t i = 0; i < call.n && i < WANTED_AT_ONCE; i++) {
			any |= !u->tried[(number[i] - 1) % KL_STACK_OBJECTS_MAX];
			kl_unwinder_number(u, number[i]);
		}
	} while (call.n == WANTED_AT_ONCE);
	kl_error_clear();
	return any;
}
