// SPDX-License-Identifier: GPL-2.0
/*
 * Packs a trace into one file (docs/format/pack.md). The file is written under another name, read
 * back, and gets its name only when it is complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/compress.h>
#include <kernlens/cursor.h>
#include <kernlens/error.h>
#include <kernlens/metadata.h>
#include "../base/base.h"
#include "../base/crc.h"
#include "../base/folder.h"
#include "../reader/files.h"
#include "../reader/frame.h"

#define METADATA_BYTES_MAX (16u << 20)

/*
 * @fd: the pack
 * @at: its end
 * @files: number of entries
 * @places: of the frames of the current file
 */
struct packer {
	struct kl_files source;
	struct kl_schema *schema;
	int level;
	int fd;
	uint64_t at;
	unsigned int files;
	struct kl_frame_place *places;
	size_t n_places;
	size_t places_capacity;
	struct kl_buffer frame;
	struct kl_pack_counts *counts;
};

static int write_at(struct packer *p, const void *bytes, size_t length, uint64_t at)
{
	if (lseek(p->fd, (off_t)at, SEEK_SET) < 0)
		return kl_fail_system(errno, "the pack");
	if (kl_write_all(p->fd, bytes, length))
		return kl_fail_system(errno, "the pack");
	return 0;
}

/* ------------------------------------------------------------- a file's parts */

/* Size of the block at @at, if there is a valid one, else 0. */
static size_t block_at(struct kl_window *window, uint64_t at)
{
	const struct kl_abi_block *block = kl_window_at(window, at, sizeof(*block));
	uint64_t rest = window->size - at;
	size_t bytes = 0;

	if (block && !kl_block_check(block, rest, NULL))
		bytes = block->packet_bits / 8;
	kl_error_clear();
	return bytes;
}

/* Length of the part at @at that becomes a frame: whole blocks, or what lies before the next. */
static size_t part_length(struct kl_window *window, uint64_t at)
{
	uint64_t most = window->size - at;
	size_t length = 0, bytes;

	if (most > KL_FRAME_PLAIN_MAX)
		most = KL_FRAME_PLAIN_MAX;
	while (length < most && (bytes = block_at(window, at + length)) && bytes <= most - length)
		length += bytes;
	if (length)
		return length;
	while (length + KL_BLOCK_BYTES_MIN < most) {
		length += KL_BLOCK_BYTES_MIN;
		if (block_at(window, at + length))
			return length;
	}
	return (size_t)most;
}

static int add_place(struct packer *p, uint64_t start, size_t plain)
{
	struct kl_frame_place *places =
		kl_array_grow(p->places, p->n_places, &p->places_capacity, sizeof(*places));

	if (!places)
		return -ENOMEM;
	p->places = places;
	places[p->n_places++] = (struct kl_frame_place){
		.at = p->at - start,
		.bytes = (uint32_t)p->frame.length,
		.plain_bytes = (uint32_t)plain,
	};
	return 0;
}

static int add_part(struct packer *p, struct kl_frame_writer *writer, const void *bytes,
		    size_t length, uint64_t start)
{
	int ret;

	kl_buffer_reset(&p->frame);
	ret = kl_frame_write(writer, bytes, length, &p->frame);
	if (!ret)
		ret = add_place(p, start, length);
	if (!ret)
		ret = write_at(p, p->frame.data, p->frame.length, p->at);
	p->at += p->frame.length;
	return ret;
}

static int add_parts(struct packer *p, struct kl_window *window, bool stream)
{
	struct kl_frame_writer *writer =
		kl_frame_writer_create(stream ? p->schema : NULL, p->level);
	uint64_t start = p->at, at = 0;
	int ret = writer ? 0 : -errno;

	p->n_places = 0;
	while (!ret && at < window->size) {
		uint64_t rest = window->size - at;
		size_t length = stream			  ? part_length(window, at) :
				rest < KL_FRAME_PLAIN_MAX ? (size_t)rest :
							    KL_FRAME_PLAIN_MAX;
		const void *bytes = kl_window_at(window, at, length);

		ret = bytes ? add_part(p, writer, bytes, length, start) :
			      kl_fail(EIO, "it is damaged, or has just been changed");
		at += length;
	}
	if (!ret) {
		kl_buffer_reset(&p->frame);
		ret = kl_frame_write_index(p->places, p->n_places, p->at - start, &p->frame);
	}
	if (!ret)
		ret = write_at(p, p->frame.data, p->frame.length, p->at);
	p->at += p->frame.length;
	kl_frame_writer_destroy(writer);
	return ret;
}

/* ----------------------------------------------------------------- entries */

static int write_entry(struct packer *p, struct kl_pack_entry *entry, uint64_t at)
{
	entry->magic = KL_PACK_ENTRY_MAGIC;
	entry->crc = kl_pack_entry_crc(entry);
	return write_at(p, entry, sizeof(*entry), at);
}

/* Takes ownership of @window. */
static int add_file(struct packer *p, const char *name, struct kl_window *window, bool stream)
{
	struct kl_pack_entry entry = { .kind = KL_PACK_FILE };
	uint64_t at = p->at;
	int ret;

	snprintf(entry.name, sizeof(entry.name), "%s", name);
	if (window->ops)
		kl_frames_verify(window);
	p->at += sizeof(entry);
	ret = add_parts(p, window, stream);
	entry.plain_bytes = window->size;
	entry.stored_bytes = p->at - at - sizeof(entry);
	if (!ret)
		ret = write_entry(p, &entry, at);
	kl_window_close(window);
	p->files++;
	p->counts->files++;
	p->counts->plain_bytes += entry.plain_bytes;
	return ret ? kl_fail_about(ret, name) : 0;
}

