// SPDX-License-Identifier: GPL-2.0
/*
 * Programs' files: symbols, build id, link to debug information, lines (symbol/elf*.c, dwarf.c), in
 * this process, without the isolation of elf_process.c. libelf and libdw are the system's and have
 * no sanitizers.
 */
#include <unistd.h>

#include <kernlens/usdt.h>

#include "../../lib/symbol/elf.h"
#include "../../lib/symbol/elf_names.h"
#include "../../lib/symbol/elf_symbol.h"
#include "shared.h"

/* Called by the leak checker. */
const char *__lsan_default_suppressions(void);

/*
 * When libdw's dwarf_getscopes() cannot read a scope, it leaks the list that it has allocated but
 * not returned yet: 32 bytes, in the helper process that reads such files and then exits. The leak
 * checker sees no more of libdw's stack than the allocation. tests/unit checks without this
 * suppression that everything libdw returns is freed.
 */
const char *__lsan_default_suppressions(void)
{
	return "leak:libdw.so\n";
}

static void ask(struct kl_elf_names *names)
{
	struct kl_dwarf_frame frame[16];
	uint64_t address, bytes, place;
	const char *name;

	kl_elf_names_build_id(names);
	for (size_t i = 0; i < 40 && (name = kl_elf_names_function(names, i, &address, &bytes));
	     i++) {
		kl_elf_names_place(names, name, &place);
		kl_elf_names_line(names, address, &frame[0]);
		kl_elf_names_find(names, address, true, frame, 16);
	}
	kl_elf_names_place(names, ".text", &place);
	for (place = 0; place < 0x2000; place += 61) {
		unsigned int n = kl_elf_names_find(names, place, true, frame, place % 3 + 1);

		fuzz_assert(n <= place % 3 + 1);
		for (unsigned int i = 0; i < n; i++) {
			fuzz_assert(!frame[i].symbol || strlen(frame[i].symbol) < 1u << 24);
			fuzz_assert(!frame[i].source || strlen(frame[i].source) < 1u << 24);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kl_elf_section section = { 0 };
	const struct kl_usdt_marker *marker;
	struct kl_elf_names *names;
	struct kl_usdt *usdt;
	char path[64];
	int fd = fuzz_file(data, size, path);
	uint64_t offset;

	kl_elf_find_section(fd, ".BTF", &section);
	if (kl_elf_file_offset(path, "main", &offset))
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
	usdt = kl_usdt_open(path);
	if (!usdt)
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
	for (size_t i = 0; usdt && (marker = kl_usdt_marker(usdt, i)); i++)
		fuzz_assert(marker->n_locations && strlen(marker->provider) &&
			    strlen(marker->name));
	kl_usdt_close(usdt);
	names = kl_elf_names_open(dup(fd), path, false);
	if (names)
		ask(names);
	kl_elf_names_close(names);
	close(fd);
	return 0;
}
