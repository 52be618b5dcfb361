// SPDX-License-Identifier: GPL-2.0
/*
 * Names what is in objects that the kernel has allocated. An address leads to its page, and from
 * there to the slab cache; the cache has the name and the size of its objects; the kernel's types
 * (BTF) have the member at an offset. Reads /proc/kcore and writes nothing.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kernlens/btf.h>
#include <kernlens/error.h>
#include <kernlens/symbols.h>
#include "../base/base.h"
#include "slabs.h"

#define CACHES_MAX 4096
#define SEGMENTS_MAX 256
#define DEPTH_MAX 8
#define PAGE_BITS 12
#define NAME_MAX_BYTES 64

/* A part of the kernel's memory, and where the file has it. */
struct segment {
	uint64_t begin, end, offset;
};

/**
 * struct cache - a slab cache
 * @address: of its description in the kernel
 * @bytes: from one object to the next
 * @struct_type: of its objects; 0: unknown
 */
struct cache {
	uint64_t address;
	uint32_t bytes;
	uint32_t struct_type;
};

/**
 * struct kl_slabs - the kernel's memory and types
 * @page_offset: where all memory is mapped
 * @vmemmap: where its pages are described
 * @page_bytes: of the description of a page
 * @head_at: offset there of the page that is the first of several
 * @cache_at: of the slab cache
 * @cache: in the order of their addresses
 */
struct kl_slabs {
	int fd;
	struct segment *segment;
	size_t segments;
	struct kl_btf *btf;
	uint64_t page_offset, vmemmap;
	uint32_t page_bytes, head_at, cache_at;
	struct cache *cache;
	size_t caches, room;
};

/* --------------------------------------------------------------------- memory */

static bool read_memory(const struct kl_slabs *o, uint64_t address, void *to, size_t bytes)
{
	for (size_t i = 0; i < o->segments; i++) {
		const struct segment *s = &o->segment[i];

		if (address >= s->begin && address < s->end && bytes <= s->end - address)
			return kl_read_at(o->fd, to, bytes, s->offset + (address - s->begin)) ==
			       bytes;
	}
	return false;
}

static bool read_word(const struct kl_slabs *o, uint64_t address, uint64_t *word)
{
	return read_memory(o, address, word, sizeof(*word));
}

static int read_segments(struct kl_slabs *o)
{
	Elf64_Ehdr header;
	Elf64_Phdr phdr;

	o->fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (o->fd < 0)
		return kl_fail_system(errno, "cannot open %s", "/proc/kcore");
	if (kl_read_at(o->fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phentsize != sizeof(phdr) || header.e_phnum > SEGMENTS_MAX)
		return kl_fail(EINVAL, "/proc/kcore is not an x86-64 core file");
	o->segment = calloc(header.e_phnum + 1, sizeof(*o->segment));
	if (!o->segment)
		return kl_fail(ENOMEM, "out of memory");
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		if (kl_read_at(o->fd, &phdr, sizeof(phdr), header.e_phoff + i * sizeof(phdr)) !=
		    sizeof(phdr))
			return kl_fail(EINVAL, "cannot read /proc/kcore");
		if (phdr.p_type != PT_LOAD || phdr.p_vaddr + phdr.p_filesz < phdr.p_vaddr)
			continue;
		o->segment[o->segments++] = (struct segment){
			.begin = phdr.p_vaddr,
			.end = phdr.p_vaddr + phdr.p_filesz,
			.offset = phdr.p_offset,
		};
	}
	return 0;
}

/* ---------------------------------------------------------------------- types */

/* Offset of a member of a struct. Returns false if there is none. */
static bool find_offset(const struct kl_btf *btf, const char *in, const char *member,
			uint32_t *offset)
{
	int type = kl_btf_find(btf, in, KL_BTF_STRUCTS);
	struct kl_btf_member found;

	if (type < 0 || kl_btf_member_find(btf, (uint32_t)type, member, &found) < 0)
		return false;
	*offset = found.bit_offset / 8;
	return true;
}

