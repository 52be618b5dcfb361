// SPDX-License-Identifier: GPL-2.0
/*
 * libiberty's demangler, with bounded output: parts of a symbol can repeat each other, so a symbol
 * of a hundred bytes may expand to a name of any length.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base.h"
#include "demangle.h"

#define LONGEST 4096

struct name {
	size_t length;
	jmp_buf full;
	char text[LONGEST + 1];
};

/*
 * Append to the name. A longjmp is the only way to stop the demangler early. It keeps its state on
 * the stack, except for the few bytes of a Rust identifier in Punycode, which leak.
 */
static void add(const char *text, size_t bytes, void *data)
{
	struct name *name = data;

	if (bytes > LONGEST - name->length)
		longjmp(name->full, 1);
	if (bytes)
		memcpy(name->text + name->length, text, bytes);
	name->length += bytes;
}

static bool is_mangled(const char *symbol)
{
	size_t length = strnlen(symbol, LONGEST + 1);

	return length <= LONGEST && (!strncmp(symbol, "_Z", 2) || !strncmp(symbol, "_R", 2));
}

/* Rust's legacy symbols are valid C++ symbols, too, so Rust goes first. */
static bool make_name(const char *symbol, struct name *name)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	name->length = 0;
	if (rust_demangle_callback(symbol, options, add, name))
		return true;
	name->length = 0;
	return cplus_demangle_v3_callback(symbol, options, add, name);
}

char *kl_demangle(const char *symbol)
{
	struct name *name;
	char *copy = NULL;

	if (!is_mangled(symbol))
		return NULL;
	name = malloc(sizeof(*name));
	if (!name)
		return NULL;
	if (!setjmp(name->full) && make_name(symbol, name))
		copy = strndup(name->text, name->length);
	free(name);
	return copy;
}
