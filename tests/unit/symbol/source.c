// SPDX-License-Identifier: GPL-2.0
/* When a scope reads the kernel's types and symbols, which takes long. */
#include <string.h>

#include <kernlens/internal.h>
#include "expressions.h"

/* What a scope's source has, and how often it was asked. */
static struct {
	const struct kl_btf *btf;
	const struct kl_symbols *symbols;
	unsigned int types_read, symbols_read;
} source;

static const struct kl_btf *read_types(void *data)
{
	source.types_read++;
	return source.btf;
}

static const struct kl_symbols *read_symbols(void *data)
{
	source.symbols_read++;
	return source.symbols;
}

/* Compiles, with types and symbols read that often? */
static bool reads(struct kl_scope *scope, const char *text, bool compiles, unsigned int types,
		  unsigned int symbols)
{
	int ret = kl_expression_compile(scope, "filter", text, 0, &code);

	if (!ret == compiles && source.types_read == types && source.symbols_read == symbols)
		return true;
	printf("# %s: %s; types read %u times, symbols %u times\n", text,
	       ret ? kl_error_text() : "compiles", source.types_read, source.symbols_read);
	return false;
}

void test_source(const struct kl_btf *btf, const struct kl_symbols *symbols)
{
	const struct kl_scope_source of = { .types = read_types, .symbols = read_symbols };
	struct kl_scope *scope = kl_scope_create(NULL, NULL);

	memset(&source, 0, sizeof(source));
	source.btf = btf;
	source.symbols = symbols;
	kl_scope_set_source(scope, &of);
	kl_scope_set_class(scope, &test_class);
	kl_scope_add_argument(scope, "x", 0);
	unit_check(reads(scope, "(a) > 3 and x == 1 and comm == \"sh\" and tid", true, 0, 0),
		   "neither types nor symbols are read for fields, arguments and variables");
	unit_check(reads(scope, "current->pid", true, 1, 0) &&
			   reads(scope, "(struct task_struct *)a", true, 1, 0),
		   "types are read once");
	unit_check(reads(scope, "jiffies > 1", true, 1, 1) && reads(scope, "jiffie", false, 1, 1),
		   "symbols are read once");
	kl_scope_destroy(scope);
	source.btf = NULL;
	source.symbols = NULL;
	source.types_read = source.symbols_read = 0;
	scope = kl_scope_create(NULL, NULL);
	kl_scope_set_source(scope, &of);
	unit_check(reads(scope, "current->pid", false, 1, 0) && reads(scope, "y", false, 1, 1) &&
			   reads(scope, "z", false, 1, 1),
		   "and once if there are none");
	kl_scope_destroy(scope);
}
