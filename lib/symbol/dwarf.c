// SPDX-License-Identifier: GPL-2.0
/*
 * Looks up an address in DWARF. Compilation units are found by our own index, since not every
 * compiler writes one. Files may be damaged: libdw checks what it returns, and elf_process.c
 * confines what it does not check. Units whose information is in separate files (.dwo) are skipped,
 * because libdw would open any file they name.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "dwarf.h"

#define REFERENCES_MAX 16 /* maximum references from a function to its name */
#define DWZ "/.dwz/"
#define BUILD_ID_MAX 32

struct range {
	uint64_t low, high;
	Dwarf_Off unit;
};

struct kl_dwarf {
	Dwarf *dwarf;
	Dwfl *dwfl; /* of a file that is not linked yet; it owns @dwarf */
	Elf *linked; /* that file, with the addresses assigned to its sections */
	int alt_fd; /* the supplementary file, which dwz moves common information to */
	Dwarf *alt;
	struct range *range;
	size_t n, room;
};

/* Go to the next section that has a name. Returns the name, or NULL after the last section. */
static const char *next_section(Elf *elf, Elf_Scn **section, GElf_Shdr *header)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((*section = elf_nextscn(elf, *section))) {
		const char *name = gelf_getshdr(*section, header) ?
					   elf_strptr(elf, names, header->sh_name) :
					   NULL;

		if (name)
			return name;
	}
	return NULL;
}

bool kl_dwarf_is_in(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;

	while ((name = next_section(elf, &section, &header))) {
		if (header.sh_type != SHT_NOBITS &&
		    (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info")))
			return true;
	}
	return false;
}

/* ----------------------------------------------------------------- strings */

/* libdw assumes that a string section ends with NUL, and otherwise reads beyond it. */
static bool are_strings_ended(Dwarf *dwarf)
{
	Elf *elf = dwarf_getelf(dwarf);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;

	while ((name = next_section(elf, &section, &header))) {
		Elf_Data *data;

		if (strcmp(name, ".debug_str") != 0 && strcmp(name, ".zdebug_str") != 0 &&
		    strcmp(name, ".debug_line_str") != 0)
			continue;
		data = elf_rawdata(section, NULL);
		if (data && data->d_buf && data->d_size &&
		    ((const char *)data->d_buf)[data->d_size - 1])
			return false;
	}
	return true;
}

/* ------------------------------------------------------ supplementary file */

/*
 * Open the supplementary file. Look only where the packages of dwz put it, whatever the file names,
 * and check that its build id matches.
 */
static int open_alt(struct kl_dwarf *d)
{
	const char *name, *rest;
	const void *id, *found;
	char path[512];
	ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(d->dwarf, &name, &id);

	if (!bytes)
		return 0;
	rest = bytes > 0 && bytes <= BUILD_ID_MAX ? strstr(name, DWZ) : NULL;
	if (!rest || strstr(rest, ".."))
		return -1;
	snprintf(path, sizeof(path), "/usr/lib/debug%s", rest);
	d->alt_fd = kl_open_regular(path);
	if (d->alt_fd < 0)
		return -1;
	d->alt = dwarf_begin(d->alt_fd, DWARF_C_READ);
	if (!d->alt || !are_strings_ended(d->alt) ||
	    dwelf_elf_gnu_build_id(dwarf_getelf(d->alt), &found) != bytes ||
	    memcmp(found, id, (size_t)bytes) != 0)
		return -1;
	dwarf_setalt(d->dwarf, d->alt);
	return 0;
}

/* ------------------------------------------------------------------- units */

static int add_range(struct kl_dwarf *d, uint64_t low, uint64_t high, Dwarf_Off unit)
{
	struct range *grown;

	if (!low || low >= high)
		return 0;
	grown = kl_array_grow(d->range, d->n, &d->room, sizeof(*grown));
	if (!grown)
		return -1;
	d->range = grown;
	grown[d->n++] = (struct range){ low, high, unit };
	return 0;
}

static int add_unit(struct kl_dwarf *d, Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		if (add_range(d, low, high, dwarf_dieoffset(die)))
			return -1;
	return 0;
}

static int by_low(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

static int index_units(struct kl_dwarf *d)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (!dwarf_get_units(d->dwarf, unit, &unit, NULL, &type, &die, NULL))
		if (type == DW_UT_compile && add_unit(d, &die))
			return -1;
	if (d->n)
		qsort(d->range, d->n, sizeof(*d->range), by_low);
	return 0;
}

/* Find an address's unit. Units overlap only in damaged files. */
static bool find_unit(const struct kl_dwarf *d, uint64_t address, Dwarf_Die *unit)
{
	size_t from = 0, to = d->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (d->range[middle].low <= address)
			from = middle + 1;
		else
			to = middle;
	}
	return from && address < d->range[from - 1].high &&
	       dwarf_offdie(d->dwarf, d->range[from - 1].unit, unit);
}

/* Do not search for any other file. */
static int find_nothing(Dwfl_Module *module, void **own, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word sum, char **found)
{
	return -1;
}

/* Assign addresses to sections and apply relocations. @given stays open. */
static void link_sections(struct kl_dwarf *d, int given)
{
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = find_nothing,
		.section_address = dwfl_offline_section_address,
	};
	int fd = fcntl(given, F_DUPFD_CLOEXEC, 0);
	Dwfl_Module *module;
	GElf_Addr bias;

	if (fd < 0)
		return;
	d->dwfl = dwfl_begin(&callbacks);
	module = d->dwfl ? dwfl_report_offline(d->dwfl, "", "", fd) : NULL;
	if (!module)
		close(fd);
	if (!module || dwfl_report_end(d->dwfl, NULL, NULL))
		return;
	d->linked = dwfl_module_getelf(module, &bias);
	d->dwarf = d->linked ? dwfl_module_getdwarf(module, &bias) : NULL;
}

