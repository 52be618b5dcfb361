/* SPDX-License-Identifier: GPL-2.0 */
/* Formats events as text and JSON, appending to a buffer of the caller's. */
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
	KL_STYLE_JSON, /* one object per line */
};

#define KL_SHOW_RELATIVE 0x1u /* times since the trace's start rather than since 1970 */

/**
 * kl_print_item - print one line for an event or a loss
 * @buffer: appended to, including the newline
 * @style: output format
 * @flags: KL_SHOW_*
 * @item: event or loss
 */
void kl_print_item(struct kl_buffer *buffer, enum kl_style style, unsigned int flags,
		   const struct kl_item *item);

/**
 * kl_print_event - print one line for an event
 * @buffer: appended to, including the newline
 * @style: output format
 * @flags: KL_SHOW_*
 * @event: event
 */
void kl_print_event(struct kl_buffer *buffer, enum kl_style style, unsigned int flags,
		    const struct kl_event *event);

/**
 * kl_print_loss - print one line for a loss
 * @buffer: appended to, including the newline
 * @style: output format
 * @flags: KL_SHOW_*, as for the surrounding events
 * @loss: loss
 */
void kl_print_loss(struct kl_buffer *buffer, enum kl_style style, unsigned int flags,
		   const struct kl_loss *loss);

/**
 * kl_print_value - print a field's value in the text style
 * @buffer: appended to
 * @value: from kl_event_value()
 */
void kl_print_value(struct kl_buffer *buffer, const struct kl_value *value);

/**
 * kl_print_meaning - print a number symbolically, according to its format
 * @buffer: appended to: "SIGKILL", "O_RDONLY|O_CLOEXEC" ...
 * @format: how to interpret the number
 * @number: value, sign-extended if the field is signed
 *
 * Returns false and appends nothing if the format has no symbols (dec, hex, ptr ...) or none for
 * this number.
 */
bool kl_print_meaning(struct kl_buffer *buffer, enum kl_format format, uint64_t number);

/**
 * kl_print_json_string - print a quoted JSON string
 * @buffer: appended to
 * @bytes: any; invalid UTF-8 becomes U+FFFD
 * @length: number of bytes
 */
void kl_print_json_string(struct kl_buffer *buffer, const void *bytes, size_t length);

/**
 * kl_print_json_value - print a value as JSON
 * @buffer: appended to: a number, a string for texts, an array; kernel addresses are strings that
 *          begin with 0x
 * @value: from kl_event_value() or similar functions
 */
void kl_print_json_value(struct kl_buffer *buffer, const struct kl_value *value);

/**
 * kl_print_quoted - print a string with C's quotes and escapes
 * @buffer: appended to
 * @bytes: any
 * @length: number of bytes
 */
void kl_print_quoted(struct kl_buffer *buffer, const void *bytes, size_t length);

/**
 * kl_plain_length - length of a printable character
 * @at: bytes, at least one
 * @end: end of the bytes
 *
 * A printable character is valid UTF-8 and no control character: neither ASCII nor C1 (U+0080 to
 * U+009F), which terminals interpret as well. Returns its length in bytes, or 0 if there is none.
 */
size_t kl_plain_length(const void *at, const void *end);

/**
 * kl_make_plain - replace each byte that is not part of a printable character by '?'
 * @text: changed; its length does not change
 * @length: number of bytes
 */
void kl_make_plain(char *text, size_t length);

/**
 * kl_make_plain_message - make a multi-line message printable
 * @text: changed; its length does not change
 *
 * Like kl_make_plain(), but keeps tabs, and newlines that are followed by two blanks. So a name
 * that contains a newline cannot start a new line in a log.
 */
void kl_make_plain_message(char *text);

/**
 * kl_errno_name - "ENOENT" ...
 * @number: positive
 *
 * Returns NULL for an unknown number.
 */
const char *kl_errno_name(unsigned int number);

/**
 * kl_signal_name - "SIGKILL" ...
 * @number: positive
 *
 * Returns NULL for an unknown number.
 */
const char *kl_signal_name(unsigned int number);

KL_PUBLIC_END

#endif /* KERNLENS_FORMAT_H */
