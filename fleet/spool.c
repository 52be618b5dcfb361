// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The captures in a spool. Each change of a capture's state is one rename, so that a process that
 * is killed at any time leaves one that its successor understands.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spool.h"

#define SMALL_FILE_MAX FLEET_HEAD_MAX

static int open_folder(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The name of a capture whose directory is NAME followed by @state; false: it is another one. */
static bool has_state(const char *entry, const char *state, char name[FLEET_CAPTURE_MAX])
{
	size_t length = strlen(entry), ends = strlen(state);

	if (length <= ends || length - ends >= FLEET_CAPTURE_MAX ||
	    strcmp(entry + length - ends, state))
		return false;
	memcpy(name, entry, length - ends);
	name[length - ends] = 0;
	return fleet_is_token(name, FLEET_CAPTURE_MAX);
}

/* Remove a directory's files, and directories of one more level; and then itself. */
static void remove_tree(int parent, const char *name, unsigned int depth)
{
	int fd = open_folder(parent, name);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (unlinkat(dirfd(dir), entry->d_name, 0) && depth)
			remove_tree(dirfd(dir), entry->d_name, depth - 1);
	}
	if (dir)
		closedir(dir);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static DIR *list(int spool)
{
	int fd = openat(spool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/*
 * What was being written is whole up to a packet. It is sent, too: its recorder is gone, and
 * nothing else has these records.
 */
static void recover(int spool, bool first)
{
	char name[FLEET_CAPTURE_MAX], ready[FLEET_CAPTURE_MAX + 8];
	DIR *dir = list(spool);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (has_state(entry->d_name, ".sent", name)) {
			remove_tree(spool, entry->d_name, 2);
		} else if (first && has_state(entry->d_name, ".new", name)) {
			char path[FLEET_CAPTURE_MAX + 32];

			snprintf(path, sizeof(path), "%s.new/trace/metadata", name);
			snprintf(ready, sizeof(ready), "%s.ready", name);
			if (faccessat(spool, path, F_OK, AT_SYMLINK_NOFOLLOW) ||
			    renameat(spool, entry->d_name, spool, ready))
				remove_tree(spool, entry->d_name, 2);
		}
	}
	if (dir)
		closedir(dir);
}

int fleet_spool_open(const char *path, bool lock, bool first)
{
	int spool = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), error;

	if (spool < 0)
		return -1;
	if (!lock || !flock(spool, LOCK_EX | LOCK_NB)) {
		recover(spool, first);
		return spool;
	}
	error = errno;
	close(spool);
	errno = error;
	return -1;
}

void fleet_spool_set_aside(int spool, const char *name)
{
	char ready[FLEET_CAPTURE_MAX + 8], bad[FLEET_CAPTURE_MAX + 8];

	snprintf(ready, sizeof(ready), "%s.ready", name);
	snprintf(bad, sizeof(bad), "%s.bad", name);
	renameat(spool, ready, spool, bad);
}

size_t fleet_spool_count(int spool, char oldest[FLEET_CAPTURE_MAX])
{
	char name[FLEET_CAPTURE_MAX];
	const struct dirent *entry;
	DIR *dir = list(spool);
	size_t n = 0;

	*oldest = 0;
	while (dir && (entry = readdir(dir))) {
		if (!has_state(entry->d_name, ".ready", name))
			continue;
		/* Names begin with the time. */
		if (!n++ || strcmp(name, oldest) < 0)
			strcpy(oldest, name);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* --------------------------------------------------------------- small files */

/* To be freed; NULL with errno. */
static char *read_small(int dir, const char *name, size_t *length)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(SMALL_FILE_MAX + 1);
	ssize_t n;

	*length = 0;
	while (text && *length <= SMALL_FILE_MAX &&
	       (n = read(fd, text + *length, SMALL_FILE_MAX + 1 - *length))) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		*length += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

/* Write a file whose name changes to @name when it is complete and on the disk. */
static bool write_small(int dir, const char *name, const char *bytes, size_t length)
{
	char other[32];
	bool good = true;
	int fd;

	snprintf(other, sizeof(other), "%s.tmp", name);
	fd = openat(dir, other, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	for (size_t done = 0; done < length && good;) {
		ssize_t n = write(fd, bytes + done, length - done);

		if (n > 0)
			done += (size_t)n;
		else
			good = n < 0 && errno == EINTR;
	}
	good = good && !fsync(fd);
	close(fd);
	good = good && !renameat(dir, other, dir, name);
	/* On a full disk, what is left of it would take the room of the next try. */
	if (!good) {
		int error = errno;

		unlinkat(dir, other, 0);
		errno = error;
	}
	return good;
}

/* ---------------------------------------------------------------- captures */

/*
 * When the trace was begun. So a head that could not be stored, for example because the disk is
 * full, is made in the same way again.
 */
static bool read_run(int trace, char run[FLEET_RUN_MAX])
{
	struct stat file;

	if (fstatat(trace, "metadata", &file, AT_SYMLINK_NOFOLLOW))
		return false;
	snprintf(run, FLEET_RUN_MAX, "%016llx",
		 (unsigned long long)file.st_mtim.tv_sec * 1000000000u +
			 (unsigned long long)file.st_mtim.tv_nsec);
	return true;
}

/* The boot in which it was taken, which may have been an earlier one. */
static void read_boot(char boot[FLEET_CAPTURE_MAX], const json_t *about)
{
	const char *known = fleet_text(about, "boot");
	FILE *file;

	if (fleet_is_token(known, FLEET_CAPTURE_MAX)) {
		strcpy(boot, known);
		return;
	}
	file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (!file || !fgets(boot, FLEET_CAPTURE_MAX, file))
		strcpy(boot, "unknown");
	boot[strcspn(boot, "\n")] = 0;
	if (file)
		fclose(file);
}

/* Pieces and the checksum of a file. */
static bool measure(struct fleet_spooled *spooled, size_t index)
{
	const struct fleet_spooled alone = { .dir = -1,
					     .trace = spooled->trace,
					     .manifest = { .files = &spooled->manifest.files[index],
							   .n = 1 } };
	struct fleet_file *file = &spooled->manifest.files[index];
	uint32_t crc = 0, pieces = 0;
	struct fleet_cutter cutter;
	struct fleet_cut cut;
	int got = fleet_cutter_start(&cutter, &alone, 0) ? 1 : -1;

	while (got > 0 && (got = fleet_cutter_next(&cutter, &cut)) > 0) {
		crc = fleet_crc(crc, cut.data, cut.bytes);
		pieces++;
		free(cut.data);
	}
	fleet_cutter_stop(&cutter);
	file->pieces = pieces;
	file->crc = crc;
	return !got;
}

static bool add_file(struct fleet_spooled *spooled, const char *name)
{
	struct fleet_file *file = &spooled->manifest.files[spooled->manifest.n];
	struct stat about;

	if (spooled->manifest.n == FLEET_FILES_MAX || strlen(name) >= sizeof(file->name) ||
	    fstatat(spooled->trace, name, &about, AT_SYMLINK_NOFOLLOW) || !S_ISREG(about.st_mode))
		return true;
	strcpy(file->name, name);
	file->bytes = (uint64_t)about.st_size;
	if (!measure(spooled, spooled->manifest.n))
		return false;
	spooled->manifest.n++;
	return true;
}

static bool add_files(struct fleet_spooled *spooled)
{
	DIR *dir = list(spooled->trace);
	const struct dirent *entry;
	bool good = dir;

	spooled->manifest.files = calloc(FLEET_FILES_MAX, sizeof(*spooled->manifest.files));
	good = good && spooled->manifest.files;
	while (good && (entry = readdir(dir)))
		if (fleet_is_stream(entry->d_name))
			good = add_file(spooled, entry->d_name);
	for (size_t i = 0; good && i < fleet_n_files; i++)
		good = add_file(spooled, fleet_files[i]);
	if (dir)
		closedir(dir);
	return good;
}

/* What the recorder has written; without it, the recorder was killed before the end. */
static json_t *read_about(int dir)
{
	size_t length;
	char *text = read_small(dir, "about.json", &length);
	json_t *about = text ? json_loadb(text, length, 0, NULL) : NULL;

	free(text);
	if (!json_is_object(about)) {
		json_decref(about);
		about = json_pack("{s:b, s:s}", "interrupted", true, "reason",
				  "the recorder was killed");
	}
	return about;
}

static bool make_head(struct fleet_spooled *spooled, const char *host)
{
	struct fleet_manifest *manifest = &spooled->manifest;

	*manifest = (struct fleet_manifest){ .n = 0 };
	snprintf(manifest->host, sizeof(manifest->host), "%s", host);
	snprintf(manifest->capture, sizeof(manifest->capture), "%s", spooled->name);
	manifest->about = read_about(spooled->dir);
	if (!manifest->about || !read_run(spooled->trace, manifest->run) || !add_files(spooled))
		return false;
	read_boot(manifest->boot, manifest->about);
	spooled->head = fleet_manifest_text(manifest);
	/* Reading the files again next time is all that a failure costs. */
	if (spooled->head)
		write_small(spooled->dir, "head.json", spooled->head, strlen(spooled->head));
	return spooled->head;
}

static bool read_head(struct fleet_spooled *spooled)
{
	const char *why;
	size_t length;

	spooled->head = read_small(spooled->dir, "head.json", &length);
	if (!spooled->head || length > SMALL_FILE_MAX ||
	    !fleet_manifest_parse(&spooled->manifest, spooled->head, length, &why)) {
		free(spooled->head);
		spooled->head = NULL;
		fleet_manifest_release(&spooled->manifest);
		return false;
	}
	spooled->head[length] = 0;
	return true;
}

static void read_sent(struct fleet_spooled *spooled)
{
	size_t length;
	char *text = read_small(spooled->dir, "sent", &length);

	if (text && length == sizeof(spooled->sent))
		memcpy(&spooled->sent, text, length);
	free(text);
}

bool fleet_spooled_open(int spool, const char *name, const char *host,
			struct fleet_spooled *spooled)
{
	char path[FLEET_CAPTURE_MAX + 8];
	int error;

	*spooled = (struct fleet_spooled){ .dir = -1, .trace = -1 };
	snprintf(spooled->name, sizeof(spooled->name), "%s", name);
	snprintf(path, sizeof(path), "%s.ready", name);
	spooled->dir = open_folder(spool, path);
	if (spooled->dir >= 0)
		spooled->trace = open_folder(spooled->dir, "trace");
	if (spooled->trace >= 0 && (read_head(spooled) || make_head(spooled, host))) {
		read_sent(spooled);
		return true;
	}
	error = errno;
	fleet_spooled_close(spooled);
	errno = error;
	return false;
}

void fleet_spooled_close(struct fleet_spooled *spooled)
{
	fleet_manifest_release(&spooled->manifest);
	free(spooled->head);
	if (spooled->trace >= 0)
		close(spooled->trace);
	if (spooled->dir >= 0)
		close(spooled->dir);
	*spooled = (struct fleet_spooled){ .dir = -1, .trace = -1 };
}

void fleet_spooled_note(struct fleet_spooled *spooled, uint64_t sent)
{
	spooled->sent = sent;
	write_small(spooled->dir, "sent", (const char *)&sent, sizeof(sent));
}

bool fleet_spooled_remove(int spool, const struct fleet_spooled *spooled)
{
	char ready[FLEET_CAPTURE_MAX + 8], sent[FLEET_CAPTURE_MAX + 8];

	snprintf(ready, sizeof(ready), "%s.ready", spooled->name);
	snprintf(sent, sizeof(sent), "%s.sent", spooled->name);
	if (renameat(spool, ready, spool, sent))
		return false;
	remove_tree(spool, sent, 2);
	return true;
}
