// SPDX-License-Identifier: GPL-2.0
/*
 * Finds libraries by name in /etc/ld.so.cache, and the vDSO among this process's mappings. The
 * dynamic linker looks in more places (LD_LIBRARY_PATH, rpath); a library that it finds there is
 * found when it turns up in a trace.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/error.h>
#include "../base/base.h"
#include "libraries.h"

#define CACHE "/etc/ld.so.cache"
#define MAGIC "glibc-ld.so.cache1.1"
#define BYTES_MAX (64 << 20)
#define KIND_MASK 0xffffu
#define KIND_X86_64 0x0303u /* a 64-bit library of the GNU C library */

struct header {
	char magic[20];
	uint32_t n;
	uint32_t text_bytes;
	uint32_t reserved[5];
};

struct entry {
	uint32_t flags;
	uint32_t name, path; /* offsets in the file */
	uint32_t os_version;
	uint64_t hardware;
};

struct kl_libraries {
	char *data; /* the cache */
	size_t bytes;
	uint32_t n; /* number of entries */
};

static void read_cache(struct kl_libraries *libraries)
{
	int fd = kl_open_regular(CACHE);
	struct stat about;

	kl_error_clear();
	if (fd < 0)
		return;
	if (!fstat(fd, &about) && about.st_size > 0 && about.st_size < BYTES_MAX)
		libraries->data = malloc((size_t)about.st_size);
	if (libraries->data && read(fd, libraries->data, (size_t)about.st_size) == about.st_size)
		libraries->bytes = (size_t)about.st_size;
	close(fd);
}

struct kl_libraries *kl_libraries_create(void)
{
	struct kl_libraries *libraries = calloc(1, sizeof(*libraries));
	struct header header;

	if (!libraries)
		return NULL;
	read_cache(libraries);
	if (libraries->bytes < sizeof(header))
		return libraries;
	memcpy(&header, libraries->data, sizeof(header));
	if (!memcmp(header.magic, MAGIC, sizeof(header.magic)) &&
	    header.n <= (libraries->bytes - sizeof(header)) / sizeof(struct entry))
		libraries->n = header.n;
	return libraries;
}

void kl_libraries_destroy(struct kl_libraries *libraries)
{
	if (!libraries)
		return;
	free(libraries->data);
	free(libraries);
}

/* A text in the cache, or "". */
static const char *text_at(const struct kl_libraries *libraries, uint32_t at)
{
	if (at >= libraries->bytes || !memchr(libraries->data + at, 0, libraries->bytes - at))
		return "";
	return libraries->data + at;
}

const char *kl_libraries_find(const struct kl_libraries *libraries, const char *name)
{
	if (strchr(name, '/'))
		return name;
	for (uint32_t i = 0; i < libraries->n; i++) {
		struct entry entry;

		memcpy(&entry, libraries->data + sizeof(struct header) + i * sizeof(entry),
		       sizeof(entry));
		if ((entry.flags & KIND_MASK) == KIND_X86_64 &&
		    !strcmp(text_at(libraries, entry.name), name))
			return text_at(libraries, entry.path);
	}
	return NULL;
}

char *kl_vdso_find(size_t *bytes)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char line[512], *image = NULL;

	while (maps && !image && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "[vdso]") || sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		image = (char *)start;
		*bytes = end - start;
	}
	if (maps)
		fclose(maps);
	return image;
}
