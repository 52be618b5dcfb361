// SPDX-License-Identifier: GPL-2.0
/*
 * Appends to a trace's manifest during recording. Space is reserved ahead, so that the last entries
 * can be written when the disk is full.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../base/base.h"
#include "../base/crc.h"
#include "../base/folder.h"
#include "manifest.h"

#define ROOM_STEP 4096u

/* Name within its folder. */
static const char *const own_name = &KL_MANIFEST_FILE[sizeof(KL_TRACE_FOLDER)];

static int write_entry(int fd, uint64_t at, struct kl_manifest_entry *entry)
{
	const uint8_t *bytes = (const uint8_t *)entry;
	size_t done = 0;

	entry->magic = KL_MANIFEST_MAGIC;
	entry->version = KL_MANIFEST_VERSION;
	entry->crc = kl_crc32c(0, bytes + sizeof(entry->crc), sizeof(*entry) - sizeof(entry->crc));
	while (done < sizeof(*entry)) {
		ssize_t n = pwrite(fd, bytes + done, sizeof(*entry) - done, (off_t)(at + done));

		if (n < 0 && errno != EINTR)
			return kl_fail_system(errno, KL_MANIFEST_FILE);
		done += n < 0 ? 0 : (size_t)n;
	}
	return 0;
}

int kl_manifest_create(struct kl_manifest_out *out, int dir, const uint8_t uuid[16])
{
	struct kl_manifest_entry head = { .kind = KL_MANIFEST_HEAD };
	int folder = kl_folder_open(dir, KL_TRACE_FOLDER, true), ret;

	*out = (struct kl_manifest_out){ .fd = -1 };
	if (folder < 0)
		return folder;
	out->fd = kl_folder_create(folder, own_name);
	close(folder);
	if (out->fd < 0)
		return kl_fail_system(-out->fd, KL_MANIFEST_FILE);
	memcpy(head.uuid, uuid, sizeof(head.uuid));
	ret = kl_manifest_reserve(out, 1);
	if (!ret)
		ret = kl_manifest_add(out, &head);
	if (ret) {
		close(out->fd);
		out->fd = -1;
		kl_manifest_remove(dir);
	}
	return ret;
}

void kl_manifest_remove(int dir)
{
	int folder = kl_folder_open(dir, KL_TRACE_FOLDER, false);

	if (folder < 0)
		return;
	unlinkat(folder, own_name, 0);
	close(folder);
	unlinkat(dir, KL_TRACE_FOLDER, AT_REMOVEDIR);
}

int kl_manifest_reserve(struct kl_manifest_out *out, unsigned int entries)
{
	uint64_t wanted = out->at + (uint64_t)entries * sizeof(struct kl_manifest_entry);
	int error;

	if (wanted <= out->room)
		return 0;
	wanted = (wanted + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
	do
		error = posix_fallocate(out->fd, (off_t)out->room, (off_t)(wanted - out->room));
	while (error == EINTR);
	if (error)
		return kl_fail_system(error, KL_MANIFEST_FILE);
	out->room = wanted;
	return 0;
}

int kl_manifest_add(struct kl_manifest_out *out, struct kl_manifest_entry *entry)
{
	int ret = write_entry(out->fd, out->at, entry);

	if (ret)
		return ret;
	out->at += sizeof(*entry);
	return 0;
}

int kl_manifest_replace(struct kl_manifest_out *out, uint64_t at, struct kl_manifest_entry *entry)
{
	return write_entry(out->fd, at, entry);
}

int kl_manifest_close(struct kl_manifest_out *out)
{
	int ret = 0;

	if (out->fd < 0)
		return 0;
	if (ftruncate(out->fd, (off_t)out->at))
		ret = kl_fail_system(errno, KL_MANIFEST_FILE);
	if (close(out->fd) && !ret)
		ret = kl_fail_system(errno, KL_MANIFEST_FILE);
	out->fd = -1;
	return ret;
}
