// SPDX-License-Identifier: GPL-2.0
/* Makes the memory of a crashed machine, using only uapi/. */
#include <elf.h>
#include <endian.h>
#include <fcntl.h>
#include <lzo/lzo1x.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "machine.h"

#define PAGE KL_CRASH_PAGE

unsigned int machine_random(unsigned int n)
{
	return (unsigned int)rand() % n;
}

uint64_t machine_address(const struct machine *m, const void *at)
{
	return m->base + (uint64_t)((const uint8_t *)at - m->memory);
}

void *machine_page(struct machine *m, enum machine_use use)
{
	unsigned int i = machine_random(MACHINE_PAGES);

	while (m->use[i])
		i = (i + 1) % MACHINE_PAGES;
	m->use[i] = use;
	return memset(m->memory + (size_t)i * PAGE, 0, PAGE);
}

void machine_seal(struct machine *m, void *page, enum kl_crash_kind kind, size_t constant)
{
	struct kl_crash_head *head = page;

	head->address = machine_address(m, page);
	head->anchor = machine_address(m, m->anchor);
	memcpy(head->load, m->load, sizeof(head->load));
	head->kind = kind;
	head->version = KL_CRASH_VERSION;
	head->constant = (uint32_t)(constant - sizeof(*head));
	head->sum = kl_crash_head_sum(head);
	kl_crash_magic(head->magic);
}

static void add_region(struct machine *m, enum kl_crash_region_kind kind, const void *memory,
		       size_t bytes)
{
	struct kl_crash_region *page = machine_page(m, MACHINE_PAGE);
	size_t done = 0;

	memcpy(page->head.uuid, m->session->head.uuid, 16);
	page->generation = 1 + kind;
	page->kind = kind;
	page->bytes = bytes;
	page->first = 96;
	if (KL_CRASH_IS_TEXT(kind))
		page->sum = kl_crash_sum(KL_CRASH_SUM_BEGIN, memory, (uint32_t)bytes);
	while (done < bytes) {
		size_t skip = page->n ? 0 : page->first, part = PAGE - skip;
		uint8_t *to = machine_page(m, MACHINE_PAGE);

		part = part < bytes - done ? part : bytes - done;
		memcpy(to + skip, (const uint8_t *)memory + done, part);
		done += part;
		page->word[page->n++] = machine_address(m, to);
	}
	machine_seal(m, page, KL_CRASH_REGION, PAGE);
	m->session->region[kind] = machine_address(m, page);
}

uint64_t machine_frame(uint32_t stack, unsigned int frame)
{
	const uint64_t text = 0xffffffff81000000;

	return frame + 1 == stack ? text : text + 256 * (stack - 1) + frame;
}

const char *machine_function(uint64_t address)
{
	static char name[32];

	/* Names that do not compress well. */
	snprintf(name, sizeof(name), "f_%016llx",
		 (unsigned long long)((address ^ address >> 7) * 0x9e3779b97f4a7c15ull));
	return name;
}

static void add_names(struct machine *m)
{
	struct kl_id_names names = { .stacks = kl_stacks_create(), .cgroups = kl_cgroups_create() };
	struct kl_buffer bytes = {};

	for (uint32_t id = 1; id <= MACHINE_NAMED; id++) {
		char text[MACHINE_NAMED][32];
		struct kl_frame frame[MACHINE_NAMED] = {};
		struct kl_stack stack = { .id = id, .n = id, .frame = frame };

		for (unsigned int k = 0; k < id; k++) {
			frame[k].address = machine_frame(id, k);
			frame[k].symbol = strcpy(text[k], machine_function(frame[k].address));
		}
		if (kl_stacks_add(names.stacks, &stack))
			abort();
	}
	if (kl_cgroups_add(names.cgroups, 7, "/system.slice") || kl_id_names_write(&names, &bytes))
		abort();
	add_region(m, KL_CRASH_NAMES, bytes.data, bytes.length);
	kl_buffer_deinit(&bytes);
	kl_stacks_destroy(names.stacks);
	kl_cgroups_destroy(names.cgroups);
}

