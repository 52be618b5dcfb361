// SPDX-License-Identifier: GPL-2.0
/* Copies the parts of a file that are accessed. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "window.h"

#define AHEAD_BYTES (64u << 10) /* read at once if the file has as many */

int kl_window_open(struct kl_window *window, int dir, const char *name)
{
	int fd = kl_open_regular_at(dir, name), error;
	struct stat about;

	*window = (struct kl_window){ .fd = -1 };
	if (fd < 0)
		return fd;
	if (fstat(fd, &about)) {
		error = kl_fail_system(errno, "%s", name);
		close(fd);
		return error;
	}
	window->fd = fd;
	window->size = (uint64_t)about.st_size;
	return 0;
}

struct kl_window kl_window_on(const void *bytes, size_t length)
{
	return (struct kl_window){ .memory = bytes, .fd = -1, .size = length };
}

void kl_window_close(struct kl_window *window)
{
	if (window->ops)
		window->ops->close(window);
	free(window->copy);
	if (window->fd >= 0)
		close(window->fd);
	*window = (struct kl_window){ .fd = -1 };
}

/* The file now ends at @end. */
static void shrink(struct kl_window *window, uint64_t end)
{
	if (end >= window->size)
		return;
	window->gone += window->size - end;
	window->size = end;
}

static bool make_room(struct kl_window *window, size_t bytes)
{
	uint8_t *copy;

	if (bytes <= window->room)
		return true;
	copy = malloc(bytes);
	if (!copy)
		return false;
	free(window->copy);
	window->copy = copy;
	window->room = bytes;
	window->copy_bytes = 0;
	return true;
}

const void *kl_window_at(struct kl_window *window, uint64_t at, size_t bytes)
{
	size_t wanted = bytes > AHEAD_BYTES ? bytes : AHEAD_BYTES;

	if (at > window->size || bytes > window->size - at)
		return NULL;
	if (window->memory)
		return window->memory + at;
	if (window->ops)
		return window->ops->at(window, at, bytes);
	if (window->copy && at >= window->copy_at && at - window->copy_at <= window->copy_bytes &&
	    bytes <= window->copy_bytes - (at - window->copy_at))
		return window->copy + (at - window->copy_at);
	if (wanted > window->size - at)
		wanted = (size_t)(window->size - at);
	if (!make_room(window, wanted))
		return NULL;
	window->copy_at = at;
	window->copy_bytes = kl_read_at(window->fd, window->copy, wanted, at);
	if (window->copy_bytes < wanted)
		shrink(window, at + window->copy_bytes);
	return bytes <= window->copy_bytes ? window->copy : NULL;
}

/* Copy all bytes of a file that is not read as it is stored. */
static int copy_all(struct kl_window *window, uint8_t *to)
{
	for (uint64_t at = 0; at < window->size;) {
		uint64_t rest = window->size - at;
		size_t bytes = rest < AHEAD_BYTES ? (size_t)rest : AHEAD_BYTES;
		const void *from = window->ops->at(window, at, bytes);

		if (!from)
			return kl_fail(EIO, "the compressed file is damaged");
		memcpy(to + at, from, bytes);
		at += bytes;
	}
	return 0;
}

int kl_window_read(struct kl_window *window, size_t most, uint8_t **bytes, size_t *length)
{
	int ret;

	*bytes = NULL;
	*length = 0;
	if (window->size > most)
		return -EFBIG;
	if (!window->size)
		return 0;
	*bytes = malloc((size_t)window->size);
	if (!*bytes)
		return kl_fail(ENOMEM, "out of memory");
	if (window->ops) {
		ret = copy_all(window, *bytes);
		*length = ret ? 0 : (size_t)window->size;
		if (ret) {
			free(*bytes);
			*bytes = NULL;
		}
		return ret;
	}
	*length = kl_read_at(window->fd, *bytes, (size_t)window->size, 0);
	shrink(window, *length);
	return 0;
}
