// SPDX-License-Identifier: GPL-2.0
/* Values of events as other formats take them: numbers and texts with names. */
#include <string.h>

#include <kernlens/internal.h>
#include "../../format/print.h"
#include "export.h"

static bool is_signed(enum kl_type type)
{
	return type == KL_TYPE_S8 || type == KL_TYPE_S16 || type == KL_TYPE_S32 ||
	       type == KL_TYPE_S64;
}

/* A value that has a meaning is shown as that: "O_RDONLY", not 0. */
static bool add_text(struct kl_export_args *args, const struct kl_event *event,
		     const struct kl_value *value)
{
	const struct kl_field *field = value->field;
	const size_t before = args->text.length;

	if (field->type >= KL_TYPE_TEXT) {
		kl_print_plain(&args->text, value->bytes, value->length);
		return true;
	}
	if (field->count > 1) {
		kl_print_array(&args->text, value);
		return true;
	}
	if (field->format == KL_FORMAT_ptr) {
		kl_buffer_add_hex(&args->text, value->number);
		return true;
	}
	if (field->format == KL_FORMAT_dec)
		return false;
	if (kl_print_value_meaning(&args->text, event->schema, value))
		return true;
	if (!args->text.error)
		args->text.length = before;
	return false;
}

void kl_export_args_add(struct kl_export_args *args, const struct kl_event *event)
{
	for (unsigned int i = 0; i < event->event_class->n_fields && args->n < KL_EXPORT_ARGS_MAX;
	     i++) {
		const struct kl_value value = kl_event_value(event, i);
		struct kl_export_arg *arg = &args->arg[args->n];

		*arg = (struct kl_export_arg){
			.name = value.field->name,
			.type = is_signed(value.field->type) ? KL_EXPORT_SIGNED :
							       KL_EXPORT_UNSIGNED,
			.number = value.number,
		};
		args->at[args->n++] = args->text.length;
		if (add_text(args, event, &value))
			arg->type = KL_EXPORT_TEXT;
		arg->length = args->text.length - args->at[args->n - 1];
	}
}

void kl_export_args_reset(struct kl_export_args *args)
{
	kl_buffer_reset(&args->text);
	args->n = 0;
}

struct kl_export_arg kl_export_arg_of(const struct kl_export_args *args, unsigned int index)
{
	struct kl_export_arg arg = args->arg[index];

	if (arg.type == KL_EXPORT_TEXT)
		arg.text = arg.length ? args->text.data + args->at[index] : "";
	return arg;
}

void kl_export_json_text(struct kl_buffer *to, const char *text)
{
	kl_print_json_string(to, text, strlen(text));
}

void kl_export_json_args(struct kl_buffer *to, const struct kl_export_args *args)
{
	for (unsigned int i = 0; i < args->n; i++) {
		const struct kl_export_arg arg = kl_export_arg_of(args, i);

		kl_buffer_add_char(to, i ? ',' : '{');
		kl_export_json_text(to, arg.name);
		kl_buffer_add_char(to, ':');
		if (arg.type == KL_EXPORT_TEXT)
			kl_print_json_string(to, arg.text, arg.length);
		else if (arg.type == KL_EXPORT_SIGNED)
			kl_buffer_add_signed(to, (int64_t)arg.number);
		else
			kl_buffer_add_unsigned(to, arg.number, 0);
	}
	kl_buffer_add_string(to, args->n ? "}" : "{}");
}
