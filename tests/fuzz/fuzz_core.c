// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel's core file and symbols (block/text.c, table.c, function.c, world.c, breakpoint.c), and
 * its build id (symbolize/srcline_file.c). Parts: 0 the core, 1 the symbols.
 */
#include <unistd.h>

#include "../../lib/symbolize/srcline_file.h"
#include "blocks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_part part[FUZZ_PARTS_MAX];
	unsigned int n = fuzz_parts(data, size, part);
	const struct fuzz_part *core = NULL, *list = NULL;
	char path[64], id[KL_BUILD_ID_TEXT];
	struct kl_source_files files;
	struct kl_symbols *symbols;
	struct kl_blocks *b;
	int fd;

	setenv("XDG_CACHE_HOME", "/proc/self/none", 1);
	for (unsigned int i = 0; i < n; i++)
		*(part[i].kind & 1 ? &list : &core) = &part[i];
	if (!core || !list)
		return 0;
	fd = fuzz_file(list->at, list->bytes, path);
	symbols = kl_symbols_open(path);
	close(fd);
	if (!symbols)
		return 0;
	fd = fuzz_file(core->at, core->bytes, path);
	b = kl_blocks_open(path, symbols);
	if (b) {
		kl_source_files_init(&files, b, NULL, false);
		kl_source_build_id(b, "", id);
		blocks_all(b);
	} else {
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
	}
	kl_blocks_close(b);
	kl_symbols_close(symbols);
	close(fd);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	return fuzz_parts_mutate(data, size, room, seed, NULL);
}
