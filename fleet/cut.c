// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Cuts the files of a trace into pieces: a stream into its packets, which are sent as they were
 * recorded, other files into parts of equal size. A packet that is larger than a message is cut,
 * too. The same file is always cut in the same way.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "../uapi/kernlens.h"
#include "spool.h"

#define PART_BYTES (64u << 10)

uint32_t fleet_crc(uint32_t crc, const void *bytes, size_t length)
{
	return (uint32_t)crc32(crc, bytes, (uInt)length);
}

static bool read_all(int fd, void *to, size_t bytes, uint64_t at)
{
	char *next = to;

	while (bytes) {
		ssize_t n = pread(fd, next, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (!n)
			errno = EIO;
		if (n <= 0)
			return false;
		next += n;
		bytes -= (size_t)n;
		at += (uint64_t)n;
	}
	return true;
}

/* Size of the packet at a place of a stream; what is not a packet is cut like other files. */
static uint64_t packet_bytes(int fd, uint64_t at, uint64_t left)
{
	struct kl_abi_block block;
	uint64_t bytes;

	if (left < sizeof(block) || !read_all(fd, &block, sizeof(block), at))
		return PART_BYTES;
	bytes = block.packet_bits / 8;
	return block.magic == KL_CTF_MAGIC && bytes >= KL_BLOCK_BYTES_MIN &&
			       bytes <= KL_BLOCK_BYTES_MAX ?
		       bytes :
		       PART_BYTES;
}

/* Size of the next piece. */
static uint32_t next_bytes(const struct fleet_cutter *cutter, const struct fleet_file *file)
{
	uint64_t left = file->bytes - cutter->next.at, bytes = PART_BYTES;

	if (fleet_is_stream(file->name))
		bytes = packet_bytes(cutter->fd, cutter->next.at, left);
	if (bytes > left)
		bytes = left;
	return bytes > FLEET_PIECE_MAX ? FLEET_PIECE_MAX : (uint32_t)bytes;
}

static bool open_file(struct fleet_cutter *cutter)
{
	const struct fleet_file *file = &cutter->spooled->manifest.files[cutter->next.file];

	if (cutter->fd < 0)
		cutter->fd = openat(cutter->spooled->trace, file->name,
				    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return cutter->fd >= 0;
}

static void next_file(struct fleet_cutter *cutter)
{
	if (cutter->fd >= 0)
		close(cutter->fd);
	cutter->fd = -1;
	cutter->next.file++;
	cutter->next.piece = 0;
	cutter->next.at = 0;
}

/* Step to the file that has the next piece. False: there is none. */
static bool find_file(struct fleet_cutter *cutter)
{
	const struct fleet_manifest *manifest = &cutter->spooled->manifest;

	while (cutter->next.file < manifest->n &&
	       cutter->next.at >= manifest->files[cutter->next.file].bytes)
		next_file(cutter);
	return cutter->next.file < manifest->n;
}

static void step(struct fleet_cutter *cutter)
{
	cutter->next.at += cutter->next.bytes;
	cutter->next.piece++;
	cutter->next.ordinal++;
}

bool fleet_cutter_start(struct fleet_cutter *cutter, const struct fleet_spooled *spooled,
			uint64_t ordinal)
{
	const struct fleet_manifest *manifest = &spooled->manifest;

	*cutter = (struct fleet_cutter){ .spooled = spooled, .fd = -1 };
	while (cutter->next.file < manifest->n &&
	       ordinal - cutter->next.ordinal >= manifest->files[cutter->next.file].pieces &&
	       manifest->files[cutter->next.file].pieces) {
		cutter->next.ordinal += manifest->files[cutter->next.file].pieces;
		next_file(cutter);
	}
	while (cutter->next.ordinal < ordinal && find_file(cutter)) {
		if (!open_file(cutter))
			return false;
		cutter->next.bytes = next_bytes(cutter, &manifest->files[cutter->next.file]);
		step(cutter);
	}
	return true;
}

int fleet_cutter_next(struct fleet_cutter *cutter, struct fleet_cut *cut)
{
	const struct fleet_manifest *manifest = &cutter->spooled->manifest;

	if (!find_file(cutter))
		return 0;
	if (!open_file(cutter))
		return -1;
	cutter->next.bytes = next_bytes(cutter, &manifest->files[cutter->next.file]);
	*cut = cutter->next;
	cut->data = malloc(cut->bytes);
	if (!cut->data || !read_all(cutter->fd, cut->data, cut->bytes, cut->at)) {
		free(cut->data);
		return -1;
	}
	step(cutter);
	return 1;
}

void fleet_cutter_stop(struct fleet_cutter *cutter)
{
	if (cutter->fd >= 0)
		close(cutter->fd);
	cutter->fd = -1;
}
