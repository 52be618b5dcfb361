// SPDX-License-Identifier: GPL-2.0
/* A trace's metadata (format/tsdl_parse.c). What is read is written and read again. */
#include <kernlens/metadata.h>

#include "shared.h"

/* Checks the schema and everything in it. */
static void check_schema(const struct kl_schema *schema)
{
	const struct kl_class *class = NULL;
	const struct kl_variable *v;

	while ((class = kl_schema_next(schema, class))) {
		fuzz_check_plain(class->name, strlen(class->name));
		fuzz_check_plain(class->group, strlen(class->group));
		fuzz_check_plain(class->help, strlen(class->help));
		fuzz_assert(kl_schema_class(schema, class->id) == class);
	}
	for (unsigned int i = 0; (v = kl_schema_variable(schema, i)); i++)
		fuzz_check_plain(v->name, strlen(v->name));
	for (unsigned int i = 0; i < KL_FLAGS_MAX; i++)
		if (kl_schema_flag(schema, i))
			fuzz_check_plain(kl_schema_flag(schema, i),
					 strlen(kl_schema_flag(schema, i)));
	for (unsigned int i = 0; i < KL_RULES_MAX; i++)
		if (kl_schema_rule(schema, i))
			fuzz_check_plain(kl_schema_rule(schema, i),
					 strlen(kl_schema_rule(schema, i)));
}

/*
 * Help texts may be cut, as a note's space is limited; everything needed to decode records is the
 * same.
 */
static void compare(const struct kl_schema *a, const struct kl_schema *b)
{
	const struct kl_class *x = NULL, *y = NULL;
	const struct kl_variable *v, *w;

	do {
		x = kl_schema_next(a, x);
		y = kl_schema_next(b, y);
		fuzz_assert(!x == !y);
		fuzz_assert(!x || (x->id == y->id && !strcmp(x->name, y->name) &&
				   x->n_fields == y->n_fields && x->n_strings == y->n_strings &&
				   x->tail_bytes == y->tail_bytes));
	} while (x);
	for (unsigned int i = 0; (v = kl_schema_variable(a, i)); i++) {
		w = kl_schema_variable(b, i);
		fuzz_assert(w && !strcmp(v->name, w->name) && v->field.type == w->field.type &&
			    v->field.offset == w->field.offset);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kl_buffer text = { 0 };
	struct kl_trace_info info, again;
	struct kl_schema *schema = kl_metadata_parse((const char *)data, size, &info), *second;

	if (!schema) {
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		return 0;
	}
	check_schema(schema);
	fuzz_check_plain(info.trace_name, strlen(info.trace_name));
	fuzz_check_plain(info.hostname, strlen(info.hostname));
	fuzz_check_plain(info.kernel_release, strlen(info.kernel_release));
	fuzz_check_plain(info.boot_id, strlen(info.boot_id));
	fuzz_assert(!kl_metadata_write(&text, schema, &info));
	second = kl_metadata_parse(text.data, text.length, &again);
	if (!second)
		fprintf(stderr, "%s\n%s\n", kl_error_text(), text.data);
	fuzz_assert(second);
	compare(schema, second);
	kl_schema_destroy(second);
	kl_schema_destroy(schema);
	kl_buffer_deinit(&text);
	return 0;
}
