// SPDX-License-Identifier: GPL-2.0
/* The sections about what a process waits for, its system call and its kernel stack trace. */
#include <stdio.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../base/reason.h"
#include "detail.h"

/* ------------------------------------------------------------ the system call */

static bool is_number(uint64_t argument)
{
	return argument < 65536;
}

static void print_call(const struct kl_abi_detail_syscall *s, const struct kl_class *class)
{
	unsigned int n = class && class->n_fields < 6 ? class->n_fields : 6;

	printf("  %s(", cli_call_name(class));
	for (unsigned int i = 0; i < n; i++) {
		printf("%s", i ? ", " : "");
		if (class)
			printf("%s = ", class->fields[i].name);
		printf(is_number(s->argument[i]) ? "%llu" : "%#llx",
		       (unsigned long long)s->argument[i]);
	}
	printf(")\n  number %d, instruction %#llx, stack %#llx\n", s->number,
	       (unsigned long long)s->ip, (unsigned long long)s->sp);
}

void cli_proc_print_syscall(const struct kl_details *list)
{
	const struct kl_abi_detail_syscall *s = &list->entry[0].syscall;
	struct kl_schema *schema;

	if (s->flags & KL_DETAIL_CALL_RUNNING) {
		puts("  unknown while it is running");
		return;
	}
	if (s->number < 0) {
		puts("  none");
		return;
	}
	schema = s->flags & KL_DETAIL_CALL_COMPAT ? NULL : kl_schema_create();
	print_call(s, cli_find_call(schema, s->number));
	kl_schema_destroy(schema);
}

json_t *cli_proc_syscall_json(const struct kl_detail *e)
{
	const struct kl_abi_detail_syscall *s = &e->syscall;
	struct kl_schema *schema = s->flags & KL_DETAIL_CALL_COMPAT ? NULL : kl_schema_create();
	json_t *arguments = json_array(), *to;

	for (unsigned int i = 0; s->number >= 0 && i < 6; i++)
		json_array_append_new(arguments, json_integer((json_int_t)s->argument[i]));
	to = json_pack("{s:b, s:i, s:o, s:o, s:I, s:I, s:b}", "running",
		       !!(s->flags & KL_DETAIL_CALL_RUNNING), "number", s->number, "name",
		       s->number < 0 ? json_null() :
				       json_string(cli_call_name(cli_find_call(schema, s->number))),
		       "arguments", arguments, "ip", (json_int_t)s->ip, "sp", (json_int_t)s->sp,
		       "compat", !!(s->flags & KL_DETAIL_CALL_COMPAT));
	kl_schema_destroy(schema);
	return to;
}

/* ------------------------------------------------------------ the stack trace */

static void write_frame(struct kl_buffer *text, const struct kl_symbols *symbols, uint64_t address)
{
	struct kl_symbol symbol;
	uint64_t offset;

	/* A return address may lie past its function's end: look up the call instead. */
	if (!symbols || kl_symbols_at(symbols, address - 1, &symbol, &offset)) {
		kl_buffer_printf(text, "%#llx", (unsigned long long)address);
		return;
	}
	kl_buffer_printf(text, "%s+%#llx", symbol.name, (unsigned long long)offset + 1);
	if (*symbol.module)
		kl_buffer_printf(text, " [%s]", symbol.module);
}

void cli_proc_print_stack(const struct kl_details *list)
{
	struct kl_symbols *symbols = kl_symbols_open(NULL);
	struct kl_buffer text = {};

	for (size_t i = 0; i < list->n; i++) {
		kl_buffer_add_string(&text, "  ");
		write_frame(&text, symbols, list->entry[i].frame.address);
		kl_buffer_add_char(&text, '\n');
	}
	cli_write_buffer(&text, stdout);
	kl_buffer_deinit(&text);
	kl_symbols_close(symbols);
}

json_t *cli_proc_stack_json(const struct kl_details *list)
{
	struct kl_symbols *symbols = kl_symbols_open(NULL);
	json_t *to = json_array();

	for (size_t i = 0; i < list->n; i++) {
		uint64_t address = list->entry[i].frame.address;
		struct kl_buffer text = {};

		write_frame(&text, symbols, address);
		json_array_append_new(to,
				      json_pack("{s:o, s:o}", "address",
						json_sprintf("%#llx", (unsigned long long)address),
						"symbol", cli_json_text(text.data ?: "")));
		kl_buffer_deinit(&text);
	}
	kl_symbols_close(symbols);
	return to;
}

/* --------------------------------------------------------------- what it waits for */

void cli_proc_print_wait(const struct kl_details *list)
{
	cli_print_wait(list, stdout);
}

json_t *cli_proc_wait_json(const struct kl_details *list)
{
	json_t *to = cli_wait_json(list), *on = json_array(), *sockets = json_array();

	for (size_t i = 0; i < list->n; i++) {
		const struct kl_detail *e = &list->entry[i];

		if (e->kind == KL_DETAIL_RECORD_WAIT_ON)
			json_array_append_new(on, cli_proc_file_json(e));
		else if (e->kind == KL_DETAIL_RECORD_WAIT_SOCKET)
			json_array_append_new(sockets, cli_proc_socket_json(e));
	}
	json_object_set_new(to, "on", on);
	json_object_set_new(to, "sockets", sockets);
	return to;
}