static int add_named(struct packer *p, const char *name)
{
	struct kl_window window;
	int ret = kl_files_window(&p->source, name, &window);

	if (ret == -ENOENT || ret == -ENOTDIR) {
		kl_error_clear();
		return 0;
	}
	return ret ? ret : add_file(p, name, &window, false);
}

static int add_streams(struct packer *p)
{
	struct kl_stream_file *streams;
	struct kl_window window;
	size_t n;
	int ret = kl_files_streams(&p->source, &streams, &n);

	for (size_t i = 0; i < n && !ret; i++) {
		char name[KL_PACK_NAME_MAX];

		snprintf(name, sizeof(name), "cpu%u", streams[i].cpu);
		ret = kl_files_stream(&p->source, &streams[i], &window);
		if (!ret)
			ret = add_file(p, name, &window, true);
	}
	free(streams);
	return ret;
}

static int read_schema(struct packer *p)
{
	struct kl_trace_info info;
	uint8_t *text;
	size_t size;
	int ret = kl_files_read(&p->source, "metadata", METADATA_BYTES_MAX, &text, &size);

	if (ret)
		return ret;
	p->schema = kl_metadata_parse(text ? (char *)text : "", size, &info);
	ret = p->schema ? 0 : -errno;
	free(text);
	return ret;
}

static int write_pack(struct packer *p)
{
	struct kl_pack_head head = { .magic = KL_PACK_MAGIC, .version = KL_PACK_VERSION };
	struct kl_pack_entry end = { .kind = KL_PACK_END };
	const char *name;
	int ret;

	head.crc = kl_crc32c(0, &head, offsetof(struct kl_pack_head, crc));
	ret = write_at(p, &head, sizeof(head), 0);
	p->at = sizeof(head);
	for (size_t i = 0; !ret && (name = kl_pack_name(i)); i++)
		ret = add_named(p, name);
	if (!ret)
		ret = add_streams(p);
	end.entries = p->files;
	if (!ret)
		ret = write_entry(p, &end, p->at);
	p->at += sizeof(end);
	p->counts->stored_bytes = p->at;
	return ret;
}

/* ------------------------------------------------------------------- the file */

/* Restore all that was written, to see that it is what was to be packed. */
static int read_back(const char *path)
{
	struct kl_pack pack;
	struct kl_window window;
	int ret = kl_pack_open(&pack, path);

	if (ret)
		return ret;
	if (!pack.whole)
		ret = kl_fail(EIO, "the pack has not been written correctly");
	for (size_t i = 0; i < pack.n && !ret; i++) {
		ret = kl_pack_window(&pack, &pack.files[i], &window);
		if (ret)
			break;
		kl_frames_verify(&window);
		for (uint64_t at = 0; at < window.size; at += KL_BLOCK_BYTES_MIN) {
			uint64_t rest = window.size - at;
			size_t length = rest < KL_BLOCK_BYTES_MIN ? (size_t)rest :
								    KL_BLOCK_BYTES_MIN;

			if (!kl_window_at(&window, at, length))
				ret = kl_fail(EIO, "%s has not been written correctly",
					      pack.files[i].entry.name);
		}
		if (!ret && window.size != pack.files[i].entry.plain_bytes)
			ret = kl_fail(EIO, "%s has not been written completely",
				      pack.files[i].entry.name);
		kl_window_close(&window);
	}
	kl_pack_close(&pack);
	return ret;
}

/* Give the file its name. */
static int take_name(const char *from, const char *to, bool force)
{
	struct stat file;

	if (!force && !link(from, to)) {
		unlink(from);
		return 0;
	}
	if (!force && errno == EEXIST)
		return kl_fail(EEXIST, "%s exists", to);
	/* A file system without links. */
	if (!force && !access(to, F_OK))
		return kl_fail(EEXIST, "%s exists", to);
	if (force && !lstat(to, &file) && !S_ISREG(file.st_mode))
		return kl_fail(EEXIST, "%s is not a regular file", to);
	return rename(from, to) ? kl_fail_system(errno, "%s", to) : 0;
}

static int pack_into(struct packer *p, const char *output, bool force)
{
	char *path;
	int ret;

	if (asprintf(&path, "%s.XXXXXX", output) < 0)
		return kl_fail(ENOMEM, "out of memory");
	p->fd = mkostemp(path, O_CLOEXEC);
	if (p->fd < 0) {
		ret = kl_fail_system(errno, "%s", output);
		free(path);
		return ret;
	}
	ret = write_pack(p);
	if (close(p->fd) && !ret)
		ret = kl_fail_system(errno, "%s", output);
	if (!ret)
		ret = read_back(path);
	if (!ret)
		ret = take_name(path, output, force);
	if (ret)
		unlink(path);
	free(path);
	return ret;
}

int kl_pack_trace(const char *path, const char *output, bool force, int level,
		  struct kl_pack_counts *counts)
{
	struct packer p = { .level = level, .fd = -1, .counts = counts };
	struct stat about;
	int ret;

	*counts = (struct kl_pack_counts){ 0 };
	if (!lstat(output, &about) && (!force || !S_ISREG(about.st_mode)))
		return kl_fail(EEXIST, "%s exists", output);
	ret = kl_files_open(&p.source, path);
	if (ret)
		return ret;
	ret = read_schema(&p);
	ret = ret ? kl_fail_about(ret, path) : pack_into(&p, output, force);
	kl_files_close(&p.source);
	kl_schema_destroy(p.schema);
	kl_buffer_deinit(&p.frame);
	free(p.places);
	return ret;
}
