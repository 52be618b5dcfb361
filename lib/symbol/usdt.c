// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the USDT markers of a file: a note of .note.stapsdt for each location has three addresses
 * (the location, that of the section .stapsdt.base, the semaphore) and three strings (provider,
 * name, arguments). If a tool has moved the file's addresses since (prelink), the section has moved
 * along, but the notes still contain the old address.
 */
#include <ctype.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/base.h"
#include "../base/names.h"
#include "elf_symbol.h"
#include "usdt_argument.h"

#define NOTES ".note.stapsdt"
#define BASE ".stapsdt.base"
#define OWNER "stapsdt"
#define NOTE_TYPE 3
#define LOCATIONS_MAX (1u << 20)

/* A location before it is sorted to its marker. */
struct note {
	const char *provider;
	const char *name;
	struct kl_usdt_location location;
};

struct kl_usdt {
	struct kl_usdt_marker *marker;
	size_t n;
	struct kl_usdt_location *location;
	char **text; /* a copy of each note's strings */
	size_t n_texts;
};

/* State while the file is read. */
struct reader {
	const char *path;
	Elf *elf;
	bool is_32;
	bool is_fixed;
	uint64_t base; /* address of .stapsdt.base; 0: there is none */
	struct note *note;
	size_t n, room;
	char **text; /* of each note */
	size_t text_room;
};

/* -------------------------------------------------------------------- notes */

static int fail_note(const struct reader *r)
{
	return kl_fail(EINVAL, "%s has a damaged USDT note", r->path);
}

static bool find_symbol(void *data, const char *name, uint64_t *address)
{
	const struct reader *r = data;

	return kl_elf_find_symbol(r->elf, name,
				  1u << STT_NOTYPE | 1u << STT_OBJECT | 1u << STT_FUNC, address);
}

/* A name that can be printed, and is a word of an event's name. */
static bool is_name(const char *name)
{
	const char *at = name;

	while (isgraph((unsigned char)*at))
		at++;
	return at > name && !*at;
}

static uint64_t get_address(const struct reader *r, const char *at, unsigned int index)
{
	return r->is_32 ? kl_get32(at + 4 * index) : kl_get64(at + 8 * index);
}

/* The string at *@at, before @end; advances *@at. NULL if it is not terminated. */
static const char *take_string(const char **at, const char *end)
{
	const char *string = *at, *zero = memchr(string, 0, (size_t)(end - string));

	if (!zero)
		return NULL;
	*at = zero + 1;
	return string;
}

static int add_text(struct reader *r, const char *from, size_t bytes)
{
	char **grown = kl_array_grow(r->text, r->n, &r->text_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	r->text = grown;
	grown[r->n] = malloc(bytes);
	if (!grown[r->n])
		return kl_fail(ENOMEM, "out of memory");
	memcpy(grown[r->n], from, bytes);
	return 0;
}

/* Add a location whose strings are @bytes at @from. */
static int add_note(struct reader *r, const struct kl_usdt_location *location, const char *from,
		    size_t bytes)
{
	struct note *grown = kl_array_grow(r->note, r->n, &r->room, sizeof(*grown));
	const char *at, *end;
	struct note *note;

	if (!grown)
		return -ENOMEM;
	r->note = grown;
	if (r->n == LOCATIONS_MAX)
		return kl_fail(E2BIG, "%s has more than %u USDT notes", r->path, LOCATIONS_MAX);
	if (add_text(r, from, bytes))
		return -errno;
	at = r->text[r->n];
	end = at + bytes;
	note = &grown[r->n++];
	*note = (struct note){ .location = *location };
	note->provider = take_string(&at, end);
	note->name = note->provider ? take_string(&at, end) : NULL;
	note->location.text = note->name ? take_string(&at, end) : NULL;
	if (!note->location.text || !is_name(note->provider) || !is_name(note->name))
		return fail_note(r);
	return 0;
}

static void parse_arguments(struct reader *r, struct kl_usdt_location *location)
{
	const struct kl_usdt_file file = {
		.is_32 = r->is_32,
		.is_fixed = r->is_fixed,
		.address = location->address,
		.find = find_symbol,
		.data = r,
	};

	location->n_arguments = kl_usdt_parse(&file, location->text, location->argument);
}

/* Read what follows the name of a note of the right type. */
static int read_note(struct reader *r, const char *from, size_t bytes)
{
	size_t addresses = 3 * (r->is_32 ? 4 : 8);
	struct kl_usdt_location location = {};
	uint64_t moved, semaphore;
	int ret;

	if (bytes < addresses)
		return fail_note(r);
	moved = r->base ? r->base - get_address(r, from, 1) : 0;
	location.address = get_address(r, from, 0) + moved;
	semaphore = get_address(r, from, 2);
	if (!kl_elf_to_offset(r->elf, location.address, &location.offset))
		return fail_note(r);
	if (semaphore && (!kl_elf_to_offset(r->elf, semaphore + moved, &location.semaphore) ||
			  location.semaphore % sizeof(uint16_t)))
		return fail_note(r);
	ret = add_note(r, &location, from + addresses, bytes - addresses);
	if (!ret)
		parse_arguments(r, &r->note[r->n - 1].location);
	return ret;
}

static int read_notes(struct reader *r, Elf_Data *data)
{
	size_t at = 0, next, name, desc;
	GElf_Nhdr header;
	int ret = 0;

	while (!ret && (next = gelf_getnote(data, at, &header, &name, &desc))) {
		const char *bytes = data->d_buf;

		if (header.n_type == NOTE_TYPE && header.n_namesz == sizeof(OWNER) &&
		    !memcmp(bytes + name, OWNER, sizeof(OWNER)))
			ret = read_note(r, bytes + desc, header.n_descsz);
		at = next;
	}
	return ret;
}

/* ------------------------------------------------------------------ sections */

static const char *section_name(const struct reader *r, const GElf_Shdr *header)
{
	size_t names;
	const char *name = elf_getshdrstrndx(r->elf, &names) ?
				   NULL :
				   elf_strptr(r->elf, names, header->sh_name);

	return name ? name : "";
}

static void find_base(struct reader *r)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(r->elf, section)))
		if (gelf_getshdr(section, &header) && !strcmp(section_name(r, &header), BASE))
			r->base = header.sh_addr;
}