/* The struct of a cache's objects, by its name; 0: unknown. */
static uint32_t struct_of(const struct kl_btf *btf, const char *cache, uint32_t bytes)
{
	static const struct {
		const char *cache;
		const char *name;
	} others[] = {
#define KL_SLAB_CACHE(cache, name) { cache, name },
#include "slabs.def"
#undef KL_SLAB_CACHE
	};
	static const char *const inodes[] = { "_inode_info", "_inode" };
	const char *end = strstr(cache, "_inode_cache");
	int type = kl_btf_find(btf, cache, KL_BTF_BIT(KL_BTF_STRUCT));
	char name[2 * NAME_MAX_BYTES];

	/* The end of a struct may be left out of its objects, as that of task_struct. */
	if (type >= 0)
		return (uint32_t)type;
	for (size_t i = 0; i < KL_ARRAY_SIZE(others) && type < 0; i++)
		if (!strcmp(others[i].cache, cache))
			type = kl_btf_find(btf, others[i].name, KL_BTF_BIT(KL_BTF_STRUCT));
	for (size_t i = 0; i < KL_ARRAY_SIZE(inodes) && type < 0 && end; i++) {
		snprintf(name, sizeof(name), "%.*s%s", (int)(end - cache), cache, inodes[i]);
		type = kl_btf_find(btf, name, KL_BTF_BIT(KL_BTF_STRUCT));
	}
	if (type < 0 || kl_btf_bytes(btf, (uint32_t)type) > bytes)
		return 0;
	return (uint32_t)type;
}

static bool is_one_of(const char *names, const char *name)
{
	const size_t length = strlen(name);

	for (const char *at = names; length; at++) {
		size_t part = strcspn(at, ",");

		if (part == length && !strncmp(at, name, length))
			return true;
		at += part;
		if (!*at)
			break;
	}
	return false;
}

/* The member of a struct or union that contains a byte. Of a union, the first that fits. */
static bool append_path(const struct kl_slabs *o, uint32_t type, uint64_t at, const char *types,
			unsigned int depth, struct kl_buffer *name)
{
	struct kl_btf_member member;
	const size_t length = name->length;

	if (depth == DEPTH_MAX)
		return false;
	for (unsigned int i = 0; !kl_btf_member_at(o->btf, type, i, &member); i++) {
		const uint32_t inner = kl_btf_resolve(o->btf, member.type);
		const uint64_t offset = member.bit_offset / 8;

		if (!(KL_BTF_BIT(kl_btf_kind(o->btf, inner)) & KL_BTF_STRUCTS) || at < offset ||
		    at >= offset + kl_btf_bytes(o->btf, inner))
			continue;
		if (member.name[0])
			kl_buffer_printf(name, ".%s", member.name);
		if (at == offset && (is_one_of(types, kl_btf_name(o->btf, inner)) ||
				     is_one_of(types, kl_btf_name(o->btf, member.type))))
			return true;
		if (append_path(o, inner, at - offset, types, depth + 1, name))
			return true;
		name->length = length;
	}
	return false;
}

/* --------------------------------------------------------------------- caches */

