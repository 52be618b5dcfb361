// SPDX-License-Identifier: GPL-2.0
/*
 * ber-decode FILE: prints a trace in BER as `kernlens print --format json` does, but without the
 * meanings. Uses the decoder that asn1c generates from docs/format/kernlens.asn1 and no code of the
 * library. Stack traces are lines of {"stack":ID,"frames":[...]}, names of addresses are lines of
 * {"address":...,"symbol":...}. Fails unless every byte has been decoded.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "End.h"
#include "EventClass.h"
#include "FieldClass.h"
#include "Loss.h"
#include "Record.h"
#include "Stack.h"
#include "Symbol.h"
#include "Task.h"
#include "Trace.h"
#include "Value.h"
#include "Variable.h"

#define NS_PER_S 1000000000u
#define CPUS_MAX 256 /* more than any test machine has */

struct decoder {
	const uint8_t *at;
	const uint8_t *end;
	Trace_t *trace;
	const EventClass_t *events[65536];
	Task_t task[CPUS_MAX]; /* as the last record left it */
	uint64_t begin_ns;
	uint64_t n;
};

static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* Decode the value at @at, which must take up all @length bytes. */
static void *decode(const asn_TYPE_descriptor_t *type, const uint8_t *at, size_t length)
{
	void *value = NULL;
	asn_dec_rval_t got = ber_decode(NULL, (asn_TYPE_descriptor_t *)type, &value, at, length);

	if (got.code != RC_OK || got.consumed != length)
		fail("%s: %zu of %zu bytes decoded", type->name, got.consumed, length);
	return value;
}

static uint64_t number(const INTEGER_t *integer)
{
	uint64_t value = integer->size && integer->buf[0] & 0x80 ? ~0ull : 0;

	for (int i = 0; i < integer->size; i++)
		value = value << 8 | integer->buf[i];
	return value;
}

static bool is_text(const OCTET_STRING_t *text, const char *word)
{
	return text->size == (int)strlen(word) && !memcmp(text->buf, word, text->size);
}

/* Uses the library's arithmetic, so that both get the same nanosecond. */
static uint64_t time_ns(const struct decoder *d, uint64_t cycles)
{
	const Clock_t *clock = &d->trace->clock;
	uint64_t hz = number(&clock->frequency);
	uint64_t fraction = ((unsigned __int128)(NS_PER_S % hz) << 64) / hz;

	cycles += number(&clock->offset);
	return number(&clock->offsetSeconds) * NS_PER_S + cycles * (NS_PER_S / hz) +
	       (uint64_t)((unsigned __int128)cycles * fraction >> 64);
}

/* ------------------------------------------------------------------ JSON */

