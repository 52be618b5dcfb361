// SPDX-License-Identifier: GPL-2.0
/*
 * Captures values for user-defined events: a field for each argument of a function or tracepoint,
 * and for expressions. The fields' operations are concatenated, so one program writes the record.
 * All strings share the output space.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/base.h"
#include "expression.h"

#define STRING_MIN 16 /* shorter strings are not worth a record */

static const char *keep(struct kl_capture *capture, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *at = capture->names + capture->names_bytes;

	if (bytes > sizeof(capture->names) - capture->names_bytes)
		return NULL;
	memcpy(at, text, bytes);
	capture->names_bytes += bytes;
	return at;
}

int kl_capture_init(struct kl_capture *capture, unsigned int id, const char *name,
		    const char *group, const char *help)
{
	memset(capture, 0, sizeof(*capture));
	capture->event_class = (struct kl_class){
		.id = id,
		.kind = KL_CLASS_EVENT,
		.set = KL_SET_REQUEST,
		.access = KL_ACCESS_SYSTEM,
		.syscall = -1,
		.name = keep(capture, name),
		.group = keep(capture, group),
		.help = keep(capture, help),
		.fields = capture->fields,
	};
	capture->code.n_ops = 1;
	capture->code.ops[0] = (struct kl_abi_op){ .code = KL_OP_END };
	if (capture->event_class.name && capture->event_class.group && capture->event_class.help)
		return 0;
	return kl_fail(E2BIG, "the event's name is too long");
}

static bool is_put_string(const struct kl_abi_op *op)
{
	return op->code == KL_OP_PUT_STRING || op->code == KL_OP_PUT_USER_STRING;
}

static bool has_text(const struct kl_abi_op *op)
{
	return op->code == KL_OP_FIELD_TEXT || op->code == KL_OP_TEXT ||
	       op->code == KL_OP_VARIABLE_TEXT;
}

/* Count the bytes of numbers and the strings that @code writes. */
static void count_output(const struct kl_code *code, unsigned int *numbers, unsigned int *strings)
{
	for (unsigned int i = 0; i < code->n_ops; i++) {
		if (is_put_string(&code->ops[i]))
			(*strings)++;
		else if (code->ops[i].code == KL_OP_PUT)
			*numbers += 1u << code->ops[i].b / 2;
	}
}

/* Maximum bytes of each string; 0: not enough space for all. */
static unsigned int string_share(const struct kl_capture *capture, const struct kl_code *more)
{
	unsigned int numbers = 0, strings = 0, share;

	count_output(&capture->code, &numbers, &strings);
	count_output(more, &numbers, &strings);
	if (numbers > KL_PROGRAM_OUT_MAX)
		return 0;
	if (!strings)
		return KL_STRING_MAX;
	share = (KL_PROGRAM_OUT_MAX - numbers) / strings;
	return share < STRING_MIN ? 0 : share;
}

static void append(struct kl_capture *capture, const struct kl_code *more, unsigned int share)
{
	struct kl_code *code = &capture->code;

	/* Overwrite the last operation, KL_OP_END. */
	code->n_ops--;
	for (unsigned int i = 0; i < more->n_ops; i++) {
		struct kl_abi_op *op = &code->ops[code->n_ops++];

		*op = more->ops[i];
		if (has_text(op))
			op->imm64 += code->data_bytes;
	}
	memcpy(code->data + code->data_bytes, more->data, more->data_bytes);
	code->data_bytes += more->data_bytes;
	code->may |= more->may;
	code->out_bytes = 0;
	for (unsigned int i = 0; i < code->n_ops; i++) {
		struct kl_abi_op *op = &code->ops[i];

		if (is_put_string(op)) {
			op->imm = (unsigned int)op->imm < share ? (unsigned int)op->imm : share;
			code->out_bytes += op->imm;
		} else if (op->code == KL_OP_PUT) {
			code->out_bytes += 1u << op->b / 2;
		}
	}
}

/* Place a field as the record has it: after the last string, or from the payload's start. */
static void lay_out(struct kl_class *class, struct kl_field *field)
{
	field->count = 1;
	field->anchor = class->n_strings;
	field->offset = class->tail_bytes;
	if (field->type == KL_TYPE_STRING) {
		class->n_strings++;
		class->tail_bytes = 0;
	} else {
		field->bytes = 1u << field->type / 2;
		class->tail_bytes += field->bytes;
	}
	class->n_fields++;
}

