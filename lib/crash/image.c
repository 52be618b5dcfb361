// SPDX-License-Identifier: GPL-2.0
/*
 * A file with the physical memory of a machine. Whatever its headers say: each number is checked
 * against the file's size, and reads outside of it fail.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/crash.h>
#include "../../uapi/crash.h"
#include "../base/base.h"
#include "kdump.h"

#define SEGMENTS_MAX (1u << 20)
#define STEP_BYTES (1u << 20)
#define ADDRESS_MAX (1ull << 52)
#define HOLE_END (1ull << 32)

/*
 * @bytes of memory from @address on are at @offset of the file. In a compressed dump, that is the
 * number of its first page.
 */
struct segment {
	uint64_t address;
	uint64_t offset;
	uint64_t bytes;
};

/* @kdump: NULL unless it is compressed. @segments: in order of addresses, without overlaps */
struct kl_image {
	int fd;
	struct kl_kdump *kdump;
	uint64_t size;
	bool raw;
	struct segment *segments;
	size_t n_segments;
};

static bool read_file(const struct kl_image *image, uint64_t at, void *to, size_t bytes)
{
	if (at > image->size || bytes > image->size - at)
		return false;
	return kl_read_at(image->fd, to, bytes, at) == bytes;
}

static bool read_segment(const struct kl_image *image, const struct segment *s, uint64_t skip,
			 void *to, size_t bytes)
{
	return image->kdump ? kl_kdump_read(image->kdump, s->offset, skip, to, bytes) :
			      read_file(image, s->offset + skip, to, bytes);
}

/* ------------------------------------------------------- ELF */

static int compare_segments(const void *one, const void *two)
{
	const struct segment *a = one, *b = two;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Whole pages of what the program header says, as far as the file has them. */
static struct segment segment_of(const struct kl_image *image, const Elf64_Phdr *header)
{
	struct segment s = { header->p_paddr, header->p_offset, header->p_filesz };
	uint64_t skip = -s.address & (KL_CRASH_PAGE - 1);

	if (header->p_type != PT_LOAD || s.offset >= image->size || s.address >= ADDRESS_MAX)
		return (struct segment){};
	if (s.bytes > image->size - s.offset)
		s.bytes = image->size - s.offset;
	if (s.bytes > ADDRESS_MAX - s.address)
		s.bytes = ADDRESS_MAX - s.address;
	if (s.bytes < skip)
		return (struct segment){};
	s.address += skip;
	s.offset += skip;
	s.bytes = (s.bytes - skip) & ~(uint64_t)(KL_CRASH_PAGE - 1);
	return s;
}

/* The kernel's own memory is in /proc/vmcore twice: keep each page once. */
static void remove_overlaps(struct kl_image *image)
{
	uint64_t end = 0;
	size_t n = 0;

	qsort(image->segments, image->n_segments, sizeof(*image->segments), compare_segments);
	for (size_t i = 0; i < image->n_segments; i++) {
		struct segment s = image->segments[i];
		uint64_t skip = s.address < end ? end - s.address : 0;

		if (skip >= s.bytes)
			continue;
		s.address += skip;
		s.offset += skip;
		s.bytes -= skip;
		end = s.address + s.bytes;
		image->segments[n++] = s;
	}
	image->n_segments = n;
}

/* The number of program headers, which may be too large for its field. */
static uint64_t count_headers(const struct kl_image *image, const Elf64_Ehdr *head)
{
	Elf64_Shdr section;

	if (head->e_phnum != PN_XNUM)
		return head->e_phnum;
	return read_file(image, head->e_shoff, &section, sizeof(section)) ? section.sh_info : 0;
}

static int read_elf(struct kl_image *image, const Elf64_Ehdr *head)
{
	uint64_t n = count_headers(image, head);
	Elf64_Phdr header;

	if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB ||
	    head->e_type != ET_CORE || head->e_machine != EM_X86_64)
		return kl_fail(EINVAL, "it is not the ELF core of an x86-64 machine");
	if (head->e_phentsize != sizeof(header) || !n || n > SEGMENTS_MAX)
		return kl_fail(EINVAL, "its ELF header is damaged");
	image->segments = calloc(n, sizeof(*image->segments));
	if (!image->segments)
		return kl_fail(ENOMEM, "out of memory");
	for (uint64_t i = 0; i < n; i++) {
		if (!read_file(image, head->e_phoff + i * sizeof(header), &header, sizeof(header)))
			return kl_fail(EINVAL, "its program headers are cut off");
		image->segments[image->n_segments] = segment_of(image, &header);
		image->n_segments += image->segments[image->n_segments].bytes > 0;
	}
	remove_overlaps(image);
	if (!image->n_segments)
		return kl_fail(EINVAL, "it is an ELF core without memory");
	return 0;
}

/* ------------------------------------------------------- raw */

int kl_image_set_hole(struct kl_image *image, uint64_t bytes)
{
	uint64_t size = image->size & ~(uint64_t)(KL_CRASH_PAGE - 1);
	uint64_t low = HOLE_END - bytes;
	struct segment *segments = calloc(2, sizeof(*segments));

	if (!segments)
		return kl_fail(ENOMEM, "out of memory");
	free(image->segments);
	image->segments = segments;
	image->n_segments = 1;
	segments[0] = (struct segment){ 0, 0, bytes && size > low ? low : size };
	if (bytes && size > low) {
		segments[1] = (struct segment){ HOLE_END, low, size - low };
		image->n_segments = 2;
	}
	return 0;
}

