// SPDX-License-Identifier: GPL-2.0
/* The thread's error text, growing arrays, and writing a whole buffer. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <kernlens/error.h>
#include "base.h"
#include "plain.h"

static _Thread_local char error_text[512];

const char *kl_error_text(void)
{
	return error_text;
}

void kl_error_clear(void)
{
	error_text[0] = 0;
}

int kl_fail(int error, const char *format, ...)
{
	char text[sizeof(error_text)];
	va_list args;

	/* The arguments may include the old text itself. */
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* Names in it may come from any user. */
	kl_make_plain_message(text);
	strcpy(error_text, text);
	errno = error;
	return -error;
}

int kl_fail_about(int error, const char *subject)
{
	return kl_fail(-error, "%s: %s", subject, error_text);
}

int kl_fail_system(int error, const char *format, ...)
{
	char text[sizeof(error_text) - 64];
	char words[64];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return kl_fail(error, "%s: %s", text, strerror_r(error, words, sizeof(words)));
}

void *kl_array_grow(void *array, size_t count, size_t *capacity, size_t size)
{
	size_t more = *capacity ? *capacity * 2 : 16;
	void *moved;

	if (count < *capacity)
		return array;
	moved = reallocarray(array, more, size);
	if (!moved) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	*capacity = more;
	return moved;
}

int kl_write_all(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length) {
		ssize_t done = write(fd, at, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		at += done;
		length -= (size_t)done;
	}
	return 0;
}
