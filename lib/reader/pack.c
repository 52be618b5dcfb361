// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the directory of a pack, which may come from a stranger. Only names of files that a trace
 * consists of are accepted, each once, so that none can lead out of the trace's directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/addresses.h>
#include <kernlens/cgroup_store.h>
#include <kernlens/stack.h>
#include <kernlens/trace.h>
#include "../base/base.h"
#include "../base/crc.h"
#include "frame.h"
#include "pack.h"

#define FILES_MAX (KL_CPUS_MAX + 16)

bool kl_stream_name(const char *name, uint32_t *cpu)
{
	uint32_t number = 0;

	if (strncmp(name, "cpu", 3) || !name[3] || (name[3] == '0' && name[4]))
		return false;
	for (name += 3; *name >= '0' && *name <= '9' && number < KL_CPUS_MAX; name++)
		number = number * 10 + (uint32_t)(*name - '0');
	*cpu = number;
	return !*name && number < KL_CPUS_MAX;
}

const char *kl_pack_name(size_t number)
{
	/* The metadata comes last, so that what is unpacked is a trace only once it is complete. */
	static const char *const names[] = { KL_MANIFEST_FILE, KL_STACKS_FILE, KL_ADDRESSES_FILE,
					     KL_CGROUPS_FILE, "metadata" };

	return number < KL_ARRAY_SIZE(names) ? names[number] : NULL;
}

bool kl_pack_allows(const char *name)
{
	const char *allowed;
	uint32_t cpu;

	for (size_t i = 0; (allowed = kl_pack_name(i)); i++)
		if (!strcmp(name, allowed))
			return true;
	return kl_stream_name(name, &cpu);
}

uint32_t kl_pack_entry_crc(const struct kl_pack_entry *entry)
{
	return kl_crc32c(0, &entry->kind, sizeof(*entry) - offsetof(struct kl_pack_entry, kind));
}

static bool read_at(int fd, uint64_t at, void *to, size_t bytes)
{
	return kl_read_at(fd, to, bytes, at) == bytes;
}

bool kl_pack_is(const char *path)
{
	uint8_t magic[KL_PACK_MAGIC_BYTES];
	int fd = kl_open_regular(path);
	bool is;

	if (fd < 0)
		return false;
	is = read_at(fd, 0, magic, sizeof(magic)) && !memcmp(magic, KL_PACK_MAGIC, sizeof(magic));
	close(fd);
	return is;
}

static int check_head(const struct kl_pack *pack)
{
	struct kl_pack_head head;

	if (!read_at(pack->fd, 0, &head, sizeof(head)) ||
	    memcmp(head.magic, KL_PACK_MAGIC, sizeof(head.magic)))
		return kl_fail(EINVAL, "not a pack of kernlens");
	if (head.crc != kl_crc32c(0, &head, offsetof(struct kl_pack_head, crc)))
		return kl_fail(EINVAL, "the pack's header is damaged");
	if (head.version != KL_PACK_VERSION)
		return kl_fail(EINVAL, "the pack has version %u; this kernlens reads version %u",
			       head.version, KL_PACK_VERSION);
	return 0;
}

static int add_file(struct kl_pack *pack, const struct kl_pack_entry *entry, uint64_t at)
{
	struct kl_packed *files;
	uint64_t rest = pack->bytes - at;

	if (entry->name[KL_PACK_NAME_MAX - 1] || !kl_pack_allows(entry->name))
		return kl_fail(EINVAL, "the pack has a file that no trace has");
	if (kl_pack_find(pack, entry->name))
		return kl_fail(EINVAL, "the pack has two files %s", entry->name);
	if (pack->n == FILES_MAX)
		return kl_fail(EINVAL, "the pack has too many files");
	files = kl_array_grow(pack->files, pack->n, &pack->capacity, sizeof(*files));
	if (!files)
		return -ENOMEM;
	pack->files = files;
	files[pack->n++] = (struct kl_packed){
		.entry = *entry,
		.at = at,
		.stored = entry->stored_bytes < rest ? entry->stored_bytes : rest,
	};
	return 0;
}

/* A directory that ends early, or in something else, is that of a pack that was cut or damaged. */
static int read_entries(struct kl_pack *pack)
{
	struct kl_pack_entry entry;
	uint64_t at = sizeof(struct kl_pack_head);
	int ret = 0;

	while (!ret && read_at(pack->fd, at, &entry, sizeof(entry))) {
		if (entry.magic != KL_PACK_ENTRY_MAGIC || entry.crc != kl_pack_entry_crc(&entry))
			break;
		at += sizeof(entry);
		if (entry.kind == KL_PACK_END) {
			pack->whole = entry.entries == pack->n && at == pack->bytes;
			break;
		}
		if (entry.kind != KL_PACK_FILE)
			return kl_fail(EINVAL, "the pack has an unknown kind of entry");
		ret = add_file(pack, &entry, at);
		if (entry.stored_bytes >= pack->bytes - at)
			break;
		at += entry.stored_bytes;
	}
	return ret;
}

int kl_pack_open(struct kl_pack *pack, const char *path)
{
	struct stat about;
	int ret;

	*pack = (struct kl_pack){ .fd = kl_open_regular(path) };
	if (pack->fd < 0)
		return pack->fd;
	ret = fstat(pack->fd, &about) ? kl_fail_system(errno, "fstat") : 0;
	pack->bytes = ret ? 0 : (uint64_t)about.st_size;
	if (!ret)
		ret = check_head(pack);
	if (!ret)
		ret = read_entries(pack);
	if (ret)
		kl_pack_close(pack);
	return ret ? kl_fail_about(ret, path) : 0;
}

void kl_pack_close(struct kl_pack *pack)
{
	if (pack->fd >= 0)
		close(pack->fd);
	free(pack->files);
	*pack = (struct kl_pack){ .fd = -1 };
}

const struct kl_packed *kl_pack_find(const struct kl_pack *pack, const char *name)
{
	for (size_t i = 0; i < pack->n; i++)
		if (!strcmp(pack->files[i].entry.name, name))
			return &pack->files[i];
	return NULL;
}

int kl_pack_window(const struct kl_pack *pack, const struct kl_packed *file,
		   struct kl_window *window)
{
	return kl_frames_open(window, pack->fd, false, file->at, file->stored);
}
