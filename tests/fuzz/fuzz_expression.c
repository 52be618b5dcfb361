// SPDX-License-Identifier: GPL-2.0
/* Expressions (symbol/lexer.c to generate.c) with arguments, fields, flags and the kernel's types. */
#include <unistd.h>

#include "shared.h"
#include "types.h"

static struct kl_scope *scopes[5];
static struct kl_capture capture;

static const char symbol_text[] = "ffffffff81000000 D jiffies\n"
				  "ffffffff81000100 T do_work\n"
				  "ffffffff81000200 d counter\n";

static void prepare(void)
{
	static uint8_t file[4096];
	uint32_t bytes = types_make(file);
	struct kl_btf *btf = kl_btf_parse(file, bytes, NULL);
	static struct kl_schema *schema;
	struct kl_symbols *symbols;
	char path[64];
	int fd = fuzz_file((const uint8_t *)symbol_text, strlen(symbol_text), path);

	schema = kl_schema_create();
	symbols = kl_symbols_open(path);
	close(fd);
	fuzz_assert(btf && symbols && schema);
	for (unsigned int i = 0; i < 5; i++) {
		scopes[i] = kl_scope_create(i == 4 ? NULL : btf, i == 4 ? NULL : symbols);
		fuzz_assert(scopes[i] && !kl_scope_add_flag(scopes[i], "on", 1));
	}
	fuzz_assert(!kl_scope_set_function(scopes[0], "do_work"));
	kl_scope_set_class(scopes[1], kl_schema_find(schema, "sched_switch"));
	fuzz_assert(!kl_scope_set_tracepoint(scopes[2], "work"));
	fuzz_assert(!kl_scope_set_return(scopes[3], "do_work"));
	kl_scope_set_registers(scopes[4]);
}

/* The minimum that the module requires of programs (kernel/core/program.c). */
static void check_code(const struct kl_code *code)
{
	fuzz_assert(code->n_ops && code->n_ops <= KL_PROGRAM_OPS_MAX);
	fuzz_assert(code->data_bytes <= KL_PROGRAM_DATA_MAX);
	fuzz_check_plain(code->note, strlen(code->note));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct kl_code code;

	if (!*scopes)
		prepare();
	for (unsigned int i = 0; i < 5; i++) {
		if (kl_expression_compile(scopes[i], "filter", text, 0, &code))
			fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		else
			check_code(&code);
		fuzz_assert(!kl_capture_init(&capture, KL_EV_DYNAMIC, "fn:do_work", "fn", "help"));
		if (i != 1 && kl_capture_arguments(&capture, scopes[i]))
			fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		if (!kl_capture_add(&capture, scopes[i], "x", text))
			check_code(&capture.code);
	}
	free(text);
	return 0;
}
