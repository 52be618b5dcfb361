// SPDX-License-Identifier: GPL-2.0
/*
 * Resolves offsets in files to functions and lines. The module opens the files for us,
 * symbol/elf_process.c reads them, and the results are cached by offset. A file that kills that
 * process is read once more without debug information, and then no more.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <kernlens/error.h>
#include <kernlens/stack_store.h>
#include "../base/base.h"
#include "../base/texts.h"
#include "../symbol/elf_process.h"
#include "stack_object.h"

#define PATH_BYTES 4096
#define SLOTS_LEAST 1024u
#define LINES_BIT 63 /* of a key; object numbers are far smaller */

_Static_assert(KL_STACK_OBJECTS_MAX <= KL_ELF_FILES_MAX, "numbers of files");

struct object {
	bool looked_up;
	bool no_lines; /* its debug information is unreadable */
	bool unreadable;
	unsigned int start; /* start count of the process that has it open; 0: not open */
	const char *path;
	const char *build_id;
};

/* What is known about an offset. */
struct known {
	uint64_t key; /* 0: free; else number, offset, and whether with lines */
	unsigned int n;
	struct kl_dwarf_frame *frame;
};

struct kl_objects {
	struct kl_session *session;
	struct kl_elf_process *process;
	struct kl_texts texts;
	struct known *known; /* open addressing */
	size_t slots, n;
	struct object object[KL_STACK_OBJECTS_MAX];
};

struct kl_objects *kl_objects_create(struct kl_session *session)
{
	struct kl_objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return NULL;
	objects->session = session;
	objects->process = kl_elf_process_create();
	if (objects->process)
		return objects;
	free(objects);
	return NULL;
}

void kl_objects_destroy(struct kl_objects *objects)
{
	if (!objects)
		return;
	for (size_t i = 0; i < objects->slots; i++)
		free(objects->known[i].frame);
	free(objects->known);
	kl_texts_deinit(&objects->texts);
	kl_elf_process_destroy(objects->process);
	free(objects);
}

pid_t kl_objects_pid(const struct kl_objects *objects)
{
	return kl_elf_process_pid(objects->process);
}

/* ------------------------------------------------------------------- files */

/* Without the right to get a descriptor, open the path, and check that it is the same file. */
static int open_path(const char *path, const struct kl_abi_object *wanted)
{
	int fd = kl_open_regular(path);
	struct stat about;

	kl_error_clear();
	if (fd < 0)
		return -1;
	if (!fstat(fd, &about) && about.st_ino == wanted->inode &&
	    (major(about.st_dev) << 20 | minor(about.st_dev)) == wanted->dev)
		return fd;
	close(fd);
	return -1;
}

/* Get a descriptor of the object's file, or -1. Sets the object's path. */
static int ask_module(struct kl_objects *objects, uint32_t number)
{
	struct object *object = &objects->object[number - 1];
	uint8_t room[sizeof(struct kl_abi_object) + PATH_BYTES] = {};
	struct kl_abi_stacks call = {
		.what = KL_STACKS_OBJECT,
		.first = number,
		.buffer = (uintptr_t)room,
		.bytes = sizeof(room),
	};
	struct kl_abi_object about;

	if (kl_session_stacks(objects->session, &call) || !call.n)
		return -1;
	memcpy(&about, room, sizeof(about));
	object->path = (const char *)room + sizeof(about);
	if (kl_texts_keep(&objects->texts, &object->path))
		object->path = NULL;
	if (about.fd >= 0 || !object->path)
		return about.fd;
	return open_path(object->path, &about);
}

/* Reading the object killed the process. Names alone need less of the file. */
static void note_end(struct object *object, bool lines)
{
	object->unreadable |= object->no_lines || !lines;
	object->no_lines = true;
	object->start = 0;
}

static bool open_object(struct kl_objects *objects, uint32_t number)
{
	struct object *object = &objects->object[number - 1];
	char id[KL_BUILD_ID_TEXT];
	int fd, ret;

	if (object->looked_up &&
	    (object->unreadable || object->start == kl_elf_process_starts(objects->process)))
		return !object->unreadable;
	object->looked_up = true;
	fd = ask_module(objects, number);
	ret = fd < 0 ? -ENOENT :
		       kl_elf_process_open(objects->process, number - 1, fd, object->path, id);
	kl_error_clear();
	if (ret == -EPIPE) {
		note_end(object, false);
		return false;
	}
	object->unreadable = ret < 0;
	object->start = kl_elf_process_starts(objects->process);
	object->build_id = !ret && *id ? id : NULL;
	if (kl_texts_keep(&objects->texts, &object->build_id))
		object->build_id = NULL;
	return !ret;
}

