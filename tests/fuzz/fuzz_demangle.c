// SPDX-License-Identifier: GPL-2.0
/*
 * Mangled names of C++ and Rust (base/demangle.c), and edit distances and patterns (base/names.c).
 */
#include "../../lib/base/demangle.h"
#include "../../lib/base/names.h"
#include "shared.h"

const char *__lsan_default_suppressions(void);

/*
 * libiberty's Rust demangler leaks the buffer of an identifier in invalid Punycode: a few bytes for
 * each such name, which only a hostile file has.
 */
const char *__lsan_default_suppressions(void)
{
	return "leak:print_ident\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *name = kl_demangle(text);
	struct kl_near near;

	if (name)
		fuzz_assert(strlen(name) <= 4096);
	free(name);
	kl_near_init(&near, text, strlen(text));
	kl_near_offer(&near, "vfs_read");
	kl_name_distance(text, "vfs_read");
	kl_name_fits(text, "ext4_file_read_iter");
	free(text);
	return 0;
}
