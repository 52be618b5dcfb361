// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Writes the files of a capture from its messages, and checks them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "receive.h"
#include "spool.h"

#define FOLDER ".kernlens"
#define COPY_BYTES (64u << 10)

/* Where a piece is in its file. @bytes: 0: it has not come */
struct place {
	uint64_t at;
	uint32_t bytes;
};

struct part {
	const struct fleet_file *file;
	struct place *places;
	uint32_t n; /* pieces that have come */
	uint64_t bytes; /* of these */
	int fd;
};

struct fleet_receiver {
	const struct fleet_manifest *manifest;
	char *path;
	int dir;
	struct part *parts;
	struct part *open; /* the file that was written last: no other is open */
	uint64_t missing;
	struct fleet_received counts;
};

/* --------------------------------------------------------------- creation */

static bool create_files(struct fleet_receiver *r)
{
	if (mkdirat(r->dir, FOLDER, 0700))
		return false;
	for (size_t i = 0; i < r->manifest->n; i++) {
		struct part *part = &r->parts[i];

		part->file = &r->manifest->files[i];
		part->places = calloc(part->file->pieces + 1, sizeof(*part->places));
		part->fd = openat(r->dir, part->file->name,
				  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (!part->places || part->fd < 0)
			return false;
		r->missing += part->file->pieces;
		/* A thousand streams would take all descriptors. */
		close(part->fd);
		part->fd = -1;
	}
	return true;
}

struct fleet_receiver *fleet_receiver_create(const struct fleet_manifest *manifest,
					     const char *path, uint64_t most, const char **why)
{
	struct fleet_receiver *r = calloc(1, sizeof(*r));

	*why = NULL;
	if (fleet_manifest_bytes(manifest) > most)
		*why = "it is larger than --max-size";
	if (r)
		r->parts = calloc(manifest->n, sizeof(*r->parts));
	if (!r || !r->parts)
		*why = "out of memory";
	if (*why) {
		if (r)
			free(r->parts);
		free(r);
		return NULL;
	}
	r->manifest = manifest;
	r->dir = -1;
	for (size_t i = 0; i < manifest->n; i++)
		r->parts[i].fd = -1;
	r->path = strdup(path);
	if (!r->path || mkdir(path, 0700)) {
		*why = strerror(errno);
		fleet_receiver_destroy(r);
		return NULL;
	}
	r->dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->dir >= 0 && create_files(r))
		return r;
	*why = strerror(errno);
	fleet_receiver_discard(r);
	fleet_receiver_destroy(r);
	return NULL;
}

