// SPDX-License-Identifier: GPL-2.0
/*
 * Captures of other machines (fleet/manifest.c, receive.c): parts of kind 0 are heads, others are
 * messages for the last valid one: five headers that end with a NUL each, and a payload. What is
 * received is within the sizes that the head says, and below its directory.
 */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../fleet/receive.h"
#include "shared.h"

#define MOST (1u << 20)

/* The next header; NULL: it ends the part. */
static const char *header(const struct fuzz_part *part, size_t *at)
{
	const uint8_t *start = part->at + *at;
	const uint8_t *end = *at < part->bytes ? memchr(start, 0, part->bytes - *at) : NULL;

	if (!end)
		return NULL;
	*at += (size_t)(end - start) + 1;
	return (const char *)start;
}

static void receive(struct fleet_receiver *receiver, const struct fuzz_part *part)
{
	struct fleet_piece piece;
	size_t at = 0;

	piece.run = header(part, &at);
	piece.file = header(part, &at);
	piece.piece = header(part, &at);
	piece.at = header(part, &at);
	piece.bytes = header(part, &at);
	piece.payload = (const char *)part->at + at;
	piece.length = part->bytes - at;
	fuzz_assert(fleet_receive(receiver, &piece));
}

/* Files of the trace, and nothing else. */
static void check_folder(const char *path, const struct fleet_manifest *manifest)
{
	for (size_t i = 0; i < manifest->n; i++) {
		char name[512];
		struct stat file;

		snprintf(name, sizeof(name), "%s/%s", path, manifest->files[i].name);
		fuzz_assert(lstat(name, &file) ||
			    (S_ISREG(file.st_mode) &&
			     (uint64_t)file.st_size <= manifest->files[i].bytes));
	}
}

static void finish(struct fleet_receiver *receiver, const char *path,
		   const struct fleet_manifest *manifest)
{
	struct fleet_received counts;
	struct stat file;
	bool whole;

	if (!receiver)
		return;
	whole = fleet_receiver_is_whole(receiver);
	fuzz_assert(fleet_receiver_finish(receiver, &counts));
	fuzz_assert(whole == !counts.missing);
	check_folder(path, manifest);
	fleet_receiver_discard(receiver);
	fuzz_assert(stat(path, &file));
	fleet_receiver_destroy(receiver);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_part part[FUZZ_PARTS_MAX];
	unsigned int n = fuzz_parts(data, size, part);
	struct fleet_manifest manifest = { .n = 0 };
	struct fleet_receiver *receiver = NULL;
	char path[64], *text;
	const char *why;

	snprintf(path, sizeof(path), "/dev/shm/kl-fuzz-fleet-%d", getpid());
	for (unsigned int i = 0; i < n; i++) {
		if (part[i].kind) {
			if (receiver)
				receive(receiver, &part[i]);
			continue;
		}
		finish(receiver, path, &manifest);
		fleet_manifest_release(&manifest);
		receiver = NULL;
		if (!fleet_manifest_parse(&manifest, (const char *)part[i].at, part[i].bytes,
					  &why)) {
			fuzz_assert(why);
			continue;
		}
		text = fleet_manifest_text(&manifest);
		fuzz_assert(text);
		free(text);
		/* Making thousands of files would only take time. */
		if (manifest.n < 20)
			receiver = fleet_receiver_create(&manifest, path, MOST, &why);
	}
	finish(receiver, path, &manifest);
	fleet_manifest_release(&manifest);
	return 0;
}
