// SPDX-License-Identifier: GPL-2.0
/* Reads a process's mappings, and finds free space near its text and a system call instruction. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../base/base.h"
#include "tracer.h"

#define LOWEST 0x10000ull
#define HIGHEST 0x7ffffffff000ull
#define REACH (0x7fffffffull - (64u << 20)) /* leaves space for the text and the patches */
#define LOOK_BYTES (64u << 10)

static int add_line(struct kl_maps *maps, const char *line)
{
	unsigned long long begin, end, offset, inode;
	unsigned int major, minor;
	struct kl_mapping *grown;
	char rights[8];
	int name = 0;

	if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &begin, &end, rights, &offset, &major,
		   &minor, &inode, &name) < 7)
		return 0;
	grown = kl_array_grow(maps->map, maps->n, &maps->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	maps->map = grown;
	grown += maps->n++;
	*grown = (struct kl_mapping){
		.begin = begin,
		.end = end,
		.offset = offset,
		.device = makedev(major, minor),
		.inode = inode,
		.writes = rights[1] == 'w',
		.runs = rights[2] == 'x',
	};
	snprintf(grown->name, sizeof(grown->name), "%.*s", (int)strcspn(line + name, "\n"),
		 line + name);
	grown->heap = !strcmp(grown->name, "[heap]");
	grown->stack = !strncmp(grown->name, "[stack", 6);
	return 0;
}

int kl_maps_read(pid_t tid, struct kl_maps *maps)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *file;
	int ret = 0;

	*maps = (struct kl_maps){};
	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (!ret && getline(&line, &room, file) > 0)
		ret = add_line(maps, line);
	free(line);
	fclose(file);
	return ret ? ret : maps->n ? 0 : -ESRCH;
}

void kl_maps_free(struct kl_maps *maps)
{
	free(maps->map);
	*maps = (struct kl_maps){};
}

const struct kl_mapping *kl_maps_at(const struct kl_maps *maps, uint64_t address)
{
	for (size_t i = 0; i < maps->n; i++)
		if (address >= maps->map[i].begin && address < maps->map[i].end)
			return &maps->map[i];
	return NULL;
}

/*
 * Find a file's mapping by inode and device. On stacked file systems both may be those of the file
 * below; then compare the path. What is in the mapping is compared before it is changed.
 */
const struct kl_mapping *kl_maps_of(const struct kl_maps *maps, const struct kl_tracer_file *file)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct kl_mapping *m = &maps->map[i];

		if (m->runs &&
		    (m->device == file->device ? m->inode == file->inode :
						 !strcmp(m->name, file->path)) &&
		    file->offset >= m->offset && file->offset - m->offset < m->end - m->begin)
			return m;
	}
	return NULL;
}

/* The end of a gap, or its beginning, whichever is nearer; a page stays free on either side. */
static uint64_t fit(uint64_t low, uint64_t high, uint64_t lowest, uint64_t highest, uint64_t bytes,
		    bool below)
{
	low = (low > lowest ? low : lowest) + KL_PAGE_BYTES;
	high = (high < highest ? high : highest) - KL_PAGE_BYTES;
	if (high <= low || high - low < bytes)
		return 0;
	return below ? high - bytes : low;
}

/* Does not use space that a stack or a heap may grow into. */
uint64_t kl_maps_gap(const struct kl_maps *maps, const struct kl_mapping *near, uint64_t bytes)
{
	uint64_t lowest = near->end > REACH + LOWEST ? near->end - REACH : LOWEST;
	uint64_t highest = near->begin + REACH < HIGHEST ? near->begin + REACH : HIGHEST;
	size_t at = near - maps->map;
	uint64_t found = 0;

	lowest &= ~(KL_PAGE_BYTES - 1);
	highest &= ~(KL_PAGE_BYTES - 1);
	for (size_t i = at + 1; i-- > 0 && !found;) {
		const struct kl_mapping *before = i ? &maps->map[i - 1] : NULL;

		if ((!before || !before->heap) && !maps->map[i].stack)
			found = fit(before ? before->end : 0, maps->map[i].begin, lowest, highest,
				    bytes, true);
	}
	/* If a program has no heap yet, its heap will begin after it. */
	for (size_t i = at; i + 1 < maps->n && !found; i++) {
		const struct kl_mapping *behind = &maps->map[i + 1];

		if (!behind->stack && !maps->map[i].heap && i != at && maps->map[i].inode &&
		    maps->map[i].inode != near->inode)
			found = fit(maps->map[i].end, behind->begin, lowest, highest, bytes, false);
	}
	return found;
}

static uint64_t look(const struct kl_mapping *m, int memory)
{
	static const uint8_t call[] = { 0x0f, 0x05 };
	uint8_t *text = malloc(LOOK_BYTES);
	uint64_t found = 0;

	for (uint64_t at = m->begin; text && at + 1 < m->end && !found; at += LOOK_BYTES - 1) {
		size_t wanted = m->end - at < LOOK_BYTES ? m->end - at : LOOK_BYTES;
		ssize_t n = pread(memory, text, wanted, (off_t)at);
		const uint8_t *hit = n > 1 ? memmem(text, (size_t)n, call, sizeof(call)) : NULL;

		if (hit)
			found = at + (uint64_t)(hit - text);
	}
	free(text);
	return found;
}

uint64_t kl_maps_call(const struct kl_maps *maps, int memory)
{
	uint64_t found = 0;

	for (size_t i = 0; i < maps->n && !found; i++)
		if (!strcmp(maps->map[i].name, "[vdso]"))
			found = look(&maps->map[i], memory);
	for (size_t i = 0; i < maps->n && !found; i++)
		if (maps->map[i].runs && strcmp(maps->map[i].name, "[vsyscall]") != 0)
			found = look(&maps->map[i], memory);
	return found;
}