static void print_string(const OCTET_STRING_t *text)
{
	putchar('"');
	for (int i = 0; i < text->size; i++) {
		uint8_t c = text->buf[i];

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < ' ' || c == 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_number(const INTEGER_t *integer, bool is_signed)
{
	if (is_signed)
		printf("%" PRId64, (int64_t)number(integer));
	else
		printf("%" PRIu64, number(integer));
}

static void print_octets(const OCTET_STRING_t *octets, const FieldClass_t *class)
{
	char text[INET6_ADDRSTRLEN];

	if (is_text(&class->format, "ipv6") && octets->size == 16) {
		printf("\"%s\"", inet_ntop(AF_INET6, octets->buf, text, sizeof(text)));
		return;
	}
	for (int i = 0; i < octets->size; i++)
		printf("%c%d", i ? ',' : '[', octets->buf[i]);
	putchar(']');
}

static void print_value(const Value_t *value, const FieldClass_t *class)
{
	unsigned int type = number(&class->type);

	switch (value->present) {
	case Value_PR_octets:
		if (type >= FieldClass__type_text)
			print_string(&value->choice.octets);
		else
			print_octets(&value->choice.octets, class);
		break;
	case Value_PR_number:
		if (is_text(&class->format, "ptr"))
			printf("\"0x%" PRIx64 "\"", number(&value->choice.number));
		else
			print_number(&value->choice.number, !(type & 1));
		break;
	case Value_PR_numbers:
		for (int i = 0; i < value->choice.numbers.list.count; i++) {
			putchar(i ? ',' : '[');
			print_number(value->choice.numbers.list.array[i], !(type & 1));
		}
		putchar(']');
		break;
	default:
		fail("a value of no kind");
	}
}

static void print_time(uint64_t ns)
{
	printf("\"seconds\":%" PRIu64 ",\"nanoseconds\":%" PRIu64, ns / NS_PER_S, ns % NS_PER_S);
}

static void print_record(struct decoder *d, const Record_t *record, const EventClass_t *class)
{
	uint64_t ns = time_ns(d, number(&record->time));
	const Task_t *task = &d->task[record->cpu];

	if (!d->begin_ns)
		d->begin_ns = ns;
	printf("{\"event\":");
	print_string(&class->name);
	printf(",\"cpu\":%lu,", record->cpu);
	print_time(ns);
	printf(",\"since_ns\":%" PRIu64 ",\"tid\":%ld,\"pid\":%ld,\"comm\":", ns - d->begin_ns,
	       task->tid, task->pid);
	print_string(&task->comm);
	printf(",\"fields\":{");
	for (int i = 0; i < class->fields.list.count; i++) {
		const FieldClass_t *field = class->fields.list.array[i];

		if (i)
			putchar(',');
		print_string(&field->name);
		putchar(':');
		print_value(record->fields.list.array[i], field);
	}
	puts("}}");
}

/* ------------------------------------------------------------------ items */

static void take_trace(struct decoder *d, size_t length)
{
	d->trace = decode(&asn_DEF_Trace, d->at, length);
	for (int i = 0; i < d->trace->events.list.count; i++) {
		EventClass_t *class = d->trace->events.list.array[i];

		d->events[class->number & 0xffff] = class;
	}
	if (d->trace->begin)
		d->begin_ns = number(d->trace->begin);
}

static void take_variables(struct decoder *d, Record_t *record)
{
	for (int i = 0; record->variables && i < record->variables->list.count; i++) {
		Variable_t *variable = record->variables->list.array[i];

		if (number(&variable->number))
			continue;
		if (variable->value.present != Value_PR_task)
			fail("variable 0 is no task");
		free(d->task[record->cpu].comm.buf);
		d->task[record->cpu] = variable->value.choice.task;
		/* The value is now owned by the task. */
		memset(&variable->value, 0, sizeof(variable->value));
	}
	if (!d->task[record->cpu].comm.buf)
		fail("a CPU's first record has no task");
}

/* @head: number of bytes of the tag and length before the record. */
static void take_event(struct decoder *d, unsigned int id, size_t head, size_t length)
{
	Record_t *record = decode(&asn_DEF_Record, d->at + head, length - head);
	const EventClass_t *class = id < 65536 ? d->events[id] : NULL;

	if (!class || record->fields.list.count != class->fields.list.count ||
	    record->cpu >= CPUS_MAX)
		fail("event %u is not as the schema says", id);
	take_variables(d, record);
	print_record(d, record, class);
	d->n++;
	ASN_STRUCT_FREE(asn_DEF_Record, record);
}

static void take_loss(const struct decoder *d, size_t length)
{
	static const char *const kinds[8] = { "discarded", "overwritten", "before",
					      "corrupt",   "unstored",	  "unseen" };
	Loss_t *loss = decode(&asn_DEF_Loss, d->at, length);

	printf("{\"loss\":\"%s\",\"cpu\":%lu,", kinds[number(&loss->kind) & 7], loss->cpu);
	print_time(loss->end ? number(loss->end) : 0);
	printf(",\"records\":%" PRIu64 ",\"blocks\":%" PRIu64 ",\"first_block\":%" PRIu64
	       ",\"begin_ns\":%" PRIu64 "}\n",
	       number(&loss->records), number(&loss->blocks),
	       loss->firstBlock ? number(loss->firstBlock) : 0,
	       loss->begin ? number(loss->begin) : 0);
	ASN_STRUCT_FREE(asn_DEF_Loss, loss);
}

static void print_member(const char *name, const OCTET_STRING_t *text)
{
	if (!text)
		return;
	printf(",\"%s\":", name);
	print_string(text);
}

static void print_frame(const Frame_t *frame, bool user)
{
	printf("{\"address\":\"0x%" PRIx64 "\"", number(&frame->address));
	print_member("symbol", frame->symbol);
	if (frame->symbol && !frame->inlined)
		printf(",\"offset\":%" PRIu64, frame->offset ? number(frame->offset) : 0);
	print_member(user ? "file" : "module", frame->object);
	if (user && frame->object)
		printf(",\"place\":%" PRIu64, frame->place ? number(frame->place) : 0);
	print_member("build_id", frame->buildId);
	print_member("source", frame->source);
	if (frame->line)
		printf(",\"line\":%" PRIu64, number(frame->line));
	if (frame->inlined)
		printf(",\"inlined\":true");
	putchar('}');
}

static void take_stack(const struct decoder *d, size_t length)
{
	Stack_t *stack = decode(&asn_DEF_Stack, d->at, length);

	printf("{\"stack\":%" PRIu64 ",\"frames\":[", number(&stack->id));
	for (int i = 0; i < stack->frames.list.count; i++) {
		if (i)
			putchar(',');
		print_frame(stack->frames.list.array[i], number(&stack->kind) == 1);
	}
	puts("]}");
	ASN_STRUCT_FREE(asn_DEF_Stack, stack);
}

static void take_symbol(const struct decoder *d, size_t length)
{
	Symbol_t *symbol = decode(&asn_DEF_Symbol, d->at, length);

	printf("{\"address\":\"0x%" PRIx64 "\",\"symbol\":", number(&symbol->address));
	print_string(&symbol->symbol);
	printf(",\"offset\":%" PRIu64, number(&symbol->offset));
	print_member("module", symbol->module);
	puts("}");
	ASN_STRUCT_FREE(asn_DEF_Symbol, symbol);
}

static void take_end(const struct decoder *d, size_t length)
{
	End_t *end = decode(&asn_DEF_End, d->at, length);

	if (number(&end->events) != d->n)
		fail("%" PRIu64 " events, not %" PRIu64, d->n, number(&end->events));
	if (d->at + length != d->end)
		fail("something follows the end");
	ASN_STRUCT_FREE(asn_DEF_End, end);
}

static void take_items(struct decoder *d)
{
	ber_tlv_tag_t tag = 0;
	ber_tlv_len_t length;

	while (d->at < d->end) {
		ssize_t n = ber_fetch_tag(d->at, d->end - d->at, &tag), m;

		if (n <= 0)
			fail("no tag");
		m = ber_fetch_length(1, d->at + n, d->end - d->at - n, &length);
		if (m <= 0 || length < 0 || length > d->end - d->at - n - m)
			fail("no length");
		length += n + m;
		if (BER_TAG_CLASS(tag) == ASN_TAG_CLASS_PRIVATE && d->trace)
			take_event(d, BER_TAG_VALUE(tag), n + m, length);
		else if (tag == (ASN_TAG_CLASS_APPLICATION | 0 << 2))
			take_trace(d, length);
		else if (tag == (ASN_TAG_CLASS_APPLICATION | 1 << 2))
			take_loss(d, length);
		else if (tag == (ASN_TAG_CLASS_APPLICATION | 2 << 2))
			take_end(d, length);
		else if (tag == (ASN_TAG_CLASS_APPLICATION | 3 << 2))
			take_stack(d, length);
		else if (tag == (ASN_TAG_CLASS_APPLICATION | 4 << 2))
			take_symbol(d, length);
		else
			fail("an unknown tag");
		d->at += length;
	}
	if (tag != (ASN_TAG_CLASS_APPLICATION | 2 << 2))
		fail("there is no end");
}

int main(int argc, char **argv)
{
	static struct decoder d;
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	uint8_t *bytes;
	long size;

	if (!file)
		fail("usage: ber-decode FILE");
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	bytes = malloc(size ? size : 1);
	if (!bytes || fread(bytes, 1, size, file) != (size_t)size)
		fail("cannot read");
	fclose(file);
	d.at = bytes;
	d.end = bytes + size;
	take_items(&d);
	return 0;
}
