/* SPDX-License-Identifier: GPL-2.0 */
/* A growable text buffer that belongs to the caller and is filled by the print functions. */
#ifndef KERNLENS_BUFFER_H
#define KERNLENS_BUFFER_H

#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/**
 * struct kl_buffer - initialize it with zeros
 * @data: the bytes, followed by a NUL that @length does not count; NULL: empty
 * @length: number of bytes
 * @capacity: allocated bytes
 * @error: 0, or -ENOMEM once something could not be added; nothing is added after that, so one
 *         check at the end is enough
 */
struct kl_buffer {
	char *data;
	size_t length;
	size_t capacity;
	int error;
};

/**
 * kl_buffer_deinit - free the memory; the buffer can be used again
 * @buffer: zeroed or used
 */
void kl_buffer_deinit(struct kl_buffer *buffer);

/**
 * kl_buffer_reset - empty the buffer and clear its error, but keep its memory
 * @buffer: zeroed or used
 */
static inline void kl_buffer_reset(struct kl_buffer *buffer)
{
	buffer->length = 0;
	buffer->error = 0;
}

/**
 * kl_buffer_reserve - reserve space
 * @buffer: grows
 * @bytes: number of bytes to be added, without the terminating NUL
 *
 * Returns where to write them, or NULL (@buffer->error is -ENOMEM then). The caller adds the
 * number of bytes written to @buffer->length, and writes a NUL after them if @data is used as a
 * string.
 */
char *kl_buffer_reserve(struct kl_buffer *buffer, size_t bytes);

/**
 * kl_buffer_add - append bytes
 * @buffer: grows
 * @bytes: any
 * @length: number of bytes
 */
void kl_buffer_add(struct kl_buffer *buffer, const void *bytes, size_t length);

/**
 * kl_buffer_add_string - append a string
 * @buffer: grows
 * @string: terminated by a NUL
 */
static inline void kl_buffer_add_string(struct kl_buffer *buffer, const char *string)
{
	kl_buffer_add(buffer, string, strlen(string));
}

/**
 * kl_buffer_add_char - append one byte
 * @buffer: grows
 * @c: byte
 */
static inline void kl_buffer_add_char(struct kl_buffer *buffer, char c)
{
	kl_buffer_add(buffer, &c, 1);
}

/**
 * kl_buffer_add_unsigned - append a decimal number
 * @buffer: grows
 * @value: number
 * @width: minimum number of digits, padded with zeros
 */
void kl_buffer_add_unsigned(struct kl_buffer *buffer, unsigned long long value, unsigned int width);

/**
 * kl_buffer_add_signed - append a decimal number
 * @buffer: grows
 * @value: number
 */
void kl_buffer_add_signed(struct kl_buffer *buffer, long long value);

/**
 * kl_buffer_add_hex - append "0x" and a hexadecimal number
 * @buffer: grows
 * @value: number
 */
void kl_buffer_add_hex(struct kl_buffer *buffer, unsigned long long value);

/**
 * kl_buffer_printf - append formatted text
 * @buffer: grows
 * @format: as for printf()
 * @...: arguments of @format
 */
void kl_buffer_printf(struct kl_buffer *buffer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

KL_PUBLIC_END

#endif /* KERNLENS_BUFFER_H */
