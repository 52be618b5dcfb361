// SPDX-License-Identifier: GPL-2.0
/* A list of the kernel's symbols (symbol/kallsyms.c). */
#include <unistd.h>

#include "shared.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kl_symbol symbol = {}, again = {};
	struct kl_symbols *symbols;
	size_t position = 0;
	uint64_t offset;
	char path[64];
	int fd = fuzz_file(data, size, path);

	symbols = kl_symbols_open(path);
	close(fd);
	if (!symbols)
		return 0;
	for (int i = 0; i < 200 && kl_symbols_next(symbols, NULL, false, &position, &symbol); i++) {
		fuzz_assert(strlen(symbol.name) <= size && strlen(symbol.module) <= size);
		fuzz_check_plain(symbol.name, strlen(symbol.name));
		fuzz_check_plain(symbol.module, strlen(symbol.module));
		fuzz_assert(strchr(symbol.name, ':') ||
			    kl_symbols_lookup(symbols, symbol.name, &again));
		if (kl_symbols_find(symbols, symbol.name, &again) < 0)
			fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		kl_symbols_at(symbols, symbol.address + 5, &again, &offset);
		kl_symbols_around(symbols, symbol.address + 5000, &again, &offset);
	}
	kl_symbols_find(symbols, "kernel:vfs_rea", &symbol);
	position = 0;
	kl_symbols_next(symbols, "ext4:*[a-f]?*", true, &position, &symbol);
	kl_symbols_close(symbols);
	return 0;
}