/* Traces 1 to MACHINE_STACKS, of which each has one frame more than the one before. */
static void add_stacks(struct machine *m)
{
	struct kl_crash_stack stacks[MACHINE_STACKS + 2] = {};
	uint64_t words[MACHINE_STACKS * (MACHINE_STACKS + 1) / 2];
	uint32_t n = 0;

	for (uint32_t i = 0; i < MACHINE_STACKS; i++) {
		stacks[i].about.id = i + 1;
		stacks[i].about.frames = stacks[i].about.certain = (uint8_t)(i + 1);
		stacks[i].about.kind = KL_STACK_KERNEL;
		stacks[i].at = n;
		stacks[i].state = KL_CRASH_STACK_READY;
		for (uint32_t k = 0; k <= i; k++)
			words[n++] = machine_frame(i + 1, k);
	}
	/* One was being written. */
	stacks[MACHINE_STACKS] = stacks[0];
	stacks[MACHINE_STACKS].state = 0;
	add_region(m, KL_CRASH_STACKS, stacks, sizeof(stacks));
	add_region(m, KL_CRASH_STACK_WORDS, words, sizeof(words));
}

static struct kl_crash_pieces *add_pieces(struct machine *m, enum kl_crash_what what,
					  uint32_t stride)
{
	struct kl_crash_pieces *page = machine_page(m, MACHINE_PAGE);

	memcpy(page->head.uuid, m->session->head.uuid, 16);
	page->what = what;
	page->stride = stride;
	machine_seal(m, page, KL_CRASH_PIECES, offsetof(struct kl_crash_pieces, next));
	return page;
}

static void add_rings(struct machine *m)
{
	for (uint32_t cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		__u64 *slot = &m->rings->word[2 * m->n_rings++];

		m->ring[cpu] = machine_page(m, MACHINE_RING);
		m->ring[cpu]->map_size = 64;
		m->ring[cpu]->blocks = 8;
		slot[1] = machine_address(m, m->ring[cpu]);
		slot[0] = kl_crash_slot(cpu, slot + 1, 1);
	}
}

void machine_init(struct machine *m, uint64_t base, const char *text)
{
	struct kl_crash_session *s;

	*m = (struct machine){ .base = base };
	m->memory = aligned_alloc(PAGE, (size_t)MACHINE_PAGES * PAGE);
	/* Pages that are not the module's have anything. */
	for (size_t i = 0; i < (size_t)MACHINE_PAGES * PAGE; i++)
		m->memory[i] = (uint8_t)rand();
	for (int i = 0; i < 16; i++)
		m->load[i] = (uint8_t)rand();
	m->anchor = machine_page(m, MACHINE_PAGE);
	m->anchor->page_bytes = PAGE;
	m->anchor->cpus = MACHINE_CPUS;
	m->anchor->clock_hz = 1000000000;
	m->anchor->schema_hash = 1;
	strcpy(m->anchor->release, "6.12.0-test");
	strcpy(m->anchor->hostname, "machine");
	m->anchor->now[1] = (struct kl_crash_time){ 1000000, 1000000, 1700000000000000000, 0 };
	m->anchor->now[1].sum = kl_crash_time_sum(&m->anchor->now[1]);
	machine_seal(m, m->anchor, KL_CRASH_ANCHOR, offsetof(struct kl_crash_anchor, now));
	s = m->session = machine_page(m, MACHINE_PAGE);
	for (int i = 0; i < 16; i++)
		s->head.uuid[i] = (uint8_t)(0x10 + i); /* as synth_init() */
	s->created = (struct kl_crash_time){ 1000, 1000, 1699999999999001000, 0 };
	s->created.sum = kl_crash_time_sum(&s->created);
	s->id = 7;
	s->mode = KL_MODE_OVERWRITE;
	s->block_bytes = SYNTH_BLOCK_BYTES;
	s->blocks_max = 64;
	strcpy(s->name, "flight");
	s->began = 2000;
	m->rings = add_pieces(m, KL_CRASH_RINGS, 2);
	m->blocks = add_pieces(m, KL_CRASH_BLOCKS, 1 + SYNTH_BLOCK_BYTES / PAGE);
	m->rings->next = machine_address(m, m->blocks);
	s->pieces = machine_address(m, m->rings);
	add_rings(m);
	if (text)
		add_region(m, KL_CRASH_METADATA, text, strlen(text));
	add_stacks(m);
	add_names(m);
	machine_seal(m, s, KL_CRASH_SESSION, offsetof(struct kl_crash_session, began));
	m->anchor->session[machine_random(KL_CRASH_ANCHOR_SESSIONS)] = machine_address(m, s);
}

