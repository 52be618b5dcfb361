// SPDX-License-Identifier: GPL-2.0
/*
 * From a session's call traces to names: the kernel's from /proc/kallsyms, programs' from
 * the files that the module holds open for us. Fed by KL_IOC_STACKS, feeds format/stack.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/error.h>
#include <kernlens/stack.h>
#include <kernlens/symbols.h>
#include "../base/base.h"
#include "../symbol/elf_names.h"

#define BUFFER_BYTES (256u << 10)
#define PATH_BYTES 4096

struct object {
	bool asked;
	char *path;
	struct kl_elf_names *names; /* NULL: it cannot be read */
};

struct kl_stack_collector {
	struct kl_session *session;
	struct kl_stacks *stacks;
	uint32_t next; /* id of the first that is not here yet */
	struct kl_symbols *symbols;
	uint64_t modules; /* hash of those that were loaded when they were read */
	struct object object[KL_STACK_OBJECTS_MAX];
	uint32_t *unplaced; /* traces whose files were not known yet */
	size_t n_unplaced, unplaced_room;
	uint8_t *buffer;
};

struct kl_stack_collector *kl_stack_collector_create(struct kl_session *session,
						     struct kl_stacks *stacks)
{
	struct kl_stack_collector *c = calloc(1, sizeof(*c));

	if (c)
		c->buffer = malloc(BUFFER_BYTES);
	if (!c || !c->buffer) {
		free(c);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	c->session = session;
	c->stacks = stacks;
	c->next = 1;
	return c;
}

void kl_stack_collector_destroy(struct kl_stack_collector *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < KL_STACK_OBJECTS_MAX; i++) {
		free(c->object[i].path);
		kl_elf_names_close(c->object[i].names);
	}
	kl_symbols_close(c->symbols);
	free(c->unplaced);
	free(c->buffer);
	free(c);
}

/* ----------------------------------------------------------- the kernel's */

/* Which modules are loaded, and where, if that is told. */
static uint64_t hash_modules(void)
{
	FILE *file = fopen("/proc/modules", "re");
	char name[64], address[32];
	uint64_t hash = KL_HASH_START;

	while (file && fscanf(file, "%63s %*s %*s %*s %*s %31s%*[^\n]", name, address) == 2) {
		hash = kl_hash_bytes(hash, name, strlen(name));
		hash = kl_hash_bytes(hash, address, strlen(address));
	}
	if (file)
		fclose(file);
	return hash;
}

/* Read again when a module has come or gone: its functions lie elsewhere. */
static void look_at_symbols(struct kl_stack_collector *c)
{
	uint64_t modules = hash_modules();

	if (c->symbols && c->modules == modules)
		return;
	kl_symbols_close(c->symbols);
	c->symbols = kl_symbols_open(NULL);
	c->modules = modules;
	kl_error_clear();
}

/* A call may be a function's last instruction: what it returns to is another's then. */
static void name_kernel(struct kl_stack_collector *c, struct kl_frame *frame, bool exact)
{
	struct kl_symbol symbol;
	uint64_t offset;

	if (!c->symbols || kl_symbols_at(c->symbols, frame->address - !exact, &symbol, &offset)) {
		kl_error_clear();
		return;
	}
	frame->symbol = symbol.name;
	frame->offset = offset + !exact;
	frame->object = *symbol.module ? symbol.module : NULL;
}

/* ------------------------------------------------------------- programs' */

/* Not everybody gets a descriptor: then it must be the same file behind the path. */
static int open_path(const char *path, uint64_t inode)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat about;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &about) && S_ISREG(about.st_mode) && about.st_ino == inode)
		return fd;
	close(fd);
	return -1;
}

static void ask_object(struct kl_stack_collector *c, uint32_t number)
{
	struct object *object = &c->object[number - 1];
	uint8_t room[sizeof(struct kl_abi_object) + PATH_BYTES] = {};
	struct kl_abi_stacks call = {
		.what = KL_STACKS_OBJECT,
		.first = number,
		.buffer = (uintptr_t)room,
		.bytes = sizeof(room),
	};
	struct kl_abi_object about;
	int fd;

	object->asked = true;
	if (kl_session_stacks(c->session, &call) || !call.n) {
		kl_error_clear();
		return;
	}
	memcpy(&about, room, sizeof(about));
	object->path = strdup((const char *)room + sizeof(about));
	fd = about.fd >= 0 ? about.fd : object->path ? open_path(object->path, about.inode) : -1;
	if (fd >= 0)
		object->names = kl_elf_names_open(fd);
	kl_error_clear();
}