static int open_part(struct fleet_receiver *r, struct part *part)
{
	if (part->fd < 0)
		part->fd = openat(r->dir, part->file->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	return part->fd;
}

static void close_part(struct part *part)
{
	if (part->fd >= 0)
		close(part->fd);
	part->fd = -1;
}

/* ---------------------------------------------------------------- messages */

static bool parse_number(const char *text, uint64_t most, uint64_t *number)
{
	char *end;

	if (!text || *text < '0' || *text > '9' || strlen(text) > 18)
		return false;
	*number = strtoull(text, &end, 10);
	return !*end && *number <= most;
}

/* Where the piece belongs; false: nowhere in this capture. */
static bool find(const struct fleet_receiver *r, const struct fleet_piece *piece, uint64_t *file,
		 uint64_t *number, struct place *place)
{
	const struct fleet_file *of;
	uint64_t bytes;

	if (!piece->run || strcmp(piece->run, r->manifest->run) ||
	    !parse_number(piece->file, r->manifest->n - 1, file))
		return false;
	of = &r->manifest->files[*file];
	if (!of->pieces || !parse_number(piece->piece, of->pieces - 1, number) ||
	    !parse_number(piece->at, of->bytes, &place->at) ||
	    !parse_number(piece->bytes, FLEET_PIECE_MAX, &bytes))
		return false;
	place->bytes = (uint32_t)bytes;
	return bytes && piece->length <= bytes && bytes <= of->bytes - place->at;
}

static bool write_all(int fd, const char *bytes, size_t length, uint64_t at)
{
	while (length) {
		ssize_t n = pwrite(fd, bytes, length, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		bytes += n;
		length -= (size_t)n;
		at += (uint64_t)n;
	}
	return true;
}

bool fleet_receive(struct fleet_receiver *r, const struct fleet_piece *piece)
{
	uint64_t file, number;
	struct place place;
	struct part *part;

	if (!find(r, piece, &file, &number, &place)) {
		r->counts.foreign++;
		return true;
	}
	part = &r->parts[file];
	if (part->places[number].bytes) {
		r->counts.twice++;
		return true;
	}
	if (r->open != part && r->open)
		close_part(r->open);
	r->open = part;
	/* The file has its size at any time, so that zeros at the end need not be written. */
	if (open_part(r, part) < 0 || (!part->n && ftruncate(part->fd, (off_t)part->file->bytes)) ||
	    !write_all(part->fd, piece->payload, piece->length, place.at))
		return false;
	part->places[number] = place;
	part->n++;
	part->bytes += place.bytes;
	r->missing--;
	r->counts.taken++;
	return true;
}

bool fleet_receiver_is_whole(const struct fleet_receiver *r)
{
	return !r->missing;
}

/* --------------------------------------------------------------------- end */

static bool copy_down(int fd, uint64_t from, uint64_t to, uint32_t bytes)
{
	char buffer[COPY_BYTES];

	while (bytes) {
		size_t want = bytes < sizeof(buffer) ? bytes : sizeof(buffer);
		ssize_t n = pread(fd, buffer, want, (off_t)from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || !write_all(fd, buffer, (size_t)n, to))
			return false;
		from += (uint64_t)n;
		to += (uint64_t)n;
		bytes -= (uint32_t)n;
	}
	return true;
}

/* Move the packets of a stream together. Pieces are in the order of their places. */
static bool cut_missing(struct part *part)
{
	uint64_t to = 0, end = 0;

	for (uint32_t i = 0; i < part->file->pieces; i++) {
		const struct place *place = &part->places[i];

		if (!place->bytes || place->at < end)
			continue;
		if (place->at != to && !copy_down(part->fd, place->at, to, place->bytes))
			return false;
		end = place->at + place->bytes;
		to += place->bytes;
	}
	return !ftruncate(part->fd, (off_t)to);
}

static bool crc_of(int fd, uint32_t *crc, uint64_t *bytes)
{
	char buffer[COPY_BYTES];
	ssize_t n;

	*crc = 0;
	*bytes = 0;
	while ((n = pread(fd, buffer, sizeof(buffer), (off_t)*bytes))) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		*crc = fleet_crc(*crc, buffer, (size_t)n);
		*bytes += (uint64_t)n;
	}
	return true;
}

static bool finish_part(struct fleet_receiver *r, struct part *part)
{
	const struct fleet_file *file = part->file;
	uint64_t bytes;
	uint32_t crc;

	r->counts.missing += file->pieces - part->n;
	if (open_part(r, part) < 0)
		return false;
	if (part->n < file->pieces) {
		if (fleet_is_stream(file->name))
			return cut_missing(part);
		/* Half a file of another kind is not one. */
		return !unlinkat(r->dir, file->name, 0);
	}
	if (!crc_of(part->fd, &crc, &bytes))
		return false;
	r->counts.damaged += crc != file->crc || bytes != file->bytes || part->bytes != file->bytes;
	return true;
}

bool fleet_receiver_finish(struct fleet_receiver *r, struct fleet_received *counts)
{
	bool good = true;

	for (size_t i = 0; i < r->manifest->n && good; i++) {
		good = finish_part(r, &r->parts[i]);
		close_part(&r->parts[i]);
	}
	*counts = r->counts;
	return good;
}

void fleet_receiver_discard(struct fleet_receiver *r)
{
	int error = errno;

	for (size_t i = 0; i < r->manifest->n && r->dir >= 0; i++)
		unlinkat(r->dir, r->manifest->files[i].name, 0);
	if (r->dir >= 0)
		unlinkat(r->dir, FOLDER, AT_REMOVEDIR);
	rmdir(r->path);
	errno = error;
}

void fleet_receiver_destroy(struct fleet_receiver *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->manifest->n; i++) {
		close_part(&r->parts[i]);
		free(r->parts[i].places);
	}
	if (r->dir >= 0)
		close(r->dir);
	free(r->parts);
	free(r->path);
	free(r);
}