void machine_deinit(struct machine *m)
{
	free(m->memory);
}

struct kl_abi_block *machine_add(struct machine *m, struct synth *synth)
{
	__u64 *slot = &m->blocks->word[2 * m->n_blocks++];
	uint8_t *page = machine_page(m, MACHINE_BLOCK);

	memcpy(page, synth_block(synth), SYNTH_BLOCK_BYTES);
	slot[1] = machine_address(m, page);
	slot[0] = kl_crash_slot(synth->cpu, slot + 1, 1);
	return (struct kl_abi_block *)page;
}

static int create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		abort();
	return fd;
}

static void put(int fd, const void *bytes, size_t length, uint64_t at)
{
	if (pwrite(fd, bytes, length, (off_t)at) != (ssize_t)length)
		abort();
}

/* Three segments: the second half of the memory, which is not aligned in the file, and the rest. */
void machine_write_elf(const struct machine *m, const char *path)
{
	const size_t bytes = (size_t)MACHINE_PAGES * PAGE, half = bytes / 2;
	Elf64_Ehdr head = { .e_type = ET_CORE,
			    .e_machine = EM_X86_64,
			    .e_phoff = sizeof(head),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 3 };
	Elf64_Phdr parts[3] = { { .p_type = PT_NOTE, .p_filesz = 10 },
				{ .p_type = PT_LOAD, .p_paddr = m->base + half },
				{ .p_type = PT_LOAD, .p_paddr = m->base } };
	int fd = create(path);

	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	for (int i = 1; i < 3; i++) {
		parts[i].p_filesz = parts[i].p_memsz = half;
		parts[i].p_offset = 1000 + (uint64_t)(i - 1) * half;
	}
	put(fd, &head, sizeof(head), 0);
	put(fd, parts, sizeof(parts), sizeof(head));
	put(fd, m->memory + half, half, 1000);
	put(fd, m->memory, half, 1000 + half);
	close(fd);
}

void machine_write_raw(const struct machine *m, const char *path, uint64_t shift)
{
	int fd = create(path);

	put(fd, m->memory, (size_t)MACHINE_PAGES * PAGE, m->base - shift);
	close(fd);
}

/* ---------------------------------------------------------- compressed dumps */

static size_t compress_page(const uint8_t *page, uint8_t *to, size_t room,
			    enum machine_compression compression)
{
	static uint8_t work[LZO1X_1_MEM_COMPRESS];
	uLongf zlib = room;
	lzo_uint lzo = room;

	switch (compression) {
	case MACHINE_ZLIB:
		return compress(to, &zlib, page, PAGE) == Z_OK ? zlib : 0;
	case MACHINE_LZO:
		return lzo1x_1_compress(page, PAGE, to, &lzo, work) == LZO_E_OK ? lzo : 0;
	case MACHINE_ZSTD:
		return ZSTD_compress(to, room, page, PAGE, 3);
	default:
		return 0;
	}
}

static void set_32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void set_64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* The numbers of a dump: @bitmap: bytes of each of the two; @pages: with content. */
struct layout {
	uint64_t frames;
	uint64_t bitmap;
	uint64_t pages;
	uint64_t descriptors;
	uint64_t data;
};

static bool is_empty(const uint8_t *page)
{
	static const uint8_t zeros[PAGE];

	return !memcmp(page, zeros, PAGE);
}

static struct layout plan_dump(const struct machine *m)
{
	struct layout l = { .frames = m->base / PAGE + MACHINE_PAGES };