static void name_user(struct kl_stack_collector *c, struct kl_frame *frame, uint64_t place,
		      bool exact)
{
	uint64_t number = place >> KL_STACK_PLACE_SHIFT, offset;
	const struct object *object;

	if (!number || number > KL_STACK_OBJECTS_MAX)
		return;
	if (!c->object[number - 1].asked)
		ask_object(c, (uint32_t)number);
	object = &c->object[number - 1];
	frame->place = place & ((1ull << KL_STACK_PLACE_SHIFT) - 1);
	frame->object = object->path;
	if (!object->names)
		return;
	frame->build_id = kl_elf_names_build_id(object->names);
	frame->symbol = kl_elf_names_at(object->names, frame->place - !exact, &offset);
	if (frame->symbol)
		frame->offset = offset + !exact;
}

/* ------------------------------------------------------------------ both */

static int note_unplaced(struct kl_stack_collector *c, uint32_t id)
{
	uint32_t *grown =
		kl_array_grow(c->unplaced, c->n_unplaced, &c->unplaced_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	c->unplaced = grown;
	grown[c->n_unplaced++] = id;
	return 0;
}

/* One trace of what the module gave. Returns its bytes. */
static int take_trace(struct kl_stack_collector *c, const uint8_t *at, size_t *bytes)
{
	struct kl_frame frames[KL_STACK_FRAMES_MAX] = {};
	struct kl_abi_stack about;
	struct kl_stack stack = { .frame = frames };
	bool placed = false;

	memcpy(&about, at, sizeof(about));
	stack.id = about.id;
	stack.kind = (enum kl_stack_kind)about.kind;
	stack.flags = about.flags;
	stack.pid = about.pid;
	stack.n = about.frames < KL_STACK_FRAMES_MAX ? about.frames : KL_STACK_FRAMES_MAX;
	at += sizeof(about);
	for (unsigned int i = 0; i < stack.n; i++) {
		bool exact = !i && about.flags & KL_STACK_EXACT;

		frames[i].address = kl_get64(at + 8 * i);
		if (about.kind == KL_STACK_KERNEL) {
			name_kernel(c, &frames[i], exact);
			continue;
		}
		placed |= kl_get64(at + 8 * (about.frames + i)) != 0;
		name_user(c, &frames[i], kl_get64(at + 8 * (about.frames + i)), exact);
	}
	*bytes = sizeof(about) + 8ul * about.frames * (about.kind == KL_STACK_USER ? 2 : 1);
	if (about.kind == KL_STACK_USER && !placed && note_unplaced(c, about.id))
		return -ENOMEM;
	return kl_stacks_add(c->stacks, &stack);
}

/* Those from @first on that fit. Returns how many, and where to go on. */
static int fetch(struct kl_stack_collector *c, uint32_t *first, unsigned int most)
{
	struct kl_abi_stacks call = {
		.what = KL_STACKS_TRACES,
		.first = *first,
		.buffer = (uintptr_t)c->buffer,
		.bytes = BUFFER_BYTES,
	};
	int ret = kl_session_stacks(c->session, &call);
	const uint8_t *at = c->buffer;
	unsigned int n = call.n < most ? call.n : most;

	if (ret)
		return ret;
	if (n)
		look_at_symbols(c);
	for (unsigned int i = 0; i < n; i++) {
		size_t bytes;

		ret = take_trace(c, at, &bytes);
		if (ret)
			return ret;
		at += bytes;
	}
	*first = call.first;
	kl_stacks_set_no_room(c->stacks, call.no_room);
	return (int)n;
}

/* Files that were not known, because the program was changing its mappings, may be now. */
static int fetch_unplaced(struct kl_stack_collector *c)
{
	size_t n = c->n_unplaced;
	uint32_t *ids = c->unplaced;
	int ret = 0;

	c->unplaced = NULL;
	c->n_unplaced = 0;
	c->unplaced_room = 0;
	for (size_t i = 0; i < n && ret >= 0; i++) {
		uint32_t first = ids[i];

		ret = fetch(c, &first, 1);
	}
	free(ids);
	return ret < 0 ? ret : 0;
}

int kl_stack_collect(struct kl_stack_collector *c)
{
	int ret = fetch_unplaced(c), n = 0;

	while (!ret) {
		ret = fetch(c, &c->next, UINT32_MAX);
		if (ret <= 0)
			return ret < 0 ? ret : n;
		n += ret;
		ret = 0;
	}
	return ret;
}