struct kl_elf_process *kl_objects_open(struct kl_objects *objects, uint32_t number)
{
	if (!number || number > KL_STACK_OBJECTS_MAX || !open_object(objects, number))
		return NULL;
	return objects->process;
}

/* ------------------------------------------------------------------ places */

static struct known *find_known(struct known *known, size_t slots, uint64_t key)
{
	size_t at = (key * 0x9e3779b97f4a7c15ull >> 32) & (slots - 1);

	while (known[at].key && known[at].key != key)
		at = (at + 1) & (slots - 1);
	return &known[at];
}

static int grow_known(struct kl_objects *objects)
{
	size_t slots = objects->slots ? 2 * objects->slots : SLOTS_LEAST;
	struct known *known;

	if (2 * objects->n < objects->slots)
		return 0;
	known = calloc(slots, sizeof(*known));
	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < objects->slots; i++)
		if (objects->known[i].key)
			*find_known(known, slots, objects->known[i].key) = objects->known[i];
	free(objects->known);
	objects->known = known;
	objects->slots = slots;
	return 0;
}

/* Copy the frames, since the next request overwrites them. */
static int keep_frames(struct kl_objects *objects, struct known *known,
		       const struct kl_dwarf_frame *frame, unsigned int n)
{
	known->frame = calloc(n ? n : 1, sizeof(*frame));
	if (!known->frame)
		return -ENOMEM;
	for (unsigned int i = 0; i < n; i++) {
		known->frame[i] = frame[i];
		if (kl_texts_keep(&objects->texts, &known->frame[i].symbol) ||
		    kl_texts_keep(&objects->texts, &known->frame[i].source))
			return -ENOMEM;
	}
	known->n = n;
	return 0;
}

/* NULL: out of memory. */
static const struct known *find_place(struct kl_objects *objects, uint32_t number, uint64_t place,
				      bool lines)
{
	struct object *object = &objects->object[number - 1];
	uint64_t key = (uint64_t)number << KL_STACK_PLACE_SHIFT | place;
	struct kl_dwarf_frame frame[KL_ELF_FOUND_MAX];
	struct known *known;
	int n = -EPIPE;

	if (grow_known(objects))
		return NULL;
	key |= (uint64_t)lines << LINES_BIT;
	known = find_known(objects->known, objects->slots, key);
	if (known->key)
		return known;
	while (n == -EPIPE && open_object(objects, number)) {
		bool with = lines && !object->no_lines;

		n = kl_elf_process_find(objects->process, number - 1, place, with, frame);
		if (n == -EPIPE)
			note_end(object, with);
	}
	if (keep_frames(objects, known, frame, n > 0 ? (unsigned int)n : 0)) {
		free(known->frame);
		*known = (struct known){};
		return NULL;
	}
	known->key = key;
	objects->n++;
	return known;
}

unsigned int kl_objects_name(struct kl_objects *objects, struct kl_frame *frame, unsigned int room,
			     uint64_t place, bool exact, bool lines)
{
	uint64_t number = place >> KL_STACK_PLACE_SHIFT;
	const struct known *known;
	unsigned int n = 0, skip;

	if (!number || number > KL_STACK_OBJECTS_MAX)
		return 1;
	frame->place = place & ((1ull << KL_STACK_PLACE_SHIFT) - 1);
	known = find_place(objects, (uint32_t)number, frame->place - !exact, lines);
	frame->object = objects->object[number - 1].path;
	frame->build_id = objects->object[number - 1].build_id;
	if (!known || !known->n)
		return 1;
	/* The last frame is the function in the text. If not all fit, return it alone. */
	skip = known->n <= room ? 0 : known->n - 1;
	for (unsigned int i = skip; i < known->n; i++, n++) {
		const struct kl_dwarf_frame *from = &known->frame[i];

		if (n)
			frame[n] = frame[0];
		frame[n].symbol = from->symbol;
		frame[n].offset = from->inlined || (!from->symbol && !from->offset) ?
					  0 :
					  from->offset + !exact;
		frame[n].source = from->source;
		frame[n].line = from->line;
		frame[n].inlined = from->inlined;
	}
	return n;
}
