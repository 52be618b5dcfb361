/* SPDX-License-Identifier: GPL-2.0 */
/* Events as text, CSV and JSON, appended to a buffer of the caller's. */
#ifndef KERNLENS_FORMAT_H
#define KERNLENS_FORMAT_H

#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/event.h>
#include <kernlens/public.h>
#include <kernlens/trace.h>

KL_PUBLIC_BEGIN

enum kl_style {
	KL_STYLE_TEXT, /* [seconds.nanoseconds] cpu comm-tid event: field=value ... */
	KL_STYLE_CSV, /* event,cpu,pid,seconds,nanoseconds,arguments */
	KL_STYLE_JSON, /* an object a line */
};

#define KL_SHOW_RELATIVE 0x1u /* times since the trace's start instead of since 1970 */

/**
 * kl_print_header - what stands before the first item
 * @buffer: appended to
 * @style: only CSV has a header
 */
void kl_print_header(struct kl_buffer *buffer, enum kl_style style);

/**
 * kl_print_item - one line for an event or loss
 * @buffer: appended to, with the newline
 * @style: how
 * @flags: KL_SHOW_*
 * @item: what
 */
void kl_print_item(struct kl_buffer *buffer, enum kl_style style, unsigned int flags,
		   const struct kl_item *item);

/**
 * kl_print_event - one line for an event
 * @buffer: appended to, with the newline
 * @style: how
 * @flags: KL_SHOW_*
 * @event: what
 */
void kl_print_event(struct kl_buffer *buffer, enum kl_style style, unsigned int flags,
		    const struct kl_event *event);

/**
 * kl_print_loss - one line for a loss
 * @buffer: appended to, with the newline
 * @style: how
 * @flags: KL_SHOW_*, as for the events around it
 * @loss: what
 */
void kl_print_loss(struct kl_buffer *buffer, enum kl_style style, unsigned int flags,
		   const struct kl_loss *loss);

/**
 * kl_print_value - a field's value as the text style prints it
 * @buffer: appended to
 * @value: from kl_event_value()
 */
void kl_print_value(struct kl_buffer *buffer, const struct kl_value *value);

/**
 * kl_print_meaning - a number in the words of its format
 * @buffer: appended to: "SIGKILL", "O_RDONLY|O_CLOEXEC" ...
 * @format: how it is meant
 * @number: value, sign-extended if the field is signed
 *
 * Returns false, and appends nothing, if the format has no words for numbers
 * (dec, hex, ptr ...) or none for this one.
 */
bool kl_print_meaning(struct kl_buffer *buffer, enum kl_format format, uint64_t number);

/**
 * kl_print_json_string - a JSON string with its quotes
 * @buffer: appended to
 * @bytes: any; what is not UTF-8 becomes U+FFFD
 * @length: of them
 */
void kl_print_json_string(struct kl_buffer *buffer, const void *bytes, size_t length);

/**
 * kl_print_json_value - a value as JSON
 * @buffer: appended to: a number, a string for texts, an array; kernel addresses are
 *          strings with 0x
 * @value: from kl_event_value() and the like
 */
void kl_print_json_value(struct kl_buffer *buffer, const struct kl_value *value);

/**
 * kl_print_quoted - a string in C's quotes and escapes
 * @buffer: appended to
 * @bytes: any
 * @length: of them
 */
void kl_print_quoted(struct kl_buffer *buffer, const void *bytes, size_t length);

/**
 * kl_plain_length - is there a character that can be shown?
 * @at: bytes, at least one
 * @end: of them
 *
 * Valid UTF-8 and no control character, neither ASCII's nor C1 (U+0080 to U+009F), which
 * terminals obey as well. Returns its bytes, or 0.
 */
size_t kl_plain_length(const void *at, const void *end);

/**
 * kl_make_plain - replace each byte that cannot be shown by '?'
 * @text: changed; the length stays
 * @length: of it
 */
void kl_make_plain(char *text, size_t length);

/**
 * kl_make_plain_message - make a message plain whose excerpts stand on lines of their own
 * @text: changed; the length stays
 *
 * As kl_make_plain(), but tabulators stay, and newlines that two blanks follow: a name cannot begin
 * a line in somebody's log.
 */
void kl_make_plain_message(char *text);

/**
 * kl_errno_name - "ENOENT"
 * @number: positive
 *
 * Returns NULL if there is none with this number.
 */
const char *kl_errno_name(unsigned int number);

/**
 * kl_signal_name - "SIGKILL"
 * @number: positive
 *
 * Returns NULL if there is none with this number.
 */
const char *kl_signal_name(unsigned int number);

KL_PUBLIC_END

#endif /* KERNLENS_FORMAT_H */
