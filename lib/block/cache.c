// SPDX-License-Identifier: GPL-2.0
/*
 * What world.c finds takes most of the time of opening a kernel, and stays the same as long as the
 * text does. So it is cached in a file in the user's cache directory, under a hash of all its
 * inputs. Text that the kernel rewrites continuously (jump labels, static calls, ftrace hooks) is
 * not part of the hash. A missing or unusable file is not an error.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/base.h"
#include "block.h"

#define MAGIC "klblock1"
#define PREFIX "blocks-"
#define PATH_BYTES 1024
#define KEPT_SECONDS (7 * 24 * 60 * 60)
#define WORD_BYTES 8

/*
 * Followed by leaders and words, relative to the start of the text, and a byte for each function.
 */
struct head {
	char magic[8];
	uint64_t key;
	uint64_t sum; /* checksum of what follows */
	uint32_t functions;
	uint32_t leaders;
	uint32_t words;
	uint32_t reserved;
};

#define NEVER 1
#define RETURNS_FLAGS 2

static uint64_t hash_words(uint64_t hash, const uint8_t *at, size_t bytes)
{
	size_t i;

	/* An empty list has no memory. */
	if (!bytes)
		return hash;
	for (i = 0; i + WORD_BYTES <= bytes; i += WORD_BYTES) {
		hash = (hash ^ kl_get64(at + i)) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return kl_hash_bytes(hash, at + i, bytes - i);
}

static void blank(const struct kl_blocks *b, uint8_t *text, uint64_t address)
{
	size_t room = b->end - address;

	memset(text + (address - b->begin), 0, room < KL_HOOK_BYTES ? room : KL_HOOK_BYTES);
}

/* Clear the text that changes while the kernel runs. */
static void blank_rewritten(const struct kl_blocks *b, uint8_t *text)
{
	for (size_t i = 0; i < b->marks; i++)
		if (b->mark[i].reason == KL_BLOCK_jump_label ||
		    b->mark[i].reason == KL_BLOCK_static_call)
			blank(b, text, b->mark[i].address);
	for (size_t i = 0; i < b->functions; i++) {
		const struct kl_function_entry *f = &b->function[i];
		uint64_t at = f->address;

		if (f->bytes < KL_LANDING_PAD_BYTES + KL_HOOK_BYTES)
			continue;
		if (kl_is_landing_pad(kl_text_of(b, at)))
			at += KL_LANDING_PAD_BYTES;
		if (kl_is_hook(kl_text_of(b, at)))
			blank(b, text, at);
	}
}

/* Hash all inputs of world.c. 0: out of memory. */
static uint64_t make_key(const struct kl_blocks *b)
{
	size_t bytes = b->end - b->begin;
	uint8_t *text = malloc(bytes);
	uint64_t key;

	if (!text)
		return 0;
	memcpy(text, b->text, bytes);
	blank_rewritten(b, text);
	key = hash_words(KL_HASH_START, text, bytes);
	free(text);
	key = hash_words(key, (const uint8_t *)b->leader.at, b->leader.n * sizeof(*b->leader.at));
	key = hash_words(key, (const uint8_t *)b->word.at, b->word.n * sizeof(*b->word.at));
	key = hash_words(key, (const uint8_t *)b->return_thunk, sizeof(b->return_thunk));
	for (size_t i = 0; i < b->marks; i++) {
		key = hash_words(key, (const uint8_t *)&b->mark[i].address, sizeof(uint64_t));
		key = kl_hash_bytes(key, &b->mark[i].reason, 1);
	}
	for (size_t i = 0; i < b->functions; i++) {
		key = hash_words(key, (const uint8_t *)&b->function[i].address, sizeof(uint64_t));
		key = kl_hash_bytes(key, &b->function[i].reason, 1);
	}
	return key ?: 1;
}

/* ------------------------------------------------------------------------ files */

/* The cache directory, created if @make. */
static bool find_folder(char folder[PATH_BYTES], bool make)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	const char *above = cache && *cache == '/' ? cache : home, *below = "/.cache";

	if (above == cache)
		below = "";
	if (!above || *above != '/' ||
	    snprintf(folder, PATH_BYTES, "%s%s/kernlens", above, below) >= PATH_BYTES)
		return false;
	if (make) {
		char *last = strrchr(folder, '/');

		*last = '\0';
		mkdir(folder, 0700);
		*last = '/';
		mkdir(folder, 0700);
	}
	return true;
}

static void file_path(char path[PATH_BYTES + 32], const char *folder, uint64_t key)
{
	snprintf(path, PATH_BYTES + 32, "%s/" PREFIX "%016llx", folder, (unsigned long long)key);
}

/* Read a whole file; NULL: unavailable. */
static uint8_t *read_file(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	uint8_t *content = NULL;
	struct stat about;
	size_t got = 0;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &about) && S_ISREG(about.st_mode) && about.st_uid == geteuid())
		content = malloc(about.st_size + 1);
	while (content && got < (size_t)about.st_size) {
		ssize_t n = read(fd, content + got, about.st_size - got);

		if (n <= 0)
			break;
		got += n;
	}
	close(fd);
	*bytes = got;
	return content;
}