static int read_raw(struct kl_image *image)
{
	if (image->size < KL_CRASH_PAGE)
		return kl_fail(EINVAL, "it is too short for the memory of a machine");
	image->raw = true;
	return kl_image_set_hole(image, 0);
}

/* ------------------------------------------------ compressed */

static int read_kdump(struct kl_image *image)
{
	struct kl_kdump_run run = {};
	size_t room = 0;

	image->kdump = kl_kdump_open(image->fd, image->size);
	if (!image->kdump)
		return -errno;
	while (kl_kdump_next(image->kdump, &run)) {
		struct segment *grown =
			kl_array_grow(image->segments, image->n_segments, &room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		image->segments = grown;
		grown[image->n_segments++] = (struct segment){ run.address, run.page, run.bytes };
	}
	return image->n_segments ? 0 : kl_fail(EINVAL, "it is a dump without memory");
}

/* ------------------------------------------------------- all */

static int read_layout(struct kl_image *image)
{
	/* At least as long as the signatures below. */
	Elf64_Ehdr head = {};
	bool has_head = read_file(image, 0, &head, sizeof(head));

	if (has_head && !memcmp(&head, ELFMAG, SELFMAG))
		return read_elf(image, &head);
	if (has_head && kl_kdump_is(&head))
		return read_kdump(image);
	return read_raw(image);
}

struct kl_image *kl_image_open(const char *path)
{
	struct kl_image *image = calloc(1, sizeof(*image));
	struct stat status;
	int error;

	if (!image) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	image->fd = kl_open_regular(path);
	if (image->fd < 0) {
		error = image->fd;
		goto free_image;
	}
	error = fstat(image->fd, &status) ? kl_fail_system(errno, "%s", path) : 0;
	if (error)
		goto close_image;
	image->size = (uint64_t)status.st_size;
	error = read_layout(image);
	if (!error)
		return image;
	kl_fail_about(error, path);
close_image:
	kl_kdump_close(image->kdump);
	close(image->fd);
	free(image->segments);
free_image:
	free(image);
	errno = -error;
	return NULL;
}

void kl_image_close(struct kl_image *image)
{
	if (!image)
		return;
	kl_kdump_close(image->kdump);
	close(image->fd);
	free(image->segments);
	free(image);
}

bool kl_image_is_raw(const struct kl_image *image)
{
	return image->raw;
}

uint64_t kl_image_bytes(const struct kl_image *image)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < image->n_segments; i++)
		bytes += image->segments[i].bytes;
	return bytes;
}

static const struct segment *find_segment(const struct kl_image *image, uint64_t address)
{
	size_t low = 0, high = image->n_segments;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct segment *s = &image->segments[middle];

		if (address < s->address)
			high = middle;
		else if (address - s->address >= s->bytes)
			low = middle + 1;
		else
			return s;
	}
	return NULL;
}

bool kl_image_read(const struct kl_image *image, uint64_t address, void *to, size_t bytes)
{
	uint8_t *into = to;

	while (bytes) {
		const struct segment *s = find_segment(image, address);
		uint64_t skip, part;

		if (!s)
			return false;
		skip = address - s->address;
		part = s->bytes - skip < bytes ? s->bytes - skip : bytes;
		if (!read_segment(image, s, skip, into, part))
			return false;
		address += part;
		into += part;
		bytes -= part;
	}
	return true;
}

/* The first byte from @at on that is in no hole; @end if there is none. */
static uint64_t skip_hole(const struct kl_image *image, uint64_t at, uint64_t end)
{
	off_t data = lseek(image->fd, (off_t)at, SEEK_DATA);

	/* Not every file knows its holes. */
	if (data < 0)
		return errno == ENXIO ? end : at;
	return (uint64_t)data < end ? (uint64_t)data : end;
}

/* Visits the pages of a piece that can be read, one by one if not all can. */
static int walk_piece(const struct kl_image *image, const struct segment *s, uint64_t at,
		      uint64_t bytes, uint8_t *buffer, kl_image_visit visit, void *context)
{
	int ret = 0;

	if (read_segment(image, s, at, buffer, bytes))
		return visit(context, s->address + at, buffer, bytes);
	for (uint64_t i = 0; i < bytes && !ret; i += KL_CRASH_PAGE)
		if (read_segment(image, s, at + i, buffer, KL_CRASH_PAGE))
			ret = visit(context, s->address + at + i, buffer, KL_CRASH_PAGE);
	return ret;
}

static int walk_segment(const struct kl_image *image, const struct segment *s, uint8_t *buffer,
			kl_image_visit visit, void *context)
{
	uint64_t at = 0, step;
	int ret = 0;

	for (; at < s->bytes && !ret; at += step) {
		if (!image->kdump) {
			uint64_t data = skip_hole(image, s->offset + at, s->offset + s->bytes);

			at = (data - s->offset) & ~(uint64_t)(KL_CRASH_PAGE - 1);
		}
		step = s->bytes - at < STEP_BYTES ? s->bytes - at : STEP_BYTES;
		if (step)
			ret = walk_piece(image, s, at, step, buffer, visit, context);
	}
	return ret;
}

int kl_image_walk(const struct kl_image *image, kl_image_visit visit, void *context)
{
	uint8_t *buffer = aligned_alloc(KL_CRASH_PAGE, STEP_BYTES);
	int ret = 0;

	if (!buffer)
		return kl_fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < image->n_segments && !ret; i++)
		ret = walk_segment(image, &image->segments[i], buffer, visit, context);
	free(buffer);
	return ret;
}