	for (unsigned int i = 0; i < MACHINE_PAGES; i++)
		l.pages += !is_empty(m->memory + (size_t)i * PAGE);
	l.bitmap = (l.frames / 8 / PAGE + 1) * PAGE;
	l.descriptors = 2 * PAGE + 2 * l.bitmap;
	l.data = l.descriptors + 24 * l.pages;
	return l;
}

static void write_headers(uint8_t *dump, const struct layout *l,
			  enum machine_compression compression)
{
	memcpy(dump, "KDUMP   ", 8);
	set_32(dump + 8, 6);
	set_32(dump + 424, compression);
	set_32(dump + 428, PAGE);
	set_32(dump + 432, 1);
	set_32(dump + 436, (uint32_t)(2 * l->bitmap / PAGE));
	set_32(dump + 440, (uint32_t)l->frames);
	set_64(dump + PAGE + 96, l->frames);
}

/* Returns the length of the dump. */
static size_t write_pages(const struct machine *m, uint8_t *dump, const struct layout *l,
			  enum machine_compression compression)
{
	uint8_t *descriptor = dump + l->descriptors, *bitmap = dump + 2 * PAGE;
	size_t end = l->data;

	for (unsigned int i = 0; i < MACHINE_PAGES; i++) {
		const uint8_t *page = m->memory + (size_t)i * PAGE;
		const uint64_t frame = m->base / PAGE + i;
		size_t bytes;

		bitmap[frame / 8] |= (uint8_t)(1 << frame % 8);
		if (is_empty(page))
			continue;
		bitmap[l->bitmap + frame / 8] |= (uint8_t)(1 << frame % 8);
		bytes = compress_page(page, dump + end, 2 * PAGE, compression);
		/* What does not get smaller is stored as it is. */
		if (!bytes || bytes >= PAGE)
			memcpy(dump + end, page, PAGE);
		set_64(descriptor, end);
		set_32(descriptor + 8, bytes && bytes < PAGE ? (uint32_t)bytes : PAGE);
		set_32(descriptor + 12, bytes && bytes < PAGE ? compression : MACHINE_RAW);
		descriptor += 24;
		end += bytes && bytes < PAGE ? bytes : PAGE;
	}
	return end;
}

static void put_piece(int fd, uint64_t *end, const uint8_t *dump, uint64_t at, uint64_t bytes)
{
	const uint64_t head[2] = { htobe64(at), htobe64(bytes) };

	put(fd, head, sizeof(head), *end);
	put(fd, dump + at, bytes, *end + sizeof(head));
	*end += sizeof(head) + bytes;
}

/* The pages come first, and the headers twice: they are known at the end. */
static void put_pieces(int fd, const uint8_t *dump, uint64_t bytes)
{
	static const uint8_t nothing[PAGE];
	const uint64_t head[2] = { htobe64(1), htobe64(1) }, last[2] = { UINT64_MAX, UINT64_MAX };
	uint64_t end = PAGE;

	put(fd, "makedumpfile\0\0\0", 16, 0);
	put(fd, head, sizeof(head), 16);
	put_piece(fd, &end, nothing, 0, PAGE);
	for (uint64_t at = PAGE; at < bytes; at += 3000)
		put_piece(fd, &end, dump, at, bytes - at < 3000 ? bytes - at : 3000);
	put_piece(fd, &end, dump, 0, PAGE);
	put(fd, last, sizeof(last), end);
}

uint64_t machine_write_kdump(const struct machine *m, const char *path,
			     enum machine_compression compression, bool pieces)
{
	const struct layout l = plan_dump(m);
	uint8_t *dump = calloc(1, l.data + (l.pages + 2) * PAGE);
	int fd = create(path);
	size_t bytes;

	if (!dump)
		abort();
	write_headers(dump, &l, compression);
	bytes = write_pages(m, dump, &l, compression);
	if (pieces)
		put_pieces(fd, dump, bytes);
	else
		put(fd, dump, bytes, 0);
	close(fd);
	free(dump);
	return l.data;
}