static int read_sections(struct reader *r)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int ret = 0;

	while (!ret && (section = elf_nextscn(r->elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE ||
		    strcmp(section_name(r, &header), NOTES) != 0)
			continue;
		data = elf_getdata(section, NULL);
		ret = data && data->d_buf ? read_notes(r, data) : fail_note(r);
	}
	return ret;
}

static int read_file(struct reader *r)
{
	GElf_Ehdr header;

	if (!r->elf || elf_kind(r->elf) != ELF_K_ELF || !gelf_getehdr(r->elf, &header))
		return kl_fail(EINVAL, "%s is not an ELF file", r->path);
	if (header.e_machine != EM_X86_64 && header.e_machine != EM_386)
		return kl_fail(EINVAL, "%s is not a program for x86", r->path);
	r->is_32 = gelf_getclass(r->elf) == ELFCLASS32;
	r->is_fixed = header.e_type == ET_EXEC;
	find_base(r);
	return read_sections(r);
}

/* ------------------------------------------------------------------- markers */

static int compare(const void *left, const void *right)
{
	const struct note *a = left, *b = right;
	int order = strcmp(a->provider, b->provider);

	if (!order)
		order = strcmp(a->name, b->name);
	if (order)
		return order;
	return (a->location.address > b->location.address) -
	       (a->location.address < b->location.address);
}

/* Find the type that holds an argument's values at all locations. */
static void join_types(struct kl_usdt_type *type, const struct kl_usdt_location *location,
		       unsigned int index)
{
	const struct kl_usdt_argument *argument = &location->argument[index];

	if (index >= location->n_arguments) {
		type->why = "is missing at one of the locations";
	} else if (argument->kind == KL_USDT_NONE) {
		type->why = argument->why;
	} else {
		type->is_signed |= argument->is_signed;
		if (argument->bytes > type->bytes)
			type->bytes = argument->bytes;
	}
}

static void fill_types(struct kl_usdt_marker *marker)
{
	for (size_t i = 0; i < marker->n_locations; i++)
		if (marker->location[i].n_arguments > marker->n_arguments)
			marker->n_arguments = marker->location[i].n_arguments;
	for (unsigned int k = 0; k < marker->n_arguments; k++)
		for (size_t i = 0; i < marker->n_locations; i++)
			join_types(&marker->type[k], &marker->location[i], k);
}