static int add_cache(struct kl_slabs *o, const struct cache *cache)
{
	struct cache *grown = kl_array_grow(o->cache, o->caches, &o->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	o->cache = grown;
	grown[o->caches++] = *cache;
	return 0;
}

static int compare_caches(const void *left, const void *right)
{
	const struct cache *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/* Read the list of caches. It may change meanwhile, so its length is bounded. */
static int read_caches(struct kl_slabs *o, uint64_t list)
{
	uint32_t list_at, name_at, size_at, object_at;
	uint64_t at = list, text;
	int error = 0;

	if (!find_offset(o->btf, "kmem_cache", "list", &list_at) ||
	    !find_offset(o->btf, "kmem_cache", "name", &name_at) ||
	    !find_offset(o->btf, "kmem_cache", "size", &size_at) ||
	    !find_offset(o->btf, "kmem_cache", "object_size", &object_at))
		return kl_fail(ENOTSUP, "the kernel's types have no slab caches");
	for (size_t n = 0; !error && n < CACHES_MAX && read_word(o, at, &at) && at != list; n++) {
		struct cache cache = { .address = at - list_at };
		char name[NAME_MAX_BYTES] = "";
		uint32_t object;

		if (!read_word(o, cache.address + name_at, &text) ||
		    !read_memory(o, cache.address + size_at, &cache.bytes, sizeof(cache.bytes)) ||
		    !read_memory(o, cache.address + object_at, &object, sizeof(object)) ||
		    !read_memory(o, text, name, sizeof(name) - 1) || !cache.bytes)
			continue;
		cache.struct_type = struct_of(o->btf, name, object);
		error = add_cache(o, &cache);
	}
	if (!error && !o->caches)
		return kl_fail(ENOTSUP, "no slab caches were found");
	if (o->caches)
		qsort(o->cache, o->caches, sizeof(*o->cache), compare_caches);
	return error;
}

static int read_layout(struct kl_slabs *o, const struct kl_symbols *symbols)
{
	struct kl_symbol page_offset, vmemmap, caches;
	int type;

	o->btf = kl_btf_open(NULL);
	if (!o->btf)
		return -errno;
	type = kl_btf_find(o->btf, "page", KL_BTF_BIT(KL_BTF_STRUCT));
	if (type < 0 ||
	    (!find_offset(o->btf, "page", "compound_head", &o->head_at) &&
	     !find_offset(o->btf, "page", "compound_info", &o->head_at)) ||
	    !find_offset(o->btf, "slab", "slab_cache", &o->cache_at) ||
	    !kl_symbols_lookup(symbols, "page_offset_base", &page_offset) ||
	    !kl_symbols_lookup(symbols, "vmemmap_base", &vmemmap) ||
	    !kl_symbols_lookup(symbols, "slab_caches", &caches) ||
	    !read_word(o, page_offset.address, &o->page_offset) ||
	    !read_word(o, vmemmap.address, &o->vmemmap))
		return kl_fail(ENOTSUP, "the kernel's memory is laid out in another way");
	o->page_bytes = (uint32_t)kl_btf_bytes(o->btf, (uint32_t)type);
	return read_caches(o, caches.address);
}

struct kl_slabs *kl_slabs_open(void)
{
	struct kl_slabs *o = calloc(1, sizeof(*o));
	struct kl_symbols *symbols = kl_symbols_open(NULL);
	int error = o && symbols ? 0 : -errno;

	if (o)
		o->fd = -1;
	if (!error)
		error = read_segments(o);
	if (!error)
		error = read_layout(o, symbols);
	kl_symbols_close(symbols);
	if (!error)
		return o;
	kl_slabs_close(o);
	errno = -error;
	return NULL;
}

void kl_slabs_close(struct kl_slabs *slabs)
{
	if (!slabs)
		return;
	if (slabs->fd >= 0)
		close(slabs->fd);
	kl_btf_close(slabs->btf);
	free(slabs->segment);
	free(slabs->cache);
	free(slabs);
}

/* ---------------------------------------------------------------------- names */

/* The cache in which an address is, and its offset in the object; NULL: none. */
static const struct cache *find_cache(const struct kl_slabs *o, uint64_t address, uint64_t *at)
{
	uint64_t page = o->vmemmap + ((address - o->page_offset) >> PAGE_BITS) * o->page_bytes;
	struct cache key = {};
	const struct cache *cache;
	uint64_t head;

	if (address < o->page_offset || !read_word(o, page + o->head_at, &head))
		return NULL;
	/*
	 * Of all but the first of several pages, this is the first one's address plus one or, in
	 * newer kernels, a mask for this page's address.
	 */
	if (head & 1)
		page = head > page ? page & head : head - 1;
	if (page < o->vmemmap || !read_word(o, page + o->cache_at, &key.address))
		return NULL;
	cache = bsearch(&key, o->cache, o->caches, sizeof(*o->cache), compare_caches);
	if (!cache)
		return NULL;
	*at = address - (o->page_offset + (((page - o->vmemmap) / o->page_bytes) << PAGE_BITS));
	*at %= cache->bytes;
	return cache;
}

bool kl_slabs_name(const struct kl_slabs *slabs, uint64_t address, const char *types,
		   struct kl_buffer *name)
{
	const size_t length = name->length;
	const struct cache *cache;
	uint64_t at;

	cache = find_cache(slabs, address, &at);
	if (!cache || !cache->struct_type)
		return false;
	kl_buffer_printf(name, "%s", kl_btf_name(slabs->btf, cache->struct_type));
	if (append_path(slabs, cache->struct_type, at, types, 0, name))
		return true;
	name->length = length;
	return false;
}
