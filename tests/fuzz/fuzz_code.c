// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions (block/decode.c, graph.c, live.c, plan.c, jump_table.c, constants.c, uprobe.c,
 * user_plan.c, user_patch.c): the input is the text of a program, or of a kernel if its first byte
 * is odd, split into functions of as many bytes as its second byte gives.
 */
#include <unistd.h>

#include "../../lib/block/program.h"
#include "blocks.h"

#define TEXT 0x1000u
#define KERNEL 0xffffffff81000000ull
#define TEXT_MAX 4096u
#define FUNCTIONS_MAX 64u

static uint8_t file[TEXT + TEXT_MAX];

static int make_file(const uint8_t *data, size_t size, uint64_t address, uint16_t type,
		     char path[64])
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1 },
		.e_type = type,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	const Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_X | PF_R,
		.p_offset = TEXT,
		.p_vaddr = address,
		.p_filesz = size,
		.p_memsz = size,
	};

	memset(file, 0, sizeof(file));
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), &segment, sizeof(segment));
	memcpy(file + TEXT, data, size);
	return fuzz_file(file, TEXT + size, path);
}

static void try_program(const uint8_t *data, size_t size, size_t step)
{
	struct kl_block_function function[FUNCTIONS_MAX];
	struct kl_blocks *b;
	size_t n = 0;
	char path[64];
	int fd = make_file(data, size, TEXT, ET_EXEC, path);

	for (size_t at = 0; at < size && n < FUNCTIONS_MAX; at += step)
		function[n++] = (struct kl_block_function){ .address = TEXT + at,
							    .bytes = (uint32_t)step,
							    .name = "f" };
	b = kl_blocks_open_program(fd, path, function, n);
	fuzz_assert(b);
	blocks_all(b);
	kl_blocks_close(b);
}

static void try_kernel(const uint8_t *data, size_t size, size_t step)
{
	static char text[8192];
	size_t length = 0, n = 0;
	struct kl_symbols *symbols;
	struct kl_blocks *b;
	char path[64], list[64];
	int fd = make_file(data, size, KERNEL, ET_CORE, path), fd2;

	length += (size_t)sprintf(text, "%llx T _stext\n%llx T _etext\n", KERNEL, KERNEL + size);
	for (size_t at = 0; at < size && n < FUNCTIONS_MAX; at += step, n++)
		length += (size_t)sprintf(text + length, "%llx T f%zu\n", KERNEL + at, n);
	fd2 = fuzz_file((const uint8_t *)text, length, list);
	symbols = kl_symbols_open(list);
	fuzz_assert(symbols);
	b = kl_blocks_open(path, symbols);
	if (b)
		blocks_all(b);
	kl_blocks_close(b);
	kl_symbols_close(symbols);
	close(fd2);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t step;

	setenv("XDG_CACHE_HOME", "/proc/self/none", 1);
	if (size < 3 || size > TEXT_MAX)
		return 0;
	step = data[1] < 8 ? size : data[1] * 4u;
	if (data[0] & 1)
		try_kernel(data + 2, size - 2, step);
	else
		try_program(data + 2, size - 2, step);
	return 0;
}