/* Sort the notes to markers. */
static int make_markers(struct kl_usdt *usdt, struct reader *r)
{
	usdt->marker = calloc(r->n + 1, sizeof(*usdt->marker));
	usdt->location = calloc(r->n + 1, sizeof(*usdt->location));
	if (!usdt->marker || !usdt->location)
		return kl_fail(ENOMEM, "out of memory");
	if (r->n)
		qsort(r->note, r->n, sizeof(*r->note), compare);
	for (size_t i = 0; i < r->n; i++) {
		const struct note *note = &r->note[i];
		struct kl_usdt_marker *marker = usdt->n ? &usdt->marker[usdt->n - 1] : NULL;

		usdt->location[i] = note->location;
		if (!marker || strcmp(marker->provider, note->provider) != 0 ||
		    strcmp(marker->name, note->name) != 0) {
			marker = &usdt->marker[usdt->n++];
			*marker = (struct kl_usdt_marker){
				.provider = note->provider,
				.name = note->name,
				.location = &usdt->location[i],
			};
		}
		marker->n_locations++;
	}
	for (size_t i = 0; i < usdt->n; i++)
		fill_types(&usdt->marker[i]);
	return 0;
}

struct kl_usdt *kl_usdt_open(const char *path)
{
	struct kl_usdt *usdt = calloc(1, sizeof(*usdt));
	struct reader r = { .path = path };
	int fd = usdt ? kl_open_regular(path) : kl_fail(ENOMEM, "out of memory");
	int ret = fd;

	if (fd >= 0) {
		elf_version(EV_CURRENT);
		/* Not mapped: the file may be truncated concurrently. */
		r.elf = elf_begin(fd, ELF_C_READ, NULL);
		ret = read_file(&r);
		elf_end(r.elf);
		close(fd);
	}
	if (usdt) {
		usdt->text = r.text;
		usdt->n_texts = r.n;
	}
	if (ret >= 0)
		ret = make_markers(usdt, &r);
	free(r.note);
	if (ret >= 0)
		return usdt;
	kl_usdt_close(usdt);
	errno = -ret;
	return NULL;
}

void kl_usdt_close(struct kl_usdt *usdt)
{
	if (!usdt)
		return;
	for (size_t i = 0; i < usdt->n_texts; i++)
		free(usdt->text[i]);
	free(usdt->text);
	free(usdt->location);
	free(usdt->marker);
	free(usdt);
}

/* -------------------------------------------------------------------- search */

const struct kl_usdt_marker *kl_usdt_marker(const struct kl_usdt *usdt, size_t index)
{
	return index < usdt->n ? &usdt->marker[index] : NULL;
}

const struct kl_usdt_marker *kl_usdt_next(const struct kl_usdt *usdt, const char *provider,
					  const char *name, size_t *position)
{
	while (*position < usdt->n) {
		const struct kl_usdt_marker *marker = &usdt->marker[(*position)++];

		if (kl_name_fits(provider, marker->provider) && kl_name_fits(name, marker->name))
			return marker;
	}
	return NULL;
}

/* The nearest marker, by its name if the provider is right, else by both. */
static const struct kl_usdt_marker *find_near(const struct kl_usdt *usdt, const char *provider,
					      const char *name)
{
	const struct kl_usdt_marker *best = NULL;
	struct kl_near by_name, by_provider;

	kl_near_init(&by_name, name, strlen(name));
	for (size_t i = 0; i < usdt->n; i++) {
		const char *before = by_name.best;

		kl_near_init(&by_provider, provider, strlen(provider));
		by_provider.distance++;
		kl_near_offer(&by_provider, usdt->marker[i].provider);
		if (!by_provider.best)
			continue;
		kl_near_offer(&by_name, usdt->marker[i].name);
		if (by_name.best != before)
			best = &usdt->marker[i];
	}
	return best;
}

int kl_usdt_fail_unknown(const struct kl_usdt *usdt, const char *path, const char *provider,
			 const char *name)
{
	const struct kl_usdt_marker *near;

	if (!usdt->n)
		return kl_fail(ENOENT, "%s has no USDT markers", path);
	if (strpbrk(provider, "*?[") || strpbrk(name, "*?["))
		return kl_fail(ENOENT, "no USDT marker of %s matches \"%s:%s\"", path, provider,
			       name);
	near = find_near(usdt, provider, name);
	if (near)
		return kl_fail(ENOENT, "%s has no USDT marker %s:%s; did you mean %s:%s?", path,
			       provider, name, near->provider, near->name);
	return kl_fail(ENOENT,
		       "%s has no USDT marker %s:%s; kernlens list usdt:%s lists those that "
		       "it has",
		       path, provider, name, path);
}