static int add_field(struct kl_capture *capture, const char *name, const struct kl_code *code)
{
	struct kl_class *class = &capture->event_class;
	unsigned int share = string_share(capture, code);
	struct kl_field *field;

	if (kl_class_field(class, name) >= 0)
		return kl_fail(EEXIST, "%s has two fields called %s", class->name, name);
	if (class->n_fields == KL_CAPTURE_FIELDS_MAX)
		return kl_fail(E2BIG, "%s has more than %d fields", class->name,
			       KL_CAPTURE_FIELDS_MAX);
	if (!share || capture->code.n_ops - 1 + code->n_ops > KL_PROGRAM_OPS_MAX ||
	    capture->code.data_bytes + code->data_bytes > KL_PROGRAM_DATA_MAX)
		return kl_fail(E2BIG, "%s: the program is full; the field %s does not fit",
			       class->name, name);
	field = &capture->fields[class->n_fields];
	*field = (struct kl_field){ .name = keep(capture, name),
				    .type = code->result.type,
				    .format = code->result.format };
	if (!field->name)
		return kl_fail(E2BIG, "%s: the names of its fields are too long", class->name);
	append(capture, code, share);
	capture->btf_type[class->n_fields] = code->result.btf_type;
	lay_out(class, field);
	return 0;
}

static void note(struct kl_capture *capture, const char *text)
{
	size_t length = strlen(capture->note);

	snprintf(capture->note + length, sizeof(capture->note) - length, "%s%s", length ? "; " : "",
		 text);
}

/*
 * Write a string that a function's argument points to. The type does not show whether it is in user
 * memory, but the address does: the kernel's half has the highest bit set.
 */
static void put_either(struct kl_compiler *c)
{
	unsigned int user, end;

	kl_emit(c, KL_OP_MOVE, 1, 0, 0, 0);
	kl_emit_const(c, 2, 63);
	kl_emit_alu(c, KL_ALU_SHR, 1, 2);
	user = kl_emit_jump(c, KL_OP_JUMP_ZERO, 1);
	kl_emit(c, KL_OP_PUT_STRING, 0, 0, 0, KL_STRING_MAX);
	end = kl_emit_jump(c, KL_OP_JUMP, 0);
	kl_emit_land(c, user);
	kl_emit(c, KL_OP_PUT_USER_STRING, 0, 0, 0, KL_STRING_MAX);
	kl_emit_land(c, end);
}

/*
 * Is it a string? A non-const char * parameter of a function is usually an output buffer, and an
 * unsigned char * is a buffer more often than a string.
 */
static bool is_string_argument(const struct kl_scope *scope, const struct kl_ctype *type)
{
	return kl_ctype_is_string(type) && type->is_char && (type->is_const || !scope->is_function);
}

static void put_argument(struct kl_scope *scope, const struct kl_argument *argument,
			 struct kl_code *code)
{
	const struct kl_ctype *type = &argument->type;
	struct kl_compiler c = { .scope = scope, .what = "field", .text = "", .code = code };

	code->n_ops = 0;
	code->data_bytes = 0;
	code->may = 0;
	kl_emit_argument(&c, NULL, (unsigned int)argument->index);
	kl_ctype_result(type, &code->result);
	if (is_string_argument(scope, type)) {
		code->result = (struct kl_result){ .kind = KL_RESULT_STRING,
						   .type = KL_TYPE_STRING,
						   .format = KL_FORMAT_text };
		if (scope->is_function || scope->is_return)
			put_either(&c);
		else
			kl_emit(&c, KL_OP_PUT_STRING, 0, 0, 0, KL_STRING_MAX);
	} else {
		/* PUT writes as many low bytes as the field's type has. */
		kl_emit(&c, KL_OP_PUT, 0, 0, code->result.type, 0);
	}
	kl_emit(&c, KL_OP_END, 0, 0, 0, 0);
}

int kl_capture_arguments(struct kl_capture *capture, struct kl_scope *scope)
{
	struct kl_code *code = malloc(sizeof(*code));
	int ret = 0;

	if (!code)
		return kl_fail(ENOMEM, "out of memory");
	for (unsigned int i = 0; i < scope->n_arguments && !ret; i++) {
		const struct kl_argument *argument = &scope->argument[i];
		char name[sizeof(argument->name)], text[128];

		snprintf(name, sizeof(name), "arg%u", i + 1);
		if (*argument->name)
			memcpy(name, argument->name, sizeof(name));
		if (!argument->type.stars && argument->type.base != KL_BASE_INT) {
			snprintf(text, sizeof(text), "%s is passed as a whole struct: omitted",
				 name);
			note(capture, text);
		} else if (argument->index < 0) {
			snprintf(text, sizeof(text), "%s %s: omitted", name, argument->why);
			note(capture, text);
		} else {
			put_argument(scope, argument, code);
			ret = add_field(capture, name, code);
		}
	}
	free(code);
	return ret;
}

int kl_capture_add(struct kl_capture *capture, struct kl_scope *scope, const char *name,
		   const char *text)
{
	struct kl_code *code = malloc(sizeof(*code));
	int ret;

	if (!code)
		return kl_fail(ENOMEM, "out of memory");
	ret = kl_expression_compile(scope, name, text, KL_EXPRESSION_RECORD, code);
	if (!ret)
		ret = add_field(capture, name, code);
	if (!ret && *code->note)
		note(capture, code->note);
	free(code);
	return ret;
}