struct kl_dwarf *kl_dwarf_open(Elf *elf, int fd)
{
	struct kl_dwarf *d = calloc(1, sizeof(*d));
	GElf_Ehdr header;

	if (!d)
		return NULL;
	d->alt_fd = -1;
	if (!gelf_getehdr(elf, &header) || header.e_type != ET_REL)
		d->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	else
		link_sections(d, fd);
	if (d->dwarf && are_strings_ended(d->dwarf) && !open_alt(d) && !index_units(d))
		return d;
	kl_dwarf_close(d);
	return NULL;
}

bool kl_dwarf_section(struct kl_dwarf *d, const char *name, uint64_t *address)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (!d->linked || elf_getshdrstrndx(d->linked, &names))
		return false;
	while ((section = elf_nextscn(d->linked, section))) {
		const char *found = gelf_getshdr(section, &header) ?
					    elf_strptr(d->linked, names, header.sh_name) :
					    NULL;

		if (!found || !(header.sh_flags & SHF_ALLOC) || strcmp(found, name) != 0)
			continue;
		*address = header.sh_addr;
		return true;
	}
	return false;
}

void kl_dwarf_close(struct kl_dwarf *d)
{
	if (!d)
		return;
	if (d->dwfl)
		dwfl_end(d->dwfl);
	else
		dwarf_end(d->dwarf);
	dwarf_end(d->alt);
	if (d->alt_fd >= 0)
		close(d->alt_fd);
	free(d->range);
	free(d);
}

/* --------------------------------------------------------------- functions */

static const char *get_text(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* The name of a function's instance is in its declaration or abstract instance. */
static const char *find_name(const Dwarf_Die *function)
{
	const char *plain = NULL, *linkage = NULL;
	Dwarf_Die die = *function, next;
	Dwarf_Attribute attribute;

	for (int i = 0; i < REFERENCES_MAX; i++) {
		linkage = get_text(&die, DW_AT_linkage_name);
		if (!linkage)
			linkage = get_text(&die, DW_AT_MIPS_linkage_name);
		if (linkage)
			return linkage;
		if (!plain)
			plain = get_text(&die, DW_AT_name);
		if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
		    !dwarf_attr(&die, DW_AT_specification, &attribute))
			break;
		if (!dwarf_formref_die(&attribute, &next))
			break;
		die = next;
	}
	return plain;
}

static bool get_number(Dwarf_Die *die, unsigned int name, Dwarf_Word *number)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) && !dwarf_formudata(&attribute, number);
}

/* The call site of an inlined function. */
static void get_call(Dwarf_Die *unit, Dwarf_Die *inlined, struct kl_dwarf_frame *frame)
{
	Dwarf_Word number;
	Dwarf_Files *files;
	size_t n;

	if (get_number(inlined, DW_AT_call_file, &number) && !dwarf_getsrcfiles(unit, &files, &n) &&
	    number < n)
		frame->source = dwarf_filesrc(files, number, NULL, NULL);
	if (get_number(inlined, DW_AT_call_line, &number) && number <= UINT32_MAX)
		frame->line = (uint32_t)number;
}

/* The source line of the address itself. */
static void get_line(Dwarf_Die *unit, uint64_t address, struct kl_dwarf_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number;

	if (!line)
		return;
	frame->source = dwarf_linesrc(line, NULL, NULL);
	if (!dwarf_lineno(line, &number) && number > 0)
		frame->line = (uint32_t)number;
}

/* Walk the scopes around an address, innermost first, up to the function. */
static unsigned int walk(Dwarf_Die *unit, Dwarf_Die *scope, int n, uint64_t address,
			 struct kl_dwarf_frame *frame, unsigned int room)
{
	unsigned int found = 0;
	Dwarf_Addr low;

	for (int i = 0; i < n && found < room; i++) {
		int tag = dwarf_tag(&scope[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		frame[found].symbol = find_name(&scope[i]);
		frame[found].inlined = tag == DW_TAG_inlined_subroutine;
		found++;
		if (tag == DW_TAG_subprogram) {
			if (!dwarf_entrypc(&scope[i], &low) && low <= address)
				frame[found - 1].offset = address - low;
			return found;
		}
		if (found < room)
			get_call(unit, &scope[i], &frame[found]);
	}
	return found;
}

bool kl_dwarf_line(struct kl_dwarf *d, uint64_t address, struct kl_dwarf_frame *frame)
{
	Dwarf_Die unit;

	*frame = (struct kl_dwarf_frame){};
	if (find_unit(d, address, &unit))
		get_line(&unit, address, frame);
	return frame->source && frame->line;
}

unsigned int kl_dwarf_find(struct kl_dwarf *d, uint64_t address, struct kl_dwarf_frame *frame,
			   unsigned int room)
{
	Dwarf_Die *scope = NULL, *nested = NULL, unit;
	unsigned int found = 0;
	int n;

	if (!room || !find_unit(d, address, &unit))
		return 0;
	memset(frame, 0, room * sizeof(*frame));
	get_line(&unit, address, &frame[0]);
	n = dwarf_getscopes(&unit, address, &scope);
	/* The scopes as nested in the source, not by call site. */
	n = n > 0 ? dwarf_getscopes_die(&scope[0], &nested) : 0;
	if (n > 0)
		found = walk(&unit, nested, n, address, frame, room);
	free(scope);
	free(nested);
	return found ? found : frame[0].line > 0;
}