/* Remove files not used for a week: those of other kernels, and of other boots of this one. */
static void forget_old(const char *folder)
{
	DIR *files = opendir(folder);
	struct dirent *entry;
	struct stat about;

	while (files && (entry = readdir(files)))
		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)) &&
		    !fstatat(dirfd(files), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) &&
		    about.st_mtime + KEPT_SECONDS < time(NULL))
			unlinkat(dirfd(files), entry->d_name, 0);
	if (files)
		closedir(files);
}

/* Write to a temporary name and rename when complete. */
static void write_file(const char *folder, const char *path, const struct head *head,
		       const void *content, size_t bytes)
{
	char part[PATH_BYTES + 64];
	int fd;

	snprintf(part, sizeof(part), "%s.XXXXXX", path);
	fd = mkostemp(part, O_CLOEXEC);
	if (fd < 0)
		return;
	forget_old(folder);
	if (kl_write_all(fd, head, sizeof(*head)) || kl_write_all(fd, content, bytes) ||
	    rename(part, path))
		unlink(part);
	close(fd);
}

/* --------------------------------------------------------------------- contents */

static size_t content_bytes(const struct head *head)
{
	return ((size_t)head->leaders + head->words) * sizeof(uint32_t) + head->functions;
}

static bool is_right(const struct kl_blocks *b, uint64_t key, const uint8_t *file, size_t bytes)
{
	struct head head;

	if (bytes < sizeof(head))
		return false;
	memcpy(&head, file, sizeof(head));
	return !memcmp(head.magic, MAGIC, sizeof(head.magic)) && head.key == key &&
	       head.functions == b->functions && bytes - sizeof(head) == content_bytes(&head) &&
	       head.sum == hash_words(key, file + sizeof(head), bytes - sizeof(head));
}

static int take_set(const struct kl_blocks *b, struct kl_addresses_set *set, const uint8_t *at,
		    uint32_t n)
{
	int ret = 0;

	set->n = 0;
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = kl_set_add(set, b->begin + kl_get32(at + i * sizeof(uint32_t)));
	return ret;
}

static int take(struct kl_blocks *b, const uint8_t *file)
{
	const uint8_t *at = file + sizeof(struct head);
	struct head head;
	int ret;

	memcpy(&head, file, sizeof(head));
	ret = take_set(b, &b->leader, at, head.leaders);
	at += head.leaders * sizeof(uint32_t);
	if (!ret)
		ret = take_set(b, &b->word, at, head.words);
	at += head.words * sizeof(uint32_t);
	for (size_t i = 0; i < b->functions; i++) {
		b->function[i].never = at[i] & NEVER;
		b->function[i].returns_flags = at[i] & RETURNS_FLAGS;
	}
	return ret;
}

static uint8_t *put_set(const struct kl_blocks *b, const struct kl_addresses_set *set, uint8_t *to)
{
	for (size_t i = 0; i < set->n; i++, to += sizeof(uint32_t)) {
		uint32_t offset = set->at[i] - b->begin;

		memcpy(to, &offset, sizeof(offset));
	}
	return to;
}

/* Store what world.c has found. */
static void keep(const struct kl_blocks *b, uint64_t key)
{
	struct head head = {
		.key = key,
		.functions = b->functions,
		.leaders = b->leader.n,
		.words = b->word.n,
	};
	size_t bytes = content_bytes(&head);
	uint8_t *content = malloc(bytes + 1), *at = content;
	char folder[PATH_BYTES], path[PATH_BYTES + 32];

	if (content && find_folder(folder, true)) {
		at = put_set(b, &b->leader, at);
		at = put_set(b, &b->word, at);
		for (size_t i = 0; i < b->functions; i++)
			at[i] = (b->function[i].never ? NEVER : 0) |
				(b->function[i].returns_flags ? RETURNS_FLAGS : 0);
		memcpy(head.magic, MAGIC, sizeof(head.magic));
		head.sum = hash_words(key, content, bytes);
		file_path(path, folder, key);
		write_file(folder, path, &head, content, bytes);
	}
	free(content);
}

/* Returns 1 if the cache had it, 0 if not, or -ENOMEM. */
static int recall(struct kl_blocks *b, uint64_t key)
{
	char folder[PATH_BYTES], path[PATH_BYTES + 32];
	uint8_t *file = NULL;
	size_t bytes = 0;
	int ret = 0;

	if (find_folder(folder, false)) {
		file_path(path, folder, key);
		file = read_file(path, &bytes);
	}
	if (file && is_right(b, key, file, bytes)) {
		ret = take(b, file) ?: 1;
		/* Mark the file as used. */
		utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
	}
	free(file);
	return ret;
}

/* Get what an analysis of all functions finds: from the cache, or computed and cached. */
int kl_world_get(struct kl_blocks *b)
{
	uint64_t key = make_key(b);
	int ret = key ? recall(b, key) : -ENOMEM;

	if (ret < 0)
		return kl_fail(ENOMEM, "out of memory");
	if (ret)
		return 0;
	ret = kl_world_load(b);
	if (!ret)
		keep(b, key);
	return ret;
}
