// SPDX-License-Identifier: GPL-2.0
/* The growable buffer that formatters fill. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <kernlens/buffer.h>
#include "base.h"

#define FIRST_BYTES 4096

void kl_buffer_deinit(struct kl_buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct kl_buffer){ 0 };
}

char *kl_buffer_reserve(struct kl_buffer *buffer, size_t bytes)
{
	size_t capacity = buffer->capacity ? buffer->capacity : FIRST_BYTES;
	char *data;

	if (buffer->error)
		return NULL;
	if (buffer->length + bytes < buffer->capacity)
		return buffer->data + buffer->length;
	while (capacity <= buffer->length + bytes)
		capacity *= 2;
	data = realloc(buffer->data, capacity);
	if (!data) {
		buffer->error = -ENOMEM;
		return NULL;
	}
	buffer->data = data;
	buffer->capacity = capacity;
	return data + buffer->length;
}

void kl_buffer_add(struct kl_buffer *buffer, const void *bytes, size_t length)
{
	char *at = kl_buffer_reserve(buffer, length);

	if (!at)
		return;
	if (length)
		memcpy(at, bytes, length);
	at[length] = 0;
	buffer->length += length;
}

void kl_buffer_add_unsigned(struct kl_buffer *buffer, unsigned long long value, unsigned int width)
{
	char digits[24];
	char *at = digits + sizeof(digits);
	char *const end = at;

	do {
		*--at = '0' + value % 10;
		value /= 10;
	} while (value);
	while (end - at < (int)width && at > digits)
		*--at = '0';
	kl_buffer_add(buffer, at, end - at);
}

void kl_buffer_add_signed(struct kl_buffer *buffer, long long value)
{
	if (value < 0)
		kl_buffer_add(buffer, "-", 1);
	kl_buffer_add_unsigned(buffer,
			       value < 0 ? -(unsigned long long)value : (unsigned long long)value,
			       0);
}

void kl_buffer_add_hex(struct kl_buffer *buffer, unsigned long long value)
{
	char digits[18];
	char *at = kl_hex_digits(digits + sizeof(digits), value);

	*--at = 'x';
	*--at = '0';
	kl_buffer_add(buffer, at, digits + sizeof(digits) - at);
}

void kl_buffer_printf(struct kl_buffer *buffer, const char *format, ...)
{
	va_list args, again;
	char *at;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, args);
	at = length < 0 ? NULL : kl_buffer_reserve(buffer, length);
	if (at) {
		vsnprintf(at, length + 1, format, again);
		buffer->length += length;
	}
	va_end(again);
	va_end(args);
}
