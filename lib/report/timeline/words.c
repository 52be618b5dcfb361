// SPDX-License-Identifier: GPL-2.0
/*
 * What the page needs to evaluate expressions on the records that it has, which are text: the
 * fields of each event, and the numbers of values that are shown as words.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/internal.h>
#include "../../format/schema.h"
#include "timeline.h"

#define WORDS_MAX 16384 /* others cannot be compared with numbers */

/* Key: format and number. */
struct word {
	uint64_t key;
	uint64_t number;
	enum kl_format format;
};

/* How a page gets a value from its text. */
static char kind_of(const struct kl_field *field)
{
	static const enum kl_format plain[] = { KL_FORMAT_dec,	  KL_FORMAT_hex,  KL_FORMAT_counter,
						KL_FORMAT_sector, KL_FORMAT_prio, KL_FORMAT_port };

	if (field->type == KL_TYPE_STRING)
		return 's';
	if (field->type == KL_TYPE_TEXT)
		return 't';
	if (field->count != 1)
		return '-';
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (field->format == plain[i])
			return 'n';
	return 'w';
}

static int add_word(struct kl_records *records, const struct kl_value *value)
{
	const uint64_t key = ((uint64_t)value->field->format + 1) << 48 ^ value->number;
	struct word *word;

	if (kind_of(value->field) != 'w' || value->field->format == KL_FORMAT_ptr ||
	    records->words.count >= WORDS_MAX || !key)
		return 0;
	records->words.size = sizeof(*word);
	word = kl_hash_get(&records->words, key);
	if (!word)
		return -ENOMEM;
	word->format = value->field->format;
	word->number = value->number;
	return 0;
}

int kl_words_add(struct kl_records *records, const struct kl_event *event)
{
	struct kl_value value;
	int error = 0;

	for (unsigned int i = 0; i < event->event_class->n_fields && !error; i++) {
		value = kl_event_value(event, i);
		error = add_word(records, &value);
	}
	for (unsigned int i = 0; !error && kl_schema_variable(event->schema, i); i++) {
		value = kl_event_variable(event, i);
		error = add_word(records, &value);
	}
	return error;
}

static void write_field(const struct kl_field *field, bool first, struct kl_buffer *to)
{
	kl_buffer_add_string(to, first ? "[" : ",[");
	kl_timeline_add_string(to, field->name);
	kl_buffer_printf(to, ",\"%c\",%d,%d]", kind_of(field), (int)field->format,
			 8 * (int)field->bytes * (kl_type_is_signed(field->type) ? -1 : 1));
}

static void write_classes(const struct kl_timeline *t, struct kl_buffer *to)
{
	const struct kl_class *event = NULL;
	bool any = false;

	while ((event = kl_schema_next(t->schema, event))) {
		const uint64_t key = (uint64_t)event->id + 1;

		if (!kl_hash_find(&t->classes, key))
			continue;
		kl_buffer_add_string(to, any ? ",\n" : "\n");
		any = true;
		kl_timeline_add_string(to, event->name);
		kl_buffer_add_string(to, ":[");
		for (unsigned int i = 0; i < event->n_fields; i++)
			write_field(&event->fields[i], !i, to);
		kl_buffer_add_string(to, "]");
	}
}

void kl_words_write(const struct kl_timeline *t, struct kl_buffer *to)
{
	const struct word *word = NULL;
	const struct kl_variable *variable;
	struct kl_buffer text = { 0 };
	bool any = false;

	kl_buffer_add_string(to, ",\n\"fields\":{");
	write_classes(t, to);
	kl_buffer_add_string(to, "},\n\"variables\":[");
	for (unsigned int i = 0; (variable = kl_schema_variable(t->schema, i)); i++)
		write_field(&variable->field, !i, to);
	kl_buffer_add_string(to, "],\n\"words\":[");
	while ((word = kl_hash_next(&t->records.words, word))) {
		kl_buffer_reset(&text);
		if (!kl_print_meaning(&text, word->format, word->number))
			continue;
		kl_buffer_add_char(&text, 0);
		kl_buffer_printf(to, "%s[%d,\"%lld\",", any ? "," : "", (int)word->format,
				 (long long)word->number);
		any = true;
		kl_timeline_add_string(to, text.error ? "" : text.data);
		kl_buffer_add_string(to, "]");
	}
	kl_buffer_add_string(to, "]");
	kl_buffer_deinit(&text);
}
