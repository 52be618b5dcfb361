// SPDX-License-Identifier: GPL-2.0
/* Prints a call by its row of calls.def, or with the formats of syscalls.def. */
#include <string.h>

#include <kernlens/format.h>
#include "../../base/base.h"
#include "../../format/print.h"
#include "printers.h"

#define ERROR_MAX 4095

#define KIND(name, print_, words_, is_out_, is_absent_) \
	static const struct kl_kind kind_##name = {     \
		.print = print_,                        \
		.words = words_,                        \
		.is_out = is_out_,                      \
		.is_absent = is_absent_,                \
	};
#include "kinds.def"
#undef KIND

#define A(kind) &kind_##kind,
#define CALL(name_, result_, arguments) \
	{ .name = #name_, .result = KL_RESULT_##result_, .kind = { arguments } },
#define SPECIAL(name_, result_, print_) \
	{ .name = #name_, .result = KL_RESULT_##result_, .print = print_ },
static const struct kl_call_row rows[] = {
#include "calls.def"
};

void kl_call_set_name(struct kl_call *c, const char *name)
{
	c->name = name;
	c->row = NULL;
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows) && !c->row; i++)
		if (!strcmp(rows[i].name, name))
			c->row = &rows[i];
}

/* An argument of a call without a row. */
static void print_field(struct kl_call *c, unsigned int i)
{
	const struct kl_field *field = &c->event_class->fields[i];
	const struct kl_value value = { .field = field, .number = c->arg[i] };

	if (field->type == KL_TYPE_STRING)
		kl_arg_path(c, i, NULL);
	else if (field->format == KL_FORMAT_ptr)
		kl_call_address(c->out, c->arg[i]);
	else if (field->format == KL_FORMAT_fd)
		kl_call_fd(c->out, c->arg[i]);
	else if (field->format == KL_FORMAT_hex)
		kl_call_hex(c->out, c->arg[i]);
	else
		kl_print_value(c->out, &value);
}

static bool is_absent(const struct kl_call *c, const struct kl_kind *kind, unsigned int i)
{
	return kind && kind->is_absent && kind->is_absent(c, i);
}

/* Without the memory that the call writes, all arguments are known at the entry. */
static bool is_out(const struct kl_call *c, const struct kl_kind *kind)
{
	return kind && kind->is_out && c->has_memory;
}

static void print_arguments(struct kl_call *c, const struct kl_call_row *row)
{
	unsigned int first = c->n_args, n = c->n_args;

	for (unsigned int i = n; i-- > 0;)
		if (row && is_out(c, row->kind[i]))
			first = i;
	for (unsigned int i = c->leaving ? first : 0; i < (c->leaving ? n : first); i++) {
		const struct kl_kind *kind = row ? row->kind[i] : NULL;

		if (is_absent(c, kind, i))
			continue;
		if (i > (c->leaving ? first : 0))
			kl_comma(c);
		if (kind)
			kind->print(c, i, kind);
		else
			print_field(c, i);
	}
	if (!c->leaving && first && first < n)
		kl_comma(c);
}

void kl_call_print(struct kl_call *c)
{
	if (c->row && c->row->print && c->event_class)
		c->row->print(c);
	else if (c->event_class)
		print_arguments(c, c->row);
}

/* What strace says about the results that only it sees. */
static const char *restart_of(int64_t result)
{
	switch (result) {
	case -512:
		return "To be restarted if SA_RESTART is set";
	case -513:
		return "To be restarted";
	case -514:
		return "To be restarted if no handler";
	case -516:
		return "Interrupted by signal";
	default:
		return NULL;
	}
}

static void print_error(struct kl_buffer *out, int64_t result)
{
	const char *name = kl_errno_name(-result), *restart = restart_of(result);
	char words[128];

	if (name && restart)
		kl_buffer_printf(out, "? %s (%s)", name, restart);
	else if (name && result > -512)
		kl_buffer_printf(out, "-1 %s (%s)", name,
				 strerror_r(-result, words, sizeof(words)));
	else if (name)
		kl_buffer_printf(out, "? %s", name);
	else
		kl_buffer_printf(out, "-1 (errno %lld)", -(long long)result);
}

void kl_call_print_result(struct kl_call *c)
{
	enum kl_call_result how = c->row ? c->row->result : KL_RESULT_DECIMAL;

	kl_buffer_add_string(c->out, "= ");
	if (how == KL_RESULT_NONE)
		kl_buffer_add_char(c->out, '?');
	else if (c->result < 0 && c->result >= -ERROR_MAX)
		return print_error(c->out, c->result);
	else if (how == KL_RESULT_HEX)
		kl_buffer_add_hex(c->out, c->result);
	else if (c->is_hex)
		kl_call_hex(c->out, c->result);
	else if (how == KL_RESULT_OCTAL)
		kl_call_octal(c->out, c->result);
	else
		kl_buffer_add_signed(c->out, c->result);
	if (c->aux.length) {
		kl_buffer_add_string(c->out, " (");
		kl_buffer_add(c->out, c->aux.data, c->aux.length);
		kl_buffer_add_char(c->out, ')');
	}
}
